/* The code of one element (contract in expression.h). */
#include "plan/emit/expression.h"
#include "base/portable_math.h"
#include "graph/formula.h"
#include "ops/op_descriptors.h"

#include "ops/index/index.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- operands ---- */

static int padded_operand(const wi_loop *loop, const weft_tensor *node) {
    int o = 0;
    while (loop->operands[o].padded != node) o++;
    return o;
}

static int generator_operand(const wi_loop *loop, const weft_tensor *node) {
    for (int i = 0; i < loop->operand_count; i++) {
        if (loop->operands[i].generator == node) return i;
    }
    return -1;
}

/* How an operand's neighbours along the last dimension lie in memory: one element for all, ascending, descending, or with another
 * stride. */
typedef enum lane_step { LANES_SAME, LANES_NEXT, LANES_BACK, LANES_APART } lane_step;

static lane_step lanes_of(const wi_emitter *e, const wi_operand *operand) {
    const wi_size stride = operand->layout.strides[e->loop->space.rank - 1];
    if (!e->has_j || wi_size_is(stride, 0)) return LANES_SAME;
    if (wi_size_is(stride, 1)) return LANES_NEXT;
    return wi_size_is(stride, -1) ? LANES_BACK : LANES_APART;
}

/* Prints the address of the first lane's element as an expression. */
static void address(wi_emitter *e, int o, char text[64]) {
    const wi_operand *operand = &e->loop->operands[o];
    const int last = e->loop->space.rank - 1;
    size_t length =
        (size_t)snprintf(text, 64, "%c%d", e->in_loop && wi_operand_in_loop(e->loop, operand) ? 'q' : 'p', o);
    switch (lanes_of(e, operand)) {
    case LANES_SAME: break;
    case LANES_NEXT: snprintf(text + length, 64 - length, " + j"); break;
    case LANES_BACK: snprintf(text + length, 64 - length, " - j"); break;
    case LANES_APART:
        snprintf(text + length, 64 - length, " + j * %s", wi_emit_stride(e, o, last).text);
        break;
    }
}

/* ---- variables ---- */

/* Returns the variable that holds the value; -1: none. After a failed allocation any number will do, because the text is discarded. */
static int recall(const wi_emitter *e, const void *key) {
    if (e->text.failed) return 0;
    for (size_t i = e->memo_count; i-- > 0;) {
        if (e->memo[i].key == key) return e->memo[i].temp;
    }
    return -1;
}

/* ---- memory ---- */

/* May the operand's quads begin at any element? weft_load and weft_store of quads need addresses that are multiples of a quad. */
static bool is_loose(const wi_emitter *e, const wi_operand *operand) {
    return !e->walks && e->lanes > 1 && !wi_has_aligned_quads(e->partition, e->loop, operand, e->lanes);
}

/* Emits an expression that loads the elements at the address `where`. */
static void emit_element(wi_emitter *e, int o, const char *where) {
    const wi_operand *operand = &e->loop->operands[o];
    const char *dtype = weft_dtype_name(operand->dtype);
    const int last = e->loop->space.rank - 1;
    const lane_step lanes = lanes_of(e, operand);
    if (e->lanes == 1 || lanes == LANES_SAME)
        wi_text_append(&e->text, "weft_splat_%s(b%d, %s)", dtype, o, where);
    else if (lanes == LANES_APART)
        wi_text_append(&e->text, "weft_load_strided_%s(b%d, %s, s%d_%d, %s)", dtype, o, where, o, last,
            e->tail ? "lanes" : "16");
    else if (lanes == LANES_BACK && e->tail)
        wi_text_append(&e->text, "weft_load_strided_%s(b%d, %s, -1, lanes)", dtype, o, where);
    else if (lanes == LANES_BACK)
        wi_text_append(&e->text, "(weft_load_%s(b%d, %s - 15)).sfedcba9876543210", dtype, o, where);
    else if (e->tail || is_loose(e, operand))
        wi_text_append(
            &e->text, "weft_load_tail_%s(b%d, %s, %s)", dtype, o, where, e->tail ? "lanes" : "WEFT_LANES");
    else
        wi_text_append(&e->text, "weft_load_%s(b%d, %s)", dtype, o, where);
}

