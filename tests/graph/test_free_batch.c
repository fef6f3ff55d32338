/* A batch axis that is cut: what a plan makes of a network at a batch is what one has that was built with numbers. The batch
 * stands in the place of examples, and in that of the length. Equal nodes are one, but for counts, which plans take as
 * multiples of the batch. */
/* test once */
#include "support/free_networks.h"

/* At batch 3, of which one is cut off, a plan leaves out factors of 1, but not a count of 1, which is a multiple of the batch. */
enum { STEPS = 6, MOST_BATCH = 34, PLANNED_FROM = 4 };

/* The inputs of a network: x, tokens, lengths. */
typedef struct inputs {
    weft_tensor *of[3]; /* (batch, STEPS, FREE_WIDTH), (batch, STEPS), (batch) */
    weft_tensor *ends;  /* (STEPS) */
} inputs;

/* ---- scenes ---- */

/* (batch - 1, STEPS, FREE_WIDTH) */
static free_scene without_first_example(const inputs *in) {
    return (free_scene){.graph = weft_tensor_graph(in->of[0]),
        .length = STEPS,
        .x = weft_slice(in->of[0], 0, 1, WEFT_END),
        .tokens = weft_slice(in->of[1], 0, 1, WEFT_END),
        .lengths = weft_slice(in->of[2], 0, 1, WEFT_END)};
}

/* (STEPS, batch - 1, FREE_WIDTH): the examples are the steps of STEPS sequences. */
static free_scene examples_as_steps(const inputs *in) {
    free_scene s = {.graph = weft_tensor_graph(in->of[0]),
        .x = weft_slice(weft_permute(in->of[0], 1, 0, 2), 1, 0, -1),
        .tokens = weft_slice(weft_permute(in->of[1], 1, 0), 1, 0, -1),
        .lengths = in->ends};
    s.length = weft_tensor_dimension(s.x, 1);
    return s;
}

static inputs make_inputs(weft_graph *graph) {
    return (inputs){{weft_input(graph, "x", WEFT_F32, STEPS, FREE_WIDTH),
                        weft_input(graph, "tokens", WEFT_I32, STEPS), weft_input(graph, "lengths", WEFT_I32)},
        weft_input_shape(graph, "ends", WEFT_I32, 1, (const int64_t[]){STEPS})};
}

/* ---- the same nodes ---- */

static void check_nodes(const free_network *n, weft_graph *graph, const free_results *given,
    const free_results *direct, int64_t batch) {
    assert_int_equal(direct->count, given->count);
    const size_t other = free_other_node(graph, given->of, direct->of, given->count, batch);
    if (other == given->count) return;
    print_error("%s at batch %d: result %zu is another node\n", n->name, (int)batch, other);
    fail();
}

static void check_network(const free_network *n, free_scene (*cut)(const inputs *)) {
    static const int64_t batches[] = {3, 8, MOST_BATCH};
    weft_graph *const graph = test_graph();
    const inputs in = make_inputs(graph);
    const free_scene s = cut(&in);
    const free_results r = free_build(n, &s, in.of[0]);
    for (size_t k = 0; k < sizeof batches / sizeof *batches; k++) {
        const wi_given at = free_given(batches[k], 0);
        inputs fixed = in;
        free_results given = r;
        free_give(graph, fixed.of, 3, &at);
        const free_scene own = cut(&fixed);
        const free_results direct =
            free_build(n, &own, fixed.of[0]); /* first: gradients are added up in the order of nodes */
        free_give(graph, given.of, given.count, &at);
        check_nodes(n, graph, &given, &direct, batches[k]);
        if (batches[k] < PLANNED_FROM) continue;
        free_results planned = r, planned_direct = direct;
        free_rewrite(graph, planned.of, planned.count, &at);
        free_rewrite(graph, planned_direct.of, planned_direct.count, &at);
        check_nodes(n, graph, &planned, &planned_direct, batches[k]);
    }
    weft_graph_release(graph);
}

static void without_an_example(void **state) {
    (void)state;
    for (size_t i = 0; i < free_network_count; i++) check_network(&free_networks[i], without_first_example);
}

static void along_the_examples(void **state) {
    (void)state;
    for (size_t i = 0; i < free_network_count; i++) check_network(&free_networks[i], examples_as_steps);
}

/* Nothing of the batch is left in a sum over it, which is none for a single example. */
static void sum_over_one_example(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    inputs in = make_inputs(graph);
    (void)without_first_example(&in);
    weft_tensor *given = weft_sum(in.of[0], 0), *planned = given;
    assert_false(given->is_symbolic);
    const wi_given one = free_given(1, 0);
    free_give(graph, in.of, 1, &one);
    weft_tensor *direct = weft_sum(in.of[0], 0);
    free_give(graph, &given, 1, &one);
    assert_ptr_equal(given, direct);
    free_rewrite(graph, &planned, 1, &one);
    free_rewrite(graph, &direct, 1, &one);
    assert_ptr_equal(planned, direct);
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(without_an_example),
        cmocka_unit_test(along_the_examples), cmocka_unit_test(sum_over_one_example)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
