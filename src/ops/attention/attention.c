/* Scaled dot-product attention, softmax(q kT scale + mask) v, in memory that is linear in the lengths.
 *
 * The public function reshapes its inputs to the rank of the kernels, (n0, n1, length, width), and creates a composite. A plan replaces
 * the composite by a section of the node attention_forward, whose packed result has y, the logarithms of the rows' sums, and the
 * corrections of the rows (wi_attention_lost). The gradients are sections of attention_gradient, whose packed result has dq, dk and
 * dv. Kernels: attention_cpu.cl, attention_gpu.cl and attention_naive.cl. Inputs that they do not support, those with a width above
 * WI_ATTENTION_WIDTH or with the batch as a length, are computed by products and a softmax, with the scores in memory. */
#include "ops/attention/attention.h"
#include "base/integers.h"
#include "graph/scope.h"
#include "graph/sizes.h"
#include "ops/op_table.h"
#include <math.h>

/* ---- sections of the packed results ---- */

int64_t wi_attention_length(weft_graph *graph, const wi_shape *shape) {
    int64_t count;
    int power;
    wi_shape_count(graph, shape, &count, &power);
    return power ? -count : count;
}

static wi_shape shape4(const weft_tensor *like, int64_t length, int64_t width) {
    return (wi_shape){.rank = 4, .dims = {like->shape.dims[0], like->shape.dims[1], length, width}};
}

/* The shape (n0, n1, queries, 1), for a result of shape y. */
static wi_shape attention_row(const wi_shape *y) {
    return (wi_shape){.rank = 4, .dims = {y->dims[0], y->dims[1], y->dims[2], 1}};
}

weft_tensor *wi_attention_lost(weft_tensor *pack, const wi_shape *y) {
    const wi_shape row = attention_row(y);
    const int64_t length = wi_attention_length(pack->graph, &row);
    return weft_reshape_shape(
        wi_slice_dims(
            pack, 0, wi_dim_add(pack->graph, wi_attention_length(pack->graph, y), length), length, 1),
        4, row.dims);
}

/* A section of a packed result, as (n0, n1, length, width). It is stored in this order, or with heads_inside as (n0, length, n1,
 * width), which a layer with several heads can merge without a copy. */
static weft_tensor *section_of(const weft_tensor *y, weft_tensor *pack, int64_t start, wi_shape shape) {
    weft_tensor *x = wi_slice_dims(pack, 0, start, wi_attention_length(pack->graph, &shape), 1);
    if (!x || !y->attributes->attention.heads_inside) return weft_reshape_shape(x, 4, shape.dims);
    const int64_t swapped[] = {shape.dims[0], shape.dims[2], shape.dims[1], shape.dims[3]};
    return weft_permute_axes(weft_reshape_shape(x, 4, swapped), 4, (const int[]){0, 2, 1, 3});
}

static int64_t section_row(const weft_tensor *y, int64_t start) {
    (void)y, (void)start;
    return 0;
}

/* The random numbers of dropout depend on the index of the example in the whole batch. */
static void begin_at(const weft_tensor *y, int64_t example, wi_attributes *attributes) {
    const int64_t *const dims = y->inputs[WI_ATTENTION_QUERY]->shape.dims;
    if (attributes->attention.dropout > 0) attributes->attention.first_head = example * -dims[0] * dims[1];
}

/* ---- forward ---- */

const wi_op wi_op_attention_forward = {.name = "attention",
    .kind = WI_KERNEL,
    .attribute_bytes = sizeof(wi_attention_attributes),
    .takes_examples = true,
    .section_row = section_row,
    .begin_at = begin_at,
    .composed = wi_attention_forward_composed};

static weft_tensor *forward(const weft_tensor *y, bool inference) {
    wi_attributes attributes = wi_attributes_of(y);
    if (inference) attributes.attention.dropout = 0, attributes.attention.stream = 0;
    const wi_shape row = attention_row(&y->shape);
    const wi_shape shape = {.rank = 1,
        .dims = {wi_dim_add(
            y->graph, wi_attention_length(y->graph, &y->shape), 2 * wi_attention_length(y->graph, &row))}};
    return wi_node(
        y->graph, &wi_op_attention_forward, y->inputs, y->input_count, WEFT_F32, &shape, &attributes);
}

/* ---- gradients ---- */

/* Reads the packed result of attention_forward. */
const wi_op wi_op_attention_gradient = {.name = "attention_gradient",
    .kind = WI_KERNEL,
    .attribute_bytes = sizeof(wi_attention_attributes),
    .takes_examples = true,
    .section_row = section_row,
    .begin_at = begin_at,
    .composed = wi_attention_gradient_composed,
    .contiguous = 1u << WI_ATTENTION_FORWARD};