int wi_emit_load(wi_emitter *e, int o) {
    const wi_operand *operand = &e->loop->operands[o];
    const int known = recall(e, operand);
    if (known >= 0) return known;
    wi_emit_argument(e, WI_ARGUMENT_BUFFER, o, 0, 0);
    if (wi_pads_lanes(e, operand)) {
        const int padded = wi_emit_padded_lanes(e, o);
        wi_emit_remember(e, operand, padded);
        return padded;
    }
    char where[64], condition[16], outside[WI_LITERAL];
    address(e, o, where);
    const bool guarded = wi_pick_condition(e, o, condition) || wi_padding_condition(e, o, condition);
    const int temp = wi_emit_begin(e, operand->dtype);
    /* `batch` is -1 if the segment has no row of the table. The address is then that of row 0, which another item may be using. */
    if (!e->of_source && wi_is_table_of(e->partition, e->step, operand->value, operand->is_output))
        wi_text_append(&e->text, "batch < 0 ? (%s)(0) : ", wi_register_type(operand->dtype));
    if (guarded) wi_text_append(&e->text, "%s ? ", condition);
    emit_element(e, o, where);
    if (guarded) {
        wi_number_literal(
            outside, operand->dtype, operand->padded ? operand->padded->attributes->padding.outside : 0);
        wi_text_append(&e->text, " : (%s)(%s)", wi_register_type(operand->dtype), outside);
    }
    wi_text_append(&e->text, ";\n");
    wi_emit_remember(e, operand, temp);
    return temp;
}

/* If the format in memory is narrower than the register, emits a variable with the value rounded to it, as later steps will read it. */
static int emit_as_stored(wi_emitter *e, const wi_operand *operand, int temp) {
    if (operand->dtype == e->partition->values[operand->value].node->dtype) return temp;
    const int rounded = wi_emit_begin(e, operand->dtype);
    wi_emit_rounding(e, operand->dtype);
    wi_text_append(&e->text, "(t%d);\n", temp);
    return rounded;
}

void wi_emit_store(wi_emitter *e, int o, int temp) {
    const wi_operand *operand = &e->loop->operands[o];
    temp = emit_as_stored(e, operand, temp);
    char where[64];
    address(e, o, where);
    const char *dtype = weft_dtype_name(operand->dtype);
    const int last = e->loop->space.rank - 1;
    wi_emit_argument(e, WI_ARGUMENT_BUFFER, o, 0, 0);
    const lane_step lanes = lanes_of(e, operand);
    if (e->lanes == 1 || lanes == LANES_SAME)
        wi_text_append(&e->text, "weft_store_one_%s(t%d, b%d, %s);\n", dtype, temp, o, where);
    else if (lanes == LANES_BACK)
        wi_text_append(&e->text, "weft_store_strided_%s(t%d, b%d, %s, -1, %s);\n", dtype, temp, o, where,
            e->tail ? "lanes" : "16");
    else if (lanes == LANES_APART)
        wi_text_append(&e->text, "weft_store_strided_%s(t%d, b%d, %s, s%d_%d, %s);\n", dtype, temp, o, where,
            o, last, e->tail ? "lanes" : "16");
    else if (e->tail || is_loose(e, operand))
        wi_text_append(&e->text, "weft_store_tail_%s(t%d, b%d, %s, %s);\n", dtype, temp, o, where,
            e->tail ? "lanes" : "WEFT_LANES");
    else
        wi_text_append(&e->text, "weft_store_%s(t%d, b%d, %s);\n", dtype, temp, o, where);
}

/* ---- inline values ---- */

/* Numbers by which the compiler makes code shorter. Others are arguments, so that kernels which differ only in them, such as means
 * over other numbers of elements, have equal code. Integers are divisors and sizes of indices: compilers divide by known numbers faster. */
