/* See profiled_net.h. */
#include "support/profiled_net.h"
#include "support/fixture.h"
#include <string.h>

static void write_inputs(const profiled_net *n) {
    test_random random = test_random_named("profile", 1);
    float x[PROFILED_BATCH * PROFILED_STEPS * PROFILED_IN];
    int32_t label[PROFILED_BATCH];
    for (size_t i = 0; i < PROFILED_BATCH * PROFILED_STEPS * PROFILED_IN; i++)
        x[i] = (float)test_random_between(&random, -1, 1);
    for (size_t i = 0; i < PROFILED_BATCH; i++)
        label[i] = (int32_t)test_random_below(&random, PROFILED_CLASSES);
    assert_weft_ok(weft_plan_write(n->plan, n->x, x, sizeof x));
    assert_weft_ok(weft_plan_write(n->plan, n->label, label, sizeof label));
}

profiled_net profiled_net_in(weft_context *context) {
    profiled_net n = {0};
    weft_tensor *outputs[1 + WEFT_MAX_UPDATES];
    size_t count;
    assert_weft_ok(weft_graph_create(&n.graph, context));
    n.x = weft_input(n.graph, "x", WEFT_F32, PROFILED_STEPS, PROFILED_IN);
    n.label = weft_input(n.graph, "label", WEFT_I32);
    weft_tensor *const y = weft_lstm(n.x, PROFILED_HIDDEN, NULL).y;
    outputs[0] = n.loss = weft_cross_entropy(weft_linear(weft_flatten(y), PROFILED_CLASSES), n.label);
    const weft_optimizer sgd = weft_sgd(0.5f);
    assert_weft_ok(weft_minimize(n.loss, &sgd, outputs + 1, WEFT_MAX_UPDATES, &count));
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = PROFILED_BATCH, .compile_late = true};
    assert_weft_ok(weft_plan_create(&n.plan, outputs, count + 1, &options));
    write_inputs(&n);
    for (int i = 0; i < 2; i++) assert_weft_ok(weft_plan_run(n.plan));
    assert_weft_ok(weft_plan_wait(n.plan));
    return n;
}

void profiled_net_clear(profiled_net *n) {
    weft_plan_release(n->plan);
    weft_graph_release(n->graph);
}

void profiled_net_read(const profiled_net *n, profiled_numbers *all) {
    memset(all, 0, sizeof *all);
    assert_weft_ok(weft_plan_read(n->plan, n->loss, &all->loss, sizeof all->loss));
    all->count = weft_graph_parameter_count(n->graph);
    assert_true(all->count > 0 && all->count <= PROFILED_MAX_PARAMETERS);
    for (size_t i = 0; i < all->count; i++) {
        weft_tensor *const p = weft_graph_parameter(n->graph, i);
        all->sizes[i] = sizeof(float);
        for (int axis = 0; axis < weft_tensor_rank(p); axis++)
            all->sizes[i] *= (size_t)weft_tensor_dimension(p, axis);
        assert_true(all->sizes[i] <= sizeof all->parameters[i]);
        assert_weft_ok(weft_tensor_read(p, all->parameters[i], all->sizes[i]));
    }
}

void profiled_net_write(const profiled_net *n, const profiled_numbers *all) {
    for (size_t i = 0; i < all->count; i++)
        assert_weft_ok(
            weft_tensor_write(weft_graph_parameter(n->graph, i), all->parameters[i], all->sizes[i]));
}
