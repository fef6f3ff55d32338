/* See small_training.h. */
#include "support/fixture.h"

#include "support/small_training.h"

enum { BATCH = 24, WIDTH = 40 };

weft_plan *small_training_plan(const small_training *t) {
    static float x[BATCH * WIDTH];
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH};
    weft_plan *plan = NULL;
    for (int i = 0; i < BATCH * WIDTH; i++) x[i] = (float)(i * 7 % 11 - 5) * 0.2f;
    assert_weft_ok(weft_plan_create(&plan, t->outputs, 1 + t->count, &options));
    assert_weft_ok(weft_plan_write(plan, t->x, x, sizeof x));
    return plan;
}

small_training small_training_begin(weft_context_options options) {
    options.seed = 2;
    small_training t = {.context = test_context_open(options)};
    const weft_optimizer sgd = weft_sgd(0.01f);
    assert_weft_ok(weft_graph_create(&t.graph, t.context));
    t.x = weft_input(t.graph, "x", WEFT_F32, WIDTH);
    t.outputs[0] = weft_mean(weft_square(weft_linear(t.x, WIDTH)));
    assert_weft_ok(weft_minimize(t.outputs[0], &sgd, t.outputs + 1, WEFT_MAX_UPDATES, &t.count));
    t.plan = small_training_plan(&t);
    return t;
}

void small_training_run(small_training *t, int steps, float *losses) {
    for (int i = 0; i < steps; i++) {
        assert_weft_ok(weft_plan_run(t->plan));
        assert_weft_ok(weft_plan_read(t->plan, t->outputs[0], &losses[i], sizeof *losses));
    }
}

void small_training_end(small_training *t) {
    weft_plan_release(t->plan);
    weft_graph_release(t->graph);
    weft_context_release(t->context);
}
