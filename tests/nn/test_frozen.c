/* A frozen parameter's gradient counts into nothing, whichever way a step is made: not into the norm that clips, the
 * overflow check, the mean of accumulation or a moment, even where the gradient is huge or no number. */
#include "support/checks.h"
#include "support/fixture.h"
#include <math.h>
#include <string.h>
#include <weft/weft.h>

enum { SIZE = 21, RUNS = 4 };

/* p is trained on half its squared distance from 2; q stands before and r behind it, and are frozen where a test says so. */
typedef struct network {
    weft_graph *graph;
    weft_tensor *q, *p, *r, *loss, *of_q,
        *of_r; /* of_q, of_r: the gradients of q and r where the program passes gradients */
    weft_plan *plan;
} network;

static network make_network(weft_precision precision) {
    network n = {.graph = test_graph()};
    assert_weft_ok(weft_graph_set_precision(n.graph, precision));
    n.q = weft_parameter(n.graph, "q", weft_fill(0.5f), SIZE);
    n.p = weft_parameter(n.graph, "p", weft_fill(-3), SIZE);
    n.r = weft_parameter(n.graph, "r", weft_fill(0.25f), SIZE);
    n.of_q = weft_input_shape(n.graph, "of_q", WEFT_F32, 1, (const int64_t[]){SIZE});
    n.of_r = weft_input_shape(n.graph, "of_r", WEFT_F32, 1, (const int64_t[]){SIZE});
    weft_tensor *const away = weft_add_number(n.p, -2);
    n.loss = weft_mul_number(weft_sum(weft_square(away)), 0.5);
    return n;
}

static void release(network *n) {
    weft_plan_release(n->plan);
    weft_graph_release(n->graph);
}

static weft_tensor *step_of(const network *n, weft_optimizer_state *optimizer) {
    weft_tensor *const parameters[] = {n->r, n->p, n->q};
    weft_tensor *gradients[3] = {n->of_r, NULL, n->of_q};
    assert_weft_ok(weft_gradients(n->loss, (weft_tensor *[]){n->p}, 1, &gradients[1]));
    weft_tensor *const update = weft_optimizer_step(optimizer, parameters, gradients, 3);
    assert_weft_ok(weft_graph_status(n->graph));
    return update;
}

typedef enum way { BY_MINIMIZE, BY_OBJECT, BY_TRAIN_STEP, BY_STEP, WAYS } way;

/* Both inputs are read by each plan, so that they can be written. */
static weft_plan *plan_of(const network *n, weft_tensor **updates, size_t count) {
    weft_plan *plan = NULL;
    updates[count] = weft_sum(weft_add(n->of_q, n->of_r));
    assert_weft_ok(weft_plan_create(&plan, updates, count + 1, NULL));
    return plan;
}

static void make_plan(network *n, weft_optimizer rule, way how) {
    weft_tensor *updates[WEFT_MAX_UPDATES + 1];
    size_t count = 1;
    assert_weft_ok(weft_freeze(n->graph, "q", true));
    assert_weft_ok(weft_freeze(n->graph, "r", true));
    if (how == BY_MINIMIZE)
        assert_weft_ok(weft_minimize(n->loss, &rule, updates, WEFT_MAX_UPDATES, &count));
    else if (how == BY_OBJECT)
        updates[0] = weft_optimizer_minimize(weft_optimizer_create(n->graph, &rule), n->loss, NULL);
    else if (how == BY_TRAIN_STEP)
        updates[0] = weft_train_step(n->loss, rule, NULL);
    else
        updates[0] = step_of(n, weft_optimizer_create(n->graph, &rule));
    n->plan = plan_of(n, updates, count);
}

static void write_each(weft_plan *plan, weft_tensor *input, float value) {
    float values[SIZE];
    for (size_t i = 0; i < SIZE; i++) values[i] = value;
    assert_weft_ok(weft_plan_write(plan, input, values, sizeof values));
}

static void run(weft_plan *plan, const network *n, float of_q, float of_r) {
    write_each(plan, n->of_q, of_q);
    write_each(plan, n->of_r, of_r);
    assert_weft_ok(weft_plan_run(plan));
}

static void read_values(weft_tensor *parameter, float values[SIZE]) {
    assert_weft_ok(weft_tensor_read(parameter, values, SIZE * sizeof *values));
}

static void expect_each(weft_tensor *parameter, double wanted) {
    float values[SIZE];
    read_values(parameter, values);
    for (size_t i = 0; i < SIZE; i++)
        if (!(fabs((double)values[i] - wanted) <= 1e-5 * fmax(1, fabs(wanted))))
            fail_msg(
                "%s[%zu] is %g instead of %g", weft_tensor_name(parameter), i, (double)values[i], wanted);
}

/* ---- every way gives the bits of weft_minimize ---- */

static weft_optimizer rule_of(size_t i) {
    weft_optimizer rules[] = {
        weft_sgd(0.1f), weft_adam(0.1f), weft_lamb(0.1f, 0.1f), weft_sgd_momentum(0.1f, 0.9f, 0.01f)};
    rules[0].clip_norm = 0.5f;
    rules[1].clip_norm = 0.5f;
    rules[1].accumulate = 2;
    rules[2].clip_norm = 2;
    rules[3].average_decay = 0.5f;
    return rules[i];
}
enum { RULES = 4 };

