/* Optimizers side by side: what each has of its own (rate, counter, moments), whatever losses, plans and gradients
 * it is given. */
#include "support/checks.h"
#include "support/fixture.h"
#include <math.h>
#include <weft/weft.h>

enum { SIZE = 5 };

typedef struct pair {
    weft_graph *graph;
    weft_tensor *a, *b, *loss; /* the sum of all numbers of both, so that each gradient is 1 */
} pair;

static pair make_pair(void) {
    pair p;
    assert_ok(weft_graph_create(&p.graph, test_context()));
    p.a = weft_parameter(p.graph, "a", weft_zeros(), SIZE);
    p.b = weft_parameter(p.graph, "b", weft_zeros(), SIZE + 16);
    p.loss = weft_add(weft_sum(p.a), weft_sum(p.b));
    return p;
}

static void expect_each(weft_tensor *parameter, double wanted) {
    float values[SIZE + 16];
    const size_t count = (size_t)weft_tensor_dimension(parameter, 0);
    assert_ok(weft_tensor_read(parameter, values, count * sizeof *values));
    for (size_t i = 0; i < count; i++) {
        if (fabs((double)values[i] - wanted) > 1e-6)
            fail_msg(
                "%s[%zu] is %g instead of %g", weft_tensor_name(parameter), i, (double)values[i], wanted);
    }
}

/* ---- weft_minimize ---- */

static weft_plan *minimize_all_but(const pair *p, const char *frozen, float rate) {
    weft_tensor *updates[WEFT_MAX_UPDATES];
    weft_plan *plan = NULL;
    size_t count = 0;
    const weft_optimizer sgd = weft_sgd(rate);
    assert_ok(weft_freeze(p->graph, frozen, true));
    assert_ok(weft_minimize(p->loss, &sgd, updates, WEFT_MAX_UPDATES, &count));
    assert_ok(weft_freeze(p->graph, frozen, false));
    assert_ok(weft_plan_create(&plan, updates, count, NULL));
    return plan;
}

/* A generator and a discriminator: the second optimizer changes nothing about the first. */
static void two_optimizers_have_two_rates(void **state) {
    (void)state;
    const pair p = make_pair();
    weft_plan *const of_a = minimize_all_but(&p, "b", 0.5f);
    weft_tensor *const rate_of_a = weft_minimize_rate(p.graph);
    weft_plan *const of_b = minimize_all_but(&p, "a", 0.01f);
    assert_ok(weft_plan_run(of_a));
    assert_ok(weft_plan_run(of_b));
    expect_each(p.a, -0.5);
    expect_each(p.b, -0.01);
    assert_ok(weft_scalar_set(weft_minimize_rate(p.graph), 0.25f));
    assert_ok(weft_plan_run(of_a));
    assert_ok(weft_plan_run(of_b));
    expect_each(p.a, -1);
    expect_each(p.b, -0.26);
    assert_ok(weft_scalar_set(rate_of_a, 0.125f));
    assert_ok(weft_plan_run(of_a));
    expect_each(p.a, -1.125);
    weft_plan_release(of_a);
    weft_plan_release(of_b);
    weft_graph_release(p.graph);
}

/* ---- objects, against their formula in double precision ---- */

enum { PARAMETERS = 4, LARGEST = 40 };
static const int64_t sizes[PARAMETERS] = {5, 21, 16, 40};
static const double targets[PARAMETERS] = {1, -2, 0.5, 3};

/* Half the squared distance of each parameter from a number, scaled: its gradient is scale·(p - target). */
typedef struct network {
    weft_graph *graph;
    weft_tensor *p[PARAMETERS], *losses[PARAMETERS];
} network;

static void add_parameter(network *net, size_t i) {
    static const char *const names[PARAMETERS] = {"base.a", "head.b", "base.c", "head.d"};
    net->p[i] = weft_parameter(net->graph, names[i], weft_fill((float)i * 0.25f), sizes[i]);
    weft_tensor *const away = weft_add_number(net->p[i], -targets[i]);
    net->losses[i] = weft_mul_number(weft_sum(weft_square(away)), 0.5);
}

