/* A schedule that belongs to an optimizer: the rate of every update, in whatever plans, after a checkpoint and a snapshot,
 * and what is refused. */
#include "support/checks.h"
#include "support/fixture.h"
#include <math.h>
#include <string.h>
#include <weft/weft.h>

enum { RUNS = 12 };

typedef struct network {
    weft_graph *graph;
    weft_optimizer_state *optimizer;
    weft_plan *plans[2];
} network;

static weft_optimizer rule_of(uint32_t accumulate) {
    weft_optimizer rule = weft_sgd(0.5f);
    rule.schedule = weft_per_step(weft_warmup(weft_cosine_schedule(8, 0.01f), 3, 0.25f));
    rule.accumulate = accumulate;
    return rule;
}

/* Two parameters whose gradients are 1, each with a step and a plan of its own. */
static network make_network(weft_optimizer rule, weft_precision precision) {
    network n = {0};
    assert_ok(weft_graph_create(&n.graph, test_context()));
    assert_ok(weft_graph_set_precision(n.graph, precision));
    n.optimizer = weft_optimizer_create(n.graph, &rule);
    const char *const names[] = {"a", "b"};
    for (int i = 0; i < 2; i++) {
        weft_tensor *const p = weft_parameter(n.graph, names[i], weft_zeros(), 3);
        weft_tensor *const step = weft_optimizer_minimize(n.optimizer, weft_sum(p), names[i]);
        assert_ok(weft_plan_create(&n.plans[i], &step, 1, NULL));
    }
    return n;
}

static void end(const network *n) {
    weft_plan_release(n->plans[0]);
    weft_plan_release(n->plans[1]);
    weft_graph_release(n->graph);
}

static double value_of(const network *n, const char *name) {
    float values[3];
    assert_ok(weft_tensor_read(weft_graph_find(n->graph, name), values, sizeof values));
    assert_true(values[0] == values[1] && values[1] == values[2]);
    return (double)values[0];
}

static double rate_at(const weft_optimizer *rule, float base, uint64_t t) {
    float rate = -1;
    assert_ok(weft_schedule_rate(&rule->schedule, base, t, &rate));
    return (double)rate;
}

static double rate_now(const network *n) {
    float rate = -1;
    assert_ok(weft_scalar_get(weft_optimizer_rate(n->optimizer), &rate));
    return (double)rate;
}

static void assert_near(double got, double wanted) {
    if (!(fabs(got - wanted) <= 1e-6)) fail_msg("%.9g instead of %.9g", got, wanted);
}

static void follow(weft_precision precision, uint32_t accumulate) {
    const weft_optimizer rule = rule_of(accumulate);
    const network n = make_network(rule, precision);
    double wanted = 0;
    for (uint64_t t = 0; t < RUNS; t++) {
        for (uint32_t i = 0; i < accumulate; i++) {
            assert_near(value_of(&n, "a"), wanted);
            assert_ok(weft_plan_run(n.plans[0]));
            assert_near(rate_now(&n), rate_at(&rule, rule.rate, t));
        }
        wanted -= rate_at(&rule, rule.rate, t);
    }
    assert_near(value_of(&n, "a"), wanted);
    end(&n);
}

static void every_update_has_its_rate(void **state) {
    (void)state;
    follow(WEFT_PRECISION_F32, 1);
    follow(WEFT_PRECISION_F32, 3);
    follow(WEFT_PRECISION_BF16, 1);
    follow(WEFT_PRECISION_F16, 1);
}

static void plans_share_the_count_and_the_base(void **state) {
    (void)state;
    const weft_optimizer rule = rule_of(1);
    const network n = make_network(rule, WEFT_PRECISION_F32);
    double wanted[2] = {0, 0};
    for (uint64_t t = 0; t < RUNS; t++) {
        const float base = t < 6 ? rule.rate : 2;
        if (t == 6) assert_ok(weft_scalar_set(weft_optimizer_rate(n.optimizer), base));
        assert_ok(weft_plan_run(n.plans[t % 3 == 0]));
        wanted[t % 3 == 0] -= rate_at(&rule, base, t);
    }
    assert_near(value_of(&n, "a"), wanted[0]);
    assert_near(value_of(&n, "b"), wanted[1]);
    end(&n);
}

