/* State that moves on the device: copies of variables, scopes that follow others, snapshots, outputs that become inputs. */
#include "support/fixture.h"

#include <math.h>
#include <stdio.h>

static weft_plan *plan_of(weft_tensor *const *outputs, size_t count, int64_t batch) {
    weft_plan *plan = NULL;
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = batch};
    assert_weft_ok(weft_plan_create(&plan, outputs, count, &options));
    return plan;
}

static weft_tensor *line(weft_graph *graph, const char *name, float value, int64_t size) {
    return weft_parameter(graph, name, weft_fill(value), size);
}

/* ---- one variable ---- */

static void variables_are_copied(void **state) {
    (void)state;
    weft_graph *const graph = test_graph(), *const other = test_graph();
    weft_tensor *const a = line(graph, "a", 1, 5), *const b = line(graph, "b", 2, 5),
                       *const c = line(other, "c", 3, 5);
    weft_tensor *const counter = weft_state_shape(graph, "n", WEFT_I32, weft_fill(7), 0, NULL);
    float got[5];
    assert_weft_ok(weft_tensor_copy(a, b));
    assert_weft_ok(weft_tensor_copy(b, c));
    assert_weft_ok(weft_tensor_copy(c, c));
    assert_weft_ok(weft_tensor_read(a, got, sizeof got));
    assert_true(got[0] == 2 && got[4] == 2);
    assert_weft_ok(weft_tensor_read(b, got, sizeof got));
    assert_true(got[0] == 3 && got[4] == 3);
    assert_weft_fails(
        WEFT_ERROR_SHAPE, weft_tensor_copy(a, line(graph, "d", 1, 4)), "'a' is f32 (5)", "'d' is f32 (4)");
    assert_weft_fails(WEFT_ERROR_SHAPE, weft_tensor_copy(a, counter), "'n' is i32 ()");
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_tensor_copy(a, weft_neg(b)), "a neg is neither");
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_tensor_copy(NULL, b), "NULL");
    weft_context *const context = test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT});
    weft_tensor *const far = line(weft_context_graph(context), "far", 1, 5);
    assert_weft_fails(
        WEFT_ERROR_ARGUMENT, weft_tensor_copy(a, far), "'a' and 'far' belong to different contexts");
    weft_context_release(context);
    weft_graph_release(graph);
    weft_graph_release(other);
}

/* ---- scopes ---- */

static weft_tensor *network(weft_graph *graph, const char *scope, weft_tensor *x) {
    assert_weft_ok(weft_scope_begin(graph, scope, true));
    weft_tensor *const hidden = weft_batch_norm_layer(
        weft_linear(x, 5), &(weft_batch_norm_options){WEFT_BATCH_NORM_OPTIONS_INIT, .cumulative = true});
    weft_tensor *const y = weft_linear(weft_relu(hidden), 3);
    assert_weft_ok(weft_scope_end(graph));
    return y;
}

static void read_named(weft_graph *graph, const char *name, float *values, size_t count) {
    assert_weft_ok(weft_tensor_read(weft_graph_find(graph, name), values, count * sizeof *values));
}

/* The target's weights beside 0.75 of its old ones and 0.25 of the online network's. */
static void assert_followed(
    weft_graph *graph, const char *rest, const float *old, size_t count, float factor) {
    char name[64];
    float online[32], target[32];
    (void)snprintf(name, sizeof name, "online.%s", rest);
    read_named(graph, name, online, count);
    (void)snprintf(name, sizeof name, "target.%s", rest);
    read_named(graph, name, target, count);
    for (size_t i = 0; i < count; i++) {
        const float wanted = (1 - factor) * old[i] + factor * online[i];
        if (!(fabsf(target[i] - wanted) <= 1e-6f * (1 + fabsf(wanted))))
            fail_msg("%s[%zu] is %g, not %g", name, i, (double)target[i], (double)wanted);
    }
}

