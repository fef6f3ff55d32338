/* Attention and rotary embeddings of ONNX and of com.microsoft. */
#include "onnx/onnx_attention.h"
#include <math.h>
#include <string.h>

/* ---- heads ---- */

weft_tensor *wi_onnx_split_heads(weft_tensor *x, int64_t heads) {
    const int64_t width = weft_tensor_dimension(x, 2);
    if (weft_tensor_rank(x) != 3 || heads < 1 || width < 1 || width % heads) return NULL;
    const int64_t dims[] = {weft_tensor_dimension(x, 0), weft_tensor_dimension(x, 1), heads, width / heads};
    return weft_swap_axes(weft_reshape_shape(x, 4, dims), 1, 2);
}

weft_tensor *wi_onnx_join_heads(weft_tensor *x) {
    return weft_flatten_axes(weft_swap_axes(x, 1, 2), 2, 3);
}

/* Repeats each of the heads of x (N, heads, L, d) `times` times. */
static weft_tensor *repeat_heads(weft_tensor *x, int64_t times) {
    int64_t dims[WEFT_MAX_RANK];
    if (times == 1) return x;
    weft_tensor *const wider = weft_unsqueeze(x, 2);
    wi_onnx_dims(wider, dims);
    dims[2] = times;
    return weft_flatten_axes(weft_expand(wider, 5, dims), 1, 2);
}

/* ---- masks ---- */

/* The numbers 0, 1, 2, ... along an axis of x that has n elements, as a column (n, 1) or as a row (n). */
static weft_tensor *count_axis(const weft_tensor *x, int axis, bool column) {
    const double size = (double)weft_tensor_dimension(x, axis);
    weft_tensor *const count = weft_arange(weft_tensor_graph(x), WEFT_I32, 0, size, 1);
    return column ? weft_unsqueeze(count, 1) : count;
}

/* Combines two masks, so that a query sees only the keys that both allow. Bool masks are true for allowed keys; masks of floats are added
 * to the scores. */
static weft_tensor *both_masks(weft_tensor *a, weft_tensor *b) {
    if (!a || !b) return a ? a : b;
    if (weft_tensor_dtype(a) == WEFT_BOOL && weft_tensor_dtype(b) == WEFT_BOOL) return weft_logical_and(a, b);
    if (weft_tensor_dtype(a) == WEFT_BOOL) return weft_where(a, b, weft_number(b, -(double)INFINITY));
    if (weft_tensor_dtype(b) == WEFT_BOOL) return weft_where(b, a, weft_number(a, -(double)INFINITY));
    return weft_add(a, b);
}

/* The mask with which query i attends to the keys up to number past + i. */
static weft_tensor *causal_mask(const weft_tensor *q, const weft_tensor *k, weft_tensor *past) {
    return weft_less_equal(count_axis(k, 2, false), weft_add(count_axis(q, 2, true), weft_size(past, 2)));
}

/* Extends a mask that has fewer elements than there are keys; the keys without an element are not allowed. */
static weft_tensor *pad_mask(weft_tensor *mask, const weft_tensor *k) {
    int64_t zeros[WEFT_MAX_RANK] = {0}, after[WEFT_MAX_RANK] = {0};
    const int64_t own = wi_onnx_fixed_size(mask, -1), keys = wi_onnx_fixed_size(k, 2);
    if (own <= 1 || own >= keys) return mask;
    after[weft_tensor_rank(mask) - 1] = keys - own;
    return weft_pad(
        mask, zeros, after, WEFT_PAD_CONSTANT, weft_tensor_dtype(mask) == WEFT_BOOL ? 0 : -(double)INFINITY);
}

/* ---- attention ---- */

/* Applies the softcap and the mask, if there are any, to the scores, and returns their softmax, which is 0 in rows without an allowed key. */
static weft_tensor *weigh(const wi_onnx_attention *a, weft_tensor *scores) {
    if (a->softcap != 0) scores = weft_mul_number(weft_tanh(weft_div_number(scores, a->softcap)), a->softcap);
    if (!a->mask) return weft_softmax(scores, -1);
    scores = weft_tensor_dtype(a->mask) == WEFT_BOOL
                 ? weft_where(a->mask, scores, weft_number(scores, -(double)INFINITY))
                 : weft_add(scores, a->mask);
    weft_tensor *const most = weft_max_axes(scores, (const int64_t[]){-1, WEFT_END}, true);
    weft_tensor *const weights = weft_softmax(scores, -1);
    return weft_where(weft_equal_number(most, -(double)INFINITY), weft_number(weights, 0), weights);
}

