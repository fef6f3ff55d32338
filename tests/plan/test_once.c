/* What plans for training compute once: steps on constants, states and parameters that they do not change. Results are those
 * of a plan that keeps nothing, bit by bit, and every way to write a variable reaches a plan that has run before. */
/* test slow */
#include "support/fixture.h"

#include "plan/compiled_plan.h"
#include <math.h>
#include <string.h>

enum { NODES = 24, WIDTH = 16, RUNS = 3 };

/* A graph network over an adjacency matrix that is normalised in the graph, and a teacher whose weight is scaled to unit
 * rows. The parameters lie in one block, the teacher's between those that are trained. */
typedef struct network {
    weft_graph *graph;
    weft_tensor *adjacency, *first, *teacher, *second, *x, *loss, *update;
    weft_optimizer_state *optimizer;
} network;

static weft_tensor *normalised(weft_tensor *adjacency) {
    weft_tensor *const degree = weft_sum_axes(adjacency, (const int64_t[]){1, WEFT_END}, true);
    weft_tensor *const root = weft_rsqrt(weft_add_number(degree, 1));
    return weft_mul(weft_mul(adjacency, root), weft_transpose(root));
}

static weft_tensor *unit_rows(weft_tensor *weight) {
    return weft_div(weight, weft_norm_axes(weight, (const int64_t[]){-1, WEFT_END}, true));
}

static network make_network(weft_precision precision) {
    network n = {.graph = test_graph()};
    const weft_optimizer rule = weft_adamw(0.01f, 0.1f);
    assert_weft_ok(weft_graph_set_precision(n.graph, precision));
    n.adjacency = weft_state_shape(
        n.graph, "adjacency", WEFT_F32, weft_init_uniform(0, 1), 2, (const int64_t[]){NODES, NODES});
    n.x = weft_input_shape(n.graph, "x", WEFT_F32, 2, (const int64_t[]){NODES, WIDTH});
    n.first = weft_parameter(n.graph, "first", weft_glorot_uniform(), WIDTH, WIDTH);
    n.teacher = weft_parameter(n.graph, "teacher", weft_glorot_uniform(), WIDTH, WIDTH);
    n.second = weft_parameter(n.graph, "second", weft_glorot_uniform(), WIDTH, WIDTH);
    weft_tensor *const spread = normalised(n.adjacency);
    weft_tensor *const h = weft_tanh(weft_matmul(spread, weft_matmul(n.x, n.first)));
    weft_tensor *const y = weft_matmul(spread, weft_matmul(h, unit_rows(n.second)));
    n.loss = weft_mse(y, weft_matmul(n.x, unit_rows(n.teacher)));
    assert_weft_ok(weft_freeze(n.graph, "teacher", true));
    n.optimizer = weft_optimizer_create(n.graph, &rule);
    n.update = weft_optimizer_minimize(n.optimizer, n.loss, NULL);
    assert_weft_ok(weft_graph_status(n.graph));
    return n;
}

static weft_plan *plan_of(const network *n, weft_tensor *update, size_t memory_limit) {
    static float x[NODES * WIDTH];
    test_random random = test_random_named("once", 1);
    for (int i = 0; i < NODES * WIDTH; i++) x[i] = (float)test_random_between(&random, -1, 1);
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(
        &plan, WEFT_TENSORS(n->loss, update), WEFT_WITH(plan, .memory_limit = memory_limit)));
    assert_weft_ok(weft_plan_write(plan, n->x, x, sizeof x));
    return plan;
}

static float run(weft_plan *plan, const network *n) {
    float loss;
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, n->loss, &loss, sizeof loss));
    return loss;
}

static size_t count_fixed(const weft_plan *plan) {
    size_t count = 0;
    for (size_t i = 0; i < plan->launches.count; i++) count += plan->launches.launches[i].is_fixed;
    return count;
}

/* ---- the same numbers ---- */

typedef void change(const network *n);

