/* Predictions and targets whose shapes differ by axes of size 1 are compared element by element, by every loss;
 * those that would broadcast are refused. */
/* test slow */
#include "support/fixture.h"

enum { BATCH = 6 };

static const float predictions[BATCH] = {0.25f, 0.75f, 0.5f, 0.125f, 0.875f, 0.375f};
static const float targets[BATCH] = {1, 0.5f, 0, 0.25f, 1, 0.75f};

typedef weft_tensor *loss_of(weft_tensor *y, weft_tensor *t);

#define LOSSES(ROW)                                                                                          \
    ROW(mse, weft_mse(y, t))                                                                                 \
    ROW(l1, weft_l1(y, t))                                                                                   \
    ROW(huber, weft_huber(y, t, 0.4f))                                                                       \
    ROW(smooth_l1, weft_smooth_l1(y, t, 0.4f))                                                               \
    ROW(poisson_nll, weft_poisson_nll(y, t))                                                                 \
    ROW(gaussian_nll, weft_gaussian_nll(y, t, weft_exp(t)))                                                  \
    ROW(bce, weft_bce(y, t))                                                                                 \
    ROW(bce_with_logits, weft_bce_with_logits(y, t))                                                         \
    ROW(kl_div, weft_kl_div(y, t))                                                                           \
    ROW(hinge, weft_hinge(y, t))                                                                             \
    ROW(soft_margin, weft_soft_margin(y, t))                                                                 \
    ROW(hinge_embedding, weft_hinge_embedding(y, t, 1))                                                      \
    ROW(margin_ranking, weft_margin_ranking(y, weft_exp(t), t, 0.5f))
#define BUILD(name, expression)                                                                              \
    static weft_tensor *build_##name(weft_tensor *y, weft_tensor *t) {                                       \
        return expression;                                                                                   \
    }
LOSSES(BUILD)
#define LINE(name, expression) {#name, build_##name},
static const struct {
    const char *name;
    loss_of *build;
} losses[] = {LOSSES(LINE)};
enum { LOSSES_COUNT = sizeof losses / sizeof *losses };

/* The tensor of these numbers with `ones` axes of size 1 behind the batch. */
static weft_tensor *numbers(weft_graph *graph, const char *name, int ones) {
    const int64_t dims[] = {WEFT_BATCH, 1, 1};
    return weft_input_shape(graph, name, WEFT_F32, 1 + ones, dims);
}

/* The loss and its gradient for y and t of such shapes. */
static void compute(loss_of *build, weft_precision precision, int ones_y, int ones_t, float out[1 + BATCH]) {
    weft_graph *const graph = test_graph();
    assert_weft_ok(weft_graph_set_precision(graph, precision));
    weft_tensor *const y = numbers(graph, "y", ones_y), *const t = numbers(graph, "t", ones_t);
    weft_tensor *const loss = build(y, t);
    weft_tensor *const outputs[] = {loss, weft_gradient(loss, y)};
    weft_plan *plan = NULL;
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH};
    assert_weft_ok(weft_plan_create(&plan, outputs, 2, &options));
    assert_weft_ok(weft_plan_write(plan, y, predictions, sizeof predictions));
    assert_weft_ok(weft_plan_write(plan, t, targets, sizeof targets));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, loss, out, sizeof *out));
    assert_weft_ok(weft_plan_read(plan, outputs[1], out + 1, BATCH * sizeof *out));
    weft_plan_release(plan);
    weft_graph_release(graph);
}

static void check_all(weft_precision precision, int ones_y, int ones_t) {
    for (size_t i = 0; i < LOSSES_COUNT; i++) {
        float same[1 + BATCH], other[1 + BATCH];
        compute(losses[i].build, precision, 0, 0, same);
        compute(losses[i].build, precision, ones_y, ones_t, other);
        for (int n = 0; n <= BATCH; n++)
            if (same[n] - other[n] > 1e-6f || other[n] - same[n] > 1e-6f || !(other[n] == other[n]))
                fail_msg("%s: number %d is %g, of equal shapes %g", losses[i].name, n, (double)other[n],
                    (double)same[n]);
    }
}

static void test_prediction_with_one(void **state) {
    (void)state;
    check_all(WEFT_PRECISION_F32, 1, 0);
}

static void test_target_with_ones(void **state) {
    (void)state;
    check_all(WEFT_PRECISION_F32, 0, 2);
}

static void test_f16(void **state) {
    (void)state;
    check_all(WEFT_PRECISION_F16, 1, 0);
}

static void test_bf16(void **state) {
    (void)state;
    check_all(WEFT_PRECISION_BF16, 1, 0);
}

