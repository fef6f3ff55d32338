/* Where recurrent scans of class gpu are computed by a matrix engine: in mixed precision, in bf16 and f16. A model stands for the engine;
 * that its results in bf16 are right is test_recurrent's business, here is what f16 has besides: its rounding, and its range. */
#include "support/engine_choice.h"
#include "support/fixture.h"
#include "support/scratch.h"

#include <math.h>
#include <string.h>

enum { BATCH = 3, STEPS = 4, UNITS = 5 };

/* Bytes of local memory that the largest engine's kernel takes. */
enum { ENGINE_LOCAL = 54 * 1024 };

/* ---- which ---- */

typedef weft_recurrent (*cell)(weft_tensor *, const weft_recurrent_weights *, const weft_sequence_options *);

/* A layer with all that it may have; the gradient of its first states is wanted. */
static void check_choice(weft_context *context, weft_precision precision, cell make, int gates, bool projects,
    const char *forward, const char *gradient) {
    weft_graph *graph = NULL;
    weft_plan *plan = NULL;
    const int64_t width = projects ? 2 : UNITS;
    assert_weft_ok(weft_graph_create(&graph, context));
    assert_weft_ok(weft_graph_set_precision(graph, precision));
    weft_tensor *const x = weft_input_shape(graph, "x", WEFT_F32, 3, (const int64_t[]){BATCH, STEPS, 2});
    const weft_recurrent_weights w = {
        .weight_ih = weft_input_shape(graph, "ih", WEFT_F32, 2, (const int64_t[]){gates * UNITS, 2}),
        .weight_hh = weft_input_shape(graph, "hh", WEFT_F32, 2, (const int64_t[]){gates * UNITS, width}),
        .weight_hr =
            projects ? weft_input_shape(graph, "hr", WEFT_F32, 2, (const int64_t[]){width, UNITS}) : NULL};
    const weft_sequence_options o = {WEFT_SEQUENCE_OPTIONS_INIT,
        .h0 = weft_input_shape(graph, "h0", WEFT_F32, 2, (const int64_t[]){BATCH, width}),
        .lengths = weft_input_shape(graph, "lengths", WEFT_I32, 1, (const int64_t[]){BATCH}), .reverse = true,
        .reset_first = gates == 3};
    weft_tensor *const y = make(x, &w, &o).y;
    weft_tensor *const outputs[] = {y, weft_gradient(weft_sum(weft_square(y)), o.h0)};
    assert_weft_ok(weft_plan_create(&plan, outputs, 2, NULL));
    if (!plan_has_step(plan, forward) || !plan_has_step(plan, gradient))
        fail_msg("%d gates, precision %d: not %s and %s", gates, (int)precision, forward, gradient);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

static void mixed_precision_uses_the_engine(void **state) {
    static const weft_precision narrow[] = {WEFT_PRECISION_BF16, WEFT_PRECISION_F16};
    static const char *const own[] = {"recurrent_forward_gpu_mma", "recurrent_back_gpu_mma"},
                             *const plain[] = {"recurrent_forward_gpu", "recurrent_back_gpu"};
    (void)state;
    if (engine_test_skipped(ENGINE_LOCAL)) skip();
    char *const cache = scratch_make();
    weft_context *const with = engine_context("model-mma", cache), *const without =
                                                                       engine_context("0", cache);
    for (int i = 0; i < 2; i++) {
        check_choice(with, narrow[i], weft_lstm_with, 4, false, own[0], own[1]);
        check_choice(with, narrow[i], weft_lstm_with, 4, true, own[0], own[1]);
        check_choice(with, narrow[i], weft_gru_with, 3, false, own[0], own[1]);
        check_choice(with, narrow[i], weft_rnn_with, 1, false, own[0], own[1]);
        check_choice(without, narrow[i], weft_lstm_with, 4, true, plain[0], plain[1]);
    }
    check_choice(with, WEFT_PRECISION_F32, weft_lstm_with, 4, true, plain[0], plain[1]);
    weft_context_release(with);
    weft_context_release(without);
    scratch_remove(cache);
}

/* Of what is kept in f32, too, in the same plan and program. */
static void both_kernels_in_a_plan(void **state) {
    weft_graph *graph = NULL;
    weft_plan *plan = NULL;
    weft_tensor *outputs[2];
    (void)state;
    if (engine_test_skipped(ENGINE_LOCAL)) skip();
    char *const cache = scratch_make();
    weft_context *const context = engine_context("model-mma", cache);
    assert_weft_ok(weft_graph_create(&graph, context));
    assert_weft_ok(weft_graph_set_precision(graph, WEFT_PRECISION_BF16));
    weft_tensor *const x = weft_input_shape(graph, "x", WEFT_F32, 3, (const int64_t[]){BATCH, STEPS, 2});
    for (int i = 0; i < 2; i++) {
        weft_tensor *const from = i == 0 ? x : weft_keep_f32(weft_mul_number(x, 2));
        const weft_recurrent_weights w = {
            .weight_ih = weft_input_shape(graph, "ih", WEFT_F32, 2, (const int64_t[]){4 * UNITS, 2}),
            .weight_hh = weft_input_shape(graph, "hh", WEFT_F32, 2, (const int64_t[]){4 * UNITS, UNITS})};
        outputs[i] = weft_lstm_with(from, &w, NULL).y;
    }
    assert_weft_ok(weft_plan_create(&plan, outputs, 2, NULL));
    assert_true(plan_has_step(plan, "recurrent_forward_gpu_mma"));
    assert_true(plan_has_step(plan, "recurrent_forward_gpu"));
    weft_plan_release(plan);
    weft_graph_release(graph);
    weft_context_release(context);
    scratch_remove(cache);
}

/* ---- f16 ---- */

/* h = relu(x + w * h0), y is h; and the gradient of a sum of them, times `factor`, with respect to h0. One unit, one step. */
static void one_step(weft_context *context, float x, float w, float h0, float factor, float *y, float *dh0) {
    weft_graph *graph = NULL;
    weft_plan *plan = NULL;
    static const char *const names[] = {"x", "ih", "hh", "h0"};
    const float values[] = {x, 1.0f, w, h0};
    weft_tensor *in[4];
    assert_weft_ok(weft_graph_create(&graph, context));
    assert_weft_ok(weft_graph_set_precision(graph, WEFT_PRECISION_F16));
    assert_weft_ok(
        weft_graph_set_loss_scaling(graph, &(weft_loss_scaling){WEFT_LOSS_SCALING_INIT, .initial = 1.0f}));
    for (int i = 0; i < 4; i++)
        in[i] = weft_input_shape(graph, names[i], WEFT_F32, i == 0 ? 3 : 2, (const int64_t[]){1, 1, 1});
    const weft_recurrent_weights weights = {.weight_ih = in[1], .weight_hh = in[2]};
    const weft_sequence_options options = {WEFT_SEQUENCE_OPTIONS_INIT, .h0 = in[3], .relu = true};
    weft_tensor *const h = weft_rnn_with(in[0], &weights, &options).h;
    weft_tensor *const outputs[] = {h, weft_gradient(weft_mul_number(weft_sum(h), (double)factor), in[3])};
    assert_weft_ok(weft_plan_create(&plan, outputs, 2, NULL));
    for (int i = 0; i < 4; i++) assert_weft_ok(weft_plan_write(plan, in[i], &values[i], sizeof values[i]));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, outputs[0], y, sizeof *y));
    assert_weft_ok(weft_plan_read(plan, outputs[1], dh0, sizeof *dh0));
    weft_plan_release(plan);
    weft_graph_release(graph);
}

