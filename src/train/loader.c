/* Batches in a seeded order, gathered ahead by a thread.
 *
 * A ring of 2 × prefetch batches is allocated once: prefetch of them may be in the caller's hands (a batch is
 * his until the prefetch-th next call), the others are filled meanwhile. `made` and `taken` count batches
 * over the loader's whole life; batch b lies in slot b mod slots, so an epoch's begin disturbs nothing that
 * the caller still holds. The thread works while made < end and made < taken + prefetch.
 *
 * The order depends on the seed and the epoch's number alone. Shuffle: Fisher and Yates, with SplitMix64
 * (Steele, Lea and Flood 2014) and Lemire's unbiased bounding (2019). */
#include "train/dataset.h"
#include <string.h>

struct weft_loader {
    weft_dataset *dataset;
    const weft_allocator *allocator;
    size_t batch, prefetch, slots, batches; /* batches an epoch */
    bool shuffle;
    uint64_t seed;
    size_t *order;
    size_t *offsets; /* of each column in a slot */
    size_t slot_bytes;
    unsigned char *storage; /* all slots */
    wi_thread thread;
    wi_mutex mutex;
    wi_condition work, ready; /* there may be work for the thread; it has finished a batch or gone idle */
    /* under the mutex: */
    uint64_t first, made, taken, end; /* the epoch's first batch; see above */
    bool begun, busy, quit;
};

static uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Uniform in 0 .. bound - 1; bound < 2^32, as a dataset of more examples is refused. */
static size_t random_below(uint64_t *state, uint32_t bound) {
    uint64_t product = (next_random(state) >> 32) * bound;
    const uint32_t threshold = (uint32_t)(0u - bound) % bound;
    while ((uint32_t)product < threshold) product = (next_random(state) >> 32) * bound;
    return (size_t)(product >> 32);
}

static void make_order(weft_loader *loader, uint64_t epoch) {
    const size_t count = loader->dataset->examples;
    for (size_t i = 0; i < count; i++) loader->order[i] = i;
    if (!loader->shuffle) return;
    uint64_t state = loader->seed;
    state = next_random(&state) ^ epoch; /* seed first through the mixer: (0, 1) and (1, 0) differ */
    for (size_t i = count - 1; i > 0; i--) {
        const size_t j = random_below(&state, (uint32_t)i + 1);
        const size_t kept = loader->order[i];
        loader->order[i] = loader->order[j];
        loader->order[j] = kept;
    }
}

static size_t batch_examples(const weft_loader *loader, uint64_t batch_in_epoch) {
    const size_t begin = (size_t)batch_in_epoch * loader->batch;
    const size_t left = loader->dataset->examples - begin;
    return left < loader->batch ? left : loader->batch;
}

static unsigned char *slot_column(const weft_loader *loader, uint64_t batch, size_t column) {
    return loader->storage + (size_t)(batch % loader->slots) * loader->slot_bytes + loader->offsets[column];
}

static void gather(const weft_loader *loader, uint64_t batch, uint64_t batch_in_epoch) {
    const size_t examples = batch_examples(loader, batch_in_epoch);
    const size_t *const order = loader->order + (size_t)batch_in_epoch * loader->batch;
    for (size_t c = 0; c < loader->dataset->count; c++) {
        const weft_column *const column = &loader->dataset->columns[c];
        const size_t bytes = wi_column_bytes(column);
        unsigned char *const target = slot_column(loader, batch, c);
        for (size_t i = 0; i < examples; i++)
            memcpy(target + i * bytes, (const unsigned char *)column->data + order[i] * bytes, bytes);
    }
}

static void *work(void *argument) {
    weft_loader *const loader = argument;
    pthread_mutex_lock(&loader->mutex);
    while (!loader->quit) {
        if (loader->made >= loader->end || loader->made >= loader->taken + loader->prefetch) {
            pthread_cond_wait(&loader->work, &loader->mutex);
            continue;
        }
        const uint64_t batch = loader->made, batch_in_epoch = batch - loader->first;
        loader->busy = true;
        pthread_mutex_unlock(&loader->mutex);
        gather(loader, batch, batch_in_epoch);
        pthread_mutex_lock(&loader->mutex);
        loader->busy = false;
        loader->made = batch + 1;
        pthread_cond_signal(&loader->ready);
    }
    pthread_mutex_unlock(&loader->mutex);
    return NULL;
}

static weft_status check_options(const weft_dataset *dataset, const weft_loader_options *options) {
    if (options->struct_size != sizeof *options)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_loader_create: options of %zu bytes, expected %zu (use the _INIT macro)",
            options->struct_size, sizeof *options);
    if (dataset->examples > UINT32_MAX)
        WI_FAIL(WEFT_ERROR_UNSUPPORTED, "loader: %zu examples, at most %u", dataset->examples, UINT32_MAX);
    if (options->drop_last && options->batch > dataset->examples)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "loader: a batch of %zu with drop_last, but only %zu examples",
            options->batch, dataset->examples);
    return WEFT_OK;
}

/* 16-byte aligned columns, so that any vector load of the host's is fine. */
static size_t padded(size_t bytes) {
    return (bytes + 15u) & ~(size_t)15u;
}

