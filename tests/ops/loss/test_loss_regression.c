/* Losses of numbers and of probabilities. */
/* test slow */
/* test.{formats} format={} reduced */
#include "ops/loss/loss_reference.h"

#include "ops/covered_ops.h"
#include <math.h>

LOSS(mse, weft_mse_loss(a, b, options), weft_mse(a, b), f64_mse(a, b))
LOSS(l1, weft_l1_loss(a, b, options), weft_l1(a, b), f64_l1(a, b))
LOSS(huber, weft_huber_loss(a, b, n, options), weft_huber(a, b, n), f64_huber(a, b, n))
LOSS(smooth_l1, weft_smooth_l1_loss(a, b, n, options), weft_smooth_l1(a, b, n), f64_smooth_l1(a, b, n))
LOSS(poisson_nll, weft_poisson_nll_loss(a, b, setup->log_input, setup->flag, options), weft_poisson_nll(a, b),
    f64_poisson_nll(a, b, setup->log_input, setup->flag))
LOSS(gaussian_nll, weft_gaussian_nll_loss(a, b, d, setup->flag, options), weft_gaussian_nll(a, b, d),
    f64_gaussian_nll(a, b, d, setup->flag))
LOSS(bce, weft_bce_loss(a, b, options), weft_bce(a, b), f64_bce(a, b))
LOSS(bce_with_logits, weft_bce_with_logits_loss(a, b, setup->flag ? d : NULL, options),
    weft_bce_with_logits(a, b), f64_bce_with_logits(a, b, setup->flag ? d : NULL))
LOSS(kl_div, weft_kl_div_loss(a, b, setup->flag, options), weft_kl_div(a, b), f64_kl_div(a, b, setup->flag))

static const loss_setup sum = {.reduction = WEFT_LOSS_SUM}, none = {.reduction = WEFT_LOSS_NONE},
                        batch_mean = {.reduction = WEFT_LOSS_BATCH_MEAN}, weighted = {.weighted = true},
                        weighted_none = {.reduction = WEFT_LOSS_NONE, .weighted = true};

static const op_case mse_cases[] = {
    CASE("17 and 17", mse, INPUTS(F32(-2, 2, 17), F32(-2, 2, 17)), SIMPLE),
    CASE("numbers", mse, INPUTS(F32_NUMBER(-2, 2), F32_NUMBER(-2, 2)), SIMPLE),
    CASE("batch", mse, INPUTS(F32(-2, 2, WEFT_BATCH, 3), F32(-2, 2, WEFT_BATCH, 3)), SIMPLE),
    CASE("transposed", mse, INPUTS(F32(-2, 2, 16, 33), F32_VIEW(OP_TRANSPOSED, -2, 2, 16, 33)), SIMPLE),
    CASE("sum", mse, INPUTS(F32(-2, 2, WEFT_BATCH, 3), F32(-2, 2, WEFT_BATCH, 3)), .row = &sum),
    CASE("batch mean", mse, INPUTS(F32(-2, 2, WEFT_BATCH, 3), F32(-2, 2, WEFT_BATCH, 3)), .row = &batch_mean),
    CASE("batch mean of a number", mse, INPUTS(F32_NUMBER(-2, 2), F32_NUMBER(-2, 2)), .row = &batch_mean),
    CASE("none, weighted", mse,
        INPUTS(F32(-2, 2, WEFT_BATCH, 3), F32(-2, 2, WEFT_BATCH, 3), F32(-1, 1, WEFT_BATCH, 1)),
        .row = &weighted_none),
};
static const op_case l1_cases[] = {
    CASE("batch", l1, INPUTS(F32(-2, 2, WEFT_BATCH, 19), F32(-2, 2, WEFT_BATCH, 19)), SIMPLE),
    CASE(
        "none, transposed", l1, INPUTS(F32(-2, 2, 5, 7), F32_VIEW(OP_TRANSPOSED, -2, 2, 5, 7)), .row = &none),
    CASE("weighted", l1, INPUTS(F32(-2, 2, 3, 17), F32(-2, 2, 3, 17), F32(0, 1, 17)), .row = &weighted),
};
static const loss_setup delta_half = {.number = 0.5},
                        delta_2_none = {.reduction = WEFT_LOSS_NONE, .number = 2, .weighted = true},
                        zero = {.reduction = WEFT_LOSS_SUM};
