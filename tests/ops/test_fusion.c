/* Chains and diamonds of ops, which the planner gathers into few kernels: fused or not, the numbers are the
 * same. */
#include "support/op_case.h"

#define X(...) F32(-2, 2, __VA_ARGS__)

/* A case: the library's expression and the reference's, over a, b, c, d. */
#define FUSION(name, expression, reference_expression)                                                       \
    static weft_tensor *build_##name(const op_case *k, weft_graph *graph, weft_tensor *const *inputs) {      \
        weft_tensor *const a = inputs[0], *const b = inputs[1], *const c = inputs[2], *const d = inputs[3];  \
        (void)k, (void)graph, (void)a, (void)b, (void)c, (void)d;                                            \
        return expression;                                                                                   \
    }                                                                                                        \
    static f64_array *reference_##name(const op_case *k, const f64_array *const *inputs) {                   \
        const f64_array *const a = inputs[0], *const b = inputs[1], *const c = inputs[2],                    \
                               *const d = inputs[3];                                                         \
        (void)k, (void)a, (void)b, (void)c, (void)d;                                                         \
        return reference_expression;                                                                         \
    }
#define N(value)  f64_number(value)
#define AXIS(...) ((const int64_t[]){__VA_ARGS__, WEFT_END})

/* ---- maps ---- */
FUSION(relu_affine, weft_relu(weft_add(weft_mul(a, weft_number(a, 2)), b)),
    f64_relu(f64_add(f64_mul(a, N(2)), b)))
FUSION(long_chain,
    weft_tanh(weft_sigmoid(
        weft_exp(weft_sub(weft_sqrt(weft_add(weft_square(a), weft_number(a, 1))), weft_number(a, 1))))),
    f64_tanh(f64_sigmoid(f64_exp(f64_sub(f64_sqrt(f64_add(f64_square(a), N(1))), N(1))))))
FUSION(diamond, weft_mul(weft_sigmoid(weft_add(a, b)), weft_tanh(weft_add(a, b))),
    f64_mul(f64_sigmoid(f64_add(a, b)), f64_tanh(f64_add(a, b))))
FUSION(wide_diamond,
    weft_add(weft_mul(weft_exp(a), weft_number(a, 0.5)),
        weft_sub(weft_square(weft_exp(a)), weft_div(b, weft_exp(a)))),
    f64_add(f64_mul(f64_exp(a), N(0.5)), f64_sub(f64_square(f64_exp(a)), f64_div(b, f64_exp(a)))))
FUSION(views_in_chain, weft_relu(weft_sub(weft_transpose(weft_exp(a)), weft_transpose(weft_mul(b, b)))),
    f64_relu(f64_sub(f64_transpose(f64_exp(a)), f64_transpose(f64_mul(b, b)))))
FUSION(slice_of_map, weft_mul(weft_slice(weft_tanh(a), 1, 1, 6), weft_slice(weft_tanh(a), 1, 0, 5)),
    f64_mul(f64_slice(f64_tanh(a), 1, 1, 6), f64_slice(f64_tanh(a), 1, 0, 5)))
FUSION(reshape_of_transposed, weft_add(weft_reshape(weft_transpose(weft_square(a)), 5, 12), b),
    f64_add(f64_reshape(f64_transpose(f64_square(a)), 2, AXIS(5, 12)), b))

/* ---- maps and reductions ---- */
FUSION(sum_of_map, weft_sum(weft_exp(weft_mul(a, b)), 1), f64_sum(f64_exp(f64_mul(a, b)), AXIS(1), false))
FUSION(map_of_sum, weft_sqrt(weft_add(weft_sum(weft_square(a), 1), weft_number(a, 1e-3))),
    f64_sqrt(f64_add(f64_sum(f64_square(a), AXIS(1), false), N(1e-3f))))
FUSION(normalise,
    weft_div(weft_sub(a, weft_mean_axes(a, AXIS(1), true)),
        weft_sqrt(weft_add(
            weft_mean_axes(weft_square(weft_sub(a, weft_mean_axes(a, AXIS(1), true))), AXIS(1), true),
            weft_number(a, 0.25)))),
    f64_div(f64_sub(a, f64_mean(a, AXIS(1), true)),
        f64_sqrt(
            f64_add(f64_mean(f64_square(f64_sub(a, f64_mean(a, AXIS(1), true))), AXIS(1), true), N(0.25)))))
FUSION(softmax_of_sum, weft_softmax(weft_add(weft_mul(a, weft_number(a, 3)), b), -1),
    f64_softmax(f64_add(f64_mul(a, N(3)), b), 1))