/* A field of a table against weft_linear(h, 1): equal numbers have no error. */
static void test_equal_numbers(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const y = weft_input(graph, "y", WEFT_F32, 1), *const t = weft_input(graph, "t", WEFT_F32);
    weft_tensor *loss = weft_mse(y, t);
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH};
    weft_plan *plan = NULL;
    float value = -1;
    assert_weft_ok(weft_plan_create(&plan, &loss, 1, &options));
    assert_weft_ok(weft_plan_write(plan, y, targets, sizeof targets));
    assert_weft_ok(weft_plan_write(plan, t, targets, sizeof targets));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, loss, &value, sizeof value));
    assert_true(value == 0);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

static const weft_loss_options each = {WEFT_LOSS_OPTIONS_INIT, .reduction = WEFT_LOSS_NONE};

/* The losses have the shape of the first input. */
static void test_shape_of_losses(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const y = numbers(graph, "y", 1), *const t = numbers(graph, "t", 0);
    assert_int_equal(weft_tensor_rank(weft_mse_loss(y, t, &each)), 2);
    assert_int_equal(weft_tensor_rank(weft_mse_loss(t, y, &each)), 1);
    assert_weft_ok(weft_graph_status(graph));
    weft_graph_release(graph);
}

/* One number that the program writes as such is compared with every element. */
static void test_numbers_are_targets(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const y = numbers(graph, "y", 1);
    for (size_t i = 0; i < LOSSES_COUNT; i++) {
        assert_non_null(
            losses[i].build(y, weft_expand(weft_number(y, 1), 2, (const int64_t[]){WEFT_BATCH, 1})));
        if (losses[i].build != build_gaussian_nll && losses[i].build != build_margin_ranking)
            assert_non_null(losses[i].build(y, weft_number(y, 1)));
    }
    assert_non_null(weft_mse(y, weft_scalar(graph, "level", 0.5f)));
    assert_weft_ok(weft_graph_status(graph));
    weft_graph_release(graph);
}

/* What would broadcast, in either direction. */
static void test_refusals(void **state) {
    (void)state;
    static const struct {
        int rank_y, rank_t;
        int64_t y[3], t[3];
        const char *text_y, *text_t;
    } cases[] = {
        {2, 2, {WEFT_BATCH, 1}, {WEFT_BATCH, 3}, "(batch, 1)", "(batch, 3)"},
        {2, 1, {WEFT_BATCH, 3}, {WEFT_BATCH}, "(batch, 3)", "(batch)"},
        {2, 1, {WEFT_BATCH, 3}, {3}, "(batch, 3)", "(3)"},
        {1, 2, {5}, {1, 5}, "(5)", "(1, 5)"},
        {2, 0, {WEFT_BATCH, 3}, {0}, "(batch, 3)", "()"},
        {0, 1, {0}, {WEFT_BATCH}, "()", "(batch)"},
    };
    for (size_t i = 0; i < LOSSES_COUNT; i++)
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
            weft_graph *const graph = test_graph();
            weft_tensor *const y = weft_input_shape(graph, "y", WEFT_F32, cases[c].rank_y, cases[c].y);
            weft_tensor *const t = weft_input_shape(graph, "t", WEFT_F32, cases[c].rank_t, cases[c].t);
            assert_null(losses[i].build(y, t));
            assert_weft_fails(WEFT_ERROR_SHAPE, weft_graph_status(graph), losses[i].name, cases[c].text_y,
                cases[c].text_t, "weft_reshape");
            weft_graph_release(graph);
        }
}

/* Labels and targets of vectors. */
static void test_labels_with_one(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 3), *const labels =
                                                                    weft_input(graph, "l", WEFT_I32, 1);
    weft_tensor *const series = weft_input(graph, "s", WEFT_F32, 4, 3), *const steps = weft_input(
                                                                            graph, "n", WEFT_I32, 4, 1);
    assert_non_null(weft_cross_entropy(x, labels));
    assert_non_null(weft_nll(x, labels));
    assert_non_null(weft_multi_margin(x, labels, 1));
    assert_non_null(weft_sequence_cross_entropy(series, steps, NULL));
    assert_non_null(weft_cosine_embedding(x, x, numbers(graph, "t", 1), 0));
    assert_non_null(weft_triplet_margin(x, weft_reshape(x, WEFT_BATCH, 1, 3), x, 1));
    assert_weft_ok(weft_graph_status(graph));
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prediction_with_one),
        cmocka_unit_test(test_target_with_ones),
        cmocka_unit_test(test_f16),
        cmocka_unit_test(test_bf16),
        cmocka_unit_test(test_equal_numbers),
        cmocka_unit_test(test_shape_of_losses),
        cmocka_unit_test(test_numbers_are_targets),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_labels_with_one),
    };
    return test_finish(cmocka_run_group_tests_name("loss_shapes", tests, NULL, NULL));
}
