/* See product_net.h. */
#include "support/product_net.h"
#include "support/fixture.h"

#include <stdlib.h>

weft_tensor *product_net_input(product_net *n, int rank, const int64_t *sizes) {
    const char name[] = {(char)('a' + n->input_count), 0};
    assert_in_range(n->input_count, 0, PRODUCT_NET_INPUTS - 1);
    return n->inputs[n->input_count++] = weft_input_shape(n->graph, name, WEFT_F32, rank, sizes);
}

weft_tensor *product_net_input_like(product_net *n, const weft_tensor *x, int axis, int64_t more) {
    int64_t sizes[4];
    const int rank = weft_tensor_rank(x);
    assert_in_range(rank, 1, 4);
    for (int d = 0; d < rank; d++) sizes[d] = weft_tensor_dimension(x, d);
    sizes[axis] += more;
    return product_net_input(n, rank, sizes);
}

void product_net_output(product_net *n, weft_tensor *tensor) {
    assert_in_range(n->output_count, 0, PRODUCT_NET_OUTPUTS - 1);
    n->outputs[n->output_count++] = tensor;
}

weft_tensor *product_net_column_sums(weft_tensor *x) {
    return weft_tensor_rank(x) == 3 ? weft_sum(x, 0, 1) : weft_sum(x, 0, 1, 2);
}

size_t product_net_count(const product_net *n, const weft_tensor *tensor) {
    size_t count = 1;
    for (int d = 0; d < weft_tensor_rank(tensor); d++) {
        const int64_t size = weft_tensor_dimension(tensor, d);
        count *= (size_t)(size == WEFT_BATCH ? n->batch : size);
    }
    return count;
}

float *product_net_numbers(
    const product_net *n, int input, void (*fill)(int input, float *values, size_t count)) {
    const size_t count = product_net_count(n, n->inputs[input]);
    float *const values = malloc(count * sizeof *values);
    assert_non_null(values);
    fill(input, values, count);
    return values;
}

weft_plan *product_net_plan(const product_net *n, const char *variable, const char *forced,
    void (*fill)(int input, float *values, size_t count)) {
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = n->batch};
    weft_plan *plan = NULL;
    if (forced) assert_int_equal(setenv(variable, forced, 1), 0);
    assert_weft_ok(weft_plan_create(&plan, n->outputs, (size_t)n->output_count, &options));
    if (forced) unsetenv(variable);
    for (int i = 0; i < n->input_count; i++) {
        float *const values = product_net_numbers(n, i, fill);
        const size_t bytes = product_net_count(n, n->inputs[i]) * sizeof *values;
        assert_weft_ok(weft_plan_write(plan, n->inputs[i], values, bytes));
        free(values);
    }
    return plan;
}

void *product_net_read(const product_net *n, weft_plan *plan, int output, size_t *bytes) {
    weft_tensor *const tensor = n->outputs[output];
    *bytes = product_net_count(n, tensor) * weft_dtype_size(weft_tensor_dtype(tensor));
    void *const values = malloc(*bytes);
    assert_non_null(values);
    assert_weft_ok(weft_plan_read(plan, tensor, values, *bytes));
    return values;
}
