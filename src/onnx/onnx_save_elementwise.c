/* Elementwise ops, constants and reductions in ONNX. */
#include "onnx/onnx_save.h"
#include "ops/convolution/conv.h"
#include <math.h>
#include <string.h>

/* ---- ops that ONNX lacks, as ordinary nodes ---- */

bool wi_export_is_float(const wi_export *e, const weft_tensor *y) {
    (void)e;
    return wi_dtype_is_float(y->inputs[0]->dtype);
}

static weft_tensor *same(weft_tensor *y) {
    return y->inputs[0];
}
static weft_tensor *never(weft_tensor *y) {
    return weft_less(y->inputs[0], y->inputs[0]);
}
static weft_tensor *square(weft_tensor *y) {
    return weft_mul(y->inputs[0], y->inputs[0]);
}
static weft_tensor *trunc_parts(weft_tensor *y) {
    return weft_mul(weft_sign(y->inputs[0]), weft_floor(weft_abs(y->inputs[0])));
}
static weft_tensor *rsqrt_parts(weft_tensor *y) {
    return weft_reciprocal(weft_sqrt(y->inputs[0]));
}
static weft_tensor *exp2_parts(weft_tensor *y) {
    return weft_pow(weft_number(y, 2), y->inputs[0]);
}
static weft_tensor *log2_parts(weft_tensor *y) {
    return weft_mul_number(weft_log(y->inputs[0]), 1.4426950408889634);
}
static weft_tensor *silu_parts(weft_tensor *y) {
    return weft_mul(y->inputs[0], weft_sigmoid(y->inputs[0]));
}
static weft_tensor *mish_parts(weft_tensor *y) {
    return weft_mul(y->inputs[0], weft_tanh(weft_softplus(y->inputs[0])));
}
static weft_tensor *unequal_parts(weft_tensor *y) {
    return weft_logical_not(weft_equal(y->inputs[0], y->inputs[1]));
}
static weft_tensor *isfinite_parts(weft_tensor *y) {
    return weft_equal(weft_sub(y->inputs[0], y->inputs[0]), weft_number(y->inputs[0], 0));
}

/* expm1 in ONNX. exp(x) - 1 loses digits near 0; there the equal expression 2 t / (1 - t) with t = tanh(x / 2) is used. */
static weft_tensor *expm1_parts(weft_tensor *y) {
    weft_tensor *const x = y->inputs[0], *const one = weft_number(x, 1);
    weft_tensor *const t = weft_tanh(weft_mul_number(x, 0.5));
    weft_tensor *const near = weft_div(weft_add(t, t), weft_sub(one, t));
    return weft_where(weft_less(weft_abs(x), one), near, weft_sub(weft_exp(x), one));
}

/* log1p in ONNX. With u = 1 + x rounded, log(u) is inexact near x = 0; x log(u) / (u - 1) corrects this (W. Kahan). */
static weft_tensor *log1p_parts(weft_tensor *y) {
    weft_tensor *const x = y->inputs[0], *const one = weft_number(x, 1), *const u = weft_add(x, one);
    weft_tensor *const log = weft_log(u), *const quotient = weft_div(weft_mul(x, log), weft_sub(u, one));
    weft_tensor *const near = weft_where(weft_equal(u, one), x, quotient);
    return weft_where(weft_less(weft_abs(x), weft_number(x, 0.5)), near, log);
}

/* x / 2 · (1 + z) */
static weft_tensor *half_of(weft_tensor *x, weft_tensor *z) {
    return weft_mul(weft_mul_number(x, 0.5), weft_add_number(z, 1));
}
static weft_tensor *gelu_parts(weft_tensor *y) {
    return half_of(y->inputs[0], weft_erf(weft_mul_number(y->inputs[0], 0.70710678118654752)));
}
static weft_tensor *gelu_tanh_parts(weft_tensor *y) {
    weft_tensor *const x = y->inputs[0], *const cube = weft_mul(x, weft_mul(x, x));
    weft_tensor *const sum = weft_add(x, weft_mul_number(cube, 0.044715));
    return half_of(x, weft_tanh(weft_mul_number(sum, 0.79788456080286536)));
}

/* -0 is negative, too. */
static weft_tensor *is_negative(weft_tensor *x) {
    weft_tensor *const zero = weft_number(x, 0);
    return weft_logical_or(weft_less(x, zero), weft_less(weft_reciprocal(x), zero));
}

