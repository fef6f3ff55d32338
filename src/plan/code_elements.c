/* What kernels of loops and epilogues of products have in common: indices, addresses, elements. */
#include "plan/code_shared.h"

bool wi_never_whole(const wi_emitter *e) {
    return e->loop->space.dims[e->loop->space.rank - 1].general < 16;
}

bool wi_has_no_tail(const wi_emitter *e) {
    return e->loop->space.dims[e->loop->space.rank - 1].general % 16 == 0;
}

const wi_value *wi_emitted_member(const wi_emitter *e, int i) {
    return &e->partition->values[e->step->members[i]];
}

int wi_count_dims(const wi_emitter *e, bool reduced) {
    const wi_space *space = &e->loop->space;
    int count = 0;
    for (int d = 0; d < space->rank; d++) {
        if (e->has_j && d == space->rank - 1) continue;
        count += space->reduced[d] == reduced;
    }
    return count;
}

void wi_emit_decode(wi_emitter *e, bool reduced, const char *from) {
    const wi_space *space = &e->loop->space;
    int left = wi_count_dims(e, reduced);
    if (left == 0) return;
    if (left > 1) wi_text_append(&e->text, "long r_%d = %s;\n", reduced, from);
    for (int d = space->rank - 1; d >= 0; d--) {
        if (space->reduced[d] != reduced || (e->has_j && d == space->rank - 1)) continue;
        if (left == 1) {
            if (wi_count_dims(e, reduced) > 1)
                wi_text_append(&e->text, "const long i%d = r_%d;\n", d, reduced);
            else
                wi_text_append(&e->text, "const long i%d = %s;\n", d, from);
        } else {
            wi_emit_argument(e, WI_ARGUMENT_DIM, d, 0, 0);
            wi_text_append(
                &e->text, "const long i%d = r_%d %% n%d;\nr_%d /= n%d;\n", d, reduced, d, reduced, d);
        }
        left--;
    }
}

/* The part of an address that comes from the kept or from the reduced dimensions. */
static void emit_strides(wi_emitter *e, int o, bool reduced) {
    const wi_space *space = &e->loop->space;
    const wi_operand *operand = &e->loop->operands[o];
    for (int d = 0; d < space->rank; d++) {
        if (space->reduced[d] != reduced || (e->has_j && d == space->rank - 1)) continue;
        if (!wi_operand_varies(operand, d)) continue;
        if (operand->padding && operand->padding[d].mode)
            wi_text_append(&e->text, " + (long)z%d_%d", o, d);
        else
            wi_text_append(&e->text, " + i%d", d);
        if (wi_size_is(operand->layout.strides[d], 1)) continue;
        wi_emit_argument(e, WI_ARGUMENT_STRIDE, o, d, 0);
        wi_text_append(&e->text, " * s%d_%d", o, d);
    }
}

void wi_emit_addresses(wi_emitter *e, bool reduced) {
    for (int o = 0; o < e->loop->operand_count; o++) {
        const wi_operand *operand = &e->loop->operands[o];
        if (reduced && !wi_operand_in_loop(e->loop, operand)) continue;
        if (operand->padding) wi_emit_padded_indices(e, o, reduced);
        if (reduced) {
            wi_text_append(&e->text, "const long q%d = p%d", o, o);
        } else if (operand->value >= 0) {
            wi_emit_argument(e, WI_ARGUMENT_OFFSET, o, 0, 0);
            wi_text_append(&e->text, "const long p%d = f%d", o, o);
        } else {
            wi_text_append(&e->text, "const long p%d = 0", o);
        }
        emit_strides(e, o, reduced);
        wi_text_append(&e->text, ";\n");
    }
}
