/* See onnx_quantised.h. Products of whole numbers of 8 bits are exact: they are computed in f32, in which whole numbers up to 2^24 are
 * exact, and factors are divided into digits of 4 bits where sums become larger. */
#include "onnx/onnx_quantised.h"
#include "onnx/onnx_build.h"
#include <string.h>

/* ---- scales and zero points ---- */

/* Repeats each number along the axis for the elements of its block; the last block may be smaller. */
static weft_tensor *repeat_blocks(weft_tensor *s, const weft_tensor *x, wi_onnx_layout layout) {
    int64_t dims[WEFT_MAX_RANK];
    const int rank = weft_tensor_rank(x), axis = layout.axis;
    const int64_t size = wi_onnx_fixed_size(x, axis);
    s = size > 0 ? weft_unsqueeze(s, axis + 1) : NULL;
    if (!s) return NULL;
    for (int d = 0; d <= rank; d++) dims[d] = weft_tensor_dimension(s, d);
    dims[axis + 1] = layout.block;
    s = weft_flatten_axes(weft_expand(s, rank + 1, dims), axis, axis + 1);
    return weft_slice(s, axis, 0, size);
}

weft_tensor *wi_onnx_spread(
    wi_onnx_import *n, wi_onnx_node *node, size_t index, const weft_tensor *x, wi_onnx_layout layout) {
    weft_tensor *const s = wi_onnx_get(n, node, index);
    int64_t dims[WEFT_MAX_RANK];
    if (!s || !x) return NULL;
    const int own = weft_tensor_rank(s), rank = weft_tensor_rank(x), axis = layout.axis;
    if (own == 0 || (own == 1 && weft_tensor_dimension(s, 0) == 1)) return weft_reshape_shape(s, 0, NULL);
    if (axis < 0 || axis >= rank || layout.block < 0 ||
        (layout.block > 0 ? own != rank || rank == WEFT_MAX_RANK : own != 1))
        return wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "input %zu does not match axis %d", index, axis);
    if (layout.block > 0) {
        weft_tensor *const repeated = repeat_blocks(s, x, layout);
        return repeated
                   ? repeated
                   : wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "its blocks need an axis of fixed size");
    }
    for (int d = 0; d < rank; d++) dims[d] = d == axis ? weft_tensor_dimension(s, 0) : 1;
    return weft_reshape_shape(s, rank, dims);
}

/* q - zero. It fits into i32, because q has fewer bits, or because q has 32 bits and no zero point. */
static weft_tensor *from_zero(
    wi_onnx_import *n, wi_onnx_node *node, weft_tensor *q, size_t zero, wi_onnx_layout layout) {
    if (!q || !wi_onnx_has(node, zero)) return q;
    weft_tensor *const z = wi_onnx_spread(n, node, zero, q, layout);
    return z ? weft_sub(q, z) : NULL;
}

weft_tensor *wi_onnx_dequantise(
    wi_onnx_import *n, wi_onnx_node *node, weft_tensor *q, size_t scale, size_t zero, wi_onnx_layout layout) {
    weft_tensor *const x = from_zero(n, node, q, zero, layout);
    weft_tensor *const s = wi_onnx_spread(n, node, scale, q, layout);
    return x && s ? weft_mul(weft_cast(x, WEFT_F32), s) : NULL;
}

/* round(x) + zero, saturated to the range of the type. zero NULL: there is no zero point. */
static weft_tensor *round_to_type(weft_tensor *x, weft_tensor *zero, const wi_onnx_type *type) {
    weft_tensor *y = weft_round(x);
    if (zero) y = weft_add(y, weft_cast(zero, WEFT_F32));
    return weft_cast(weft_clamp(y, wi_onnx_type_low(type), wi_onnx_type_high(type)), WEFT_I32);
}

weft_tensor *wi_onnx_quantise(wi_onnx_import *n, wi_onnx_node *node, weft_tensor *x, size_t scale,
    size_t zero, int number, wi_onnx_layout layout) {
    const bool has_zero = wi_onnx_has(node, zero);
    const wi_onnx_type *const type = wi_onnx_type_of(has_zero ? wi_onnx_get_type(n, node, zero) : number);
    weft_tensor *const s = wi_onnx_spread(n, node, scale, x, layout), *const z = has_zero
                                                                                     ? wi_onnx_spread(n, node,
                                                                                           zero, x, layout)
                                                                                     : NULL;
    if (!s || (has_zero && !z)) return NULL;
    if (!type || type->bits > 16 || (type->dtype == WEFT_F32 && type->mantissa == 0))
        return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "it does not quantise to this type");
    weft_tensor *const y = weft_div(weft_cast(x, WEFT_F32), s);
    if (type->dtype == WEFT_I32) return round_to_type(y, z, type);
    return wi_onnx_cast(n, node, y, type->number, wi_onnx_whole(node, "saturate", 1) != 0);
}