static network make_network(size_t count) {
    network net = {.graph = test_graph()};
    for (size_t i = 0; i < count; i++) add_parameter(&net, i);
    return net;
}

typedef struct moments {
    double p, m, v;
    int t;
} moments;

static void reference_begin(moments all[PARAMETERS]) {
    for (size_t i = 0; i < PARAMETERS; i++) all[i] = (moments){.p = (double)((float)i * 0.25f)};
}

/* Adam, counted by the caller: t is of this step. */
static void reference_adam(moments *e, double g, double rate) {
    e->t++;
    e->m = 0.9 * e->m + 0.1 * g;
    e->v = 0.999 * e->v + 0.001 * g * g;
    e->p -= rate * (e->m / (1 - pow(0.9, e->t))) / (sqrt(e->v / (1 - pow(0.999, e->t))) + 1e-8);
}

static double gradient_of(const moments *e, size_t i) {
    return e->p - targets[i];
}

static void compare(const network *net, const moments *expected, size_t count) {
    for (size_t i = 0; i < count; i++) {
        float values[LARGEST];
        assert_ok(weft_tensor_read(net->p[i], values, (size_t)sizes[i] * sizeof *values));
        for (int64_t k = 0; k < sizes[i]; k++) {
            if (fabs((double)values[k] - expected[i].p) > 2e-6)
                fail_msg("%s[%d] is %.9g instead of %.9g", weft_tensor_name(net->p[i]), (int)k,
                    (double)values[k], expected[i].p);
        }
    }
}

static weft_plan *plan_of(weft_tensor *output) {
    weft_plan *plan = NULL;
    assert_ok(weft_plan_create(&plan, &output, 1, NULL));
    return plan;
}

/* Two losses over a shared part, in turn: moments and counter go on from plan to plan. A head that comes with the
 * second loss begins at t = 1. */
static void losses_share_one_state(void **state) {
    (void)state;
    const network net = make_network(3);
    const weft_optimizer adam = weft_adam(0.05f);
    weft_optimizer_state *const optimizer = weft_optimizer_create(net.graph, &adam);
    weft_tensor *const twice = weft_mul_number(net.losses[0], 2);
    weft_plan *const plans[2] = {
        plan_of(weft_optimizer_minimize(optimizer, weft_add(net.losses[0], net.losses[1]), NULL)),
        plan_of(weft_optimizer_minimize(optimizer, weft_add(twice, net.losses[2]), NULL))};
    moments e[PARAMETERS];
    reference_begin(e);
    for (int run = 0; run < 9; run++) {
        const int which = run % 3 == 2;
        reference_adam(&e[0], (which ? 2 : 1) * gradient_of(&e[0], 0), 0.05f);
        if (which)
            reference_adam(&e[2], gradient_of(&e[2], 2), 0.05f);
        else
            reference_adam(&e[1], gradient_of(&e[1], 1), 0.05f);
        e[1].t += which; /* counted with what it began with */
        assert_ok(weft_plan_run(plans[which]));
        compare(&net, e, 3);
    }
    for (int i = 0; i < 2; i++) weft_plan_release(plans[i]);
    weft_graph_release(net.graph);
}

/* What another program, or another machine, has computed. */
static void gradients_come_from_the_caller(void **state) {
    (void)state;
    const network net = make_network(2);
    const weft_optimizer adam = weft_adam(0.05f);
    weft_optimizer_state *const optimizer = weft_optimizer_create(net.graph, &adam);
    weft_tensor *gradients[2];
    for (size_t i = 0; i < 2; i++)
        gradients[i] = weft_input_shape(net.graph, i ? "gb" : "ga", WEFT_F32, 1, &sizes[i]);
    weft_tensor *const update = weft_optimizer_step(optimizer, (weft_tensor *const[]){net.p[1], net.p[0]},
        (weft_tensor *const[]){gradients[1], gradients[0]}, 2);
    weft_plan *const plan = plan_of(update);
    moments e[PARAMETERS];
    reference_begin(e);
    for (int run = 0; run < 4; run++) {
        for (size_t i = 0; i < 2; i++) {
            float values[LARGEST];
            for (int64_t k = 0; k < sizes[i]; k++) values[k] = (float)(run + 1) * (i ? -0.25f : 0.5f);
            assert_ok(weft_plan_write(plan, gradients[i], values, (size_t)sizes[i] * sizeof *values));
            reference_adam(&e[i], (double)values[0], 0.05f);
        }
        assert_ok(weft_plan_run(plan));
        compare(&net, e, 2);
    }
    weft_plan_release(plan);
    weft_graph_release(net.graph);
}

