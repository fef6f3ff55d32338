/* Datasets in memory (contract in dataset.h and weft/train.h). A dataset is not changed after it is created, so that
 * any number of threads may read it. */
#include "train/dataset.h"
#include "base/names.h"
#include <inttypes.h>
#include <string.h>

enum { DATA_LIMIT = 256 << 20 }; /* the default of data_limit of weft_context_options */

void *wi_workspace_take(wi_workspace *workspace, size_t block, size_t bytes) {
    if (bytes <= workspace->capacities[block] && workspace->blocks[block]) return workspace->blocks[block];
    wi_release(workspace->allocator, workspace->blocks[block]); /* the contents are not kept */
    workspace->blocks[block] = NULL;
    workspace->blocks[block] = wi_reallocate(workspace->allocator, NULL, bytes ? bytes : 1);
    workspace->capacities[block] = workspace->blocks[block] ? bytes : 0;
    return workspace->blocks[block];
}

void wi_workspace_clear(wi_workspace *workspace) {
    for (size_t i = 0; i < WI_WORKSPACE_BLOCKS; i++) wi_release(workspace->allocator, workspace->blocks[i]);
    *workspace = (wi_workspace){.allocator = workspace->allocator};
}

void wi_source_init(
    wi_source *source, size_t columns, wi_load_example *load, void (*destroy)(wi_source *source)) {
    *source = (wi_source){.columns = columns, .load = load, .destroy = destroy};
    atomic_init(&source->references, 1);
}

wi_source *wi_source_retain(wi_source *source) {
    if (source) atomic_fetch_add(&source->references, 1);
    return source;
}

void wi_source_release(wi_source *source) {
    if (source && atomic_fetch_sub(&source->references, 1) == 1) source->destroy(source);
}

bool wi_column_is_computed(const weft_dataset *dataset, size_t column) {
    const wi_source *const source = dataset->source;
    return source && (column < source->columns || (source->finish && column + 1 == dataset->count));
}

size_t wi_column_bytes(const weft_column *column) {
    size_t bytes = weft_dtype_size(column->dtype);
    for (int axis = 0; axis < column->rank; axis++) bytes *= (size_t)column->dims[axis];
    return bytes;
}

static weft_status check_column(const weft_column *column, size_t examples) {
    if (!column->name || !*column->name) WI_FAIL(WEFT_ERROR_ARGUMENT, "dataset: a column has no name");
    if (column->dtype != WEFT_F32 && column->dtype != WEFT_I32 && column->dtype != WEFT_U8)
        WI_FAIL(WEFT_ERROR_DTYPE, "dataset: column '%s' is %s, expected f32, i32 or u8", column->name,
            weft_dtype_name(column->dtype));
    if (column->rank < 0 || column->rank >= WEFT_MAX_RANK)
        WI_FAIL(WEFT_ERROR_SHAPE, "dataset: column '%s' has rank %d, expected 0 to %d", column->name,
            column->rank, WEFT_MAX_RANK - 1);
    size_t bytes = weft_dtype_size(column->dtype);
    for (int axis = 0; axis < column->rank; axis++) {
        const int64_t dimension = column->dims[axis];
        if (dimension <= 0)
            WI_FAIL(WEFT_ERROR_SHAPE, "dataset: column '%s': dimension %d is %" PRId64 ", expected 1 or more",
                column->name, axis, dimension);
        if (bytes > SIZE_MAX / (size_t)dimension)
            WI_FAIL(WEFT_ERROR_SHAPE, "dataset: column '%s': an example has too many elements", column->name);
        bytes *= (size_t)dimension;
    }
    if (bytes > PTRDIFF_MAX / examples)
        WI_FAIL(WEFT_ERROR_SHAPE,
            "dataset: column '%s': %zu examples of %zu bytes are more than memory can address", column->name,
            examples, bytes);
    return WEFT_OK;
}

static weft_status check_names(const weft_allocator *allocator, const weft_column *columns, size_t count) {
    wi_name *const names = wi_allocate_array(allocator, count, sizeof *names);
    weft_status status = names ? WEFT_OK : WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < count && names; i++) names[i] = (wi_name){columns[i].name, i};
    if (names) wi_names_sort(names, count);
    for (size_t i = 0; i < count && status == WEFT_OK; i++)
        if (wi_names_twice(names, count, i))
            status = wi_fail(WEFT_ERROR_ARGUMENT, "dataset: two columns are called '%s'", names[i].text);
    wi_release(allocator, names);
    return status;
}

static weft_status check_columns(
    const weft_allocator *allocator, size_t examples, const weft_column *columns, size_t count) {
    if (examples == 0 || count == 0)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "dataset: %zu examples of %zu columns, expected at least one of each",
            examples, count);
    for (size_t i = 0; i < count; i++) WI_TRY(check_column(&columns[i], examples));
    return check_names(allocator, columns, count);
}

static weft_status copy_columns(weft_dataset *dataset, const weft_column *columns, size_t count) {
    const weft_allocator *const allocator = dataset->context->allocator;
    dataset->columns = wi_arena_take(&dataset->arena, count * sizeof *columns);
    if (!dataset->columns) return WEFT_ERROR_MEMORY;
    memset(dataset->columns, 0, count * sizeof *columns);
    dataset->count = count;
    for (size_t i = 0; i < count; i++) {
        weft_column *const column = &dataset->columns[i];
        *column = columns[i];
        column->name = wi_arena_string(&dataset->arena, columns[i].name);
        column->data = NULL;
        if (!column->name) return WEFT_ERROR_MEMORY;
        if (column->encoding && !(column->encoding = wi_encoding_copy(&dataset->arena, column->encoding)))
            return WEFT_ERROR_MEMORY;
        if (wi_column_is_computed(dataset, i)) continue;
        column->data = wi_allocate_array(allocator, dataset->examples, wi_column_bytes(column));
        if (!column->data) return WEFT_ERROR_MEMORY;
    }
    return WEFT_OK;
}

