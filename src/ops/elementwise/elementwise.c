/* Elementwise ops: the constructors and descriptors of the table's rows, and cast. */
#include "ops/elementwise/formulas.h"
#include "ops/op_table.h"
#include <string.h>

typedef enum types { NUMERIC, FLOAT, PRECISE, COMPARE, WHERE, LOGIC } types;

static bool takes_floats_only(types rule) {
    return rule == FLOAT || rule == PRECISE;
}

/* ---- dtypes and shapes ---- */

/* The index of the first input that decides the dtype of the result. The condition of `where`, input 0, does not. */
static int first_of(types rule) {
    return rule == WHERE;
}

static bool takes(types rule, weft_dtype dtype) {
    if (rule == LOGIC) return dtype == WEFT_BOOL;
    return takes_floats_only(rule) ? wi_dtype_is_float(dtype) : wi_dtype_computes(dtype);
}

/* The widest dtype of the inputs. Without `with_numbers`, inputs of rank 0 count only if all inputs have rank 0. */
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
        wi_shape_print(b->graph, a, text_a), wi_shape_print(b->graph, &b->shape, text_b));
}

static weft_tensor *map(const wi_op *op, types rule, weft_tensor *const *inputs, int count);

/* Computes in the widest dtype of all inputs, and casts the result, unless it is that of a comparison, to the widest dtype of the inputs that
 * are not constants of rank 0: as in Python, x + 0.5 has the dtype of x. */
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

/* ---- the rows ---- */

#define DESCRIPTOR(op_name, types, of_float, of_int)                                                         \
    const wi_op wi_op_##op_name = {.name = #op_name,                                                         \
        .kind = WI_MAP,                                                                                      \
        .float_formula = of_float,                                                                           \
        .int_formula = of_int,                                                                               \
        .precise = (types) == PRECISE};

#define WI_MAP1(name, types, of_float, of_int, ...)                                                          \
    DESCRIPTOR(name, types, of_float, of_int) weft_tensor *weft_##name(weft_tensor *a) {                     \
        return map(&wi_op_##name, types, (weft_tensor *[]){a}, 1);                                           \
    }
#define WI_MAP2(name, types, of_float, of_int, ...)                                                          \
    DESCRIPTOR(name, types, of_float, of_int) weft_tensor *weft_##name(weft_tensor *a, weft_tensor *b) {     \
        return map(&wi_op_##name, types, (weft_tensor *[]){a, b}, 2);                                        \
    }
#define WI_MAP3(name, types, of_float, of_int, ...)                                                          \
    DESCRIPTOR(name, types, of_float, of_int)                                                                \
    weft_tensor *weft_##name(weft_tensor *a, weft_tensor *b, weft_tensor *c) {                               \
        return map(&wi_op_##name, types, (weft_tensor *[]){a, b, c}, 3);                                     \
    }
#define WI_NODE(name)
#define WI_FUNCTION_ROW(name)
#include "ops/op_list.h"

/* ---- cast ---- */

const wi_op wi_op_cast = {.name = "cast", .kind = WI_MAP};

/* Has the second float format every number of the first? */
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
