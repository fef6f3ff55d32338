/* Gradients of a network of an ONNX file: the program of export_gradients.py.
 * Usage: gradients_of_file MODEL.onnx FOLDER INPUT.npy..., which have fixed sizes
 *
 * The loss is the sum over all f32 outputs of the mean of their squares; norms and dropout compute as in inference. FOLDER gets the
 * gradients of all parameters as 0.npy, 1.npy, ..., and their names, line by line, in the file names. */
#include <stdio.h>
#include <stdlib.h>
#include <weft/weft.h>

typedef struct network {
    weft_graph *graph;
    weft_onnx_model *model;
    weft_tensor **gradients;
    size_t count;
    weft_plan *plan;
} network;

static weft_tensor *loss_of(const weft_onnx_model *model) {
    weft_tensor *loss = NULL;
    for (size_t i = 0; i < weft_onnx_output_count(model); i++) {
        weft_tensor *const output = weft_onnx_output(model, i);
        if (weft_tensor_dtype(output) != WEFT_F32) continue;
        weft_tensor *const mean = weft_mean(weft_square(output));
        loss = loss ? weft_add(loss, mean) : mean;
    }
    return loss;
}

static weft_status plan_gradients(network *n, const char *path) {
    weft_status status = weft_onnx_load(&n->model, n->graph, path, WEFT_WITH(onnx, .inference = true));
    if (status) return status;
    n->count = weft_graph_parameter_count(n->graph);
    weft_tensor **const parameters = calloc(n->count + 1, sizeof *parameters);
    n->gradients = calloc(n->count + 1, sizeof *n->gradients);
    if (!parameters || !n->gradients) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < n->count; i++) parameters[i] = weft_graph_parameter(n->graph, i);
    status = weft_gradients(loss_of(n->model), parameters, n->count, n->gradients);
    free(parameters);
    return status ? status : weft_plan_create(&n->plan, n->gradients, n->count, NULL);
}

static weft_status write_input(network *n, size_t index, const char *path) {
    weft_tensor *const input = weft_onnx_input(n->model, index);
    weft_npy_array array;
    if (!input) return WEFT_OK; /* nothing depends on it */
    weft_status status = weft_load_npy(&array, NULL, path, weft_tensor_dtype(input));
    if (status) return status;
    status = weft_plan_write(n->plan, input, array.data, array.bytes);
    weft_npy_array_release(&array);
    return status;
}

static weft_status save_gradient(const network *n, size_t index, const char *folder, FILE *names) {
    weft_tensor *const gradient = n->gradients[index];
    const int rank = weft_tensor_rank(gradient);
    int64_t dims[WEFT_MAX_RANK];
    size_t bytes = sizeof(float);
    char path[1024];
    for (int d = 0; d < rank; d++) {
        dims[d] = weft_tensor_dimension(gradient, d);
        bytes *= (size_t)dims[d];
    }
    float *const data = malloc(bytes);
    if (!data) return WEFT_ERROR_MEMORY;
    snprintf(path, sizeof path, "%s/%zu.npy", folder, index);
    fprintf(names, "%s\n", weft_tensor_name(weft_graph_parameter(n->graph, index)));
    weft_status status = weft_plan_read(n->plan, gradient, data, bytes);
    if (!status) status = weft_save_npy(path, WEFT_F32, data, rank, dims);
    free(data);
    return status;
}

static weft_status save_gradients(const network *n, const char *folder) {
    char path[1024];
    weft_status status = WEFT_OK;
    snprintf(path, sizeof path, "%s/names", folder);
    FILE *const names = fopen(path, "w");
    if (!names) return WEFT_ERROR_FILE;
    for (size_t i = 0; !status && i < n->count; i++) status = save_gradient(n, i, folder, names);
    return fclose(names) == 0 ? status : WEFT_ERROR_FILE;
}

int main(int argc, char **argv) {
    weft_context *context = NULL;
    network n = {0};
    if (argc < 3) return fprintf(stderr, "usage: gradients_of_file MODEL.onnx FOLDER INPUT.npy...\n"), 2;
    weft_status status = weft_context_create(&context, NULL);
    if (!status) status = weft_graph_create(&n.graph, context);
    if (!status) status = plan_gradients(&n, argv[1]);
    for (int i = 3; !status && i < argc; i++) status = write_input(&n, (size_t)i - 3, argv[i]);
    if (!status) status = weft_plan_run(n.plan);
    if (!status) status = save_gradients(&n, argv[2]);
    if (status) fprintf(stderr, "gradients_of_file: %s\n", weft_last_error());
    weft_plan_release(n.plan);
    weft_onnx_model_release(n.model);
    free(n.gradients);
    weft_graph_release(n.graph);
    weft_context_release(context);
    return status != WEFT_OK;
}
