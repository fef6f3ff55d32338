/* Where functions bend, and where elements are equal: gradients of single elements as PyTorch 2.15 computes them (values
 * are checked op by op elsewhere). In f32, and in mixed precision: numbers that 16 bits hold. */
/* test slow */
#include "support/fixture.h"

#include <math.h>

enum { SIZE = 4 };

typedef weft_tensor *function(weft_tensor *x, weft_tensor *zero, weft_tensor *one, weft_tensor *sign);
typedef struct row {
    const char *name;
    function *of;
    float gradient[SIZE]; /* of the sum of the results times 1, 2, 4, 8; of a single result itself */
} row;

static const weft_loss_options each = {WEFT_LOSS_OPTIONS_INIT, .reduction = WEFT_LOSS_NONE};

#define FUNCTION(name, expression)                                                                           \
    static weft_tensor *name(weft_tensor *x, weft_tensor *zero, weft_tensor *one, weft_tensor *sign) {       \
        (void)zero, (void)one, (void)sign;                                                                   \
        return expression;                                                                                   \
    }
FUNCTION(clamped, weft_clamp(x, -1, 1))
FUNCTION(raised, weft_clamp(x, 1, INFINITY))
FUNCTION(fixed, weft_clamp(x, 1, 1))
FUNCTION(between, weft_minimum(weft_maximum(x, weft_neg(one)), one))
FUNCTION(hardtanh, weft_hardtanh(x, -1, 1))
FUNCTION(larger, weft_maximum(x, one))
FUNCTION(smaller, weft_minimum(x, one))
FUNCTION(magnitude, weft_abs(x))
FUNCTION(rectified, weft_relu(x))
FUNCTION(leaky, weft_leaky_relu(x, 0.25))
FUNCTION(largest, weft_max(x))
FUNCTION(smallest, weft_min(x))
FUNCTION(sorted, weft_sort(x, 0, true))
FUNCTION(norm_1, weft_norm_with(x, 1, NULL, false))
FUNCTION(norm_of_zeros, weft_norm(weft_sub(x, weft_stop_gradient(x))))
FUNCTION(norm_most, weft_norm_with(x, (double)INFINITY, NULL, false))
FUNCTION(std_of_zeros, weft_std(weft_sub(x, weft_stop_gradient(x))))
FUNCTION(huber, weft_huber_loss(x, zero, 1, &each))
FUNCTION(smooth_l1, weft_smooth_l1_loss(x, zero, 1, &each))
FUNCTION(l1, weft_l1_loss(x, zero, &each))
FUNCTION(hinge, weft_hinge_loss(x, sign, &each))
FUNCTION(hinge_embedding, weft_hinge_embedding_loss(x, sign, 1, &each))
FUNCTION(margin_ranking, weft_margin_ranking_loss(x, zero, sign, 1, &each))
FUNCTION(power, weft_pow_number(weft_square(x), 1))

static const row rows[] = {
    {"clamp", clamped, {0, 0, 4, 0}},
    {"clamp, low alone", raised, {0, 0, 0, 0}},
    {"clamp, equal bounds", fixed, {0, 0, 0, 0}},
    {"clamp by tensors", between, {0.5f, 1, 4, 4}},
    {"hardtanh", hardtanh, {0, 0, 4, 0}},
    {"maximum", larger, {0.5f, 0, 0, 4}},
    {"minimum", smaller, {0.5f, 2, 4, 4}},
    {"abs", magnitude, {1, -2, 0, 8}},
    {"relu", rectified, {1, 0, 0, 8}},
    {"leaky_relu", leaky, {1, 0.5f, 1, 8}},
    {"max", largest, {0.5f, 0, 0, 0.5f}},
    {"min", smallest, {0, 1, 0, 0}},
    {"sort", sorted, {1, 8, 4, 2}},
    {"norm 1", norm_1, {1, -1, 0, 1}},
    {"norm of zeros", norm_of_zeros, {0, 0, 0, 0}},
    {"largest norm", norm_most, {1 / 3.0f, -1 / 3.0f, 0, 1 / 3.0f}},
    {"std of zeros", std_of_zeros, {0, 0, 0, 0}},
    {"huber", huber, {1, -2, 0, 8}},
    {"smooth_l1", smooth_l1, {1, -2, 0, 8}},
    {"l1", l1, {1, -2, 0, 8}},
    {"hinge", hinge, {0, 0, -4, 8}},
    {"hinge_embedding", hinge_embedding, {1, -2, 4, 0}},
    {"margin_ranking", margin_ranking, {0, 0, -4, 8}},
    {"pow", power, {2, -4, 0, 16}},
};
enum { ROWS = sizeof rows / sizeof *rows };

static weft_tensor *four(weft_graph *graph, const float *values) {
    return weft_array(graph, WEFT_F32, values, 1, (const int64_t[]){SIZE});
}

static weft_tensor *gradient_of(const row *r, weft_graph *graph, weft_tensor *x) {
    weft_tensor *const y = r->of(x, four(graph, (const float[]){0, 0, 0, 0}),
        four(graph, (const float[]){1, 1, 1, 1}), four(graph, (const float[]){1, -1, 1, -1}));
    const bool single = weft_tensor_rank(y) == 0;
    weft_tensor *const weights = four(graph, (const float[]){1, 2, 4, 8});
    return weft_gradient(single ? y : weft_sum(weft_mul(y, weights)), x);
}

static int wrong_in(weft_precision precision) {
    weft_graph *const graph = test_graph();
    weft_tensor *outputs[ROWS];
    weft_plan *plan = NULL;
    int wrong = 0;
    assert_weft_ok(weft_graph_set_precision(graph, precision));
    weft_tensor *const x = weft_input_shape(graph, "x", WEFT_F32, 1, (const int64_t[]){SIZE});
    for (int i = 0; i < ROWS; i++) outputs[i] = gradient_of(&rows[i], graph, x);
    assert_weft_ok(weft_plan_create(&plan, outputs, ROWS, NULL));
    assert_weft_ok(weft_plan_write(plan, x, (const float[]){1, -1, 0, 1}, SIZE * sizeof(float)));
    assert_weft_ok(weft_plan_run(plan));
    for (int i = 0; i < ROWS; i++) {
        float got[SIZE];
        assert_weft_ok(weft_plan_read(plan, outputs[i], got, sizeof got));
        for (int k = 0; k < SIZE; k++) {
            const float wanted = rows[i].gradient[k];
            if (fabsf(got[k] - wanted) <= (precision == WEFT_PRECISION_F32 ? 1e-6f : 4e-3f)) continue;
            print_error("%s, element %d: %g, not %g\n", rows[i].name, k, (double)got[k], (double)wanted);
            wrong++;
        }
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
    return wrong;
}

static void test_f32(void **state) {
    (void)state;
    assert_int_equal(wrong_in(WEFT_PRECISION_F32), 0);
}

static void test_mixed(void **state) {
    (void)state;
    assert_int_equal(wrong_in(WEFT_PRECISION_BF16), 0);
    assert_int_equal(wrong_in(WEFT_PRECISION_F16), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_f32), cmocka_unit_test(test_mixed)};
    return test_finish(cmocka_run_group_tests_name("kinks", tests, NULL, NULL));
}
