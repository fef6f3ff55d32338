# Decides what the arguments of a function of C become: parameters of C++, what is passed to C for them, and results.

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

# What the rules below collect: parameters, arguments of C, statements before the call, results, and the tensors and graphs from which
# an error is read.
function begin_call(name) {
    call = "\"" short(name) "\""
    parameter_count = outputs = 0
    passed = statements = sources = last_tensor = two_calls = list_size = result_type = ""
}
function parameter(text, default) { parameters[++parameter_count] = text; defaults[parameter_count] = default }
function pass(text) { passed = passed (passed == "" ? "" : ", ") text }
function take(text, value, default) { parameter(text, default); pass(value) }
function before(text) { statements = statements "    " text "\n" }
function source(name) { sources = sources ", " name }
function result(type, value) { output_type[++outputs] = type; output_value[outputs] = value }
function output(type, name, start) {
    before(type (type ~ /\*$/ ? "" : " ") name " = " start ";")
    pass("&" name)
    result(type, name)
}
function same_sizes() {
    before("if (" n ".size() != " n2 ".size()) detail::fail(" call ", \"the lists have different lengths\");")
}
function element_of(type) { sub(/ \*$/, "", type); return type }

# The rules look at the type t and the name n of an argument and at those behind it, and return how many of them they take; 0: none.

function take_tensors(is_status) {
    if (t == "weft_tensor *" || t == "const weft_tensor *") {
        take("weft::tensor " n, n ".get()")
        source(n ".get()")
        last_tensor = n
        return 1
    }
    if (t == "weft_tensor *const *") {
        take("span<const weft::tensor> " n, "detail::pointers(" n ")")
        source("detail::first(" n ")")
        list_size = n ".size()"
        if (t2 != t) { pass(n ".size()"); return 2 }
        take("span<const weft::tensor> " n2, "detail::pointers(" n2 "), " n ".size()")
        same_sizes()
        return 3
    }
    if (t != "weft_tensor **") return 0
    if (!is_status) { # one more result of an expression
        take("weft::tensor *" n, "reinterpret_cast<weft_tensor **>(" n ")", defaults[parameter_count] == "" ? "" : "nullptr")
        return 1
    }
    if (t2 == "size_t") { # updates
        before("std::vector<weft::tensor> all(WEFT_MAX_UPDATES);\n    std::size_t count = 0;")
        pass("detail::pointers(all), all.size(), &count")
        result("std::vector<weft::tensor>", "(all.resize(count), all)")
        return 3
    }
    before("std::vector<weft::tensor> all(" list_size ");") # as many as a list before it has
    pass("detail::pointers(all)")
    result("std::vector<weft::tensor>", "all")
    return 1
}

function take_memory(   checked) {
    if (t == "int" && n == "rank") {
        take("span<const " base_of(t2) "> " n2, "static_cast<int>(" n2 ".size()), " n2 ".data()")
        return 2
    }
    if (t == "const void *" && n2 == "rank") {
        take("const_memory " n, "detail::data_of(" call ", " n ", dtype, dims)")
        take("span<const int64_t> dims", "static_cast<int>(dims.size()), dims.data()")
        return 3
    }
    if (t ~ /^(const )?void \*$/ && n2 == "bytes") {
        checked = "detail::data_of(" call ", " n ", weft_tensor_dtype(" last_tensor "))"
        take((t ~ /const/ ? "const_memory " : "weft::memory ") n, (last_tensor == "" ? n ".data()" : checked) ", " n ".size()")
        return 2
    }
    if (n2 != "capacity" || t2 != "size_t") return 0
    if (t == "char *") { two_calls = "detail::read_text"; result_type = "std::string" }
    else { two_calls = "detail::read_all<" element_of(t) ">"; result_type = "std::vector<" element_of(t) ">" }
    lambda = t "buffer, std::size_t capacity, std::size_t *length"
    pass("buffer, capacity, length")
    return 3
}

