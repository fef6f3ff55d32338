/* weft/core.hpp: what weft.hpp is built on: errors, views of memory, lists, owners of objects, structs with setters,
 * callbacks. Programs include weft/weft.hpp. */
#ifndef WEFT_CORE_HPP
#define WEFT_CORE_HPP

#include <algorithm>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>
#include <weft/weft.h>

namespace weft {
/* A call failed. what() is the line of weft_last_error(). */
class error : public std::runtime_error {
    weft_status status_;

  public:
    error(weft_status status, const std::string &line) : std::runtime_error(line), status_(status) {}
    weft_status status() const noexcept { return status_; }
};

namespace detail {
/* The first exception of a callback that the calls of this thread have not thrown yet. */
inline std::exception_ptr &pending() noexcept {
    static thread_local std::exception_ptr first;
    return first;
}

/* Throws the exception of a callback, which also ended the call, or the error of the call. */
inline void check(weft_status status) {
    if (pending()) std::rethrow_exception(std::exchange(pending(), nullptr));
    if (status != WEFT_OK) throw error(status, weft_last_error());
}

[[noreturn]] inline void fail(const char *call, const char *what) {
    throw error(WEFT_ERROR_ARGUMENT, std::string(call) + ": " + what);
}

template <class S> weft_graph *graph_of(S *source) noexcept {
    if constexpr (std::is_same_v<S, weft_graph>)
        return source;
    else
        return weft_tensor_graph(source);
}

/* The result of an expression. Throws if it is NULL: the error that the graph keeps. The graph is that of the first of
 * the sources, the arguments of the expression, that is not NULL. */
template <class R, class... Sources> R *result(const char *call, R *made, Sources... sources) {
    check(WEFT_OK);
    if (made) return made;
    weft_graph *graph = nullptr;
    ((graph = graph ? graph : graph_of(sources)), ...);
    if (graph) check(weft_graph_status(graph));
    fail(call, "a required argument is NULL or empty");
}

} // namespace detail

/* A pointer and a number of elements. A span is created from a vector, an array, a C array or std::span, and
 * span<const T> also from a list in braces. As a parameter, it can refer to a temporary. */
template <class T> class span {
    T *data_ = nullptr;
    std::size_t size_ = 0;

  public:
    constexpr span() noexcept = default;
    constexpr span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
    template <class C, class E = std::remove_pointer_t<decltype(std::data(std::declval<C &>()))>,
        std::enable_if_t<std::is_convertible_v<E (*)[], T (*)[]>, int> = 0>
    constexpr span(C &&memory) noexcept : span(std::data(memory), std::size(memory)) {}
    template <class U = T, std::enable_if_t<std::is_const_v<U>, int> = 0>
    constexpr span(std::initializer_list<std::remove_const_t<U>> list) noexcept
        : span(std::data(list), list.size()) {}
    constexpr T *data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr bool empty() const noexcept { return size_ == 0; }
    constexpr T *begin() const noexcept { return data_; }
    constexpr T *end() const noexcept { return data_ + size_; }
    constexpr T &operator[](std::size_t index) const noexcept { return data_[index]; }
};

namespace detail {
/* The weft_dtype of a C++ type; -1 for a type without one, such as 16-bit integers that hold f16. */
template <class T>
constexpr int dtype_of = std::is_same_v<T, float>          ? WEFT_F32
                         : std::is_same_v<T, std::int32_t> ? WEFT_I32
                         : std::is_same_v<T, std::int64_t> ? WEFT_I64
                         : std::is_same_v<T, std::uint8_t> ? WEFT_U8
                         : std::is_same_v<T, bool>         ? WEFT_BOOL
                         : std::is_same_v<T, double>       ? WEFT_F64
                                                           : -1;

/* Memory whose elements have any type, const void or void. Calls that know the dtype of the tensor check the type. */
template <class Void> class bytes {
    Void *data_;
    std::size_t bytes_;
    int dtype_ = -1;

    template <class T>
    static constexpr bool fits = std::is_convertible_v<T *, Void *> &&std::is_trivially_copyable_v<T>;

  public:
    bytes(Void *data, std::size_t size) noexcept : data_(data), bytes_(size) {}
    template <class C, class T = std::remove_pointer_t<decltype(std::data(std::declval<C &>()))>,
        std::enable_if_t<fits<T>, int> = 0>
    bytes(C &&memory) noexcept
        : data_(std::data(memory)), bytes_(std::size(memory) * sizeof(T)),
          dtype_(dtype_of<std::remove_const_t<T>>) {}
    template <class T, std::enable_if_t<fits<T> && std::is_arithmetic_v<std::remove_const_t<T>>, int> = 0>
    bytes(T &number) noexcept
        : data_(&number), bytes_(sizeof number), dtype_(dtype_of<std::remove_const_t<T>>) {}
    Void *data() const noexcept { return data_; }
    std::size_t size() const noexcept { return bytes_; }
    int dtype() const noexcept { return dtype_; }
};

} // namespace detail

/* Memory that a call reads, and memory that a call writes: a vector, an array, a span, or one number. */
using const_memory = detail::bytes<const void>;
using memory = detail::bytes<void>;

namespace detail {
/* The data, after a check that the C++ type of the elements is that of the dtype. */
template <class Void> Void *data_of(const char *call, const bytes<Void> &memory, weft_dtype dtype) {
    if (memory.dtype() < 0 || memory.dtype() == static_cast<int>(dtype)) return memory.data();
    throw error(WEFT_ERROR_DTYPE,
        std::string(call) + ": the memory does not have elements of " + weft_dtype_name(dtype));
}

/* The data, after a check that it has the size of the shape. */
inline const void *data_of(
    const char *call, const const_memory &memory, weft_dtype dtype, span<const std::int64_t> dims) {
    std::size_t size = weft_dtype_size(dtype);
    for (const std::int64_t dim : dims) size *= static_cast<std::size_t>(dim);
    if (memory.size() != size) fail(call, "the memory does not have the size of the shape");
    return data_of(call, memory, dtype);
}

/* The list, after a check that it has `count` entries. An empty list is NULL if `none` allows it. */
inline const std::int64_t *entries(
    const char *call, span<const std::int64_t> list, int count, bool none = false) {
    if (none && list.empty()) return nullptr;
    if (static_cast<int>(list.size()) != count) fail(call, "a list does not have an entry for each axis");
    return list.data();
}

/* Calls a C function that writes at most `capacity` elements and sets their number: first for the number. */
template <class T, class F> std::vector<T> read_all(F call) {
    std::size_t count = 0;
    check(call(static_cast<T *>(nullptr), std::size_t(0), &count));
    std::vector<T> all(count);
    check(call(all.data(), all.size(), &count));
    return all;
}

/* read_all of a text, which the C function ends by a NUL. */
template <class F> std::string read_text(F call) {
    std::size_t length = 0;
    check(call(static_cast<char *>(nullptr), std::size_t(0), &length));
    std::string text(length, '\0');
    check(call(text.data(), length + 1, &length));
    return text;
}

} // namespace detail

/* A text that ends by a NUL: a literal, a std::string, or nullptr. */
class cstring {
    const char *text_ = nullptr;

