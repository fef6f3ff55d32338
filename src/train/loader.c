/* Batches in a seeded order, filled by threads ahead of their use.
 *
 * A ring of 2 × prefetch slots, one for a batch each, is allocated once. The caller uses up to prefetch batches: a batch
 * stays valid until the prefetch-th next call. Threads fill the other slots meanwhile. `cursor`, `done` and `taken`
 * count batches over the whole life of the loader, and batch b is in slot b mod slots, so that the beginning of an epoch
 * does not overwrite batches that the caller still uses. A thread takes a few examples at a time, always the next ones:
 * `cursor` is their batch, and advances while cursor < end and cursor < taken + prefetch. All threads therefore work on
 * one batch before they begin the next. `done` counts the finished batches, in order; `taken` those that were returned.
 * If the source of the dataset finishes batches, the thread that has filled the last part of a batch does so.
 *
 * The contents of a batch depend only on the seed, the number of the epoch and the examples, not on the threads. If
 * examples of a batch cannot be loaded, the batch fails with the error of the first of them in the order of the batch. */
#include "base/options.h"
#include "base/platform.h"
#include "base/process.h"
#include "cl/context.h"
#include "cl/uploads.h"
#include "graph/sizes.h"
#include "train/dataset.h"
#include "train/epoch_order.h"
#include <string.h>

enum { MAX_THREADS = 256, DEFAULT_THREADS = 8, ERROR_LINE = 2048, JOBS = 4 /* per batch and thread */ };

typedef struct worker {
    weft_loader *loader;
    wi_thread thread;
    wi_workspace workspace;
} worker;

/* The examples begin .. end - 1 of those that are loaded of a batch. */
typedef struct job {
    uint64_t batch, batch_in_epoch;
    size_t first; /* the first example of the batch that is loaded */
    size_t begin, end;
} job;

/* The failed example with the lowest position in its batch. */
typedef struct failure {
    weft_status status; /* WEFT_OK: none so far */
    uint64_t batch;
    size_t position; /* in the batch */
    char line[ERROR_LINE];
} failure;

struct weft_loader {
    weft_dataset *dataset;
    const weft_allocator *allocator;
    size_t batch, prefetch, slots, batches; /* batch: examples in a batch; batches: in an epoch */
    wi_loader_part *part;                   /* NULL: whole batches are loaded */
    const void *part_user;
    bool shuffle;
    uint64_t seed, epoch;
    size_t *order;
    size_t *offsets; /* of each column in a slot */
    size_t slot_bytes;
    unsigned char *storage; /* all slots */
    wi_pinned pinned;       /* the memory of the slots, if the device has a queue for uploads */
    worker *workers;
    size_t threads, job_examples;
    wi_mutex mutex;
    wi_condition work, ready; /* work: there may be work for threads; ready: a job was finished */
    /* Protected by the mutex: */
    uint64_t first, cursor, done, taken, end; /* first, end: of the epoch; others: see above */
    size_t position;                          /* the next example in the batch `cursor` */
    size_t *left;                             /* per slot: examples of its batch that are not finished */
    size_t busy;                              /* threads that are filling batches */
    failure failure;
    bool begun, quit;
};

static size_t batch_examples(const weft_loader *loader, uint64_t batch_in_epoch) {
    const size_t begin = (size_t)batch_in_epoch * loader->batch;
    const size_t left = loader->dataset->examples - begin;
    return left < loader->batch ? left : loader->batch;
}

/* The i-th range of examples of the batch that are loaded: [*first, *first + *count). */
static bool loaded_range(
    const weft_loader *loader, uint64_t batch_in_epoch, size_t i, size_t *first, size_t *count) {
    const size_t examples = batch_examples(loader, batch_in_epoch);
    *first = 0;
    *count = examples;
    return loader->part ? loader->part(loader->part_user, examples, i, first, count) : i == 0;
}

/* All examples of the batch that are loaded, as one range. */
static void loaded_examples(
    const weft_loader *loader, uint64_t batch_in_epoch, size_t *first, size_t *count) {
    size_t begin = 0, own = 0;
    *first = *count = 0;
    for (size_t i = 0; loaded_range(loader, batch_in_epoch, i, &begin, &own); i++) {
        if (i == 0) *first = begin;
        *count += own;
    }
}

