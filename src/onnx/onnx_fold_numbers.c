/* Elementwise operators on the host. */
#include "graph/dtype.h"
#include "onnx/onnx_fold.h"
#include <math.h>
#include <string.h>

/* ---- of one or two numbers ---- */

static double calculate_whole(wi_onnx_rule rule, double a, double b) {
    switch (rule) {
    case WI_ONNX_DIV: return b == 0 ? (double)NAN : trunc(a / b);
    case WI_ONNX_MOD: return b == 0 ? (double)NAN : a - b * floor(a / b);
    case WI_ONNX_POW: return trunc(pow(a, b));
    case WI_ONNX_SHIFT_LEFT: return b < 0 || b > 63 ? (double)NAN : ldexp(a, (int)b);
    case WI_ONNX_SHIFT_RIGHT: return b < 0 || b > 63 ? (double)NAN : floor(ldexp(a, -(int)b));
    case WI_ONNX_BITS_AND: return (double)((int64_t)a & (int64_t)b);
    case WI_ONNX_BITS_OR: return (double)((int64_t)a | (int64_t)b);
    case WI_ONNX_BITS_XOR: return (double)((int64_t)a ^ (int64_t)b);
    case WI_ONNX_BITS_NOT: return (double)~(int64_t)a;
    default: return (double)NAN;
    }
}

static double compare(wi_onnx_rule rule, double a, double b) {
    switch (rule) {
    case WI_ONNX_EQUAL: return a == b;
    case WI_ONNX_LESS: return a < b;
    case WI_ONNX_LESS_EQUAL: return a <= b;
    case WI_ONNX_GREATER: return a > b;
    case WI_ONNX_GREATER_EQUAL: return a >= b;
    case WI_ONNX_AND: return a != 0 && b != 0;
    case WI_ONNX_OR: return a != 0 || b != 0;
    case WI_ONNX_XOR: return (a != 0) != (b != 0);
    case WI_ONNX_NOT: return a == 0;
    default: return isnan(a);
    }
}

static double calculate_one(wi_onnx_rule rule, double a) {
    switch (rule) {
    case WI_ONNX_NEG: return -a;
    case WI_ONNX_ABS: return fabs(a);
    case WI_ONNX_SIGN: return a > 0 ? 1 : a < 0 ? -1 : a;
    case WI_ONNX_FLOOR: return floor(a);
    case WI_ONNX_CEIL: return ceil(a);
    case WI_ONNX_ROUND: return rint(a);
    case WI_ONNX_TRUNC: return trunc(a);
    case WI_ONNX_SQUARE: return a * a;
    case WI_ONNX_SQRT: return sqrt(a);
    case WI_ONNX_EXP: return exp(a);
    case WI_ONNX_LOG: return log(a);
    case WI_ONNX_RECIPROCAL: return 1 / a;
    case WI_ONNX_RELU: return a < 0 ? 0 : a;
    case WI_ONNX_SIGMOID: return 1 / (1 + exp(-a));
    case WI_ONNX_TANH: return tanh(a);
    case WI_ONNX_SIN: return sin(a);
    case WI_ONNX_COS: return cos(a);
    case WI_ONNX_ERF: return erf(a);
    default: return a;
    }
}

double wi_onnx_calculate(wi_onnx_rule rule, bool whole, double a, double b) {
    if (rule >= WI_ONNX_EQUAL && rule <= WI_ONNX_IS_NAN) return compare(rule, a, b);
    switch (rule) {
    case WI_ONNX_ADD: return a + b;
    case WI_ONNX_SUB: return a - b;
    case WI_ONNX_MUL: return a * b;
    case WI_ONNX_MAX: return isnan(a) || a > b ? a : b;
    case WI_ONNX_MIN: return isnan(a) || a < b ? a : b;
    case WI_ONNX_FMOD: return fmod(a, b);
    case WI_ONNX_DIV: return whole ? calculate_whole(rule, a, b) : a / b;
    case WI_ONNX_POW: return whole ? calculate_whole(rule, a, b) : pow(a, b);
    default:
        return rule >= WI_ONNX_MOD && rule <= WI_ONNX_BITS_NOT ? calculate_whole(rule, a, b)
                                                               : calculate_one(rule, a);
    }
}