/* The gradient of the scores. It is as large as the mask, and ordinary nodes compute it if the mask needs a gradient. */
static weft_tensor *mask_gradient(weft_tensor *y, weft_tensor *g) {
    const wi_attention_attributes *const a = &y->attributes->attention;
    weft_tensor *gradient = weft_matmul(g, weft_transpose(y->inputs[WI_ATTENTION_VALUE]));
    weft_tensor *const p = wi_attention_weights(y->inputs, y->inputs[WI_ATTENTION_MASK], a->scale, a->causal);
    if (gradient && a->dropout > 0)
        gradient = weft_mul(gradient, wi_dropout_factors(y->graph, &gradient->shape, a->dropout, a->stream));
    return weft_mul(p, weft_sub(gradient, wi_sum_keep(weft_mul(g, y), 1u << 3)));
}

/* Multiplies g by the corrections if there is a mask of numbers. */
static weft_tensor *corrected(weft_tensor *y, weft_tensor *g, weft_tensor *pack) {
    const bool added = y->input_count > WI_ATTENTION_MASK && y->inputs[WI_ATTENTION_MASK]->dtype == WEFT_F32;
    return added ? weft_mul(g, wi_attention_lost(pack, &y->shape)) : g;
}

static void attention_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    weft_tensor *const *x = y->inputs;
    weft_tensor *pack = forward(y, false);
    weft_tensor *inputs[] = {x[WI_ATTENTION_QUERY], x[WI_ATTENTION_KEY], x[WI_ATTENTION_VALUE], pack,
        pack && g ? corrected(y, g, pack) : NULL,
        y->input_count > WI_ATTENTION_MASK ? x[WI_ATTENTION_MASK] : NULL};
    if (!pack || !inputs[WI_ATTENTION_OUTPUT_GRADIENT]) return;
    int64_t starts[4] = {0};
    for (int i = WI_ATTENTION_QUERY; i <= WI_ATTENTION_VALUE; i++)
        starts[i + 1] = wi_dim_add(x[i]->graph, starts[i], wi_attention_length(x[i]->graph, &x[i]->shape));
    const wi_shape shape = {.rank = 1, .dims = {starts[3]}};
    weft_tensor *all = wi_node(
        y->graph, &wi_op_attention_gradient, inputs, 2 + y->input_count, WEFT_F32, &shape, y->attributes);
    for (int i = WI_ATTENTION_QUERY; all && i <= WI_ATTENTION_VALUE; i++)
        gradients[i] = section_of(y, all, starts[i], x[i]->shape);
    if (y->input_count > WI_ATTENTION_MASK && x[WI_ATTENTION_MASK]->dtype == WEFT_F32)
        gradients[WI_ATTENTION_MASK] = mask_gradient(y, g);
}

static const weft_tensor *attention_in_training(const weft_tensor *y) {
    return y->attributes->attention.dropout > 0 ? y : NULL;
}

static weft_tensor *attention_lower(weft_tensor *y, bool inference) {
    weft_tensor *pack = forward(y, inference);
    return pack ? section_of(y, pack, 0, y->shape) : NULL;
}

const wi_op wi_op_attention = {.name = "attention",
    .kind = WI_COMPOSITE,
    .attribute_bytes = sizeof(wi_attention_attributes),
    .lower = attention_lower,
    .in_training = attention_in_training};

/* ---- checks and reshapes ---- */

static weft_tensor *fail_shapes(weft_tensor *const *x, const char *rule) {
    char text[3][WI_SHAPE_TEXT];
    return wi_graph_fail(x[WI_ATTENTION_QUERY]->graph, WEFT_ERROR_SHAPE, "attention: q %s, k %s, v %s: %s",
        wi_shape_print(x[WI_ATTENTION_QUERY]->graph, &x[WI_ATTENTION_QUERY]->shape, text[0]),
        wi_shape_print(x[WI_ATTENTION_KEY]->graph, &x[WI_ATTENTION_KEY]->shape, text[1]),
        wi_shape_print(x[WI_ATTENTION_VALUE]->graph, &x[WI_ATTENTION_VALUE]->shape, text[2]), rule);
}

/* Dimension i from the end; 1 is the last. */
static int64_t end_dim(const weft_tensor *x, int i) {
    return x->shape.dims[x->shape.rank - i];
}