/* Parameters that are not neighbours are updated together, and the norm is over all of them. */
static void a_step_has_several_ranges(void **state) {
    (void)state;
    const network net = make_network(4);
    weft_optimizer clipped = weft_sgd(0.5f);
    clipped.clip_norm = 1;
    weft_optimizer_state *const optimizer = weft_optimizer_create(net.graph, &clipped);
    weft_tensor *const loss =
        weft_add(weft_add(net.losses[0], net.losses[1]), weft_add(net.losses[2], net.losses[3]));
    weft_plan *const plan = plan_of(weft_optimizer_minimize(optimizer, loss, "base.*"));
    moments e[PARAMETERS];
    reference_begin(e);
    for (int run = 0; run < 3; run++) {
        const double a = gradient_of(&e[0], 0), c = gradient_of(&e[2], 2);
        const double norm = sqrt((double)sizes[0] * a * a + (double)sizes[2] * c * c);
        const double factor = fmin(1, 1 / (norm + 1e-6));
        e[0].p -= 0.5 * factor * a;
        e[2].p -= 0.5 * factor * c;
        assert_ok(weft_plan_run(plan));
        compare(&net, e, 4);
    }
    weft_plan_release(plan);
    weft_graph_release(net.graph);
}

/* An elementwise rule, and the one that is not, with all that stands around it, in one range and in several: the same bits. */
static void ranges_change_no_bit(void **state) {
    (void)state;
    weft_optimizer kinds[] = {weft_adamw(0.1f, 0.1f), weft_lamb(0.1f, 0.1f)};
    const weft_parameter_group group = {"head.*", 0.5f, 0.25f};
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        float values[2][PARAMETERS][LARGEST] = {{{0}}};
        kinds[kind].accumulate = 2;
        kinds[kind].clip_value = 1.5f;
        kinds[kind].average_decay = 0.9f;
        kinds[kind].groups = &group;
        kinds[kind].group_count = 1;
        for (int apart = 0; apart < 2; apart++) {
            const network net = make_network(4);
            weft_optimizer_state *const optimizer = weft_optimizer_create(net.graph, &kinds[kind]);
            weft_tensor *const loss =
                weft_add(weft_add(net.losses[0], net.losses[1]), weft_add(net.losses[2], net.losses[3]));
            weft_tensor *const updates[] = {weft_optimizer_minimize(optimizer, loss, apart ? "base.*" : NULL),
                apart ? weft_optimizer_minimize(optimizer, loss, "head.*") : NULL};
            weft_plan *plan = NULL;
            assert_ok(weft_plan_create(&plan, updates, apart ? 2 : 1, NULL));
            for (int run = 0; run < 6; run++) assert_ok(weft_plan_run(plan));
            assert_ok(weft_average_swap(net.graph));
            for (size_t i = 0; i < PARAMETERS; i++)
                assert_ok(weft_tensor_read(net.p[i], values[apart][i], (size_t)sizes[i] * sizeof(float)));
            weft_plan_release(plan);
            weft_graph_release(net.graph);
        }
        if (memcmp(values[0], values[1], sizeof values[0]))
            fail_msg("kind %d differs", (int)kinds[kind].kind);
    }
}

