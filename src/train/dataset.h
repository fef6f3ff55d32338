/* The inside of a dataset, for the files that create and read datasets: one block of memory per column, or for the
 * first columns a source that loads each example when a loader needs it. Datasets and sources are reference-counted. */
#ifndef WI_DATASET_H
#define WI_DATASET_H

#include "cl/context.h"
#include "io/encoding.h"
#include <stdatomic.h>
#include <weft/train.h>

/* Scratch memory of one thread, in blocks that grow as needed. A source uses the blocks below WI_BLOCK_TARGETS, the loader
 * uses this one. */
enum { WI_BLOCK_TARGETS = 6, WI_WORKSPACE_BLOCKS };
typedef struct wi_workspace {
    const weft_allocator *allocator;
    void *blocks[WI_WORKSPACE_BLOCKS];
    size_t capacities[WI_WORKSPACE_BLOCKS];
} wi_workspace;

/* Returns the block with at least `bytes` bytes; what it held may be lost. NULL: WEFT_ERROR_MEMORY was recorded. */
void *wi_workspace_take(wi_workspace *workspace, size_t block, size_t bytes);
void wi_workspace_clear(wi_workspace *workspace);

/* The example that a source loads: its index in the source, and the seed and epoch of its random numbers. */
typedef struct wi_example {
    size_t index;
    uint64_t seed, epoch;
} wi_example;

/* A batch whose examples are loaded. draws: the seed and the epoch, with the number of the batch in its epoch as the index. */
typedef struct wi_batch {
    size_t examples;
    wi_example draws;
    void *image, *labels; /* columns 0 and 1 */
    float *targets;       /* the last column */
} wi_batch;

/* Loads, decodes or computes columns of examples. A source never changes, so that any number of threads may use it at once, each with
 * a separate workspace. */
typedef struct wi_source wi_source;
typedef weft_status wi_load_example(
    const wi_source *source, const wi_example *example, wi_workspace *workspace, void *const *targets);
struct wi_source {
    atomic_int references;
    size_t columns; /* `load` writes the columns 0 .. columns - 1; SIZE_MAX: all columns */
    /* Writes the example: wi_column_bytes bytes of each of these columns to targets[column]. */
    wi_load_example *load;
    /* NULL, or changes the examples of a batch that `load` has written, and writes the last column of the dataset, which has
     * no data, from the labels in column 1. */
    weft_status (*finish)(const wi_source *source, const wi_batch *batch, wi_workspace *workspace);
    void (*destroy)(wi_source *source); /* called with the last release */
};

/* Sets the fields of a new source, which has one reference; columns: see wi_source. */
void wi_source_init(
    wi_source *source, size_t columns, wi_load_example *load, void (*destroy)(wi_source *source));
wi_source *wi_source_retain(wi_source *source); /* NULL is allowed */
void wi_source_release(wi_source *source);      /* NULL is allowed */

struct weft_dataset {
    weft_context *context;
    atomic_int references;
    wi_arena arena; /* columns, names and encodings */
    size_t examples;
    weft_column *columns; /* names, encodings and data belong to the dataset, or to `base` */
    size_t count;
    weft_dataset
        *base; /* the dataset whose names, origins and most data this one uses (recode.c); NULL: none */
    wi_source *
        source; /* loads the first columns, and maybe the last one; their data is NULL. NULL: all columns are in memory */
    size_t *origins; /* by example: its index in the source; NULL: the index of the example */
    size_t skipped;  /* files that could not be read, and were left out (option skip_unreadable) */
};

/* Creates a dataset with zeroed columns, which the caller fills through wi_dataset_data. Names and encodings are
 * copied, data pointers are ignored. Errors: WEFT_ERROR_ARGUMENT, WEFT_ERROR_DTYPE, WEFT_ERROR_SHAPE,
 * WEFT_ERROR_MEMORY. */
weft_status wi_dataset_create(
    weft_dataset **dataset, weft_context *context, size_t examples, const weft_column *columns, size_t count);
/* Does a dataset of files read all its examples into memory? It does if `examples` examples of `bytes` bytes fit in the context's option
 * data_limit. */
bool wi_dataset_fits(const weft_context *context, uint64_t examples, uint64_t bytes);
void *wi_dataset_data(weft_dataset *dataset, size_t column);
/* Like wi_dataset_create, but the first columns, and the last one if the source has `finish`, are loaded by the source, which
 * the dataset retains; source NULL: all columns are in memory. */
weft_status wi_dataset_create_from_source(weft_dataset **dataset, weft_context *context, wi_source *source,
    size_t examples, const weft_column *columns, size_t count);
/* Sets the categories of a column; the texts are copied. */
weft_status wi_dataset_set_categories(
    weft_dataset *dataset, size_t column, const char *const *texts, size_t count);
/* The index of a column; SIZE_MAX: there is no column of this name. */
size_t wi_dataset_find(const weft_dataset *dataset, const char *column);
/* Does the dataset's source compute the column, so that it has no data in memory? */
bool wi_column_is_computed(const weft_dataset *dataset, size_t column);
/* Bytes of one example. */
size_t wi_column_bytes(const weft_column *column);

/* For loaders that load only some examples of each batch: writes range `index` of the examples to load from a batch of `examples`, which
 * are *count examples from *first on; false: there is no such range. The ranges must be adjacent. The columns that weft_loader_next
 * returns begin with the first loaded example. Mixtures (mixup) mix only examples of one range. NULL: the whole batch is one range. */
typedef bool wi_loader_part(const void *user, size_t examples, size_t index, size_t *first, size_t *count);
weft_status wi_loader_create(weft_loader **loader, weft_dataset *dataset, const weft_loader_options *options,
    wi_loader_part *part, const void *user);
/* weft_loader_begin, but skips the first `batch` batches of the epoch, at most all. */
weft_status wi_loader_begin_at(weft_loader *loader, uint64_t epoch, size_t batch);

#endif
