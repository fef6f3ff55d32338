/* Elementwise ops: one mechanism for all rows of the table, and cast. */
#include "ops/op_table.h"
#include <string.h>

typedef enum types { NUMERIC, FLOAT, PRECISE, COMPARE, WHERE, LOGIC } types;

static bool takes_floats_only(types rule) {
    return rule == FLOAT || rule == PRECISE;
}

/* ---- dtypes and shapes ---- */

/* Inputs that decide the dtype: all but the condition of where. */
static int first_of(types rule) {
    return rule == WHERE;
}

static bool takes(types rule, weft_dtype dtype) {
    if (rule == LOGIC) return dtype == WEFT_BOOL;
    return takes_floats_only(rule) ? wi_dtype_is_float(dtype) : wi_dtype_computes(dtype);
}

/* Floats of several dtypes meet in the widest. Tensors of rank 0 widen no other: they count only where all
 * are of rank 0. */
static weft_dtype widest(types rule, weft_tensor *const *inputs, int count, bool with_numbers) {
    bool found = false;
    weft_dtype dtype = inputs[first_of(rule)]->dtype;
    for (int i = first_of(rule); i < count; i++) {
        if (!with_numbers && inputs[i]->shape.rank == 0) continue;
        dtype = found ? wi_dtype_wider(dtype, inputs[i]->dtype) : inputs[i]->dtype;
        found = true;
    }
    return found ? dtype : widest(rule, inputs, count, true);
}

static bool are_taken(types rule, weft_tensor *const *inputs, int count) {
    const weft_dtype dtype = inputs[first_of(rule)]->dtype;
    if (rule == WHERE && inputs[0]->dtype != WEFT_BOOL) return false;
    for (int i = first_of(rule); i < count; i++) {
        const bool alike =
            inputs[i]->dtype == dtype || (wi_dtype_is_float(dtype) && wi_dtype_is_float(inputs[i]->dtype));
        if (!takes(rule, inputs[i]->dtype) || !alike) return false;
    }
    return true;
}

static weft_tensor *fail_dtype(const wi_op *op, types rule, weft_tensor *const *inputs, int count) {
    char given[64] = "";
    for (int i = 0; i < count; i++) {
        if (i) strcat(given, ", ");
        strcat(given, weft_dtype_name(inputs[i]->dtype));
    }
    return wi_graph_fail(inputs[0]->graph, WEFT_ERROR_DTYPE, "%s: takes %s%s%s, not (%s); weft_cast converts",
        op->name, rule == WHERE ? "bool, then " : "",
        rule == LOGIC ? "bool"
                      : wi_dtypes_text(WI_TAKES_FLOATS | (takes_floats_only(rule) ? 0 : WI_TAKES_INTEGERS)),
        rule == LOGIC || takes_floats_only(rule) ? "" : ", all inputs either floats or integers", given);
}

static weft_tensor *fail_shape(const wi_op *op, const wi_shape *a, const weft_tensor *b) {
    char text_a[WI_SHAPE_TEXT], text_b[WI_SHAPE_TEXT];
    return wi_graph_fail(b->graph, WEFT_ERROR_SHAPE, "%s: shapes %s and %s do not broadcast", op->name,
        wi_shape_print(a, text_a), wi_shape_print(&b->shape, text_b));
}

/* ---- what need not be computed ---- */

bool wi_is_constant(const weft_tensor *x, double *value, int *power) {
    while (x->op->kind == WI_VIEW) x = x->inputs[0];
    if (x->op != &wi_op_constant) return false;
    *value = x->attributes->constant.value;
    *power = x->attributes->constant.batch_power;
    return true;
}

static bool is_number(const weft_tensor *x, double number) {
    double value;
    int power;
    return wi_is_constant(x, &value, &power) && value == number && (power == 0 || value == 0);
}

static weft_tensor *same_value(weft_tensor *x, const wi_shape *shape) {
    return weft_expand(x, shape->rank, shape->dims);
}

/* x·1, x+0, x−0, x/1, and products of constants: gradients are full of them. */
static weft_tensor *simplify(wi_rewrite *rewrite, const weft_tensor *y, weft_tensor *const *inputs) {
    (void)rewrite;
    const wi_op *const op = y->op;
    const wi_shape *const shape = &y->shape;
    double a, b;
    int power_a, power_b;
    if (op == &wi_op_mul) {
        if (is_number(inputs[0], 1)) return same_value(inputs[1], shape);
        if (is_number(inputs[1], 1)) return same_value(inputs[0], shape);
        if (inputs[0]->dtype == WEFT_F32 && wi_is_constant(inputs[0], &a, &power_a) &&
            wi_is_constant(inputs[1], &b, &power_b))
            return same_value(
                wi_constant_batch_power(inputs[0]->graph, WEFT_F32, a * b, power_a + power_b), shape);
    }
    if (op == &wi_op_add && is_number(inputs[0], 0)) return same_value(inputs[1], shape);
    if ((op == &wi_op_add || op == &wi_op_sub) && is_number(inputs[1], 0))
        return same_value(inputs[0], shape);
    if (op == &wi_op_div && is_number(inputs[1], 1)) return same_value(inputs[0], shape);
    if (op == &wi_op_neg && wi_is_constant(inputs[0], &a, &power_a))
        return same_value(wi_constant_batch_power(inputs[0]->graph, inputs[0]->dtype, -a, power_a), shape);
    return NULL;
}

