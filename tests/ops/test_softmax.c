/* Softmax, log-softmax and the losses. */
#include "support/op_case.h"

#include "ops/covered_ops.h"
#include <math.h>

#define ALONG_AXIS(op)                                                                                       \
    static weft_tensor *build_##op(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {        \
        (void)graph;                                                                                         \
        return weft_##op(inputs[0], c->axis);                                                                \
    }                                                                                                        \
    static f64_array *reference_##op(const op_case *c, const f64_array *const *inputs) {                     \
        return f64_##op(inputs[0], c->axis < 0 ? c->axis + inputs[0]->rank : c->axis);                       \
    }
#define OF_TWO(op)                                                                                           \
    static weft_tensor *build_##op(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {        \
        (void)c, (void)graph;                                                                                \
        return weft_##op(inputs[0], inputs[1]);                                                              \
    }
ALONG_AXIS(softmax)
ALONG_AXIS(log_softmax)
OF_TWO(cross_entropy)
OF_TWO(mse)

static f64_array *reference_cross_entropy(const op_case *c, const f64_array *const *inputs) {
    (void)c;
    return f64_cross_entropy(inputs[0], inputs[1]);
}
static f64_array *reference_mse(const op_case *c, const f64_array *const *inputs) {
    (void)c;
    return f64_mean(f64_square(f64_sub(inputs[0], inputs[1])), NULL, false);
}

#define SHAPES(op)                                                                                           \
    CASE("3", op, INPUTS(F32(-4, 4, 3)), .axis = 0), CASE("1", op, INPUTS(F32(-4, 4, 1)), .axis = 0),        \
        CASE("rows of 10", op, INPUTS(F32(-4, 4, WEFT_BATCH, 10)), .axis = 1),                               \
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

static const op_case cross_entropy_cases[] = {
    CASE("10 classes", cross_entropy, INPUTS(F32(-4, 4, WEFT_BATCH, 10), I32(0, 9, WEFT_BATCH))),
    CASE("1 class", cross_entropy, INPUTS(F32(-4, 4, 3, 1), I32(0, 0, 3))),
    CASE("2 classes, 33 rows", cross_entropy, INPUTS(F32(-4, 4, 33, 2), I32(0, 1, 33))),
    CASE("257 classes", cross_entropy, INPUTS(F32(-4, 4, 7, 257), I32(0, 256, 7))),
    CASE("images", cross_entropy, INPUTS(F32(-4, 4, WEFT_BATCH, 5, 3, 4), I32(0, 4, WEFT_BATCH, 3, 4))),
    CASE("confident", cross_entropy, INPUTS(F32(-90, 90, 5, 10), I32(0, 9, 5))),
};

static const op_case mse_cases[] = {
    CASE("17 and 17", mse, INPUTS(F32(-2, 2, 17), F32(-2, 2, 17))),
    CASE("numbers", mse, INPUTS(F32_NUMBER(-2, 2), F32_NUMBER(-2, 2))),
    CASE("batch", mse, INPUTS(F32(-2, 2, WEFT_BATCH, 3), F32(-2, 2, WEFT_BATCH, 3))),
    CASE("broadcast", mse, INPUTS(F32(-2, 2, WEFT_BATCH, 1), F32(-2, 2, 5))),
    CASE("transposed", mse, INPUTS(F32(-2, 2, 16, 33), F32_VIEW(OP_TRANSPOSED, -2, 2, 16, 33))),
};

/* ---- labels that are no class, and infinite logits ---- */

static void test_special_values(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input_shape(graph, "x", WEFT_F32, 2, (const int64_t[]){2, 3});
    weft_tensor *const good = weft_input_shape(graph, "good", WEFT_I32, 1, (const int64_t[]){2});
    weft_tensor *const bad = weft_input_shape(graph, "bad", WEFT_I32, 1, (const int64_t[]){2});
    weft_tensor *const outputs[] = {
        weft_softmax(x, 1), weft_cross_entropy(x, good), weft_cross_entropy(x, bad)};
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, outputs, 3, NULL));
    const float logits[2][3] = {{-INFINITY, 0, 0}, {1e30f, -1e30f, 0}};
    assert_weft_ok(weft_plan_write(plan, x, logits, sizeof logits));
    assert_weft_ok(weft_plan_write(plan, good, (const int32_t[]){1, 0}, 2 * sizeof(int32_t)));
    const int32_t wrong[][2] = {{1, 3}, {-1, 0}, {1, INT32_MAX}, {INT32_MIN, 0}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        float softmax[2][3], loss;
        assert_weft_ok(weft_plan_write(plan, bad, wrong[i], sizeof wrong[i]));
        assert_weft_ok(weft_plan_run(plan));
        assert_weft_ok(weft_plan_read(plan, outputs[0], softmax, sizeof softmax));
        assert_true(softmax[0][0] == 0 && softmax[0][1] == 0.5f && softmax[0][2] == 0.5f);
        assert_true(softmax[1][0] == 1 && softmax[1][1] == 0 && softmax[1][2] == 0);
        assert_weft_ok(weft_plan_read(plan, outputs[1], &loss, sizeof loss));
        assert_true(fabsf(loss - 0.34657359f) < 1e-6f); /* log(2) / 2 */
        assert_weft_ok(weft_plan_read(plan, outputs[2], &loss, sizeof loss));
        assert_true(isnan(loss));
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
}

int main(void) {
    static const op_cases ops[] = {SOFTMAX_OPS(COVERED_CASES)};
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_special_values)};
    return test_finish(op_suite_run("softmax", ops, sizeof ops / sizeof ops[0]) +
                       cmocka_run_group_tests_name("softmax, special values", tests, NULL, NULL));
}
