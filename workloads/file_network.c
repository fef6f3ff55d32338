/* See file_network.h. */
#include "file_network.h"
#include "base/status.h"
#include <string.h>

bool file_network_is_path(const char *name) {
    const size_t length = strlen(name);
    return length > 5 && strcmp(name + length - 5, ".onnx") == 0;
}

#ifdef WEFT_WITH_ONNX
#include "onnx/onnx_import.h"

weft_status file_network_open(bench_network *network, const char *path) {
    WiOnnx__ModelProto *file;
    int64_t batch;
    const char *const slash = strrchr(path, '/');
    WI_TRY(wi_onnx_file_read(&file, path));
    const weft_status status = wi_onnx_import_batch(&batch, file);
    wi_onnx_file_release(file);
    *network = (bench_network){.name = slash ? slash + 1 : path, .file = path, .batch = batch};
    return status;
}

/* Of the floats among the outputs. */
static weft_tensor *loss_of(const wi_onnx_import *own) {
    weft_tensor *loss = NULL;
    for (size_t i = 0; i < own->output_count; i++) {
        weft_tensor *const output = own->outputs[i];
        if (weft_tensor_dtype(output) != WEFT_F32) continue;
        weft_tensor *const mean = weft_mean(weft_square(output));
        loss = loss ? weft_add(loss, mean) : mean;
    }
    return loss;
}

weft_status file_network_build(bench_model *model) {
    WiOnnx__ModelProto *file;
    wi_onnx_import own;
    WI_TRY(wi_onnx_file_read(&file, model->network->file));
    weft_status status = wi_onnx_import_build(&own, model->graph, file, model->batch, NULL);
    for (size_t i = 0; status == WEFT_OK && i < own.input_count; i++)
        model->sources[i] =
            (bench_source){own.inputs[i].tensor, (int64_t)own.inputs[i].count, own.inputs[i].bound};
    model->source_count = own.input_count;
    model->loss = status == WEFT_OK ? loss_of(&own) : NULL;
    wi_onnx_import_clear(&own);
    wi_onnx_file_release(file);
    if (status == WEFT_OK && !model->loss)
        WI_FAIL(WEFT_ERROR_UNSUPPORTED, "%s has no output with a float dtype", model->network->file);
    return status;
}
#else
weft_status file_network_open(bench_network *network, const char *path) {
    *network = (bench_network){0};
    WI_FAIL(WEFT_ERROR_UNSUPPORTED, "%s: this weft was built without ONNX, which needs protobuf-c", path);
}

weft_status file_network_build(bench_model *model) {
    WI_FAIL(WEFT_ERROR_UNSUPPORTED, "%s: this weft was built without ONNX, which needs protobuf-c",
        model->network->file);
}
#endif
