// Calls each setter that check_cpp_settings.sh lists in fields.inc with some value, and looks whether the struct changes.
#include <cstdio>
#include <cstring>
#include <weft/weft.hpp>

static weft_dataset *dataset; // setters retain it
static bool nothing_given;    // the setter takes a counted object of a type that is not made here

template <class C> C filled() {
    C fields;
    std::memset(static_cast<void *>(&fields), 1, sizeof fields);
    return fields;
}

template <class T, class = decltype(weft::detail::lifetime<std::remove_pointer_t<T>>::retain(T()))>
constexpr bool is_counted(std::nullptr_t) {
    return true;
}
template <class T> constexpr bool is_counted(const void *) {
    return false;
}

template <class T> struct maker {
    static T make() {
        if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>)
            return static_cast<T>(1);
        else if constexpr (is_counted<T>(nullptr))
            return nothing_given = true, nullptr;
        else if constexpr (std::is_base_of_v<weft::detail::has_setters, T>)
            return T(filled<std::decay_t<decltype(std::declval<T>().get())>>());
        else if constexpr (std::is_trivial_v<T>)
            return filled<T>(); // a struct of C, or a pointer that nobody follows
        else
            return T();
    }
};
template <> struct maker<weft_dataset *> {
    static weft_dataset *make() { return dataset; }
};
template <> struct maker<const weft_dataset *> {
    static const weft_dataset *make() { return dataset; }
};
// A job needs a launcher; setters only count the references of one, of which this memory has many.
template <> struct maker<weft_distributed *> {
    static weft_distributed *make() {
        alignas(16) static unsigned char job[1 << 14];
        return static_cast<weft_distributed *>(std::memset(job, 1, sizeof job));
    }
};
template <> struct maker<weft::cstring> {
    static weft::cstring make() { return "text"; }
};
template <> struct maker<weft::names> {
    static weft::names make() { return {"one", "two"}; }
};
template <> struct maker<weft::tensor> {
    static weft::tensor make() { return filled<weft_tensor *>(); }
};
template <> struct maker<weft::const_memory> {
    static weft::const_memory make() { return {&dataset, 1}; }
};
template <class T> struct maker<weft::span<const T>> {
    static weft::span<const T> make() {
        static const T one = maker<T>::make();
        return {&one, 1};
    }
};

// Becomes what a setter takes.
struct anything {
    template <class T> operator T() const { return maker<T>::make(); }
};

static int failures, tried;

template <class S, class F> void attempt(const char *name, F set) {
    S settings, untouched;
    nothing_given = false;
    set(settings);
    tried++;
    if (nothing_given || std::memcmp(&settings.get(), &untouched.get(), sizeof settings.get()) != 0) return;
    std::printf("%s: the setter changes nothing\n", name);
    failures++;
}

#define TRY(of, field)                                                                                       \
    attempt<weft::of>(#of "." #field, [](weft::of &settings) { settings.field(anything()); });

int main() try {
    weft::context context;
    const std::vector<float> data = {1};
    weft::dataset own = weft::dataset::from_memory(context, 1, {weft::make_column("x", {}, data)});
    dataset = own;
#include "fields.inc"
    std::printf("%d setters, %d failures\n", tried, failures);
    return failures != 0;
} catch (const std::exception &error) {
    std::printf("%s\n", error.what());
    return 1;
}
