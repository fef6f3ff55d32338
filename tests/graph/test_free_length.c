/* WEFT_LENGTH: what a plan makes of a network at a length is what one has that was built at it. As equal nodes are made
 * once, these are the same nodes: of the value, of a loss, and of its gradients by the input and all parameters. Those of
 * the second are tested by their ops; so these lengths are, too. */
#include "graph/rewrite.h"
#include "ops/op_table.h"
#include "support/fixture.h"
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 8, WORDS = 11, ROWS = 40, MOST = 32 };

typedef struct scene {
    weft_graph *graph;
    int64_t length;
    weft_tensor *x, *tokens, *lengths; /* f32 (batch, length, WIDTH), i32 (batch, length), i32 (batch) */
} scene;

/* ---- networks ---- */

static weft_tensor *table(const scene *s) {
    return weft_parameter(s->graph, "table", weft_init_normal(0, 1), ROWS, WIDTH);
}

static weft_tensor *elementwise(const scene *s) {
    return weft_mul(weft_tanh(s->x), weft_add_number(s->x, 2));
}
static weft_tensor *linear(const scene *s) {
    return weft_gelu(weft_linear(weft_relu(weft_linear(s->x, 12)), 5));
}
static weft_tensor *embedding(const scene *s) {
    return weft_embedding(s->tokens, WORDS, WIDTH);
}
static weft_tensor *bag(const scene *s) {
    return weft_embedding_bag(
        s->tokens, WORDS, WIDTH, &(weft_bag_options){WEFT_BAG_OPTIONS_INIT, .mode = WEFT_BAG_MEAN}, NULL);
}
static weft_tensor *positions(const scene *s) {
    weft_tensor *const place = weft_arange(s->graph, WEFT_I32, 0, (double)s->length, 1);
    return weft_add(s->x, weft_embedding_with(table(s), place));
}
static weft_tensor *positions_sliced(const scene *s) {
    return weft_add(s->x, weft_slice(table(s), 0, 0, s->length));
}
static weft_tensor *full(const scene *s) {
    return weft_mul(s->x, weft_full(s->graph, WEFT_F32, 3, 2, (const int64_t[]){s->length, WIDTH}));
}
static weft_tensor *means(const scene *s) {
    return weft_add(weft_mean(s->x, 1), weft_mul(weft_mean(s->x), weft_mean(s->x, 0, 1)));
}
static weft_tensor *extremes(const scene *s) {
    return weft_add(weft_max(s->x, 1), weft_mul(weft_min(s->x, 1), weft_logsumexp(s->x, 1)));
}
static weft_tensor *variance(const scene *s) {
    return weft_mul(weft_var(s->x, 1), weft_std_with(s->x, 0, (const int64_t[]){0, 1, WEFT_END}, false));
}
static weft_tensor *norms(const scene *s) {
    return weft_add(weft_norm(s->x, 1), weft_prod(s->x, 1));
}
static weft_tensor *softmax(const scene *s) {
    return weft_add(weft_softmax(s->x, 1), weft_log_softmax(s->x, 1));
}
static weft_tensor *scans(const scene *s) {
    weft_tensor *const gate = weft_sigmoid(s->x);
    return weft_add(
        weft_cumsum(s->x, 1), weft_add(weft_cumprod(gate, 1), weft_linear_scan(gate, s->x, 1, true)));
}
static weft_tensor *sorted(const scene *s) {
    return weft_add(weft_sort(s->x, 1, true), weft_topk(s->x, 1, 1, true));
}
static weft_tensor *gathered(const scene *s) {
    weft_tensor *const order = weft_argsort(s->x, 1, false);
    return weft_scatter_sum(weft_gather(s->x, 1, order), 1, order, s->length);
}
static weft_tensor *merged(const scene *s) { /* batch and length, and back */
    weft_tensor *const rows = weft_flatten_axes(s->x, 0, 1);
    return weft_reshape(weft_linear(rows, WIDTH), WEFT_BATCH, s->length, WIDTH);
}
static weft_tensor *flat(const scene *s) {
    return weft_cumsum(weft_flatten(weft_permute(s->x, 0, 2, 1)), 1);
}
static weft_tensor *joined(const scene *s) {
    weft_tensor *const twice = weft_concat((weft_tensor *[]){s->x, weft_neg(s->x), s->x}, 3, 1);
    return weft_square(weft_slice(twice, 1, 2, 3 * s->length - 1));
}
static weft_tensor *stacked(const scene *s) {
    return weft_softmax(weft_stack((weft_tensor *[]){s->x, weft_square(s->x)}, 2, 1), 2);
}
static weft_tensor *reversed(const scene *s) {
    return weft_mul(weft_flip(s->x, 1), weft_roll(s->x, 1, 1));
}
static weft_tensor *repeated(const scene *s) {
    return weft_cumsum(weft_tile(s->x, 3, (const int64_t[]){1, 2, 1}), 1);
}
static weft_tensor *padded(const scene *s) {
    const int64_t before[] = {0, 1, 0}, after[] = {0, 2, 0};
    return weft_cumsum(weft_pad(s->x, before, after, WEFT_PAD_CONSTANT, 0.5), 1);
}
static weft_tensor *edges(const scene *s) {
    const int64_t before[] = {0, 2, 0}, after[] = {0, 1, 0};
    return weft_cumsum(weft_pad(s->x, before, after, WEFT_PAD_EDGE, 0), 1);
}
static weft_tensor *triangle(const scene *s) {
    weft_tensor *const scores = weft_matmul(s->x, weft_transpose(s->x));
    return weft_softmax(weft_add(weft_tril(scores, 0), weft_triu(scores, 1)), 2);
}
static weft_tensor *diagonal(const scene *s) {
    return weft_diagonal(weft_matmul(s->x, weft_transpose(s->x)), 0, 1, 2);
}
static weft_tensor *products(const scene *s) {
    return weft_einsum("btd,bsd->bts", s->x, s->x);
}
static weft_tensor *attention(const scene *s) {
    const weft_multi_head_options causal = {WEFT_MULTI_HEAD_OPTIONS_INIT, .causal = true};
    return weft_layer_norm(weft_add(s->x, weft_multi_head_attention(s->x, s->x, s->x, 2, &causal)));
}
static weft_tensor *attention_masked(const scene *s) {
    const weft_multi_head_options options = {
        WEFT_MULTI_HEAD_OPTIONS_INIT, .key_mask = weft_less(s->tokens, weft_number(s->tokens, 5))};
    return weft_rms_norm(weft_multi_head_attention(s->x, s->x, s->x, 2, &options));
}
static weft_tensor *attention_trained_mask(const scene *s) {
    weft_tensor *const bias = weft_matmul(
        weft_slice(table(s), 0, 0, s->length), weft_transpose(weft_slice(table(s), 0, 0, s->length)));
    const weft_attention_options options = {WEFT_ATTENTION_OPTIONS_INIT, .mask = bias};
    return weft_attention(s->x, s->x, s->x, &options);
}
static weft_tensor *lstm(const scene *s) {
    const weft_recurrent_options two = {WEFT_RECURRENT_OPTIONS_INIT, .layers = 2, .bidirectional = true};
    return weft_lstm(s->x, 6, &two).y;
}
static weft_tensor *lstm_ragged(const scene *s) {
    const weft_recurrent_options ragged = {WEFT_RECURRENT_OPTIONS_INIT, .lengths = s->lengths};
    const weft_recurrent all = weft_lstm(s->x, 6, &ragged);
    return weft_add(weft_mean(all.y, 1), weft_mul(all.h, all.c));
}
static weft_tensor *gru(const scene *s) {
    return weft_gru(s->x, 6, NULL).y;
}
static weft_tensor *rnn(const scene *s) {
    return weft_rnn(s->x, 6, NULL).h;
}
static weft_tensor *cross_entropy(const scene *s) {
    const weft_class_loss_options smooth = {WEFT_CLASS_LOSS_OPTIONS_INIT, .label_smoothing = 0.1f};
    weft_tensor *const logits = weft_permute(weft_linear(s->x, WORDS), 0, 2, 1);
    return weft_add(
        weft_cross_entropy(logits, s->tokens), weft_cross_entropy_loss(logits, s->tokens, &smooth));
}
static weft_tensor *sequence_loss(const scene *s) {
    weft_tensor *const logits = weft_linear(s->x, WORDS);
    return weft_add(weft_sequence_cross_entropy(logits, s->tokens, NULL),
        weft_sequence_cross_entropy(logits, s->tokens, s->lengths));
}
static weft_tensor *pointed(const scene *s) { /* which of the places */
    weft_tensor *const scores = weft_sum(s->x, 2);
    return weft_add(weft_cross_entropy(scores, s->lengths), weft_multi_margin(scores, s->lengths, 1));
}
static weft_tensor *ctc(const scene *s) {
    weft_tensor *const t = weft_log_softmax(weft_permute(s->x, 1, 0, 2), 2);
    weft_tensor *const few = weft_minimum_number(s->lengths, 1);
    return weft_ctc(t, weft_unsqueeze(few, 1), s->lengths, few);
}
static weft_tensor *regression(const scene *s) {
    return weft_add(weft_mse(s->x, weft_tanh(s->x)), weft_huber(s->x, weft_sin(s->x), 1));
}
static weft_tensor *crossed(const scene *s) { /* many queries, one key */
    weft_tensor *const logits =
        weft_multi_head_attention(s->x, weft_slice(s->x, 1, 0, 1), weft_slice(s->x, 1, 0, 1), 2, NULL);
    return weft_sequence_cross_entropy(logits, weft_remainder_number(s->tokens, WIDTH), NULL);
}
static weft_tensor *probabilities(const scene *s) {
    weft_tensor *const p = weft_sigmoid(s->x), *const target =
                                                   weft_stop_gradient(weft_sigmoid(weft_neg(s->x)));
    weft_tensor *const sum = weft_add(weft_bce(p, target), weft_bce_with_logits(s->x, target));
    weft_tensor *const logs = weft_log_softmax(weft_permute(weft_linear(s->x, WORDS), 0, 2, 1), 1);
    return weft_add(weft_nll(logs, s->tokens), weft_add(sum, weft_gaussian_nll(s->x, target, p)));
}
static weft_tensor *margins(const scene *s) {
    weft_tensor *const soft = weft_soft_margin(s->x, weft_sign(weft_stop_gradient(s->x)));
    return weft_add(soft, weft_mean(weft_cosine_similarity(s->x, weft_tanh(s->x), 1, 1e-8f)));
}
static weft_tensor *indexed(const scene *s) {
    weft_tensor *const place = weft_arange(s->graph, WEFT_I32, 0, (double)s->length, 1);
    weft_tensor *const picked = weft_index_select(s->x, 1, place);
    weft_tensor *const copied = weft_index_copy(weft_square(s->x), 1, place, s->x);
    return weft_add(weft_index_sum(picked, 1, place, s->length), copied);
}
static weft_tensor *response(const scene *s) {
    return weft_local_response_norm(weft_permute(s->x, 0, 2, 1), 3, 1e-4, 0.75, 1);
}
static weft_tensor *convolved(const scene *s) {
    return weft_conv1d(weft_permute(weft_pad(s->x, (const int64_t[]){0, 2, 0}, (const int64_t[]){0, 0, 0},
                                        WEFT_PAD_CONSTANT, 0),
                           0, 2, 1),
        4, 3);
}
static weft_tensor *pooled(const scene *s) {
    weft_tensor *const image = weft_permute(s->x, 0, 2, 1);
    const weft_pool_options window = {WEFT_POOL_OPTIONS_INIT, .window = {3}, .stride = {1}, .padding = {1}};
    return weft_add(weft_mul(weft_max_pool(image, &window), weft_global_avg_pool(image)),
        weft_mul(weft_avg_pool(image, &window), weft_global_max_pool(image)));
}
static weft_tensor *normalized(const scene *s) {
    weft_tensor *const image = weft_permute(s->x, 0, 2, 1);
    return weft_add(weft_batch_norm(image), weft_add(weft_instance_norm(image), weft_group_norm(image, 2)));
}
static weft_tensor *places(const scene *s) {
    return weft_cast(weft_add(weft_argmax(weft_cumsum(s->x, 1), 1), weft_argmin(s->x, 1)), WEFT_F32);
}

