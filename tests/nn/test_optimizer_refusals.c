/* What optimizer objects refuse: each call ends in one line that names the parameter. */
#include "support/checks.h"
#include "support/fixture.h"
#include <math.h>
#include <weft/weft.h>

enum { PARAMETERS = 4 };

typedef struct network {
    weft_graph *graph;
    weft_tensor *p[PARAMETERS], *losses[PARAMETERS];
} network;

static network make_network(size_t count) {
    static const char *const names[PARAMETERS] = {"base.a", "head.b", "base.c", "head.d"};
    static const int64_t sizes[PARAMETERS] = {5, 21, 16, 40};
    network net = {.graph = test_graph()};
    for (size_t i = 0; i < count; i++) {
        net.p[i] = weft_parameter(net.graph, names[i], weft_fill(1), sizes[i]);
        net.losses[i] = weft_sum(weft_square(net.p[i]));
    }
    return net;
}

/* Each case has a graph of its own: a graph keeps its first error. */
static void refuse_step(weft_status status, const char *part,
    weft_tensor *(*step)(const network *net, weft_optimizer_state *optimizer)) {
    const network net = make_network(3), other = make_network(1);
    const weft_optimizer sgd = weft_sgd(0.1f);
    weft_optimizer_state *const optimizer = weft_optimizer_create(net.graph, &sgd);
    const network both = {net.graph, {net.p[0], net.p[1], net.p[2], other.p[0]},
        {net.losses[0], net.losses[1], net.losses[2], other.losses[0]}};
    assert_null(step(&both, optimizer));
    assert_fails(weft_graph_status(net.graph), status, part);
    assert_null(weft_optimizer_create(net.graph, &sgd));
    weft_graph_release(net.graph);
    weft_graph_release(other.graph);
}

static weft_tensor *twice_in_the_list(const network *net, weft_optimizer_state *o) {
    return weft_optimizer_step(o, (weft_tensor *const[]){net->p[0], net->p[1], net->p[0]},
        (weft_tensor *const[]){net->p[0], net->p[1], net->p[0]}, 3);
}
static weft_tensor *of_another_shape(const network *net, weft_optimizer_state *o) {
    return weft_optimizer_step(o, &net->p[0], &net->p[1], 1);
}
static weft_tensor *of_another_graph(const network *net, weft_optimizer_state *o) {
    return weft_optimizer_step(o, &net->p[3], &net->p[3], 1);
}
static weft_tensor *gradient_of_another_graph(const network *net, weft_optimizer_state *o) {
    return weft_optimizer_step(o, &net->p[0], &net->p[3], 1);
}
static weft_tensor *no_parameter(const network *net, weft_optimizer_state *o) {
    return weft_optimizer_step(o, &net->losses[0], &net->losses[0], 1);
}
static weft_tensor *none_at_all(const network *net, weft_optimizer_state *o) {
    return weft_optimizer_step(o, net->p, net->p, 0);
}
static weft_tensor *null_gradient(const network *net, weft_optimizer_state *o) {
    return weft_optimizer_step(o, net->p, (weft_tensor *const[]){NULL}, 1);
}
static weft_tensor *an_assignment(const network *net, weft_optimizer_state *o) {
    return weft_optimizer_step(o, net->p, (weft_tensor *const[]){weft_assign(net->p[0], net->p[0])}, 1);
}
static weft_tensor *no_such_name(const network *net, weft_optimizer_state *o) {
    return weft_optimizer_minimize(o, net->losses[0], "head.*");
}
static weft_tensor *loss_of_another_graph(const network *net, weft_optimizer_state *o) {
    return weft_optimizer_minimize(o, net->losses[3], NULL);
}
static weft_tensor *narrow_parameter(const network *net, weft_optimizer_state *o) {
    weft_tensor *const narrow =
        weft_parameter_dtype(net->graph, "narrow", WEFT_BF16, weft_zeros(), 1, (const int64_t[]){4});
    return weft_optimizer_step(o, &narrow, &narrow, 1);
}
static weft_tensor *group_of_no_one(const network *net, weft_optimizer_state *o) {
    const weft_parameter_group group = {"tail.*", 1, 0};
    weft_optimizer grouped = weft_sgd(0.1f);
    (void)o;
    grouped.groups = &group;
    grouped.group_count = 1;
    return weft_optimizer_minimize(weft_optimizer_create(net->graph, &grouped), net->losses[0], NULL);
}

