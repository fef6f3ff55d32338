/* The OpenCL C of padded reads: pad, roll, tile, dilate and their gradients.
 *
 * For a padded axis, weft_padding_<mode> of padding.clh maps the index of the result to the index of the operand's element, or to -1 if the
 * padding constant is read instead. Inside a row the 16 lanes have neighbouring indices, and one load reads them. Where a row wraps around,
 * or a constant begins or ends, the lanes are joined from two vectors. Otherwise each lane is loaded separately. */
#include "plan/emit/expression.h"
#include <stdio.h>

/* Are there indices of the result for which the operand has no element in this mode? */
static bool has_outside(const wi_padding *padding) {
    return padding->mode == WI_PADDING_CONSTANT || padding->mode == WI_PADDING_INTERIOR;
}

/* Is this the dimension of the lanes? */
static bool is_lane(const wi_emitter *e, int d) {
    return e->has_j && d == e->loop->space.rank - 1;
}

bool wi_pads_lanes(const wi_emitter *e, const wi_operand *operand) {
    return operand->padding && e->has_j && operand->padding[e->loop->space.rank - 1].mode;
}

/* Emits the mapped index of `c` along a dimension, as an expression. */
static void append_index(wi_emitter *e, int o, int d, const char *c) {
    static const char *const names[] = {[WI_PADDING_CONSTANT] = "constant",
        [WI_PADDING_INTERIOR] = "interior",
        [WI_PADDING_EDGE] = "edge",
        [WI_PADDING_REFLECT] = "reflect",
        [WI_PADDING_WRAP] = "wrap"};
    wi_emit_argument(e, WI_ARGUMENT_PADDING, o, d, 0);
    e->needs |= WI_NEEDS_PADDING;
    wi_text_append(&e->text, "weft_padding_%s(%s, l%d_%d, h%d_%d, v%d_%d)",
        names[e->loop->operands[o].padding[d].mode], c, o, d, o, d, o, d);
}

/* May an index along one of the kept, or of the reduced, dimensions have no element? */
static bool any_outside(const wi_emitter *e, const wi_operand *operand, bool reduced) {
    for (int d = 0; d < e->loop->space.rank; d++) {
        if (e->loop->space.reduced[d] == reduced && !is_lane(e, d) && has_outside(&operand->padding[d]))
            return true;
    }
    return false;
}

void wi_emit_padded_indices(wi_emitter *e, int o, bool reduced) {
    const wi_operand *operand = &e->loop->operands[o];
    const wi_space *space = &e->loop->space;
    for (int d = 0; d < space->rank; d++) {
        if (space->reduced[d] != reduced || is_lane(e, d) || !operand->padding[d].mode) continue;
        char index[24];
        snprintf(index, sizeof index, "(int)i%d", d);
        wi_text_append(&e->text, "const int z%d_%d = ", o, d);
        append_index(e, o, d, index);
        wi_text_append(&e->text, ";\n");
    }
    if (!any_outside(e, operand, reduced)) return;
    wi_text_append(&e->text, "const int %c%d = ", reduced ? 'k' : 'm', o);
    if (reduced && any_outside(e, operand, false))
        wi_text_append(&e->text, "m%d", o);
    else
        wi_text_append(&e->text, "1");
    for (int d = 0; d < space->rank; d++) {
        if (space->reduced[d] == reduced && !is_lane(e, d) && has_outside(&operand->padding[d]))
            wi_text_append(&e->text, " && z%d_%d >= 0", o, d);
    }
    wi_text_append(&e->text, ";\n");
}

bool wi_padding_condition(const wi_emitter *e, int o, char text[16]) {
    const wi_operand *operand = &e->loop->operands[o];
    if (!operand->padding) return false;
    const bool in_loop = e->in_loop && any_outside(e, operand, true);
    if (!in_loop && !any_outside(e, operand, false)) return false;
    snprintf(text, 16, "%c%d", in_loop ? 'k' : 'm', o);
    return true;
}

/* Emits the value of one lane, whose mapped index is the variable `at`. */
static void append_lane(wi_emitter *e, int o, const char *base, const char *condition, const char *outside) {
    const wi_operand *operand = &e->loop->operands[o];
    const int last = e->loop->space.rank - 1;
    wi_text_append(&e->text, "%s%sat >= 0 ? WEFT_GET_%s(b%d, %s + %sat * %s) : %s;\n", condition,
        *condition ? " && " : "", weft_dtype_name(operand->dtype), o, base, e->narrow ? "" : "(long)",
        wi_emit_stride(e, o, last).text, outside);
}

/* Emits, under the condition, lanes that are the elements of `left` from `shift` on, followed by the first `shift` elements of `right`. */
static void append_joined(wi_emitter *e, int o, int temp, const char *condition, const char *shift,
    const char *left, const char *right) {
    const char *const vector = wi_register_type(e->loop->operands[o].dtype);
    wi_text_append(&e->text,
        "if (h%d_%d >= 16 && %s) {\n%s left = %s, right = %s;\nconst int shift = %s;\n"
        "WEFT_JOIN_LANES(%s, left, right, shift);\nt%d = left;\n} else\n",
        o, e->loop->space.rank - 1, condition, vector, left, right, shift, vector, temp);
}

/* Emits one load if sixteen lanes are contiguous in the operand. If indices wrap around, the first index and the row's size tell this;
 * otherwise the index of the last lane is mapped, too. */
