# Writes a class with setters for each struct of C that calls read.
function say(text) { print text }
function comment_of(text, indent) {
    if (text == "") return
    gsub(/\n[ \t]*/, "\n" indent " ", text)
    sub(/^\/\*/, "/**", text) # as Doxygen and editors expect
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

function setter(of, name, argument, body, note) {
    comment_of(note, "    ")
    say("    " of " &" name "(" argument ") {")
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
        setter(of, bare, "span<const " type "> list", "this->fill_array(this->c_." bare ", list);" say_rank, note)
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