static bool is_truth(wi_onnx_rule rule) {
    return rule >= WI_ONNX_EQUAL && rule <= WI_ONNX_IS_NAN;
}

bool wi_onnx_combine(wi_onnx_import *n, wi_onnx_node *node, const wi_onnx_numbers *x, wi_onnx_rule rule,
    double a, double b, double *result) {
    const bool whole = wi_onnx_is_whole(x), orders = rule >= WI_ONNX_MAX && rule <= WI_ONNX_IS_NAN;
    if (x->open && (wi_onnx_is_open(a) || wi_onnx_is_open(b))) {
        *result = wi_onnx_calculate_open(n->graph, rule, whole, a, b);
        return !isnan(*result);
    }
    *result = wi_onnx_calculate(rule, whole, a, b);
    if (!whole) return true;
    /* Two numbers beyond 2^53 may differ although their doubles are equal. */
    if (!isfinite(*result) || ((fabs(a) > 0x1p53 || fabs(b) > 0x1p53) && (!orders || a == b)))
        wi_onnx_fail(
            n, node, WEFT_ERROR_UNSUPPORTED, "%g and %g do not give a whole number below 2^53", a, b);
    return n->status == WEFT_OK;
}

/* ---- arrays ---- */

static wi_onnx_numbers *fold_one(wi_onnx_import *n, wi_onnx_node *node, wi_onnx_inputs in) {
    const wi_onnx_fold_row *const row = wi_onnx_fold_row_in(wi_onnx_number_folds, node);
    const wi_onnx_numbers *const x = in[0];
    wi_onnx_numbers *const made = is_truth(row->rule) ? wi_onnx_new(n, WI_ONNX_BOOL, x->rank, x->dims)
                                                      : wi_onnx_new_like(n, x, x->rank, x->dims);
    for (size_t i = 0; made && i < made->count; i++)
        if (!wi_onnx_combine(n, node, x, row->rule, x->data[i], 0, &made->data[i])) return NULL;
    return made && wi_onnx_fit_to_type(n, node, made) ? made : NULL;
}

static wi_onnx_numbers *two(wi_onnx_import *n, wi_onnx_node *node, wi_onnx_rule rule,
    const wi_onnx_numbers *a, const wi_onnx_numbers *b) {
    wi_onnx_numbers operands = *a;
    int64_t dims[WEFT_MAX_RANK], at[WEFT_MAX_RANK];
    int rank = a->rank;
    memcpy(dims, a->dims, sizeof dims);
    if (!wi_onnx_broadcast(b, &rank, dims) || (a->dtype != b->dtype && rule != WI_ONNX_POW))
        return wi_onnx_misfit(n, node, "its inputs have shapes or types that do not fit");
    operands.open = a->open || b->open;
    wi_onnx_numbers *const made =
        wi_onnx_new(n, is_truth(rule) ? WI_ONNX_BOOL : wi_onnx_type_number(a), rank, dims);
    if (!made) return NULL;
    made->open = operands.open && !is_truth(rule);
    for (size_t i = 0; i < made->count; i++) {
        wi_onnx_position(rank, dims, i, at);
        const double p = a->data[wi_onnx_source(a, rank, at)], q = b->data[wi_onnx_source(b, rank, at)];
        if (!wi_onnx_combine(n, node, &operands, rule, p, q, &made->data[i])) return NULL;
    }
    return wi_onnx_fit_to_type(n, node, made) ? made : NULL;
}

