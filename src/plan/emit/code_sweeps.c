/* Sweeps over the elements of a row, or of 16 columns (contract in code_shared.h). */
#include "plan/emit/code_shared.h"
#include <stdio.h>

enum { BLOCK_ELEMENTS = 4096, BLOCK_ROUNDS = 64 };

/* Emits the code for an element of a sweep: reductions accumulate the element, and members with an element for every point are stored. All
 * loads come before the first store, because a result may overwrite an operand in place. */
static void emit_elements(wi_emitter *e, int sweep, const char *index) {
    const size_t remembered = e->memo_count;
    for (int m = 0; m < e->step->member_count; m++) {
        const wi_value *value = wi_emitted_member(e, m);
        if (wi_is_reduction(value) && e->loops->sweep[e->step->members[m]] == sweep)
            wi_emit_accumulate(e, m, index);
    }
    for (int store = 0; store < 2; store++) {
        if (store && e->loop->staged >= 0 && e->loops->sweep[e->loop->staged] == sweep)
            wi_emit_store(e, e->loop->staging, wi_emit_member(e, e->loop->staged));
        for (int m = 0; m < e->step->member_count; m++) {
            const wi_value *value = wi_emitted_member(e, m);
            if (value->member.in_row || e->loops->sweep[e->step->members[m]] != sweep || value->storage < 0)
                continue;
            const int temp = wi_emit_member(e, e->step->members[m]);
            if (store) wi_emit_store(e, wi_loop_operand(e->loop, e->step->members[m], true), temp);
        }
    }
    e->memo_count = remembered;
}

/* Emits the number of rounds: the product of the sizes of the reduced dimensions other than the row. */
static void emit_rounds(wi_emitter *e) {
    const wi_space *space = &e->loop->space;
    wi_text_append(&e->text, "const %s rounds = 1", wi_index_type(e));
    for (int d = 0; d < space->rank; d++) {
        if (!space->reduced[d] || (e->inner_is_reduced && d == space->rank - 1)) continue;
        wi_emit_argument(e, WI_ARGUMENT_DIM, d, 0, 0);
        wi_text_append(&e->text, " * n%d", d);
    }
    wi_text_append(&e->text, ";\n");
}

static bool has_rounds(const wi_emitter *e) {
    return wi_count_dims(e, true) > 0;
}

void wi_emit_ranges(wi_emitter *e, wi_form form) {
    if (has_rounds(e)) emit_rounds(e);
    const bool cut_rounds = wi_form_splits(form) && has_rounds(e),
               cut_row = wi_form_splits(form) && !has_rounds(e);
    if (has_rounds(e)) {
        if (cut_rounds)
            wi_text_append(&e->text,
                "const %s share = (rounds + w4 - 1) / w4, t_begin = min(rounds, "
                "share * split), t_end = min(rounds, t_begin + share);\n",
                wi_index_type(e));
        else
            wi_text_append(&e->text, "const %s t_begin = 0, t_end = rounds;\n", wi_index_type(e));
    }
    if (!e->inner_is_reduced) return;
    const int last = e->loop->space.rank - 1;
    wi_emit_argument(e, WI_ARGUMENT_DIM, last, 0, 0);
    if (cut_row)
        wi_text_append(&e->text,
            "const int share = ((n%d + w4 - 1) / w4 + 15) / 16 * 16;\nconst int j_begin = "
            "min(n%d, share * split), j_end = min(n%d, j_begin + share);\n",
            last, last, last);
    else
        wi_text_append(&e->text, "const int j_begin = 0, j_end = n%d;\n", last);
}

