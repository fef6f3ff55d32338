/* Columns in files, read example by example (contract in file_columns.h). */
#include "train/file_columns.h"
#include <string.h>

typedef struct file_source {
    wi_source base; /* must be first: a loader knows only this struct */
    const weft_allocator *allocator;
    wi_file_column *files;
    weft_dtype *dtypes;
    size_t *elements; /* of an example, by column */
    size_t count;
} file_source;

static weft_status read_column(
    const file_source *source, size_t c, size_t example, wi_workspace *workspace, void *target) {
    const wi_file_column *const from = &source->files[c];
    const size_t count = source->elements[c], first = example * count;
    unsigned char *const block = wi_workspace_take(workspace, 0, count * from->npy.size);
    if (!block) return WEFT_ERROR_MEMORY;
    if (!from->is_fraction)
        return wi_npy_load_part(&from->npy, &from->file, source->dtypes[c], first, count, block, target);
    WI_TRY(wi_data_file_read(&from->file, from->npy.offset + first, block, count));
    for (size_t i = 0; i < count; i++) ((float *)target)[i] = (float)block[i] / 255.0f;
    return WEFT_OK;
}

static weft_status load_example(
    const wi_source *base, const wi_example *example, wi_workspace *workspace, void *const *targets) {
    const file_source *const source = (const file_source *)(const void *)base;
    for (size_t c = 0; c < source->count; c++)
        WI_TRY(read_column(source, c, example->index, workspace, targets[c]));
    return WEFT_OK;
}

static void destroy_source(wi_source *base) {
    file_source *const source = (file_source *)(void *)base;
    for (size_t c = 0; c < source->count && source->files; c++) wi_data_file_close(&source->files[c].file);
    wi_release(source->allocator, source->files);
    wi_release(source->allocator, source->dtypes);
    wi_release(source->allocator, source->elements);
    wi_release(source->allocator, source);
}

static weft_status fill_source(
    file_source *source, wi_file_column *files, const weft_column *columns, size_t count) {
    source->files = wi_allocate_array(source->allocator, count, sizeof *source->files);
    source->dtypes = wi_allocate_array(source->allocator, count, sizeof *source->dtypes);
    source->elements = wi_allocate_array(source->allocator, count, sizeof *source->elements);
    if (!source->files || !source->dtypes || !source->elements) return WEFT_ERROR_MEMORY;
    for (size_t c = 0; c < count; c++) {
        source->files[c] = files[c];
        source->dtypes[c] = columns[c].dtype;
        source->elements[c] = wi_column_bytes(&columns[c]) / weft_dtype_size(columns[c].dtype);
        files[c] = (wi_file_column){0};
    }
    source->count = count;
    return WEFT_OK;
}

weft_status wi_file_columns_open(weft_dataset **dataset, weft_context *context, wi_file_column *files,
    size_t examples, const weft_column *columns, size_t count) {
    file_source *const source = wi_allocate(context->allocator, sizeof *source);
    if (!source) return WEFT_ERROR_MEMORY;
    wi_source_init(&source->base, SIZE_MAX, load_example, destroy_source);
    source->allocator = context->allocator;
    weft_status status = fill_source(source, files, columns, count);
    if (status == WEFT_OK)
        status = wi_dataset_create_from_source(dataset, context, &source->base, examples, columns, count);
    wi_source_release(&source->base); /* the dataset retains it */
    return status;
}
