# Writes functions and members: heads, bodies and comments.

# The C++ type of what a call returns, and the expression for it, in which @ is the call.
function wrapped(type, looks_up,   base, checked) {
    base = base_of(type)
    checked = "detail::result(" call ", @" sources ")"
    result_type = type
    if (type == "weft_tensor *") { result_type = "weft::tensor"; return "weft::tensor(" (looks_up ? "@" : checked) ")" }
    if (type == "weft_recurrent") { result_type = "recurrent"; return checked }
    if (type ~ /^weft_[a-z_]+ \*$/ && is_counted(base)) { result_type = "weft::" short(base); return result_type "::retain(@)" }
    if (type ~ /^weft_(optimizer_state|adaptive_softmax) \*$/) return checked
    if (has_setters[type]) { result_type = "weft::" short(type); return result_type "(@)" }
    return "@"
}

function list_results(   i, types, values) {
    for (i = 1; i <= outputs; i++) {
        types = types (i > 1 ? ", " : "") output_type[i]
        values = values (i > 1 ? ", " : "") output_value[i]
    }
    result_type = outputs > 1 ? "std::tuple<" types ">" : types
    return outputs > 1 ? "{" values "}" : values
}

function body_of(text, type, is_status, looks_up,   form, at) {
    if (two_calls) return "    return " two_calls "([&](" lambda ") { return " text "; });\n"
    if (is_status) text = "detail::check(" text ")"
    if (outputs > 0 && type == "const char *") { # a text and its length
        result_type = "std::string_view"
        return "    const char *const text = " text ";\n    return text ? std::string_view(text, bytes) : std::string_view();\n"
    }
    if (outputs > 0) { form = list_results(); return "    " text ";\n    return " form ";\n" }
    if (is_status || type == "void") { result_type = "void"; return "    " text ";\n" }
    form = wrapped(type, looks_up)
    at = index(form, "@")
    return "    return " substr(form, 1, at - 1) text substr(form, at + 1) ";\n"
}

# Sets result_type, body and the parameters of declaration c, whose form in C++ calls `target`.
function prepare(c, target,   i, type, is_status, is_own) {
    begin_call(target)
    parse_arguments(call_arguments[c])
    type = call_result[c]
    is_status = type == "weft_status" && target != "weft_graph_status"
    is_own = is_member(c)
    if (is_own) {
        pass("this->get()")
        if (type_of[1] ~ /^(const )?weft_(graph|tensor) \*$/) source("this->get()")
        if (type_of[1] ~ /tensor/) last_tensor = "*this"
    }
    for (i = is_own ? 2 : 1; i <= arguments; ) i += take_argument(i, is_status)
    body = body_of("::" target "(" passed ")", type, is_status, type_of[1] ~ /^const / && type_of[1] !~ /weft_tensor/)
    body = statements body
}

function first_argument(c,   text) { text = call_arguments[c]; sub(/,.*/, "", text); return text }
# The class of which a call is a member: that of its first argument, if the call's name begins with it.
function owner_of(c,   text, base) {
    text = first_argument(c)
    sub(/[ *]*[a-z_0-9]+$/, "", text)
    sub(/^const /, "", text)
    return (is_owned(text) || text == "weft_tensor") && begins(call_name[c], text "_") ? text : ""
}
function makes_object(c) { return owner_of(c) != "" && first_argument(c) ~ /\*\*/ }
function is_member(c) { return owner_of(c) != "" && first_argument(c) !~ /\*(\*|const)/ }
function is_lifetime(name) { return name ~ /_(release|retain)$/ }
function is_written(c) { return !is_lifetime(call_name[c]) && !(call_name[c] in by_hand) }
function constness(c, class) {
    return is_member(c) && (call_arguments[c] ~ /^const / || class == "weft_tensor") ? " const" : ""
}
function spaced(type) { return type (type ~ /\*$/ ? "" : " ") }

function declare_members(class,   c, name) {
    for (c = 1; c <= calls; c++) {
        if (owner_of(c) != class || !is_written(c)) continue
        comment_of(call_comment[c], "    ")
        prepare(c, call_name[c])
        name = substr(call_name[c], length(class) + 2)
        if (makes_object(c) && name == "create") say("    explicit " short(class) "(" parameter_list(1) ");")
        else say("    " (makes_object(c) ? "static " : "") spaced(result_type) name "(" parameter_list(1) ")" constness(c, class) ";")
    }
}