  public:
    constexpr cstring(const char *text = nullptr) noexcept : text_(text) {}
    cstring(const std::string &text) noexcept : text_(text.c_str()) {}
    constexpr operator const char *() const noexcept { return text_; }
};

/* Axes or dimensions: sum(x), sum(x, 1), sum(x, {0, 2}). Without axes it is all of them. A bool is not an axis. */
class axes {
    std::int64_t list_[WEFT_MAX_RANK + 1];

  public:
    axes() noexcept { list_[0] = WEFT_END; }
    template <class N, std::enable_if_t<std::is_integral_v<N> && !std::is_same_v<N, bool>, int> = 0>
    axes(N axis) : axes(span<const std::int64_t>({static_cast<std::int64_t>(axis)})) {}
    axes(std::initializer_list<std::int64_t> list) : axes(span<const std::int64_t>(list)) {}
    axes(span<const std::int64_t> list) {
        if (list.size() > WEFT_MAX_RANK) throw error(WEFT_ERROR_SHAPE, "a list has more than 8 axes");
        *std::copy(list.begin(), list.end(), list_) = WEFT_END;
    }
    operator const std::int64_t *() const noexcept { return list_; }
};

namespace detail {
/* How objects of the C API are released and, if they are counted, retained. */
template <class T> struct lifetime;

/* Owns an object of the C API, or nothing. It converts to the pointer that C functions take. */
template <class Self, class T> class owner {
  protected:
    T *object_ = nullptr;
    std::shared_ptr<const void> callbacks_; /* of the options with which the object was created */

  public:
    owner(T *object = nullptr, std::shared_ptr<const void> callbacks = nullptr) noexcept
        : object_(object), callbacks_(std::move(callbacks)) {}
    owner(owner &&other) noexcept
        : object_(std::exchange(other.object_, nullptr)), callbacks_(std::move(other.callbacks_)) {}
    owner &operator=(owner &&other) noexcept {
        std::swap(object_, other.object_);
        std::swap(callbacks_, other.callbacks_);
        return *this;
    }
    ~owner() { lifetime<T>::release(object_); }
    T *get() const noexcept { return object_; }
    operator T *() const noexcept { return object_; }
    explicit operator bool() const noexcept { return object_ != nullptr; }
    [[nodiscard]] T *detach() noexcept {
        return std::exchange(object_, nullptr);
    } /* the caller releases it */
    /* Takes an object that the caller would have to release otherwise. */
    static Self adopt(T *object) {
        Self made(nullptr);
        made.object_ = object;
        return made;
    }
};

/* An owner of a counted object: a copy is another reference to the object. */
template <class Self, class T> class shared : public owner<Self, T> {
  public:
    shared() noexcept = default;
    shared(const shared &other) noexcept
        : owner<Self, T>(lifetime<T>::retain(other.get()), other.callbacks_) {}
    shared(shared &&) noexcept = default;
    shared &operator=(shared other) noexcept {
        owner<Self, T>::operator=(std::move(other));
        return *this;
    }
    /* Another reference to an object that somebody else owns. */
    static Self retain(T *object) { return owner<Self, T>::adopt(lifetime<T>::retain(object)); }
};

/* A function for a field of the C type `Pointer`, with the arguments of C but `user`. It may return nothing where C
 * returns whether to go on. An exception ends the call of C, which then throws this exception. */
template <class Pointer> class callback;
template <class R, class User, class... A> class callback<R (*)(User, A...)> {
    std::function<R(A...)> function_;

    template <class F> static R call(F &function, A... arguments) {
        if constexpr (std::is_convertible_v<std::invoke_result_t<F &, A...>, R>) {
            return function(arguments...);
        } else {
            function(arguments...);
            if constexpr (std::is_same_v<R, bool>) return true;
            if constexpr (std::is_same_v<R, weft_status>) return WEFT_OK;
        }
    }

  public:
    callback() = default;
    template <class F, std::enable_if_t<std::is_invocable_v<F &, A...>, int> = 0>
    callback(F function)
        : function_([function = std::move(function)](
                        A... arguments) mutable -> R { return call(function, arguments...); }) {}
    R operator()(A... arguments) noexcept {
        try {
            return function_(arguments...);
        } catch (...) {
            if (!pending()) pending() = std::current_exception();
        }
        if constexpr (std::is_same_v<R, bool>) return false;
        if constexpr (std::is_same_v<R, weft_status>) return WEFT_ERROR_CANCELLED;
    }
};

/* The function that C calls: it finds the callback in the struct to which `user` points. */
template <auto> struct trampoline;
template <class S, class R, class User, class... A, callback<R (*)(User, A...)> S::*field>
struct trampoline<field> {
    static R call(User user, A... arguments) {
        if constexpr (std::is_same_v<User, void *>)
            return (static_cast<S *>(user)->*field)(arguments...);
        else
            return (static_cast<S *>(user->user)->*field)(arguments...); /* an initialiser */
    }
};

} // namespace detail

/* A list of names: {"head.*", "norm"}, or any container of texts. */
class names {
    std::vector<std::string> texts_;