FUSION(two_axes, weft_mul(weft_sum_axes(a, AXIS(0), true), weft_sum_axes(a, AXIS(1), true)),
    f64_mul(f64_sum(a, AXIS(0), true), f64_sum(a, AXIS(1), true)))

/* ---- products with epilogues ---- */
FUSION(layer, weft_relu(weft_add(weft_matmul(a, b), c)), f64_relu(f64_add(f64_matmul(a, b), c)))
FUSION(residual, weft_add(weft_relu(weft_add(weft_matmul(a, b), c)), d),
    f64_add(f64_relu(f64_add(f64_matmul(a, b), c)), d))
FUSION(gated, weft_mul(weft_sigmoid(weft_matmul(a, b)), weft_tanh(weft_matmul(a, c))),
    f64_mul(f64_sigmoid(f64_matmul(a, b)), f64_tanh(f64_matmul(a, c))))
FUSION(prologue, weft_matmul(weft_relu(a), weft_transpose(weft_tanh(b))),
    f64_matmul(f64_relu(a), f64_transpose(f64_tanh(b))))
FUSION(product_twice, weft_add(weft_matmul(a, b), weft_square(weft_matmul(a, b))),
    f64_add(f64_matmul(a, b), f64_square(f64_matmul(a, b))))
FUSION(classifier, weft_log_softmax(weft_linear_with(weft_relu(weft_linear_with(a, b, NULL)), c, d), 1),
    f64_log_softmax(f64_add(f64_matmul(f64_relu(f64_matmul(a, f64_transpose(b))), f64_transpose(c)), d), 1))
FUSION(attention, weft_matmul(weft_softmax(weft_matmul(a, weft_transpose(b)), -1), c),
    f64_matmul(f64_softmax(f64_matmul(a, f64_transpose(b)), 2), c))
FUSION(softmax_of_product, weft_softmax(weft_matmul(a, b), -1), f64_softmax(f64_matmul(a, b), 1))
FUSION(softmax_times_product, weft_mul(weft_softmax(weft_matmul(a, b), -1), weft_matmul(a, b)),
    f64_mul(f64_softmax(f64_matmul(a, b), 1), f64_matmul(a, b)))
FUSION(concat_of_products,
    weft_relu(weft_concat((weft_tensor *const[]){weft_matmul(a, b), c, weft_exp(d)}, 3, 1)),
    f64_relu(f64_concat((const f64_array *const[]){f64_matmul(a, b), c, f64_exp(d)}, 3, 1)))
/* Short rows beside which lanes could run, and an operand whose rows are in another order. */
FUSION(softmax_of_rolled, weft_softmax(weft_add(a, weft_roll(b, 1, 1)), -1),
    f64_softmax(
        f64_add(
            a, f64_concat((const f64_array *const[]){f64_slice(b, 1, 16, 17), f64_slice(b, 1, 0, 16)}, 2, 1)),
        2))
/* The same, and the operand is read in another order along the short rows. */
FUSION(softmax_of_rolled_columns, weft_softmax(weft_add(a, weft_roll(b, 2, 1)), -1),
    f64_softmax(
        f64_add(
            a, f64_concat((const f64_array *const[]){f64_slice(b, 2, 2, 3), f64_slice(b, 2, 0, 2)}, 2, 2)),
        2))
/* An operand that is 0 outside of what is read. */
FUSION(sum_of_padded_columns,
    weft_sum_axes(weft_mul(a, weft_pad(b, (const int64_t[]){0, 0, 1}, (const int64_t[]){0, 0, 1},
                                  WEFT_PAD_CONSTANT, 0.0)),
        (const int64_t[]){-1, WEFT_END}, false),
    f64_sum(f64_mul(f64_slice(a, 2, 1, 4), b), (const int64_t[]){2, WEFT_END}, false))