static void emit_row_elements(wi_emitter *e, int sweep) {
    char index[96];
    if (has_rounds(e))
        snprintf(index, sizeof index, "(WI)((int)t * n%d + j) + WEFT_LANE_INDEX", e->loop->space.rank - 1);
    else
        snprintf(index, sizeof index, "(WI)(j) + WEFT_LANE_INDEX");
    wi_text_append(&e->text,
        "for (int block = j_begin; block < j_end; block += %d) {\nconst int stop = min(block + %d, "
        "j_end);\n",
        BLOCK_ELEMENTS, BLOCK_ELEMENTS);
    wi_emit_block_begin(e, sweep);
    if (e->walks) {
        wi_text_append(&e->text, "int j = block;\n");
        if (!wi_never_whole(e)) {
            wi_text_append(&e->text, "for (; j + 16 <= stop; j += 16) {\n");
            emit_elements(e, sweep, index);
            wi_text_append(&e->text, "}\n");
        }
        wi_text_append(&e->text, "if (j < stop) {\nconst int lanes = stop - j;\n(void)lanes;\n");
        e->tail = true;
        if (!wi_has_no_tail(e)) emit_elements(e, sweep, index);
        e->tail = false;
    } else {
        wi_text_append(&e->text, "for (int j = block + (int)get_local_id(0); j < stop; j += WEFT_GROUP) {\n");
        emit_elements(e, sweep, index);
    }
    wi_text_append(&e->text, "}\n");
    wi_emit_block_end(e, sweep);
    wi_text_append(&e->text, "}\n");
}

static void emit_round_begin(wi_emitter *e, bool counts) {
    e->in_loop = true;
    if (!counts) wi_emit_decode(e, true, "t");
    wi_emit_addresses(e, true);
}

/* Emits the rounds of columns, in blocks. If wi_device_profile.item_walks is false, each item increments its indices, because a
 * 64-bit division takes longer than the rest of a round. */
static void emit_column_rounds(wi_emitter *e, int sweep) {
    const bool counts = !e->walks && wi_count_dims(e, true) > 1;
    wi_text_append(&e->text,
        "for (%s block = t_begin; block < t_end; block += %d) {\nconst %s stop = min(block + "
        "%d, t_end);\n",
        wi_index_type(e), BLOCK_ROUNDS, wi_index_type(e), BLOCK_ROUNDS);
    wi_emit_block_begin(e, sweep);
    if (counts) wi_emit_decode_first(e, "block");
    wi_text_append(&e->text, "for (%s t = block; t < stop; t++) {\n", wi_index_type(e));
    emit_round_begin(e, counts);
    wi_emit_vectors_begin(e);
    emit_elements(e, sweep, "(WI)((int)t)");
    wi_emit_vectors_end(e);
    if (counts) wi_emit_decode_next(e);
    wi_text_append(&e->text, "}\n");
    wi_emit_block_end(e, sweep);
    wi_text_append(&e->text, "}\n");
}

void wi_emit_sweep(wi_emitter *e, int sweep) {
    e->staged = e->loop->staged >= 0 && sweep > e->loops->sweep[e->loop->staged];
    wi_emit_accumulators(e, sweep);
    if (!e->step->reduced) {
        emit_elements(e, sweep, "0");
    } else if (e->inner_is_reduced) {
        if (has_rounds(e))
            wi_text_append(&e->text, "for (%s t = t_begin; t < t_end; t++) {\n", wi_index_type(e));
        else
            wi_text_append(&e->text, "{\n");
        emit_round_begin(e, false);
        emit_row_elements(e, sweep);
        wi_text_append(&e->text, "}\n");
    } else {
        emit_column_rounds(e, sweep);
    }
    e->in_loop = false;
}

static void emit_row_store(wi_emitter *e, int m, int temp) {
    const int o = wi_loop_operand(e->loop, e->step->members[m], true);
    if (e->inner_is_reduced && !e->walks) wi_text_append(&e->text, "if (get_local_id(0) == 0) {\n");
    wi_emit_store(e, o, temp);
    if (e->inner_is_reduced && !e->walks) wi_text_append(&e->text, "}\n");
}

static bool is_row_value(wi_emitter *e, int m, int sweep) {
    return wi_emitted_member(e, m)->member.in_row && e->loops->sweep[e->step->members[m]] == sweep;
}

/* All values of a row are computed before the first is stored, because a result may overwrite an operand in place. */
void wi_emit_row_values(wi_emitter *e, int sweep) {
    wi_emit_vectors_begin(e);
    for (int m = 0; m < e->step->member_count; m++) {
        if (!is_row_value(e, m, sweep)) continue;
        if (wi_is_reduction(wi_emitted_member(e, m)))
            wi_emit_result(e, m);
        else
            wi_emit_member(e, e->step->members[m]);
    }
    for (int m = 0; m < e->step->member_count; m++) {
        if (is_row_value(e, m, sweep) && wi_emitted_member(e, m)->storage >= 0)
            emit_row_store(e, m, wi_emit_member(e, e->step->members[m]));
    }
    wi_emit_vectors_end(e);
}
