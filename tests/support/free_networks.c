/* See free_networks.h. */
#include "support/free_networks.h"
#include "graph/weft_graph.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 11, ROWS = 40 };

static weft_tensor *table(const free_scene *s) {
    return weft_parameter(s->graph, "table", weft_init_normal(0, 1), ROWS, FREE_WIDTH);
}

static weft_tensor *elementwise(const free_scene *s) {
    return weft_mul(weft_tanh(s->x), weft_add_number(s->x, 2));
}
static weft_tensor *linear(const free_scene *s) {
    return weft_gelu(weft_linear(weft_relu(weft_linear(s->x, 12)), 5));
}
static weft_tensor *embedding(const free_scene *s) {
    return weft_embedding(s->tokens, WORDS, FREE_WIDTH);
}
static weft_tensor *bag(const free_scene *s) {
    return weft_embedding_bag(s->tokens, WORDS, FREE_WIDTH,
        &(weft_bag_options){WEFT_BAG_OPTIONS_INIT, .mode = WEFT_BAG_MEAN}, NULL);
}
static weft_tensor *positions(const free_scene *s) {
    weft_tensor *const place = weft_arange(s->graph, WEFT_I32, 0, (double)s->length, 1);
    return weft_add(s->x, weft_embedding_with(table(s), place));
}
static weft_tensor *positions_sliced(const free_scene *s) {
    return weft_add(s->x, weft_slice(table(s), 0, 0, s->length));
}
static weft_tensor *full(const free_scene *s) {
    return weft_mul(s->x, weft_full(s->graph, WEFT_F32, 3, 2, (const int64_t[]){s->length, FREE_WIDTH}));
}
static weft_tensor *means(const free_scene *s) {
    return weft_add(weft_mean(s->x, 1), weft_mul(weft_mean(s->x), weft_mean(s->x, 0, 1)));
}
static weft_tensor *extremes(const free_scene *s) {
    return weft_add(weft_max(s->x, 1), weft_mul(weft_min(s->x, 1), weft_logsumexp(s->x, 1)));
}
static weft_tensor *variance(const free_scene *s) {
    return weft_mul(weft_var(s->x, 1), weft_std_with(s->x, 0, (const int64_t[]){0, 1, WEFT_END}, false));
}
static weft_tensor *norms(const free_scene *s) {
    return weft_add(weft_norm(s->x, 1), weft_prod(s->x, 1));
}
static weft_tensor *softmax(const free_scene *s) {
    return weft_add(weft_softmax(s->x, 1), weft_log_softmax(s->x, 1));
}
static weft_tensor *scans(const free_scene *s) {
    weft_tensor *const gate = weft_sigmoid(s->x);
    return weft_add(
        weft_cumsum(s->x, 1), weft_add(weft_cumprod(gate, 1), weft_linear_scan(gate, s->x, 1, true)));
}
static weft_tensor *sorted(const free_scene *s) {
    return weft_add(weft_sort(s->x, 1, true), weft_topk(s->x, 1, 1, true));
}
static weft_tensor *gathered(const free_scene *s) {
    weft_tensor *const order = weft_argsort(s->x, 1, false);
    return weft_scatter_sum(weft_gather(s->x, 1, order), 1, order, s->length);
}
static weft_tensor *reduced_by_index(const free_scene *s) {
    weft_tensor *const order = weft_argsort(s->x, 1, false);
    weft_tensor *const most = weft_scatter_reduce(s->x, 1, order, weft_sin(s->x), WEFT_SCATTER_MAX, false);
    return weft_scatter_reduce(most, 1, order, s->x, WEFT_SCATTER_MEAN, true);
}
static weft_tensor *sparse(const free_scene *s) { /* the product with a diagonal matrix */
    weft_tensor *const place = weft_arange(s->graph, WEFT_I32, 0, (double)s->length, 1);
    weft_tensor *const values = weft_full(s->graph, WEFT_F32, 0.5, 1, (const int64_t[]){s->length});
    weft_tensor *const sum =
        weft_sparse_matmul(place, place, values, s->length, weft_slice(table(s), 0, 0, s->length));
    return weft_add(s->x, sum);
}
static weft_tensor *sizes(const free_scene *s) {
    weft_tensor *const size = weft_cast(weft_size(s->x, 1), WEFT_F32);
    return weft_div(weft_mul(s->x, weft_cast(weft_size(s->x, 0), WEFT_F32)), size);
}
static weft_tensor *merged(
    const free_scene *s) { /* merges batch and length into one axis, and splits it again */
    weft_tensor *const rows = weft_flatten_axes(s->x, 0, 1);
    return weft_reshape(weft_linear(rows, FREE_WIDTH), weft_tensor_dimension(s->x, 0), s->length, FREE_WIDTH);
}
static weft_tensor *flat(const free_scene *s) {
    return weft_cumsum(weft_flatten(weft_permute(s->x, 0, 2, 1)), 1);
}
static weft_tensor *joined(const free_scene *s) {
    weft_tensor *const twice = weft_concat((weft_tensor *[]){s->x, weft_neg(s->x), s->x}, 3, 1);
    return weft_square(weft_slice(twice, 1, 2, 3 * s->length - 1));
}
static weft_tensor *stacked(const free_scene *s) {
    return weft_softmax(weft_stack((weft_tensor *[]){s->x, weft_square(s->x)}, 2, 1), 2);
}
static weft_tensor *reversed(const free_scene *s) {
    return weft_mul(weft_flip(s->x, 1), weft_roll(s->x, 1, 1));
}
static weft_tensor *repeated(const free_scene *s) {
    return weft_cumsum(weft_tile(s->x, 3, (const int64_t[]){1, 2, 1}), 1);
}
static weft_tensor *padded(const free_scene *s) {
    const int64_t before[] = {0, 1, 0}, after[] = {0, 2, 0};
    return weft_cumsum(weft_pad(s->x, before, after, WEFT_PAD_CONSTANT, 0.5), 1);
}
static weft_tensor *edges(const free_scene *s) {
    const int64_t before[] = {0, 2, 0}, after[] = {0, 1, 0};
    return weft_cumsum(weft_pad(s->x, before, after, WEFT_PAD_EDGE, 0), 1);
}
static weft_tensor *triangle(const free_scene *s) {
    weft_tensor *const scores = weft_matmul(s->x, weft_transpose(s->x));
    return weft_softmax(weft_add(weft_tril(scores, 0), weft_triu(scores, 1)), 2);
}
static weft_tensor *diagonal(const free_scene *s) {
    return weft_diagonal(weft_matmul(s->x, weft_transpose(s->x)), 0, 1, 2);
}
static weft_tensor *products(const free_scene *s) {
    return weft_einsum("btd,bsd->bts", s->x, s->x);
}
static weft_tensor *attention(const free_scene *s) {
    const weft_multi_head_options causal = {WEFT_MULTI_HEAD_OPTIONS_INIT, .causal = true};
    return weft_layer_norm(weft_add(s->x, weft_multi_head_attention(s->x, s->x, s->x, 2, &causal)));
}
static weft_tensor *attention_masked(const free_scene *s) {
    const weft_multi_head_options options = {
        WEFT_MULTI_HEAD_OPTIONS_INIT, .key_mask = weft_less(s->tokens, weft_number(s->tokens, 5))};
    return weft_rms_norm(weft_multi_head_attention(s->x, s->x, s->x, 2, &options));
}
static weft_tensor *attention_trained_mask(const free_scene *s) {
    weft_tensor *const bias = weft_matmul(
        weft_slice(table(s), 0, 0, s->length), weft_transpose(weft_slice(table(s), 0, 0, s->length)));
    const weft_attention_options options = {WEFT_ATTENTION_OPTIONS_INIT, .mask = bias};
    return weft_attention(s->x, s->x, s->x, &options);
}
static weft_tensor *lstm(const free_scene *s) {
    const weft_recurrent_options two = {WEFT_RECURRENT_OPTIONS_INIT, .layers = 2, .bidirectional = true};
    return weft_lstm(s->x, 6, &two).y;
}
static weft_tensor *lstm_ragged(const free_scene *s) {
    const weft_recurrent_options ragged = {WEFT_RECURRENT_OPTIONS_INIT, .lengths = s->lengths};
    const weft_recurrent all = weft_lstm(s->x, 6, &ragged);
    return weft_add(weft_mean(all.y, 1), weft_mul(all.h, all.c));
}
static weft_tensor *gru(const free_scene *s) {
    return weft_gru(s->x, 6, NULL).y;
}
static weft_tensor *rnn(const free_scene *s) {
    return weft_rnn(s->x, 6, NULL).h;
}
static weft_tensor *cross_entropy(const free_scene *s) {
    const weft_class_loss_options smooth = {WEFT_CLASS_LOSS_OPTIONS_INIT, .label_smoothing = 0.1f};
    weft_tensor *const logits = weft_permute(weft_linear(s->x, WORDS), 0, 2, 1);
    return weft_add(
        weft_cross_entropy(logits, s->tokens), weft_cross_entropy_loss(logits, s->tokens, &smooth));
}
static weft_tensor *sequence_loss(const free_scene *s) {
    weft_tensor *const logits = weft_linear(s->x, WORDS);
    return weft_add(weft_sequence_cross_entropy(logits, s->tokens, NULL),
        weft_sequence_cross_entropy(logits, s->tokens, s->lengths));
}
static weft_tensor *pointed(const free_scene *s) { /* the classes are the positions in the sequence */
    weft_tensor *const scores = weft_sum(s->x, 2);
    return weft_add(weft_cross_entropy(scores, s->lengths), weft_multi_margin(scores, s->lengths, 1));
}
static weft_tensor *ctc(const free_scene *s) {
    weft_tensor *const t = weft_log_softmax(weft_permute(s->x, 1, 0, 2), 2);
    weft_tensor *const few = weft_minimum_number(s->lengths, 1);
    return weft_ctc(t, weft_unsqueeze(few, 1), s->lengths, few);
}
static weft_tensor *regression(const free_scene *s) {
    return weft_add(weft_mse(s->x, weft_tanh(s->x)), weft_huber(s->x, weft_sin(s->x), 1));
}
static weft_tensor *crossed(const free_scene *s) { /* many queries, one key */
    weft_tensor *const logits =
        weft_multi_head_attention(s->x, weft_slice(s->x, 1, 0, 1), weft_slice(s->x, 1, 0, 1), 2, NULL);
    return weft_sequence_cross_entropy(logits, weft_remainder_number(s->tokens, FREE_WIDTH), NULL);
}
static weft_tensor *probabilities(const free_scene *s) {
    weft_tensor *const p = weft_sigmoid(s->x), *const target =
                                                   weft_stop_gradient(weft_sigmoid(weft_neg(s->x)));
    weft_tensor *const sum = weft_add(weft_bce(p, target), weft_bce_with_logits(s->x, target));
    weft_tensor *const logs = weft_log_softmax(weft_permute(weft_linear(s->x, WORDS), 0, 2, 1), 1);
    return weft_add(weft_nll(logs, s->tokens), weft_add(sum, weft_gaussian_nll(s->x, target, p)));
}
static weft_tensor *margins(const free_scene *s) {
    weft_tensor *const soft = weft_soft_margin(s->x, weft_sign(weft_stop_gradient(s->x)));
    return weft_add(soft, weft_mean(weft_cosine_similarity(s->x, weft_tanh(s->x), 1, 1e-8f)));
}
static weft_tensor *indexed(const free_scene *s) {
    weft_tensor *const place = weft_arange(s->graph, WEFT_I32, 0, (double)s->length, 1);
    weft_tensor *const picked = weft_index_select(s->x, 1, place);
    weft_tensor *const copied = weft_index_copy(weft_square(s->x), 1, place, s->x);
    return weft_add(weft_index_sum(picked, 1, place, s->length), copied);
}
static weft_tensor *response(const free_scene *s) {
    return weft_local_response_norm(weft_permute(s->x, 0, 2, 1), 3, 1e-4, 0.75, 1);
}
static weft_tensor *convolved(const free_scene *s) {
    return weft_conv1d(weft_permute(weft_pad(s->x, (const int64_t[]){0, 2, 0}, (const int64_t[]){0, 0, 0},
                                        WEFT_PAD_CONSTANT, 0),
                           0, 2, 1),
        4, 3);
}
static weft_tensor *pooled(const free_scene *s) {
    weft_tensor *const image = weft_permute(s->x, 0, 2, 1);
    const weft_pool_options window = {
        WEFT_POOL_OPTIONS_INIT, .windows = {3}, .strides = {1}, .paddings = {1}};
    return weft_add(weft_mul(weft_max_pool(image, &window), weft_global_avg_pool(image)),
        weft_mul(weft_avg_pool(image, &window), weft_global_max_pool(image)));
}
static weft_tensor *resampled(const free_scene *s) {
    return weft_upsample_nearest(s->x, 2);
}
static weft_tensor *strided(const free_scene *s) {
    weft_tensor *const image = weft_permute(s->x, 0, 2, 1);
    const weft_conv_options two = {WEFT_CONV_OPTIONS_INIT, .strides = {2}, .paddings = {1}},
                            three = {WEFT_CONV_OPTIONS_INIT, .strides = {3}, .paddings = {2},
                                .mode = WEFT_PADDING_EACH};
    weft_tensor *const half = weft_conv_with(
        image, weft_parameter(s->graph, "two", weft_init_normal(0, 1), 4, FREE_WIDTH, 3), NULL, &two);
    weft_tensor *const sixth = weft_conv_with(
        half, weft_parameter(s->graph, "three", weft_init_normal(0, 1), 4, 4, 3), NULL, &three);
    return weft_conv_transpose_with(sixth, weft_parameter(s->graph, "back", weft_init_normal(0, 1), 4, 2, 2),
        NULL, &(weft_conv_options){WEFT_CONV_OPTIONS_INIT, .strides = {2}});
}
static weft_tensor *pooled_by_steps(const free_scene *s) {
    weft_tensor *const image = weft_permute(s->x, 0, 2, 1);
    const weft_pool_options two = {WEFT_POOL_OPTIONS_INIT, .windows = {3}, .strides = {2}, .paddings = {1}},
                            up = {WEFT_POOL_OPTIONS_INIT, .windows = {2}, .ceil_mode = true};
    return weft_add(
        weft_mul(weft_max_pool(image, &two), weft_avg_pool(image, &two)), weft_avg_pool(image, &up));
}
static weft_tensor *every_second(const free_scene *s) {
    weft_tensor *const even = weft_slice_step(s->x, 1, 0, WEFT_END, 2);
    return weft_concat((weft_tensor *[]){weft_square(even), weft_slice_step(s->x, 1, 1, WEFT_END, 3)}, 2, 1);
}
static weft_tensor *enlarged(const free_scene *s) {
    weft_tensor *const image = weft_permute(s->x, 0, 2, 1);
    weft_tensor *const fine =
        weft_add(weft_upsample_linear(image, 2, false), weft_upsample_linear(image, 2, true));
    const weft_resample_options coarse = {WEFT_RESAMPLE_OPTIONS_INIT, .factors = {0.5},
                                    .mode = WEFT_RESAMPLE_LINEAR},
                                fixed = {
                                    WEFT_RESAMPLE_OPTIONS_INIT, .sizes = {5}, .mode = WEFT_RESAMPLE_LINEAR};
    weft_tensor *const sum =
        weft_add(weft_sum(weft_resample(fine, &coarse), 2), weft_sum(weft_resample(image, &fixed), 2));
    return weft_mul(weft_upsample_nearest(fine, 3), weft_unsqueeze(sum, 2));
}
static weft_tensor *squares(const free_scene *s) { /* a product of the size with itself */
    weft_tensor *const scores = weft_matmul(s->x, weft_transpose(s->x));
    return weft_cumsum(weft_flatten_axes(scores, 1, 2), 1);
}
static weft_tensor *normalized(const free_scene *s) {
    weft_tensor *const image = weft_permute(s->x, 0, 2, 1);
    return weft_add(weft_batch_norm(image), weft_add(weft_instance_norm(image), weft_group_norm(image, 2)));
}
/* Windows of the sequence; a convolution with kernels for each example. */
static weft_tensor *windows(const free_scene *s) {
    weft_tensor *const image = weft_permute(s->x, 0, 2, 1), *const kernels = weft_matmul(image, s->x);
    weft_tensor *const found =
        weft_conv_with(image, weft_unsqueeze(weft_normalize(kernels, 2, 2, 1e-3), -1), NULL, NULL);
    return weft_add(weft_sum_keep(weft_unfold(found, 2, 2, 1), 2, 3),
        weft_mean_keep(weft_unfold(s->x, 1, 1, 2), 3, 2, 1));
}
static weft_tensor *places(const free_scene *s) {
    return weft_cast(weft_add(weft_argmax(weft_cumsum(s->x, 1), 1), weft_argmin(s->x, 1)), WEFT_F32);
}