static void assert_overflowed(float value) {
    if (isfinite(value)) fail_msg("%g is finite", (double)value);
}

/* Numbers that f16 has and bf16 has not, a product that f32 alone has, and numbers beyond f16's range: whatever is read from them is an
 * infinity or NaN, also behind weights of 0, for which the step of a training is skipped. */
static void f16_rounds_and_overflows(void **state) {
    float y, dh0;
    (void)state;
    if (engine_test_skipped(ENGINE_LOCAL)) skip();
    char *const cache = scratch_make();
    weft_context *const with = engine_context("model-mma", cache), *const without =
                                                                       engine_context("0", cache);
    const float fine = 1.0f + 0x1p-10f, finer = 1.0f + 0x1p-13f;
    one_step(with, 0.0f, fine, fine, fine, &y, &dh0);
    assert_float_equal(y, fine * fine, 0.0f);
    assert_float_equal(dh0, fine * fine, 0.0f);
    one_step(with, 0.0f, finer, 1.0f, 1.0f, &y, &dh0);
    assert_float_equal(y, 1.0f, 0.0f);
    assert_float_equal(dh0, 1.0f, 0.0f);
    one_step(with, 1.0f, 0.5f, 1.0f, 70000.0f, &y, &dh0);
    assert_float_equal(y, 1.5f, 0.0f);
    assert_overflowed(dh0);
    one_step(with, 1.0f, 0.0f, 1.0f, 70000.0f, &y, &dh0);
    assert_overflowed(dh0);
    one_step(with, 0.0f, 0.5f, 70000.0f, 1.0f, &y, &dh0);
    assert_overflowed(y);
    one_step(without, 1.0f, 0.5f, 1.0f, 70000.0f, &y, &dh0);
    assert_float_equal(dh0, 35000.0f, 0.0f);
    weft_context_release(with);
    weft_context_release(without);
    scratch_remove(cache);
}

