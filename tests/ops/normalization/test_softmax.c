/* Softmax and log-softmax. */
/* test gpu:optimised */
/* test.{formats} format={} reduced */
/* test.{formats}.gpu format={} reduced */
/* test.model-32.gpu WEFT_SUB_GROUPS=model-32 reduced */
#include "support/op_case.h"

#include "ops/covered_ops.h"
#include <math.h>

/* Exponentials below e^-87 are 0. */
static f64_array *without_subnormal(f64_array *y) {
    for (size_t i = 0; i < y->count; i++) y->error[i] += exp(-87);
    return y;
}

#define ALONG_AXIS(op)                                                                                       \
    static weft_tensor *build_##op(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {        \
        (void)graph;                                                                                         \
        return weft_##op(inputs[0], c->axis);                                                                \
    }                                                                                                        \
    static f64_array *reference_##op(const op_case *c, const f64_array *const *inputs) {                     \
        return without_subnormal(f64_##op(inputs[0], c->axis < 0 ? c->axis + inputs[0]->rank : c->axis));    \
    }
ALONG_AXIS(softmax)
ALONG_AXIS(log_softmax)

#define SHAPES(op)                                                                                           \
    CASE("3", op, INPUTS(F32(-4, 4, 3)), .axis = 0), CASE("1", op, INPUTS(F32(-4, 4, 1)), .axis = 0),        \
        CASE("rows of 10", op, INPUTS(F32(-4, 4, WEFT_BATCH, 10)), .axis = 1),                               \
        CASE("many short rows", op, INPUTS(F32(-4, 4, WEFT_BATCH, 17, 6)), .axis = 2),                       \
        CASE("many rows of 16", op, INPUTS(F32(-4, 4, WEFT_BATCH, 17, 16)), .axis = 2),                      \
        CASE("rows of 16", op, INPUTS(F32(-4, 4, 2, 16)), .axis = -1),                                       \
        CASE("rows of 257", op, INPUTS(F32(-4, 4, 5, 257)), .axis = -1),                                     \
        CASE("rows of 1", op, INPUTS(F32(-4, 4, 5, 1)), .axis = 1),                                          \
        CASE("columns", op, INPUTS(F32(-4, 4, 7, 17)), .axis = 0),                                           \
        CASE("middle", op, INPUTS(F32(-4, 4, WEFT_BATCH, 6, 5)), .axis = 1),                                 \
        CASE("over the batch", op, INPUTS(F32(-4, 4, WEFT_BATCH, 3)), .axis = 0),                            \
        CASE("transposed", op, INPUTS(F32_VIEW(OP_TRANSPOSED, -4, 4, 5, 17)), .axis = 1),                    \
        CASE("large", op, INPUTS(F32(80, 200, 4, 15)), .axis = 1),                                           \
        CASE("rank 4", op, INPUTS(F32(-4, 4, 2, 3, 4, 5)), .axis = -2)
static const op_case softmax_cases[] = {SHAPES(softmax)};
static const op_case log_softmax_cases[] = {SHAPES(log_softmax)};

/* ---- infinite and distant logits ---- */

static void test_special_values(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input_shape(graph, "x", WEFT_F32, 2, (const int64_t[]){3, 3});
    weft_tensor *const outputs[] = {weft_softmax(x, 1)};
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, outputs, 1, NULL));
    const float logits[3][3] = {{-INFINITY, 0, 0}, {1e30f, -1e30f, 0}, {0, -88, -100}};
    float softmax[3][3];
    assert_weft_ok(weft_plan_write(plan, x, logits, sizeof logits));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, outputs[0], softmax, sizeof softmax));
    assert_true(softmax[0][0] == 0 && softmax[0][1] == 0.5f && softmax[0][2] == 0.5f);
    assert_true(softmax[1][0] == 1 && softmax[1][1] == 0 && softmax[1][2] == 0);
    /* No subnormal numbers, which would make products with the result slow. */
    assert_true(softmax[2][0] == 1 && softmax[2][1] == 0 && softmax[2][2] == 0);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

int main(void) {
    static const op_cases ops[] = {SOFTMAX_OPS(COVERED_CASES)};
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_special_values)};
    return test_finish(op_suite_run("softmax", ops, sizeof ops / sizeof ops[0]) +
                       cmocka_run_group_tests_name("softmax, special values", tests, NULL, NULL));
}
