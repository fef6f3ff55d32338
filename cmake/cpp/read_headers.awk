# Reads the public headers: their functions, structs, types and macros, each with its comment. The other scripts of this folder write
# the C++ form of what the arrays hold.
function short(name) { return substr(name, 6) }
function trimmed(text) { sub(/^[ \t]+/, "", text); sub(/[ \t]+$/, "", text); return text }
function squeezed(text) { gsub(/[ \t\n]+/, " ", text); return trimmed(text) }
function found(text, pattern) { return match(text, pattern) ? substr(text, RSTART, RLENGTH) : "" }
function begins(text, start) { return substr(text, 1, length(start)) == start }

# ---- reading: declarations, structs, macros, with their comments ----

# Takes the comments out of a declaration, and appends them to `comment`.
function uncommented(text,   from, to) {
    while ((from = index(text, "/*")) > 0) {
        to = index(substr(text, from), "*/")
        comment = comment (comment == "" ? "" : "\n") substr(text, from, to + 1)
        text = substr(text, 1, from - 1) " " substr(text, from + to + 1)
    }
    return text
}

function read_call(text,   head, at) {
    comment = ""
    text = squeezed(uncommented(text))
    sub(/^WEFT_API /, "", text)
    at = index(text, "(")
    head = substr(text, 1, at - 1)
    match(head, /weft_[a-z0-9_]+$/)
    calls++
    call_name[calls] = substr(head, RSTART)
    call_result[calls] = trimmed(substr(head, 1, RSTART - 1))
    call_arguments[calls] = trimmed(substr(text, at + 1, length(text) - at - 2))
    call_comment[calls] = comment == "" ? above : comment
    if (comment != "") above = ""
    index_of[call_name[calls]] = calls
}

function add_field(type, name, note) {
    fields[struct]++
    field_type[struct, fields[struct]] = type
    field_name[struct, fields[struct]] = name
    field_comment[struct, fields[struct]] = note
}

function read_fields(text,   type, parts, count, i, stars) {
    comment = ""
    text = squeezed(uncommented(text))
    sub(/;$/, "", text)
    if (comment == "") comment = above
    if (text ~ /\(\*/) {
        match(text, /\(\*[a-z_]+\)/)
        add_field("callback", substr(text, RSTART + 2, RLENGTH - 3), comment)
        return
    }
    # The type is what stands before the stars of the first name.
    count = split(text, parts, /, */)
    match(parts[1], /[* ]*[a-z_0-9]+(\[[^\]]*\])?$/)
    if (match(parts[1], /\*const \*[a-z_0-9]+$/)) type = trimmed(substr(parts[1], 1, RSTART - 1))
    else { match(parts[1], /\*? *[a-z_0-9]+(\[[^\]]*\])?$/); type = trimmed(substr(parts[1], 1, RSTART - 1)) }
    parts[1] = trimmed(substr(parts[1], RSTART))
    for (i = 1; i <= count; i++) {
        match(parts[i], /[a-z_0-9]+(\[[^\]]*\])?$/)
        stars = trimmed(substr(parts[i], 1, RSTART - 1))
        add_field(type ~ /_(function|callback)$/ ? "callback" : type (stars == "" ? "" : " " stars), substr(parts[i], RSTART), comment)
    }
    above = ""
}

function declare_type(name) {
    if (!(name in type_seen)) types[++type_count] = name
    type_seen[name] = 1
}

FNR == 1 { above = ""; inside = ""; held = "" }
inside == "comment" {
    note = note "\n" $0
    if (/\*\//) { inside = outer; if (!heading) above = note }
    next
}
held == "" && /^ *\/\*/ && $0 !~ /\*\/ *[^ ]/ {
    heading = /---- /
    note = $0
    sub(/^ +/, "", note)
    if (!/\*\//) { outer = inside; inside = "comment" } else above = heading ? "" : note
    next
}
/^$/ { if (held == "") above = ""; next }
held != "" || /^WEFT_API/ || (inside == "struct" && !/^}/) {
    held = held (held == "" ? "" : "\n") $0
    bare = held
    while ((from = index(bare, "/*")) > 0 && (to = index(substr(bare, from), "*/")) > 0)
        bare = substr(bare, 1, from - 1) substr(bare, from + to + 1)
    if (index(bare, "/*") || bare !~ /; *$/) next
    if (inside == "struct") read_fields(held); else read_call(held)
    held = ""
    next
}
/^typedef struct weft_[a-z_0-9]+ \{/ || /^struct weft_[a-z_0-9]+ \{/ {
    struct = found($0, "weft_[a-z_0-9]+")
    if (struct == "weft_axis_list_") next
    inside = "struct"
    structs[++struct_count] = struct
    struct_comment[struct] = above
    is_struct[struct] = 1
    declare_type(struct)
    above = ""
    next
}
/^}/ && inside == "struct" { inside = ""; next }
/^typedef struct weft_[a-z_0-9]+ weft_[a-z_0-9]+;/ {
    name = found($0, "weft_[a-z_0-9]+")
    declare_type(name)
    opaque_comment[name] = above
    next
}
/^typedef enum weft_[a-z_]+/ { declare_type(found($0, "weft_[a-z_]+")); above = ""; next }
/^#define weft_[a-z0-9_]+\(/ {
    name = found($0, "weft_[a-z0-9_]+")
    if (!(name in macro_body)) macros[++macro_count] = name
    macro_body[name] = $0
    macro_comment[name] = above
}
