/* The public functions that load networks (contract in weft/onnx.h). */
#include "base/options.h"
#include "cl/context.h"
#include "graph/weft_graph.h"
#include "onnx/onnx_node.h"
#include <stdio.h>
#include <string.h>

struct weft_onnx_model {
    wi_onnx_file file;
    wi_onnx_import import;
    const weft_allocator *allocator;
};

/* Adds the name of the file to the error message, and returns the status. */
static weft_status name_file(const weft_onnx_model *model, weft_status status) {
    static const char begin[] = "ONNX: ";
    char line[WI_ERROR_LINE];
    const char *rest = line;
    wi_error_save(line, sizeof line);
    if (strncmp(line, begin, sizeof begin - 1) == 0) rest += sizeof begin - 1;
    if (strstr(line, model->file.name)) return status;
    return wi_fail(status, "ONNX: '%s': %.600s", model->file.name, rest);
}

static weft_status build(weft_onnx_model *model, weft_graph *graph, const weft_onnx_options *options) {
    const bool scoped = options->scope && options->scope[0];
    WI_TRY(weft_scope_begin(graph, scoped ? options->scope : NULL, false));
    if (options->inference) WI_TRY(weft_scope_inference(graph, true));
    WI_TRY(wi_onnx_import_build(&model->import, graph, &model->file, options));
    return weft_scope_end(graph);
}

/* path NULL: the file is in memory, at `data`. */
static weft_status load(weft_onnx_model **made, weft_graph *graph, const char *path, const void *data,
    size_t bytes, const weft_onnx_options *options) {
    const weft_allocator *const allocator = graph->context->allocator;
    const wi_onnx_place place = {allocator, path ? NULL : options->folder, options->any_folder};
    weft_onnx_model *const model = wi_allocate(allocator, sizeof *model);
    if (!model) return WEFT_ERROR_MEMORY;
    model->allocator = allocator;
    weft_status status = path ? wi_onnx_file_open(&model->file, path, &place)
                              : wi_onnx_file_open_memory(&model->file, data, bytes, &place);
    if (status == WEFT_OK) {
        status = build(model, graph, options);
        if (status != WEFT_OK) status = name_file(model, status);
    }
    if (status == WEFT_OK)
        *made = model;
    else
        weft_onnx_model_release(model);
    return status;
}

static weft_status take_options(weft_onnx_options *own, const weft_onnx_options *given, const char *call) {
    WI_TRY(WI_OPTIONS(own, given, call, WEFT_ONNX_OPTIONS_INIT));
    if ((own->size_count && !own->sizes) || (own->value_count && !own->values))
        WI_FAIL(WEFT_ERROR_ARGUMENT, "%s: sizes or values is NULL, but its count is not 0", call);
    for (size_t i = 0; i < own->value_count; i++)
        if (!own->values[i].name) WI_FAIL(WEFT_ERROR_ARGUMENT, "%s: values[%zu] has no name", call, i);
    return WEFT_OK;
}

weft_status weft_onnx_load(
    weft_onnx_model **model, weft_graph *graph, const char *path, const weft_onnx_options *options) {
    weft_onnx_options own;
    if (!model) return wi_fail_null("weft_onnx_load", "model");
    *model = NULL;
    if (!graph) return wi_fail_null("weft_onnx_load", "graph");
    if (!path) return wi_fail_null("weft_onnx_load", "path");
    WI_TRY(take_options(&own, options, "weft_onnx_load"));
    return load(model, graph, path, NULL, 0, &own);
}

weft_status weft_onnx_load_from_memory(weft_onnx_model **model, weft_graph *graph, const void *data,
    size_t bytes, const weft_onnx_options *options) {
    weft_onnx_options own;
    if (!model) return wi_fail_null("weft_onnx_load_from_memory", "model");
    *model = NULL;
    if (!graph) return wi_fail_null("weft_onnx_load_from_memory", "graph");
    if (!data) return wi_fail_null("weft_onnx_load_from_memory", "data");
    WI_TRY(take_options(&own, options, "weft_onnx_load_from_memory"));
    return load(model, graph, NULL, data, bytes, &own);
}

void weft_onnx_model_release(weft_onnx_model *model) {
    if (!model) return;
    wi_onnx_import_clear(&model->import);
    wi_onnx_file_close(&model->file);
    wi_release(model->allocator, model);
}

/* ---- what a model has ---- */

const wi_onnx_import *wi_onnx_import_of(const weft_onnx_model *model) {
    return &model->import;
}

static const wi_onnx_value *input_at(const weft_onnx_model *model, size_t index) {
    return model && index < model->import.input_count ? model->import.inputs[index] : NULL;
}

static const wi_onnx_value *output_at(const weft_onnx_model *model, size_t index) {
    return model && index < model->import.output_count ? model->import.outputs[index] : NULL;
}

size_t weft_onnx_input_count(const weft_onnx_model *model) {
    return model ? model->import.input_count : 0;
}

weft_tensor *weft_onnx_input(const weft_onnx_model *model, size_t index) {
    const wi_onnx_value *const input = input_at(model, index);
    return input && !input->numbers ? input->tensor : NULL;
}

const char *weft_onnx_input_name(const weft_onnx_model *model, size_t index) {
    const wi_onnx_value *const input = input_at(model, index);
    return input ? input->name : NULL;
}

size_t weft_onnx_output_count(const weft_onnx_model *model) {
    return model ? model->import.output_count : 0;
}

weft_tensor *weft_onnx_output(const weft_onnx_model *model, size_t index) {
    const wi_onnx_value *const output = output_at(model, index);
    return output ? output->tensor : NULL;
}

const char *weft_onnx_output_name(const weft_onnx_model *model, size_t index) {
    const wi_onnx_value *const output = output_at(model, index);
    return output ? output->name : NULL;
}

weft_tensor *weft_onnx_tensor(const weft_onnx_model *model, const char *name) {
    const wi_onnx_value *const value = model && name ? wi_onnx_find(&model->import, name) : NULL;
    return value ? value->tensor : NULL;
}

const char *weft_onnx_metadata(const weft_onnx_model *model, const char *key) {
    if (!model || !key) return NULL;
    const WiOnnx__ModelProto *const file = model->file.model;
    for (size_t i = 0; i < file->n_metadata_props; i++) {
        const WiOnnx__StringStringEntryProto *const entry = file->metadata_props[i];
        if (entry->key && strcmp(entry->key, key) == 0) return entry->value;
    }
    return strcmp(key, "producer_name") == 0      ? file->producer_name
           : strcmp(key, "producer_version") == 0 ? file->producer_version
           : strcmp(key, "doc_string") == 0       ? file->doc_string
                                                  : NULL;
}

int64_t weft_onnx_opset(const weft_onnx_model *model, const char *domain) {
    if (!model || !domain) return 0;
    const WiOnnx__ModelProto *const file = model->file.model;
    for (size_t i = 0; i < file->n_opset_import; i++) {
        const char *own = file->opset_import[i]->domain;
        if (!own || strcmp(own, "ai.onnx") == 0) own = "";
        if (strcmp(own, strcmp(domain, "ai.onnx") == 0 ? "" : domain) == 0)
            return file->opset_import[i]->version;
    }
    return 0;
}
