/* A recorded case in a graph: its inputs, its expression, its gradients (contract in recorded_ops.h). */
#include "base/status.h"
#include "recorded_expression.h"
#include "recorded_json.h"

/* Ops whose first input is images (N, C, ...). */
static bool takes_images(const cJSON *json) {
    static const char *const words[] = {"conv", "pool", "resample", "upsample", "local_response_norm"};
    const char *const op = cJSON_GetStringValue(member(json, "op"));
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(op, words[i])) return true;
    return false;
}

/* What is new in a graph is of this dtype where it was recorded in f32; batched: its first dimension is the batch. */
static weft_tensor *new_input(
    weft_graph *graph, const char *name, const cJSON *array, weft_dtype dtype, bool batched) {
    int64_t dims[WEFT_MAX_RANK + 1];
    const int rank = whole_list(member(array, "dims"), dims);
    if (batched) dims[0] = WEFT_BATCH;
    return weft_input_shape(graph, name, dtype_of(array) == WEFT_F32 ? dtype : dtype_of(array), rank, dims);
}

static weft_tensor *input_like(
    recorded_inputs *shared, weft_graph *graph, const char *name, const cJSON *array) {
    for (size_t i = 0; i < shared->count; i++)
        if (cJSON_Compare(shared->arrays[i], array, true)) return shared->tensors[i];
    weft_tensor *const tensor = new_input(graph, name, array, shared->format.dtype, false);
    if (shared->count < RECORDED_SHARED) {
        shared->arrays[shared->count] = array;
        shared->tensors[shared->count++] = tensor;
    }
    return tensor;
}

/* Of the output's dtype: some ops of 16 bits give f32. */
static weft_tensor *weights_like(
    const recorded_case *r, recorded_inputs *shared, weft_graph *graph, const cJSON *array) {
    const weft_dtype dtype = weft_tensor_dtype(r->output);
    const bool batched = r->output && weft_tensor_dimension(r->output, 0) == WEFT_BATCH;
    if (dtype == shared->format.dtype && !batched) return input_like(shared, graph, "weights", array);
    return new_input(graph, "weights", array, dtype, batched);
}

static weft_status build_gradients(recorded_case *r, recorded_inputs *shared, weft_graph *graph) {
    const cJSON *const weights = member(r->json, "weights");
    if (!weights) return WEFT_OK;
    r->weights = weights_like(r, shared, graph, weights);
    weft_tensor *wrt[RECORDED_INPUTS];
    size_t count = 0;
    for (size_t i = 0; i < r->input_count; i++)
        if (weft_tensor_dtype(r->inputs[i]) == shared->format.dtype) wrt[count++] = r->inputs[i];
    weft_tensor *const loss = weft_sum(weft_mul(r->output, r->weights));
    const weft_status status = weft_gradients(loss, wrt, count, r->gradients);
    r->gradient_count = status == WEFT_OK ? count : 0;
    return status;
}

/* Images times a product of ones, by which they depend on a contraction. */
static weft_tensor *through_contraction(weft_graph *graph, weft_tensor *images) {
    const int64_t one[] = {1, 1};
    weft_tensor *const ones = weft_full(graph, WEFT_F32, 1, 2, one);
    return weft_mul(images, weft_matmul(ones, ones));
}

weft_status recorded_build(recorded_case *r, recorded_inputs *shared, weft_graph *graph, const cJSON *json) {
    *r = (recorded_case){.op = cJSON_GetStringValue(member(json, "op")),
        .name = cJSON_GetStringValue(member(json, "name")),
        .json = json,
        .format = shared->format,
        .batch = 1};
    weft_tensor *x[RECORDED_INPUTS] = {NULL};
    const bool batched = shared->format.batched && takes_images(json);
    const cJSON *input;
    cJSON_ArrayForEach(input, member(json, "inputs")) {
        if (r->input_count == RECORDED_INPUTS)
            WI_FAIL(WEFT_ERROR_FORMAT, "%s was recorded with more than %d inputs", r->op, RECORDED_INPUTS);
        const bool images = batched && r->input_count == 0;
        weft_tensor *const made = images ? new_input(graph, r->op, input, shared->format.dtype, true)
                                         : input_like(shared, graph, r->op, input);
        x[r->input_count] = images ? through_contraction(graph, made) : made;
        r->inputs[r->input_count++] = made;
        if (images) r->batch = (int64_t)cJSON_GetArrayItem(member(input, "dims"), 0)->valuedouble;
    }
    r->output = recorded_expression(r, graph, x);
    if (!r->output && weft_graph_status(graph) == WEFT_OK)
        WI_FAIL(WEFT_ERROR_FORMAT, "%s was recorded, but recorded_ops.c cannot build it", r->op);
    WI_TRY(weft_graph_status(graph));
    return build_gradients(r, shared, graph);
}