/* atan2 in ONNX: the angle of (|b|, |a|), reflected to the quadrant of the signs. 0 / 0 is replaced by 0, and infinity / infinity by 1. */
static weft_tensor *atan2_parts(weft_tensor *y) {
    weft_tensor *const a = y->inputs[0], *const b = y->inputs[1], *const zero = weft_number(a, 0);
    weft_tensor *const far = weft_logical_and(weft_isinf(a), weft_isinf(b));
    weft_tensor *const none = weft_logical_and(weft_equal(a, zero), weft_less_equal(zero, weft_abs(b)));
    weft_tensor *const ratio = weft_where(far, weft_number(a, 1), weft_div(weft_abs(a), weft_abs(b)));
    weft_tensor *angle = weft_atan(weft_where(none, zero, ratio));
    angle = weft_where(is_negative(b), weft_sub(weft_number(a, 3.14159265358979324), angle), angle);
    return weft_where(is_negative(a), weft_neg(angle), angle);
}

/* ---- ops with other inputs or attributes ---- */

static wi_export_value *emit_cast(wi_export *e, weft_tensor *y, const char *name) {
    (void)name;
    return wi_export_cast(e, wi_export_of(e, y->inputs[0]), wi_export_type(y->dtype));
}

static wi_export_value *emit_relu6(wi_export *e, weft_tensor *y, const char *name) {
    wi_export_value *const low = wi_export_number(e, y->dtype, 0), *const high =
                                                                       wi_export_number(e, y->dtype, 6);
    return wi_export_op(e, name, WI_FROM(wi_export_of(e, y->inputs[0]), low, high), NULL);
}

/* Mod with the attribute fmod computes C's remainder of floats and integers. */
static wi_export_value *emit_fmod(wi_export *e, weft_tensor *y, const char *name) {
    return wi_export_op(e, name, WI_FROM(wi_export_of(e, y->inputs[0]), wi_export_of(e, y->inputs[1])),
        WI_WITH(WI_WHOLE("fmod", 1)));
}

/* Quotients in ONNX: Div of integers rounds toward zero. A quotient rounded down is that of a - the remainder, which b divides. */
static weft_tensor *trunc_divide_parts(weft_tensor *y) {
    return weft_trunc(weft_div(y->inputs[0], y->inputs[1]));
}
static weft_tensor *floor_divide_parts(weft_tensor *y) {
    weft_tensor *const a = y->inputs[0], *const b = y->inputs[1],
                       *const whole = weft_sub(a, weft_remainder(a, b));
    return wi_dtype_is_float(y->dtype) ? weft_round(weft_div(whole, b)) : weft_trunc_divide(whole, b);
}
static weft_tensor *logsigmoid_parts(weft_tensor *y) {
    return weft_neg(weft_softplus(weft_neg(y->inputs[0])));
}

/* The remainder has the sign of the divisor; ONNX's Mod of floats has that of the dividend. */
static wi_export_value *emit_remainder(wi_export *e, weft_tensor *y, const char *name) {
    wi_export_value *const a = wi_export_of(e, y->inputs[0]), *const b = wi_export_of(e, y->inputs[1]);
    const bool floats = wi_dtype_is_float(y->dtype);
    wi_export_value *const r = wi_export_op(e, name, WI_FROM(a, b), WI_WITH(WI_WHOLE("fmod", floats)));
    wi_export_value *const zero = wi_export_number(e, y->dtype, 0);
    if (!floats) return r;
    wi_export_value *const differs =
        wi_export_two(e, "Xor", wi_export_two(e, "Less", r, zero), wi_export_two(e, "Less", b, zero));
    wi_export_value *const wrong =
        wi_export_two(e, "And", wi_export_one(e, "Not", wi_export_two(e, "Equal", r, zero)), differs);
    return wi_export_op(e, "Where", WI_FROM(wrong, wi_export_two(e, "Add", r, b), r), NULL);
}

/* ---- sums and products that are part of a layer ---- */

static bool adds_by_channel(const weft_tensor *a, const weft_tensor *b) {
    return b->shape.rank == 1 && a->shape.rank > 1 && b->shape.dims[0] == a->shape.dims[a->shape.rank - 1];
}

/* If y adds a bias to a matrix product, writes both as one Gemm node, except for the f32 product of 16-bit floats. */
static wi_export_value *emit_add(wi_export *e, weft_tensor *y, const char *name) {
    weft_tensor *const a = wi_export_resolve(e, y->inputs[0]), *const b = y->inputs[1];
    const bool is_gemm = a->op == &wi_op_matmul && a->shape.rank == 2 && a->inputs[0]->dtype == a->dtype;
    if (is_gemm && adds_by_channel(a, b)) return wi_export_gemm(e, a, b);
    return wi_export_two(e, name, wi_export_of(e, a), wi_export_of(e, b));
}

