/* See two_devices.h. */
#include "support/two_devices.h"
#include "cl/context.h"
#include "graph/weft_graph.h"

#include <stdlib.h>

/* ---- two devices ---- */

weft_context *two_devices_open(bool same, size_t first_limit, size_t second_limit) {
    weft_context *const context =
        test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .memory_limit = first_limit});
    const wi_device *const first = wi_context_device(context);
    weft_context_options options = {WEFT_CONTEXT_OPTIONS_INIT, .memory_limit = second_limit};
    if (same) {
        options.cl_context = first->cl;
        options.cl_device = first->id;
    } else {
        options.device = first->info.selector;
    }
    assert_weft_ok(wi_context_open_device(context, &options));
    assert_int_equal(context->device_count, 2);
    assert_true((context->devices[1]->cl == first->cl) == same);
    assert_ptr_not_equal(context->devices[1]->queue, first->queue);
    return context;
}

/* ---- a network in two halves ---- */

void two_halves_want(two_halves *n, uint32_t first, uint32_t end, int device) {
    for (uint32_t id = first; id < end; id++) n->wanted[id] = device;
}

/* The first half has a convolution, the second a layer norm and a loss with labels. Gradients of the second half are created before
 * those of the first, and are computed on the second device. */
two_halves two_halves_make(weft_context *context) {
    two_halves n = {.read_count = 3};
    assert_weft_ok(weft_graph_create(&n.graph, context));
    weft_graph *const g = n.graph;
    n.x = weft_input(g, "x", WEFT_F32, 1, SIDE, SIDE);
    n.label = weft_input(g, "label", WEFT_I32);
    weft_tensor *const maps = weft_max_pool2d(weft_relu(weft_conv2d(n.x, FILTERS, 3)), 2);
    n.middle = weft_tanh(weft_linear(weft_flatten(maps), HIDDEN));
    const uint32_t half = g->node_count;
    weft_tensor *const scores = weft_linear(weft_layer_norm(weft_linear(n.middle, HIDDEN)), CLASSES);
    n.outputs[0] = weft_cross_entropy(scores, n.label);
    weft_tensor *const late[] = {weft_graph_parameter(g, weft_graph_parameter_count(g) - 2), n.middle},
                       *const early[] = {weft_graph_parameter(g, 0)};
    weft_tensor *gradients[2];
    assert_weft_ok(weft_gradients(n.outputs[0], late, 2, gradients));
    const uint32_t second = g->node_count;
    n.outputs[1] = gradients[0];
    assert_weft_ok(weft_gradients(n.outputs[0], early, 1, &n.outputs[2]));
    size_t updates = 0;
    const weft_optimizer adam = weft_adam(0.01f);
    assert_weft_ok(weft_minimize(n.outputs[0], &adam, n.outputs + 3, MOST - 3, &updates));
    n.output_count = n.read_count + updates;
    n.wanted_count = g->node_count;
    n.wanted = calloc(n.wanted_count, sizeof *n.wanted);
    assert_non_null(n.wanted);
    two_halves_want(&n, half, second, 1);
    return n;
}

void two_halves_end(two_halves *n, weft_plan *plan) {
    weft_plan_release(plan);
    weft_graph_release(n->graph);
    free(n->wanted);
}

weft_status two_halves_plan(weft_plan **plan, const two_halves *n, int devices) {
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH};
    const wi_plan_devices on = {.of = n->graph->context->devices,
        .count = devices,
        .wanted = n->wanted,
        .wanted_count = n->wanted_count};
    return wi_plan_create_on(plan, n->outputs, n->output_count, &options, &on);
}

void two_halves_write(weft_plan *plan, const two_halves *n, uint64_t step) {
    test_random random = test_random_named("transfer", step);
    float x[BATCH * SIDE * SIDE];
    int32_t labels[BATCH];
    for (int i = 0; i < BATCH * SIDE * SIDE; i++) x[i] = (float)test_random_between(&random, -1, 1);
    for (int i = 0; i < BATCH; i++) labels[i] = (int32_t)test_random_below(&random, CLASSES);
    assert_weft_ok(weft_plan_write(plan, n->x, x, sizeof x));
    assert_weft_ok(weft_plan_write(plan, n->label, labels, sizeof labels));
}