static bool end_is_symbolic(const weft_tensor *x, int i) {
    return wi_axis_is_symbolic(x, x->shape.rank - i);
}

static bool check_shapes(weft_tensor *const *x, wi_shape *lead) {
    *lead = (wi_shape){.rank = 0};
    for (int i = WI_ATTENTION_QUERY; i <= WI_ATTENTION_VALUE; i++) {
        if (x[i]->shape.rank < 2) return fail_shapes(x, "each needs rank 2 or more");
    }
    if (end_dim(x[WI_ATTENTION_QUERY], 1) != end_dim(x[WI_ATTENTION_KEY], 1))
        return fail_shapes(x, "the widths of q and k differ");
    if (end_dim(x[WI_ATTENTION_KEY], 2) != end_dim(x[WI_ATTENTION_VALUE], 2))
        return fail_shapes(x, "the lengths of k and v differ");
    for (int i = WI_ATTENTION_QUERY; i <= WI_ATTENTION_VALUE; i++) {
        wi_shape next = x[i]->shape, both;
        next.rank -= 2;
        if (!wi_shape_broadcast(lead, &next, &both))
            return fail_shapes(x, "the leading dimensions do not broadcast");
        *lead = both;
    }
    return true;
}

static bool check_mask(weft_tensor *const *x, const wi_shape *lead) {
    const weft_tensor *mask = x[WI_ATTENTION_MASK];
    wi_shape scores = *lead, both;
    scores.dims[scores.rank++] = end_dim(x[WI_ATTENTION_QUERY], 2);
    scores.dims[scores.rank++] = end_dim(x[WI_ATTENTION_KEY], 2);
    char text_m[WI_SHAPE_TEXT], text_s[WI_SHAPE_TEXT];
    if (mask->dtype != WEFT_BOOL && mask->dtype != WEFT_F32)
        return wi_graph_fail(mask->graph, WEFT_ERROR_DTYPE, "attention: a mask is bool or f32, not %s",
            weft_dtype_name(mask->dtype));
    if (!wi_shape_broadcast(&mask->shape, &scores, &both) || !wi_shape_equal(&both, &scores))
        return wi_graph_fail(mask->graph, WEFT_ERROR_SHAPE,
            "attention: the mask %s does not broadcast to %s, the shape of the scores",
            wi_shape_print(mask->graph, &mask->shape, text_m), wi_shape_print(mask->graph, &scores, text_s));
    return true;
}

static weft_graph *check(weft_tensor *const *x, const weft_attention_options *options, wi_shape *lead) {
    weft_graph *graph = wi_inputs_graph("attention", x, x[WI_ATTENTION_MASK] ? 4 : 3);
    if (!graph) return NULL;
    for (int i = WI_ATTENTION_QUERY; i <= WI_ATTENTION_VALUE; i++) {
        if (x[i]->dtype == WEFT_F32) continue;
        wi_graph_fail(graph, WEFT_ERROR_DTYPE, "attention: takes f32, not (%s, %s, %s)",
            weft_dtype_name(x[WI_ATTENTION_QUERY]->dtype), weft_dtype_name(x[WI_ATTENTION_KEY]->dtype),
            weft_dtype_name(x[WI_ATTENTION_VALUE]->dtype));
        return NULL;
    }
    if (!check_shapes(x, lead) || (x[WI_ATTENTION_MASK] && !check_mask(x, lead))) return NULL;
    if (!WI_TAKES_NUMBERS(graph, "attention", {"scale", (double)options->scale})) return NULL;
    if (!(options->scale >= 0) || isinf(options->scale)) {
        wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
            "attention: scale is %g, expected a positive number, or 0 for 1/sqrt(d)", (double)options->scale);
        return NULL;
    }
    if (!(options->dropout >= 0 && options->dropout < 1)) {
        wi_graph_fail(
            graph, WEFT_ERROR_ARGUMENT, "attention: dropout = %g is not in [0, 1)", (double)options->dropout);
        return NULL;
    }
    return graph;
}

/* Broadcasts x to (lead..., length, width), and merges the leading dimensions to two. A single leading dimension
 * becomes the first of the two, so that plans can divide a batch. */
static weft_tensor *to_rank4(weft_tensor *x, const wi_shape *lead, int64_t length, int64_t width) {
    wi_shape whole = *lead, outer = *lead;
    whole.dims[whole.rank++] = length;
    whole.dims[whole.rank++] = width;
    x = weft_expand(x, whole.rank, whole.dims);
    int64_t inner = 1;
    if (outer.rank > 1) inner = lead->dims[--outer.rank];
    return x ? weft_reshape_shape(
                   x, 4, (const int64_t[]){wi_attention_length(x->graph, &outer), inner, length, width})
             : NULL;
}