/* Combines two inputs; with more inputs, the result of the first ones is combined with the next, one after the other. */
static wi_onnx_numbers *fold_many(wi_onnx_import *n, wi_onnx_node *node, wi_onnx_inputs in) {
    const wi_onnx_fold_row *const row = wi_onnx_fold_row_in(wi_onnx_number_folds, node);
    wi_onnx_numbers *made = wi_onnx_reshaped(n, in[0], in[0]->rank, in[0]->dims);
    wi_onnx_rule rule = row->rule;
    if (wi_onnx_attribute(node, "broadcast")) return NULL; /* of versions before 7 */
    if (rule == WI_ONNX_MOD && wi_onnx_whole(node, "fmod", 0)) rule = WI_ONNX_FMOD;
    if (rule == WI_ONNX_MOD && !wi_onnx_is_whole(in[0])) return NULL;
    if (rule == WI_ONNX_SHIFT_LEFT && wi_onnx_says(node, "direction", "RIGHT")) rule = WI_ONNX_SHIFT_RIGHT;
    for (size_t i = 1; made && i < node->n_input; i++) made = in[i] ? two(n, node, rule, made, in[i]) : NULL;
    return made;
}

static wi_onnx_numbers *fold_mean(wi_onnx_import *n, wi_onnx_node *node, wi_onnx_inputs in) {
    const wi_onnx_numbers *const all = fold_many(n, node, in);
    double inputs = (double)node->n_input;
    if (!all) return NULL;
    const wi_onnx_numbers count = {.dtype = all->dtype, .count = 1, .data = &inputs};
    return two(n, node, WI_ONNX_DIV, all, &count);
}

/* The bounds are attributes up to version 6, and inputs from version 11 on. */
static wi_onnx_numbers *fold_clip(wi_onnx_import *n, wi_onnx_node *node, wi_onnx_inputs in) {
    double bounds[2] = {
        wi_onnx_real(node, "min", -(double)INFINITY), wi_onnx_real(node, "max", (double)INFINITY)};
    wi_onnx_numbers *made = wi_onnx_reshaped(n, in[0], in[0]->rank, in[0]->dims);
    for (int i = 0; made && i < 2; i++) {
        const wi_onnx_numbers given = {.dtype = in[0]->dtype, .count = 1, .data = &bounds[i]};
        const wi_onnx_numbers *const bound = in[i + 1] ? in[i + 1] : &given;
        if (in[i + 1] || isfinite(bounds[i])) made = two(n, node, i ? WI_ONNX_MIN : WI_ONNX_MAX, made, bound);
    }
    return made;
}

static wi_onnx_numbers *fold_is_infinite(wi_onnx_import *n, wi_onnx_node *node, wi_onnx_inputs in) {
    const bool above = wi_onnx_whole(node, "detect_positive", 1),
               below = wi_onnx_whole(node, "detect_negative", 1);
    wi_onnx_numbers *const made = wi_onnx_new(n, WI_ONNX_BOOL, in[0]->rank, in[0]->dims);
    for (size_t i = 0; made && i < made->count; i++)
        made->data[i] = isinf(in[0]->data[i]) && (in[0]->data[i] > 0 ? above : below);
    return made;
}

static wi_onnx_numbers *fold_where(wi_onnx_import *n, wi_onnx_node *node, wi_onnx_inputs in) {
    int64_t dims[WEFT_MAX_RANK], at[WEFT_MAX_RANK];
    int rank = in[0]->rank;
    memcpy(dims, in[0]->dims, sizeof dims);
    if (!wi_onnx_broadcast(in[1], &rank, dims) || !wi_onnx_broadcast(in[2], &rank, dims) ||
        in[1]->dtype != in[2]->dtype)
        return wi_onnx_misfit(n, node, "its inputs have shapes or types that do not fit");
    wi_onnx_numbers *const made = wi_onnx_new_like(n, in[1], rank, dims);
    for (size_t i = 0; made && i < made->count; i++) {
        wi_onnx_position(rank, dims, i, at);
        const wi_onnx_numbers *const from = in[in[0]->data[wi_onnx_source(in[0], rank, at)] != 0 ? 1 : 2];
        made->data[i] = from->data[wi_onnx_source(from, rank, at)];
    }
    if (made) made->open = in[1]->open || in[2]->open;
    return made;
}

