/* NumPy arrays as a dataset, one file per column. */
#include "base/platform.h"
#include "io/npy.h"
#include "train/dataset.h"
#include <inttypes.h>
#include <string.h>

typedef struct source {
    char *bytes;
    wi_npy npy;
} source;

static weft_status check_column(const weft_npy_column *column, size_t index) {
    if (!column->name || !*column->name || !column->path)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_dataset_open_npy: column %zu has no name or no path", index);
    return WEFT_OK;
}

static weft_status read_source(
    source *it, const wi_file_rules *rules, const weft_npy_column *spec, weft_column *column) {
    size_t size = 0;
    WI_TRY(wi_file_read_by(rules, spec->path, &it->bytes, &size));
    WI_TRY(wi_npy_parse(&it->npy, spec->path, it->bytes, size));
    if (it->npy.rank == 0)
        WI_FAIL(WEFT_ERROR_SHAPE, "'%s' has a single number, expected an array (examples, ...)", spec->path);
    if (spec->dtype == WEFT_F32) WI_TRY(wi_npy_check_exact(&it->npy, spec->name));
    *column = (weft_column){.name = spec->name, .dtype = spec->dtype, .rank = it->npy.rank - 1};
    memcpy(column->dims, it->npy.dims + 1, (size_t)column->rank * sizeof *column->dims);
    return WEFT_OK;
}

static weft_status build(weft_dataset **dataset, weft_context *context, const weft_npy_column *specs,
    size_t count, source *sources, weft_column *columns) {
    for (size_t i = 0; i < count; i++) {
        WI_TRY(check_column(&specs[i], i));
        WI_TRY(read_source(&sources[i], &context->files, &specs[i], &columns[i]));
        if (sources[i].npy.dims[0] != sources[0].npy.dims[0])
            WI_FAIL(WEFT_ERROR_SHAPE, "'%s' has %" PRId64 " examples, but '%s' has %" PRId64, specs[0].path,
                sources[0].npy.dims[0], specs[i].path, sources[i].npy.dims[0]);
    }
    WI_TRY(wi_dataset_create(dataset, context, (size_t)sources[0].npy.dims[0], columns, count));
    weft_status status = WEFT_OK;
    for (size_t i = 0; i < count && status == WEFT_OK; i++)
        status = wi_npy_convert(&sources[i].npy, specs[i].dtype, wi_dataset_data(*dataset, i));
    if (status == WEFT_OK) return WEFT_OK;
    weft_dataset_release(*dataset);
    *dataset = NULL;
    return status;
}

weft_status weft_dataset_open_npy(
    weft_dataset **dataset, weft_context *context, const weft_npy_column *columns, size_t count) {
    if (!dataset) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_dataset_open_npy: dataset is NULL");
    *dataset = NULL;
    if (!context || !columns || !count)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_dataset_open_npy: context and columns must not be NULL, nor count (%zu) 0", count);
    const weft_allocator *const allocator = context->allocator;
    source *const sources = wi_allocate_array(allocator, count, sizeof *sources);
    weft_column *const made = wi_allocate_array(allocator, count, sizeof *made);
    weft_status status = WEFT_ERROR_MEMORY;
    if (sources && made) status = build(dataset, context, columns, count, sources, made);
    for (size_t i = 0; i < count && sources; i++) wi_release(allocator, sources[i].bytes);
    wi_release(allocator, sources);
    wi_release(allocator, made);
    return status;
}