weft_tensor *wi_onnx_attend(const wi_onnx_attention *a, weft_tensor **scores, weft_tensor **weights) {
    const double width = (double)weft_tensor_dimension(a->q, 3),
                 scale = a->scaled ? a->scale : 1 / sqrt(width);
    weft_tensor *const k = repeat_heads(a->k, a->repeats), *const v = repeat_heads(a->v, a->repeats);
    wi_onnx_attention own = *a;
    if (scores) *scores = weft_mul_number(weft_matmul(a->q, weft_transpose(k)), scale);
    if (a->softcap == 0 && !weights) {
        const weft_attention_options options = {WEFT_ATTENTION_OPTIONS_INIT, .mask = a->mask,
            .causal = a->causal, .scale = scale == 0 ? WEFT_ZERO : (float)scale};
        return weft_attention(a->q, k, v, &options);
    }
    if (a->causal)
        own.mask = both_masks(a->mask, weft_less_equal(count_axis(k, 2, false), count_axis(a->q, 2, true)));
    weft_tensor *const p = weigh(&own, weft_mul_number(weft_matmul(a->q, weft_transpose(k)), scale));
    if (weights) *weights = p;
    return weft_matmul(p, v);
}

/* Sets the fourth output. Versions of the specification differ in what qk_matmul_output_mode 1 and 2 mean with a mask, and 0 and 1 with a
 * softcap. */
static bool set_scores(wi_onnx_import *n, wi_onnx_node *node, const wi_onnx_attention *a, weft_tensor *scores,
    weft_tensor *weights) {
    const int64_t mode = wi_onnx_whole(node, "qk_matmul_output_mode", 0);
    const bool masked = a->mask || a->causal;
    if (mode < 0 || mode > 3 || ((mode == 1 || mode == 2) && masked) || (mode < 2 && a->softcap != 0))
        return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED,
                   "this qk_matmul_output_mode with a mask or a softcap is not the same in all versions of "
                   "ONNX"),
               false;
    if (mode == 2 && a->softcap != 0)
        scores = weft_mul_number(weft_tanh(weft_div_number(scores, a->softcap)), a->softcap);
    wi_onnx_set(n, node, 3, mode == 3 ? weights : scores);
    return true;
}

/* Reads q, k and v as (N, heads, L, d), with the past in front of k and v, which become outputs. */
static bool read_heads(wi_onnx_attention *a, wi_onnx_import *n, wi_onnx_node *node, bool flat) {
    weft_tensor *const past_k = wi_onnx_optional(n, node, 4), *const past_v = wi_onnx_optional(n, node, 5);
    if (n->status != WEFT_OK) return false;
    if (flat) {
        const int64_t heads = wi_onnx_whole(node, "kv_num_heads", 0);
        a->q = wi_onnx_split_heads(a->q, wi_onnx_whole(node, "q_num_heads", 0));
        a->k = wi_onnx_split_heads(a->k, heads);
        a->v = wi_onnx_split_heads(a->v, heads);
    }
    if (past_k && past_v) {
        a->k = weft_concat((weft_tensor *const[]){past_k, a->k}, 2, 2);
        a->v = weft_concat((weft_tensor *const[]){past_v, a->v}, 2, 2);
    }
    const int64_t heads = weft_tensor_dimension(a->q, 1), keys = weft_tensor_dimension(a->k, 1);
    if (!a->q || !a->k || !a->v || weft_tensor_rank(a->q) != 4 || weft_tensor_rank(a->k) != 4 ||
        weft_tensor_rank(a->v) != 4 || keys < 1 || heads % keys || !past_k != !past_v)
        return wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "its inputs cannot be divided into its heads"), false;
    a->repeats = heads / keys;
    wi_onnx_set(n, node, 1, a->k);
    wi_onnx_set(n, node, 2, a->v);
    return true;
}

/* Reads the mask, the causal mask (which depends on the length of the past), and the lengths of the keys. */
static bool read_masks(wi_onnx_attention *a, wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const mask = wi_onnx_optional(n, node, 3), *const past = wi_onnx_optional(n, node, 4),
                       *const lengths = wi_onnx_optional(n, node, 6);
    if (n->status != WEFT_OK) return false;
    a->causal = wi_onnx_whole(node, "is_causal", 0) != 0;
    a->mask = mask ? pad_mask(mask, a->k) : NULL;
    if (mask && weft_tensor_dimension(mask, -1) == 1 && weft_tensor_dimension(a->k, 2) != 1)
        return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED,
                   "a mask whose last axis has the size 1 is not supported for several keys"),
               false;
    if ((a->causal && lengths) || wi_onnx_whole(node, "left_window_size", -1) != -1 ||
        wi_onnx_whole(node, "right_window_size", -1) != -1 ||
        (a->softcap != 0 && (mask || lengths || a->causal)))
        return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED,
                   "windows, is_causal with nonpad_kv_seqlen, and softcap with a mask are not the same in "
                   "all "
                   "versions of ONNX"),
               false;
    if (a->causal && past) {
        a->mask = both_masks(a->mask, causal_mask(a->q, a->k, past));
        a->causal = false;
    }
    if (lengths) {
        weft_tensor *const column = weft_unsqueeze(weft_unsqueeze(weft_unsqueeze(lengths, 1), 1), 1);
        a->mask = both_masks(a->mask, weft_less(count_axis(a->k, 2, false), column));
    }
    return true;
}