static void append_straight(wi_emitter *e, int o, int temp, const char *base, const char *condition) {
    const wi_operand *const operand = &e->loop->operands[o];
    const int last = e->loop->space.rank - 1;
    wi_text_append(&e->text, "const int first = ");
    append_index(e, o, last, "j");
    if (operand->padding[last].mode != WI_PADDING_WRAP) {
        wi_text_append(&e->text, ", final = ");
        append_index(e, o, last, "j + 15");
    }
    wi_text_append(&e->text, ";\nif (%s%s", condition, *condition ? " && " : "");
    if (operand->padding[last].mode == WI_PADDING_WRAP)
        wi_text_append(&e->text, "first + 16 <= h%d_%d", o, last);
    else
        wi_text_append(&e->text, "first >= 0 && final - first == 15");
    wi_text_append(&e->text, ")\nt%d = weft_load_%s(b%d, %s + first);\nelse\n", temp,
        weft_dtype_name(operand->dtype), o, base);
}

/* Emits a test for sixteen lanes that are all outside: they get the value outside, without an index for each lane. `condition`: as in append_ends. */
static void append_outside(wi_emitter *e, int o, int temp, const char *condition, const char *outside) {
    const wi_operand *const operand = &e->loop->operands[o];
    const int last = e->loop->space.rank - 1;
    const bool ends = operand->padding[last].mode == WI_PADDING_CONSTANT;
    if (!ends && !*condition) return;
    wi_text_append(&e->text, "if (");
    if (*condition) wi_text_append(&e->text, "!%s%s", condition, ends ? " || " : "");
    if (ends) wi_text_append(&e->text, "j + 15 < l%d_%d || j - l%d_%d >= h%d_%d", o, last, o, last, o, last);
    wi_text_append(&e->text, ")\nt%d = (%s)(%s);\nelse\n", temp, wi_register_type(operand->dtype), outside);
}

/* Emits joined lanes if sixteen lanes cross an end of a contiguous row. `condition`: the other dimensions have an element; empty:
 * always. */
static void append_ends(
    wi_emitter *e, int o, int temp, const char *base, const char *condition, const char *outside) {
    const wi_operand *const operand = &e->loop->operands[o];
    const int last = e->loop->space.rank - 1;
    const wi_padding_mode mode = operand->padding[last].mode;
    char begin[64], end[64], splat[WI_LITERAL + 32], shift[32], rule[96];
    const char *const dtype = weft_dtype_name(operand->dtype), *const both = *condition ? " && " : "";
    snprintf(begin, sizeof begin, "weft_load_%s(b%d, %s)", dtype, o, base);
    snprintf(end, sizeof end, "weft_load_%s(b%d, %s + h%d_%d - 16)", dtype, o, base, o, last);
    snprintf(splat, sizeof splat, "(%s)(%s)", wi_register_type(operand->dtype), outside);
    snprintf(shift, sizeof shift, "(16 - (h%d_%d - first))", o, last);
    if (mode == WI_PADDING_WRAP) {
        append_joined(e, o, temp, *condition ? condition : "1", shift, end, begin);
    } else if (mode == WI_PADDING_CONSTANT) {
        snprintf(rule, sizeof rule, "%s%sfirst < 0 && final >= 0 && final < 15", condition, both);
        append_joined(e, o, temp, rule, "(final + 1)", splat, begin);
        snprintf(rule, sizeof rule, "%s%sfirst >= 0 && final < 0", condition, both);
        append_joined(e, o, temp, rule, shift, end, splat);
    }
}

int wi_emit_padded_lanes(wi_emitter *e, int o) {
    const wi_operand *operand = &e->loop->operands[o];
    const int last = e->loop->space.rank - 1, temp = e->temps++;
    char condition[16] = "", base[16], outside[WI_LITERAL];
    wi_emit_needs(e, operand->dtype);
    (void)wi_padding_condition(e, o, condition);
    snprintf(base, sizeof base, "%c%d", e->in_loop && wi_operand_in_loop(e->loop, operand) ? 'q' : 'p', o);
    wi_number_literal(outside, operand->dtype, operand->padded->attributes->padding.outside);
    wi_text_append(&e->text, "%s t%d;\n{\n", wi_register_type(operand->dtype), temp);
    if (!e->walks) {
        wi_text_append(&e->text, "const int at = ");
        append_index(e, o, last, "j");
        wi_text_append(&e->text, ";\nt%d = ", temp);
        append_lane(e, o, base, condition, outside);
        wi_text_append(&e->text, "}\n");
        return temp;
    }
    if (!e->tail && wi_size_is(operand->layout.strides[last], 1)) {
        append_straight(e, o, temp, base, condition);
        append_outside(e, o, temp, condition, outside);
        append_ends(e, o, temp, base, condition, outside);
    }
    wi_text_append(&e->text,
        "{\n%s x[16];\nWEFT_ROLLED for (int lane = 0; lane < 16; lane++) {\nconst int at = %s",
        wi_format_of(operand->dtype)->scalar, e->tail ? "lane >= lanes ? -1 : " : "");
    append_index(e, o, last, "j + lane");
    wi_text_append(&e->text, ";\nx[lane] = ");
    append_lane(e, o, base, condition, outside);
    wi_text_append(&e->text, "}\nt%d = vload16(0, x);\n}\n}\n", temp);
    return temp;
}
