/* Local response normalisation (Krizhevsky et al. 2012): a composite of padded reads along the channels, the last axis in memory, so
 * that the forward pass is one map and the gradient two. */
#include "graph/sizes.h"
#include "ops/pooling/pool.h"
#include <math.h>

/* Moves channel i of x to i + by, with zeros at the other end. |by| is less than the number of channels. */
static weft_tensor *shifted(weft_tensor *x, int64_t by) {
    const int axis = x->shape.rank - 1;
    const int64_t n = x->shape.dims[axis], left = n - (by < 0 ? -by : by);
    weft_tensor *part = wi_slice_dims(x, axis, by < 0 ? -by : 0, left, 1);
    return wi_dilate_dims(part, axis, by < 0 ? 0 : by, 1, n);
}

/* For each channel, the sum of x, or of its squares, over a window of `size` channels that begins `below` channels
 * before this channel. */
static weft_tensor *around(weft_tensor *x, int64_t below, int64_t size, bool squares) {
    const int64_t n = x->shape.dims[x->shape.rank - 1];
    weft_tensor *sum = NULL;
    for (int64_t by = below; by > below - size; by--) {
        if (by >= n || by <= -n) continue;
        weft_tensor *term = shifted(x, by);
        if (squares) term = weft_square(term);
        sum = sum ? weft_add(sum, term) : term;
    }
    return sum;
}

/* k + alpha / size · the sum of the squares in the window */
static weft_tensor *denominator(const weft_tensor *y) {
    const wi_response_attributes *const a = &y->attributes->response;
    weft_tensor *sum = around(y->inputs[0], a->channels / 2, a->channels, true);
    return weft_add_number(weft_mul_number(sum, a->alpha / (double)a->channels), a->k);
}

/* x / s^beta, for the paper's beta of 3/4 without pow. */
static weft_tensor *divided(weft_tensor *x, weft_tensor *s, double beta) {
    if (beta != 0.75) return weft_div(x, weft_pow_number(s, beta));
    weft_tensor *root = weft_sqrt(s);
    return weft_div(x, weft_mul(root, weft_sqrt(root)));
}

static weft_tensor *response_lower(weft_tensor *y, bool inference) {
    (void)inference;
    return divided(y->inputs[0], denominator(y), y->attributes->response.beta);
}

/* The gradient of x[i] is g[i] / s[i]^beta, where s are the denominators, minus 2·alpha·beta / size · x[i] times the
 * sum of g·y / s over the elements whose windows contain i. These elements are the window of i mirrored at i. */
static void response_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    const wi_response_attributes *const a = &y->attributes->response;
    weft_tensor *x = y->inputs[0], *s = denominator(y);
    weft_tensor *flow = s ? weft_div(weft_mul(g, y), s) : NULL;
    weft_tensor *sum = flow ? around(flow, a->channels - 1 - a->channels / 2, a->channels, false) : NULL;
    const double factor = 2 * a->alpha * a->beta / (double)a->channels;
    weft_tensor *back = sum ? weft_mul_number(weft_mul(x, sum), factor) : NULL;
    gradients[0] = back ? weft_sub(divided(g, s, a->beta), back) : NULL;
}

const wi_op wi_op_local_response_norm = {.name = "local_response_norm",
    .kind = WI_COMPOSITE,
    .attribute_bytes = sizeof(wi_response_attributes),
    .lower = response_lower};

static weft_tensor *build_local_response_norm(
    weft_tensor *x, int64_t size, double alpha, double beta, double k) {
    static const int most = 64;
    char text[WI_SHAPE_TEXT];
    weft_graph *graph = wi_image_graph("local_response_norm", x);
    if (!graph) return NULL;
    if (size < 1 || size > most)
        return wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
            "local_response_norm: size is %lld channels, expected 1 to %d", (long long)size, most);
    if (!WI_TAKES_NUMBERS(graph, "local_response_norm", {"alpha", alpha}, {"beta", beta}, {"k", k}))
        return NULL;
    if (!isfinite(alpha) || !isfinite(beta) || !isfinite(k))
        return wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
            "local_response_norm: alpha = %g, beta = %g and k = %g are not all finite", alpha, beta, k);
    if (x->shape.dims[1] < 0)
        return wi_graph_fail(graph, WEFT_ERROR_SHAPE,
            "local_response_norm: the channels of %s depend on the batch size",
            wi_shape_print(x->graph, &x->shape, text));
    weft_tensor *image = wi_channels_last(x);
    const wi_attributes attributes = {.response = {.alpha = alpha, .beta = beta, .k = k, .channels = size}};
    return image ? wi_channels_first(wi_node(
                       graph, &wi_op_local_response_norm, &image, 1, WEFT_F32, &image->shape, &attributes))
                 : NULL;
}

weft_tensor *weft_local_response_norm(weft_tensor *x, int64_t size, double alpha, double beta, double k) {
    return WI_CALL(x, "weft_local_response_norm", build_local_response_norm(x, size, alpha, beta, k));
}

const wi_op_rules wi_local_response_rules[] = {
    {.op = &wi_op_local_response_norm, .backward = response_backward}, {0}};
