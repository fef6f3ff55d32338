/* Each optimizer against its formula in double precision, on a loss whose gradient is known: the mean over
 * the batch of the sum of (p - x)²/2, so g = p - mean(x). Two parameters of odd sizes lie in the flat buffer.
 */
#include "support/checks.h"
#include <math.h>
#include <weft/weft.h>

enum { FIRST = 5, SECOND = 3, SIZE = FIRST + SECOND, STEPS = 12 };

typedef struct network {
    weft_graph *graph;
    weft_tensor *x, *y, *loss;
} network;

static weft_tensor *half_square(weft_tensor *p, weft_tensor *x) {
    weft_tensor *const d = weft_square(weft_sub(p, x));
    return weft_mul(weft_mean(weft_sum(d, 1)), weft_number(d, 0.5));
}

static network make_network(weft_context *context) {
    network net;
    assert_ok(weft_graph_create(&net.graph, context));
    weft_tensor *const p = weft_parameter(net.graph, "p", weft_fill(1.0f), FIRST);
    weft_tensor *const q = weft_parameter(net.graph, "q", weft_fill(-2.0f), SECOND);
    net.x = weft_input(net.graph, "x", WEFT_F32, FIRST);
    net.y = weft_input(net.graph, "y", WEFT_F32, SECOND);
    net.loss = weft_add(half_square(p, net.x), half_square(q, net.y));
    assert_ok(weft_graph_status(net.graph));
    return net;
}

/* The reference: one element. */
typedef struct element {
    double p, m, v;
} element;

static void reference_step(element *e, double g, int t, double rate, const weft_optimizer *o) {
    g += (double)o->weight_decay * e->p;
    if (o->kind == WEFT_SGD) {
        e->v = t == 1 ? g : (double)o->momentum * e->v + g;
        e->p -= rate * e->v;
        return;
    }
    const double beta1 = (double)o->beta1, beta2 = (double)o->beta2;
    e->m = beta1 * e->m + (1.0 - beta1) * g;
    e->v = beta2 * e->v + (1.0 - beta2) * g * g;
    const double m = e->m / (1.0 - pow(beta1, t)), v = e->v / (1.0 - pow(beta2, t));
    e->p -= rate * m / (sqrt(v) + (double)o->epsilon);
}

static void compare(const network *net, const element *expected) {
    float p[FIRST], q[SECOND];
    assert_ok(weft_tensor_read(weft_graph_find(net->graph, "p"), p, sizeof p));
    assert_ok(weft_tensor_read(weft_graph_find(net->graph, "q"), q, sizeof q));
    for (size_t i = 0; i < SIZE; i++) {
        const double got = (double)(i < FIRST ? p[i] : q[i - FIRST]);
        if (fabs(got - expected[i].p) <= 2e-5 * fmax(1.0, fabs(expected[i].p))) continue;
        print_error("element %zu: %.9g instead of %.9g\n", i, got, expected[i].p);
        fail();
    }
}

static void follow(weft_context *context, weft_optimizer optimizer, float second_rate) {
    const network net = make_network(context);
    weft_tensor *updates[WEFT_MAX_UPDATES];
    weft_plan *plan = NULL;
    size_t count = 0;
    element expected[SIZE] = {{0}};
    for (size_t i = 0; i < SIZE; i++) expected[i].p = i < FIRST ? 1.0 : -2.0;
    assert_null(weft_minimize_rate(net.graph));
    assert_ok(weft_minimize(net.loss, &optimizer, updates, WEFT_MAX_UPDATES, &count));
    assert_non_null(weft_minimize_rate(net.graph));
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = 2};
    assert_ok(weft_plan_create(&plan, updates, count, &options));
    for (int t = 1; t <= STEPS; t++) {
        float x[2][FIRST], y[2][SECOND];
        const float rate = t > STEPS / 2 ? second_rate : optimizer.rate;
        if (t == STEPS / 2 + 1) assert_ok(weft_scalar_set(weft_minimize_rate(net.graph), second_rate));
        for (size_t i = 0; i < SIZE; i++) {
            const float a = (float)((i * 5 + (size_t)t * 3) % 7) * 0.5f, b = (float)i * 0.25f;
            *(i < FIRST ? &x[0][i] : &y[0][i - FIRST]) = a;
            *(i < FIRST ? &x[1][i] : &y[1][i - FIRST]) = b;
            reference_step(
                &expected[i], expected[i].p - ((double)a + (double)b) / 2.0, t, (double)rate, &optimizer);
        }
        assert_ok(weft_plan_write(plan, net.x, x, sizeof x));
        assert_ok(weft_plan_write(plan, net.y, y, sizeof y));
        assert_ok(weft_plan_run(plan));
        compare(&net, expected);
    }
    weft_plan_release(plan);
    weft_graph_release(net.graph);
}