static weft_tensor *map(const wi_op *op, types rule, weft_tensor *const *inputs, int count);

/* All inputs in the dtype that holds them all, and the result in that which it has. */
static weft_tensor *map_wider(const wi_op *op, types rule, weft_tensor *const *inputs, int count) {
    const weft_dtype wide = widest(rule, inputs, count, true), dtype = widest(rule, inputs, count, false);
    weft_tensor *cast[3] = {inputs[0]};
    for (int i = first_of(rule); i < count; i++) cast[i] = weft_cast(inputs[i], wide);
    weft_tensor *y = map(op, rule, cast, count);
    return rule == COMPARE ? y : weft_cast(y, dtype);
}

static weft_tensor *map(const wi_op *op, types rule, weft_tensor *const *inputs, int count) {
    weft_graph *graph = wi_inputs_graph(op->name, inputs, count);
    if (!graph) return NULL;
    if (!are_taken(rule, inputs, count)) return fail_dtype(op, rule, inputs, count);
    for (int i = first_of(rule) + 1; i < count; i++) {
        if (inputs[i]->dtype != inputs[i - 1]->dtype) return map_wider(op, rule, inputs, count);
    }
    const weft_dtype dtype = rule == COMPARE ? WEFT_BOOL : inputs[first_of(rule)]->dtype;
    wi_shape shape = inputs[0]->shape;
    for (int i = 1; i < count; i++) {
        const wi_shape before = shape;
        if (!wi_shape_broadcast(&before, &inputs[i]->shape, &shape))
            return fail_shape(op, &before, inputs[i]);
    }
    return wi_node(graph, op, inputs, count, dtype, &shape, NULL);
}

/* Is it made of a product's result, by few maps? */
static bool is_of_product(const weft_tensor *x, int maps) {
    if (x->op == &wi_op_matmul) return true;
    if (x->op->kind != WI_MAP || maps == 0) return false;
    for (int i = 0; i < x->input_count; i++)
        if (is_of_product(x->inputs[i], maps - 1)) return true;
    return false;
}

/* A map of reshaped results of products (a layer over (batch, length, n) multiplies batch · length rows) is a map of the
 * results, reshaped: so it can be a product's epilogue. */
static weft_tensor *map_of_reshapes(wi_rewrite *rewrite, const weft_tensor *y, weft_tensor *const *inputs) {
    enum { MAPS = 2 };
    weft_tensor *beneath[WI_KERNEL_INPUTS] = {0};
    const wi_shape *shape = NULL;
    (void)rewrite;
    for (int i = 0; i < y->input_count; i++) {
        beneath[i] = inputs[i];
        if (inputs[i]->shape.rank == 0) continue;
        if (inputs[i]->op != &wi_op_reshape || !wi_shape_equal(&inputs[i]->shape, &y->shape)) return NULL;
        beneath[i] = inputs[i]->inputs[0];
        if (shape && !wi_shape_equal(shape, &beneath[i]->shape)) return NULL;
        shape = &beneath[i]->shape;
        if (!is_of_product(beneath[i], MAPS)) return NULL;
    }
    if (!shape) return NULL;
    return weft_reshape_shape(wi_node_over(y, beneath, shape), y->shape.rank, y->shape.dims);
}

static const wi_rule map_rules[] = {{"simplify", WI_STAGE_FORM, simplify},
    {"map of reshapes", WI_STAGE_FORM, map_of_reshapes},
    {"memory order", WI_STAGE_FORM, wi_elementwise_in_memory_order}, {0}};

/* ---- the rows ---- */

/* A comparison has no gradient, and its own dtype is no float's. */
static weft_tensor *narrowed(weft_tensor *gradient, weft_dtype dtype) {
    return gradient && wi_dtype_is_float(dtype) ? weft_cast(gradient, dtype) : gradient;
}

/* A tie gives half to each, as torch.maximum does. */
static weft_tensor *share_of_maximum(weft_tensor *g, weft_tensor *mine, weft_tensor *other) {
    weft_tensor *zero = weft_number(g, 0);
    weft_tensor *half = weft_mul(g, weft_number(g, 0.5));
    return weft_where(weft_less(other, mine), g, weft_where(weft_equal(other, mine), half, zero));
}

