/* A network is saved as an ONNX file, loaded from memory into another graph, looked at, and computes the same there.
 * Usage: example_onnx [FILE.onnx], where the file is kept; without it, it is removed. */
#include <math.h>
#include <stdio.h>
#include <weft/onnx.h>
#include <weft/weft.h>

enum { BATCH = 2, WIDTH = 3, CLASSES = 4 };

/* Saves a network with random weights, and computes its outputs for the numbers. */
static weft_status save(
    weft_context *context, const char *path, const weft_column *numbers, float (*answers)[CLASSES]) {
    weft_graph *graph = NULL;
    weft_status status = weft_graph_create(&graph, context);
    if (status) return status;
    weft_tensor *x = weft_input(graph, "x", WEFT_F32, WIDTH),
                *y = weft_linear(weft_tanh(weft_linear(x, 8)), CLASSES);
    static const char *const names[] = {"scores"};
    const weft_onnx_save_options options = {WEFT_ONNX_SAVE_OPTIONS_INIT, .opset = 17, .output_names = names};
    status = weft_predict(y, BATCH, numbers, 1, answers, BATCH * sizeof *answers);
    if (!status) status = weft_onnx_save(path, &y, 1, &options);
    weft_graph_release(graph);
    return status;
}

/* The first 64 KiB of the file. NULL: it cannot be read. */
static void *read_file(const char *path, size_t *bytes) {
    static char data[1 << 16];
    FILE *const file = fopen(path, "rb");
    if (!file) return NULL;
    *bytes = fread(data, 1, sizeof data, file);
    fclose(file);
    return data;
}

static void show(const weft_onnx_model *model) {
    const char *const producer = weft_onnx_metadata(model, "producer_name");
    printf("opset %lld, by %s\n", (long long)weft_onnx_opset(model, ""), producer ? producer : "nobody");
    for (size_t i = 0; i < weft_onnx_input_count(model); i++)
        printf("input %s of rank %d\n", weft_onnx_input_name(model, i),
            weft_tensor_rank(weft_onnx_input(model, i)));
    for (size_t i = 0; i < weft_onnx_output_count(model); i++)
        printf("output %s of rank %d\n", weft_onnx_output_name(model, i),
            weft_tensor_rank(weft_onnx_output(model, i)));
}

/* The weights that match "*bias" stay as they are in further training. */
static weft_status load(
    weft_context *context, const char *path, const weft_column *numbers, float (*answers)[CLASSES]) {
    static const char *const frozen[] = {"*bias", NULL};
    const weft_onnx_options options = {WEFT_ONNX_OPTIONS_INIT, .freeze = frozen};
    weft_graph *const graph = weft_context_graph(context);
    weft_onnx_model *model = NULL;
    size_t bytes = 0;
    void *const data = read_file(path, &bytes);
    weft_status status = weft_onnx_load_from_memory(&model, graph, data, bytes, &options);
    if (status) return status;
    show(model);
    weft_tensor *const scores = weft_onnx_tensor(model, "scores");
    status = weft_predict(scores, BATCH, numbers, 1, answers, BATCH * sizeof *answers);
    weft_onnx_model_release(model);
    return status;
}

int main(int argc, char **argv) {
    const float numbers[BATCH][WIDTH] = {{0, 1, 2}, {3, 4, 5}};
    const weft_column column = {.name = "x", .dtype = WEFT_F32, .rank = 1, .dims = {WIDTH}, .data = numbers};
    const char *const path = argc > 1 ? argv[1] : "example.onnx";
    float first[BATCH][CLASSES], again[BATCH][CLASSES];
    weft_context *context = NULL;
    weft_status status = weft_context_create(&context, NULL);
    if (!status) status = save(context, path, &column, first);
    if (!status) status = load(context, path, &column, again);
    if (status) fprintf(stderr, "example_onnx: %s\n", weft_last_error());
    weft_context_release(context);
    if (argc <= 1) remove(path);
    for (int i = 0; !status && i < BATCH; i++)
        for (int k = 0; k < CLASSES; k++)
            if (fabsf(first[i][k] - again[i][k]) > 1e-5f)
                return fprintf(stderr, "score %d of example %d differs\n", k, i), 1;
    return status != WEFT_OK;
}