static unsigned char *slot_column(const weft_loader *loader, uint64_t batch, size_t column) {
    return loader->storage + (size_t)(batch % loader->slots) * loader->slot_bytes + loader->offsets[column];
}

static void gather(const weft_loader *loader, const job *p, size_t c) {
    const size_t *const order = loader->order + (size_t)p->batch_in_epoch * loader->batch + p->first;
    const weft_column *const column = &loader->dataset->columns[c];
    const size_t bytes = wi_column_bytes(column);
    unsigned char *const target = slot_column(loader, p->batch, c);
    for (size_t i = p->begin; i < p->end; i++)
        memcpy(target + i * bytes, (const unsigned char *)column->data + order[i] * bytes, bytes);
}

/* Loads the examples of a dataset with a source. *failed: if an example could not be loaded, its position. */
static weft_status load_examples(worker *self, const job *p, size_t *failed) {
    const weft_loader *const loader = self->loader;
    const weft_dataset *const dataset = loader->dataset;
    const size_t *const order = loader->order + (size_t)p->batch_in_epoch * loader->batch + p->first;
    const size_t all = dataset->count,
                 columns = dataset->source->columns < all ? dataset->source->columns : all;
    void **const targets = wi_workspace_take(&self->workspace, WI_BLOCK_TARGETS, columns * sizeof *targets);
    if (!targets) return WEFT_ERROR_MEMORY;
    for (size_t i = *failed = p->begin; i < p->end; *failed = ++i) {
        const size_t index = dataset->origins ? dataset->origins[order[i]] : order[i];
        for (size_t c = 0; c < columns; c++)
            targets[c] = slot_column(loader, p->batch, c) + i * wi_column_bytes(&dataset->columns[c]);
        WI_TRY(dataset->source->load(
            dataset->source, &(wi_example){index, loader->seed, loader->epoch}, &self->workspace, targets));
    }
    return WEFT_OK;
}

static weft_status fill(worker *self, const job *p, size_t *failed) {
    const weft_dataset *const dataset = self->loader->dataset;
    for (size_t c = 0; c < dataset->count; c++)
        if (!wi_column_is_computed(dataset, c)) gather(self->loader, p, c);
    return dataset->source ? load_examples(self, p, failed) : WEFT_OK;
}

/* ---- jobs, with the mutex locked ---- */

static bool has_work(const weft_loader *loader) {
    return loader->cursor < loader->end && loader->cursor < loader->taken + loader->prefetch;
}

static job take_job(weft_loader *loader) {
    const uint64_t batch_in_epoch = loader->cursor - loader->first;
    job p = {.batch = loader->cursor, .batch_in_epoch = batch_in_epoch, .begin = loader->position};
    size_t examples;
    loaded_examples(loader, batch_in_epoch, &p.first, &examples);
    const size_t left = examples - loader->position;
    p.end = p.begin + (left < loader->job_examples ? left : loader->job_examples);
    if (p.begin == 0) loader->left[p.batch % loader->slots] = examples;
    loader->position = p.end;
    if (p.end == examples) {
        loader->cursor++;
        loader->position = 0;
    }
    return p;
}

static void note_failure(weft_loader *loader, const job *p, weft_status status, size_t position) {
    failure *const known = &loader->failure;
    if (known->status != WEFT_OK &&
        (known->batch < p->batch || (known->batch == p->batch && known->position < position)))
        return;
    known->status = status;
    known->batch = p->batch;
    known->position = position;
    wi_error_save(known->line, sizeof known->line);
}

/* Counts the examples of a job as loaded. Returns true if the batch is now to be finished, which happens once. */
static bool is_last_of_batch(weft_loader *loader, const job *p) {
    const wi_source *const source = loader->dataset->source;
    size_t *const left = &loader->left[p->batch % loader->slots];
    const bool fails = loader->failure.status != WEFT_OK && loader->failure.batch <= p->batch;
    *left -= p->end - p->begin;
    if (*left > 0 || !source || !source->finish || fails) return false;
    *left = 1; /* so that the batch is not returned to the caller before it is finished */
    return true;
}

