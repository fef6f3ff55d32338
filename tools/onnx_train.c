/* weft onnx train: trains a network on arrays of NumPy, from the weights of its file. */
#include "onnx_command.h"
#include "onnx_network.h"
#include "progress.h"
#include "show_warning.h"
#include <stdio.h>
#include <string.h>
#include <weft/losses.h>
#include <weft/train.h>

#define TARGET "weft_target" /* the input that the loss compares with the network's output */

enum { USUAL_BATCH = 32 };

static bool is_classes(const onnx_options *options) {
    return strcmp(options->loss, "cross_entropy") == 0;
}

/* ---- data ---- */

/* A column for each array, and one for the target. */
static weft_status open_data(
    weft_dataset **data, const onnx_network *network, weft_context *context, const onnx_options *options) {
    size_t count = 0;
    weft_npy_column *const columns = wi_allocate_array(NULL, network->input_count + 1, sizeof *columns);
    if (!columns) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < network->input_count; i++) {
        const onnx_input *const input = &network->inputs[i];
        if (input->path && input->tensor)
            columns[count++] = (weft_npy_column){input->name, input->path, weft_tensor_dtype(input->tensor)};
    }
    const bool classes = is_classes(options);
    columns[count++] = (weft_npy_column){TARGET, options->targets.of[0].value, classes ? WEFT_I32 : WEFT_F32};
    const weft_status status = weft_dataset_open_npy(data, context, columns, count);
    wi_release(NULL, columns);
    return status;
}

/* ---- loss ---- */

/* The softmax that a network ends with is part of the loss of its classes. */
static weft_status check_logits(const WiOnnx__GraphProto *graph, const char *name) {
    for (size_t i = 0; i < graph->n_node; i++) {
        const WiOnnx__NodeProto *const node = graph->node[i];
        const char *const op = node->op_type ? node->op_type : "";
        if (node->n_output == 0 || strcmp(node->output[0], name) != 0 || node->n_input == 0) continue;
        if (strcmp(op, "Softmax") == 0 || strcmp(op, "LogSoftmax") == 0)
            WI_FAIL(WEFT_ERROR_ARGUMENT,
                "--target: '%s' is computed by %s, which is a part of the loss: name its input '%s' instead",
                name, op, node->input[0]);
    }
    return WEFT_OK;
}

static weft_status build_loss(weft_tensor **loss, weft_tensor **scores, const onnx_network *network,
    const weft_column *target, const onnx_options *options) {
    const char *const name = options->targets.of[0].name;
    const bool classes = is_classes(options);
    int64_t dims[WEFT_MAX_RANK];
    *scores = weft_onnx_tensor(network->model, name);
    if (!*scores)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "--target: '%s' computes no value '%s'; weft onnx info lists the outputs", options->path, name);
    if (classes) WI_TRY(check_logits(network->file.model->graph, name));
    if (weft_tensor_rank(*scores) < 1 || target->rank == WEFT_MAX_RANK)
        WI_FAIL(WEFT_ERROR_SHAPE, "--target: '%s' and its array need an axis of examples", name);
    dims[0] = weft_tensor_dimension(*scores, 0);
    memcpy(dims + 1, target->dims, (size_t)target->rank * sizeof *dims);
    weft_tensor *const wanted =
        weft_input_shape(network->graph, TARGET, target->dtype, target->rank + 1, dims);
    *loss = classes ? weft_cross_entropy(*scores, wanted) : weft_mse(*scores, wanted);
    return *loss ? WEFT_OK : weft_graph_status(network->graph);
}

/* ---- training ---- */

static weft_optimizer optimizer_of(const onnx_options *options) {
    const float rate = (float)options->rate;
    if (strcmp(options->optimizer, "sgd") == 0) return weft_sgd_momentum(rate, 0.9f, 0);
    return strcmp(options->optimizer, "adamw") == 0 ? weft_adamw(rate, 0.01f) : weft_adam(rate);
}

static weft_status train_on(const onnx_network *network, weft_dataset *data, const onnx_options *options) {
    weft_tensor *loss, *scores;
    weft_trainer *trainer = NULL;
    const size_t last = weft_dataset_column_count(data) - 1;
    WI_TRY(build_loss(&loss, &scores, network, weft_dataset_column(data, last), options));
    const int64_t first = weft_tensor_dimension(scores, 0);
    const bool fixed = first > 0 && first != WEFT_BATCH;
    const int64_t batch = options->batch ? options->batch : fixed ? first : USUAL_BATCH;
    const weft_trainer_options training = {WEFT_TRAINER_OPTIONS_INIT, .optimizer = optimizer_of(options),
        .epochs = (size_t)options->epochs, .batch = (size_t)batch, .drop_last = fixed, .on_epoch = show_epoch,
        .on_step = show_step, .logits = !fixed && is_classes(options) ? scores : NULL, .labels = TARGET,
        .events = options->events, .html = options->html};
    weft_status status = weft_trainer_create(&trainer, loss, &training);
    if (status == WEFT_OK) status = weft_trainer_run(trainer, data);
    end_progress();
    weft_trainer_release(trainer);
    return status;
}

static weft_status save(const onnx_network *network, const onnx_options *options) {
    const size_t count = weft_onnx_output_count(network->model);
    const weft_onnx_save_options saving = {WEFT_ONNX_SAVE_OPTIONS_INIT, .from = network->model};
    if (options->weights) WI_TRY(weft_weights_save(network->graph, options->weights));
    if (!options->onnx) return WEFT_OK;
    weft_tensor **const outputs = wi_allocate_array(NULL, count + 1, sizeof *outputs);
    if (!outputs) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < count; i++) outputs[i] = weft_onnx_output(network->model, i);
    const weft_status status = weft_onnx_save(options->onnx, outputs, count, &saving);
    wi_release(NULL, outputs);
    return status;
}

static weft_status train(onnx_network *network, weft_context *context, const onnx_options *options) {
    const char *const frozen[] = {options->freeze, NULL};
    const weft_onnx_options loading = {WEFT_ONNX_OPTIONS_INIT, .freeze = options->freeze ? frozen : NULL};
    weft_dataset *data = NULL;
    WI_TRY(onnx_network_build(network, context, &loading));
    printf("%lld numbers in %zu parameters are trained\n",
        (long long)weft_graph_element_count(network->graph, NULL),
        weft_graph_parameter_count(network->graph));
    weft_status status = open_data(&data, network, context, options);
    if (status == WEFT_OK) status = train_on(network, data, options);
    if (status == WEFT_OK) status = save(network, options);
    weft_dataset_release(data);
    return status;
}

weft_status onnx_train(const onnx_options *options) {
    const weft_context_options device = {TOOL_CONTEXT_OPTIONS_INIT, .device = options->device};
    weft_context *context = NULL;
    onnx_network network;
    if (options->targets.count != 1)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "one --target OUTPUT=FILE.npy is required; see weft onnx train --help");
    if (options->onnx) WI_TRY(weft_output_check(options->onnx));
    if (options->weights) WI_TRY(weft_output_check(options->weights));
    weft_status status = onnx_network_open(&network, options, ONNX_OPEN_BATCH);
    if (status == WEFT_OK) status = weft_context_create(&context, &device);
    if (status == WEFT_OK) status = train(&network, context, options);
    onnx_network_clear(&network);
    weft_context_release(context);
    return status;
}