typedef struct network {
    const char *name;
    weft_tensor *(*build)(const scene *);
    int64_t shortest;
} network;

#define NETWORK(build, shortest)                                                                             \
    { #build, build, shortest }
static const network networks[] = {NETWORK(elementwise, 1), NETWORK(linear, 1), NETWORK(embedding, 1),
    NETWORK(bag, 1), NETWORK(positions, 1), NETWORK(positions_sliced, 1), NETWORK(full, 1), NETWORK(means, 1),
    NETWORK(extremes, 1), NETWORK(variance, 2), NETWORK(norms, 1), NETWORK(softmax, 1), NETWORK(scans, 1),
    NETWORK(sorted, 1), NETWORK(gathered, 1), NETWORK(merged, 1), NETWORK(flat, 1), NETWORK(joined, 2),
    NETWORK(stacked, 1), NETWORK(reversed, 1), NETWORK(repeated, 1), NETWORK(padded, 1), NETWORK(edges, 1),
    NETWORK(triangle, 1), NETWORK(diagonal, 1), NETWORK(products, 1), NETWORK(attention, 1),
    NETWORK(attention_masked, 1), NETWORK(attention_trained_mask, 1), NETWORK(lstm, 1),
    NETWORK(lstm_ragged, 1), NETWORK(gru, 1), NETWORK(rnn, 1), NETWORK(cross_entropy, 1),
    NETWORK(sequence_loss, 1), NETWORK(pointed, 1), NETWORK(ctc, 1), NETWORK(regression, 1),
    NETWORK(crossed, 1), NETWORK(probabilities, 1), NETWORK(margins, 1), NETWORK(indexed, 1),
    NETWORK(response, 1), NETWORK(convolved, 1), NETWORK(pooled, 1), NETWORK(normalized, 2),
    NETWORK(places, 1)};

/* ---- the same nodes ---- */

/* At length 1 constructors leave out sums over one element, and add what is as long as the batch. */
enum { SAME_FROM = 2, BATCH = 2 };

typedef struct results {
    weft_tensor *of[MOST];
    size_t count;
} results;

/* The value, the loss and its gradients by the input and all parameters. */
static results build(const network *n, const scene *s) {
    weft_tensor *wrt[MOST] = {s->x};
    size_t count = 1;
    results r = {.count = 2};
    assert_weft_ok(weft_scope_begin(s->graph, "net", true));
    r.of[0] = n->build(s);
    assert_weft_ok(weft_scope_end(s->graph));
    assert_weft_ok(weft_graph_status(s->graph));
    r.of[1] = weft_sum(weft_square(r.of[0]));
    for (size_t i = 0; i < weft_graph_parameter_count(s->graph); i++)
        wrt[count++] = weft_graph_parameter(s->graph, i);
    assert_weft_ok(weft_gradients(r.of[1], wrt, count, &r.of[2]));
    r.count += count;
    return r;
}

/* What wi_length_make gives over what it gave for the inputs; made: by number of a node. */
static weft_tensor *make(weft_tensor *node, int64_t length, weft_tensor **made) {
    if (!node->has_length) return node;
    if (made[node->id]) return made[node->id];
    weft_tensor **const inputs = calloc((size_t)node->input_count + 1, sizeof *inputs);
    assert_non_null(inputs);
    for (int i = 0; i < node->input_count; i++) inputs[i] = make(node->inputs[i], length, made);
    assert_weft_ok(wi_length_make(node, inputs, length, &made[node->id]));
    free(inputs);
    return made[node->id];
}

static void give(const scene *s, weft_tensor **nodes, size_t count, int64_t length) {
    weft_tensor **const made = calloc(s->graph->node_count, sizeof *made);
    const bool had = s->graph->has_length;
    assert_non_null(made);
    s->graph->has_length = false; /* as while a plan is made */
    for (size_t i = 0; i < count; i++) nodes[i] = make(nodes[i], length, made);
    s->graph->has_length = had;
    free(made);
}

static weft_tensor *same_kernel(void *asker, weft_tensor *node) {
    (void)asker;
    return node;
}

/* What a plan makes of the nodes at the length. */
static results rewrite(const scene *s, const results *of, int64_t length) {
    results r = {.count = of->count};
    const bool had = s->graph->has_length;
    wi_rewrite pass = {.graph = s->graph, .batch = BATCH, .length = length, .replace_kernel = same_kernel};
    s->graph->has_length = false;
    assert_weft_ok(wi_rewrite_begin(&pass, of->of, of->count));
    assert_weft_ok(wi_rewrite_run(&pass));
    s->graph->has_length = had;
    memcpy(r.of, pass.roots, r.count * sizeof *r.of);
    wi_rewrite_end(&pass);
    return r;
}

static scene free_scene(void) {
    scene s = {.graph = test_graph(), .length = WEFT_LENGTH};
    s.x = weft_input(s.graph, "x", WEFT_F32, WEFT_LENGTH, WIDTH);
    s.tokens = weft_input(s.graph, "tokens", WEFT_I32, WEFT_LENGTH);
    s.lengths = weft_input(s.graph, "lengths", WEFT_I32);
    return s;
}

static void check_nodes(const network *n, const results *given, const results *direct, int64_t length) {
    assert_int_equal(direct->count, given->count);
    for (size_t i = 0; i < direct->count; i++) {
        if (direct->of[i] == given->of[i]) continue;
        print_error("%s at length %d: result %d is another node\n", n->name, (int)length, (int)i);
        fail();
    }
}

/* Their difference, and how large they are, as one number. */
static weft_tensor *distance(weft_tensor *a, weft_tensor *b) {
    if (weft_tensor_rank(a) == 0) return weft_abs(weft_sub(a, b));
    return weft_max(weft_abs(weft_sub(a, b)));
}

static void check_values(const network *n, const scene *fixed, const results *given, const results *direct) {
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH};
    float x[BATCH * WIDTH], distances[MOST];
    const int32_t tokens[BATCH] = {3, 4}, lengths[BATCH] = {0, 0}, ones[BATCH] = {1, 1};
    weft_tensor *outputs[MOST];
    weft_plan *plan = NULL;
    for (int i = 0; i < BATCH * WIDTH; i++) x[i] = (float)(i * i % 7 - 3) * 0.25f + 0.1f;
    for (size_t i = 0; i < given->count; i++) outputs[i] = distance(given->of[i], direct->of[i]);
    assert_weft_ok(weft_plan_create(&plan, outputs, given->count, &options));
    (void)weft_plan_write(plan, fixed->x, x, sizeof x); /* what does not depend on it has no input of it */
    (void)weft_plan_write(plan, fixed->tokens, tokens, sizeof tokens);
    (void)weft_plan_write(plan, fixed->lengths, n->build == pointed ? lengths : ones, sizeof lengths);
    assert_weft_ok(weft_plan_run(plan));
    for (size_t i = 0; i < given->count; i++) {
        assert_weft_ok(weft_plan_read(plan, outputs[i], &distances[i], sizeof *distances));
        if (distances[i] <= 2e-5f) continue;
        print_error("%s: result %d differs by %g\n", n->name, (int)i, (double)distances[i]);
        fail();
    }
    weft_plan_release(plan);
}

