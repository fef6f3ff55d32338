/* The functions of weft/onnx.h in a library that was built without protobuf-c. */
#include "base/status.h"
#include <weft/onnx.h>

static weft_status absent(const char *call) {
    WI_FAIL(WEFT_ERROR_UNSUPPORTED, "%s: this Weft was built without ONNX, which needs protobuf-c", call);
}

weft_status weft_onnx_load(
    weft_onnx_model **model, weft_graph *graph, const char *path, const weft_onnx_options *options) {
    (void)graph, (void)path, (void)options;
    if (model) *model = NULL;
    return absent("weft_onnx_load");
}

weft_status weft_onnx_load_from_memory(weft_onnx_model **model, weft_graph *graph, const void *data,
    size_t bytes, const weft_onnx_options *options) {
    (void)graph, (void)data, (void)bytes, (void)options;
    if (model) *model = NULL;
    return absent("weft_onnx_load_from_memory");
}

weft_status weft_onnx_save(
    const char *path, weft_tensor *const *outputs, size_t count, const weft_onnx_save_options *options) {
    (void)path, (void)outputs, (void)count, (void)options;
    return absent("weft_onnx_save");
}

void weft_onnx_model_release(weft_onnx_model *model) {
    (void)model;
}

size_t weft_onnx_input_count(const weft_onnx_model *model) {
    (void)model;
    return 0;
}

weft_tensor *weft_onnx_input(const weft_onnx_model *model, size_t index) {
    (void)model, (void)index;
    return NULL;
}

const char *weft_onnx_input_name(const weft_onnx_model *model, size_t index) {
    (void)model, (void)index;
    return NULL;
}

size_t weft_onnx_output_count(const weft_onnx_model *model) {
    (void)model;
    return 0;
}

weft_tensor *weft_onnx_output(const weft_onnx_model *model, size_t index) {
    (void)model, (void)index;
    return NULL;
}

const char *weft_onnx_output_name(const weft_onnx_model *model, size_t index) {
    (void)model, (void)index;
    return NULL;
}

weft_tensor *weft_onnx_tensor(const weft_onnx_model *model, const char *name) {
    (void)model, (void)name;
    return NULL;
}

const char *weft_onnx_metadata(const weft_onnx_model *model, const char *key) {
    (void)model, (void)key;
    return NULL;
}

int64_t weft_onnx_opset(const weft_onnx_model *model, const char *domain) {
    (void)model, (void)domain;
    return 0;
}
