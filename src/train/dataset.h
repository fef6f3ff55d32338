/* The inside of a dataset, for its readers: one block of memory a column, shared by reference count. */
#ifndef WI_DATASET_H
#define WI_DATASET_H

#include "cl/context.h"
#include <stdatomic.h>
#include <weft/train.h>

/* The texts that the numbers of a column stand for. */
typedef struct wi_categories {
    const char **texts; /* in the dataset's arena */
    size_t count;       /* 0: the column has none */
} wi_categories;

struct weft_dataset {
    weft_context *context;
    atomic_int references;
    wi_arena arena; /* names */
    size_t examples;
    weft_column *columns;      /* names and data are the dataset's own */
    wi_categories *categories; /* of each column */
    size_t count;
};

/* A dataset whose columns' data is zeroed memory, to be filled through wi_dataset_data; names are copied and
 * data pointers ignored. */
weft_status wi_dataset_create(
    weft_dataset **dataset, weft_context *context, size_t examples, const weft_column *columns, size_t count);
void *wi_dataset_data(weft_dataset *dataset, size_t column);
/* Copies the texts. */
weft_status wi_dataset_set_categories(
    weft_dataset *dataset, size_t column, const char *const *texts, size_t count);
/* Bytes of one example. */
size_t wi_column_bytes(const weft_column *column);

#endif
