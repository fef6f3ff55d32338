/* WEFT_LENGTH: what a plan makes of a network at a length is what one has that was built at it. As equal nodes are made
 * once, these are the same nodes: of the value, of a loss, and of its gradients by the input and all parameters. Those of
 * the second are tested by their ops; so these lengths are, too. */
/* test once slow */
#include "ops/op_table.h"
#include "support/free_networks.h"
#include <stdlib.h>

/* At length 1 constructors leave out sums over one element, and add what is as long as the batch. At 2 a plan leaves out
 * factors of 1, but not a count of 1, which is a multiple of the batch. */
enum { SAME_FROM = 2, PLANNED_FROM = 3, BATCH = 2 };

/* ---- the same nodes ---- */

static void give(const free_scene *s, weft_tensor **nodes, size_t count, int64_t length) {
    const wi_given given = free_given(BATCH, length);
    free_give(s->graph, nodes, count, &given);
}

/* What a plan makes of the nodes at the length. */
static free_results rewrite(const free_scene *s, const free_results *of, int64_t length) {
    free_results r = *of;
    const wi_given given = free_given(BATCH, length);
    free_rewrite(s->graph, r.of, r.count, &given);
    return r;
}

static free_scene scene_of_length(void) {
    free_scene s = {.graph = test_graph(), .length = WEFT_LENGTH};
    s.x = weft_input(s.graph, "x", WEFT_F32, WEFT_LENGTH, FREE_WIDTH);
    s.tokens = weft_input(s.graph, "tokens", WEFT_I32, WEFT_LENGTH);
    s.lengths = weft_input(s.graph, "lengths", WEFT_I32);
    return s;
}

static void check_nodes(
    const free_network *n, const free_results *given, const free_results *direct, int64_t length) {
    assert_int_equal(direct->count, given->count);
    const weft_graph *const graph = weft_tensor_graph(direct->of[0]);
    const size_t other = free_other_node(graph, given->of, direct->of, given->count, BATCH);
    if (other == given->count) return;
    print_error("%s at length %d: result %zu is another node\n", n->name, (int)length, other);
    fail();
}

/* Their difference, and how large they are, as one number. */
static weft_tensor *distance(weft_tensor *a, weft_tensor *b) {
    if (weft_tensor_rank(a) == 0) return weft_abs(weft_sub(a, b));
    return weft_max(weft_abs(weft_sub(a, b)));
}

static void check_values(
    const free_network *n, const free_scene *fixed, const free_results *given, const free_results *direct) {
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH};
    float x[BATCH * FREE_WIDTH], distances[FREE_RESULTS];
    const int32_t tokens[BATCH] = {3, 4}, lengths[BATCH] = {0, 0}, ones[BATCH] = {1, 1};
    weft_tensor *outputs[FREE_RESULTS];
    size_t which[FREE_RESULTS], count = 0;
    weft_plan *plan = NULL;
    for (size_t i = 0; i < given->count; i++) { /* equal nodes have equal values */
        if (free_other_node(fixed->graph, &given->of[i], &direct->of[i], 1, BATCH)) continue;
        which[count] = i;
        outputs[count++] = distance(given->of[i], direct->of[i]);
    }
    if (count == 0) return;
    for (int i = 0; i < BATCH * FREE_WIDTH; i++) x[i] = (float)(i * i % 7 - 3) * 0.25f + 0.1f;
    assert_weft_ok(weft_plan_create(&plan, outputs, count, &options));
    (void)weft_plan_write(plan, fixed->x, x, sizeof x); /* what does not depend on it has no input of it */
    (void)weft_plan_write(plan, fixed->tokens, tokens, sizeof tokens);
    (void)weft_plan_write(plan, fixed->lengths, n->takes_places ? lengths : ones, sizeof lengths);
    assert_weft_ok(weft_plan_run(plan));
    for (size_t i = 0; i < count; i++) {
        assert_weft_ok(weft_plan_read(plan, outputs[i], &distances[i], sizeof *distances));
        if (distances[i] <= 2e-5f) continue;
        print_error("%s: result %zu differs by %g\n", n->name, which[i], (double)distances[i]);
        fail();
    }
    weft_plan_release(plan);
}

static void check_length(const free_network *n, const free_scene *s, const free_results *r, int64_t length) {
    free_results given = *r;
    free_scene fixed = {
        .graph = s->graph, .length = length, .x = s->x, .tokens = s->tokens, .lengths = s->lengths};
    give(s, &fixed.x, 1, length);
    give(s, &fixed.tokens, 1, length);
    const free_results direct =
        free_build(n, &fixed, fixed.x); /* first: gradients are added up in the order of their nodes */
    give(s, given.of, given.count, length);
    if (length >= PLANNED_FROM) {
        const free_results planned = rewrite(s, r, length), planned_direct = rewrite(s, &direct, length);
        check_nodes(n, &planned, &planned_direct, length);
    }
    if (length >= SAME_FROM)
        check_nodes(n, &given, &direct, length);
    else
        check_values(n, &fixed, &given, &direct);
}

/* ---- every op ---- */

/* Those of the table with a node of their own; maps of code over elements have no sizes of their own, so a few stand for all. */
static const wi_op *const ops[] = {
#define WI_MAP1(name, ...)
#define WI_MAP2(name, ...)
#define WI_MAP3(name, ...)
#define WI_NODE(name) &wi_op_##name,
#define WI_FUNCTION_ROW(name)
#include "ops/op_list.h"
};
enum { OP_COUNT = sizeof ops / sizeof *ops };
static bool met[OP_COUNT];

static void meet(weft_tensor *node, bool *seen) {
    if (seen[node->id]) return;
    seen[node->id] = true;
    for (size_t i = 0; i < OP_COUNT; i++) met[i] |= ops[i] == node->op && node->is_symbolic;
    for (int i = 0; i < node->input_count; i++) meet(node->inputs[i], seen);
}

static void meet_all(const free_scene *s, const free_results *r) {
    bool *const seen = calloc(s->graph->node_count, sizeof *seen);
    assert_non_null(seen);
    for (size_t i = 0; i < r->count; i++) meet(r->of[i], seen);
    free(seen);
}

/* Each node of them draws from a stream of its own: test_length_plans. */
static bool draws(const wi_op *op) {
    return op == &wi_op_uniform || op == &wi_op_normal || op == &wi_op_dropout;
}

static void every_op_takes_it(void **state) {
    int missing = 0;
    (void)state;
    for (size_t i = 0; i < OP_COUNT; i++) {
        if (met[i] || draws(ops[i])) continue;
        print_error("no network of this test has a %s with a length\n", ops[i]->name);
        missing++;
    }
    assert_int_equal(missing, 0);
}

static void nodes_are_those_of_the_length(void **state) {
    static const int64_t lengths[] = {1, 2, 7, 16, 33};
    (void)state;
    for (size_t i = 0; i < free_network_count; i++) {
        const free_scene s = scene_of_length();
        const free_results r = free_build(&free_networks[i], &s, s.x);
        meet_all(&s, &r);
        for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
            if (lengths[k] >= free_networks[i].shortest) check_length(&free_networks[i], &s, &r, lengths[k]);
        weft_graph_release(s.graph);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_are_those_of_the_length), cmocka_unit_test(every_op_takes_it)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