static void checkpoints_and_snapshots_keep_the_count(void **state) {
    (void)state;
    const weft_optimizer rule = rule_of(1);
    const network first = make_network(rule, WEFT_PRECISION_F32),
                  second = make_network(rule, WEFT_PRECISION_F32);
    weft_snapshot *snapshot = NULL;
    const char *const path = test_path("scheduled.safetensors");
    assert_ok(weft_scalar_set(weft_optimizer_rate(first.optimizer), 0.75f));
    for (int t = 0; t < 5; t++) assert_ok(weft_plan_run(first.plans[0]));
    assert_ok(weft_checkpoint_save(first.graph, path, NULL, 0));
    assert_ok(weft_checkpoint_load(second.graph, path, NULL, 0));
    assert_ok(weft_snapshot_create(&snapshot, second.graph));
    assert_ok(weft_snapshot_take(snapshot));
    for (int turn = 0; turn < 2; turn++) {
        assert_ok(weft_plan_run(second.plans[0]));
        assert_near(rate_now(&second), rate_at(&rule, 0.75f, 5));
        assert_ok(weft_snapshot_restore(snapshot));
    }
    assert_ok(weft_plan_run(first.plans[0]));
    assert_ok(weft_plan_run(second.plans[0]));
    assert_true(value_of(&first, "a") == value_of(&second, "a"));
    const network plain = make_network(weft_sgd(0.5f), WEFT_PRECISION_F32);
    assert_fails(weft_checkpoint_load(plain.graph, path, NULL, 0), WEFT_ERROR_FORMAT,
        "optimizers with a schedule is 1, but the graph's is 0");
    assert_ok(weft_checkpoint_save(plain.graph, path, NULL, 0));
    assert_fails(
        weft_checkpoint_load(second.graph, path, NULL, 0), WEFT_ERROR_FORMAT, "but the graph's is 1");
    end(&plain);
    weft_snapshot_release(snapshot);
    end(&first);
    end(&second);
}

static void weft_minimize_takes_it_too(void **state) {
    (void)state;
    weft_graph *graph = NULL;
    weft_plan *plan = NULL;
    weft_tensor *updates[WEFT_MAX_UPDATES];
    size_t count = 0;
    weft_optimizer rule = weft_sgd(1);
    rule.schedule = weft_per_step(weft_exponential_schedule(0.5f));
    assert_ok(weft_graph_create(&graph, test_context()));
    weft_tensor *const p = weft_parameter(graph, "p", weft_zeros(), 1);
    assert_ok(weft_minimize(weft_sum(p), &rule, updates, WEFT_MAX_UPDATES, &count));
    assert_ok(weft_plan_create(&plan, updates, count, NULL));
    for (int i = 0; i < 3; i++) assert_ok(weft_plan_run(plan));
    float value = 0;
    assert_ok(weft_tensor_read(p, &value, sizeof value));
    assert_near((double)value, -1.75);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

static void refused(weft_schedule schedule, const char *part) {
    weft_graph *graph = NULL;
    weft_optimizer rule = weft_sgd(1);
    rule.schedule = schedule;
    assert_ok(weft_graph_create(&graph, test_context()));
    assert_null(weft_optimizer_create(graph, &rule));
    assert_fails(weft_graph_status(graph), WEFT_ERROR_ARGUMENT, part);
    weft_graph_release(graph);
}

static void bad_schedules_are_refused(void **state) {
    (void)state;
    refused(weft_cosine_schedule(8, 0), "counts epochs");
    refused(weft_warmup((weft_schedule){0}, 8, 0.5f), "counts epochs");
    refused(weft_plateau_schedule(0.5f, 2), "plateau");
    refused(weft_per_step(weft_cosine_schedule(0, 0)), "period is 0");
    weft_graph *graph = NULL;
    weft_trainer *trainer = NULL;
    assert_ok(weft_graph_create(&graph, test_context()));
    weft_tensor *const loss = weft_sum(weft_parameter(graph, "p", weft_zeros(), 1));
    weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT, .optimizer = rule_of(1)};
    options.schedule = weft_exponential_schedule(0.5f);
    assert_fails(weft_trainer_create(&trainer, loss, &options), WEFT_ERROR_ARGUMENT, "both have a schedule");
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_update_has_its_rate),
        cmocka_unit_test(plans_share_the_count_and_the_base),
        cmocka_unit_test(checkpoints_and_snapshots_keep_the_count),
        cmocka_unit_test(weft_minimize_takes_it_too),
        cmocka_unit_test(bad_schedules_are_refused),
    };
    return test_finish(cmocka_run_group_tests_name("optimizer schedule", tests, NULL, NULL));
}
