/* Elementwise ops: one mechanism for all rows of the table, and cast. */
#include "ops/op_table.h"
#include <string.h>

typedef enum types { NUMERIC, FLOAT, COMPARE, WHERE } types;

static const char *const types_text[] = {
    [NUMERIC] = "f32 or i32, all alike",
    [FLOAT] = "f32",
    [COMPARE] = "f32 or i32, both alike",
    [WHERE] = "bool, then f32 or i32, both alike",
};

/* ---- dtypes and shapes ---- */

static bool infer_dtype(types rule, weft_tensor *const *inputs, int count, weft_dtype *result) {
    const int first = rule == WHERE;
    const weft_dtype dtype = inputs[first]->dtype;
    if (rule == WHERE && inputs[0]->dtype != WEFT_BOOL) return false;
    if (dtype != WEFT_F32 && (dtype != WEFT_I32 || rule == FLOAT)) return false;
    for (int i = first; i < count; i++) {
        if (inputs[i]->dtype != dtype) return false;
    }
    *result = rule == COMPARE ? WEFT_BOOL : dtype;
    return true;
}

static weft_tensor *fail_dtype(const wi_op *op, types rule, weft_tensor *const *inputs, int count) {
    char given[64] = "";
    for (int i = 0; i < count; i++) {
        if (i) strcat(given, ", ");
        strcat(given, weft_dtype_name(inputs[i]->dtype));
    }
    return wi_graph_fail(inputs[0]->graph, WEFT_ERROR_DTYPE, "%s: takes %s, not (%s); weft_cast converts",
        op->name, types_text[rule], given);
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
    *value = x->attributes.number;
    *power = x->attributes.power;
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

/* x·1, x+0, x−0, x/1, and products of constants: gradients are full of them. NULL: compute it. */
static weft_tensor *simplify(const wi_op *op, weft_tensor *const *inputs, const wi_shape *shape) {
    double a, b;
    int power_a, power_b;
    if (op == &wi_op_mul) {
        if (is_number(inputs[0], 1)) return same_value(inputs[1], shape);
        if (is_number(inputs[1], 1)) return same_value(inputs[0], shape);
        if (inputs[0]->dtype == WEFT_F32 && wi_is_constant(inputs[0], &a, &power_a) &&
            wi_is_constant(inputs[1], &b, &power_b))
            return same_value(wi_constant_power(inputs[0]->graph, WEFT_F32, a * b, power_a + power_b), shape);
    }
    if (op == &wi_op_add && is_number(inputs[0], 0)) return same_value(inputs[1], shape);
    if ((op == &wi_op_add || op == &wi_op_sub) && is_number(inputs[1], 0))
        return same_value(inputs[0], shape);
    if (op == &wi_op_div && is_number(inputs[1], 1)) return same_value(inputs[0], shape);
    if (op == &wi_op_neg && wi_is_constant(inputs[0], &a, &power_a))
        return same_value(wi_constant_power(inputs[0]->graph, inputs[0]->dtype, -a, power_a), shape);
    return NULL;
}

static weft_tensor *map(const wi_op *op, types rule, weft_tensor *const *inputs, int count) {
    weft_graph *graph = wi_inputs_graph(op->name, inputs, count);
    if (!graph) return NULL;
    weft_dtype dtype;
    if (!infer_dtype(rule, inputs, count, &dtype)) return fail_dtype(op, rule, inputs, count);
    wi_shape shape = inputs[0]->shape;
    for (int i = 1; i < count; i++) {
        const wi_shape before = shape;
        if (!wi_shape_broadcast(&before, &inputs[i]->shape, &shape))
            return fail_shape(op, &before, inputs[i]);
    }
    weft_tensor *simple = simplify(op, inputs, &shape);
    return simple ? simple : wi_node(graph, op, inputs, count, dtype, &shape, NULL);
}

/* ---- the rows ---- */

/* A tie gives half to each, as torch.maximum does. */
static weft_tensor *share_of_maximum(weft_tensor *g, weft_tensor *mine, weft_tensor *other) {
    weft_tensor *zero = weft_number(g, 0);
    weft_tensor *half = weft_mul(g, weft_number(g, 0.5));
    return weft_where(weft_less(other, mine), g, weft_where(weft_equal(other, mine), half, zero));
}

#define GRADIENTS_BEGIN(name)                                                                                \
    static void name##_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {                   \
        weft_tensor *const a = y->inputs[0], *const b = y->input_count > 1 ? y->inputs[1] : NULL;            \
        (void)a, (void)b, (void)g;
#define DESCRIPTOR(op_name, float_text, int_text)                                                            \
    const wi_op wi_op_##op_name = {.name = #op_name,                                                         \
        .kind = WI_MAP,                                                                                      \
        .float_code = float_text,                                                                            \
        .int_code = int_text,                                                                                \
        .backward = op_name##_backward};

#define WI_MAP1(name, types, float_code, int_code, da)                                                       \
    GRADIENTS_BEGIN(name)                                                                                    \
    gradients[0] = da;                                                                                       \
    }                                                                                                        \
    DESCRIPTOR(name, float_code, int_code)                                                                   \
    weft_tensor *weft_##name(weft_tensor *a) {                                                               \
        weft_tensor *inputs[] = {a};                                                                         \
        return map(&wi_op_##name, types, inputs, 1);                                                         \
    }
#define WI_MAP2(name, types, float_code, int_code, da, db)                                                   \
    GRADIENTS_BEGIN(name)                                                                                    \
    gradients[0] = da;                                                                                       \
    gradients[1] = db;                                                                                       \
    }                                                                                                        \
    DESCRIPTOR(name, float_code, int_code)                                                                   \
    weft_tensor *weft_##name(weft_tensor *a, weft_tensor *b) {                                               \
        weft_tensor *inputs[] = {a, b};                                                                      \
        return map(&wi_op_##name, types, inputs, 2);                                                         \
    }
#define WI_MAP3(name, types, float_code, int_code, da, db, dc)                                               \
    GRADIENTS_BEGIN(name)                                                                                    \
    gradients[0] = da;                                                                                       \
    gradients[1] = db;                                                                                       \
    gradients[2] = dc;                                                                                       \
    }                                                                                                        \
    DESCRIPTOR(name, float_code, int_code)                                                                   \
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

const wi_op wi_op_cast = {.name = "cast", .kind = WI_MAP, .backward = cast_backward};

weft_tensor *weft_cast(weft_tensor *a, weft_dtype dtype) {
    weft_graph *graph = wi_inputs_graph("cast", &a, 1);
    if (!graph) return NULL;
    if (!wi_dtype_valid(dtype))
        return wi_graph_fail(graph, WEFT_ERROR_DTYPE, "cast: %d is no dtype", (int)dtype);
    if (a->dtype == dtype) return a;
    return wi_node(graph, &wi_op_cast, &a, 1, dtype, &a->shape, NULL);
}