static void bad_steps_are_refused(void **state) {
    (void)state;
    refuse_step(WEFT_ERROR_ARGUMENT,
        "parameter 'base.a' is in the list twice: list it once, with the sum of its gradients",
        twice_in_the_list);
    refuse_step(WEFT_ERROR_SHAPE, "the gradient of 'base.a' is f32 (21), but the parameter is f32 (5)",
        of_another_shape);
    refuse_step(WEFT_ERROR_ARGUMENT, "parameter 0 ('base.a') belongs to another graph", of_another_graph);
    refuse_step(WEFT_ERROR_ARGUMENT, "gradient of parameter 0 ('base.a') belongs to another graph",
        gradient_of_another_graph);
    refuse_step(WEFT_ERROR_ARGUMENT, "not a parameter", no_parameter);
    refuse_step(WEFT_ERROR_ARGUMENT, "count is 0, expected 1 or more", none_at_all);
    refuse_step(WEFT_ERROR_ARGUMENT, "gradient 0 is NULL", null_gradient);
    refuse_step(WEFT_ERROR_ARGUMENT, "the gradient of 'base.a' is an assignment", an_assignment);
    refuse_step(WEFT_ERROR_STATE, "the loss depends on no trainable parameter with a name like 'head.*'",
        no_such_name);
    refuse_step(WEFT_ERROR_ARGUMENT, "the loss belongs to another graph", loss_of_another_graph);
    refuse_step(WEFT_ERROR_DTYPE, "parameter 'narrow' is bf16, expected f32", narrow_parameter);
    refuse_step(
        WEFT_ERROR_ARGUMENT, "group 'tail.*': the graph has no parameter of such a name", group_of_no_one);
    assert_null(weft_optimizer_step(NULL, NULL, NULL, 0));
    assert_null(weft_optimizer_minimize(NULL, NULL, NULL));
    assert_null(weft_optimizer_rate(NULL));
    assert_null(weft_optimizer_create(NULL, NULL));
}

static void a_rule_out_of_range_is_refused(void **state) {
    (void)state;
    const weft_optimizer negative = weft_sgd(-1);
    weft_graph *const graph = test_graph(), *const empty = test_graph();
    assert_null(weft_optimizer_create(graph, &negative));
    assert_fails(weft_graph_status(graph), WEFT_ERROR_ARGUMENT, "rate is -1");
    assert_null(weft_optimizer_create(empty, NULL));
    assert_fails(weft_graph_status(empty), WEFT_ERROR_ARGUMENT, "rule must not be NULL");
    weft_graph_release(graph);
    weft_graph_release(empty);
}

static void one_parameter_is_stepped_once_in_a_plan(void **state) {
    (void)state;
    const network net = make_network(2);
    const weft_optimizer adam = weft_adam(0.1f);
    weft_optimizer_state *const one = weft_optimizer_create(net.graph, &adam);
    weft_optimizer_state *const other = weft_optimizer_create(net.graph, &adam);
    weft_tensor *const both = weft_add(net.losses[0], net.losses[1]);
    weft_tensor *const a = weft_optimizer_minimize(one, both, NULL),
                       *plans[] = {a, weft_optimizer_minimize(one, net.losses[1], NULL),
                           weft_optimizer_minimize(other, net.losses[1], NULL)};
    weft_plan *plan = NULL;
    for (size_t i = 1; i < 3; i++)
        assert_fails(weft_plan_create(&plan, (weft_tensor *const[]){plans[i], a}, 2, NULL),
            WEFT_ERROR_ARGUMENT, "'head.b' is updated twice in one plan");
    assert_fails(weft_plan_create(&plan, (weft_tensor *const[]){weft_assign(net.p[1], net.p[1]), a}, 2, NULL),
        WEFT_ERROR_ARGUMENT, "both write 'head.b'");
    weft_graph_release(net.graph);
}

/* A rate that is set later is checked as that of the rule; other scalars take any number. */
static void a_rate_out_of_range_is_refused(void **state) {
    (void)state;
    const network net = make_network(1);
    const weft_optimizer plain = weft_sgd(0.1f);
    weft_optimizer scheduled = plain;
    scheduled.schedule = weft_cosine_schedule(10, 0), scheduled.schedule.per_step = true;
    const weft_optimizer *const rules[] = {&plain, &scheduled};
    for (size_t i = 0; i < 2; i++) {
        weft_tensor *const rate = weft_optimizer_rate(weft_optimizer_create(net.graph, rules[i]));
        assert_fails(weft_scalar_set(rate, -0.1f), WEFT_ERROR_ARGUMENT,
            "weft_scalar_set: the learning rate is -0.1, expected 0 or more and finite");
        assert_fails(weft_scalar_set(rate, NAN), WEFT_ERROR_ARGUMENT, "the learning rate is");
        assert_fails(weft_scalar_set(rate, INFINITY), WEFT_ERROR_ARGUMENT, "the learning rate is");
        float now = 0;
        assert_ok(weft_scalar_get(rate, &now));
        assert_float_equal(now, 0.1f, 0);
        assert_ok(weft_scalar_set(rate, 0));
    }
    assert_ok(weft_scalar_set(weft_scalar(net.graph, "shift", 1), -3));
    weft_graph_release(net.graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rate_out_of_range_is_refused),
        cmocka_unit_test(bad_steps_are_refused),
        cmocka_unit_test(a_rule_out_of_range_is_refused),
        cmocka_unit_test(one_parameter_is_stepped_once_in_a_plan),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