/* ---- types ---- */

/* Do all floats fit into the integer type to which they are cast? The conversion of others is left to the device. */
static bool all_fit(const wi_onnx_numbers *x, const wi_onnx_numbers *made) {
    bool fit = true;
    for (size_t i = 0; i < made->count; i++) fit = fit && made->data[i] == trunc(x->data[i]);
    return fit;
}

static wi_onnx_numbers *cast(wi_onnx_import *n, wi_onnx_node *node, const wi_onnx_numbers *x, int type) {
    const bool narrow = type == WI_ONNX_FLOAT16 || type == WI_ONNX_BFLOAT16;
    wi_onnx_numbers *const made = wi_onnx_new(n, type, x->rank, x->dims);
    /* Casts to floats of 8 bits or fewer, which have special rules, are left to the device. */
    if (!made || (made->dtype == WEFT_F32 && type != WI_ONNX_FLOAT && type != WI_ONNX_DOUBLE && !narrow))
        return NULL;
    const bool whole = wi_onnx_is_whole(made), was_whole = wi_onnx_is_whole(x);
    made->open = x->open && made->dtype != WEFT_BOOL;
    for (size_t i = 0; i < made->count; i++) {
        const wi_onnx_rule rule = whole                      ? WI_ONNX_TRUNC
                                  : made->dtype == WEFT_BOOL ? WI_ONNX_SIGN
                                                             : WI_ONNX_SAME;
        const bool opens = x->open && wi_onnx_is_open(x->data[i]);
        made->data[i] = opens   ? wi_onnx_calculate_open(n->graph, rule, whole, x->data[i], 0)
                        : whole ? trunc(x->data[i])
                                : x->data[i];
        if (opens && isnan(made->data[i])) return NULL;
        if (narrow && !opens)
            made->data[i] = wi_dtype_nearest(type == WI_ONNX_FLOAT16 ? WEFT_F16 : WEFT_BF16, made->data[i]);
    }
    if (was_whole && type == WI_ONNX_INT64) return made;
    if (!wi_onnx_fit_to_type(n, node, made)) return NULL;
    return !whole || was_whole || x->open || all_fit(x, made) ? made : NULL;
}

static wi_onnx_numbers *fold_cast(wi_onnx_import *n, wi_onnx_node *node, wi_onnx_inputs in) {
    weft_dtype dtype;
    const int type = (int)wi_onnx_whole(node, "to", 0);
    if (wi_onnx_dtype(&dtype, type, "a cast") == WEFT_OK) return cast(n, node, in[0], type);
    wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "the data type %d is not supported", type);
    return NULL;
}

static wi_onnx_numbers *fold_cast_like(wi_onnx_import *n, wi_onnx_node *node, wi_onnx_inputs in) {
    wi_onnx_numbers like;
    return wi_onnx_describe(n, node, 1, &like) ? cast(n, node, in[0], wi_onnx_type_number(&like)) : NULL;
}

static wi_onnx_numbers *fold_same(wi_onnx_import *n, wi_onnx_node *node, wi_onnx_inputs in) {
    (void)node;
    return wi_onnx_reshaped(n, in[0], in[0]->rank, in[0]->dims);
}

