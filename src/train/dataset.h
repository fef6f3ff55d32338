/* The inside of a dataset, for its readers: one block of memory a column, or a source that makes the first
 * column's examples as a loader wants them; shared by reference count. */
#ifndef WI_DATASET_H
#define WI_DATASET_H

#include "cl/context.h"
#include "io/encoding.h"
#include <stdatomic.h>
#include <weft/train.h>

/* Memory that one thread uses again and again; several blocks, each grown as needed, contents not kept. */
enum { WI_WORKSPACE_BLOCKS = 6 };
typedef struct wi_workspace {
    const weft_allocator *allocator;
    void *blocks[WI_WORKSPACE_BLOCKS];
    size_t capacities[WI_WORKSPACE_BLOCKS];
} wi_workspace;

/* Uninitialised memory of at least so many bytes; NULL with WEFT_ERROR_MEMORY recorded. */
void *wi_workspace_take(wi_workspace *workspace, size_t block, size_t bytes);
void wi_workspace_clear(wi_workspace *workspace);

/* An example to be made: its number in the source, and what random numbers may depend on. */
typedef struct wi_example {
    size_t index;
    uint64_t seed, epoch;
} wi_example;

/* Makes examples of one column. It is not changed once it is made: any number of threads use it at once, each
 * with a workspace of its own. */
typedef struct wi_source wi_source;
struct wi_source {
    atomic_int references;
    weft_status (*make)(
        const wi_source *source, const wi_example *example, wi_workspace *workspace, void *target);
    void (*destroy)(wi_source *source);
};

wi_source *wi_source_retain(wi_source *source); /* NULL is fine */
void wi_source_release(wi_source *source);      /* NULL is fine */

struct weft_dataset {
    weft_context *context;
    atomic_int references;
    wi_arena arena; /* names */
    size_t examples;
    weft_column *columns; /* names, encodings and data are the dataset's own */
    size_t count;
    weft_dataset *base; /* whose names, origins and most data this one uses; NULL: it has its own */
    wi_source *source;  /* of column 0, which has no data then; NULL: all columns lie in memory */
    size_t *origins;    /* example i is the source's origins[i]; NULL: it is i */
    size_t skipped;     /* what could not be read, and was left out as asked */
};

/* A dataset whose columns' data is zeroed memory, to be filled through wi_dataset_data; names and encodings are copied and
 * data pointers ignored. */
weft_status wi_dataset_create(
    weft_dataset **dataset, weft_context *context, size_t examples, const weft_column *columns, size_t count);
void *wi_dataset_data(weft_dataset *dataset, size_t column);
/* The same with column 0 made by a source (retained) instead. */
weft_status wi_dataset_create_made(weft_dataset **dataset, weft_context *context, wi_source *source,
    size_t examples, const weft_column *columns, size_t count);
/* Copies the texts. */
weft_status wi_dataset_set_categories(
    weft_dataset *dataset, size_t column, const char *const *texts, size_t count);
/* SIZE_MAX: there is none of that name. */
size_t wi_dataset_find(const weft_dataset *dataset, const char *column);
/* Bytes of one example. */
size_t wi_column_bytes(const weft_column *column);

/* weft_loader_begin without the first `batch` batches of the epoch; at most as many as it has. */
weft_status wi_loader_begin_at(weft_loader *loader, uint64_t epoch, size_t batch);

#endif