static void sgd_is_its_formula(void **state) {
    follow(*state, weft_sgd(0.1f), 0.02f);
    follow(*state, weft_sgd_momentum(0.1f, 0.9f, 0.0f), 0.02f);
    follow(*state, weft_sgd_momentum(0.1f, 0.0f, 0.3f), 0.02f);
    follow(*state, weft_sgd_momentum(0.1f, 0.8f, 0.3f), 0.02f);
}

static void adam_is_its_formula(void **state) {
    weft_optimizer decayed = weft_adam(0.05f);
    decayed.weight_decay = 0.2f;
    weft_optimizer unusual = weft_adam(0.05f);
    unusual.beta1 = 0.5f;
    unusual.beta2 = 0.75f;
    unusual.epsilon = 0.1f;
    follow(*state, weft_adam(0.05f), 0.01f);
    follow(*state, decayed, 0.01f);
    follow(*state, unusual, 0.01f);
}

static void the_update_is_one_launch(void **state) {
    const network net = make_network(*state);
    weft_tensor *updates[WEFT_MAX_UPDATES];
    weft_plan *plan = NULL, *gradients = NULL;
    weft_plan_info with, without;
    size_t count = 0;
    const weft_optimizer adam = weft_adam(0.01f);
    weft_tensor *const wrt[] = {weft_graph_find(net.graph, "p"), weft_graph_find(net.graph, "q")};
    weft_tensor *g[2];
    assert_ok(weft_gradients(net.loss, wrt, 2, g));
    assert_ok(weft_plan_create(&gradients, g, 2, NULL));
    assert_ok(weft_minimize(net.loss, &adam, updates, WEFT_MAX_UPDATES, &count));
    assert_ok(weft_plan_create(&plan, updates, count, NULL));
    assert_ok(weft_plan_get_info(gradients, &without));
    assert_ok(weft_plan_get_info(plan, &with));
    assert_true(with.launches <= without.launches + 1);
    weft_plan_release(plan);
    weft_plan_release(gradients);
    weft_graph_release(net.graph);
}

static void bad_values_are_refused(void **state) {
    const network net = make_network(*state);
    weft_tensor *updates[WEFT_MAX_UPDATES];
    size_t count = 0;
    weft_optimizer bad[7] = {weft_adam(NAN), weft_sgd(-0.1f), weft_sgd_momentum(0.1f, 1.0f, 0.0f),
        weft_sgd_momentum(0.1f, 0.5f, -1.0f), weft_adam(1e-3f), weft_adam(1e-3f), weft_adam(INFINITY)};
    static const char *const parts[7] = {
        "rate", "rate", "momentum", "weight_decay", "beta2", "kind 99", "rate"};
    bad[4].beta2 = 1.0f;
    bad[5].kind = (weft_optimizer_kind)99;
    for (size_t i = 0; i < 7; i++)
        assert_fails(weft_minimize(net.loss, &bad[i], updates, WEFT_MAX_UPDATES, &count), WEFT_ERROR_ARGUMENT,
            parts[i]);
    const weft_optimizer adam = weft_adam(1e-3f);
    assert_fails(
        weft_minimize(net.loss, &adam, updates, 2, &count), WEFT_ERROR_ARGUMENT, "3 updates, room for 2");
    assert_status(weft_minimize(NULL, &adam, updates, 8, &count), WEFT_ERROR_ARGUMENT);
    assert_status(weft_minimize(net.loss, NULL, updates, 8, &count), WEFT_ERROR_ARGUMENT);
    assert_status(weft_minimize(net.loss, &adam, NULL, 8, &count), WEFT_ERROR_ARGUMENT);
    assert_status(weft_minimize(net.loss, &adam, updates, 8, NULL), WEFT_ERROR_ARGUMENT);
    assert_null(weft_minimize_rate(NULL));
    weft_graph_release(net.graph);

    weft_graph *empty = NULL;
    assert_ok(weft_graph_create(&empty, *state));
    weft_tensor *const loss = weft_mean(weft_input(empty, "x", WEFT_F32, 2));
    assert_fails(weft_minimize(loss, &adam, updates, 8, &count), WEFT_ERROR_STATE, "no parameters");
    weft_graph_release(empty);
}

static int open_context(void **state) {
    weft_context *context = NULL;
    assert_ok(weft_context_create(&context, NULL));
    *state = context;
    return 0;
}

static int close_context(void **state) {
    weft_context_release(*state);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sgd_is_its_formula),
        cmocka_unit_test(adam_is_its_formula),
        cmocka_unit_test(the_update_is_one_launch),
        cmocka_unit_test(bad_values_are_refused),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
