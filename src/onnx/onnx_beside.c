/* Data of tensors that lies in other files than the model ("external data" of ONNX). */
#include "base/platform.h"
#include "onnx/onnx_file.h"
#include "onnx/onnx_node.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IN_OTHER_FILE = 1, RAW_DATA = 9 };

/* A mapped file, by its path in the model. */
typedef struct wi_onnx_beside {
    struct wi_onnx_beside *next;
    const char *location;
    wi_file_map map;
} wi_onnx_beside;

typedef struct search {
    wi_onnx_file *file;
    const wi_onnx_place *place;
} search;

static const char *entry_of(const WiOnnx__TensorProto *tensor, const char *key) {
    for (size_t i = 0; i < tensor->n_external_data; i++) {
        const WiOnnx__StringStringEntryProto *const entry = tensor->external_data[i];
        if (entry->key && entry->value && strcmp(entry->key, key) == 0) return entry->value;
    }
    return NULL;
}

static bool read_whole(uint64_t *number, const char *text) {
    *number = 0;
    if (!text[0]) return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || *number > UINT64_MAX / 20) return false;
        *number = *number * 10 + (uint64_t)(*text - '0');
    }
    return true;
}

/* Is the resolved path in the resolved folder, or below it? */
static bool is_inside(const char *path, const char *folder) {
    const size_t length = strlen(folder);
    if (strncmp(path, folder, length) != 0) return false;
    return length == wi_path_root(folder) || wi_is_separator(path[length]);
}

/* The absolute path of `location` in the folder, with symbolic links resolved; the caller frees it. NULL: an error. */
static char *resolve(const search *s, const char *location, const char *name) {
    const char *const given = s->place->folder;
    const bool absolute = wi_path_root(location) > 0;
    const size_t bytes = (given ? strlen(given) : 0) + strlen(location) + 2;
    char *const joined = given || absolute ? malloc(bytes) : NULL;
    char *const folder = given ? wi_path_resolve(given) : NULL;
    if (joined) snprintf(joined, bytes, "%s%s%s", absolute ? "" : given, absolute ? "" : "/", location);
    char *path = joined ? wi_path_resolve(joined) : NULL;
    if (!given && !absolute)
        wi_onnx_error(WEFT_ERROR_FILE, "the data of '%s' is in '%s', but no folder is given", name, location);
    else if (!path)
        wi_onnx_error(
            WEFT_ERROR_FILE, "there is no '%s' beside the model, which has the data of '%s'", location, name);
    else if (!s->place->any_folder && !(folder && is_inside(path, folder))) {
        wi_onnx_error(WEFT_ERROR_FILE,
            "the data of '%s' is in '%s', outside the folder of the model: the option any_folder allows this",
            name, location);
        free(path);
        path = NULL;
    }
    free(joined);
    free(folder);
    return path;
}

static weft_status map_file(
    wi_onnx_beside **beside, const search *s, const char *location, const char *name) {
    wi_onnx_file *const file = s->file;
    for (*beside = file->beside; *beside; *beside = (*beside)->next)
        if (strcmp((*beside)->location, location) == 0) return WEFT_OK;
    wi_onnx_beside *const made = wi_arena_take(&file->arena, sizeof *made);
    char *const path = made ? resolve(s, location, name) : NULL;
    if (!path) return made ? WEFT_ERROR_FILE : WEFT_ERROR_MEMORY;
    const weft_status status = wi_file_map_open(&made->map, path);
    free(path);
    WI_TRY(status);
    made->location = location;
    made->next = file->beside;
    *beside = file->beside = made;
    return WEFT_OK;
}

static weft_status find_data(const search *s, WiOnnx__TensorProto *tensor) {
    const char *const name = tensor->name ? tensor->name : "", *const location = entry_of(tensor, "location");
    const char *const begin = entry_of(tensor, "offset"), *const size = entry_of(tensor, "length");
    uint64_t offset = 0, length = 0;
    wi_onnx_beside *beside;
    if (tensor->data_location != IN_OTHER_FILE) {
        tensor->data_mapped = tensor->has_data_address && s->file->map.bytes > 0;
        return WEFT_OK;
    }
    if (!location || !location[0])
        return wi_onnx_error(
            WEFT_ERROR_FORMAT, "the data of '%s' is in another file, which has no name", name);
    if ((begin && !read_whole(&offset, begin)) || (size && !read_whole(&length, size)))
        return wi_onnx_error(
            WEFT_ERROR_FORMAT, "the offset or length of the data of '%s' is not a number", name);
    WI_TRY(map_file(&beside, s, location, name));
    if (offset > beside->map.bytes || length > beside->map.bytes - offset)
        return wi_onnx_error(WEFT_ERROR_FORMAT,
            "the data of '%s', %" PRIu64 " bytes from %" PRIu64 " on, is beyond the %zu bytes of '%s'", name,
            length, offset, beside->map.bytes, location);
    tensor->has_data_address = 1;
    tensor->data_address = (uint64_t)(uintptr_t)(beside->map.data + offset);
    tensor->data_length = size ? length : beside->map.bytes - offset;
    tensor->data_kind = RAW_DATA;
    tensor->data_mapped = beside->map.bytes > 0;
    return WEFT_OK;
}

static weft_status search_graph(const search *s, const WiOnnx__GraphProto *graph);

static weft_status search_node(const search *s, const WiOnnx__NodeProto *node) {
    for (size_t i = 0; i < node->n_attribute; i++) {
        const WiOnnx__AttributeProto *const attribute = node->attribute[i];
        if (attribute->t) WI_TRY(find_data(s, attribute->t));
        for (size_t k = 0; k < attribute->n_tensors; k++) WI_TRY(find_data(s, attribute->tensors[k]));
        if (attribute->g) WI_TRY(search_graph(s, attribute->g));
        for (size_t k = 0; k < attribute->n_graphs; k++) WI_TRY(search_graph(s, attribute->graphs[k]));
    }
    return WEFT_OK;
}

/* The recursion is bounded, because onnx_wire.c refuses files whose graphs are nested too deeply. */
static weft_status search_graph(const search *s, const WiOnnx__GraphProto *graph) {
    for (size_t i = 0; i < graph->n_initializer; i++) WI_TRY(find_data(s, graph->initializer[i]));
    for (size_t i = 0; i < graph->n_node; i++) WI_TRY(search_node(s, graph->node[i]));
    return WEFT_OK;
}

weft_status wi_onnx_file_find_data(wi_onnx_file *file, const wi_onnx_place *place) {
    const search s = {file, place};
    WI_TRY(search_graph(&s, file->model->graph));
    for (size_t i = 0; i < file->model->n_functions; i++)
        for (size_t k = 0; k < file->model->functions[i]->n_node; k++)
            WI_TRY(search_node(&s, file->model->functions[i]->node[k]));
    return WEFT_OK;
}

void wi_onnx_file_close_beside(wi_onnx_file *file) {
    for (wi_onnx_beside *beside = file->beside; beside; beside = beside->next)
        wi_file_map_close(&beside->map);
    file->beside = NULL;
}