function take_list() {
    if (t == "const int64_t *" && n2 != "count") {
        if (n in lacking)
            take("span<const int64_t> " n, "detail::entries(" call ", " n ", " last_tensor ".rank()" \
                 (lacking[n] ? " - " lacking[n] : "") (n == "size" ? ", true" : "") ")")
        else take("const weft::axes &" n, n, "{}")
        return 1
    }
    if (t ~ /^(const )?(float|u?int(32|64)_t) \*$/ && t2 == "size_t" && n2 ~ /^(count|size)$/) {
        take("span<" element_of(t) "> " n, n ".data(), " n ".size()")
        list_size = n ".size()"
        return 2
    }
    if (t ~ /^const (float|int32_t) \*$/ && t2 ~ /^const (float|int32_t) \*$/ && t3 == "size_t") {
        take("span<" element_of(t) "> " n, n ".data()")
        take("span<" element_of(t2) "> " n2, n2 ".data(), " n ".size()")
        same_sizes()
        return 3
    }
    return 0
}

function take_text(i) {
    if (t == "const char *const *" && t2 == "size_t") {
        take("const names &" n, n ".pointers().data(), " n ".texts().size()")
        return 2
    }
    if (t != "const char *") return 0
    if (n2 == "bytes") {
        take("std::string_view " n, n ".data(), " n ".size()")
        return 2
    }
    take("cstring " n, n, i == arguments && n ~ /^(prefix|parameters|entry)$/ ? "nullptr" : "")
    return 1
}

function take_struct(   base) {
    base = base_of(t)
    if (t ~ /\*\*$/ && is_owned(base)) { # an object that the caller gets
        output(base " *", n, "nullptr")
        output_type[outputs] = "weft::" short(base)
        output_value[outputs] = output_type[outputs] "::adopt(" n ")"
        return 1
    }
    if (t == base && has_setters[t]) {
        take("const weft::" short(t) " &" n, n ".get()")
        return 1
    }
    if (t !~ /^(const )?weft_[a-z_]+ \*$/ || !is_struct[base]) return 0
    if (t2 == "size_t" && n2 ~ /count$/) {
        if (has_setters[base]) take("span<const weft::" short(base) "> " n, "detail::list_of<" base ">(" n ").data(), " n ".size()")
        else take("span<" element_of(t) "> " n, n ".data(), " n ".size()")
        return 2
    }
    if (base == "weft_plateau") take("weft_plateau &" n, "&" n) # read and written
    else if (t !~ /^const /) output(base, n, "{}")
    else if (sized[base]) take("const weft::" short(base) " &" n, n, "{}")
    else take("const " base " *" n, n) # from a struct with setters, or nullptr
    return 1
}

function take_other() {
    if (t == "weft_graph *") source(n)
    if (t == "struct _cl_mem **") output("struct _cl_mem *", n, "nullptr")
    else if (t ~ /^(size_t|double|float|bool|int64_t) \*$/) output(element_of(t), n, "{}")
    else take(t (t ~ /\*$/ ? "" : " ") n, n, t == "bool" && n == "keep" ? "false" : "")
    if (t == "size_t" && n == "count") list_size = "count"
    return 1
}

function take_argument(i, is_status,   taken) {
    t = type_of[i]; n = name_of[i]
    t2 = type_of[i + 1]; n2 = name_of[i + 1]
    t3 = type_of[i + 2]
    if (taken = take_tensors(is_status)) return taken
    if (taken = take_memory()) return taken
    if (taken = take_list()) return taken
    if (taken = take_text(i)) return taken
    if (taken = take_struct()) return taken
    return take_other()
}

# The parameters, the last of them with their defaults.
function parameter_list(with_defaults,   i, text, all_default) {
    text = ""
    all_default = with_defaults
    for (i = parameter_count; i > 0; i--) {
        all_default = all_default && defaults[i] != ""
        text = parameters[i] (all_default ? " = " defaults[i] : "") (text == "" ? "" : ", ") text
    }
    return text
}
