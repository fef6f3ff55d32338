# Prints weft/calls.hpp for these public headers: awk -f write_calls.awk HEADER...
# The C++ form of each declaration follows from its types and the names of its arguments, as the rules at rule() say.
BEGIN {
    # Written by hand in weft.hpp, or left to owners: what these rules cannot express.
    split("weft_input_dims weft_parameter_dims weft_load_npy weft_npy_array_release weft_loader_create weft_loader_next " \
          "weft_loader_begin weft_loader_release weft_init_from_file", words, " ")
    for (i in words) by_hand[words[i]] = 1
    # Structs that C++ uses as they are; the others that calls read get setters.
    split("value prediction roofline allocator checkpoint_extra npy_array plateau recurrent", words, " ")
    for (i in words) plain["weft_" words[i]] = 1
    # A list without a count has so many entries less than the tensor has axes.
    split("before 0 after 0 size 2 sizes 2", words, " ")
    for (i = 1; words[i]; i += 2) lacking[words[i]] = words[i + 1]
    split("add + sub - mul * div / remainder %", arithmetic, " ")
    split("equal == not_equal != less < less_equal <= greater > greater_equal >=", comparisons, " ")
    split("equal equal not_equal not_equal less greater less_equal greater_equal greater less greater_equal less_equal", \
          words, " ")
    for (i = 1; words[i]; i += 2) mirrored[words[i]] = words[i + 1]
}

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

# ---- writing ----

function say(text) { print text }
function comment_of(text, indent) {
    if (text == "") return
    gsub(/\n[ \t]*/, "\n" indent " ", text)
    say(indent text)
}

function is_owned(name) { return !is_struct[name] && ((name "_release") in index_of || name == "weft_metric_state") }
function release_of(name) { return name == "weft_metric_state" ? "weft_metric_release" : name "_release" }
function is_counted(name) { return (name "_retain") in index_of }

# A struct gets setters if a call reads it, or if one of these structs contains it.
function find_settings(   i, j, type, name, again) {
    for (i = 1; i <= struct_count; i++) {
        name = structs[i]
        if (field_name[name, 1] == "struct_size") has_setters[name] = sized[name] = 1
    }
    for (i = 1; i <= calls; i++) {
        name = call_result[i]
        if (is_struct[name]) has_setters[name] = 1
        type = call_arguments[i]
        while (match(type, /const weft_[a-z_0-9]+ \*[a-z]/)) {
            name = substr(type, RSTART + 6, RLENGTH - 9)
            type = substr(type, RSTART + RLENGTH)
            if (is_struct[name]) has_setters[name] = 1
        }
    }
    for (again = 1; again; ) {
        again = 0
        for (i = 1; i <= struct_count; i++) {
            if (!has_setters[structs[i]]) continue
            for (j = 1; j <= fields[structs[i]]; j++) {
                type = field_type[structs[i], j]
                sub(/^const /, "", type)
                sub(/ \*$/, "", type)
                if (is_struct[type] && !has_setters[type] && !(type in plain)) { has_setters[type] = again = 1 }
            }
        }
    }
    for (name in plain) delete has_setters[name]
}

function is_class(name) { return has_setters[name] || is_owned(name) || name ~ /^weft_(tensor|memory)$/ }
function base_of(type) { sub(/^const /, "", type); sub(/ \*.*$/, "", type); return type }
function cpp_type(type) { return has_setters[type] ? "weft::" short(type) : type }

# ---- structs with setters ----

function setter(of, name, parameter, body, note) {
    comment_of(note, "    ")
    say("    " of " &" name "(" parameter ") {")
    say("        " body)
    say("        return *this;")
    say("    }")
}

# The function that is called at the end of a context is that of the owner of its callbacks.
function is_callback(struct, j) { return field_type[struct, j] == "callback" && field_name[struct, j] != "on_release" }