static void write_adjacency(const network *n) {
    static float values[NODES * NODES];
    for (int i = 0; i < NODES * NODES; i++) values[i] = (float)(i % 7);
    assert_weft_ok(weft_tensor_write(n->adjacency, values, sizeof values));
}
static void copy_teacher(const network *n) {
    assert_weft_ok(weft_tensor_copy(n->teacher, n->first));
}
static void load_all(const network *n) {
    float values[WIDTH * WIDTH], kept[WIDTH * WIDTH];
    assert_weft_ok(weft_tensor_read(n->teacher, kept, sizeof kept));
    for (int i = 0; i < WIDTH * WIDTH; i++) values[i] = kept[i] * 2 + (float)(i % 3);
    assert_weft_ok(weft_tensor_write(n->teacher, values, sizeof values));
    assert_weft_ok(weft_weights_save(n->graph, test_path("once.safetensors")));
    assert_weft_ok(weft_tensor_write(n->teacher, kept, sizeof kept));
    assert_weft_ok(weft_weights_load(n->graph, test_path("once.safetensors"), NULL));
}
/* Unfrozen, and trained by another plan, whose memory of the parameters is the same. */
static void train_teacher(const network *n) {
    assert_weft_ok(weft_freeze(n->graph, "teacher", false));
    weft_plan *const other = plan_of(n, weft_optimizer_minimize(n->optimizer, n->loss, "teacher"), 0);
    for (int i = 0; i < 2; i++) (void)run(other, n);
    weft_plan_release(other);
}
static change *const changes[] = {write_adjacency, copy_teacher, load_all, train_teacher};
enum { CHANGES = sizeof changes / sizeof *changes };

/* kept: the plan lives through all; else each has a new one, which has kept nothing yet. */
static void train(weft_precision precision, bool kept, float losses[RUNS * (CHANGES + 1)]) {
    const network n = make_network(precision);
    weft_plan *plan = plan_of(&n, n.update, 0);
    assert_true(count_fixed(plan) >= 2);
    for (int i = 0; i < RUNS * (CHANGES + 1); i++) {
        if (i % RUNS == 0 && i > 0) changes[i / RUNS - 1](&n);
        if (!kept) {
            weft_plan_release(plan);
            plan = plan_of(&n, n.update, 0);
        }
        losses[i] = run(plan, &n);
    }
    weft_plan_release(plan);
    weft_graph_release(n.graph);
}

static void what_is_kept_follows_every_write(void **state) {
    static const weft_precision precisions[] = {WEFT_PRECISION_F32, WEFT_PRECISION_BF16, WEFT_PRECISION_F16};
    float wanted[RUNS * (CHANGES + 1)], got[RUNS * (CHANGES + 1)];
    (void)state;
    for (int k = 0; k < 3; k++) {
        train(precisions[k], false, wanted);
        train(precisions[k], true, got);
        for (int i = 0; i < RUNS * (CHANGES + 1); i++)
            if (got[i] != wanted[i])
                fail_msg("precision %d, run %d: the loss is %.9g instead of %.9g", k, i, (double)got[i],
                    (double)wanted[i]);
        for (int i = 1; i <= CHANGES; i++) assert_true(got[i * RUNS] != got[i * RUNS - 1]);
    }
}

static void a_plan_without_it_computes_the_same(void **state) {
    const network n = make_network(WEFT_PRECISION_F32);
    weft_plan *plan = plan_of(&n, n.update, 0);
    weft_plan_info info;
    float losses[RUNS];
    (void)state;
    for (int i = 0; i < RUNS; i++) losses[i] = run(plan, &n);
    assert_weft_ok(weft_plan_get_info(plan, &info));
    weft_plan_release(plan);
    weft_graph_release(n.graph);
    const network small = make_network(WEFT_PRECISION_F32);
    plan = plan_of(&small, small.update, info.total_bytes - 1);
    assert_int_equal(count_fixed(plan), 0);
    for (int i = 0; i < RUNS; i++) assert_true(run(plan, &small) == losses[i]);
    weft_plan_release(plan);
    weft_graph_release(small.graph);
}

/* ---- what is not kept ---- */