weft_status wi_dataset_create_from_source(weft_dataset **dataset, weft_context *context, wi_source *source,
    size_t examples, const weft_column *columns, size_t count) {
    WI_TRY(check_columns(context->allocator, examples, columns, count));
    weft_dataset *const made = wi_allocate(context->allocator, sizeof *made);
    if (!made) return WEFT_ERROR_MEMORY;
    made->context = weft_context_retain(context);
    made->source = wi_source_retain(source);
    made->examples = examples;
    atomic_init(&made->references, 1);
    wi_arena_init(&made->arena, context->allocator);
    const weft_status status = copy_columns(made, columns, count);
    if (status != WEFT_OK) {
        weft_dataset_release(made);
        return status;
    }
    *dataset = made;
    return WEFT_OK;
}

weft_status wi_dataset_create(weft_dataset **dataset, weft_context *context, size_t examples,
    const weft_column *columns, size_t count) {
    return wi_dataset_create_from_source(dataset, context, NULL, examples, columns, count);
}

bool wi_dataset_fits(const weft_context *context, uint64_t examples, uint64_t bytes) {
    const uint64_t limit = context->data_limit ? context->data_limit : DATA_LIMIT;
    return examples == 0 || bytes <= limit / examples;
}

void *wi_dataset_data(weft_dataset *dataset, size_t column) {
    return (void *)(uintptr_t)dataset->columns[column]
        .data; /* const for users only: the memory belongs to the dataset */
}

weft_status wi_dataset_set_categories(
    weft_dataset *dataset, size_t column, const char *const *texts, size_t count) {
    const weft_encoding categories = {.kind = WI_CATEGORIES, .count = count, .texts = texts};
    dataset->columns[column].encoding = wi_encoding_copy(&dataset->arena, &categories);
    return dataset->columns[column].encoding ? WEFT_OK : WEFT_ERROR_MEMORY;
}

size_t wi_dataset_find(const weft_dataset *dataset, const char *column) {
    size_t c = 0;
    while (c < dataset->count && strcmp(dataset->columns[c].name, column) != 0) c++;
    return c < dataset->count ? c : SIZE_MAX;
}

static size_t category_count(const weft_encoding *encoding) {
    return encoding && encoding->kind == WI_CATEGORIES ? encoding->count : 0;
}

static const char *category(const weft_encoding *encoding, int32_t number) {
    return number >= 0 && (size_t)number < category_count(encoding) ? encoding->texts[number] : NULL;
}

size_t weft_dataset_category_count(const weft_dataset *dataset, size_t column) {
    return dataset && column < dataset->count ? category_count(dataset->columns[column].encoding) : 0;
}

const char *weft_dataset_category(const weft_dataset *dataset, size_t column, int32_t number) {
    return dataset && column < dataset->count ? category(dataset->columns[column].encoding, number) : NULL;
}

size_t weft_graph_category_count(const weft_graph *graph, const char *column) {
    return graph && column ? category_count(wi_graph_encoding(graph, column)) : 0;
}

const char *weft_graph_category(const weft_graph *graph, const char *column, int32_t number) {
    return graph && column ? category(wi_graph_encoding(graph, column), number) : NULL;
}

weft_status weft_dataset_from_memory(weft_dataset **dataset, weft_context *context, size_t examples,
    const weft_column *columns, size_t count) {
    if (!dataset) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_dataset_from_memory: dataset is NULL");
    *dataset = NULL;
    if (!context || !columns)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_dataset_from_memory: context and columns must not be NULL");
    for (size_t i = 0; i < count; i++)
        if (!columns[i].data)
            WI_FAIL(WEFT_ERROR_ARGUMENT, "dataset: column %zu, '%s', has no data", i,
                columns[i].name ? columns[i].name : "");
    WI_TRY(wi_dataset_create(dataset, context, examples, columns, count));
    for (size_t i = 0; i < count; i++)
        memcpy(wi_dataset_data(*dataset, i), columns[i].data, examples * wi_column_bytes(&columns[i]));
    return WEFT_OK;
}

weft_dataset *weft_dataset_retain(weft_dataset *dataset) {
    if (dataset) atomic_fetch_add(&dataset->references, 1);
    return dataset;
}

void weft_dataset_release(weft_dataset *dataset) {
    if (!dataset || atomic_fetch_sub(&dataset->references, 1) != 1) return;
    weft_context *const context = dataset->context;
    weft_dataset *const base = dataset->base;
    for (size_t i = 0; i < dataset->count; i++)
        if (!base || dataset->columns[i].data != base->columns[i].data)
            wi_release(context->allocator, wi_dataset_data(dataset, i));
    wi_source_release(dataset->source);
    if (!base) wi_release(context->allocator, dataset->origins);
    weft_dataset_release(base);
    wi_arena_clear(&dataset->arena);
    wi_release(context->allocator, dataset);
    weft_context_release(context);
}

size_t weft_dataset_size(const weft_dataset *dataset) {
    return dataset ? dataset->examples : 0;
}

size_t weft_dataset_column_count(const weft_dataset *dataset) {
    return dataset ? dataset->count : 0;
}

const weft_column *weft_dataset_column(const weft_dataset *dataset, size_t index) {
    return dataset && index < dataset->count ? &dataset->columns[index] : NULL;
}