static weft_tensor *pow_base_gradient(weft_tensor *g, weft_tensor *a, weft_tensor *b) {
    weft_tensor *slope = weft_mul(b, weft_pow(a, weft_sub(b, weft_number(b, 1))));
    return weft_where(weft_equal(b, weft_number(b, 0)), weft_number(g, 0), weft_mul(g, slope));
}

/* 0 to the power of something that is not negative does not move. */
static weft_tensor *pow_exponent_gradient(weft_tensor *g, weft_tensor *a, weft_tensor *b, weft_tensor *y) {
    weft_tensor *zero = weft_number(g, 0);
    weft_tensor *still = weft_logical_and(weft_equal(a, zero), weft_less_equal(zero, b));
    return weft_where(still, zero, weft_mul(g, weft_mul(y, weft_log(a))));
}

/* g·side / (a² + b²) of the point (b, a), which has no direction at the origin: 0 there. */
static weft_tensor *atan2_slope(weft_tensor *g, weft_tensor *a, weft_tensor *b, weft_tensor *side) {
    weft_tensor *zero = weft_number(a, 0);
    weft_tensor *origin = weft_logical_and(weft_equal(a, zero), weft_equal(b, zero));
    weft_tensor *squares = weft_add(weft_square(a), weft_square(b));
    return weft_div(weft_mul(g, side), weft_where(origin, weft_number(a, 1), squares));
}

/* sqrt(1 - a²), as exact as it can be near 1. */
static weft_tensor *other_side(weft_tensor *a) {
    weft_tensor *one = weft_number(a, 1);
    return weft_sqrt(weft_mul(weft_sub(one, a), weft_add(one, a)));
}

/* g where low < a < high, else 0. */
static weft_tensor *between(weft_tensor *a, double low, double high, weft_tensor *g) {
    weft_tensor *inside =
        weft_logical_and(weft_less(weft_number(a, low), a), weft_less(a, weft_number(a, high)));
    return weft_where(inside, g, weft_number(g, 0));
}

/* Φ(a) + a·φ(a) */
static weft_tensor *gelu_slope(weft_tensor *a) {
    weft_tensor *half = weft_number(a, 0.5), *one = weft_number(a, 1);
    weft_tensor *below =
        weft_mul(half, weft_add(one, weft_erf(weft_mul(a, weft_number(a, 0.70710678118654752)))));
    weft_tensor *density =
        weft_mul(weft_number(a, 0.39894228040143268), weft_exp(weft_neg(weft_mul(half, weft_square(a)))));
    return weft_add(below, weft_mul(a, density));
}

/* s + a·s·(1 - s)·2u', with s = sigmoid(2u) and 2u = 2·sqrt(2/π)·(a + 0.044715·a³) */
static weft_tensor *gelu_tanh_slope(weft_tensor *a) {
    const double k = 1.5957691216057308, cubic = 0.044715;
    weft_tensor *square = weft_square(a), *one = weft_number(a, 1);
    weft_tensor *u2 = weft_mul(a, weft_add(weft_number(a, k), weft_mul(weft_number(a, k * cubic), square)));
    weft_tensor *u2_slope = weft_add(weft_number(a, k), weft_mul(weft_number(a, 3 * k * cubic), square));
    weft_tensor *s = weft_sigmoid(u2);
    return weft_mul(s, weft_add(one, weft_mul(weft_mul(a, u2_slope), weft_sub(one, s))));
}

static weft_tensor *silu_slope(weft_tensor *a) {
    weft_tensor *s = weft_sigmoid(a), *one = weft_number(a, 1);
    return weft_mul(s, weft_add(one, weft_mul(a, weft_sub(one, s))));
}

static weft_tensor *mish_slope(weft_tensor *a) {
    weft_tensor *t = weft_tanh(weft_softplus(a));
    weft_tensor *t_slope = weft_mul(weft_sigmoid(a), weft_sub(weft_number(a, 1), weft_square(t)));
    return weft_add(t, weft_mul(a, t_slope));
}

/* From a, not from the value, which near -scale·alpha has no digits left of exp(a). */
static weft_tensor *selu_slope(weft_tensor *a) {
    const double scale = 1.0507009873554805, alpha = 1.6732632423543772;
    weft_tensor *zero = weft_number(a, 0), *up = weft_less(zero, a);
    weft_tensor *curve = weft_mul(weft_exp(weft_where(up, zero, a)), weft_number(a, scale * alpha));
    return weft_where(up, weft_number(a, scale), curve);
}

