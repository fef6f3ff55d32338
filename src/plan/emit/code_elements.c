/* Indices and addresses, for kernels of loops and epilogues of contractions (contract in code_shared.h). */
#include "plan/emit/code_shared.h"

bool wi_never_whole(const wi_emitter *e) {
    return e->loop->space.dims[e->loop->space.rank - 1].general < e->lanes;
}

bool wi_has_no_tail(const wi_emitter *e) {
    return e->loop->space.dims[e->loop->space.rank - 1].general % e->lanes == 0;
}

const char *wi_index_type(const wi_emitter *e) {
    return e->narrow ? "int" : "long";
}

const wi_value *wi_emitted_member(const wi_emitter *e, int i) {
    return &e->partition->values[e->step->members[i]];
}

/* Does the code have an index i<d> of the dimension? In the space of a sum by segments, the first two dimensions belong to the epilogue and
 * the others to the source (loop_operands.c). */
static bool is_walked(const wi_emitter *e, int d, bool reduced) {
    const wi_space *space = &e->loop->space;
    if (e->step->by_segments && (d >= 2) != e->of_source) return false;
    return space->reduced[d] == reduced && !(e->has_j && d == space->rank - 1);
}

int wi_count_dims(const wi_emitter *e, bool reduced) {
    int count = 0;
    for (int d = 0; d < e->loop->space.rank; d++) count += is_walked(e, d, reduced);
    return count;
}

/* Emits i<d> = r % n<d> and r /= n<d>, where the variable r has the part of the row-major number that is not decoded yet: r_0 for kept
 * dimensions (32 bits), r_1 for reduced ones (64 bits unless indices are narrow). For the last dimension to be decoded, i<d> is r. */
static void emit_index(wi_emitter *e, int d, bool reduced, bool is_last, const char *constant) {
    if (is_last) {
        wi_text_append(&e->text, "%sint i%d = (int)r_%d;\n", constant, d, reduced);
        return;
    }
    const char *const type = reduced && !e->narrow ? "" : "(uint)";
    wi_emit_argument(e, WI_ARGUMENT_DIM, d, 0, 0);
    wi_text_append(&e->text, "%sint i%d = (int)(r_%d %% %sn%d);\nr_%d /= %sn%d;\n", constant, d, reduced,
        type, d, reduced, type, d);
}

static void emit_indices(wi_emitter *e, bool reduced, const char *from, const char *constant) {
    int left = wi_count_dims(e, reduced);
    if (left == 0) return;
    wi_text_append(
        &e->text, reduced && !e->narrow ? "long r_%d = %s;\n" : "uint r_%d = (uint)%s;\n", reduced, from);
    for (int d = e->loop->space.rank - 1; d >= 0; d--)
        if (is_walked(e, d, reduced)) emit_index(e, d, reduced, --left == 0, constant);
}

void wi_emit_decode(wi_emitter *e, bool reduced, const char *from) {
    emit_indices(e, reduced, from, "const ");
}

void wi_emit_decode_first(wi_emitter *e, const char *from) {
    emit_indices(e, true, from, "");
}

void wi_emit_decode_next(wi_emitter *e) {
    int left = wi_count_dims(e, true), open = 0;
    for (int d = e->loop->space.rank - 1; d >= 0; d--) {
        if (!is_walked(e, d, true)) continue;
        if (--left == 0)
            wi_text_append(&e->text, "i%d++;\n", d);
        else
            wi_text_append(&e->text, "if (++i%d == n%d) {\ni%d = 0;\n", d, d, d), open++;
    }
    while (open-- > 0) wi_text_append(&e->text, "}\n");
}

/* Emits the summands of an address that depend on the kept or on the reduced dimensions. */
static void emit_strides(wi_emitter *e, int o, bool reduced) {
    const wi_space *space = &e->loop->space;
    const wi_operand *operand = &e->loop->operands[o];
    for (int d = 0; d < space->rank; d++) {
        if (space->reduced[d] != reduced || (e->has_j && d == space->rank - 1)) continue;
        if (!wi_operand_varies(operand, d)) continue;
        if (operand->padding && operand->padding[d].mode)
            wi_text_append(&e->text, " + %sz%d_%d", e->narrow ? "" : "(long)", o, d);
        else
            wi_text_append(&e->text, " + i%d", d);
        if (wi_size_is(operand->layout.strides[d], 1)) continue;
        wi_text_append(&e->text, " * %s", wi_emit_stride(e, o, d).text);
    }
}

/* Emits the beginning of an address. An address of 32 bits does not contain the operand's offset, which is added to the pointer instead. */
static void emit_base(wi_emitter *e, int o) {
    const bool is_memory = e->loop->operands[o].value >= 0;
    if (is_memory) wi_emit_argument(e, WI_ARGUMENT_OFFSET, o, 0, 0);
    if (is_memory && e->narrow) {
        wi_emit_argument(e, WI_ARGUMENT_BUFFER, o, 0, 0);
        wi_text_append(&e->text, "b%d += f%d;\n", o, o);
    }
    if (is_memory && !e->narrow)
        wi_text_append(&e->text, "const long p%d = f%d", o, o);
    else
        wi_text_append(&e->text, "const %s p%d = 0", wi_index_type(e), o);
}

void wi_emit_addresses(wi_emitter *e, bool reduced) {
    for (int o = 0; o < e->loop->operand_count; o++) {
        const wi_operand *operand = &e->loop->operands[o];
        if (operand->of_source != e->of_source) continue;
        if (reduced && !wi_operand_in_loop(e->loop, operand)) continue;
        if (operand->padding) wi_emit_padded_indices(e, o, reduced);
        const bool picks = wi_emit_picked_row(e, o, reduced);
        if (reduced) {
            wi_text_append(&e->text, "const %s q%d = p%d", wi_index_type(e), o, o);
        } else {
            emit_base(e, o);
        }
        if (picks) wi_emit_picked_place(e, o, reduced);
        emit_strides(e, o, reduced);
        wi_text_append(&e->text, ";\n");
    }
}