/* The first scale, 65536, is beyond f16's range as a gradient of a sum: the step changes nothing, and is counted. */
static void a_gradient_beyond_f16_is_a_skipped_step(void **state) {
    weft_tensor *updates[WEFT_MAX_UPDATES + 1];
    size_t count = 0;
    weft_graph *graph = NULL;
    weft_plan *plan = NULL;
    weft_loss_scale now;
    float before[UNITS * UNITS], after[UNITS * UNITS], x[BATCH * STEPS * 2];
    const weft_optimizer rule = weft_sgd(0.125f);
    const weft_sequence_options options = {WEFT_SEQUENCE_OPTIONS_INIT, .relu = true};
    (void)state;
    if (engine_test_skipped(ENGINE_LOCAL)) skip();
    char *const cache = scratch_make();
    weft_context *const context = engine_context("model-mma", cache);
    assert_weft_ok(weft_graph_create(&graph, context));
    assert_weft_ok(weft_graph_set_precision(graph, WEFT_PRECISION_F16));
    weft_tensor *const in = weft_input(graph, "x", WEFT_F32, STEPS, 2);
    weft_tensor *const w = weft_parameter(graph, "hh", weft_fill(0.125f), UNITS, UNITS);
    const weft_recurrent_weights weights = {
        .weight_ih = weft_parameter(graph, "ih", weft_fill(1.0f), UNITS, 2), .weight_hh = w};
    updates[0] = weft_sum(weft_rnn_with(in, &weights, &options).h);
    assert_weft_ok(weft_minimize(updates[0], &rule, updates + 1, WEFT_MAX_UPDATES, &count));
    assert_weft_ok(weft_plan_create(
        &plan, updates, 1 + count, &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .batch = BATCH}));
    for (size_t i = 0; i < sizeof x / sizeof *x; i++) x[i] = 0.25f;
    assert_weft_ok(weft_plan_write(plan, in, x, sizeof x));
    for (int step = 0; step < 2; step++) { /* of which the second has half of the scale */
        assert_weft_ok(weft_tensor_read(w, before, sizeof before));
        assert_weft_ok(weft_plan_run(plan));
        assert_weft_ok(weft_tensor_read(w, after, sizeof after));
        assert_weft_ok(weft_graph_loss_scale(graph, &now));
        assert_int_equal(now.skipped_steps, 1);
        assert_int_equal(memcmp(before, after, sizeof before) == 0, step == 0);
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
    weft_context_release(context);
    scratch_remove(cache);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(mixed_precision_uses_the_engine),
        cmocka_unit_test(both_kernels_in_a_plan), cmocka_unit_test(f16_rounds_and_overflows),
        cmocka_unit_test(a_gradient_beyond_f16_is_a_skipped_step)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