static bool adds_to_conv(const wi_export *e, const weft_tensor *y) {
    const weft_tensor *const a = wi_export_resolve(e, y->inputs[0]);
    return (a->op == &wi_op_conv || a->op == &wi_op_conv_data) && adds_by_channel(a, y->inputs[1]);
}
static wi_export_value *emit_conv_add(wi_export *e, weft_tensor *y, const char *name) {
    (void)name;
    return wi_export_conv(e, wi_export_resolve(e, y->inputs[0]), y->inputs[1]);
}

static wi_export_value *reduce(wi_export *e, const char *name, weft_tensor *x, uint32_t axes) {
    const bool by_input = e->options.opset >= 18 || strcmp(name, "ReduceSum") == 0;
    int64_t list[WEFT_MAX_RANK];
    int count = 0;
    for (int i = 0; i < x->shape.rank; i++)
        if (axes >> i & 1) list[count++] = i;
    return wi_export_op(e, name,
        WI_FROM(wi_export_of(e, x), by_input ? wi_export_ints(e, list, count) : &wi_export_none),
        WI_WITH(WI_WHOLE("keepdims", 1), WI_WHOLES(by_input ? NULL : "axes", list, count)));
}

/* Writes a sum times 1 / the number of elements as a mean. Equal nodes are one node, so comparing pointers finds this factor. */
static wi_export_value *emit_mul(wi_export *e, weft_tensor *y, const char *name) {
    weft_tensor *const a = wi_export_resolve(e, y->inputs[0]), *const b = wi_export_resolve(e, y->inputs[1]);
    if (a->op == &wi_op_sum && wi_dtype_is_float(a->dtype) &&
        b == wi_axes_share(a->inputs[0], a->dtype, a->attributes->over.axes))
        return reduce(e, "ReduceMean", a->inputs[0], a->attributes->over.axes);
    return wi_export_two(e, name, wi_export_of(e, a), wi_export_of(e, b));
}

/* ---- reductions ---- */

static wi_export_value *emit_reduction(wi_export *e, weft_tensor *y, const char *name) {
    return reduce(e, name, y->inputs[0], y->attributes->over.axes);
}

static wi_export_value *emit_norm(wi_export *e, weft_tensor *y, const char *name) {
    const wi_vector_norm_attributes *const a = &y->attributes->vector_norm;
    return reduce(e, a->order == 1 ? "ReduceL1" : name, y->inputs[0], a->axes);
}
static bool is_finite_norm(const wi_export *e, const weft_tensor *y) {
    (void)e;
    return isfinite(y->attributes->vector_norm.order);
}

static bool has_one_axis(const wi_export *e, const weft_tensor *y) {
    const uint32_t axes = y->attributes->over.axes;
    (void)e;
    return axes && !(axes & (axes - 1));
}

static wi_export_value *emit_extreme(wi_export *e, weft_tensor *y, const char *name) {
    int64_t axis = 0;
    while (!(y->attributes->over.axes >> axis & 1)) axis++;
    wi_export_value *const index = wi_export_op(e, name, WI_FROM(wi_export_of(e, y->inputs[0])),
        WI_WITH(WI_WHOLE("axis", axis), WI_WHOLE("keepdims", 1)));
    return wi_export_cast(e, index, WI_ONNX_INT32);
}

/* argmax or argmin over several axes: the axes are merged into one first. */
static weft_tensor *extreme_parts(weft_tensor *y) {
    weft_tensor *const x = y->inputs[0];
    const uint32_t axes = y->attributes->over.axes;
    int order[WEFT_MAX_RANK], kept = 0, count;
    if (!axes) return weft_expand(weft_number(y, 0), y->shape.rank, y->shape.dims);
    for (int i = 0; i < x->shape.rank; i++)
        if (!(axes >> i & 1)) order[kept++] = i;
    count = kept;
    for (int i = 0; i < x->shape.rank; i++)
        if (axes >> i & 1) order[count++] = i;
    weft_tensor *const flat = weft_flatten_axes(weft_permute_axes(x, count, order), kept, count - 1);
    const int64_t last[] = {kept, WEFT_END};
    weft_tensor *const index =
        (y->op == &wi_op_argmax ? weft_argmax_axes : weft_argmin_axes)(flat, last, true);
    return index ? weft_reshape_shape(index, y->shape.rank, y->shape.dims) : NULL;
}

/* ---- constants ---- */

/* A dimension as a value of rank 0. */
static wi_export_value *number_of(wi_export *e, int64_t dim, weft_dtype dtype) {
    return wi_export_cast(e, wi_export_one(e, "Squeeze", wi_export_size(e, dim)), wi_export_type(dtype));
}

