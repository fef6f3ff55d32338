/* Opening ONNX files (contract in onnx_file.h). */
#include "onnx/onnx_file.h"
#include "base/file_guess.h"
#include "base/platform.h"
#include "onnx/onnx_node.h"
#include "onnx/onnx_wire.h"
#include <stdio.h>
#include <string.h>

static weft_status read_messages(
    wi_onnx_file *file, const void *data, size_t bytes, const wi_onnx_place *place) {
    ProtobufCMessage *model = NULL;
    WI_TRY(wi_file_refuse_page(file->name, data, bytes));
    WI_TRY(wi_onnx_unpack(&model, &file->arena, &wi_onnx__model_proto__descriptor, data, bytes, file->name));
    file->model = (WiOnnx__ModelProto *)model;
    if (!file->model->graph)
        WI_FAIL(WEFT_ERROR_FORMAT, "'%s' is not an ONNX file: it has no graph", file->name);
    return wi_onnx_file_find_data(file, place);
}

weft_status wi_onnx_file_open_memory(
    wi_onnx_file *file, const void *data, size_t bytes, const wi_onnx_place *place) {
    if (!file->name[0]) snprintf(file->name, sizeof file->name, "a model in memory");
    wi_arena_init(&file->arena, place->allocator);
    const weft_status status = read_messages(file, data, bytes, place);
    if (status != WEFT_OK) wi_onnx_file_close(file);
    return status;
}

weft_status wi_onnx_file_open(wi_onnx_file *file, const char *path, const wi_onnx_place *place) {
    char folder[4096];
    const char *name;
    const size_t length = strlen(path), most = sizeof file->name - 4;
    *file = (wi_onnx_file){0};
    snprintf(file->name, sizeof file->name, "%s%s", length > most ? "..." : "",
        length > most ? path + length - most : path);
    wi_path_split(path, folder, sizeof folder, &name);
    wi_onnx_place own = *place;
    if (!own.folder) own.folder = folder;
    WI_TRY(wi_file_map_open(&file->map, path));
    return wi_onnx_file_open_memory(file, file->map.data, file->map.bytes, &own);
}

void wi_onnx_file_close(wi_onnx_file *file) {
    wi_onnx_file_close_beside(file);
    wi_arena_clear(&file->arena);
    wi_file_map_close(&file->map);
    *file = (wi_onnx_file){0};
}