static void check_length(const network *n, const scene *s, const results *r, int64_t length) {
    results given = *r;
    scene fixed = {
        .graph = s->graph, .length = length, .x = s->x, .tokens = s->tokens, .lengths = s->lengths};
    give(s, &fixed.x, 1, length);
    give(s, &fixed.tokens, 1, length);
    const results direct = build(n, &fixed); /* first: gradients are added up in the order of their nodes */
    give(s, given.of, given.count, length);
    if (length >= SAME_FROM) {
        const results planned = rewrite(s, r, length), planned_direct = rewrite(s, &direct, length);
        check_nodes(n, &given, &direct, length);
        check_nodes(n, &planned, &planned_direct, length);
    } else {
        check_values(n, &fixed, &given, &direct);
    }
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
    for (size_t i = 0; i < OP_COUNT; i++) met[i] |= ops[i] == node->op && node->has_length;
    for (int i = 0; i < node->input_count; i++) meet(node->inputs[i], seen);
}

static void meet_all(const scene *s, const results *r) {
    bool *const seen = calloc(s->graph->node_count, sizeof *seen);
    assert_non_null(seen);
    for (size_t i = 0; i < r->count; i++) meet(r->of[i], seen);
    free(seen);
}

/* Each node of them draws from a stream of its own: test_length_plans. */
static bool draws(const wi_op *op) {
    return op == &wi_op_uniform || op == &wi_op_normal || op == &wi_op_dropout;
}

static void every_op_takes_it_or_says_so(void **state) {
    int missing = 0;
    (void)state;
    for (size_t i = 0; i < OP_COUNT; i++) {
        if (met[i] || ops[i]->no_length || draws(ops[i])) continue;
        print_error("no network of this test has a %s with a length\n", ops[i]->name);
        missing++;
    }
    assert_int_equal(missing, 0);
}

static void nodes_are_those_of_the_length(void **state) {
    static const int64_t lengths[] = {1, 2, 7, 16, 33};
    (void)state;
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        const scene s = free_scene();
        const results r = build(&networks[i], &s);
        meet_all(&s, &r);
        for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
            if (lengths[k] >= networks[i].shortest) check_length(&networks[i], &s, &r, lengths[k]);
        weft_graph_release(s.graph);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_are_those_of_the_length), cmocka_unit_test(every_op_takes_it_or_says_so)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
