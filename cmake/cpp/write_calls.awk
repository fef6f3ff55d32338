# Prints weft/calls.hpp, the C++ form of the public headers of C:
#     awk -f read_headers.awk -f write_settings.awk -f write_arguments.awk -f write_functions.awk -f write_calls.awk HEADER...
BEGIN {
    # Written by hand in weft.hpp.
    split("weft_input_dims weft_parameter_dims weft_load_npy weft_npy_array_release weft_loader_create weft_loader_next " \
          "weft_loader_begin weft_loader_release weft_init_from_file", words, " ")
    for (i in words) by_hand[words[i]] = 1
    # Structs that C++ uses as they are; the others that calls read get setters.
    split("value prediction roofline allocator checkpoint_extra npy_array plateau recurrent", words, " ")
    for (i in words) plain["weft_" words[i]] = 1
    # A list of this name without a count has so many entries less than the tensor has axes.
    split("before 0 after 0 size 2 sizes 2", words, " ")
    for (i = 1; words[i]; i += 2) lacking[words[i]] = words[i + 1]
}

function is_by_generator(name) { return is_owned(name) && name != "weft_loader" }

function declare_classes(   i, name) {
    for (i = 1; i <= type_count; i++) {
        name = types[i]
        if (name == "weft_tensor" || is_by_generator(name) || has_setters[name]) say("class " short(name) ";")
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
    say("} // namespace detail\n")
}

function write_tensor() {
    say("/** A node of a graph, which owns it: a value that is as good as the pointer of C. */")
    say("class tensor {")
    say("    weft_tensor *tensor_ = nullptr;\n")
    say("  public:")
    say("    tensor() noexcept = default;")
    say("    tensor(weft_tensor *object) noexcept : tensor_(object) {}")
    say("    weft_tensor *get() const noexcept { return tensor_; }")
    say("    operator weft_tensor *() const noexcept { return tensor_; }")
    say("    operator bool() const = delete; /* a comparison is a tensor, too; x == nullptr asks for none */")
    say("    /** Entry `index` along the first axis. */")
    say("    tensor operator[](int64_t index) const;")
    declare_members("weft_tensor")
    say("};")
    say("inline bool operator==(tensor a, std::nullptr_t) noexcept { return !a.get(); }")
    say("inline bool operator!=(tensor a, std::nullptr_t) noexcept { return a.get(); }\n")
    say("/** The results of a recurrent layer or cell; without y (cells) or c (except LSTM) these are nullptr. */")
    say("struct recurrent {")
    say("    tensor y, h, c;")
    say("};\n")
    say("namespace detail {")
    say("static_assert(sizeof(tensor) == sizeof(weft_tensor *) && std::is_standard_layout_v<tensor>);")
    say("template <class List> weft_tensor **pointers(List &list) {")
    say("    return reinterpret_cast<weft_tensor **>(const_cast<tensor *>(list.data()));")
    say("}")
    say("inline weft_tensor *first(span<const tensor> list) { return list.empty() ? nullptr : list[0].get(); }")
    say("template <class... Sources> recurrent result(const char *call, weft_recurrent made, Sources... sources) {")
    say("    return {made.y, result(call, made.h, sources...), made.c};")
    say("}")
    say("template <class N> using if_number = std::enable_if_t<std::is_arithmetic_v<N> && !std::is_same_v<N, bool>, int>;")
    say("} // namespace detail")
}

function write_owner(name) {
    say("")
    comment_of(opaque_comment[name], "")
    say("class " short(name) " : public detail::" (is_counted(name) ? "shared" : "owner") "<" short(name) ", " name "> {")
    say("  public:")
    if (name != "weft_context") say("    " short(name) "() noexcept = default;") # without options, a context opens the default device
    say("    " short(name) "(std::nullptr_t) noexcept {}")
    declare_members(name)
    say("};")
}

END {
    find_settings()
    say("/* weft/calls.hpp: the C++ form of Weft's functions and structs. The build writes this file from the C headers, whose")
    say(" * comments it repeats: what they call borrowed has a reference of its own here. Programs include weft/weft.hpp. */")
    say("#ifndef WEFT_CALLS_HPP\n#define WEFT_CALLS_HPP\n")
    say("#include <weft/core.hpp>\n")
    say("/* clang-format off */")
    say("namespace weft {")
    declare_classes()
    write_tensor()
    for (i = 1; i <= struct_count; i++)
        if (has_setters[structs[i]]) write_settings(structs[i])
    for (i = 1; i <= type_count; i++)
        if (is_by_generator(types[i])) write_owner(types[i])
    say("")
    for (c = 1; c <= calls; c++)
        if (owner_of(c) == "" && is_written(c) && call_name[c] !~ /_$|^weft_last_error$/) write_free(c)
    for (i = 1; i <= macro_count; i++) write_macro(macros[i])
    say("")
    define_members("weft_tensor")
    for (i = 1; i <= type_count; i++)
        if (is_by_generator(types[i])) define_members(types[i])
    say("\n/* ---- operators; % has the sign of the divisor, as in Python ---- */")
    write_operators()
    say("inline tensor tensor::operator[](int64_t index) const {")
    say("    return squeeze(slice(*this, 0, index, index == -1 ? WEFT_END : index + 1), 0);")
    say("}")
    say("\n} // namespace weft\n#endif")
}
