/* Attention by a matrix engine in f16: gradients are those of f32 within what f16 rounds, and a number beyond f16's range, in a scaled
 * gradient or in an operand, makes a step that is skipped and counted, as in products. A model stands for the engine. */
#include "support/engine_choice.h"
#include "support/fixture.h"
#include "support/scratch.h"

#include <math.h>

/* ENGINE_LOCAL: bytes of local memory with which the engine's kernels serve by its model. */
enum { ENGINE_LOCAL = 48 << 10 };
enum { HEADS = 2, LENGTH = 70, WIDTH = 32, SIZE = HEADS * LENGTH * WIDTH, OPERANDS = 3 };

/* Steps of gradient descent for queries, keys and values. */
typedef struct training {
    weft_graph *graph;
    weft_plan *plan;
    weft_tensor *parameters[OPERANDS];
} training;

static void write_parameters(const training *t, float first) {
    float numbers[SIZE];
    test_random random = test_random_named("attention overflow", 1);
    for (int i = 0; i < OPERANDS; i++) {
        for (int x = 0; x < SIZE; x++) numbers[x] = (float)test_random_between(&random, -1.5, 1.5);
        if (i == 0) numbers[0] = first;
        assert_weft_ok(weft_tensor_write(t->parameters[i], numbers, sizeof numbers));
    }
}

/* scale: of losses at first; first: the first number of the queries. */
static training begin(weft_context *context, weft_precision precision, float scale, float first) {
    static const char *const names[] = {"q", "k", "v"};
    const weft_loss_scaling scaling = {WEFT_LOSS_SCALING_INIT, .initial = scale};
    const weft_optimizer rule = weft_sgd(0.1f);
    weft_tensor *outputs[WEFT_MAX_UPDATES];
    size_t updates;
    training t = {0};
    assert_weft_ok(weft_graph_create(&t.graph, context));
    assert_weft_ok(weft_graph_set_loss_scaling(t.graph, &scaling));
    assert_weft_ok(weft_graph_set_precision(t.graph, precision));
    for (int i = 0; i < OPERANDS; i++)
        t.parameters[i] = weft_parameter(t.graph, names[i], weft_fill(0), HEADS, LENGTH, WIDTH);
    weft_tensor *const y = weft_attention(t.parameters[0], t.parameters[1], t.parameters[2], NULL);
    assert_weft_ok(weft_minimize(weft_sum(weft_square(y)), &rule, outputs, WEFT_MAX_UPDATES, &updates));
    assert_weft_ok(weft_plan_create(&t.plan, outputs, updates, NULL));
    const bool engine = precision == WEFT_PRECISION_F16;
    assert_true(plan_has_step(t.plan, "attention_gpu_mma") == engine);
    assert_true(plan_has_step(t.plan, "attention_gradient_gpu_mma") == engine);
    write_parameters(&t, first);
    return t;
}

static void end(training *t) {
    weft_plan_release(t->plan);
    weft_graph_release(t->graph);
}

static void read_parameters(const training *t, float *numbers) {
    for (int i = 0; i < OPERANDS; i++)
        assert_weft_ok(weft_tensor_read(t->parameters[i], numbers + i * SIZE, SIZE * sizeof *numbers));
}

/* A run; how many were skipped so far. */
static uint64_t run(const training *t) {
    weft_loss_scale now;
    assert_weft_ok(weft_plan_run(t->plan));
    assert_weft_ok(weft_graph_loss_scale(t->graph, &now));
    return now.skipped_steps;
}

/* What both changed, relative to the most that a parameter changed. */
static void compare(const float *before, const float *got, const float *wanted) {
    for (int i = 0; i < OPERANDS; i++) {
        float most = 0, error = 0;
        for (int x = i * SIZE; x < (i + 1) * SIZE; x++) {
            most = fmaxf(most, fabsf(wanted[x] - before[x]));
            error = fmaxf(error, fabsf(got[x] - wanted[x]));
        }
        if (!(most > 1e-3f && error <= 8 * 0x1p-11f * most))
            fail_msg("operand %d: wrong by %g of %g", i, (double)error, (double)most);
    }
}

static float before[OPERANDS * SIZE], got[OPERANDS * SIZE], wanted[OPERANDS * SIZE];

static void overflows_are_skipped(weft_context *context) {
    training wide = begin(context, WEFT_PRECISION_F32, 1, 1);
    read_parameters(&wide, before);
    run(&wide);
    read_parameters(&wide, wanted);
    end(&wide);

    /* Gradients of about 1, times 2^20. f32 holds them, and so do parameters' gradients. */
    training scaled = begin(context, WEFT_PRECISION_F16, 0x1p20f, 1);
    assert_int_equal(run(&scaled), 1);
    read_parameters(&scaled, got);
    assert_memory_equal(got, before, sizeof got);
    uint64_t skipped = 1;
    for (uint64_t now; skipped < 8 && (now = run(&scaled)) != skipped; skipped = now) {
        read_parameters(&scaled, got);
        assert_memory_equal(got, before, sizeof got);
    }
    assert_true(skipped >= 2 && skipped < 8);
    read_parameters(&scaled, got);
    compare(before, got, wanted);
    end(&scaled);

    training plain = begin(context, WEFT_PRECISION_F16, 256, 1);
    assert_int_equal(run(&plain), 0);
    read_parameters(&plain, got);
    compare(before, got, wanted);
    end(&plain);

    training far = begin(context, WEFT_PRECISION_F16, 256, 1e5f);
    read_parameters(&far, before);
    assert_int_equal(run(&far), 1);
    read_parameters(&far, got);
    assert_memory_equal(got, before, sizeof got);
    end(&far);
}

static void steps_that_overflow_are_skipped(void **state) {
    (void)state;
    if (engine_test_skipped(ENGINE_LOCAL)) skip();
    char *const cache = scratch_make();
    weft_context *const context = engine_context("model-mma", cache);
    overflows_are_skipped(context);
    weft_context_release(context);
    scratch_remove(cache);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(steps_that_overflow_are_skipped)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
