/* The parameters and named states of a graph to a safetensors file and back.
 *
 * Saving streams one variable at a time through an atomic writer. Loading checks the whole file against the
 * graph and takes all the memory that it needs before the first variable is written. */
#include "base/platform.h"
#include "graph/dtype.h"
#include "graph/nodes.h"
#include "io/safetensors.h"
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/io.h>

enum { ALIGNMENT = 8, SHAPE_CAPACITY = 200 };

/* A parameter or a named state. */
typedef struct variable {
    weft_tensor *tensor;
    const char *name;
    wi_saved_tensor *saved; /* when loading; NULL: not in the file */
    int rank;
    int64_t dims[WEFT_MAX_RANK];
    size_t elements, bytes;
} variable;

typedef struct variable_list {
    const weft_allocator *allocator;
    variable *items;
    size_t count;
} variable_list;

static int by_name(const void *a, const void *b) {
    return strcmp(((const variable *)a)->name, ((const variable *)b)->name);
}

static void list_add(variable_list *list, weft_tensor *tensor) {
    variable *const item = &list->items[list->count++];
    item->tensor = tensor;
    item->name = weft_tensor_name(tensor);
    item->rank = weft_tensor_rank(tensor);
    item->elements = 1;
    for (int axis = 0; axis < item->rank; axis++) {
        item->dims[axis] = weft_tensor_dimension(tensor, axis);
        item->elements *= (size_t)item->dims[axis];
    }
    item->bytes = item->elements * weft_dtype_size(weft_tensor_dtype(tensor));
}

/* All that is kept in a file, sorted by name. */
static weft_status list_variables(variable_list *list, weft_graph *graph) {
    const size_t parameters = weft_graph_parameter_count(graph), states = weft_graph_state_count(graph);
    list->allocator = weft_graph_context(graph)->allocator;
    list->items = wi_allocate_array(list->allocator, parameters + states + 1, sizeof *list->items);
    if (!list->items) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < parameters; i++) list_add(list, weft_graph_parameter(graph, i));
    for (size_t i = 0; i < states; i++) {
        weft_tensor *const state = weft_graph_state(graph, i);
        if (*weft_tensor_name(state)) list_add(list, state);
    }
    qsort(list->items, list->count, sizeof *list->items, by_name);
    for (size_t i = 0; i < list->count; i++) {
        if (*list->items[i].name == '\0')
            WI_FAIL(WEFT_ERROR_STATE, "weights are kept by name, and a parameter of the graph has none");
        if (i && by_name(&list->items[i - 1], &list->items[i]) == 0)
            WI_FAIL(WEFT_ERROR_STATE,
                "weights are kept by name, and two variables of the graph are called '%s'",
                list->items[i].name);
    }
    return WEFT_OK;
}

static size_t largest_bytes(const variable_list *list) {
    size_t largest = 1;
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].bytes > largest) largest = list->items[i].bytes;
    return largest;
}

/* ---- saving ---- */

static bool add_entry(cJSON *root, const variable *item, size_t begin) {
    cJSON *const entry = cJSON_AddObjectToObject(root, item->name);
    const char *const dtype = wi_saved_dtype_name(weft_tensor_dtype(item->tensor));
    if (!entry || !cJSON_AddStringToObject(entry, "dtype", dtype)) return false;
    cJSON *const shape = cJSON_AddArrayToObject(entry, "shape");
    for (int axis = 0; axis < item->rank; axis++)
        if (!cJSON_AddItemToArray(shape, cJSON_CreateNumber((double)item->dims[axis]))) return false;
    cJSON *const offsets = cJSON_AddArrayToObject(entry, "data_offsets");
    return cJSON_AddItemToArray(offsets, cJSON_CreateNumber((double)begin)) &&
           cJSON_AddItemToArray(offsets, cJSON_CreateNumber((double)(begin + item->bytes)));
}

/* The header's text; release it with cJSON_free. NULL when out of memory. */
static char *header_text(const variable_list *list) {
    cJSON *const root = cJSON_CreateObject();
    bool good = root != NULL;
    size_t begin = 0;
    for (size_t i = 0; i < list->count && good; i++) {
        good = add_entry(root, &list->items[i], begin);
        begin += list->items[i].bytes;
    }
    char *const text = good ? cJSON_PrintUnformatted(root) : NULL;
    cJSON_Delete(root);
    return text;
}