/* Inputs of rank 3 have their heads side by side. */
static weft_tensor *build_attention(wi_onnx_import *n, wi_onnx_node *node) {
    wi_onnx_attention a = {.q = wi_onnx_get(n, node, 0),
        .k = wi_onnx_get(n, node, 1),
        .v = wi_onnx_get(n, node, 2),
        .scaled = wi_onnx_attribute(node, "scale") != NULL,
        .scale = wi_onnx_real(node, "scale", 0),
        .softcap = wi_onnx_real(node, "softcap", 0)};
    weft_tensor *scores = NULL, *weights = NULL;
    const bool flat = weft_tensor_rank(a.q) == 3, shown = wi_onnx_has_output(node, 3);
    if (!read_heads(&a, n, node, flat) || !read_masks(&a, n, node)) return NULL;
    const bool weighs = shown && wi_onnx_whole(node, "qk_matmul_output_mode", 0) == 3;
    weft_tensor *const y = wi_onnx_attend(&a, shown ? &scores : NULL, weighs ? &weights : NULL);
    if (shown && !set_scores(n, node, &a, scores, weights)) return NULL;
    return flat ? wi_onnx_join_heads(y) : y;
}

/* ---- rotary embeddings ---- */

/* x (N, L, heads, d): rotates pairs of the first `width` elements; pairs are neighbours, or an element of each half. cosine and sine:
 * (N, L, width / 2), or without N. */
static weft_tensor *rotate(
    weft_tensor *x, weft_tensor *cosine, weft_tensor *sine, int64_t width, bool neighbours) {
    weft_tensor *a, *b, *parts[3];
    cosine = weft_unsqueeze(cosine, -2);
    sine = weft_unsqueeze(sine, -2);
    if (neighbours) {
        a = weft_slice_step(x, 3, 0, width, 2);
        b = weft_slice_step(x, 3, 1, width, 2);
    } else {
        a = weft_slice(x, 3, 0, width / 2);
        b = weft_slice(x, 3, width / 2, width);
    }
    parts[0] = weft_sub(weft_mul(cosine, a), weft_mul(sine, b));
    parts[1] = weft_add(weft_mul(sine, a), weft_mul(cosine, b));
    parts[0] = neighbours ? weft_flatten_axes(weft_stack(parts, 2, 4), 3, 4) : weft_concat(parts, 2, 3);
    if (width == weft_tensor_dimension(x, 3)) return parts[0];
    parts[1] = weft_slice(x, 3, width, WEFT_END);
    return weft_concat(parts, 2, 3);
}

weft_tensor *wi_onnx_rotary(
    wi_onnx_import *n, wi_onnx_node *node, weft_tensor *cosine, weft_tensor *sine, weft_tensor *positions) {
    weft_tensor *x = wi_onnx_get(n, node, 0);
    if (n->status != WEFT_OK) return NULL;
    const bool flat = weft_tensor_rank(x) == 3, known = weft_tensor_rank(x) == 4;
    const int64_t half = weft_tensor_dimension(cosine, -1), heads = wi_onnx_whole(node, "num_heads", 0);
    const int64_t asked = wi_onnx_whole(node, "rotary_embedding_dim", 0);
    if (flat && heads == 0 && half > 0 && asked == 0)
        x = wi_onnx_split_heads(x, weft_tensor_dimension(x, 2) / (2 * half));
    else if (flat)
        x = wi_onnx_split_heads(x, heads);
    const int64_t width = asked ? asked : weft_tensor_dimension(x, 3);
    if (!x || (!flat && !known) || half < 1 || width != 2 * half || width > weft_tensor_dimension(x, 3) ||
        weft_tensor_dimension(sine, -1) != half)
        return wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "its caches do not match its heads");
    if (positions) {
        cosine = weft_index_select(cosine, 0, positions);
        sine = weft_index_select(sine, 0, positions);
    }
    weft_tensor *const y =
        rotate(weft_swap_axes(x, 1, 2), cosine, sine, width, wi_onnx_whole(node, "interleaved", 0) != 0);
    return flat ? weft_flatten_axes(y, 2, 3) : weft_swap_axes(y, 1, 2);
}

static weft_tensor *build_rotary(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const cosine = wi_onnx_get(n, node, 1), *const sine = wi_onnx_get(n, node, 2);
    return wi_onnx_rotary(n, node, cosine, sine, wi_onnx_optional(n, node, 3));
}

const wi_onnx_op wi_onnx_attention_ops[] = {
    {"Attention", .build = build_attention}, {"RotaryEmbedding", .build = build_rotary}, {0}};