/* x · dim^power */
static wi_export_value *times(wi_export *e, wi_export_value *x, int64_t dim, int power, weft_dtype dtype) {
    for (int i = 0; i < power; i++) x = wi_export_two(e, "Mul", x, number_of(e, dim, dtype));
    for (int i = 0; i > power; i--) x = wi_export_two(e, "Div", x, number_of(e, dim, dtype));
    return x;
}

static wi_export_value *emit_constant(wi_export *e, weft_tensor *y, const char *name) {
    const wi_constant_attributes *const a = &y->attributes->constant;
    (void)name;
    return times(e, wi_export_number(e, y->dtype, a->value), WEFT_BATCH, a->batch_power, y->dtype);
}

static wi_export_value *emit_elements(wi_export *e, weft_tensor *y, const char *name) {
    const wi_count_attributes *const a = &y->attributes->count;
    const int sign = a->inverse ? -1 : 1;
    (void)name;
    wi_export_value *const count = times(e, wi_export_number(e, y->dtype, 1), a->count, sign, y->dtype);
    return times(e, count, WEFT_BATCH, sign * a->batch_power, y->dtype);
}

/* Is the value of the scalar one that the program has set? A value that the host computes in each run is not constant. */
static bool is_set(const wi_export *e, const weft_tensor *y) {
    (void)e;
    return !wi_scalar_has_rule(y);
}
static wi_export_value *emit_scalar(wi_export *e, weft_tensor *y, const char *name) {
    (void)name;
    return wi_export_number(e, y->dtype, (double)e->graph->scalars[y->attributes->scalar.index].value);
}

static wi_export_value *emit_coordinate(wi_export *e, weft_tensor *y, const char *name) {
    const int axis = y->attributes->along.axis;
    wi_shape line = {.rank = y->shape.rank}, flat = {.rank = 1, .dims = {y->shape.dims[axis]}};
    for (int i = 0; i < line.rank; i++) line.dims[i] = i == axis ? flat.dims[0] : 1;
    wi_export_value *const from = wi_export_number(e, WEFT_I32, 0), *const step =
                                                                        wi_export_number(e, WEFT_I32, 1);
    wi_export_value *x =
        wi_export_op(e, name, WI_FROM(from, number_of(e, flat.dims[0], WEFT_I32), step), NULL);
    if (line.rank > 1) x = wi_export_reshape(e, x, &flat, &line);
    if (wi_shape_equal(&line, &y->shape)) return x;
    return wi_export_two(e, "Expand", x, wi_export_shape(e, y->shape.rank, y->shape.dims));
}

/* ---- the table ---- */