/* Length and header, padded with spaces so that the data begins at a multiple of 8. */
static weft_status append_header(wi_file_writer *writer, const char *text) {
    static const char spaces[ALIGNMENT] = "        ";
    const size_t length = strlen(text), padding = (ALIGNMENT - length % ALIGNMENT) % ALIGNMENT;
    unsigned char prefix[8];
    for (size_t i = 0; i < sizeof prefix; i++)
        prefix[i] = (unsigned char)((uint64_t)(length + padding) >> 8 * i & 255u);
    WI_TRY(wi_file_writer_append(writer, prefix, sizeof prefix));
    WI_TRY(wi_file_writer_append(writer, text, length));
    return padding ? wi_file_writer_append(writer, spaces, padding) : WEFT_OK;
}

static weft_status append_data(wi_file_writer *writer, const variable_list *list, void *scratch) {
    for (size_t i = 0; i < list->count; i++) {
        const variable *const item = &list->items[i];
        WI_TRY(weft_tensor_read(item->tensor, scratch, item->bytes));
        WI_TRY(wi_file_writer_append(writer, scratch, item->bytes));
    }
    return WEFT_OK;
}

weft_status weft_weights_save(weft_graph *graph, const char *path) {
    if (!graph || !path) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_weights_save: graph and path must not be NULL");
    WI_TRY(weft_graph_status(graph));
    weft_status status = WEFT_OK;
    variable_list list = {0};
    wi_file_writer *writer = NULL;
    void *scratch = NULL;
    char *header = NULL;
    WI_TRY_DONE(list_variables(&list, graph));
    scratch = wi_allocate(list.allocator, largest_bytes(&list));
    header = header_text(&list);
    if (!scratch || !header) WI_FAIL_DONE(WEFT_ERROR_MEMORY, "out of memory while writing '%s'", path);
    WI_TRY_DONE(wi_file_writer_begin(&writer, list.allocator, path));
    WI_TRY_DONE(append_header(writer, header));
    WI_TRY_DONE(append_data(writer, &list, scratch));
    status = wi_file_writer_commit(writer);
    writer = NULL;
done:
    wi_file_writer_abandon(writer);
    cJSON_free(header);
    wi_release(list.allocator, scratch);
    wi_release(list.allocator, list.items);
    return status;
}

/* ---- loading ---- */

static int64_t i64_value(const unsigned char *bytes) {
    int64_t value = 0;
    memcpy(&value, bytes, sizeof value);
    return value;
}

/* Whether a tensor of the file can become the variable. */
static bool converts(const wi_saved_dtype *from, weft_dtype to) {
    if (from->dtype == (int)to) return true;
    if (to == WEFT_I32) return from->dtype == WEFT_I64;
    return to == WEFT_F32 && from->dtype >= 0 && wi_dtype_is_float((weft_dtype)from->dtype);
}

bool wi_saved_is_number(const wi_saved_tensor *saved) {
    return converts(saved->dtype, WEFT_F32);
}

void wi_saved_to_f32(float *values, const wi_saved_tensor *saved, const unsigned char *data) {
    const size_t size = saved->dtype->size;
    if (saved->dtype->dtype == WEFT_F32) {
        memcpy(values, data, saved->elements * size);
        return;
    }
    const wi_format *format = wi_format_of((weft_dtype)saved->dtype->dtype);
    for (size_t i = 0; i < saved->elements; i++) values[i] = (float)format->get(data, i);
}

static weft_status check_i64(const wi_saved_tensor *saved, const unsigned char *data, const char *path) {
    for (size_t i = 0; i < saved->elements; i++) {
        const int64_t value = i64_value(data + 8 * i);
        if (value < INT32_MIN || value > INT32_MAX)
            WI_FAIL(WEFT_ERROR_FORMAT, "'%s': tensor '%s': element %zu, %" PRId64 ", does not fit i32", path,
                saved->name, i, value);
    }
    return WEFT_OK;
}