static bool is_literal(const wi_format *format, double number) {
    const double magnitude = fabs(number);
    return format->kind != WI_NUMBER_FLOAT || !isfinite(number) || magnitude == 0 || magnitude == 0.5 ||
           magnitude == 1 || magnitude == 2;
}

static int emit_constant(wi_emitter *e, const weft_tensor *node) {
    const wi_format *const format = wi_format_of(node->dtype);
    const int power = node->attributes->constant.batch_power;
    double number = node->attributes->constant.value;
    if (power == 0 && is_literal(format, number)) {
        const int temp = wi_emit_begin(e, node->dtype);
        char literal[WI_LITERAL];
        wi_number_literal(literal, node->dtype, number);
        wi_text_append(&e->text, "(%s)(%s);\n", format->registers, literal);
        return temp;
    }
    if (power != 0) number *= wi_math_pow((double)e->partition->request->batch, power);
    const bool is_whole = format->kind != WI_NUMBER_FLOAT, is_double = format->size > sizeof(float);
    const int argument = wi_emit_number(e,
        is_whole    ? WI_ARGUMENT_WHOLE
        : is_double ? WI_ARGUMENT_DOUBLE
                    : WI_ARGUMENT_FLOAT,
        is_whole ? fmin(round(number), INT32_MAX) : wi_dtype_nearest(node->dtype, number));
    const int temp = wi_emit_begin(e, node->dtype);
    wi_text_append(&e->text, "(%s)(c%d);\n", format->registers, argument);
    return temp;
}

/* Emits the element index of each lane, of which the generator is a function, as an expression. `where`: the generator's address, which is
 * this index. */
static void emit_index(wi_emitter *e, int o, const char *where) {
    const wi_operand *operand = &e->loop->operands[o];
    const int last = e->loop->space.rank - 1;
    wi_text_append(&e->text, "(WI)((int)(%s))", where);
    if (e->lanes == 1) return;
    switch (lanes_of(e, operand)) {
    case LANES_SAME: break;
    case LANES_NEXT: wi_text_append(&e->text, " + WEFT_LANE_INDEX"); break;
    case LANES_BACK: wi_text_append(&e->text, " - WEFT_LANE_INDEX"); break;
    case LANES_APART: wi_text_append(&e->text, " + WEFT_LANE_INDEX * (WI)((int)s%d_%d)", o, last); break;
    }
}

static int emit_random(wi_emitter *e, int o, const weft_tensor *node) {
    char where[64];
    address(e, o, where);
    wi_emit_argument(e, WI_ARGUMENT_SEED, 0, 0, 0);
    wi_emit_argument(e, WI_ARGUMENT_DRAWS, 0, 0, 0);
    const wi_random_attributes *const random = &node->attributes->random;
    /* The streams of dropouts differ; as arguments, they leave the code of equal layers equal. */
    const int stream = wi_emit_number(e, WI_ARGUMENT_WHOLE, (int32_t)random->stream),
              offset = wi_emit_number(e, WI_ARGUMENT_FLOAT, random->offset),
              scale = wi_emit_number(e, WI_ARGUMENT_FLOAT, random->scale);
    const int temp = wi_emit_begin(e, WEFT_F32);
    wi_text_append(&e->text, "weft_%s(", node->op->name);
    emit_index(e, o, where);
    wi_text_append(&e->text, ", (uint)((ulong)(%s) >> 32), (uint)c%d, draws, seed0, seed1, c%d, c%d);\n",
        where, stream, offset, scale);
    return temp;
}

static int emit_map(wi_emitter *e, const weft_tensor *node);

