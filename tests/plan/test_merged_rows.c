/* A tensor of rank 3 or more times a matrix is one product over all rows, forward and backward, as a linear layer is. */
#include "support/fixture.h"

#include <string.h>
#include <weft/weft.h>

enum { BATCH = 3, ROWS = 5, IN = 16, OUT = 24, LENGTH = 4, NUMBERS = BATCH * LENGTH * ROWS * IN };

typedef struct results {
    float y[BATCH * LENGTH * ROWS * OUT], dx[NUMBERS], dw[IN * OUT];
    weft_plan_info info;
} results;

/* y = x·w, and the gradients of mean(y²). Columns: x has its last two axes exchanged in memory. */
static void compute(results *r, bool linear, bool columns) {
    weft_graph *const graph = test_graph();
    weft_tensor *const input =
        weft_input(graph, "x", WEFT_F32, LENGTH, columns ? IN : ROWS, columns ? ROWS : IN);
    weft_tensor *const x = columns ? weft_transpose(input) : input;
    weft_tensor *const w = weft_parameter(graph, "w", weft_init_uniform(-1, 1), IN, OUT);
    weft_tensor *const y = linear ? weft_linear_with(x, weft_transpose(w), NULL) : weft_matmul(x, w);
    weft_tensor *const loss = weft_mean_axes(weft_square(y), NULL, false);
    weft_tensor *const outputs[] = {y, weft_gradient(loss, input), weft_gradient(loss, w)};
    static float numbers[NUMBERS];
    for (int i = 0; i < NUMBERS; i++) numbers[i] = (float)(i * 7 % 31) / 16 - 1;
    weft_plan *plan = NULL;
    assert_weft_ok(
        weft_plan_create(&plan, outputs, 3, &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .batch = BATCH}));
    assert_weft_ok(weft_plan_get_info(plan, &r->info));
    assert_weft_ok(weft_plan_write(plan, input, numbers, sizeof numbers));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, outputs[0], r->y, sizeof r->y));
    assert_weft_ok(weft_plan_read(plan, outputs[1], r->dx, sizeof r->dx));
    assert_weft_ok(weft_plan_read(plan, outputs[2], r->dw, sizeof r->dw));
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* The kernels, and so the bits, are those of the linear layer. */
static void test_product_is_linear(void **state) {
    static results product, linear;
    (void)state;
    compute(&product, false, false);
    compute(&linear, true, false);
    assert_true(product.info.launches <= linear.info.launches);
    assert_true(product.info.flops <= linear.info.flops);
    assert_memory_equal(product.y, linear.y, sizeof product.y);
    assert_memory_equal(product.dx, linear.dx, sizeof product.dx);
    assert_memory_equal(product.dw, linear.dw, sizeof product.dw);
}

/* Rows that strides cannot merge are not copied for the product. */
static void test_columns_are_read_in_place(void **state) {
    static results product, linear;
    (void)state;
    compute(&product, false, true);
    compute(&linear, true, true);
    assert_true(product.info.launches < linear.info.launches);
    for (int i = 0; i < IN * OUT; i++) assert_float_equal(product.dw[i], linear.dw[i], 1e-5);
    for (int i = 0; i < NUMBERS; i++) assert_float_equal(product.dx[i], linear.dx[i], 1e-6);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_product_is_linear), cmocka_unit_test(test_columns_are_read_in_place)};
    return test_finish(cmocka_run_group_tests_name("merged_rows", tests, NULL, NULL));
}