#define NETWORK(build, shortest)                                                                             \
    { #build, build, shortest, build == pointed }
const free_network free_networks[] = {NETWORK(elementwise, 1), NETWORK(linear, 1), NETWORK(embedding, 1),
    NETWORK(bag, 1), NETWORK(positions, 1), NETWORK(positions_sliced, 1), NETWORK(full, 1), NETWORK(means, 1),
    NETWORK(extremes, 1), NETWORK(variance, 2), NETWORK(norms, 1), NETWORK(softmax, 1), NETWORK(scans, 1),
    NETWORK(sorted, 1), NETWORK(gathered, 1), NETWORK(reduced_by_index, 1), NETWORK(sparse, 1),
    NETWORK(sizes, 1), NETWORK(merged, 1), NETWORK(flat, 1), NETWORK(joined, 2), NETWORK(stacked, 1),
    NETWORK(reversed, 1), NETWORK(repeated, 1), NETWORK(padded, 1), NETWORK(edges, 1), NETWORK(triangle, 1),
    NETWORK(diagonal, 1), NETWORK(products, 1), NETWORK(attention, 1), NETWORK(attention_masked, 1),
    NETWORK(attention_trained_mask, 1), NETWORK(lstm, 1), NETWORK(lstm_ragged, 1), NETWORK(gru, 1),
    NETWORK(rnn, 1), NETWORK(cross_entropy, 1), NETWORK(sequence_loss, 1), NETWORK(pointed, 1),
    NETWORK(ctc, 1), NETWORK(regression, 1), NETWORK(crossed, 1), NETWORK(probabilities, 1),
    NETWORK(margins, 1), NETWORK(indexed, 1), NETWORK(response, 1), NETWORK(convolved, 1), NETWORK(pooled, 1),
    NETWORK(strided, 3), NETWORK(pooled_by_steps, 2), NETWORK(every_second, 2), NETWORK(enlarged, 2),
    NETWORK(squares, 1), NETWORK(normalized, 2), NETWORK(resampled, 1), NETWORK(places, 1),
    NETWORK(windows, 2)};
const size_t free_network_count = sizeof free_networks / sizeof *free_networks;

/* ---- creating the network's nodes at a fixed length ---- */

/* What wi_make_at_sizes gives over what it gave for the inputs; made: by number of a node. */
static weft_tensor *make(weft_tensor *node, const wi_given *given, weft_tensor **made) {
    bool differs = false;
    if (made[node->id]) return made[node->id];
    weft_tensor **const inputs = calloc((size_t)node->input_count + 1, sizeof *inputs);
    assert_non_null(inputs);
    for (int i = 0; i < node->input_count; i++) {
        inputs[i] = make(node->inputs[i], given, made);
        differs = differs || inputs[i] != node->inputs[i];
    }
    made[node->id] = node;
    if (differs || wi_sizes_follow(node, inputs, given))
        assert_weft_ok(wi_make_at_sizes(node, inputs, given, &made[node->id]));
    free(inputs);
    return made[node->id];
}

free_results free_build(const free_network *network, const free_scene *scene, weft_tensor *input) {
    weft_graph *const graph = scene->graph;
    weft_tensor *wrt[FREE_RESULTS] = {input};
    size_t count = 1;
    free_results r = {.count = 2};
    assert_weft_ok(weft_scope_begin(graph, "net", true));
    r.of[0] = network->build(scene);
    assert_weft_ok(weft_scope_end(graph));
    assert_weft_ok(weft_graph_status(graph));
    r.of[1] = weft_sum(weft_square(r.of[0]));
    for (size_t i = 0; i < weft_graph_parameter_count(graph); i++)
        wrt[count++] = weft_graph_parameter(graph, i);
    assert_weft_ok(weft_gradients(r.of[1], wrt, count, &r.of[2]));
    r.count += count;
    return r;
}

wi_given free_given(int64_t batch, int64_t length) {
    enum { MOST = 64 };
    static int64_t values[MOST][WI_SYMBOL_LENGTH + 1]; /* by length, so that several may be in use */
    assert_in_range(length, 0, MOST - 1);
    values[length][WI_SYMBOL_LENGTH] = length;
    return (wi_given){values[length], WI_SYMBOL_LENGTH + 1, length ? 0 : batch, batch};
}

void free_give(weft_graph *graph, weft_tensor **nodes, size_t count, const wi_given *given) {
    weft_tensor **const made = calloc(graph->node_count, sizeof *made);
    assert_non_null(made);
    for (size_t i = 0; i < count; i++) nodes[i] = make(nodes[i], given, made);
    free(made);
}

static weft_tensor *same_kernel(void *asker, weft_tensor *node) {
    (void)asker;
    return node;
}

void free_rewrite(weft_graph *graph, weft_tensor **nodes, size_t count, const wi_given *given) {
    wi_rewrite pass = {.graph = graph, .batch = given->batch, .given = *given, .replace_kernel = same_kernel};
    assert_weft_ok(wi_rewrite_begin(&pass, nodes, count));
    assert_weft_ok(wi_rewrite_run(&pass));
    memcpy(nodes, pass.roots, count * sizeof *nodes);
    wi_rewrite_end(&pass);
}

/* ---- comparing nodes ---- */

typedef struct comparison {
    int64_t batch;
    const weft_tensor **partner; /* by node id: the node that was found to be equal; NULL: none yet */
} comparison;

static double value_at(const weft_tensor *constant, int64_t batch) {
    return constant->attributes->constant.value *
           pow((double)batch, constant->attributes->constant.batch_power);
}

static bool is_same(const comparison *c, const weft_tensor *a, const weft_tensor *b) {
    if (a == b || c->partner[a->id] == b) return true;
    if (a->op != b->op || a->dtype != b->dtype || a->input_count != b->input_count) return false;
    if (!wi_shape_equal(&a->shape, &b->shape)) return false;
    const bool counts = a->op == &wi_op_constant;
    if (counts && fabs(value_at(a, c->batch) / value_at(b, c->batch) - 1) > 1e-14) return false;
    const size_t bytes = a->op->attribute_bytes;
    if (!counts && bytes > 0 && memcmp(a->attributes, b->attributes, bytes) != 0) return false;
    for (int i = 0; i < a->input_count; i++)
        if (!is_same(c, a->inputs[i], b->inputs[i])) return false;
    c->partner[a->id] = b;
    return true;
}

size_t free_other_node(const weft_graph *graph, weft_tensor *const *given, weft_tensor *const *direct,
    size_t count, int64_t batch) {
    const comparison c = {.batch = batch, .partner = calloc(graph->node_count, sizeof *c.partner)};
    size_t same = 0;
    assert_non_null(c.partner);
    while (same < count && is_same(&c, given[same], direct[same])) same++;
    free(c.partner);
    return same;
}