/* Threads may finish batches in any order; `done` counts them in the order of their numbers. */
static void count_finished(weft_loader *loader) {
    while (loader->done < loader->cursor && loader->left[loader->done % loader->slots] == 0) loader->done++;
    loader->busy--;
    wi_condition_wake_all(&loader->ready);
}

/* Lets the source finish a range of a batch. done: the number of loaded examples before the range. */
static weft_status finish_range(worker *self, const job *p, size_t done, size_t examples) {
    const weft_loader *const loader = self->loader;
    const weft_dataset *const dataset = loader->dataset;
    const size_t last = dataset->count - 1;
    unsigned char *parts[3];
    const size_t columns[3] = {0, 1, last};
    for (size_t i = 0; i < 3; i++)
        parts[i] =
            slot_column(loader, p->batch, columns[i]) + done * wi_column_bytes(&dataset->columns[columns[i]]);
    const wi_batch batch = {.examples = examples,
        .draws = {.index = (size_t)p->batch_in_epoch, .seed = loader->seed, .epoch = loader->epoch},
        .image = parts[0],
        .labels = parts[1],
        .targets = (float *)(void *)parts[2]};
    return dataset->source->finish(dataset->source, &batch, &self->workspace);
}

/* Lets the source finish a batch whose examples are loaded, with the mutex unlocked meanwhile. */
static void finish_batch(worker *self, const job *p) {
    weft_loader *const loader = self->loader;
    size_t first, examples, done = 0;
    weft_status status = WEFT_OK;
    wi_mutex_unlock(&loader->mutex);
    for (size_t i = 0; loaded_range(loader, p->batch_in_epoch, i, &first, &examples) && status == WEFT_OK;
         i++) {
        status = finish_range(self, p, done, examples);
        done += examples;
    }
    wi_mutex_lock(&loader->mutex);
    if (status != WEFT_OK) note_failure(loader, p, status, 0);
    loader->left[p->batch % loader->slots] = 0;
}

static void *work(void *argument) {
    worker *const self = argument;
    weft_loader *const loader = self->loader;
    wi_mutex_lock(&loader->mutex);
    while (!loader->quit) {
        if (!has_work(loader)) {
            wi_condition_wait(&loader->work, &loader->mutex);
            continue;
        }
        const job p = take_job(loader);
        loader->busy++;
        wi_mutex_unlock(&loader->mutex);
        size_t failed = 0;
        const weft_status status = fill(self, &p, &failed);
        wi_mutex_lock(&loader->mutex);
        if (status != WEFT_OK) note_failure(loader, &p, status, failed);
        if (is_last_of_batch(loader, &p)) finish_batch(self, &p);
        count_finished(loader);
    }
    wi_mutex_unlock(&loader->mutex);
    return NULL;
}

/* ---- creation ---- */

static weft_status read_options(
    const weft_dataset *dataset, weft_loader_options *options, const weft_loader_options *given) {
    WI_TRY(WI_OPTIONS(options, given, "weft_loader_create", WEFT_LOADER_OPTIONS_INIT));
    if (dataset->examples > UINT32_MAX)
        WI_FAIL(WEFT_ERROR_UNSUPPORTED, "loader: the dataset has %zu examples, expected at most %u",
            dataset->examples, UINT32_MAX);
    WI_TRY(WI_CHECK_NUMBERS("loader", {"batch", (double)options->batch},
        {"prefetch", (double)options->prefetch}, {"threads", (double)options->threads}));
    if (options->drop_last && options->batch > dataset->examples)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "loader: batch is %zu with drop_last, but the size of the dataset is %zu", options->batch,
            dataset->examples);
    if (options->threads > MAX_THREADS)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "loader: threads is %zu, expected at most %d", options->threads,
            MAX_THREADS);
    return WEFT_OK;
}

/* Columns are aligned to 16 bytes, for vector loads on the host. */
static size_t padded(size_t bytes) {
    return (bytes + 15u) & ~(size_t)15u;
}

