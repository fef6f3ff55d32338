/* Optimizers whose rate changes, against their formulas in double precision, on a loss whose gradient is
 * known: the mean over the batch of the sum of (p - x)²/2, so g = p - mean(x). Two parameters of odd sizes
 * lie in the flat buffer. And what is no optimizer. test_optimizer_golden.c follows all of them. */
/* test.least device=least reduced short_launches */
#include "support/checks.h"
#include "support/fixture.h"
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
    const double decay = (double)o->weight_decay;
    if (o->kind == WEFT_ADAMW || o->kind == WEFT_LION)
        e->p -= rate * decay * e->p;
    else
        g += decay * e->p;
    if (o->kind == WEFT_SGD) {
        e->v = t == 1 ? g : (double)o->momentum * e->v + g;
        e->p -= rate * e->v;
        return;
    }
    const double beta1 = (double)o->beta1, beta2 = (double)o->beta2;
    if (o->kind == WEFT_LION) {
        const double blend = beta1 * e->m + (1.0 - beta1) * g;
        e->p -= rate * ((blend > 0) - (blend < 0));
        e->m = beta2 * e->m + (1.0 - beta2) * g;
        return;
    }
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

static void the_rate_may_change_between_runs(void **state) {
    (void)state;
    weft_optimizer decayed = weft_adam(0.05f);
    decayed.weight_decay = 0.2f;
    follow(test_context(), weft_sgd_momentum(0.1f, 0.8f, 0.3f), 0.02f);
    follow(test_context(), decayed, 0.01f);
}

/* A decoupled decay shrinks the parameters and stays out of the gradient. */
static void decay_may_be_decoupled(void **state) {
    (void)state;
    follow(test_context(), weft_adamw(0.05f, 0.4f), 0.02f);
    follow(test_context(), weft_lion(0.05f, 0.4f), 0.02f);
}

/* ---- centered RMSprop: gradients that hardly change, or not at all ---- */

enum { LONG = 3000 };

/* Parameters whose gradient is what the program writes. */
static weft_plan *plan_for_gradients(
    weft_graph *graph, weft_optimizer rule, weft_precision precision, weft_tensor **x) {
    weft_plan *plan = NULL;
    assert_ok(weft_graph_set_precision(graph, precision));
    weft_tensor *const p = weft_parameter(graph, "p", weft_zeros(), FIRST);
    *x = weft_input_shape(graph, "x", WEFT_F32, 1, (const int64_t[]){FIRST});
    weft_tensor *const update = weft_train_step(weft_sum(weft_mul(p, *x)), rule, NULL);
    assert_ok(weft_plan_create(&plan, &update, 1, NULL));
    return plan;
}

static double next_step(weft_plan *plan, weft_graph *graph, weft_tensor *x, float gradient, double *before) {
    float gradients[FIRST], p[FIRST];
    for (int i = 0; i < FIRST; i++) gradients[i] = gradient;
    assert_ok(weft_plan_write(plan, x, gradients, sizeof gradients));
    assert_ok(weft_plan_run(plan));
    assert_ok(weft_tensor_read(weft_graph_find(graph, "p"), p, sizeof p));
    for (int i = 1; i < FIRST; i++) assert_true(p[i] == p[0]);
    const double step = *before - (double)p[0];
    *before = (double)p[0];
    return step;
}

