/* Code that plans of a graph have had serves those after them: a further length or batch writes none of it anew, and what it
 * takes over is right at its own sizes. With the verifier, which tests have, each plan writes the code all the same, and
 * compares. */
#include "base/platform.h"
#include "cl/context.h"
#include "cl/program.h"
#include "graph/nodes.h"
#include "plan/known_code.h"
#include "support/fixture.h"

enum { WORDS = 11, WIDTH = 32, HEADS = 2, INPUTS = 3 };

static weft_tensor *attending(weft_graph *graph) {
    const weft_multi_head_options causal = {WEFT_MULTI_HEAD_OPTIONS_INIT, .causal = true};
    weft_tensor *const tokens = weft_input(graph, "tokens", WEFT_I32, WEFT_LENGTH);
    weft_tensor *x = weft_embedding(tokens, WORDS, WIDTH);
    x = weft_add(x, weft_multi_head_attention(x, x, x, HEADS, &causal));
    return weft_sequence_cross_entropy(weft_linear(weft_layer_norm(x), WORDS), tokens, NULL);
}

static weft_plan *plan_of(weft_tensor *const *outputs, size_t count, int64_t batch, int64_t length) {
    weft_plan *plan;
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = batch, .length = length};
    assert_weft_ok(weft_plan_create(&plan, outputs, count, &options));
    return plan;
}

/* How often code was written in the graph once it was planned so. */
static size_t steps_after(weft_tensor *const *outputs, size_t count, int64_t batch, int64_t length) {
    wi_known_code *known;
    weft_plan_release(plan_of(outputs, count, batch, length));
    assert_weft_ok(wi_known_code_of(outputs[0]->graph, &known));
    return known->step_count;
}

/* All lengths are multiples of 16, and short enough for the same tiles. */
static void another_length_writes_little(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const loss = attending(graph);
    const weft_optimizer rule = weft_adam(0.01f);
    weft_optimizer_state *const adam = weft_optimizer_create(graph, &rule);
    weft_tensor *const outputs[] = {loss, weft_optimizer_minimize(adam, loss, NULL)};
    const size_t first = steps_after(outputs, 2, 2, 64), second = steps_after(outputs, 2, 2, 96),
                 third = steps_after(outputs, 2, 2, 80), again = steps_after(outputs, 2, 2, 64);
    assert_true(first > 10);
    assert_in_range(second, first, first + first / 4);
    assert_in_range(third, second, second + first / 4);
    assert_int_equal(again, third);
    weft_graph_release(graph);
}

/* The mean divides by the batch, which is an argument that follows from it. */
static void a_number_follows_the_batch(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, INPUTS), *const mean = weft_mean(x);
    for (int batch = 1; batch <= 9; batch += 4) {
        float values[9 * INPUTS], got;
        for (int i = 0; i < batch * INPUTS; i++) values[i] = 2;
        weft_plan *const plan = plan_of(&mean, 1, batch, 0);
        assert_weft_ok(weft_plan_write(plan, x, values, (size_t)(batch * INPUTS) * sizeof *values));
        assert_weft_ok(weft_plan_run(plan));
        assert_weft_ok(weft_plan_read(plan, mean, &got, sizeof got));
        assert_float_equal(got, 2, 1e-6);
        weft_plan_release(plan);
    }
    weft_graph_release(graph);
}

/* The text that kernels need before them is made by the first plan alone; by its hash others find their programs. */
static void what_stands_before_kernels_is_remembered(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const loss = attending(graph);
    wi_device *const device = wi_context_device(test_context());
    wi_known_code *known;
    if (wi_environment("WEFT_KERNEL_DIR")) skip(); /* its files may change between plans */
    (void)steps_after(&loss, 1, 2, 64);
    assert_weft_ok(wi_known_code_of(graph, &known));
    const size_t prefixes = known->prefix_count, added = wi_programs_stats(device)->pieces_added;
    assert_in_range(prefixes, 1, WI_KNOWN_PREFIXES);
    assert_non_null(wi_known_prefix_key(known, device, known->prefixes[0].needs));
    (void)steps_after(&loss, 1, 2, 64);
    assert_int_equal(known->prefix_count, prefixes);
    assert_int_equal(wi_programs_stats(device)->pieces_added, added);
    weft_graph_release(graph);
}

/* Plans with and without an update: a value is stored in one, and stays in registers in the other. */
static void plans_of_other_outputs_share(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, INPUTS), *const squares = weft_square(x),
                       *const sums = weft_sum(weft_tanh(squares), 1);
    weft_tensor *const alone[] = {sums}, *const both[] = {sums, squares};
    const size_t first = steps_after(alone, 1, 4, 0), second = steps_after(both, 2, 4, 0);
    assert_true(second > first);
    assert_int_equal(steps_after(alone, 1, 8, 0), second);
    assert_int_equal(steps_after(both, 2, 8, 0), second);
    weft_graph_release(graph);
}

/* The second plan adds numbers that lie apart, where the first one added the same ones to all rows. */
static void strides_tell_code_apart(void **state) {
    enum { BATCH = 2, ROWS = 8, COLUMNS = 32, COUNT = BATCH * ROWS * COLUMNS };
    (void)state;
    static float values[COUNT], got[COUNT];
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, ROWS, COLUMNS),
                       *const row = weft_input(graph, "row", WEFT_F32, 1, COLUMNS),
                       *const turned = weft_input(graph, "turned", WEFT_F32, COLUMNS, ROWS);
    weft_tensor *const first = weft_add(x, row), *const second = weft_add(x, weft_permute(turned, 0, 2, 1));
    weft_plan_release(plan_of(&first, 1, BATCH, 0));
    weft_plan *const plan = plan_of(&second, 1, BATCH, 0);
    for (int i = 0; i < COUNT; i++) values[i] = (float)i;
    assert_weft_ok(weft_plan_write(plan, x, values, sizeof values));
    assert_weft_ok(weft_plan_write(plan, turned, values, sizeof values));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, second, got, sizeof got));
    for (int i = 0; i < COUNT; i++) {
        const int image = i / (ROWS * COLUMNS), r = i / COLUMNS % ROWS, c = i % COLUMNS;
        assert_float_equal(got[i], (float)(i + (image * COLUMNS + c) * ROWS + r), 0);
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* Both have 32 filters: in groups of 16 rows end with whole vectors, in groups of 8 they do not. */
static void groups_tell_code_apart(void **state) {
    (void)state;
    enum { CHANNELS = 32, SIDE = 6 };
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, CHANNELS, SIDE, SIDE);
    for (int groups = 2; groups <= 4; groups += 2) {
        weft_tensor *const weight = weft_parameter(
            graph, groups == 2 ? "two" : "four", weft_he_uniform(), CHANNELS, CHANNELS / groups, 3, 3);
        weft_tensor *const y =
            weft_conv_with(x, weight, NULL, &(weft_conv_options){WEFT_CONV_OPTIONS_INIT, .groups = groups});
        assert_weft_ok(weft_graph_status(graph));
        weft_plan_release(plan_of(&y, 1, 2, 0));
    }
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(another_length_writes_little),
        cmocka_unit_test(a_number_follows_the_batch), cmocka_unit_test(plans_of_other_outputs_share),
        cmocka_unit_test(what_stands_before_kernels_is_remembered), cmocka_unit_test(strides_tell_code_apart),
        cmocka_unit_test(groups_tell_code_apart)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