/* Later parameters have memory of their own: plans that exist go on, new updates train them from t = 1. */
static void parameters_come_after_the_first_plan(void **state) {
    (void)state;
    network net = make_network(2);
    const weft_optimizer adam = weft_adam(0.05f);
    weft_optimizer_state *const optimizer = weft_optimizer_create(net.graph, &adam);
    weft_tensor *const early = weft_add(net.losses[0], net.losses[1]);
    weft_plan *const first = plan_of(weft_optimizer_minimize(optimizer, early, NULL));
    moments e[PARAMETERS];
    reference_begin(e);
    for (int run = 0; run < 3; run++) {
        for (size_t i = 0; i < 2; i++) reference_adam(&e[i], gradient_of(&e[i], i), 0.05f);
        assert_ok(weft_plan_run(first));
    }
    for (size_t i = 2; i < 4; i++) add_parameter(&net, i);
    weft_tensor *const all = weft_add(early, weft_add(net.losses[2], net.losses[3]));
    weft_plan *const second = plan_of(weft_optimizer_minimize(optimizer, all, NULL));
    for (int run = 0; run < 6; run++) {
        for (size_t i = 0; i < (run % 2 ? 2 : 4); i++) reference_adam(&e[i], gradient_of(&e[i], i), 0.05f);
        assert_ok(weft_plan_run(run % 2 ? first : second));
        compare(&net, e, 4);
    }
    weft_plan_release(first);
    weft_plan_release(second);
    weft_graph_release(net.graph);
}

/* As a generator and a discriminator in one plan: each with its own rate and group of parameters. */
static void two_optimizers_step_in_one_plan(void **state) {
    (void)state;
    const network net = make_network(2);
    const weft_parameter_group groups[] = {{"*", 4, 0}, {"head.*", 2, 0}}; /* the later one counts */
    const weft_optimizer slow = weft_adam(0.01f);
    weft_optimizer fast = weft_sgd(0.125f);
    fast.groups = groups;
    fast.group_count = 2;
    weft_optimizer_state *const of_a = weft_optimizer_create(net.graph, &slow);
    weft_optimizer_state *const of_b = weft_optimizer_create(net.graph, &fast);
    weft_tensor *const updates[] = {weft_optimizer_minimize(of_a, net.losses[0], NULL),
        weft_optimizer_minimize(of_b, net.losses[1], NULL)};
    weft_plan *plan = NULL;
    assert_ok(weft_plan_create(&plan, updates, 2, NULL));
    moments e[PARAMETERS];
    reference_begin(e);
    for (int run = 0; run < 4; run++) {
        const double rate = run < 2 ? 0.125 : 0.25;
        if (run == 2) assert_ok(weft_scalar_set(weft_optimizer_rate(of_b), 0.25f));
        reference_adam(&e[0], gradient_of(&e[0], 0), 0.01f);
        e[1].p -= rate * 2 * gradient_of(&e[1], 1);
        assert_ok(weft_plan_run(plan));
        compare(&net, e, 2);
    }
    weft_plan_release(plan);
    weft_graph_release(net.graph);
}

/* ---- checkpoints ---- */

/* Two optimizers, one with an average and with parameters that came in a second step; another plan of it. */
typedef struct training {
    network net;
    weft_optimizer_state *optimizers[2];
    weft_plan *plans[2];
} training;

static training make_training(void) {
    training t = {.net = make_network(4)};
    weft_optimizer first = weft_adam(0.05f);
    const weft_optimizer second = weft_sgd_momentum(0.01f, 0.9f, 0);
    first.average_decay = 0.9f;
    t.optimizers[0] = weft_optimizer_create(t.net.graph, &first);
    t.optimizers[1] = weft_optimizer_create(t.net.graph, &second);
    weft_tensor *const early = weft_add(t.net.losses[0], t.net.losses[2]), *const late = weft_add(
                                                                               early, t.net.losses[3]);
    weft_tensor *const updates[] = {weft_optimizer_minimize(t.optimizers[0], early, NULL),
        weft_optimizer_minimize(t.optimizers[1], t.net.losses[1], NULL),
        weft_optimizer_minimize(t.optimizers[0], late, NULL)};
    for (int i = 0; i < 2; i++) assert_ok(weft_plan_create(&t.plans[i], updates + i, 2, NULL));
    return t;
}

static void end_training(training *t) {
    for (int i = 0; i < 2; i++) weft_plan_release(t->plans[i]);
    weft_graph_release(t->net.graph);
}

static void run(const training *t, int from, int to) {
    for (int i = from; i < to; i++) assert_ok(weft_plan_run(t->plans[i % 3 == 1]));
}

