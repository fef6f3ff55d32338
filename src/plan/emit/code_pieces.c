/* The pieces of which a plan's programs are composed. */
#include "plan/emit/code.h"

#include <string.h>

weft_status wi_add_piece(wi_code *code, const wi_text *text, unsigned needs, int *index) {
    const wi_request *const request = code->loops->partition->request;
    if (text->failed) return WEFT_ERROR_MEMORY;
    const wi_cache_key hash = wi_text_key(text->data, text->length);
    for (*index = 0; (size_t)*index < code->piece_count; ++*index)
        if (wi_cache_key_equal(code->pieces[*index].hash, hash)) return WEFT_OK;
    char *const own = wi_arena_take(request->arena, text->length + 1);
    if (!own) return WEFT_ERROR_MEMORY;
    WI_TRY(wi_grow(request->allocator, (void **)&code->pieces, &code->piece_capacity, code->piece_count + 1,
        sizeof *code->pieces));
    memcpy(own, text->data, text->length);
    wi_code_piece *const piece = &code->pieces[code->piece_count++];
    *piece = (wi_code_piece){.text = own, .length = text->length, .needs = needs, .hash = hash};
    wi_piece_name(piece->name, hash);
    return WEFT_OK;
}

unsigned wi_step_needs(const wi_partition *p, const wi_step *step) {
    const weft_tensor *node = p->values[step->members[0]].node;
    bool doubles = node->dtype == WEFT_F64;
    for (int i = 0; i < node->input_count; i++) doubles = doubles || node->inputs[i]->dtype == WEFT_F64;
    return doubles ? WI_NEEDS_DOUBLES : 0;
}