/* At -3 it is 0, at 3 it is 1. */
static weft_tensor *hardswish_slope(weft_tensor *a) {
    weft_tensor *inside = weft_add(weft_mul(a, weft_number(a, 1 / 3.0)), weft_number(a, 0.5));
    weft_tensor *right = weft_where(weft_less(a, weft_number(a, 3)), inside, weft_number(a, 1));
    return weft_where(weft_less_equal(a, weft_number(a, -3)), weft_number(a, 0), right);
}

/* Expressions are written down in f32 for the gradients of 16-bit floats, which are rounded once. */
#define GRADIENTS_BEGIN(name)                                                                                \
    static void name##_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {                   \
        weft_tensor *const a = wi_wide(y->inputs[0]);                                                        \
        weft_tensor *const b = y->input_count > 1 ? wi_wide(y->inputs[1]) : NULL;                            \
        const weft_dtype dtype = y->dtype;                                                                   \
        y = wi_wide(y), g = wi_wide(g);                                                                      \
        (void)a, (void)b;
#define GRADIENT(i, expression) gradients[i] = narrowed(expression, dtype);
#define DESCRIPTOR(op_name, types, float_text, int_text)                                                     \
    const wi_op wi_op_##op_name = {.name = #op_name,                                                         \
        .kind = WI_MAP,                                                                                      \
        .float_code = float_text,                                                                            \
        .int_code = int_text,                                                                                \
        .backward = op_name##_backward,                                                                      \
        .precise = (types) == PRECISE,                                                                       \
        .rules = map_rules};

#define WI_MAP1(name, types, float_code, int_code, da)                                                       \
    GRADIENTS_BEGIN(name)                                                                                    \
    GRADIENT(0, da)                                                                                          \
    }                                                                                                        \
    DESCRIPTOR(name, types, float_code, int_code)                                                            \
    weft_tensor *weft_##name(weft_tensor *a) {                                                               \
        weft_tensor *inputs[] = {a};                                                                         \
        return map(&wi_op_##name, types, inputs, 1);                                                         \
    }
#define WI_MAP2(name, types, float_code, int_code, da, db)                                                   \
    GRADIENTS_BEGIN(name)                                                                                    \
    GRADIENT(0, da)                                                                                          \
    GRADIENT(1, db)                                                                                          \
    }                                                                                                        \
    DESCRIPTOR(name, types, float_code, int_code)                                                            \
    weft_tensor *weft_##name(weft_tensor *a, weft_tensor *b) {                                               \
        weft_tensor *inputs[] = {a, b};                                                                      \
        return map(&wi_op_##name, types, inputs, 2);                                                         \
    }
#define WI_MAP3(name, types, float_code, int_code, da, db, dc)                                               \
    GRADIENTS_BEGIN(name)                                                                                    \
    GRADIENT(0, da)                                                                                          \
    GRADIENT(1, db)                                                                                          \
    GRADIENT(2, dc)                                                                                          \
    }                                                                                                        \
    DESCRIPTOR(name, types, float_code, int_code)                                                            \
    weft_tensor *weft_##name(weft_tensor *a, weft_tensor *b, weft_tensor *c) {                               \
        weft_tensor *inputs[] = {a, b, c};                                                                   \
        return map(&wi_op_##name, types, inputs, 3);                                                         \
    }
#define WI_NODE(name)
#define WI_FUNCTION_ROW(name)
#include "ops/op_list.h"

/* ---- cast ---- */

static void cast_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    const weft_dtype from = y->inputs[0]->dtype;
    gradients[0] = wi_dtype_is_float(from) && wi_dtype_is_float(y->dtype) ? weft_cast(g, from) : NULL;
}

const wi_op wi_op_cast = {
    .name = "cast", .kind = WI_MAP, .backward = cast_backward, .rules = wi_elementwise_rules};

/* Does every number of the one float stay what it is in the other? */
static bool widens(weft_dtype from, weft_dtype to) {
    return wi_dtype_is_float(from) && wi_dtype_is_float(to) && wi_dtype_wider(from, to) == to;
}

weft_tensor *wi_wide(weft_tensor *x) {
    return x ? weft_cast(x, wi_format_of(x->dtype)->compute) : NULL;
}

weft_tensor *weft_cast(weft_tensor *a, weft_dtype dtype) {
    weft_graph *graph = wi_inputs_graph("cast", &a, 1);
    if (!graph) return NULL;
    if (!wi_dtype_valid(dtype))
        return wi_graph_fail(graph, WEFT_ERROR_DTYPE, "cast: %d is not a dtype", (int)dtype);
    if (a->dtype == dtype) return a;
    if (a->op == &wi_op_cast && a->inputs[0]->dtype == dtype && widens(dtype, a->dtype)) return a->inputs[0];
    return wi_node(graph, &wi_op_cast, &a, 1, dtype, &a->shape, NULL);
}