/* Allocates the slots, if possible in pinned memory, from which the device copies without the host. */
static weft_status allocate_slots(weft_loader *loader) {
    wi_device *const device = wi_context_device(loader->dataset->context);
    if (loader->slot_bytes <= SIZE_MAX / loader->slots)
        wi_pinned_create(&loader->pinned, device, loader->slots * loader->slot_bytes);
    loader->storage = loader->pinned.data
                          ? loader->pinned.data
                          : wi_allocate_array(loader->allocator, loader->slots, loader->slot_bytes);
    return loader->storage ? WEFT_OK : WEFT_ERROR_MEMORY;
}

static weft_status allocate_ring(weft_loader *loader) {
    const weft_dataset *const dataset = loader->dataset;
    size_t first, largest;
    loaded_examples(loader, 0, &first, &largest); /* no batch has more than the first one */
    loader->order = wi_allocate_array(loader->allocator, dataset->examples, sizeof *loader->order);
    loader->offsets = wi_allocate_array(loader->allocator, dataset->count, sizeof *loader->offsets);
    loader->left = wi_allocate_array(loader->allocator, loader->slots, sizeof *loader->left);
    if (!loader->order || !loader->offsets || !loader->left) return WEFT_ERROR_MEMORY;
    for (size_t c = 0; c < dataset->count; c++) {
        loader->offsets[c] = loader->slot_bytes;
        loader->slot_bytes += padded(largest * wi_column_bytes(&dataset->columns[c]));
    }
    return allocate_slots(loader);
}

/* One thread is enough to copy examples; for a source there are up to DEFAULT_THREADS. Each thread gets several jobs per
 * batch, so that no thread waits long for the last one. */
static void choose_threads(weft_loader *loader, size_t wanted) {
    const size_t processors = wi_processor_count();
    loader->threads = wanted;
    if (!wanted && loader->dataset->source)
        loader->threads = processors < DEFAULT_THREADS ? processors : DEFAULT_THREADS;
    if (!loader->threads) loader->threads = 1;
    loader->job_examples = loader->threads == 1 ? loader->batch : loader->batch / (JOBS * loader->threads);
    if (loader->job_examples == 0) loader->job_examples = 1;
}

static weft_status start_threads(weft_loader *loader) {
    loader->workers = wi_allocate_array(loader->allocator, loader->threads, sizeof *loader->workers);
    if (!loader->workers) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < loader->threads; i++) {
        loader->workers[i].loader = loader;
        loader->workers[i].workspace.allocator = loader->allocator;
        WI_TRY(wi_thread_start(&loader->workers[i].thread, work, &loader->workers[i]));
    }
    return WEFT_OK;
}

static void tell_threads_to_quit(weft_loader *loader) {
    wi_mutex_lock(&loader->mutex);
    loader->quit = true;
    wi_condition_wake_all(&loader->work);
    wi_mutex_unlock(&loader->mutex);
}

/* A child of fork() has no threads, but the mutex may be locked forever by one that existed in the parent. */
static void stop_threads(weft_loader *loader) {
    if (!wi_process_lost_driver()) tell_threads_to_quit(loader);
    for (size_t i = 0; loader->workers && i < loader->threads; i++) {
        wi_thread_join(&loader->workers[i].thread);
        wi_workspace_clear(&loader->workers[i].workspace);
    }
    wi_release(loader->allocator, loader->workers);
}

/* In a child of fork(), destroying a condition would wait forever for threads of the parent that wait for it. */
static void destroy_locks(weft_loader *loader) {
    if (wi_process_lost_driver()) return;
    wi_condition_destroy(&loader->ready);
    wi_condition_destroy(&loader->work);
    wi_mutex_destroy(&loader->mutex);
}

weft_status weft_loader_create(
    weft_loader **loader, weft_dataset *dataset, const weft_loader_options *given) {
    return wi_loader_create(loader, dataset, given, NULL, NULL);
}

