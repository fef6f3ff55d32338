/* The rules of elementwise ops: simplification, and the gradients of the table's rows. */
#include "ops/movement/memory_order.h"
#include "ops/op_table.h"

/* ---- simplification ---- */

static bool is_number(const weft_tensor *x, double number) {
    double value;
    int power;
    return wi_is_constant(x, &value, &power) && value == number && (power == 0 || value == 0);
}

static weft_tensor *same_value(weft_tensor *x, const wi_shape *shape) {
    return weft_expand(x, shape->rank, shape->dims);
}

/* x·1, x+0, x−0, x/1, and products of constants, which gradients often contain. */
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

/* Is x a matrix product, or computed from one by at most this number of maps? */
static bool is_of_product(const weft_tensor *x, int maps) {
    if (x->op == &wi_op_matmul) return true;
    if (x->op->kind != WI_MAP || maps == 0) return false;
    for (int i = 0; i < x->input_count; i++)
        if (is_of_product(x->inputs[i], maps - 1)) return true;
    return false;
}

/* Reshapes the result of a map instead of its inputs if these are results of products, so that the map can be an epilogue. For
 * example, a linear layer over (batch, length, n) multiplies batch · length rows. */
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

static const wi_rule map_rewrites[] = {{"simplify", WI_STAGE_FORM, simplify},
    {"map of reshapes", WI_STAGE_FORM, map_of_reshapes},
    {"memory order", WI_STAGE_FORM, wi_elementwise_in_memory_order}, {0}};

/* ---- gradients ---- */

/* Casts the gradient to `dtype`, the dtype of the result. The result of a comparison is not a float, but then the
 * gradient is NULL. */
static weft_tensor *narrowed(weft_tensor *gradient, weft_dtype dtype) {
    return gradient && wi_dtype_is_float(dtype) ? weft_cast(gradient, dtype) : gradient;
}

/* Equal inputs share the gradient, as in torch.maximum. */
static weft_tensor *share_of_maximum(weft_tensor *g, weft_tensor *mine, weft_tensor *other) {
    weft_tensor *zero = weft_number(g, 0);
    weft_tensor *half = weft_mul(g, weft_number(g, 0.5));
    return weft_where(weft_less(other, mine), g, weft_where(weft_equal(other, mine), half, zero));
}

static weft_tensor *pow_base_gradient(weft_tensor *g, weft_tensor *a, weft_tensor *b) {
    weft_tensor *slope = weft_mul(b, weft_pow(a, weft_sub(b, weft_number(b, 1))));
    return weft_where(weft_equal(b, weft_number(b, 0)), weft_number(g, 0), weft_mul(g, slope));
}

/* 0^b is constant for b >= 0, so the gradient is 0. */
static weft_tensor *pow_exponent_gradient(weft_tensor *g, weft_tensor *a, weft_tensor *b, weft_tensor *y) {
    weft_tensor *zero = weft_number(g, 0);
    weft_tensor *still = weft_logical_and(weft_equal(a, zero), weft_less_equal(zero, b));
    return weft_where(still, zero, weft_mul(g, weft_mul(y, weft_log(a))));
}

/* g·side / (a² + b²), and 0 at the origin, where atan2 has no gradient. */
static weft_tensor *atan2_slope(weft_tensor *g, weft_tensor *a, weft_tensor *b, weft_tensor *side) {
    weft_tensor *zero = weft_number(a, 0);
    weft_tensor *origin = weft_logical_and(weft_equal(a, zero), weft_equal(b, zero));
    weft_tensor *squares = weft_add(weft_square(a), weft_square(b));
    return weft_div(weft_mul(g, side), weft_where(origin, weft_number(a, 1), squares));
}

/* sqrt(1 - a²), without cancellation near |a| = 1. */
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

/* Computed from a, because y near -scale·alpha has lost the digits of exp(a). */
static weft_tensor *selu_slope(weft_tensor *a) {
    const double scale = 1.0507009873554805, alpha = 1.6732632423543772;
    weft_tensor *zero = weft_number(a, 0), *up = weft_less(zero, a);
    weft_tensor *curve = weft_mul(weft_exp(weft_where(up, zero, a)), weft_number(a, scale * alpha));
    return weft_where(up, weft_number(a, scale), curve);
}

/* At the kinks the gradient is 0 at -3, and 1 at 3. */
static weft_tensor *hardswish_slope(weft_tensor *a) {
    weft_tensor *inside = weft_add(weft_mul(a, weft_number(a, 1 / 3.0)), weft_number(a, 0.5));
    weft_tensor *right = weft_where(weft_less(a, weft_number(a, 3)), inside, weft_number(a, 1));
    return weft_where(weft_less_equal(a, weft_number(a, -3)), weft_number(a, 0), right);
}

static void cast_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    const weft_dtype from = y->inputs[0]->dtype;
    gradients[0] = wi_dtype_is_float(from) && wi_dtype_is_float(y->dtype) ? weft_cast(g, from) : NULL;
}

/* Gradients of 16-bit floats are expressions in f32, which are rounded once. */
#define GRADIENTS_BEGIN(name)                                                                                \
    static void name##_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {                   \
        weft_tensor *const a = wi_wide(y->inputs[0]);                                                        \
        weft_tensor *const b = y->input_count > 1 ? wi_wide(y->inputs[1]) : NULL;                            \
        const weft_dtype dtype = y->dtype;                                                                   \
        y = wi_wide(y), g = wi_wide(g);                                                                      \
        (void)a, (void)b;
#define GRADIENT(i, expression) gradients[i] = narrowed(expression, dtype);
#define WI_MAP1(name, types, of_float, of_int, da)                                                           \
    GRADIENTS_BEGIN(name) GRADIENT(0, da)                                                                    \
    }
#define WI_MAP2(name, types, of_float, of_int, da, db)                                                       \
    GRADIENTS_BEGIN(name) GRADIENT(0, da) GRADIENT(1, db)                                                    \
    }
#define WI_MAP3(name, types, of_float, of_int, da, db, dc)                                                   \
    GRADIENTS_BEGIN(name) GRADIENT(0, da) GRADIENT(1, db) GRADIENT(2, dc)                                    \
    }
#define WI_NODE(name)
#define WI_FUNCTION_ROW(name)
#include "ops/op_list.h"

#define WI_MAP1(name, ...) {.op = &wi_op_##name, .backward = name##_backward, .rewrites = map_rewrites},
#define WI_MAP2            WI_MAP1
#define WI_MAP3            WI_MAP1
#define WI_NODE(name)
#define WI_FUNCTION_ROW(name)
const wi_op_rules wi_elementwise_rules[] = {
#include "ops/op_list.h"
    {.op = &wi_op_cast, .backward = cast_backward, .rewrites = wi_memory_order_rewrites}, {0}};