static void what_is_much_larger_is_not_kept(void **state) {
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input_shape(graph, "x", WEFT_F32, 2, (const int64_t[]){64, 64});
    weft_tensor *const table =
        weft_state_shape(graph, "table", WEFT_F32, weft_init_uniform(0, 1), 1, (const int64_t[]){64});
    weft_tensor *const all = weft_exp(weft_mul(weft_unsqueeze(table, 1), table)); /* 64 times as large */
    weft_tensor *const outputs[] = {weft_matmul(x, all), weft_matmul(weft_tanh(x), all)};
    weft_plan *plan = NULL;
    (void)state;
    for (int inference = 0; inference < 2; inference++) {
        assert_weft_ok(weft_plan_create(&plan, outputs, 2, WEFT_WITH(plan, .inference = inference != 0)));
        assert_true(inference ? count_fixed(plan) > 0 : count_fixed(plan) == 0);
        weft_plan_release(plan);
    }
    weft_graph_release(graph);
}

/* What the plan itself trains or assigns is computed in every run. */
static void what_the_plan_writes_is_not_kept(void **state) {
    weft_graph *const graph = test_graph();
    weft_tensor *const carried =
        weft_state_shape(graph, "carried", WEFT_F32, weft_fill(1), 2, (const int64_t[]){4, 4});
    weft_tensor *const p = weft_parameter(graph, "p", weft_fill(1), 4, 4);
    weft_tensor *const doubled = weft_mul_number(carried, 2), *const squares = weft_square(p);
    weft_tensor *const loss = weft_sum(weft_matmul(doubled, squares));
    weft_tensor *const outputs[] = {
        loss, weft_assign(carried, doubled), weft_train_step(weft_sum(p), weft_sgd(0.25f), NULL)};
    weft_plan *plan = NULL;
    float values[3];
    (void)state;
    assert_weft_ok(weft_plan_create(&plan, outputs, 3, NULL));
    for (int i = 0; i < 3; i++) {
        assert_weft_ok(weft_plan_run(plan));
        assert_weft_ok(weft_plan_read(plan, loss, &values[i], sizeof values[i]));
    }
    assert_true(values[0] == 128 && values[1] == 144 && values[2] == 128); /* of p 1, 0.75, 0.5 */
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* A concatenation is written by several steps, of which the last depends on constants alone. */
static void a_part_that_is_kept_does_not_keep_the_whole(void **state) {
    static const float minus_two[] = {-2};
    const int64_t one[] = {1};
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input_shape(graph, "x", WEFT_F32, 1, one);
    weft_tensor *const carried = weft_state_shape(graph, "carried", WEFT_F32, weft_fill(0), 1, one);
    weft_tensor *const k = weft_array(graph, WEFT_F32, minus_two, 1, one), *const t = weft_tanh(k);
    weft_tensor *const outputs[] = {weft_sum(weft_concat(WEFT_TENSORS(weft_sub(k, x), t, t), 0)),
        weft_sum(weft_concat(WEFT_TENSORS(weft_sub(k, carried), t, t), 0)),
        weft_assign(carried, weft_add_number(carried, 1))};
    (void)state;
    for (int inference = 0; inference < 2; inference++) {
        weft_plan *plan = NULL;
        assert_weft_ok(weft_plan_create(&plan, outputs, 3, WEFT_WITH(plan, .inference = inference != 0)));
        for (int i = 0; i < 3; i++) {
            float now = (float)i, of_x = 0, of_state = 0;
            const float wanted = -2 - now + 2 * tanhf(-2);
            if (i == 0) assert_weft_ok(weft_tensor_write(carried, &now, sizeof now));
            assert_weft_ok(weft_plan_step(plan, WEFT_VALUES(WEFT_VALUE(x, now), WEFT_VALUE(outputs[0], of_x),
                                                    WEFT_VALUE(outputs[1], of_state))));
            assert_float_equal(of_x, wanted, 1e-5);
            assert_float_equal(of_state, wanted, 1e-5);
        }
        weft_plan_release(plan);
    }
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_kept_follows_every_write),
        cmocka_unit_test(a_plan_without_it_computes_the_same),
        cmocka_unit_test(what_is_much_larger_is_not_kept),
        cmocka_unit_test(what_the_plan_writes_is_not_kept),
        cmocka_unit_test(a_part_that_is_kept_does_not_keep_the_whole),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
