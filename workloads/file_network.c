/* See file_network.h. */
#include "file_network.h"
#include "base/platform.h"
#include "base/status.h"
#include "graph/shape.h"
#include <string.h>

bool file_network_is_path(const char *name) {
    const size_t length = strlen(name);
    return length > 5 && strcmp(name + length - 5, ".onnx") == 0;
}

#ifdef WEFT_WITH_ONNX
#include "onnx/onnx_import.h"

enum { USUAL_BATCH = 16, MOST_SOURCES = sizeof((bench_model *)0)->sources / sizeof(bench_source) };

static const WiOnnx__ShapeProto *shape_of(const WiOnnx__ValueInfoProto *info) {
    return info->type && info->type->tensor_type ? info->type->tensor_type->shape : NULL;
}

/* The first axis of the first input, where the file fixes it. */
weft_status file_network_open(bench_network *network, const char *path) {
    char folder[WI_PATH_CAPACITY];
    const char *name;
    wi_onnx_file file;
    wi_path_split(path, folder, sizeof folder, &name);
    WI_TRY(wi_onnx_file_open(&file, path, &(wi_onnx_place){0}));
    *network = (bench_network){.name = name, .file = path, .batch = USUAL_BATCH};
    const WiOnnx__GraphProto *const graph = file.model->graph;
    const WiOnnx__ShapeProto *const shape = graph->n_input > 0 ? shape_of(graph->input[0]) : NULL;
    if (shape && shape->n_dim > 0 && shape->dim[0]->has_dim_value && shape->dim[0]->dim_value > 0)
        network->batch = shape->dim[0]->dim_value;
    wi_onnx_file_close(&file);
    return WEFT_OK;
}

/* The numbers of an input in a batch. */
static weft_status count_numbers(int64_t *count, const bench_model *model, const weft_tensor *input) {
    *count = 1;
    for (int axis = 0; axis < weft_tensor_rank(input); axis++) {
        const int64_t size = weft_tensor_dimension(input, axis);
        if (wi_is_symbolic(size))
            WI_FAIL(WEFT_ERROR_UNSUPPORTED,
                "%s: the input '%s' has an open dimension that is not the batch: export the network with a "
                "fixed size",
                model->network->file, weft_tensor_name(input));
        *count *= size == WEFT_BATCH ? model->batch : size;
    }
    return WEFT_OK;
}

static weft_status add_sources(bench_model *model, const weft_onnx_model *file) {
    const wi_onnx_import *const import = wi_onnx_import_of(file);
    bool open = false;
    for (size_t i = 0; i < import->input_count; i++) {
        const wi_onnx_value *const input = import->inputs[i];
        int64_t count;
        if (!input->tensor) continue;
        if (model->source_count == MOST_SOURCES)
            WI_FAIL(WEFT_ERROR_UNSUPPORTED, "%s has more than %d inputs", model->network->file, MOST_SOURCES);
        WI_TRY(count_numbers(&count, model, input->tensor));
        for (int axis = 0; axis < weft_tensor_rank(input->tensor); axis++)
            open = open || weft_tensor_dimension(input->tensor, axis) == WEFT_BATCH;
        model->sources[model->source_count++] =
            (bench_source){input->tensor, count, input->bound > 0 ? input->bound : 2};
    }
    if (open || model->batch == model->network->batch) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_ARGUMENT,
        "%s: the file is for a batch of %lld, not %lld: export the network with a dynamic batch axis",
        model->network->file, (long long)model->network->batch, (long long)model->batch);
}

/* Of the floats among the outputs. */
static weft_tensor *loss_of(const weft_onnx_model *file) {
    weft_tensor *loss = NULL;
    for (size_t i = 0; i < weft_onnx_output_count(file); i++) {
        weft_tensor *const output = weft_onnx_output(file, i);
        if (weft_tensor_dtype(output) != WEFT_F32) continue;
        weft_tensor *const mean = weft_mean(weft_square(output));
        loss = loss ? weft_add(loss, mean) : mean;
    }
    return loss;
}

weft_status file_network_build(bench_model *model) {
    weft_onnx_model *file;
    WI_TRY(weft_onnx_load(&file, model->graph, model->network->file, NULL));
    const weft_status status = add_sources(model, file);
    model->loss = status == WEFT_OK ? loss_of(file) : NULL;
    weft_onnx_model_release(file);
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