  public:
    names(std::initializer_list<cstring> list) {
        for (const cstring &text : list) texts_.emplace_back(static_cast<const char *>(text));
    }
    template <class C, std::enable_if_t<!std::is_same_v<std::decay_t<C>, names>, int> = 0,
        class = decltype(std::string(*std::begin(std::declval<C &>())))>
    names(C &&container) : texts_(std::begin(container), std::end(container)) {}
    const std::vector<std::string> &texts() const noexcept { return texts_; }
    /* As C takes them: pointers to the texts, and NULL at the end. */
    std::vector<const char *> pointers() const {
        std::vector<const char *> all;
        for (const std::string &text : texts_) all.push_back(text.c_str());
        all.push_back(nullptr);
        return all;
    }
};

namespace detail {
/* A struct of the C API with setters that return the struct. It keeps copies of texts, lists and callbacks, to which
 * the C struct points. */
struct has_setters {};
template <class Self, class C> class settings : public has_setters {
  protected:
    C c_ = {};
    std::vector<std::shared_ptr<const void>> kept_;
    std::shared_ptr<const void> callbacks_;

    template <class T> T *keep(std::shared_ptr<T> object) {
        kept_.push_back(object);
        return object.get();
    }
    const char *keep(cstring text) {
        return text ? keep(std::make_shared<const std::string>(static_cast<const char *>(text)))->c_str()
                    : nullptr;
    }
    const char *const *keep(const names &list) {
        const names *const own = keep(std::make_shared<const names>(list));
        return keep(std::make_shared<std::vector<const char *>>(own->pointers()))->data();
    }
    /* Copies of structs of the C API, from spans of those or of structs with setters. */
    template <class T, class S> const T *keep_list(span<const S> list) {
        auto *const copies = keep(std::make_shared<std::vector<T>>());
        for (const S &entry : list) copies->push_back(keep_parts(entry));
        return copies->data();
    }
    template <class S> const auto &keep_parts(const S &value) {
        if constexpr (std::is_base_of_v<has_setters, S>) {
            kept_.insert(kept_.end(), value.kept().begin(), value.kept().end());
            return value.get();
        } else {
            return value;
        }
    }
    template <class T> T *keep_object(T *object) {
        using mutable_type = std::remove_const_t<T>;
        auto *const own = lifetime<mutable_type>::retain(const_cast<mutable_type *>(object));
        return keep(std::shared_ptr<mutable_type>(own, lifetime<mutable_type>::release));
    }
    template <class T, std::size_t n> void fill_array(T (&array)[n], span<const T> list) {
        if (list.size() > n) throw error(WEFT_ERROR_ARGUMENT, "a list of an option is too long");
        std::fill(std::copy(list.begin(), list.end(), array), array + n, T());
    }
    /* Replaces the callbacks by a copy in which one is another, so that copies of this struct keep theirs. */
    template <class All, class F> All *change(F All::*field, F function) {
        const auto old = std::static_pointer_cast<const All>(callbacks_);
        const auto all = old ? std::make_shared<All>(*old) : std::make_shared<All>();
        all.get()->*field = std::move(function);
        callbacks_ = all;
        kept_.push_back(all);
        return all.get();
    }

  public:
    settings() = default;
    settings(const C &fields) : c_(fields) {}
    /* The struct of C; it is valid as long as this object. */
    const C &get() const noexcept { return c_; }
    operator const C &() const noexcept { return c_; }
    operator const C *() const noexcept { return &c_; }
    const std::vector<std::shared_ptr<const void>> &kept() const noexcept { return kept_; }
    const std::shared_ptr<const void> &callbacks() const noexcept { return callbacks_; }
};

/* The C structs of a span of structs with setters. */
template <class C, class S> std::vector<C> list_of(span<const S> list) {
    return std::vector<C>(list.begin(), list.end());
}

} // namespace detail
} // namespace weft
#endif