static wi_onnx_layout layout_of(wi_onnx_node *node, const weft_tensor *x) {
    return (wi_onnx_layout){wi_onnx_axis(wi_onnx_whole(node, "axis", 1), weft_tensor_rank(x)),
        wi_onnx_whole(node, "block_size", 0)};
}

static weft_tensor *build_quantise(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    const int given = (int)wi_onnx_whole(node, "output_dtype", 0);
    const int type = wi_onnx_has(node, 2) ? wi_onnx_get_type(n, node, 2) : given ? given : WI_ONNX_UINT8;
    if (!x) return NULL;
    if (wi_onnx_whole(node, "precision", 0) > WI_ONNX_FLOAT)
        return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "only precision float is supported");
    weft_tensor *const y = wi_onnx_quantise(n, node, x, 1, 2, type, layout_of(node, x));
    if (y) wi_onnx_set_type(n, node, 0, type);
    return y;
}

static weft_tensor *build_dequantise(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const q = wi_onnx_get(n, node, 0);
    return q ? wi_onnx_dequantise(n, node, q, 1, 2, layout_of(node, q)) : NULL;
}

/* DynamicQuantizeLinear: computes the scale and the zero point for u8 from the smallest and the largest number of x and 0. */
static weft_tensor *build_dynamic(wi_onnx_import *n, wi_onnx_node *node) {
    enum { STEPS = 255 };
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    if (!x) return NULL;
    weft_tensor *const high = weft_maximum_number(weft_max_axes(x, NULL, false), 0);
    weft_tensor *const low = weft_minimum_number(weft_min_axes(x, NULL, false), 0);
    weft_tensor *const range = weft_sub(high, low);
    weft_tensor *const scale =
        weft_div_number(weft_where(weft_equal_number(range, 0), weft_number(range, 1), range), STEPS);
    weft_tensor *const zero = weft_round(weft_clamp(weft_neg(weft_div(low, scale)), 0, STEPS));
    wi_onnx_set(n, node, 1, scale);
    wi_onnx_set(n, node, 2, weft_cast(zero, WEFT_I32));
    wi_onnx_set_type(n, node, 0, WI_ONNX_UINT8);
    wi_onnx_set_type(n, node, 2, WI_ONNX_UINT8);
    return round_to_type(weft_div(x, scale), zero, wi_onnx_type_of(WI_ONNX_UINT8));
}

/* ---- products of whole numbers ---- */

/* The matrix product or convolution of a node. Each element of its result is a sum of `depth` products of elements. */
typedef struct product {
    wi_onnx_import *network;
    wi_onnx_node *node;
    bool is_conv;
    double depth;
} product;

/* Multiplies exactly, in i32. most_a and most_b are bounds of the magnitudes of elements. If sums in f32 would round, one factor is split
 * into two numbers of fewer bits. */
static weft_tensor *multiply(const product *p, weft_tensor *a, weft_tensor *b, double most_a, double most_b) {
    enum { DIGIT = 16 };
    if (most_a * most_b * p->depth <= 0x1p24) {
        weft_tensor *const sum =
            p->is_conv ? wi_onnx_conv(p->network, p->node, a, b, NULL, true) : weft_matmul(a, b);
        return sum ? weft_cast(weft_round(sum), WEFT_I32) : NULL;
    }
    const bool is_a = most_a > DIGIT;
    if (!is_a && most_b <= DIGIT)
        return wi_onnx_fail(
            p->network, p->node, WEFT_ERROR_UNSUPPORTED, "sums of %.0f products are too long", p->depth);
    weft_tensor *const all = is_a ? a : b, *const high = weft_floor(weft_mul_number(all, 1.0 / DIGIT)),
                       *const low = weft_sub(all, weft_mul_number(high, DIGIT));
    weft_tensor *const upper =
        is_a ? multiply(p, high, b, DIGIT, most_b) : multiply(p, a, high, most_a, DIGIT);
    weft_tensor *const lower = is_a ? multiply(p, low, b, DIGIT, most_b) : multiply(p, a, low, most_a, DIGIT);
    return upper && lower ? weft_add(weft_mul_number(upper, DIGIT), lower) : NULL;
}