static const op_case cases[] = {
    CASE("relu(2a + b)", relu_affine, INPUTS(X(WEFT_BATCH, 5), X(5))),
    CASE("six maps", long_chain, INPUTS(X(257))),
    CASE("diamond", diamond, INPUTS(X(WEFT_BATCH, 17), X(WEFT_BATCH, 17))),
    CASE("wide diamond", wide_diamond, INPUTS(X(3, 16), X(3, 16))),
    CASE("views in a chain", views_in_chain, INPUTS(X(4, 17), X(4, 17))),
    CASE("slices of a map", slice_of_map, INPUTS(X(WEFT_BATCH, 6))),
    CASE("reshape of transposed", reshape_of_transposed, INPUTS(X(12, 5), X(12))),
    CASE("sum of a map", sum_of_map, INPUTS(X(WEFT_BATCH, 7), X(7))),
    CASE("sum of a map, 1000", sum_of_map, INPUTS(X(3, 1000), X(1000))),
    CASE("map of a sum", map_of_sum, INPUTS(X(WEFT_BATCH, 9))),
    CASE("normalised", normalise, INPUTS(X(WEFT_BATCH, 6))),
    CASE("softmax of a sum", softmax_of_sum, INPUTS(X(WEFT_BATCH, 10), X(10))),
    CASE("softmax of rolled rows", softmax_of_rolled, INPUTS(X(WEFT_BATCH, 17, 3), X(WEFT_BATCH, 17, 3))),
    CASE("softmax of rolled columns", softmax_of_rolled_columns,
        INPUTS(X(WEFT_BATCH, 17, 3), X(WEFT_BATCH, 17, 3))),
    CASE("sum of padded columns", sum_of_padded_columns, INPUTS(X(WEFT_BATCH, 17, 5), X(WEFT_BATCH, 17, 3))),
    CASE("both axes", two_axes, INPUTS(X(5, 9))),
    CASE("layer", layer, INPUTS(X(WEFT_BATCH, 6), F32_PARAMETER(-1, 1, 6, 5), F32_PARAMETER(-1, 1, 5))),
    CASE("residual layer", residual, INPUTS(X(WEFT_BATCH, 6), X(6, 5), X(5), X(WEFT_BATCH, 5))),
    CASE("gated", gated, INPUTS(X(WEFT_BATCH, 6), X(6, 4), X(6, 4))),
    CASE("maps before a product", prologue, INPUTS(X(13, 7), X(9, 7))),
    CASE("product used twice", product_twice, INPUTS(X(5, 6), X(6, 7))),
    CASE("classifier", classifier,
        INPUTS(X(WEFT_BATCH, 8), F32_PARAMETER(-1, 1, 6, 8), F32_PARAMETER(-1, 1, 3, 6),
            F32_PARAMETER(-1, 1, 3))),
    CASE("attention", attention, INPUTS(X(WEFT_BATCH, 4, 3), X(WEFT_BATCH, 5, 3), X(WEFT_BATCH, 5, 6))),
    CASE("softmax of a product", softmax_of_product, INPUTS(X(WEFT_BATCH, 4), X(4, 37))),
    CASE("softmax times its product", softmax_times_product, INPUTS(X(WEFT_BATCH, 4), X(4, 37))),
    CASE("concat of products", concat_of_products, INPUTS(X(4, 5), X(5, 3), X(4, 2), X(4, 1))),
};

/* ---- outputs that other outputs are made of ---- */

static void test_outputs_of_outputs(void **state) {
    (void)state;
    enum { COUNT = 6, SIZE = 35 };
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input_shape(graph, "x", WEFT_F32, 2, (const int64_t[]){5, 7});
    weft_tensor *const e = weft_exp(x), *const s = weft_sum_axes(e, AXIS(1), true), *const q = weft_div(e, s);
    weft_tensor *const outputs[COUNT] = {x, e, s, q, weft_transpose(e), e};
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, outputs, COUNT, NULL));
    f64_array *const values = f64_zeros(2, (const int64_t[]){5, 7});
    float numbers[SIZE], got[SIZE];
    test_random random = test_random_named("outputs", 0);
    for (int i = 0; i < SIZE; i++) {
        numbers[i] = (float)test_random_between(&random, -2, 2);
        values->value[i] = (double)numbers[i];
    }
    assert_weft_ok(weft_plan_write(plan, x, numbers, sizeof numbers));
    f64_track_errors(true);
    const f64_array *const exp = f64_exp(values), *const sum = f64_sum(exp, AXIS(1), true);
    const f64_array *const wanted[COUNT] = {values, exp, sum, f64_div(exp, sum), f64_transpose(exp), exp};
    for (int run = 0; run < 2; run++) { /* what is read stays when memory is used again */
        assert_weft_ok(weft_plan_run(plan));
        for (int i = COUNT - 1; i >= 0; i--) {
            assert_weft_ok(weft_plan_read(plan, outputs[i], got, wanted[i]->count * sizeof *got));
            op_assert_close("an output of outputs", WEFT_F32, got, wanted[i]);
        }
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
    f64_pool_release(NULL);
}

int main(void) {
    static const op_cases ops[] = {{NULL, cases, sizeof cases / sizeof cases[0]}};
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_outputs_of_outputs)};
    return test_finish(
        op_suite_run("fusion", ops, 1) + cmocka_run_group_tests_name("fused outputs", tests, NULL, NULL));
}