static const op_case huber_cases[] = {
    CASE("delta 0.5", huber, INPUTS(F32(-2, 2, WEFT_BATCH, 19), F32(-1, 1, WEFT_BATCH, 19)), SIMPLE,
        .row = &delta_half),
    CASE("delta 2, none", huber, INPUTS(F32(-3, 3, 4, 5), F32(-3, 3, 4, 5), F32(0, 1, 4, 5)),
        .row = &delta_2_none),
};
static const op_case smooth_l1_cases[] = {
    CASE("beta 0.5", smooth_l1, INPUTS(F32(-2, 2, WEFT_BATCH, 19), F32(-1, 1, WEFT_BATCH, 19)), SIMPLE,
        .row = &delta_half),
    CASE("beta 2, none", smooth_l1, INPUTS(F32(-3, 3, 4, 5), F32(-3, 3, 4, 5), F32(0, 1, 4, 5)),
        .row = &delta_2_none),
    CASE("beta 0", smooth_l1, INPUTS(F32(-3, 3, 17), F32(-3, 3, 17)), .row = &zero),
};
static const loss_setup log_input = {.log_input = true},
                        log_full = {.reduction = WEFT_LOSS_NONE, .log_input = true, .flag = true},
                        rate = {.reduction = WEFT_LOSS_SUM, .flag = true};
static const op_case poisson_nll_cases[] = {
    CASE("log rate", poisson_nll, INPUTS(F32(-2, 2, WEFT_BATCH, 5), F32(0, 6, WEFT_BATCH, 5)), SIMPLE,
        .row = &log_input),
    CASE("log rate, full, none", poisson_nll, INPUTS(F32(-2, 2, 17), F32(0, 6, 17)), .row = &log_full),
    CASE("rate, full, sum", poisson_nll, INPUTS(F32(0.1, 4, WEFT_BATCH, 5), F32(0, 6, WEFT_BATCH, 5)),
        .row = &rate),
};
static const loss_setup full_none = {.reduction = WEFT_LOSS_NONE, .flag = true};
static const op_case gaussian_nll_cases[] = {
    CASE("all", gaussian_nll,
        INPUTS(F32(-2, 2, WEFT_BATCH, 5), F32(-2, 2, WEFT_BATCH, 5), F32(0.2, 3, WEFT_BATCH, 5)), SIMPLE),
    CASE("one variance a row, full, none", gaussian_nll,
        INPUTS(F32(-2, 2, WEFT_BATCH, 5), F32(-2, 2, WEFT_BATCH, 5), F32(0.2, 3, WEFT_BATCH)),
        .row = &full_none),
    CASE("the same, kept", gaussian_nll, INPUTS(F32(-2, 2, 3, 7), F32(-2, 2, 3, 7), F32(0.2, 3, 3, 1)),
        .row = &sum),
};
static const op_case bce_cases[] = {
    CASE("soft targets", bce, INPUTS(F32(0.01, 0.99, WEFT_BATCH, 7), F32(0, 1, WEFT_BATCH, 7)), SIMPLE),
    CASE("hard targets, none", bce, INPUTS(F32(0.01, 0.99, 33), F32_TIES(0, 1, 33)), .row = &none),
    CASE("weighted", bce, INPUTS(F32(0.01, 0.99, 5, 7), F32(0, 1, 5, 7), F32(0, 2, 5, 1)), .row = &weighted),
};
static const loss_setup positive = {.flag = true},
                        positive_none = {.reduction = WEFT_LOSS_NONE, .flag = true, .weighted = true};