static void read_all(const training *t, float values[PARAMETERS][LARGEST]) {
    for (size_t i = 0; i < PARAMETERS; i++)
        assert_ok(weft_tensor_read(t->net.p[i], values[i], (size_t)sizes[i] * sizeof(float)));
}

/* The same bits as the training that was not interrupted, averages and rates included. */
static void a_checkpoint_keeps_all_optimizers(void **state) {
    (void)state;
    float wanted[2][PARAMETERS][LARGEST] = {{{0}}}, got[2][PARAMETERS][LARGEST] = {{{0}}};
    training whole = make_training(), begun = make_training(), resumed = make_training();
    training *const parts[] = {&whole, &begun};
    for (int i = 0; i < 2; i++) {
        run(parts[i], 0, 5);
        assert_ok(weft_scalar_set(weft_optimizer_rate(parts[i]->optimizers[1]), 0.02f));
    }
    assert_ok(weft_checkpoint_save(begun.net.graph, test_path("optimizers.ckpt"), NULL, 0));
    assert_ok(weft_checkpoint_load(resumed.net.graph, test_path("optimizers.ckpt"), NULL, 0));
    run(&whole, 5, 11);
    run(&resumed, 5, 11);
    read_all(&whole, wanted[0]);
    read_all(&resumed, got[0]);
    assert_ok(weft_average_swap(whole.net.graph));
    assert_ok(weft_average_swap(resumed.net.graph));
    read_all(&whole, wanted[1]);
    read_all(&resumed, got[1]);
    assert_memory_equal(wanted, got, sizeof wanted);
    assert_memory_not_equal(wanted[0], wanted[1], sizeof wanted[0]);
    end_training(&whole);
    end_training(&begun);
    end_training(&resumed);
}

/* weft_train_step is an optimizer of its own: of the parameters that it names, with its error where there are none. */
static void a_step_in_one_call(void **state) {
    (void)state;
    const network net = make_network(2);
    weft_plan *const plan =
        plan_of(weft_train_step(weft_add(net.losses[0], net.losses[1]), weft_adam(0.1f), "head.*"));
    moments e[PARAMETERS];
    reference_begin(e);
    for (int run = 0; run < 2; run++) {
        reference_adam(&e[1], gradient_of(&e[1], 1), 0.1);
        assert_ok(weft_plan_run(plan));
        compare(&net, e, 2);
    }
    assert_null(weft_train_step(NULL, weft_adam(0.1f), NULL));
    assert_ok(weft_graph_status(net.graph));
    assert_null(weft_train_step(net.losses[0], weft_adam(0.1f), "tail.*"));
    assert_status(weft_graph_status(net.graph), WEFT_ERROR_STATE);
    weft_plan_release(plan);
    weft_graph_release(net.graph);
}

/* A checkpoint of one optimizer is none of two. */
static void a_checkpoint_of_other_optimizers_is_refused(void **state) {
    (void)state;
    const weft_optimizer adam = weft_adam(0.1f);
    const network one = make_network(2), two = make_network(2);
    const network *const nets[] = {&one, &two, &two};
    for (size_t i = 0; i < 3; i++)
        (void)weft_optimizer_minimize(
            weft_optimizer_create(nets[i]->graph, &adam), nets[i]->losses[i % 2], NULL);
    assert_ok(weft_checkpoint_save(one.graph, test_path("one.ckpt"), NULL, 0));
    assert_status(weft_checkpoint_load(two.graph, test_path("one.ckpt"), NULL, 0), WEFT_ERROR_FORMAT);
    weft_graph_release(one.graph);
    weft_graph_release(two.graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_optimizers_have_two_rates),
        cmocka_unit_test(losses_share_one_state),
        cmocka_unit_test(gradients_come_from_the_caller),
        cmocka_unit_test(a_step_has_several_ranges),
        cmocka_unit_test(ranges_change_no_bit),
        cmocka_unit_test(parameters_come_after_the_first_plan),
        cmocka_unit_test(two_optimizers_step_in_one_plan),
        cmocka_unit_test(a_checkpoint_keeps_all_optimizers),
        cmocka_unit_test(a_step_in_one_call),
        cmocka_unit_test(a_checkpoint_of_other_optimizers_is_refused),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
