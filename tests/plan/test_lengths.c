/* One network at several lengths, which plans give. Another length costs planning; it is compiled for only where it is the
 * first that another kernel is better for. The same is true of a network that is built again for each length, in a scope
 * that shares, so that parameters and the state of the optimizer are the same. */
/* test once slow */
#include "cl/context.h"
#include "cl/program.h"
#include "graph/weft_graph.h"
#include "support/fixture.h"

enum { WORDS = 11, WIDTH = 8, HIDDEN = 12, BATCH = 3, HEADS = 2, LONGEST = 31, ROUNDS = 25 };

typedef weft_tensor *build_network(weft_tensor *tokens, int64_t length);

/* ---- networks: i32 (batch, length) → (batch, length, n) ---- */

static weft_tensor *recurrent(weft_tensor *tokens, int64_t length) {
    (void)length;
    return weft_lstm(weft_embedding(tokens, WORDS, WIDTH), HIDDEN, NULL).y;
}

static weft_tensor *attending(weft_tensor *tokens, int64_t length) {
    (void)length;
    const weft_multi_head_options causal = {WEFT_MULTI_HEAD_OPTIONS_INIT, .causal = true};
    weft_tensor *x = weft_embedding(tokens, WORDS, WIDTH);
    x = weft_add(x, weft_multi_head_attention(x, x, x, HEADS, &causal));
    return weft_gelu(weft_layer_norm(x));
}

/* Each step beside the one before it. */
static weft_tensor *moved(weft_tensor *tokens, int64_t length) {
    const int64_t before[] = {0, 1, 0}, after[] = {0, 0, 0};
    weft_tensor *const x = weft_gru(weft_embedding(tokens, WORDS, WIDTH), HIDDEN, NULL).y;
    weft_tensor *const late = weft_pad(weft_slice(x, 1, 0, length - 1), before, after, WEFT_PAD_CONSTANT, 0);
    return weft_concat((weft_tensor *[]){x, late}, 2, 2);
}

/* ---- plans ---- */

/* A network with its loss and update; the length is a number or WEFT_LENGTH. */
typedef struct trained {
    weft_tensor *tokens, *outputs[2];
} trained;

typedef struct at_length {
    trained net;
    int64_t length;
    weft_plan *plan;
} at_length;

/* It learns to repeat its tokens. */
static trained make(weft_graph *graph, weft_optimizer_state *adam, build_network *network, int64_t length) {
    trained t = {.tokens = weft_input(graph, "tokens", WEFT_I32, length)};
    assert_weft_ok(weft_scope_begin(graph, "net", true));
    weft_tensor *const logits = weft_linear(network(t.tokens, length), WORDS);
    assert_weft_ok(weft_scope_end(graph));
    t.outputs[0] = weft_sequence_cross_entropy(logits, t.tokens, NULL);
    t.outputs[1] = weft_optimizer_minimize(adam, t.outputs[0], NULL);
    assert_weft_ok(weft_graph_status(graph));
    return t;
}

static at_length plan(const trained *net, int64_t length) {
    at_length a = {.net = *net, .length = length};
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH, .length = length};
    assert_weft_ok(weft_plan_create(&a.plan, net->outputs, 2, &options));
    return a;
}

static float train(const at_length *a, int round) {
    int32_t tokens[BATCH * LONGEST];
    float loss = 0;
    const int count = BATCH * (int)a->length;
    for (int i = 0; i < count; i++) tokens[i] = (i * i + 7 * round + i) % WORDS;
    assert_weft_ok(weft_plan_write(a->plan, a->net.tokens, tokens, (size_t)count * sizeof *tokens));
    assert_weft_ok(weft_plan_run(a->plan));
    assert_weft_ok(weft_plan_read(a->plan, a->net.outputs[0], &loss, sizeof loss));
    return loss;
}

static size_t compiled(void) {
    return wi_programs_stats(wi_context_device(test_context()))->pieces_added;
}

/* The last lengths find every kernel that they need. Of the two graphs one has the network once, the other builds it for each
 * length: they learn the same, to the last bit, and the second finds all its kernels. */
static void assert_lengths(build_network *network) {
    static const int64_t lengths[] = {5, 9, 17, 6, 7, 11, 12, 19, 23, 24, LONGEST};
    enum { COUNT = sizeof lengths / sizeof *lengths, SEEN = 4 };
    const weft_optimizer rule = weft_adam(0.02f);
    weft_graph *const graph = test_graph(), *const other = test_graph();
    weft_optimizer_state *const adam = weft_optimizer_create(graph, &rule), *const other_adam =
                                                                                weft_optimizer_create(
                                                                                    other, &rule);
    const trained free_net = make(graph, adam, network, WEFT_LENGTH);
    const size_t scalars = graph->scalar_count, parameters = weft_graph_parameter_count(graph);
    at_length of[COUNT], rebuilt[COUNT];
    for (int i = 0; i < COUNT; i++) {
        const size_t before = compiled();
        of[i] = plan(&free_net, lengths[i]);
        if (i > 0) assert_in_range(compiled() - before, 0, i < SEEN ? 4 : 0);
        const size_t between = compiled();
        const trained net = make(other, other_adam, network, lengths[i]);
        rebuilt[i] = plan(&net, lengths[i]);
        assert_int_equal(compiled(), between);
        assert_int_equal(weft_graph_parameter_count(graph), parameters);
        assert_int_equal(graph->scalar_count, scalars); /* one bias correction serves all */
    }
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < COUNT; i++) {
            const float loss = train(&of[i], round), wanted = train(&rebuilt[i], round);
            assert_memory_equal(&loss, &wanted, sizeof loss);
            assert_true(round > 0 || i > 0 || (loss > 1.5f && loss < 4)); /* log 11 is 2.4 */
            assert_true(round < ROUNDS - 1 || loss < 0.5f);
        }
    for (int i = 0; i < COUNT; i++) weft_plan_release(of[i].plan);
    for (int i = 0; i < COUNT; i++) weft_plan_release(rebuilt[i].plan);
    weft_graph_release(graph);
    weft_graph_release(other);
}

/* Kernels are written for lengths that are multiples of 16, or for any other: the second length of either finds them all.
 * Class gpu has more tiles, of which another may be better, and splits more reductions. */
static void lengths_of_a_class_compile_once(void **state) {
    static const int64_t classes[][3] = {{64, 96, 80}, {61, 77, 69}};
    const size_t most = wi_context_device(test_context())->profile.item_walks ? 0 : 4;
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        const weft_optimizer rule = weft_adam(0.02f);
        weft_graph *const graph = test_graph();
        weft_optimizer_state *const adam = weft_optimizer_create(graph, &rule);
        const trained net = make(graph, adam, attending, WEFT_LENGTH);
        for (int i = 0; i < 3; i++) {
            const size_t before = compiled();
            const at_length a = plan(&net, classes[kind][i]);
            assert_true(i == 0 || compiled() - before <= most);
            weft_plan_release(a.plan);
        }
        weft_graph_release(graph);
    }
}

static void lengths_of_recurrent_layers(void **state) {
    (void)state;
    assert_lengths(recurrent);
}

static void lengths_of_attention(void **state) {
    (void)state;
    assert_lengths(attending);
}

static void lengths_of_slices_and_padding(void **state) {
    (void)state;
    assert_lengths(moved);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(lengths_of_a_class_compile_once),
        cmocka_unit_test(lengths_of_recurrent_layers), cmocka_unit_test(lengths_of_attention),
        cmocka_unit_test(lengths_of_slices_and_padding)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