static int emit_inline(wi_emitter *e, const weft_tensor *node) {
    const int known = recall(e, node);
    if (known >= 0) return known;
    int temp;
    if (node->op == &wi_op_constant) {
        temp = emit_constant(e, node);
    } else if (node->op == &wi_op_scalar) {
        const int number = wi_emit_scalar(e, (int)node->attributes->scalar.index);
        temp = wi_emit_begin(e, WEFT_F32);
        wi_text_append(&e->text, "(WF)(u%d);\n", number);
    } else if (node->op == &wi_op_coordinate) {
        char where[64];
        const int o = generator_operand(e->loop, node);
        address(e, o, where);
        temp = wi_emit_begin(e, WEFT_I32);
        emit_index(e, o, where);
        wi_text_append(&e->text, ";\n");
    } else if (node->op->kind == WI_MAP) {
        temp = emit_map(e, node);
    } else {
        temp = emit_random(e, generator_operand(e->loop, node), node);
    }
    wi_emit_remember(e, node, temp);
    return temp;
}

/* ---- ops ---- */

/* The code of a formula whose inputs are in these variables. */
typedef struct written_formula {
    wi_emitter *e;
    const int *variables;
    bool whole[3];     /* the input is an integer, or a mask of an integer's width */
    weft_dtype format; /* in which the formula computes: f64, f32 or i32 */
} written_formula;

static void emit_formula(const written_formula *w, const wi_formula *f);

/* Appends the call of the formula's function `name`. differs: for f64 there is another function or macro, whose name ends in _d
 * (doubles.clh). */
static void emit_call(const written_formula *w, const wi_formula *f, const char *name, bool differs) {
    wi_text *const text = &w->e->text;
    wi_text_append(text, "%s%s(", name, differs && w->format == WEFT_F64 ? "_d" : "");
    for (int i = 0; i < 3 && f->of[i]; i++) {
        if (i > 0) wi_text_append(text, ", ");
        emit_formula(w, f->of[i]);
    }
    wi_text_append(text, ")");
}

static void emit_number(const written_formula *w, double number) {
    char literal[WI_LITERAL];
    wi_number_literal(literal, w->format, number);
    wi_text_append(&w->e->text, "(%s)(%s)", wi_register_type(w->format), literal);
}

static void emit_formula(const written_formula *w, const wi_formula *f) {
    wi_text *const text = &w->e->text;
    switch (f->kind) {
    case WI_FORMULA_INPUT:
        wi_text_append(text, w->format == WEFT_F64 && w->whole[f->input] ? "WEFT_TO_WL(t%d)" : "t%d",
            w->variables[f->input]);
        break;
    case WI_FORMULA_NUMBER: emit_number(w, f->number); break;
    case WI_FORMULA_NEGATE: emit_call(w, f, "-", false); break;
    case WI_FORMULA_BINARY:
    case WI_FORMULA_DIVIDE:
        wi_text_append(text, "(");
        emit_formula(w, f->of[0]);
        wi_text_append(text, " %s ", f->name);
        emit_formula(w, f->of[1]);
        wi_text_append(text, ")");
        break;
    case WI_FORMULA_TRUTH: emit_call(w, f, "WEFT_BOOL", true); break;
    case WI_FORMULA_SELECT: emit_call(w, f, "select", true); break;
    case WI_FORMULA_BUILTIN:
    case WI_FORMULA_SLOW_BUILTIN: emit_call(w, f, f->name, false); break;
    case WI_FORMULA_FUNCTION: emit_call(w, f, f->name, true); break;
    }
}

/* Emits the value of the node, in parentheses, and the end of its declaration. */
static void emit_value(wi_emitter *e, const weft_tensor *node, const int *variables) {
    const weft_dtype from = node->inputs[node->input_count - 1]->dtype;
    const bool is_float = wi_dtype_is_float(from);
    const wi_formula *const formula = is_float ? node->op->float_formula : node->op->int_formula;
    written_formula w = {.e = e, .variables = variables, .format = WEFT_I32};
    if (is_float) w.format = wi_format_of(from)->compute == WEFT_F64 ? WEFT_F64 : WEFT_F32;
    for (int i = 0; i < node->input_count; i++) w.whole[i] = !wi_dtype_is_float(node->inputs[i]->dtype);
    e->needs |= wi_formula_calls(formula) ? WI_NEEDS_FUNCTIONS : 0;
    wi_text_append(&e->text, "(");
    emit_formula(&w, formula);
    wi_text_append(&e->text, ");\n");
}

