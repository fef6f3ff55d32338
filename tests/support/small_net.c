/* See small_net.h. */
#include "support/small_net.h"
#include "support/fixture.h"

small_net small_net_in(weft_context *context) {
    small_net n = {.context = context};
    assert_weft_ok(weft_graph_create(&n.graph, context));
    n.x = weft_input(n.graph, "x", WEFT_F32, SMALL_NET_IN);
    n.weight = weft_parameter(n.graph, "weight", ((weft_initialiser){.kind = WEFT_INIT_NORMAL, .b = 1}),
        SMALL_NET_OUT, SMALL_NET_IN);
    n.bias = weft_parameter(
        n.graph, "bias", ((weft_initialiser){.kind = WEFT_INIT_CONSTANT, .a = 0.5f}), SMALL_NET_OUT);
    n.hidden = weft_linear_with(n.x, n.weight, n.bias);
    n.y = weft_softmax(weft_relu(n.hidden), 1);
    n.loss = weft_mean(weft_square(n.hidden));
    assert_weft_ok(weft_graph_status(n.graph));
    return n;
}

weft_plan *small_net_plan(weft_tensor *output, int64_t batch) {
    weft_plan *plan = NULL;
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = batch};
    assert_weft_ok(weft_plan_create(&plan, &output, 1, &options));
    return plan;
}

void small_net_fill(float *values, size_t count, uint64_t number) {
    test_random random = test_random_named("plan", number);
    for (size_t i = 0; i < count; i++) values[i] = (float)test_random_between(&random, -1, 1);
}

void small_net_compute(weft_plan *plan, const small_net *n, const float *x, int64_t batch, float *y) {
    assert_weft_ok(weft_plan_write(plan, n->x, x, (size_t)batch * SMALL_NET_IN * sizeof *x));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, n->y, y, (size_t)batch * SMALL_NET_OUT * sizeof *y));
}