static const op_case bce_with_logits_cases[] = {
    CASE(
        "soft targets", bce_with_logits, INPUTS(F32(-8, 8, WEFT_BATCH, 7), F32(0, 1, WEFT_BATCH, 7)), SIMPLE),
    CASE("hard targets, none", bce_with_logits, INPUTS(F32(-90, 90, 33), F32_TIES(0, 1, 33)), .row = &none),
    CASE("positive weight", bce_with_logits,
        INPUTS(F32(-8, 8, WEFT_BATCH, 7), F32(0, 1, WEFT_BATCH, 7), F32(0.5, 3, 7)), .row = &positive),
    CASE("positive weight, weighted, none", bce_with_logits,
        INPUTS(F32_VIEW(OP_TRANSPOSED, -8, 8, 5, 7), F32(0, 1, 5, 7), F32(0.5, 3, 5, 1), F32(-1, 1, 7)),
        .row = &positive_none),
};
static const loss_setup log_target = {.reduction = WEFT_LOSS_BATCH_MEAN, .flag = true};
static const op_case kl_div_cases[] = {
    CASE("mean", kl_div, INPUTS(F32(-4, 0, WEFT_BATCH, 7), F32(0.01, 1, WEFT_BATCH, 7)), SIMPLE),
    CASE("batch mean of log targets", kl_div, INPUTS(F32(-4, 0, WEFT_BATCH, 7), F32(-4, 0, WEFT_BATCH, 7)),
        .row = &log_target),
    CASE("none, weighted", kl_div, INPUTS(F32(-4, 0, 3, 5), F32(0.01, 1, 3, 5), F32(0, 1, 5)),
        .row = &weighted_none),
};

/* ---- corners, against what PyTorch has there ---- */

enum { CORNERS = 8 };

static const weft_loss_options each = {WEFT_LOSS_OPTIONS_INIT, .reduction = WEFT_LOSS_NONE};
#define CORNER(name, expression)                                                                             \
    static weft_tensor *corner_##name(weft_tensor *x, weft_tensor *t) {                                      \
        return expression;                                                                                   \
    }
CORNER(l1, weft_l1_loss(x, t, &each))
CORNER(huber, weft_huber_loss(x, t, 1, &each))
CORNER(smooth_l1, weft_smooth_l1_loss(x, t, 1, &each))
CORNER(bce, weft_bce_loss(x, t, &each))
CORNER(bce_with_logits, weft_bce_with_logits_loss(x, t, NULL, &each))
CORNER(kl_div, weft_kl_div_loss(x, t, false, &each))
CORNER(poisson_nll, weft_poisson_nll_loss(x, t, true, false, &each))
CORNER(gaussian_nll, weft_gaussian_nll_loss(x, weft_sub(t, t), t, false, &each))