static void a_scope_follows_another(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 4);
    weft_tensor *const online = network(graph, "online", x), *const target = network(graph, "target", x);
    weft_tensor *const soft = weft_scope_copy(graph, "online", "target", 0.25f), *const hard =
                                                                                     weft_scope_copy(graph,
                                                                                         "online", "target",
                                                                                         1);
    weft_plan *const learn = plan_of(&online, 1, 8), *const follow = plan_of(&soft, 1, 1),
                     *const copy = plan_of(&hard, 1, 1);
    float numbers[32] = {1, 2, 3, 4, -5, 6}, weight[20], mean[5], same[2][15];
    int32_t batches = 0;
    (void)target;
    assert_weft_ok(weft_plan_write(learn, x, numbers, sizeof numbers));
    assert_weft_ok(weft_plan_run(learn)); /* moves the running statistics */
    read_named(graph, "target.linear1.weight", weight, 20);
    read_named(graph, "target.batchnorm1.running_mean", mean, 5);
    assert_weft_ok(weft_plan_run(follow));
    assert_followed(graph, "linear1.weight", weight, 20, 0.25f);
    assert_followed(graph, "batchnorm1.running_mean", mean, 5, 0.25f);
    assert_weft_ok(
        weft_tensor_read(weft_graph_find(graph, "target.batchnorm1.num_batches_tracked"), &batches, 4));
    assert_int_equal(batches, 1);
    assert_weft_ok(weft_plan_run(copy));
    read_named(graph, "online.linear2.weight", same[0], 15);
    read_named(graph, "target.linear2.weight", same[1], 15);
    assert_memory_equal(same[0], same[1], sizeof same[0]);
    weft_plan_release(learn);
    weft_plan_release(follow);
    weft_plan_release(copy);
    weft_graph_release(graph);
}

/* All parameters of a network that lie side by side are one launch, and one more that puts them in place. */
static void parameters_side_by_side_are_one_loop(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 4);
    for (int k = 0; k < 2; k++) {
        assert_weft_ok(weft_scope_begin(graph, k ? "b" : "a", true));
        (void)weft_linear(weft_linear(weft_linear(x, 7), 5), 3);
        assert_weft_ok(weft_scope_end(graph));
    }
    weft_tensor *const follow = weft_scope_copy(graph, "a", "b", 0.1f);
    weft_plan *const plan = plan_of(&follow, 1, 1);
    weft_plan_info info;
    assert_weft_ok(weft_plan_get_info(plan, &info));
    assert_true(info.launches <= 2);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

#define assert_copy_fails(status, from, to, factor, ...)                                                     \
    do {                                                                                                     \
        weft_graph *const graph = test_graph();                                                              \
        (void)line(graph, "a.w", 1, 4), (void)line(graph, "b.w", 1, 4), (void)line(graph, "c.w", 1, 5);      \
        (void)line(graph, "d.v", 1, 4);                                                                      \
        assert_null(weft_scope_copy(graph, from, to, factor));                                               \
        assert_weft_fails(status, weft_graph_status(graph), __VA_ARGS__);                                    \
        weft_graph_release(graph);                                                                           \
    } while (0)

static void scopes_that_do_not_match_are_refused(void **state) {
    (void)state;
    assert_copy_fails(WEFT_ERROR_ARGUMENT, "e", "b", 1, "no parameter or state in scope 'e'");
    assert_copy_fails(WEFT_ERROR_ARGUMENT, "a", "d", 1, "scope 'd' has no tensor that corresponds to 'a.w'");
    assert_copy_fails(WEFT_ERROR_SHAPE, "a", "c", 1, "'a.w' is f32 (4)", "'c.w' is f32 (5)");
    assert_copy_fails(WEFT_ERROR_ARGUMENT, "a", "a", 1, "from and to are both");
    assert_copy_fails(WEFT_ERROR_ARGUMENT, "a", "b", 0, "factor is 0");
    assert_copy_fails(WEFT_ERROR_ARGUMENT, "a", "b", 1.5f, "factor is 1.5");
    assert_copy_fails(WEFT_ERROR_ARGUMENT, "a", "b", NAN, "factor is");
    assert_copy_fails(WEFT_ERROR_ARGUMENT, "a", NULL, 1, "not NULL");
    assert_null(weft_scope_copy(NULL, "a", "b", 1));
}

/* ---- snapshots ---- */