static void a_constant_gradient_takes_bounded_steps(weft_precision precision, float gradient) {
    weft_optimizer rule = weft_rmsprop(1e-3f);
    weft_tensor *x;
    double at = 0;
    weft_graph *graph = NULL;
    rule.centered = true;
    assert_ok(weft_graph_create(&graph, test_context()));
    weft_plan *const plan = plan_for_gradients(graph, rule, precision, &x);
    for (int t = 0; t < LONG; t++) {
        const double step = next_step(plan, graph, x, gradient, &at);
        if (!(step > 0 && step < 4097e-3)) fail_msg("gradient %g: step %d is %g", (double)gradient, t, step);
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
}

static void constant_gradients_take_bounded_steps(void **state) {
    (void)state;
    const float gradients[] = {1, 0.3f, 0.7f, 1.1f, 0.013f};
    for (size_t i = 0; i < sizeof gradients / sizeof *gradients; i++)
        a_constant_gradient_takes_bounded_steps(WEFT_PRECISION_F32, gradients[i]);
    a_constant_gradient_takes_bounded_steps(WEFT_PRECISION_BF16, 0.75f);
    a_constant_gradient_takes_bounded_steps(WEFT_PRECISION_F16, 0.75f);
}

/* The formula in double precision, in which the difference of the squares keeps its digits. */
static void nearly_constant_gradients_keep_their_variance(void **state) {
    (void)state;
    weft_optimizer rule = weft_rmsprop(1e-3f);
    weft_tensor *x;
    weft_graph *graph = NULL;
    double at = 0, v = 0, mean = 0;
    rule.centered = true;
    assert_ok(weft_graph_create(&graph, test_context()));
    weft_plan *const plan = plan_for_gradients(graph, rule, WEFT_PRECISION_F32, &x);
    for (int t = 0; t < LONG; t++) {
        const float g = 1 + 1e-3f * (float)(t * 7 % 11 - 5);
        const double step = next_step(plan, graph, x, g, &at), ideal = (double)g;
        v = 0.99 * v + 0.01 * ideal * ideal;
        mean = 0.99 * mean + 0.01 * ideal;
        const double wanted = 1e-3 * ideal / (sqrt(v - mean * mean) + 1e-8);
        if (!(fabs(step - wanted) <= 2e-3 * wanted + 1e-6 * fabs(at)))
            fail_msg("step %d is %g, not %g", t, step, wanted);
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* PyTorch's defaults, where weft_optimizer has the field; everything else is 0. */
static void constructors_give_the_defaults(void **state) {
    (void)state;
    const weft_optimizer made[] = {weft_sgd(1), weft_sgd_momentum(1, 0.5f, 0.25f), weft_adam(1),
        weft_adamw(1, 0.01f), weft_nadam(1), weft_rmsprop(1), weft_adagrad(1), weft_adadelta(1),
        weft_lamb(1, 0.01f), weft_lion(1, 0.01f)};
    const weft_optimizer wanted[] = {
        {.kind = WEFT_SGD, .rate = 1},
        {.kind = WEFT_SGD, .rate = 1, .momentum = 0.5f, .weight_decay = 0.25f},
        {.kind = WEFT_ADAM, .rate = 1, .beta1 = 0.9f, .beta2 = 0.999f, .epsilon = 1e-8f},
        {.kind = WEFT_ADAMW,
            .rate = 1,
            .beta1 = 0.9f,
            .beta2 = 0.999f,
            .epsilon = 1e-8f,
            .weight_decay = 0.01f},
        {.kind = WEFT_NADAM,
            .rate = 1,
            .beta1 = 0.9f,
            .beta2 = 0.999f,
            .epsilon = 1e-8f,
            .momentum_decay = 0.004f},
        {.kind = WEFT_RMSPROP, .rate = 1, .rho = 0.99f, .epsilon = 1e-8f},
        {.kind = WEFT_ADAGRAD, .rate = 1, .epsilon = 1e-10f},
        {.kind = WEFT_ADADELTA, .rate = 1, .rho = 0.9f, .epsilon = 1e-6f},
        {.kind = WEFT_LAMB,
            .rate = 1,
            .beta1 = 0.9f,
            .beta2 = 0.999f,
            .epsilon = 1e-6f,
            .weight_decay = 0.01f},
        {.kind = WEFT_LION, .rate = 1, .beta1 = 0.9f, .beta2 = 0.99f, .weight_decay = 0.01f},
    };
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        const weft_optimizer *const a = &made[i], *const b = &wanted[i];
        assert_true(a->kind == b->kind && a->rate == b->rate && a->momentum == b->momentum &&
                    a->weight_decay == b->weight_decay && a->beta1 == b->beta1 && a->beta2 == b->beta2 &&
                    a->epsilon == b->epsilon && a->rho == b->rho && a->momentum_decay == b->momentum_decay);
        assert_true(a->dampening == 0 && a->rate_decay == 0 && a->first_sum == 0 && a->clip_norm == 0 &&
                    a->clip_value == 0 && a->accumulate == 0 && a->average_decay == 0 && !a->groups &&
                    a->group_count == 0 && !a->nesterov && !a->centered && !a->amsgrad);
    }
}

static void the_update_is_one_launch(void **state) {
    (void)state;
    const network net = make_network(test_context());
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

static weft_optimizer with(weft_optimizer optimizer, size_t offset, float value) {
    memcpy((char *)&optimizer + offset, &value, sizeof value);
    return optimizer;
}
#define WITH(optimizer, field, value) with(optimizer, offsetof(weft_optimizer, field), value)

typedef struct bad_value {
    weft_optimizer optimizer;
    const char *part;
} bad_value;

static void refuse(const network *net, const bad_value *rows, size_t count) {
    weft_tensor *updates[WEFT_MAX_UPDATES];
    size_t made = 0;
    for (size_t i = 0; i < count; i++)
        assert_fails(weft_minimize(net->loss, &rows[i].optimizer, updates, WEFT_MAX_UPDATES, &made),
            WEFT_ERROR_ARGUMENT, rows[i].part);
    assert_null(weft_minimize_rate(net->graph)); /* nothing was made on the way */
    assert_int_equal(weft_graph_state_count(net->graph), 0);
}

static void fields_out_of_range_are_refused(void **state) {
    (void)state;
    const network net = make_network(test_context());
    const weft_optimizer adam = weft_adam(1), sgd = weft_sgd(1), grad = weft_adagrad(1);
    weft_optimizer nesterov = sgd, heavy = weft_sgd_momentum(1, 0.5f, 0), unknown = adam, none = adam;
    weft_optimizer centered = adam, amsgrad = weft_lion(1, 0), wrong_nesterov = weft_rmsprop(1);
    nesterov.nesterov = heavy.nesterov = wrong_nesterov.nesterov = true;
    heavy.dampening = 0.1f;
    centered.centered = amsgrad.amsgrad = true;
    unknown.kind = (weft_optimizer_kind)99;
    none.kind = (weft_optimizer_kind)0;
    const bad_value rows[] = {
        {unknown, "kind 99"},
        {none, "kind 0"},
        {WITH(sgd, rate, NAN), "rate is nan, expected 0 or more"},
        {WITH(sgd, rate, -0.1f), "rate is -0.1"},
        {WITH(adam, rate, INFINITY), "rate is inf"},
        {WITH(sgd, momentum, 1), "momentum is 1, expected 0 or more and below 1"},
        {WITH(sgd, momentum, NAN), "momentum"},
        {WITH(sgd, weight_decay, -1), "weight_decay is -1"},
        {WITH(sgd, dampening, 1.5f), "dampening is 1.5"},
        {WITH(sgd, clip_norm, -1), "clip_norm is -1"},
        {WITH(sgd, clip_value, NAN), "clip_value"},
        {WITH(sgd, average_decay, 1), "average_decay is 1"},
        {WITH(sgd, beta1, 0.9f), "beta1 is 0.9, but SGD has no such option: expected 0"},
        {WITH(sgd, epsilon, NAN), "epsilon is nan, but SGD has no such option"},
        {WITH(adam, beta1, 1), "beta1 is 1"},
        {WITH(adam, beta2, -0.5f), "beta2 is -0.5"},
        {WITH(adam, epsilon, -1), "epsilon is -1"},
        {WITH(adam, momentum, 0.9f), "but Adam has no such option"},
        {WITH(weft_rmsprop(1), rho, 1), "rho is 1"},
        {WITH(weft_adadelta(1), epsilon, 0), "epsilon is 0, but Adadelta needs a value above 0"},
        {WITH(weft_lamb(1, 0), epsilon, 0), "epsilon is 0, but LAMB needs a value above 0"},
        {WITH(weft_nadam(1), momentum_decay, -1), "momentum_decay is -1"},
        {WITH(grad, rate_decay, NAN), "rate_decay"},
        {WITH(grad, first_sum, -1), "first_sum is -1"},
        {nesterov, "nesterov needs momentum above 0"},
        {heavy, "nesterov needs momentum above 0 and dampening 0"},
        {wrong_nesterov, "nesterov is set, but RMSprop has no such option"},
        {centered, "centered is set, but Adam has no such option"},
        {amsgrad, "amsgrad is set, but Lion has no such option"},
    };
    refuse(&net, rows, sizeof rows / sizeof *rows);
    weft_graph_release(net.graph);
}

static weft_optimizer grouped(const weft_parameter_group *groups, size_t count) {
    weft_optimizer sgd = weft_sgd(1);
    sgd.groups = groups;
    sgd.group_count = count;
    return sgd;
}

static void groups_out_of_range_are_refused(void **state) {
    (void)state;
    const network net = make_network(test_context());
    const weft_parameter_group groups[] = {{"p", 1, 0}, {"*", 1, 0}, {"r", 1, 0}, {NULL, 1, 0}, {"p", 0, 0},
        {"p", NAN, 0}, {"p", 1, -1}, {"p", INFINITY, 0}, {"p", 1, NAN}, {"", 1, 0}};
    const bad_value rows[] = {
        {grouped(groups + 2, 1), "group 'r': the graph has no parameter of such a name"},
        {grouped(groups + 3, 1), "group 0: parameters must not be NULL"},
        {grouped(groups + 4, 1), "group 'p': rate_factor is 0, expected above 0 (use weft_freeze"},
        {grouped(groups + 5, 1), "rate_factor is nan"},
        {grouped(groups + 6, 1), "group 'p': weight_decay is -1"},
        {grouped(groups + 7, 1), "rate_factor is inf"},
        {grouped(groups + 8, 1), "weight_decay is nan"},
        {grouped(groups + 9, 1), "group '': the graph has no parameter of such a name"},
        {grouped(NULL, 1), "groups is NULL, but group_count is 1"},
    };
    refuse(&net, rows, sizeof rows / sizeof *rows);
    weft_graph_release(net.graph);
}

static void bad_calls_are_refused(void **state) {
    (void)state;
    const network net = make_network(test_context());
    weft_tensor *updates[WEFT_MAX_UPDATES];
    size_t count = 0;
    const weft_optimizer adam = weft_adam(1e-3f);
    assert_fails(weft_minimize(net.loss, &adam, updates, 2, &count), WEFT_ERROR_ARGUMENT,
        "there are 3 updates, but the array updates has room for 2");
    assert_status(weft_minimize(NULL, &adam, updates, 8, &count), WEFT_ERROR_ARGUMENT);
    assert_status(weft_minimize(net.loss, NULL, updates, 8, &count), WEFT_ERROR_ARGUMENT);
    assert_status(weft_minimize(net.loss, &adam, NULL, 8, &count), WEFT_ERROR_ARGUMENT);
    assert_status(weft_minimize(net.loss, &adam, updates, 8, NULL), WEFT_ERROR_ARGUMENT);
    assert_null(weft_minimize_rate(NULL));
    assert_fails(weft_freeze(net.graph, "r", true), WEFT_ERROR_ARGUMENT, "no parameter 'r'");
    assert_status(weft_freeze(NULL, "p", true), WEFT_ERROR_ARGUMENT);
    assert_status(weft_freeze(net.graph, NULL, true), WEFT_ERROR_ARGUMENT);
    assert_status(weft_average_swap(NULL), WEFT_ERROR_ARGUMENT);
    assert_fails(weft_average_swap(net.graph), WEFT_ERROR_STATE, "the optimizer computes no average");
    assert_ok(weft_freeze(net.graph, "*", true));
    assert_fails(weft_minimize(net.loss, &adam, updates, 8, &count), WEFT_ERROR_STATE,
        "every parameter (2) is frozen");
    weft_graph_release(net.graph);

    weft_graph *empty = NULL;
    assert_ok(weft_graph_create(&empty, test_context()));
    weft_tensor *const loss = weft_mean(weft_input(empty, "x", WEFT_F32, 2));
    assert_fails(weft_minimize(loss, &adam, updates, 8, &count), WEFT_ERROR_STATE, "no parameters");
    weft_graph_release(empty);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constant_gradients_take_bounded_steps),
        cmocka_unit_test(nearly_constant_gradients_keep_their_variance),
        cmocka_unit_test(the_rate_may_change_between_runs),
        cmocka_unit_test(decay_may_be_decoupled),
        cmocka_unit_test(constructors_give_the_defaults),
        cmocka_unit_test(the_update_is_one_launch),
        cmocka_unit_test(fields_out_of_range_are_refused),
        cmocka_unit_test(groups_out_of_range_are_refused),
        cmocka_unit_test(bad_calls_are_refused),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
