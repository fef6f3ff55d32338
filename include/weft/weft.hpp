/* weft/weft.hpp: Weft in C++17. The build writes weft/calls.hpp, which has most of it, from the C headers.
 *
 * weft_relu(x) is weft::relu(x), weft_plan_run(plan) is plan.run(), weft_plan_create is the constructor of weft::plan.
 * Calls throw weft::error. A weft::tensor is a pointer to a node, and objects such as weft::plan own one reference:
 * both convert to the pointers of C, so that a program can call any function of C with them. docs/cpp.md has the rules. */
#ifndef WEFT_WEFT_HPP
#define WEFT_WEFT_HPP

#include <weft/calls.hpp>

/* The names of Weft in C++. */
namespace weft {
/* Without options, opens the default device. The callbacks of the options live as long as the context does in C. */
inline context::context(const weft::context_options &options) {
    using callbacks = std::shared_ptr<const void>;
    auto own = std::make_unique<callbacks>(options.callbacks());
    weft_context_options given = options.get();
    if (*own) given.on_release = [](void *user) { delete static_cast<callbacks *>(user); };
    if (*own) given.release_user = own.get();
    const weft_status status = weft_context_create(&object_, &given);
    if (status == WEFT_OK && *own) (void)own.release();
    detail::check(status);
}

/* A tensor that the program writes before a run. dims are those of one example; the batch comes first. */
inline tensor input(weft_graph *graph, cstring name, weft_dtype dtype, span<const std::int64_t> dims = {}) {
    std::vector<std::int64_t> shape(dims.begin(), dims.end());
    shape.insert(shape.begin(), WEFT_BATCH);
    return input_shape(graph, name, dtype, shape);
}

/* weft_init_from_file, with copies of the texts. */
inline initialiser init_from_file(cstring path, cstring entry = nullptr) {
    return initialiser(weft_init_from_file(path, entry)).path(path).entry(entry);
}

/* The value of an output for plan::step, which writes it to the memory; value_in(x, memory) is that of an input. */
inline weft_value value_out(tensor output, memory data) {
    return {output, detail::data_of("value_out", data, output.dtype()), data.size()};
}

/* A column of float, int32_t or uint8_t, whose memory stays the caller's. dims are those of one example. */
inline column make_column(cstring name, span<const std::int64_t> dims, const_memory data) {
    if (data.dtype() < 0) throw error(WEFT_ERROR_DTYPE, "make_column: the type of the elements has no dtype");
    return column().name(name).dtype(static_cast<weft_dtype>(data.dtype())).dims(dims).data(data);
}

/* Opens a scope of the graph (weft_scope_begin), and closes it at the end of the block. */
class scope {
    weft_graph *const graph_;

  public:
    scope(weft_graph *graph, cstring name, bool share = false) : graph_(graph) {
        scope_begin(graph, name, share);
    }
    scope(const scope &) = delete;
    ~scope() { (void)weft_scope_end(graph_); }
};

/* Batches of a dataset: for (loader.begin(0); loader.next();) plan.write(x, loader.column<float>(0)); */
class loader : public detail::owner<loader, weft_loader> {
    weft_dataset *dataset_; /* the loader of C retains it */
    std::vector<const void *> columns_;
    std::size_t examples_ = 0;

  public:
    explicit loader(weft_dataset *dataset, const loader_options &options = {})
        : dataset_(dataset), columns_(weft_dataset_column_count(dataset)) {
        detail::check(weft_loader_create(&object_, dataset, options));
    }
    /* Begins an epoch; the first one is 0. */
    void begin(std::uint64_t epoch) { detail::check(weft_loader_begin(object_, epoch)); }
    /* Loads the next batch; false: the epoch has ended. */
    bool next() {
        detail::check(weft_loader_next(object_, &examples_, columns_.data()));
        return examples_ > 0;
    }
    std::size_t examples() const noexcept { return examples_; }
    /* A column of the batch, valid until `prefetch` more batches have been loaded. */
    template <class T> span<const T> column(std::size_t index) const {
        const weft_column *const of = weft_dataset_column(dataset_, index);
        if (!of || static_cast<int>(of->dtype) != detail::dtype_of<T>)
            detail::fail("loader", "there is no such column of this type");
        std::size_t size = examples_;
        for (int i = 0; i < of->rank; i++) size *= static_cast<std::size_t>(of->dims[i]);
        return {static_cast<const T *>(columns_[index]), size};
    }
};

/* The array of a .npy file (weft_load_npy). */
class npy_array {
    weft_npy_array array_ = {};

  public:
    npy_array(weft_context *context, cstring path, weft_dtype dtype) {
        detail::check(weft_load_npy(&array_, context, path, dtype));
    }
    npy_array(npy_array &&other) noexcept : array_(std::exchange(other.array_, {})) {}
    ~npy_array() { weft_npy_array_release(&array_); }
    span<const std::int64_t> dims() const { return {array_.dims, static_cast<std::size_t>(array_.rank)}; }
    template <class T> span<T> data() const {
        if (static_cast<int>(array_.dtype) != detail::dtype_of<T>) detail::fail("npy_array", "another dtype");
        return {static_cast<T *>(array_.data), array_.bytes / sizeof(T)};
    }
};

} // namespace weft
#endif