typedef struct training {
    weft_graph *graph;
    weft_tensor *x, *loss, *rate;
    weft_plan *plan;
} training;

static training make_training(void) {
    training t = {.graph = test_graph()};
    t.x = weft_input(t.graph, "x", WEFT_F32, 4);
    weft_tensor *const y = weft_linear(weft_dropout(weft_relu(weft_linear(t.x, 16)), 0.5f), 1);
    weft_tensor *outputs[WEFT_MAX_UPDATES + 1] = {t.loss = weft_mean(weft_square(y))};
    const weft_optimizer adam = weft_adam(0.05f);
    size_t count;
    assert_weft_ok(weft_minimize(t.loss, &adam, outputs + 1, WEFT_MAX_UPDATES, &count));
    t.rate = weft_minimize_rate(t.graph);
    t.plan = plan_of(outputs, count + 1, 8);
    float numbers[32];
    for (int i = 0; i < 32; i++) numbers[i] = sinf((float)i);
    assert_weft_ok(weft_plan_write(t.plan, t.x, numbers, sizeof numbers));
    return t;
}

enum { STEPS = 4 };

static void run_steps(const training *t, float losses[STEPS]) {
    for (int i = 0; i < STEPS; i++) {
        assert_weft_ok(weft_plan_run(t->plan));
        assert_weft_ok(weft_plan_read(t->plan, t->loss, &losses[i], sizeof *losses));
    }
}

/* Moments, counters, dropout's numbers and the rate are as they were: the same bits come again. */
static void training_goes_on_from_a_snapshot(void **state) {
    (void)state;
    const training t = make_training();
    weft_snapshot *snapshot = NULL;
    float losses[3][STEPS], rate;
    assert_weft_ok(weft_snapshot_create(&snapshot, t.graph));
    assert_weft_fails(WEFT_ERROR_STATE, weft_snapshot_restore(snapshot), "the snapshot is empty");
    run_steps(&t, losses[0]);
    assert_weft_ok(weft_snapshot_take(snapshot));
    run_steps(&t, losses[0]);
    assert_weft_ok(weft_scalar_set(t.rate, 0.5f));
    for (int again = 1; again < 3; again++) {
        assert_weft_ok(weft_snapshot_restore(snapshot));
        run_steps(&t, losses[again]);
        assert_memory_equal(losses[0], losses[again], sizeof losses[0]);
    }
    assert_weft_ok(weft_scalar_get(t.rate, &rate));
    assert_true(rate == 0.05f);
    weft_plan_release(t.plan);
    weft_graph_release(t.graph); /* the snapshot holds it */
    assert_weft_ok(weft_snapshot_restore(snapshot));
    weft_snapshot_release(snapshot);
    weft_snapshot_release(NULL);
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_snapshot_create(NULL, NULL), "NULL");
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_snapshot_take(NULL), "NULL");
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_snapshot_restore(NULL), "NULL");
}

/* What came later keeps its value when an older state comes back, and the next take has it. */
static void a_snapshot_grows_with_its_graph(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const a = line(graph, "a", 1, 4);
    const float five[4] = {5, 5, 5, 5};
    float got[4];
    weft_snapshot *snapshot = NULL;
    assert_weft_ok(weft_snapshot_create(&snapshot, graph));
    assert_weft_ok(weft_snapshot_take(snapshot));
    weft_tensor *const b = line(graph, "b", 2, 4);
    assert_weft_ok(weft_tensor_write(a, five, sizeof five));
    assert_weft_ok(weft_tensor_write(b, five, sizeof five));
    assert_weft_ok(weft_snapshot_restore(snapshot));
    assert_weft_ok(weft_tensor_read(a, got, sizeof got));
    assert_true(got[0] == 1);
    assert_weft_ok(weft_tensor_read(b, got, sizeof got));
    assert_true(got[0] == 5);
    assert_weft_ok(weft_snapshot_take(snapshot));
    assert_weft_ok(weft_tensor_copy(b, a));
    assert_weft_ok(weft_snapshot_restore(snapshot));
    assert_weft_ok(weft_tensor_read(b, got, sizeof got));
    assert_true(got[0] == 5);
    weft_snapshot_release(snapshot);
    weft_graph_release(graph);
}