/* The product of inputs a and b after their zero points are subtracted, in i32. */
static weft_tensor *whole_product(
    wi_onnx_import *n, wi_onnx_node *node, size_t a, size_t zero_a, size_t b, size_t zero_b, bool is_conv) {
    enum { MOST = 255 };
    weft_tensor *const qa = wi_onnx_get(n, node, a), *const qb = wi_onnx_get(n, node, b);
    const wi_onnx_type *const type_a = wi_onnx_type_of(wi_onnx_get_type(n, node, a)),
                              *const type_b = wi_onnx_type_of(wi_onnx_get_type(n, node, b));
    product p = {n, node, is_conv, 1};
    if (!qa || !qb) return NULL;
    if (!type_a || !type_b || type_a->dtype != WEFT_I32 || type_b->dtype != WEFT_I32 || type_a->bits > 8 ||
        type_b->bits > 8)
        return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "it needs factors of 8 bits");
    const int rank_a = weft_tensor_rank(qa), rank_b = weft_tensor_rank(qb);
    if (rank_a < 2 || rank_b < 2) return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "it needs matrices");
    const wi_onnx_layout rows = {is_conv ? 1 : rank_a - 2, 0}, columns = {is_conv ? 0 : rank_b - 1, 0};
    weft_tensor *const from_a = from_zero(n, node, qa, zero_a, rows), *const from_b = from_zero(
                                                                          n, node, qb, zero_b, columns);
    if (!from_a || !from_b) return NULL;
    if (!is_conv) p.depth = (double)weft_tensor_dimension(qa, rank_a - 1);
    for (int d = 1; is_conv && d < rank_b; d++) p.depth *= (double)weft_tensor_dimension(qb, d);
    if (!(p.depth >= 1 && p.depth * MOST * MOST < 0x1p31))
        return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "sums of %.0f products may overflow", p.depth);
    return multiply(&p, weft_cast(from_a, WEFT_F32), weft_cast(from_b, WEFT_F32), MOST, MOST);
}

static weft_tensor *build_whole_matmul(wi_onnx_import *n, wi_onnx_node *node) {
    wi_onnx_set_type(n, node, 0, WI_ONNX_INT32);
    return whole_product(n, node, 0, 2, 1, 3, false);
}

static weft_tensor *build_whole_conv(wi_onnx_import *n, wi_onnx_node *node) {
    wi_onnx_set_type(n, node, 0, WI_ONNX_INT32);
    return whole_product(n, node, 0, 2, 1, 3, true);
}

/* The inputs are a, its scale, its zero point; the same three for b; the scale and the zero point of the result; and maybe a bias, which is
 * added to the sum. */
static weft_tensor *build_quantised_product(wi_onnx_import *n, wi_onnx_node *node) {
    enum { A, SCALE_A, ZERO_A, B, SCALE_B, ZERO_B, SCALE, ZERO, BIAS };
    const bool is_conv = strcmp(node->op_type, "QLinearConv") == 0;
    weft_tensor *sum = whole_product(n, node, A, ZERO_A, B, ZERO_B, is_conv);
    const int type = wi_onnx_get_type(n, node, wi_onnx_has(node, ZERO) ? ZERO : A);
    if (!sum) return NULL;
    const int rank = weft_tensor_rank(sum);
    const wi_onnx_layout rows = {is_conv ? 1 : rank - 2, 0}, columns = {is_conv ? 1 : rank - 1, 0};
    if (is_conv && wi_onnx_has(node, BIAS)) {
        weft_tensor *const bias = wi_onnx_spread(n, node, BIAS, sum, columns);
        sum = bias ? weft_add(sum, bias) : NULL;
    }
    weft_tensor *const scale_a = wi_onnx_spread(n, node, SCALE_A, sum, rows),
                       *const scale_b = wi_onnx_spread(n, node, SCALE_B, sum, columns),
                       *const scale = wi_onnx_spread(n, node, SCALE, sum, rows),
                       *const zero =
                           wi_onnx_has(node, ZERO) ? wi_onnx_spread(n, node, ZERO, sum, rows) : NULL;
    const wi_onnx_type *const to = wi_onnx_type_of(type);
    if (n->status != WEFT_OK || !sum || !scale_a || !scale_b || !scale) return NULL;
    if (!to || to->dtype != WEFT_I32 || to->bits > 16)
        return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "it does not quantise to this type");
    wi_onnx_set_type(n, node, 0, type);
    weft_tensor *const factor = weft_div(weft_mul(scale_a, scale_b), scale);
    return round_to_type(weft_mul(weft_cast(sum, WEFT_F32), factor), zero, to);
}

const wi_onnx_op wi_onnx_quantised_ops[] = {{"QuantizeLinear", .build = build_quantise},
    {"DequantizeLinear", .build = build_dequantise}, {"DynamicQuantizeLinear", .build = build_dynamic},
    {"MatMulInteger", .build = build_whole_matmul}, {"ConvInteger", .build = build_whole_conv},
    {"QLinearMatMul", .build = build_quantised_product}, {"QLinearConv", .build = build_quantised_product},
    {0}};
