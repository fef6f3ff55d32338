/* NumPy arrays as a dataset, one file per column. */
#include "train/file_columns.h"
#include <inttypes.h>
#include <string.h>

static weft_status check_column(const weft_npy_column *column, size_t index) {
    if (!column->name || !*column->name || !column->path)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_dataset_open_npy: column %zu has no name or no path", index);
    return WEFT_OK;
}

static weft_status open_file(
    wi_file_column *it, const wi_file_rules *rules, const weft_npy_column *spec, weft_column *column) {
    WI_TRY(wi_data_file_open(&it->file, rules, spec->path));
    WI_TRY(wi_npy_open(&it->npy, &it->file));
    if (it->npy.rank == 0)
        WI_FAIL(WEFT_ERROR_SHAPE, "'%s' has a single number, expected an array (examples, ...)", spec->path);
    *column = (weft_column){.name = spec->name, .dtype = spec->dtype, .rank = it->npy.rank - 1};
    memcpy(column->dims, it->npy.dims + 1, (size_t)column->rank * sizeof *column->dims);
    return WEFT_OK;
}

/* For the column of f32: its name. The numbers must be exact in f32, so integers that f32 would round are errors. */
static const char *exact_column(const weft_npy_column *spec) {
    return spec->dtype == WEFT_F32 ? spec->name : NULL;
}

/* Creates a dataset by reading the arrays into memory. */
static weft_status load(weft_dataset **dataset, weft_context *context, const weft_npy_column *specs,
    size_t count, const wi_file_column *files, const weft_column *columns) {
    WI_TRY(wi_dataset_create(dataset, context, (size_t)files[0].npy.dims[0], columns, count));
    weft_status status = WEFT_OK;
    for (size_t i = 0; i < count && status == WEFT_OK; i++)
        status = wi_npy_load(&files[i].npy, &files[i].file, specs[i].dtype, exact_column(&specs[i]),
            wi_dataset_data(*dataset, i));
    if (status == WEFT_OK) return WEFT_OK;
    weft_dataset_release(*dataset);
    *dataset = NULL;
    return status;
}

/* Creates a dataset whose arrays stay in their files. Numbers that may not fit are checked now, in one pass, so that no loader fails
 * later. */
static weft_status open_in_place(weft_dataset **dataset, weft_context *context, const weft_npy_column *specs,
    size_t count, wi_file_column *files, const weft_column *columns) {
    for (size_t i = 0; i < count; i++) {
        const wi_npy *const npy = &files[i].npy;
        if (!wi_npy_is_in_order(npy))
            WI_FAIL(WEFT_ERROR_UNSUPPORTED,
                "'%s' is in Fortran order and larger than data_limit of weft_context_options: save it by "
                "numpy.ascontiguousarray, or increase data_limit to have it in memory",
                specs[i].path);
        const weft_dtype dtype = specs[i].dtype; /* any other is refused below */
        const bool valid = dtype == WEFT_F32 || dtype == WEFT_I32 || dtype == WEFT_U8;
        if (valid && !wi_npy_always_fits(npy, dtype))
            WI_TRY(wi_npy_load(npy, &files[i].file, specs[i].dtype, exact_column(&specs[i]), NULL));
    }
    return wi_file_columns_open(dataset, context, files, (size_t)files[0].npy.dims[0], columns, count);
}

static weft_status build(weft_dataset **dataset, weft_context *context, const weft_npy_column *specs,
    size_t count, wi_file_column *files, weft_column *columns) {
    uint64_t bytes = 0; /* of an example */
    for (size_t i = 0; i < count; i++) {
        WI_TRY(check_column(&specs[i], i));
        WI_TRY(open_file(&files[i], &context->files, &specs[i], &columns[i]));
        const int64_t examples = files[i].npy.dims[0];
        if (examples != files[0].npy.dims[0])
            WI_FAIL(WEFT_ERROR_SHAPE, "'%s' has %" PRId64 " examples, but '%s' has %" PRId64, specs[0].path,
                files[0].npy.dims[0], specs[i].path, examples);
        if (examples > 0) bytes += files[i].npy.elements / (uint64_t)examples * 4;
    }
    return wi_dataset_fits(context, (uint64_t)files[0].npy.dims[0], bytes)
               ? load(dataset, context, specs, count, files, columns)
               : open_in_place(dataset, context, specs, count, files, columns);
}

weft_status weft_dataset_open_npy(
    weft_dataset **dataset, weft_context *context, const weft_npy_column *columns, size_t count) {
    if (!dataset) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_dataset_open_npy: dataset is NULL");
    *dataset = NULL;
    if (!context || !columns || !count)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_dataset_open_npy: context and columns must not be NULL, nor count (%zu) 0", count);
    const weft_allocator *const allocator = context->allocator;
    wi_file_column *const files = wi_allocate_array(allocator, count, sizeof *files);
    weft_column *const made = wi_allocate_array(allocator, count, sizeof *made);
    weft_status status = WEFT_ERROR_MEMORY;
    if (files && made) status = build(dataset, context, columns, count, files, made);
    for (size_t i = 0; i < count && files; i++) wi_data_file_close(&files[i].file);
    wi_release(allocator, files);
    wi_release(allocator, made);
    return status;
}
