/* Weights' gradients that share a launch where what they read is in more buffers than the launch has arguments for: in several launches,
 * with the same numbers as in one. */
/* test optimised */
#include "plan/bundles.h"
#include "plan/compiled_plan.h"
#include "pretended.h"
#include <stdio.h>

enum { LAYERS = 8, CHANNELS = 8, SIDE = 16, BATCH = 24, STEPS = 2, IMAGE = BATCH * CHANNELS * SIDE * SIDE };

typedef struct outcome {
    float losses[STEPS];
    int bundles, steps; /* that read intermediates; of all of them */
} outcome;

/* Intermediates have 196,608 bytes each. Windows are none that need scratch memory of several times that. */
static weft_tensor *loss_of(weft_tensor *x) {
    for (int i = 0; i < LAYERS; i++) x = weft_tanh(weft_conv2d_strided(x, CHANNELS, 5, 1, 2));
    return weft_mean(weft_square(x));
}

static void count_bundles(const weft_plan *plan, outcome *o) {
    for (const wi_bundle *b = plan->schedule.bundles; b; b = b->next) {
        if (!b->reads) continue;
        o->bundles++;
        o->steps += b->count;
    }
}

static outcome train_on(const char *device) {
    static float x[IMAGE];
    outcome o = {.bundles = 0};
    weft_tensor *outputs[1 + WEFT_MAX_UPDATES];
    weft_plan *plan = NULL;
    size_t count = 0;
    weft_context *const context = pretended_open(device);
    const weft_optimizer sgd = weft_sgd(0.1f);
    weft_tensor *const input = weft_input(weft_context_graph(context), "x", WEFT_F32, CHANNELS, SIDE, SIDE);
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH};
    for (size_t i = 0; i < IMAGE; i++) x[i] = (float)(i * 2654435761u % 1000u) / 500.0f - 1.0f;
    outputs[0] = loss_of(input);
    assert_ok(weft_minimize(outputs[0], &sgd, outputs + 1, WEFT_MAX_UPDATES, &count));
    assert_ok(weft_plan_create(&plan, outputs, 1 + count, &options));
    count_bundles(plan, &o);
    assert_ok(weft_plan_write(plan, input, x, sizeof x));
    for (int i = 0; i < STEPS; i++) {
        assert_ok(weft_plan_run(plan));
        assert_ok(weft_plan_read(plan, outputs[0], &o.losses[i], sizeof *o.losses));
    }
    assert_int_equal(pretend_layer_record().above, 0);
    weft_plan_release(plan);
    weft_context_release(context);
    return o;
}

static void bundles_are_cut_by_buffers(void **state) {
    (void)state;
    const outcome whole = train_on("slow"), cut = train_on("narrow");
    printf("%d weights' gradients in %d launches, %d in %d\n", whole.steps, whole.bundles, cut.steps,
        cut.bundles);
    assert_int_equal(whole.bundles, 1);
    assert_true(cut.bundles > 1 && 2 * cut.steps > whole.steps);
    assert_true(whole.losses[1] < whole.losses[0]);
    assert_memory_equal(whole.losses, cut.losses, sizeof whole.losses);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(bundles_are_cut_by_buffers)};
    (void)argc;
    pretended_start(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