const wi_export_row wi_export_elementwise_rows[] = {
    {&wi_op_add, .emit = emit_conv_add, .fits = adds_to_conv, .is_image = true},
    {&wi_op_add, .name = "Add", .emit = emit_add}, {&wi_op_sub, .name = "Sub"},
    {&wi_op_mul, .name = "Mul", .emit = emit_mul}, {&wi_op_div, .name = "Div"}, {&wi_op_neg, .name = "Neg"},
    {&wi_op_maximum, .name = "Max"}, {&wi_op_minimum, .name = "Min"}, {&wi_op_where, .name = "Where"},
    {&wi_op_exp, .name = "Exp"}, {&wi_op_log, .name = "Log"}, {&wi_op_sqrt, .name = "Sqrt"},
    {&wi_op_tanh, .name = "Tanh"}, {&wi_op_sigmoid, .name = "Sigmoid"}, {&wi_op_relu, .name = "Relu"},
    {&wi_op_square, .rewrite = square}, {&wi_op_equal, .name = "Equal"}, {&wi_op_less, .name = "Less"},
    {&wi_op_less_equal, .name = "LessOrEqual"}, {&wi_op_greater, .name = "Greater"},
    {&wi_op_greater_equal, .name = "GreaterOrEqual"}, {&wi_op_not_equal, .rewrite = unequal_parts},
    {&wi_op_pow, .name = "Pow"}, {&wi_op_remainder, .name = "Mod", .emit = emit_remainder},
    {&wi_op_fmod, .name = "Mod", .emit = emit_fmod}, {&wi_op_floor_divide, .rewrite = floor_divide_parts},
    {&wi_op_trunc_divide, .rewrite = trunc_divide_parts, .fits = wi_export_is_float},
    {&wi_op_trunc_divide, .name = "Div"}, {&wi_op_sinh, .name = "Sinh"}, {&wi_op_cosh, .name = "Cosh"},
    {&wi_op_asinh, .name = "Asinh"}, {&wi_op_acosh, .name = "Acosh"}, {&wi_op_atanh, .name = "Atanh"},
    {&wi_op_logsigmoid, .rewrite = logsigmoid_parts}, {&wi_op_atan2, .rewrite = atan2_parts},
    {&wi_op_abs, .name = "Abs"}, {&wi_op_sign, .name = "Sign"},
    {&wi_op_floor, .name = "Floor", .fits = wi_export_is_float}, {&wi_op_floor, .rewrite = same},
    {&wi_op_ceil, .name = "Ceil", .fits = wi_export_is_float}, {&wi_op_ceil, .rewrite = same},
    {&wi_op_round, .name = "Round", .fits = wi_export_is_float}, {&wi_op_round, .rewrite = same},
    {&wi_op_trunc, .rewrite = trunc_parts, .fits = wi_export_is_float}, {&wi_op_trunc, .rewrite = same},
    {&wi_op_rsqrt, .rewrite = rsqrt_parts}, {&wi_op_reciprocal, .name = "Reciprocal"},
    {&wi_op_exp2, .rewrite = exp2_parts}, {&wi_op_expm1, .rewrite = expm1_parts},
    {&wi_op_log2, .rewrite = log2_parts}, {&wi_op_log1p, .rewrite = log1p_parts}, {&wi_op_sin, .name = "Sin"},
    {&wi_op_cos, .name = "Cos"}, {&wi_op_tan, .name = "Tan"}, {&wi_op_asin, .name = "Asin"},
    {&wi_op_acos, .name = "Acos"}, {&wi_op_atan, .name = "Atan"}, {&wi_op_erf, .name = "Erf"},
    {&wi_op_gelu, .name = "Gelu", .since = 20}, {&wi_op_gelu, .rewrite = gelu_parts},
    {&wi_op_gelu_tanh, .name = "Gelu", .since = 20, .with = WI_WITH(WI_TEXT("approximate", "tanh"))},
    {&wi_op_gelu_tanh, .rewrite = gelu_tanh_parts}, {&wi_op_silu, .rewrite = silu_parts},
    {&wi_op_softplus, .name = "Softplus"}, {&wi_op_softsign, .name = "Softsign"},
    {&wi_op_mish, .name = "Mish", .since = 18}, {&wi_op_mish, .rewrite = mish_parts},
    {&wi_op_selu, .name = "Selu",
        .with = WI_WITH(WI_REAL("alpha", 1.6732632423543772), WI_REAL("gamma", 1.0507009873554805))},
    {&wi_op_relu6, .name = "Clip", .emit = emit_relu6},
    {&wi_op_hardsigmoid, .name = "HardSigmoid",
        .with = WI_WITH(WI_REAL("alpha", 1 / 6.0), WI_REAL("beta", 0.5))},
    {&wi_op_hardswish, .name = "HardSwish"}, {&wi_op_isnan, .name = "IsNaN", .fits = wi_export_is_float},
    {&wi_op_isnan, .rewrite = never}, {&wi_op_isinf, .name = "IsInf", .fits = wi_export_is_float},
    {&wi_op_isinf, .rewrite = never}, {&wi_op_isfinite, .rewrite = isfinite_parts},
    {&wi_op_logical_and, .name = "And"}, {&wi_op_logical_or, .name = "Or"},
    {&wi_op_logical_xor, .name = "Xor"}, {&wi_op_logical_not, .name = "Not"},
    {&wi_op_cast, .name = "Cast", .emit = emit_cast},
    {&wi_op_sum, .name = "ReduceSum", .emit = emit_reduction},
    {&wi_op_prod, .name = "ReduceProd", .emit = emit_reduction},
    {&wi_op_max, .name = "ReduceMax", .emit = emit_reduction},
    {&wi_op_min, .name = "ReduceMin", .emit = emit_reduction},
    {&wi_op_logsumexp, .name = "ReduceLogSumExp", .emit = emit_reduction},
    {&wi_op_norm, .name = "ReduceL2", .emit = emit_norm, .fits = is_finite_norm},
    {&wi_op_argmax, .name = "ArgMax", .emit = emit_extreme, .fits = has_one_axis},
    {&wi_op_argmax, .rewrite = extreme_parts},
    {&wi_op_argmin, .name = "ArgMin", .emit = emit_extreme, .fits = has_one_axis},
    {&wi_op_argmin, .rewrite = extreme_parts}, {&wi_op_constant, .emit = emit_constant},
    {&wi_op_elements, .emit = emit_elements}, {&wi_op_scalar, .emit = emit_scalar, .fits = is_set},
    {&wi_op_coordinate, .name = "Range", .emit = emit_coordinate}, {0}};