static weft_status allocate_ring(weft_loader *loader) {
    const weft_dataset *const dataset = loader->dataset;
    const size_t largest = dataset->examples < loader->batch ? dataset->examples : loader->batch;
    loader->order = wi_allocate_array(loader->allocator, dataset->examples, sizeof *loader->order);
    loader->offsets = wi_allocate_array(loader->allocator, dataset->count, sizeof *loader->offsets);
    if (!loader->order || !loader->offsets) return WEFT_ERROR_MEMORY;
    for (size_t c = 0; c < dataset->count; c++) {
        loader->offsets[c] = loader->slot_bytes;
        loader->slot_bytes += padded(largest * wi_column_bytes(&dataset->columns[c]));
    }
    loader->storage = wi_allocate_array(loader->allocator, loader->slots, loader->slot_bytes);
    return loader->storage ? WEFT_OK : WEFT_ERROR_MEMORY;
}

weft_status weft_loader_create(
    weft_loader **loader, weft_dataset *dataset, const weft_loader_options *options) {
    static const weft_loader_options defaults = {WEFT_LOADER_OPTIONS_INIT};
    if (!loader) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_loader_create: loader is NULL");
    *loader = NULL;
    if (!dataset) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_loader_create: dataset is NULL");
    if (!options) options = &defaults;
    WI_TRY(check_options(dataset, options));
    const weft_allocator *const allocator = dataset->context->allocator;
    weft_loader *const made = wi_allocate(allocator, sizeof *made);
    if (!made) return WEFT_ERROR_MEMORY;
    made->allocator = allocator;
    made->dataset = weft_dataset_retain(dataset);
    made->batch = options->batch ? options->batch : 32;
    made->prefetch = options->prefetch ? options->prefetch : 2;
    made->shuffle = options->shuffle;
    made->seed = options->seed;
    made->batches = dataset->examples / made->batch;
    if (!options->drop_last && dataset->examples % made->batch) made->batches++;
    pthread_mutex_init(&made->mutex, NULL);
    pthread_cond_init(&made->work, NULL);
    pthread_cond_init(&made->ready, NULL);
    weft_status status = WEFT_OK;
    if (made->prefetch > SIZE_MAX / 4 / dataset->count)
        status = wi_fail(WEFT_ERROR_ARGUMENT, "loader: a prefetch of %zu batches", made->prefetch);
    made->slots = 2 * made->prefetch;
    if (status == WEFT_OK) status = allocate_ring(made);
    if (status == WEFT_OK) status = wi_thread_start(&made->thread, work, made);
    if (status != WEFT_OK) {
        weft_loader_release(made);
        return status;
    }
    *loader = made;
    return WEFT_OK;
}

void weft_loader_release(weft_loader *loader) {
    if (!loader) return;
    pthread_mutex_lock(&loader->mutex);
    loader->quit = true;
    pthread_cond_signal(&loader->work);
    pthread_mutex_unlock(&loader->mutex);
    wi_thread_join(&loader->thread);
    pthread_cond_destroy(&loader->ready);
    pthread_cond_destroy(&loader->work);
    pthread_mutex_destroy(&loader->mutex);
    weft_dataset *const dataset = loader->dataset;
    const weft_allocator *const allocator = loader->allocator;
    wi_release(allocator, loader->order);
    wi_release(allocator, loader->offsets);
    wi_release(allocator, loader->storage);
    wi_release(allocator, loader);
    weft_dataset_release(dataset);
}

weft_status weft_loader_begin(weft_loader *loader, uint64_t epoch) {
    if (!loader) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_loader_begin: loader is NULL");
    pthread_mutex_lock(&loader->mutex);
    loader->end = loader->made; /* no new batch of the old epoch */
    while (loader->busy) pthread_cond_wait(&loader->ready, &loader->mutex);
    make_order(loader, epoch); /* the thread is idle: the order is ours */
    loader->first = loader->made = loader->taken;
    loader->end = loader->first + loader->batches;
    loader->begun = true;
    pthread_cond_signal(&loader->work);
    pthread_mutex_unlock(&loader->mutex);
    return WEFT_OK;
}

weft_status weft_loader_next(weft_loader *loader, size_t *examples, const void **columns) {
    if (!loader || !examples || !columns)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_loader_next: loader, examples and columns must not be NULL");
    if (!loader->begun) WI_FAIL(WEFT_ERROR_STATE, "weft_loader_next: weft_loader_begin was not called");
    *examples = 0;
    pthread_mutex_lock(&loader->mutex);
    const uint64_t batch = loader->taken;
    if (batch < loader->end) {
        while (loader->made <= batch) pthread_cond_wait(&loader->ready, &loader->mutex);
        loader->taken = batch + 1;
        *examples = batch_examples(loader, batch - loader->first);
        for (size_t c = 0; c < loader->dataset->count; c++) columns[c] = slot_column(loader, batch, c);
        pthread_cond_signal(&loader->work);
    }
    pthread_mutex_unlock(&loader->mutex);
    return WEFT_OK;
}