function write_callbacks(struct, of,   j, k, name, body) {
    say("  private:")
    say("    struct callbacks_type {")
    for (j = 1; j <= fields[struct]; j++)
        if (is_callback(struct, j))
            say("        detail::callback<decltype(" struct "::" field_name[struct, j] ")> " field_name[struct, j] ";")
    say("    };")
    say("")
    say("  public:")
    for (j = 1; j <= fields[struct]; j++) {
        if (!is_callback(struct, j)) continue
        name = field_name[struct, j]
        body = "auto *const all = this->change(&callbacks_type::" name ", std::move(function));\n        this->c_." name \
               " = detail::trampoline<&callbacks_type::" name ">::call;"
        for (k = 1; k <= fields[struct]; k++)
            if (field_name[struct, k] ~ /^(log_|progress_)?user$/) body = body "\n        this->c_." field_name[struct, k] " = all;"
        setter(of, name, "detail::callback<decltype(" struct "::" name ")> function", body, field_comment[struct, j])
    }
}

function write_setter(struct, of, j,   type, name, next_name, base, bare, copies) {
    type = field_type[struct, j]
    name = field_name[struct, j]
    bare = name
    sub(/\[.*/, "", bare)
    next_name = field_name[struct, j + 1]
    base = base_of(type)
    copies = sized[struct] && struct != "weft_metric_rows"
    note = field_comment[struct, j]
    if (name == "struct_size" || type == "callback" || has_callbacks[struct] && name ~ /^(.*_)?user$/) return
    if (type == "size_t" && name ~ /_count$/ && j > 1 && (field_type[struct, j - 1] ~ /\*/ || field_name[struct, j - 1] ~ /\[/)) return
    if (type == "int" && name == "rank" && has_dims[struct]) return
    if (name ~ /\[/ && type !~ /\*/) {
        say_rank = bare == "dims" ? "\n        this->c_.rank = static_cast<int>(list.size());" : \
                   next_name ~ /_count$/ ? "\n        this->c_." next_name " = list.size();" : ""
        setter(of, bare, "span<const " type "> list", "this->fill(this->c_." bare ", list);" say_rank, note)
    } else if (type == "const int64_t *" && name == "dims") {
        setter(of, name, "span<const " base "> list", "this->c_.dims = this->template keep_list<" base ">(list);\n" \
               "        this->c_.rank = static_cast<int>(list.size());", note)
    } else if (type == "const char *")
        setter(of, name, "cstring text", "this->c_." name " = this->keep(text);", note)
    else if (type == "const char *const *")
        setter(of, name, "const names &list", "this->c_." name " = this->keep(list);", note)
    else if (type == "weft_tensor *const *")
        setter(of, name, "span<const weft::tensor> list", "this->c_." name " = this->template keep_list<weft_tensor *>(list);" \
               (next_name ~ /_count$/ ? "\n        this->c_." next_name " = list.size();" : ""), note)
    else if (type ~ /^const weft_[a-z_]+ \*$/ && next_name ~ /_count$/)
        setter(of, name, "span<const " cpp_type(base) "> list", "this->c_." name " = this->template keep_list<" base ">(list);\n" \
               "        this->c_." next_name " = list.size();", note)
    else if (type == "weft_tensor *")
        setter(of, name, "weft::tensor value", "this->c_." name " = value;", note)
    else if (type ~ /^(const )?weft_[a-z_]+ \*$/ && is_counted(base))
        setter(of, name, type "object", "this->c_." name " = this->keep_object(object);", note)
    else if (type ~ /^const weft_[a-z_]+ \*$/ && is_struct[base])
        setter(of, name, "const " cpp_type(base) " &value", "this->c_." name " = this->keep(std::make_shared<const " \
               base ">(this->keep_parts(value)));", note)
    else if (has_setters[type])
        setter(of, name, "const " cpp_type(type) " &value", "this->c_." name " = this->keep_parts(value);", note)
    else if (type == "const void *")
        setter(of, name, "const_memory given", "this->c_." name " = given.data();", note)
    else if (type ~ /^const (float|int32_t|unsigned char) \*$/)
        setter(of, name, "span<const " base "> list", "this->c_." name " = " \
               (copies ? "this->template keep_list<" base ">(list)" : "list.data()") ";", note)
    else
        setter(of, name, type (type ~ /\*$/ ? "" : " ") "value" (type == "bool" ? " = true" : ""), \
               "this->c_." name " = value;", note)
}

function write_settings(struct,   of, j, t) {
    if (struct in written) return
    written[struct] = 1
    # Structs that this one contains come first.
    for (j = 1; j <= fields[struct]; j++) {
        t = base_of(field_type[struct, j])
        if (has_setters[t]) write_settings(t)
        if (field_type[struct, j] == "callback" && struct != "weft_allocator") has_callbacks[struct] = 1
        if (field_name[struct, j] ~ /^dims/) has_dims[struct] = 1
    }
    of = short(struct)
    say("")
    comment_of(struct_comment[struct], "")
    say("class " of " : public detail::settings<" of ", " struct "> {")
    if (has_callbacks[struct]) write_callbacks(struct, of); else say("  public:")
    say(sized[struct] ? "    " of "() { this->c_.struct_size = sizeof this->c_; }" : "    " of "() = default;")
    say("    " of "(const " struct " &fields) : settings(fields) {}")
    for (j = 1; j <= fields[struct]; j++) write_setter(struct, of, j)
    say("};")
}

# ---- calls ----

function parse_arguments(text,   i, parts) {
    arguments = text == "void" ? 0 : split(text, parts, /, */)
    for (i = 1; i <= arguments; i++) {
        match(parts[i], /[a-z_0-9]+$/)
        name_of[i] = substr(parts[i], RSTART)
        if (is_class("weft_" name_of[i])) name_of[i] = name_of[i] "_" # a parameter would hide the class
        type_of[i] = trimmed(substr(parts[i], 1, RSTART - 1))
    }
    for (; i <= arguments + 3; i++) name_of[i] = type_of[i] = ""
}

function parameter(text, default) { parameters[++parameter_count] = text; defaults[parameter_count] = default }
function pass(text) { passed = passed (passed == "" ? "" : ", ") text }
function output(type, name, value) {
    output_type[++outputs] = type
    output_value[outputs] = value
    pass("&" name)
}
function before(text) { statements = statements "    " text "\n" }
function source(name) { sources = sources ", " name }
function quoted(name) { return "\"" short(name) "\"" }

# Reads the arguments from i on by the first rule that fits, and returns how many of them it took.
function rule(i, call, is_status,   t, n, t2, n2, t3, base) {
    t = type_of[i]; n = name_of[i]
    t2 = type_of[i + 1]; n2 = name_of[i + 1]
    t3 = type_of[i + 2]
    base = base_of(t)
    if (t ~ /^weft_[a-z_]+ \*\*$/ && is_owned(base)) { # an object that the caller gets
        before(base " *" n " = nullptr;")
        output("weft::" short(base), n, "weft::" short(base) "::adopt(" n ")")
        return 1
    }
    if (t == "weft_tensor **" && t2 == "size_t" && t3 == "size_t *") { # updates
        before("std::vector<weft::tensor> all(WEFT_MAX_UPDATES);\n    std::size_t count = 0;")
        pass("detail::pointers(all), all.size(), &count")
        output_type[++outputs] = "std::vector<weft::tensor>"
        output_value[outputs] = "(all.resize(count), all)"
        return 3
    }
    if (t == "weft_tensor **" && is_status) { # as many as a list before it has
        before("std::vector<weft::tensor> all(" list_size ");")
        pass("detail::pointers(all)")
        output_type[++outputs] = "std::vector<weft::tensor>"
        output_value[outputs] = "all"
        return 1
    }
    if (t == "weft_tensor **") {
        parameter("weft::tensor *" n, defaults[parameter_count] == "" ? "" : "nullptr")
        pass("reinterpret_cast<weft_tensor **>(" n ")")
        return 1
    }
    if (t == "weft_tensor *" || t == "const weft_tensor *") {
        parameter("weft::tensor " n)
        pass(n ".get()")
        source(n ".get()")
        last_tensor = n
        return 1
    }
    if (t == "weft_tensor *const *" && t2 == t) { # two lists of one length
        parameter("span<const weft::tensor> " n)
        parameter("span<const weft::tensor> " n2)
        before("if (" n ".size() != " n2 ".size()) detail::fail(" quoted(call) ", \"the lists have different lengths\");")
        pass("detail::pointers(" n "), detail::pointers(" n2 "), " n ".size()")
        source("detail::first(" n ")")
        return 3
    }
    if (t == "weft_tensor *const *") {
        parameter("span<const weft::tensor> " n)
        pass("detail::pointers(" n "), " n ".size()")
        source("detail::first(" n ")")
        list_size = n ".size()"
        return 2
    }
    if (t == "weft_graph *") source(n)
    if (t == "int" && n == "rank") {
        base = base_of(t2)
        parameter("span<const " base "> " n2)
        pass("static_cast<int>(" n2 ".size()), " n2 ".data()")
        return 2
    }
    if (t == "const void *" && n2 == "rank") {
        parameter("const_memory " n)
        parameter("span<const int64_t> dims")
        if (call == "weft_save_npy") pass("detail::data_of(\"save_npy\", " n ", dtype, dims), static_cast<int>(dims.size()), dims.data()")
        else pass("detail::data_of(" quoted(call) ", " n ", dtype, dims), static_cast<int>(dims.size()), dims.data()")
        return 3
    }
    if (t ~ /^(const )?void \*$/ && n2 == "bytes") {
        parameter((t ~ /const/ ? "const_memory " : "weft::memory ") n)
        pass((last_tensor == "" ? n ".data()" : "detail::data_of(" quoted(call) ", " n ", weft_tensor_dtype(" last_tensor "))") \
             ", " n ".size()")
        return 2
    }
    if (t == "char *" && n == "buffer") {
        two_calls = "detail::read_text"
        result_type = "std::string"
        pass("buffer, capacity, length")
        lambda = "char *buffer, std::size_t capacity, std::size_t *length"
        return 3
    }
    if (n2 == "capacity") {
        base = t
        sub(/ \*$/, "", base)
        two_calls = "detail::read_all<" base ">"
        result_type = "std::vector<" base ">"
        pass("buffer, capacity, count")
        lambda = base " *buffer, std::size_t capacity, std::size_t *count"
        return 3
    }
    if (t == "const char *" && n2 == "bytes") {
        parameter("std::string_view " n)
        pass(n ".data(), " n ".size()")
        return 2
    }
    if (t == "const char *") {
        parameter("cstring " n, i == arguments && n ~ /^(prefix|parameters|entry)$/ ? "nullptr" : "")
        pass(n)
        return 1
    }
    if (t == "const int64_t *" && n2 != "count" && n in lacking) {
        parameter("span<const int64_t> " n)
        pass("detail::entries(" quoted(call) ", " n ", " last_tensor ".rank()" (lacking[n] ? " - " lacking[n] : "") \
             (n == "size" ? ", true" : "") ")")
        return 1
    }
    if (t == "const int64_t *" && n2 != "count") {
        parameter("const weft::axes &" n, "{}")
        pass(n)
        return 1
    }
    if (t ~ /^const (float|int32_t) \*$/ && t2 ~ /^const (float|int32_t) \*$/ && t3 == "size_t") { # two lists of one length
        sub(/ \*$/, "", t)
        sub(/ \*$/, "", t2)
        parameter("span<" t "> " n)
        parameter("span<" t2 "> " n2)
        before("if (" n ".size() != " n2 ".size()) detail::fail(" quoted(call) ", \"the lists have different lengths\");")
        pass(n ".data(), " n2 ".data(), " n ".size()")
        return 3
    }
    if (t == "const char *const *" && t2 == "size_t") {
        parameter("const names &" n)
        pass(n ".pointers().data(), " n ".texts().size()")
        return 2
    }
    if (t ~ /^(const )?(float|u?int(32|64)_t) \*$/ && t2 == "size_t" && n2 ~ /^(count|size)$/) {
        sub(/ \*$/, "", t)
        parameter("span<" t "> " n)
        pass(n ".data(), " n ".size()")
        list_size = n ".size()"
        return 2
    }
    if (t == "const struct _cl_mem *" || t == "struct _cl_mem **") {
        before("struct _cl_mem *" n " = nullptr;")
        output("struct _cl_mem *", n, n)
        return 1
    }
    if (t ~ /^(const )?weft_[a-z_]+ \*$/ && is_struct[base] && t2 == "size_t" && n2 ~ /count$/) {
        if (has_setters[base]) {
            parameter("span<const weft::" short(base) "> " n)
            pass("detail::list_of<" base ">(" n ").data(), " n ".size()")
        } else {
            parameter("span<" (t ~ /^const/ ? "const " : "") base "> " n)
            pass(n ".data(), " n ".size()")
        }
        return 2
    }
    if (t ~ /^const weft_[a-z_]+ \*$/ && sized[base]) {
        parameter("const weft::" short(base) " &" n, "{}")
        pass(n)
        return 1
    }
    if (t ~ /^const weft_[a-z_]+ \*$/ && has_setters[base]) {
        parameter("const " base " *" n) # from a struct with setters, or nullptr
        pass(n)
        return 1
    }
    if (t == "weft_plateau *") { # read and written
        parameter("weft_plateau &" n)
        pass("&" n)
        return 1
    }
    if (t ~ /^weft_[a-z_]+ \*$/ && is_struct[base]) {
        before(base " " n " = {};")
        output(base, n, n)
        return 1
    }
    if (t ~ /^(size_t|double|float|bool|int64_t) \*$/) {
        base = t
        sub(/ \*$/, "", base)
        before(base " " n " = {};")
        output(base, n, n)
        return 1
    }
    if (is_struct[t] && has_setters[t]) {
        parameter("const weft::" short(t) " &" n)
        pass(n ".get()")
        return 1
    }
    if (t == "size_t" && n == "count") list_size = "count"
    parameter(t (t ~ /\*$/ ? "" : " ") n, t == "bool" && n == "keep" ? "false" : "")
    pass(n)
    return 1
}

function parameter_list(with_defaults,   i, text, all) {
    for (i = parameter_count; i > first_parameter; i--) {
        text = parameters[i]
        if (with_defaults && defaults[i] != "" && all == i + 1 || with_defaults && defaults[i] != "" && i == parameter_count) {
            text = text " = " defaults[i]
            all = i
        }
        list_text = i == parameter_count ? text : text ", " list_text
    }
    return parameter_count > first_parameter ? list_text : ""
}

# The result of a call that returns a value: its C++ type and the expression for it.
function wrap(type, call, is_const,   base) {
    base = base_of(type)
    if (type == "weft_tensor *") {
        result_type = "weft::tensor"
        return is_const ? "weft::tensor(@)" : "weft::tensor(detail::result(" quoted(call) ", @" sources "))"
    }
    if (type == "weft_recurrent") { result_type = "recurrent"; return "detail::result(" quoted(call) ", @" sources ")" }
    if (type ~ /^weft_[a-z_]+ \*$/ && is_counted(base)) {
        result_type = "weft::" short(base)
        return result_type "::retain(@)"
    }
    if (type ~ /^weft_(optimizer_state|adaptive_softmax) \*$/) {
        result_type = type
        return "detail::result(" quoted(call) ", @" sources ")"
    }
    if (has_setters[type]) { result_type = "weft::" short(type); return result_type "(@)" }
    result_type = type
    return "@"
}

# A call as lines of C++: the head without its default arguments, and the body.
function prepare(c, target,   call, i, n, type, text, is_const) {
    call = call_name[c]
    parse_arguments(call_arguments[c])
    parameter_count = outputs = first_parameter = 0
    passed = statements = sources = last_tensor = two_calls = list_size = result_type = ""
    type = call_result[c]
    is_status = type == "weft_status" && call !~ /^weft_(graph_status)$/
    is_const = type_of[1] ~ /^const / && type_of[1] !~ /const weft_tensor/
    if (is_member(c)) { self = name_of[1]; pass("this->get()"); i = 2; if (type_of[1] == "weft_graph *" || type_of[1] ~ /weft_tensor/) source("this->get()"); if (type_of[1] ~ /weft_tensor/) last_tensor = "(*this)" }
    else i = 1
    while (i <= arguments) i += rule(i, call, is_status)
    text = "::" target "(" passed ")"
    if (two_calls) {
        body = statements "    return " two_calls "([&](" lambda ") { return " text "; });\n"
        return
    }
    if (is_status) text = "detail::check(" text ");"
    else if (type == "void") text = text ";"
    if (outputs == 0) {
        if (is_status || type == "void") { result_type = "void"; body = statements "    " text "\n" }
        else {
            n = wrap(type, call, is_const)
            match(n, /@/)
            body = statements "    return " substr(n, 1, RSTART - 1) text substr(n, RSTART + 1) ";\n"
        }
        return
    }
    if (type == "const char *") { # a text and its length
        result_type = "std::string_view"
        body = statements "    const char *const text = " text ";\n    return text ? std::string_view(text, bytes) : std::string_view();\n"
        return
    }
    result_type = output_type[1]
    n = output_value[1]
    for (i = 2; i <= outputs; i++) {
        result_type = result_type ", " output_type[i]
        n = n ", " output_value[i]
    }
    if (outputs > 1) { result_type = "std::tuple<" result_type ">"; n = "{" n "}" }
    body = statements "    " text "\n    return " n ";\n"
}

# The type of which a call is a member: that of its first argument or, for calls that make an object, of their result.
function owner_of(c,   type, base) {
    type = call_arguments[c]
    sub(/ \**[a-z_0-9]+(,.*)?$/, "", type)
    base = base_of(type " *")
    if ((is_owned(base) || base == "weft_tensor") && begins(call_name[c], base "_")) return base
    return ""
}
function is_member(c,   first) {
    first = call_arguments[c]
    sub(/,.*/, "", first)
    return owner_of(c) != "" && first !~ /\*\*/ && first !~ /\*const \*/
}
function makes_object(c,   first) {
    first = call_arguments[c]
    sub(/,.*/, "", first)
    return owner_of(c) != "" && first ~ /\*\*/
}
function is_lifetime(call) { return call ~ /_(release|retain)$/ }

function function_line(name, qualified, is_const_member) {
    return result_type " " qualified name "(" parameter_list(qualified == "") ")" is_const_member
}

function declare_members(type,   c, name, constness) {
    for (c = 1; c <= calls; c++) {
        if (owner_of(c) != type || is_lifetime(call_name[c]) || call_name[c] in by_hand) continue
        comment_of(call_comment[c], "    ")
        prepare(c, call_name[c])
        name = substr(call_name[c], length(type) + 2)
        if (name == "create" && makes_object(c)) {
            say("    explicit " short(type) "(" parameter_list(1) ");")
        } else {
            constness = is_member(c) && call_arguments[c] ~ /^const / || type == "weft_tensor" && is_member(c) ? " const" : ""
            say("    " (makes_object(c) ? "static " : "") result_type " " name "(" parameter_list(1) ")" constness ";")
        }
    }
}

function define_members(type,   c, name, constness, out) {
    for (c = 1; c <= calls; c++) {
        if (owner_of(c) != type || is_lifetime(call_name[c]) || call_name[c] in by_hand) continue
        prepare(c, call_name[c])
        name = substr(call_name[c], length(type) + 2)
        if (name == "create" && makes_object(c)) {
            if (type == "weft_context") continue # by hand in weft.hpp
            say("inline " short(type) "::" short(type) "(" parameter_list(0) ") {")
            sub(/^ *weft_[a-z_]+ \*[a-z_]+ = nullptr;\n/, "", statements)
            sub(/^&[a-z_]+/, "\\&object_", passed)
            printf "%s    detail::check(::%s(%s));\n", statements, call_name[c], passed
            for (out = 1; out <= parameter_count; out++)
                if (parameters[out] ~ /const weft::trainer_options &/) say("    callbacks_ = options.callbacks();")
            say("}")
            continue
        }
        constness = is_member(c) && call_arguments[c] ~ /^const / || type == "weft_tensor" && is_member(c) ? " const" : ""
        say("inline " result_type " " short(type) "::" name "(" parameter_list(0) ")" constness " {")
        printf "%s}\n", body
    }
}

function write_free(c, name, target, note) {
    prepare(c, target)
    comment_of(note, "")
    say("inline " result_type " " name "(" parameter_list(1) ") {")
    printf "%s}\n", body
}

# A macro that takes a list or named arguments is a function that takes a list or a struct.
function write_macro(name,   body_text, target, c) {
    body_text = macro_body[name]
    if (match(body_text, /(WEFT_TAKE_AXES_|WEFT_TAKE_AXES_KEEP_|WEFT_NAMED_)\(weft_[a-z0-9_]+/)) {
        target = substr(body_text, RSTART, RLENGTH)
        sub(/.*\(/, "", target)
    } else if (body_text ~ /WEFT_TAKE_MASKED_AXES_/) target = name "_axes"
    else if (body_text ~ /WEFT_TAKE_PARAMETER_/) target = name "_shape"
    else return
    c = index_of[target]
    prepare(c, target)
    comment_of(macro_comment[name], "")
    if (body_text ~ /WEFT_TAKE_AXES_KEEP_/ || target ~ /_list_$/) { # the last argument is fixed
        parameter_count--
        sub(/, (keep|unused)\)/, ", " (target ~ /_list_$/ ? "false" : "true") ")", body)
    }
    if (body_text ~ /WEFT_NAMED_/) defaults[parameter_count] = ""
    gsub(quoted(target), "\"" short(name) "\"", body)
    say("inline " result_type " " short(name) "(" parameter_list(1) ") {")
    printf "%s}\n", body
}

function operator_line(sign, left, right, expression) {
    say("inline tensor operator" sign "(" left ", " right ") { return " expression "; }")
}
function number_line(sign, left, right, expression) {
    say("template <class N, detail::if_number<N> = 0> tensor operator" sign "(" left ", " right ") {")
    say("    return " expression ";")
    say("}")
}

function write_operators(   i, name, sign) {
    for (i = 1; arithmetic[i]; i += 2) {
        name = arithmetic[i]
        sign = arithmetic[i + 1]
        operator_line(sign, "tensor a", "tensor b", name "(a, b)")
        number_line(sign, "tensor a", "N number", name "_number(a, static_cast<double>(number))")
        number_line(sign, "N number", "tensor b", name ~ /add|mul/ ? name "_number(b, static_cast<double>(number))" : \
                    "number_" name "(static_cast<double>(number), b)")
        say("inline tensor &operator" sign "=(tensor &a, tensor b) { return a = a " sign " b; }")
        say("template <class N, detail::if_number<N> = 0> tensor &operator" sign "=(tensor &a, N number) { return a = a " sign " number; }")
    }
    for (i = 1; comparisons[i]; i += 2) {
        name = comparisons[i]
        sign = comparisons[i + 1]
        operator_line(sign, "tensor a", "tensor b", name "(a, b)")
        number_line(sign, "tensor a", "N number", name "_number(a, static_cast<double>(number))")
        number_line(sign, "N number", "tensor b", mirrored[name] "_number(b, static_cast<double>(number))")
    }
}

END {
    find_settings()
    say("/* weft/calls.hpp: the C++ form of Weft's functions and structs. The build writes this file from the C headers, whose")
    say(" * comments it repeats. Programs include weft/weft.hpp. */")
    say("#ifndef WEFT_CALLS_HPP")
    say("#define WEFT_CALLS_HPP")
    say("")
    say("#include <weft/core.hpp>")
    say("")
    say("/* clang-format off */")
    say("namespace weft {")
    say("")
    for (i = 1; i <= type_count; i++) {
        name = types[i]
        if (name == "weft_loader") continue
        if (name == "weft_tensor" || is_owned(name) || has_setters[name]) say("class " short(name) ";")
    }
    say("namespace detail {")
    for (i = 1; i <= type_count; i++) {
        name = types[i]
        if (!is_owned(name)) continue
        say("template <> struct lifetime<" name "> {")
        say("    static void release(" name " *object) noexcept { " release_of(name) "(object); }")
        if (is_counted(name)) say("    static " name " *retain(" name " *object) noexcept { return " name "_retain(object); }")
        say("};")
    }
    say("} // namespace detail")
    say("")
    say("/* A node of a graph, which owns it: a value that is as good as the pointer of C. */")
    say("class tensor {")
    say("    weft_tensor *tensor_ = nullptr;")
    say("")
    say("  public:")
    say("    tensor() noexcept = default;")
    say("    tensor(weft_tensor *object) noexcept : tensor_(object) {}")
    say("    weft_tensor *get() const noexcept { return tensor_; }")
    say("    operator weft_tensor *() const noexcept { return tensor_; }")
    say("    operator bool() const = delete; /* a comparison is a tensor, too; x == nullptr asks for none */")
    say("    /* Entry `index` along the first axis. */")
    say("    tensor operator[](int64_t index) const;")
    declare_members("weft_tensor")
    say("};")
    say("inline bool operator==(tensor a, std::nullptr_t) noexcept { return !a.get(); }")
    say("inline bool operator!=(tensor a, std::nullptr_t) noexcept { return a.get(); }")
    say("")
    say("/* The results of a recurrent layer or cell; without y (cells) or c (except LSTM) these are nullptr. */")
    say("struct recurrent {")
    say("    tensor y, h, c;")
    say("};")
    say("")
    say("namespace detail {")
    say("static_assert(sizeof(tensor) == sizeof(weft_tensor *) && std::is_standard_layout_v<tensor>);")
    say("template <class List> weft_tensor **pointers(List &list) {")
    say("    return reinterpret_cast<weft_tensor **>(const_cast<tensor *>(list.data()));")
    say("}")
    say("inline weft_tensor *first(span<const weft::tensor> list) { return list.empty() ? nullptr : list[0].get(); }")
    say("template <class... Sources> recurrent result(const char *call, weft_recurrent made, Sources... sources) {")
    say("    return {made.y, result(call, made.h, sources...), made.c};")
    say("}")
    say("template <class N> using if_number = std::enable_if_t<std::is_arithmetic_v<N> && !std::is_same_v<N, bool>, int>;")
    say("} // namespace detail")
    for (i = 1; i <= struct_count; i++)
        if (has_setters[structs[i]]) write_settings(structs[i])
    for (i = 1; i <= type_count; i++) {
        name = types[i]
        if (!is_owned(name) || name == "weft_loader") continue
        say("")
        comment_of(opaque_comment[name], "")
        say("class " short(name) " : public detail::" (is_counted(name) ? "shared" : "owner") "<" short(name) ", " name "> {")
        say("  public:")
        if (name != "weft_context") say("    " short(name) "() noexcept = default;")
        say("    " short(name) "(std::nullptr_t) noexcept {}")
        declare_members(name)
        say("};")
    }
    say("")
    for (c = 1; c <= calls; c++) {
        name = call_name[c]
        if (owner_of(c) != "" || is_lifetime(name) || name in by_hand || name ~ /_$/ || name == "weft_last_error") continue
        write_free(c, short(name), name, call_comment[c])
    }
    for (i = 1; i <= macro_count; i++) write_macro(macros[i])
    say("")
    for (i = 1; i <= type_count; i++)
        if (types[i] == "weft_tensor" || is_owned(types[i]) && types[i] != "weft_loader") define_members(types[i])
    say("")
    say("/* ---- operators; % has the sign of the divisor, as in Python ---- */")
    write_operators()
    say("inline tensor operator-(tensor a) { return neg(a); }")
    say("inline tensor operator!(tensor a) { return logical_not(a); }")
    say("inline tensor operator~(tensor a) { return logical_not(a); }")
    say("inline tensor operator&(tensor a, tensor b) { return logical_and(a, b); }")
    say("inline tensor operator|(tensor a, tensor b) { return logical_or(a, b); }")
    say("inline tensor operator^(tensor a, tensor b) { return logical_xor(a, b); }")
    say("inline tensor tensor::operator[](int64_t index) const {")
    say("    return squeeze(slice(*this, 0, index, index == -1 ? WEFT_END : index + 1), 0);")
    say("}")
    say("")
    say("} // namespace weft")
    say("#endif")
}