/* Emits a conversion of register types, with a result that the dtype `to` can hold. */
static void emit_cast(wi_emitter *e, weft_dtype from, weft_dtype to, int x) {
    const wi_format *source = wi_format_of(from), *target = wi_format_of(to);
    const bool same = strcmp(source->registers, target->registers) == 0;
    wi_text *text = &e->text;
    char converted[48];
    snprintf(
        converted, sizeof converted, "%s%s(t%d)", same ? "" : "WEFT_TO_", same ? "" : target->registers, x);
    if (target->kind == WI_NUMBER_BOOL)
        wi_text_append(text, "WEFT_BOOL(%s(t%d != (%s)(0)));\n", source->size == 8 ? "WEFT_TO_WI" : "", x,
            source->registers);
    else if (target->compute == WEFT_U8)
        wi_text_append(text, "%s & (WI)(255);\n", converted);
    else if (!wi_dtype_rounds(to))
        wi_text_append(text, "%s;\n", converted);
    else if (source->compute == WEFT_F64)
        wi_text_append(text, "weft_round_%s(weft_odd_d(t%d));\n", target->name, x);
    else
        wi_text_append(text, "weft_round_%s(%s);\n", target->name, converted);
}

/* Emits the value of a segment_select: the row of its table; or of a segment_copy: the value that it writes to its table
 * (partition_rows.c). */
static int emit_row(wi_emitter *e, const weft_tensor *node) {
    if (node->op == &wi_op_segment_copy) return wi_emit_input(e, node->inputs[2]);
    return wi_emit_load(e, wi_loop_operand(e->loop, wi_value_index(e->partition, node->inputs[0]), false));
}

static int emit_map(wi_emitter *e, const weft_tensor *node) {
    if (node->op->kind == WI_KERNEL) return emit_row(e, node);
    if (node->op->reads_padded) return wi_emit_load(e, padded_operand(e->loop, node));
    int inputs[3] = {0};
    for (int i = 0; i < node->input_count; i++) inputs[i] = wi_emit_input(e, node->inputs[i]);
    const int temp = wi_emit_begin(e, node->dtype);
    if (node->op == &wi_op_cast) {
        emit_cast(e, node->inputs[0]->dtype, node->dtype, inputs[0]);
    } else {
        wi_emit_rounding(e, node->dtype);
        emit_value(e, node, inputs);
    }
    if (node->op->fail_label) wi_emit_label_check(e, node, temp);
    return temp;
}

int wi_emit_member(wi_emitter *e, int index) {
    const wi_value *value = &e->partition->values[index];
    const int known = recall(e, value);
    if (known >= 0) return known;
    if (e->text.failed) return 0; /* out of memory: the list of known variables is incomplete */
    if (e->staged && index == e->loop->staged) return wi_emit_load(e, e->loop->staging);
    int temp;
    if (value->member.copy_of >= 0)
        temp = wi_emit_load(e, wi_loop_operand(e->loop, value->member.copy_of, false));
    else if (value->member.expression)
        temp = emit_inline(e, value->member.expression);
    else
        temp = emit_map(e, value->node);
    wi_emit_remember(e, value, temp);
    return temp;
}

int wi_emit_input(wi_emitter *e, weft_tensor *node) {
    const wi_value *input = wi_value_of_node(e->partition, node);
    const int index = (int)(input - e->partition->values);
    if (wi_is_inline_in(input, e->step->index)) return emit_inline(e, wi_inline_node(input));
    if (wi_is_member_of(input, e->step->index)) return wi_emit_member(e, index);
    return wi_emit_load(
        e, e->of_source ? wi_source_operand(e->loop, index) : wi_loop_operand(e->loop, index, false));
}