function define_constructor(c, class,   i) {
    if (class == "weft_context") return # in weft.hpp
    say("inline " short(class) "::" short(class) "(" parameter_list(0) ") {")
    sub(/^ *weft_[a-z_]+ \*[a-z_]+ = nullptr;\n/, "", statements)
    sub(/^&[a-z_]+/, "\\&object_", passed)
    printf "%s    detail::check(::%s(%s));\n", statements, call_name[c], passed
    for (i = 1; i <= parameter_count; i++)
        if (has_callbacks["weft_" short(class) "_options"] && parameters[i] ~ / &options$/) say("    callbacks_ = options.callbacks();")
    say("}")
}

function define_members(class,   c, name) {
    for (c = 1; c <= calls; c++) {
        if (owner_of(c) != class || !is_written(c)) continue
        prepare(c, call_name[c])
        name = substr(call_name[c], length(class) + 2)
        if (makes_object(c) && name == "create") { define_constructor(c, class); continue }
        say("inline " spaced(result_type) short(class) "::" name "(" parameter_list(0) ")" constness(c, class) " {")
        printf "%s}\n", body
    }
}

function write_free(c) {
    prepare(c, call_name[c])
    comment_of(call_comment[c], "")
    say("inline " spaced(result_type) short(call_name[c]) "(" parameter_list(1) ") {")
    printf "%s}\n", body
}

# A macro that takes a list or named arguments is a function that takes a list or a struct.
function write_macro(name,   text, target) {
    text = macro_body[name]
    if (match(text, /(WEFT_TAKE_AXES_|WEFT_TAKE_AXES_KEEP_|WEFT_NAMED_)\(weft_[a-z0-9_]+/)) {
        target = substr(text, RSTART, RLENGTH)
        sub(/.*\(/, "", target)
    } else if (text ~ /WEFT_TAKE_MASKED_AXES_/) target = name "_axes"
    else if (text ~ /WEFT_TAKE_PARAMETER_/) target = name "_shape"
    else return
    prepare(index_of[target], target)
    comment_of(macro_comment[name], "")
    if (text ~ /WEFT_TAKE_AXES_KEEP_/ || target ~ /_list_$/) { # the last argument is fixed
        parameter_count--
        sub(/, (keep|unused)\)/, ", " (target ~ /_list_$/ ? "false" : "true") ")", body)
    }
    if (text ~ /WEFT_NAMED_/) defaults[parameter_count] = ""
    gsub("\"" short(target) "\"", "\"" short(name) "\"", body)
    say("inline " result_type " " short(name) "(" parameter_list(1) ") {")
    printf "%s}\n", body
}

# ---- operators ----

function operator_line(sign, left, right, expression) {
    say("inline tensor operator" sign "(" left ", " right ") { return " expression "; }")
}
function number_line(sign, left, right, expression) {
    say("template <class N, detail::if_number<N> = 0> tensor operator" sign "(" left ", " right ") { return " expression "; }")
}

function write_operators(   i, name, sign, number) {
    number = "static_cast<double>(number)"
    split("add + sub - mul * div / remainder % equal == not_equal != less < less_equal <= greater > greater_equal >=", words, " ")
    split("add - mul - - equal not_equal greater greater_equal less less_equal", mirrored, " ")
    for (i = 1; name = words[2 * i - 1]; i++) {
        sign = words[2 * i]
        operator_line(sign, "tensor a", "tensor b", name "(a, b)")
        number_line(sign, "tensor a", "N number", name "_number(a, " number ")")
        number_line(sign, "N number", "tensor b", mirrored[i] == "-" ? "number_" name "(" number ", b)" : mirrored[i] "_number(b, " number ")")
        if (i > 5) continue
        say("inline tensor &operator" sign "=(tensor &a, tensor b) { return a = a " sign " b; }")
        say("template <class N, detail::if_number<N> = 0> tensor &operator" sign "=(tensor &a, N number) { return a = a " sign " number; }")
    }
    say("inline tensor operator-(tensor a) { return neg(a); }")
    say("inline tensor operator!(tensor a) { return logical_not(a); }")
    say("inline tensor operator~(tensor a) { return logical_not(a); }")
    operator_line("&", "tensor a", "tensor b", "logical_and(a, b)")
    operator_line("|", "tensor a", "tensor b", "logical_or(a, b)")
    operator_line("^", "tensor a", "tensor b", "logical_xor(a, b)")
}