static weft_status check_match(const variable *item, const unsigned char *data, const char *path) {
    const wi_saved_tensor *const saved = item->saved;
    if (saved->rank != item->rank || memcmp(saved->dims, item->dims, sizeof saved->dims) != 0) {
        char theirs[SHAPE_CAPACITY], ours[SHAPE_CAPACITY];
        wi_shape_text(theirs, sizeof theirs, saved->rank, saved->dims);
        wi_shape_text(ours, sizeof ours, item->rank, item->dims);
        WI_FAIL(WEFT_ERROR_SHAPE, "'%s': tensor '%s' is %s in the file and %s in the graph", path, item->name,
            theirs, ours);
    }
    const weft_dtype dtype = weft_tensor_dtype(item->tensor);
    if (!converts(saved->dtype, dtype))
        WI_FAIL(WEFT_ERROR_DTYPE, "'%s': tensor '%s' is %s in the file and %s in the graph", path, item->name,
            saved->dtype->name, wi_saved_dtype_name(dtype));
    if (dtype == WEFT_I32 && saved->dtype->dtype == WEFT_I64)
        return check_i64(saved, data + saved->begin, path);
    return WEFT_OK;
}

static weft_status match_variables(
    variable_list *list, wi_safetensors *file, const weft_weights_options *options, const char *path) {
    for (size_t i = 0; i < list->count; i++) {
        variable *const item = &list->items[i];
        item->saved = wi_safetensors_find(file, item->name);
        if (item->saved) {
            item->saved->taken = true;
            WI_TRY(check_match(item, file->data, path));
        } else if (!options->allow_missing) {
            WI_FAIL(WEFT_ERROR_FORMAT, "'%s': tensor '%s' of the graph is not in the file", path, item->name);
        }
    }
    for (size_t i = 0; i < file->count && !options->allow_extra; i++)
        if (!file->tensors[i].taken)
            WI_FAIL(WEFT_ERROR_FORMAT, "'%s': tensor '%.100s' of the file is not in the graph", path,
                file->tensors[i].name);
    return WEFT_OK;
}

static weft_status write_variable(const variable *item, const unsigned char *data, void *scratch) {
    const wi_saved_tensor *const saved = item->saved;
    const unsigned char *const source = data + saved->begin;
    const weft_dtype dtype = weft_tensor_dtype(item->tensor);
    if (saved->dtype->dtype == (int)dtype) {
        memcpy(scratch, source, item->bytes); /* the file's data may lie at any address */
    } else if (dtype == WEFT_F32) {
        wi_saved_to_f32(scratch, saved, source);
    } else {
        for (size_t i = 0; i < saved->elements; i++)
            ((int32_t *)scratch)[i] = (int32_t)i64_value(source + 8 * i);
    }
    return weft_tensor_write(item->tensor, scratch, item->bytes);
}

weft_status weft_weights_load(weft_graph *graph, const char *path, const weft_weights_options *options) {
    static const weft_weights_options defaults = {WEFT_WEIGHTS_OPTIONS_INIT};
    if (!graph || !path) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_weights_load: graph and path must not be NULL");
    if (!options) options = &defaults;
    if (options->struct_size != sizeof *options)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_weights_load: options of %zu bytes, expected %zu (use the _INIT macro)",
            options->struct_size, sizeof *options);
    WI_TRY(weft_graph_status(graph));
    weft_status status = WEFT_OK;
    variable_list list = {0};
    wi_safetensors file = {0};
    char *bytes = NULL;
    void *scratch = NULL;
    size_t size = 0;
    WI_TRY_DONE(list_variables(&list, graph));
    WI_TRY_DONE(wi_file_read(list.allocator, path, &bytes, &size));
    WI_TRY_DONE(wi_safetensors_parse(&file, list.allocator, path, bytes, size));
    WI_TRY_DONE(match_variables(&list, &file, options, path));
    scratch = wi_allocate(list.allocator, largest_bytes(&list));
    if (!scratch) WI_FAIL_DONE(WEFT_ERROR_MEMORY, "out of memory while loading '%s'", path);
    for (size_t i = 0; i < list.count; i++)
        if (list.items[i].saved) WI_TRY_DONE(write_variable(&list.items[i], file.data, scratch));
done:
    wi_release(list.allocator, scratch);
    wi_safetensors_clear(&file);
    wi_release(list.allocator, bytes);
    wi_release(list.allocator, list.items);
    return status;
}