/* A loss at up to eight points: value and gradient with regard to the first input. */
static const struct corner {
    const char *name;
    weft_tensor *(*build)(weft_tensor *x, weft_tensor *t);
    int count;
    float x[CORNERS], t[CORNERS], value[CORNERS], gradient[CORNERS];
} corners[] = {
    {"l1", corner_l1, 6, {1, 0, -1, INFINITY, -INFINITY, NAN}, {0}, {1, 0, 1, INFINITY, INFINITY, NAN},
        {1, 0, -1, 1, -1, 0 /* as PyTorch */}},
    {"huber", corner_huber, 7, {1, -1, 0, INFINITY, -INFINITY, NAN, 2}, {0},
        {0.5f, 0.5f, 0, INFINITY, INFINITY, NAN, 1.5f}, {1, -1, 0, 1, -1, NAN, 1}},
    {"smooth_l1", corner_smooth_l1, 7, {1, -1, 0, INFINITY, -INFINITY, NAN, 2}, {0},
        {0.5f, 0.5f, 0, INFINITY, INFINITY, NAN, 1.5f}, {1, -1, 0, 1, -1, NAN, 1}},
    {"bce", corner_bce, 7, {0, 1, 0, 1, 1e-30f, -0.5f, 1.5f}, {1, 0, 0, 1, 0.5f, 0, 1},
        {100, 100, 0, 0, 34.5387764f, NAN, NAN}, {-1e12f, 1e12f, 0, 0, -5e11f, -5e11f, 5e11f}},
    {"bce_with_logits", corner_bce_with_logits, 8, {1e4f, -1e4f, 1e4f, -1e4f, 0, 30, -30, NAN},
        {1, 0, 0, 1, 0.5f, 1, 0, 0}, {0, 0, 1e4f, 1e4f, 0.693147181f, 9.35762297e-14f, 9.35762297e-14f, NAN},
        {0, 0, 1, -1, 0, -9.35762297e-14f, 9.35762297e-14f, NAN}},
    {"kl_div", corner_kl_div, 3, {-0.5f, -0.2f, 0}, {0, 0.4f, -1}, {0, -0.286516293f, NAN}, {0, -0.4f, 1}},
    {"gaussian_nll", corner_gaussian_nll, 4, {1, 2, 1e-3f, 1}, {0, 1, 1e-9f, -1},
        {499993.094f, 2, -6.40775537f, NAN}, {1e6f, 2, 1e3f, 1e6f}},
    {"poisson_nll", corner_poisson_nll, 3, {100, -200, 0}, {1, 2, 0}, {INFINITY, 400, 1}, {INFINITY, -2, 1}},
};
enum { CORNER_LOSSES = sizeof corners / sizeof corners[0] };

static void check_close(const char *name, const char *what, int i, float got, float wanted) {
    if (isnan(wanted) ? isnan(got) : got == wanted || fabsf(got - wanted) <= 2e-6f * fabsf(wanted)) return;
    if (test_device_flushes() && fabsf(wanted) < 1e-37f && got == 0) return;
    fail_msg("%s, %s %d: %.9g instead of %.9g", name, what, i, (double)got, (double)wanted);
}

static void test_corners(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *xs[CORNER_LOSSES], *ts[CORNER_LOSSES], *outputs[2 * CORNER_LOSSES];
    for (int i = 0; i < CORNER_LOSSES; i++) {
        const int64_t count = corners[i].count;
        xs[i] = weft_input_shape(graph, "x", WEFT_F32, 1, &count);
        ts[i] = weft_input_shape(graph, "t", WEFT_F32, 1, &count);
        outputs[2 * i] = corners[i].build(xs[i], ts[i]);
        outputs[2 * i + 1] = weft_gradient(weft_sum(outputs[2 * i]), xs[i]);
    }
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, outputs, 2 * CORNER_LOSSES, NULL));
    for (int i = 0; i < CORNER_LOSSES; i++) {
        const size_t bytes = (size_t)corners[i].count * sizeof(float);
        assert_weft_ok(weft_plan_write(plan, xs[i], corners[i].x, bytes));
        assert_weft_ok(weft_plan_write(plan, ts[i], corners[i].t, bytes));
    }
    assert_weft_ok(weft_plan_run(plan));
    for (int i = 0; i < CORNER_LOSSES; i++) {
        const struct corner *const c = &corners[i];
        const size_t bytes = (size_t)c->count * sizeof(float);
        float value[CORNERS], gradient[CORNERS];
        assert_weft_ok(weft_plan_read(plan, outputs[2 * i], value, bytes));
        assert_weft_ok(weft_plan_read(plan, outputs[2 * i + 1], gradient, bytes));
        for (int k = 0; k < c->count; k++) {
            check_close(c->name, "value", k, value[k], c->value[k]);
            check_close(c->name, "gradient", k, gradient[k], c->gradient[k]);
        }
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
}

int main(void) {
    static const op_cases ops[] = {LOSS_REGRESSION_OPS(COVERED_CASES)};
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_corners)};
    return test_finish(op_suite_run("losses of numbers", ops, sizeof ops / sizeof ops[0]) +
                       cmocka_run_group_tests_name("losses of numbers, corners", tests, NULL, NULL));
}