/* ---- inputs ---- */

static void inputs_are_found_by_name(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 4), *const y = weft_input(graph, "y", WEFT_I32);
    (void)weft_input(graph, "x", WEFT_F32, 5);
    (void)line(graph, "w", 1, 4);
    assert_ptr_equal(weft_graph_find_input(graph, "x"), x);
    assert_ptr_equal(weft_graph_find_input(graph, "y"), y);
    assert_null(weft_graph_find_input(graph, "w"));
    assert_null(weft_graph_find_input(graph, "z"));
    assert_null(weft_graph_find_input(graph, NULL));
    assert_null(weft_graph_find_input(NULL, "x"));
    assert_weft_ok(weft_graph_status(graph));
    weft_graph_release(graph);
}

/* x ← x·2 + 1, ten times, without the host. */
static void an_output_becomes_the_next_input(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 3), *const label =
                                                                    weft_input(graph, "label", WEFT_I32);
    weft_tensor *const next = weft_add_number(weft_mul_number(x, 2), 1);
    weft_tensor *const names = weft_argmax(next, 1), *const later = weft_add_number(label, 10);
    weft_plan *const plan = plan_of((weft_tensor *[]){next, names}, 2, 2), *const other =
                                                                               plan_of(&later, 1, 2);
    const float first[6] = {0, 1, 2, 5, 4, 3};
    float got[6];
    int32_t chosen[2];
    assert_weft_fails(WEFT_ERROR_STATE, weft_plan_feed(plan, x, plan, next), "has not run");
    assert_weft_ok(weft_plan_write(plan, x, first, sizeof first));
    for (int run = 0; run < 10; run++) {
        if (run) assert_weft_ok(weft_plan_feed(plan, x, plan, next));
        assert_weft_ok(weft_plan_run(plan));
    }
    assert_weft_ok(weft_plan_read(plan, next, got, sizeof got));
    for (int i = 0; i < 6; i++) assert_true(got[i] == 1024 * first[i] + 1023);
    assert_weft_ok(weft_plan_feed(other, label, plan, names));
    assert_weft_ok(weft_plan_run(other));
    assert_weft_ok(weft_plan_read(other, later, chosen, sizeof chosen));
    assert_true(chosen[0] == 12 && chosen[1] == 10);
    assert_weft_fails(
        WEFT_ERROR_DTYPE, weft_plan_feed(other, label, plan, next), "'label' is i32, but the output is f32");
    assert_weft_fails(
        WEFT_ERROR_ARGUMENT, weft_plan_feed(plan, x, plan, label), "not one of the plan's outputs");
    assert_weft_fails(
        WEFT_ERROR_ARGUMENT, weft_plan_feed(plan, label, plan, names), "not one of the plan's inputs");
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_plan_feed(plan, NULL, plan, names), "NULL");
    weft_plan_release(plan);
    weft_plan_release(other);
    weft_graph_release(graph);
}

static void other_sizes_are_refused(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 3), *const next = weft_neg(x);
    weft_plan *const two = plan_of(&next, 1, 2), *const four = plan_of(&next, 1, 4);
    const float numbers[12] = {0};
    assert_weft_ok(weft_plan_write(two, x, numbers, 24));
    assert_weft_ok(weft_plan_run(two));
    assert_weft_fails(
        WEFT_ERROR_ARGUMENT, weft_plan_feed(four, x, two, next), "48 bytes at batch 4, but 24 were given");
    weft_plan_release(two);
    weft_plan_release(four);
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(variables_are_copied),
        cmocka_unit_test(a_scope_follows_another), cmocka_unit_test(parameters_side_by_side_are_one_loop),
        cmocka_unit_test(scopes_that_do_not_match_are_refused),
        cmocka_unit_test(training_goes_on_from_a_snapshot), cmocka_unit_test(a_snapshot_grows_with_its_graph),
        cmocka_unit_test(inputs_are_found_by_name), cmocka_unit_test(an_output_becomes_the_next_input),
        cmocka_unit_test(other_sizes_are_refused)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