weft_status wi_loader_create(weft_loader **loader, weft_dataset *dataset, const weft_loader_options *given,
    wi_loader_part *part, const void *user) {
    weft_loader_options own;
    const weft_loader_options *const options = &own;
    if (!loader) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_loader_create: loader is NULL");
    *loader = NULL;
    if (!dataset) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_loader_create: dataset is NULL");
    WI_TRY(read_options(dataset, &own, given));
    const weft_allocator *const allocator = dataset->context->allocator;
    weft_loader *const made = wi_allocate(allocator, sizeof *made);
    if (!made) return WEFT_ERROR_MEMORY;
    made->allocator = allocator;
    made->dataset = weft_dataset_retain(dataset);
    made->batch = options->batch ? options->batch : 32;
    made->prefetch = options->prefetch ? options->prefetch : 2;
    made->shuffle = options->shuffle;
    made->seed = options->seed;
    made->part = part;
    made->part_user = user;
    choose_threads(made, options->threads);
    made->batches = dataset->examples / made->batch;
    if (!options->drop_last && dataset->examples % made->batch) made->batches++;
    wi_mutex_init(&made->mutex);
    wi_condition_init(&made->work);
    wi_condition_init(&made->ready);
    weft_status status = WEFT_OK;
    if (made->prefetch > SIZE_MAX / 4 / dataset->count)
        status = wi_fail(WEFT_ERROR_ARGUMENT,
            "loader: prefetch is %zu batches, which is more than memory can address", made->prefetch);
    made->slots = 2 * made->prefetch;
    if (status == WEFT_OK) status = allocate_ring(made);
    if (status == WEFT_OK) status = start_threads(made);
    if (status != WEFT_OK) {
        weft_loader_release(made);
        return status;
    }
    *loader = made;
    return WEFT_OK;
}

void weft_loader_release(weft_loader *loader) {
    if (!loader) return;
    stop_threads(loader);
    destroy_locks(loader);
    weft_dataset *const dataset = loader->dataset;
    const weft_allocator *const allocator = loader->allocator;
    wi_release(allocator, loader->order);
    wi_release(allocator, loader->offsets);
    wi_release(allocator, loader->left);
    if (!loader->pinned.data) wi_release(allocator, loader->storage);
    wi_pinned_release(&loader->pinned, wi_context_device(dataset->context));
    wi_release(allocator, loader);
    weft_dataset_release(dataset);
}

weft_status weft_loader_begin(weft_loader *loader, uint64_t epoch) {
    if (!loader) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_loader_begin: loader is NULL");
    return wi_loader_begin_at(loader, epoch, 0);
}

weft_status wi_loader_begin_at(weft_loader *loader, uint64_t epoch, size_t batch) {
    WI_TRY(wi_process_check_driver());
    wi_mutex_lock(&loader->mutex);
    loader->end = 0; /* no thread begins another job of the previous epoch */
    while (loader->busy) wi_condition_wait(&loader->ready, &loader->mutex);
    /* No thread reads the order now. */
    wi_epoch_order(loader->order, loader->dataset->examples, loader->shuffle, loader->seed, epoch);
    loader->epoch = epoch;
    loader->cursor = loader->done = loader->taken;
    loader->first = loader->taken - batch; /* may wrap around: only differences to it are used */
    loader->position = 0;
    loader->end = loader->first + loader->batches;
    loader->failure.status = WEFT_OK;
    loader->begun = true;
    wi_condition_wake_all(&loader->work);
    wi_mutex_unlock(&loader->mutex);
    return WEFT_OK;
}

weft_status weft_loader_next(weft_loader *loader, size_t *examples, const void **columns) {
    if (!loader || !examples || !columns)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_loader_next: loader, examples and columns must not be NULL");
    if (!loader->begun) WI_FAIL(WEFT_ERROR_STATE, "weft_loader_next: call weft_loader_begin first");
    WI_TRY(wi_process_check_driver());
    *examples = 0;
    weft_status status = WEFT_OK;
    wi_mutex_lock(&loader->mutex);
    const uint64_t batch = loader->taken;
    if (batch < loader->end) {
        while (loader->done <= batch) wi_condition_wait(&loader->ready, &loader->mutex);
        if (loader->failure.batch == batch) status = loader->failure.status;
        if (status == WEFT_OK) {
            loader->taken = batch + 1;
            *examples = batch_examples(loader, batch - loader->first);
            for (size_t c = 0; c < loader->dataset->count; c++) columns[c] = slot_column(loader, batch, c);
            wi_condition_wake_all(&loader->work);
        }
    }
    if (status != WEFT_OK) wi_error_restore(loader->failure.line);
    wi_mutex_unlock(&loader->mutex);
    return status;
}
