/* The OpenCL C of rows of a table that a loop gathers itself (picked_rows.c).
 *
 * There are two operands: the index tensor, which is read like any other operand, and after it the table. pick<o> is the row that the index
 * tensor selects, and the address of the table begins at this row. m<o> or k<o> is true if the table has the row. Elements of a row that
 * the table does not have are 0, and the index of this row is reported as a fault. If wi_device_profile.item_walks is true, an item also
 * prefetches the row of the index PICKS_AHEAD positions later, as gather.cl does. */
#include "plan/emit/expression.h"
#include <stdio.h>

enum { PICKS_AHEAD = 16 };

/* Is the operand a table whose rows the loop gathers? */
static bool is_picked(const wi_operand *operand) {
    return operand->pick && !operand->is_index;
}

/* Does the row depend on reduced dimensions? */
static bool is_in_loop(const wi_emitter *e, int o) {
    return wi_pick_in_loop(e->loop, &e->loop->operands[o]);
}

/* The stride of the index tensor along the innermost dimension in which it varies. */
static wi_stride_text step_of(wi_emitter *e, int index) {
    int d = e->loop->space.rank - 1;
    while (d > 0 && !wi_operand_varies(&e->loop->operands[index], d)) d--;
    return wi_emit_stride(e, index, d);
}

/* Emits the prefetch of a later row. */
static void emit_request(wi_emitter *e, int o, char at) {
    const int index = o - 1;
    wi_text_append(&e->text,
        "{\nconst long ahead = clamp(b%d[min(%c%d + %d * %s, f%d + count%d - 1)], 0, rows%d - 1);\n"
        "for (int column = 0; column < width%d; column += 16)\n"
        "WEFT_PREFETCH(b%d + f%d + ahead * width%d + column, 2);\n}\n",
        index, at, index, PICKS_AHEAD, step_of(e, index).text, index, o, o, o, o, o, o);
}

/* Emits pick<o>, the condition and the report of a fault. at: the letter of the index tensor's address, 'p' or 'q'. inside: the letter of
 * the condition, 'm' or 'k'. */
static void emit_row(wi_emitter *e, int o, char at, char inside) {
    const int index = o - 1;
    const wi_pick *const pick = e->loop->operands[o].pick;
    wi_emit_argument(e, WI_ARGUMENT_BUFFER, index, 0, 0);
    wi_emit_argument(e, WI_ARGUMENT_BUFFER, o, 0, 0);
    wi_emit_argument(e, WI_ARGUMENT_PICK, o, 0, 0);
    wi_emit_argument(e, WI_ARGUMENT_FAULT, pick->fault, 0, 0);
    wi_text_append(&e->text,
        "const int pick%d = b%d[%c%d], %c%d = pick%d >= 0 && pick%d < rows%d;\n"
        "if (!%c%d && pick%d != skipped%d) WEFT_FAULT(faults%d, fault%d, %c%d",
        o, index, at, index, inside, o, o, o, o, inside, o, o, o, pick->fault, pick->fault, at, index);
    if (!e->narrow) wi_text_append(&e->text, " - f%d", index);
    wi_text_append(&e->text, ");\n");
    if (e->walks) emit_request(e, o, at);
}

bool wi_emit_picked_row(wi_emitter *e, int o, bool reduced) {
    if (!is_picked(&e->loop->operands[o]) || is_in_loop(e, o) != reduced) return false;
    emit_row(e, o, reduced ? 'q' : 'p', reduced ? 'k' : 'm');
    return true;
}

void wi_emit_picked_place(wi_emitter *e, int o, bool reduced) {
    wi_text_append(&e->text, " + %s(%c%d ? pick%d : 0) * width%d", e->narrow ? "" : "(long)",
        reduced ? 'k' : 'm', o, o, o);
}

bool wi_pick_condition(const wi_emitter *e, int o, char text[16]) {
    if (!is_picked(&e->loop->operands[o])) return false;
    snprintf(text, 16, "%c%d", is_in_loop(e, o) ? 'k' : 'm', o);
    return true;
}