/* One leading dimension may be a multiple of the batch. */
bool wi_attention_fits(weft_tensor *const *x, const wi_shape *lead) {
    const int64_t limits[] = {end_dim(x[WI_ATTENTION_QUERY], 2), end_dim(x[WI_ATTENTION_KEY], 2),
        end_dim(x[WI_ATTENTION_QUERY], 1), end_dim(x[WI_ATTENTION_VALUE], 1)};
    int64_t count;
    int power;
    wi_shape_count(x[0]->graph, lead, &count, &power);
    for (int i = 0; i < 4; i++) {
        const bool is_length = i < 2;
        if (is_length && wi_is_symbolic(limits[i])) continue;
        if (limits[i] < 1 || limits[i] > (is_length ? INT32_MAX / 2 : WI_ATTENTION_WIDTH)) return false;
    }
    return power <= 1;
}

weft_tensor *wi_attention_over(
    weft_tensor *const *x, const wi_shape *lead, const wi_attention_attributes *attributes) {
    const int64_t d = end_dim(x[WI_ATTENTION_QUERY], 1), dv = end_dim(x[WI_ATTENTION_VALUE], 1),
                  queries = end_dim(x[WI_ATTENTION_QUERY], 2), keys = end_dim(x[WI_ATTENTION_KEY], 2);
    weft_tensor *inputs[] = {to_rank4(x[WI_ATTENTION_QUERY], lead, queries, d),
        to_rank4(x[WI_ATTENTION_KEY], lead, keys, d), to_rank4(x[WI_ATTENTION_VALUE], lead, keys, dv),
        x[WI_ATTENTION_MASK] ? to_rank4(x[WI_ATTENTION_MASK], lead, queries, keys) : NULL};
    const int count = x[WI_ATTENTION_MASK] ? 4 : 3;
    weft_graph *const graph = wi_inputs_graph("attention", inputs, count);
    if (!graph) return NULL;
    const wi_shape shape = shape4(inputs[WI_ATTENTION_QUERY], queries, dv);
    weft_tensor *y = wi_node(
        graph, &wi_op_attention, inputs, count, WEFT_F32, &shape, &(wi_attributes){.attention = *attributes});
    wi_shape result = *lead;
    result.dims[result.rank++] = queries;
    result.dims[result.rank++] = dv;
    return y ? weft_reshape_shape(y, result.rank, result.dims) : NULL;
}

weft_tensor *wi_attention(weft_tensor *const *x, const weft_attention_options *options, bool heads_inside) {
    wi_shape lead;
    if (!check(x, options, &lead)) return NULL;
    const int64_t d = end_dim(x[WI_ATTENTION_QUERY], 1);
    if (options->scale == 0 && (d < 0 || end_is_symbolic(x[WI_ATTENTION_QUERY], 1)))
        return fail_shapes(x, "the option scale must be set if the width depends on the batch or on another "
                              "size that plans choose");
    const double scale = WI_OPTION((double)options->scale, 1.0 / sqrt((double)d));
    const float dropout = wi_scope_is_inference(x[WI_ATTENTION_QUERY]->graph) ? 0 : options->dropout;
    if (!wi_attention_fits(x, &lead)) return wi_attention_composed(x, options, scale);
    wi_attention_attributes attributes = {
        .scale = scale, .dropout = dropout, .causal = options->causal, .heads_inside = heads_inside};
    if (dropout > 0) attributes.stream = x[WI_ATTENTION_QUERY]->graph->streams++;
    return wi_attention_over(x, &lead, &attributes);
}

static weft_tensor *build_attention(
    weft_tensor *q, weft_tensor *k, weft_tensor *v, const weft_attention_options *given) {
    weft_attention_options options = {WEFT_ATTENTION_OPTIONS_INIT};
    if (q && !WI_GRAPH_OPTIONS(q->graph, &options, given, "attention", WEFT_ATTENTION_OPTIONS_INIT))
        return NULL;
    return wi_attention((weft_tensor *[]){q, k, v, options.mask}, &options, false);
}

weft_tensor *weft_attention(
    weft_tensor *q, weft_tensor *k, weft_tensor *v, const weft_attention_options *given) {
    return WI_CALL(q, "weft_attention", build_attention(q, k, v, given));
}

const wi_op_rules wi_attention_rules[] = {{.op = &wi_op_attention, .backward = attention_backward}, {0}};