static void train(weft_precision precision, size_t rule, way how, float given, float values[SIZE]) {
    network n = make_network(precision);
    weft_loss_scale scale;
    make_plan(&n, rule_of(rule), how);
    for (int i = 0; i < RUNS; i++) run(n.plan, &n, given, given);
    read_values(n.p, values);
    expect_each(n.q, 0.5);
    expect_each(n.r, 0.25);
    if (precision == WEFT_PRECISION_F16) {
        assert_weft_ok(weft_graph_loss_scale(n.graph, &scale));
        assert_int_equal(scale.skipped_steps, 0);
    }
    release(&n);
}

static void a_frozen_gradient_counts_into_nothing(void **state) {
    static const weft_precision precisions[] = {WEFT_PRECISION_F32, WEFT_PRECISION_F16};
    static const float gradients[] = {1e30f, INFINITY, NAN};
    float wanted[SIZE], got[SIZE];
    (void)state;
    for (size_t k = 0; k < 2; k++)
        for (size_t rule = 0; rule < RULES; rule++) {
            train(precisions[k], rule, BY_MINIMIZE, 0, wanted);
            for (int how = BY_OBJECT; how < WAYS; how++)
                for (size_t i = 0; i < (how == BY_STEP ? 3u : 1u); i++) {
                    train(precisions[k], rule, (way)how, gradients[i], got);
                    if (memcmp(got, wanted, sizeof got) != 0)
                        fail_msg("rule %zu, precision %zu, way %d, gradient %g: p[0] is %.9g instead of %.9g",
                            rule, k, how, (double)gradients[i], (double)got[0], (double)wanted[0]);
                }
        }
}

/* ---- frozen in one step of an optimizer, trained in another ---- */

typedef struct two_steps {
    network n;
    weft_plan *frozen, *trained;
} two_steps;

static two_steps make_two(weft_optimizer rule, weft_precision precision) {
    two_steps t = {.n = make_network(precision)};
    weft_optimizer_state *const optimizer = weft_optimizer_create(t.n.graph, &rule);
    weft_tensor *const trained = step_of(&t.n, optimizer);
    assert_weft_ok(weft_freeze(t.n.graph, "q", true));
    weft_tensor *const frozen = step_of(&t.n, optimizer);
    t.trained = plan_of(&t.n, (weft_tensor *[2]){trained}, 1);
    t.frozen = plan_of(&t.n, (weft_tensor *[2]){frozen}, 1);
    return t;
}

static void release_two(two_steps *t) {
    weft_plan_release(t->trained);
    weft_plan_release(t->frozen);
    release(&t->n);
}

static void accumulation_takes_no_mean_of_what_was_ignored(void **state) {
    weft_optimizer rule = weft_sgd(1);
    (void)state;
    rule.accumulate = 2;
    two_steps t = make_two(rule, WEFT_PRECISION_F32);
    run(t.frozen, &t.n, 1e30f, 4);
    run(t.trained, &t.n, 2, 4);
    expect_each(t.n.q, -0.5); /* by (0 + 2) / 2 */
    expect_each(t.n.r, -3.75);
    release_two(&t);
}

/* The run that updates is one in which q is frozen, and another has added its gradient before. */
static void a_sum_of_before_counts_into_no_norm(void **state) {
    static const weft_precision precisions[] = {WEFT_PRECISION_F32, WEFT_PRECISION_F16};
    static const float sums[] = {0, 1000, INFINITY};
    weft_optimizer rule = weft_sgd(1);
    float values[3][SIZE];
    (void)state;
    rule.accumulate = 2;
    rule.clip_norm = 0.5f;
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < 3; k++) {
            two_steps t = make_two(rule, precisions[i]);
            run(t.trained, &t.n, sums[k], 0);
            run(t.frozen, &t.n, 0, 0);
            read_values(t.n.p, values[k]);
            assert_true(values[k][0] > -3); /* it was no skipped step */
            expect_each(t.n.q, 0.5);
            release_two(&t);
            assert_memory_equal(values[k], values[0], sizeof values[0]);
        }
}

/* PyTorch's: an optimizer passes over parameters without a gradient. */
static void moments_stay_while_a_parameter_is_frozen(void **state) {
    (void)state;
    two_steps t = make_two(weft_sgd_momentum(1, 0.5f, 0), WEFT_PRECISION_F32);
    run(t.trained, &t.n, 1, 1);
    expect_each(t.n.q, -0.5);
    for (int i = 0; i < RUNS; i++) run(t.frozen, &t.n, 1000, 1);
    expect_each(t.n.q, -0.5);
    run(t.trained, &t.n, 1, 1);
    expect_each(t.n.q, -2); /* by 0.5·1 + 1 */
    release_two(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frozen_gradient_counts_into_nothing),
        cmocka_unit_test(accumulation_takes_no_mean_of_what_was_ignored),
        cmocka_unit_test(a_sum_of_before_counts_into_no_norm),
        cmocka_unit_test(moments_stay_while_a_parameter_is_frozen),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