const wi_onnx_fold_row wi_onnx_number_folds[] = {{"Identity", .fold = fold_same, .least = 1},
    {"Cast", .fold = fold_cast, .least = 1},
    {"CastLike", .fold = fold_cast_like, .least = 2, .hidden = 1u << 1},
    {"Where", .fold = fold_where, .least = 3}, {"Clip", .fold = fold_clip, .least = 1},
    {"IsInf", .fold = fold_is_infinite, .least = 1},
    {"Mean", .fold = fold_mean, .least = 1, .rule = WI_ONNX_ADD},
    {"Sum", .fold = fold_many, .least = 1, .rule = WI_ONNX_ADD},
    {"Max", .fold = fold_many, .least = 1, .rule = WI_ONNX_MAX},
    {"Min", .fold = fold_many, .least = 1, .rule = WI_ONNX_MIN},
    {"Add", .fold = fold_many, .least = 2, .rule = WI_ONNX_ADD},
    {"Sub", .fold = fold_many, .least = 2, .rule = WI_ONNX_SUB},
    {"Mul", .fold = fold_many, .least = 2, .rule = WI_ONNX_MUL},
    {"Div", .fold = fold_many, .least = 2, .rule = WI_ONNX_DIV},
    {"Mod", .fold = fold_many, .least = 2, .rule = WI_ONNX_MOD},
    {"Pow", .fold = fold_many, .least = 2, .rule = WI_ONNX_POW},
    {"BitShift", .fold = fold_many, .least = 2, .rule = WI_ONNX_SHIFT_LEFT},
    {"BitwiseAnd", .fold = fold_many, .least = 2, .rule = WI_ONNX_BITS_AND},
    {"BitwiseOr", .fold = fold_many, .least = 2, .rule = WI_ONNX_BITS_OR},
    {"BitwiseXor", .fold = fold_many, .least = 2, .rule = WI_ONNX_BITS_XOR},
    {"BitwiseNot", .fold = fold_one, .least = 1, .rule = WI_ONNX_BITS_NOT},
    {"Equal", .fold = fold_many, .least = 2, .rule = WI_ONNX_EQUAL},
    {"Less", .fold = fold_many, .least = 2, .rule = WI_ONNX_LESS},
    {"LessOrEqual", .fold = fold_many, .least = 2, .rule = WI_ONNX_LESS_EQUAL},
    {"Greater", .fold = fold_many, .least = 2, .rule = WI_ONNX_GREATER},
    {"GreaterOrEqual", .fold = fold_many, .least = 2, .rule = WI_ONNX_GREATER_EQUAL},
    {"And", .fold = fold_many, .least = 2, .rule = WI_ONNX_AND},
    {"Or", .fold = fold_many, .least = 2, .rule = WI_ONNX_OR},
    {"Xor", .fold = fold_many, .least = 2, .rule = WI_ONNX_XOR},
    {"Not", .fold = fold_one, .least = 1, .rule = WI_ONNX_NOT},
    {"IsNaN", .fold = fold_one, .least = 1, .rule = WI_ONNX_IS_NAN},
    {"Neg", .fold = fold_one, .least = 1, .rule = WI_ONNX_NEG},
    {"Abs", .fold = fold_one, .least = 1, .rule = WI_ONNX_ABS},
    {"Sign", .fold = fold_one, .least = 1, .rule = WI_ONNX_SIGN},
    {"Floor", .fold = fold_one, .least = 1, .rule = WI_ONNX_FLOOR},
    {"Ceil", .fold = fold_one, .least = 1, .rule = WI_ONNX_CEIL},
    {"Round", .fold = fold_one, .least = 1, .rule = WI_ONNX_ROUND},
    {"Sqrt", .fold = fold_one, .least = 1, .rule = WI_ONNX_SQRT},
    {"Exp", .fold = fold_one, .least = 1, .rule = WI_ONNX_EXP},
    {"Log", .fold = fold_one, .least = 1, .rule = WI_ONNX_LOG},
    {"Reciprocal", .fold = fold_one, .least = 1, .rule = WI_ONNX_RECIPROCAL},
    {"Relu", .fold = fold_one, .least = 1, .rule = WI_ONNX_RELU},
    {"Sigmoid", .fold = fold_one, .least = 1, .rule = WI_ONNX_SIGMOID},
    {"Tanh", .fold = fold_one, .least = 1, .rule = WI_ONNX_TANH},
    {"Sin", .fold = fold_one, .least = 1, .rule = WI_ONNX_SIN},
    {"Cos", .fold = fold_one, .least = 1, .rule = WI_ONNX_COS},
    {"Erf", .fold = fold_one, .least = 1, .rule = WI_ONNX_ERF}, {0}};
