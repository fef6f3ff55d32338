/* The pieces of source that a plan's programs are put together from. */
#include "plan/code.h"

#include <string.h>

weft_status wi_add_piece(wi_code *code, const wi_text *text, unsigned needs, int *index) {
    const wi_request *const request = code->loops->partition->request;
    if (text->failed) return WEFT_ERROR_MEMORY;
    const wi_cache_key hash = wi_text_key(text->data, text->length);
    for (*index = 0; (size_t)*index < code->piece_count; ++*index)
        if (wi_cache_key_equal(code->pieces[*index].hash, hash)) return WEFT_OK;
    char *const own = wi_arena_take(request->arena, text->length + 1);
    if (!own) return WEFT_ERROR_MEMORY;
    WI_TRY(wi_grow(request->context->allocator, (void **)&code->pieces, &code->piece_capacity,
        code->piece_count + 1, sizeof *code->pieces));
    memcpy(own, text->data, text->length);
    wi_code_piece *const piece = &code->pieces[code->piece_count++];
    *piece = (wi_code_piece){.text = own, .length = text->length, .needs = needs, .hash = hash};
    wi_piece_name(piece->name, hash);
    return WEFT_OK;
}

/* ---- steps ---- */

unsigned wi_step_needs(const wi_partition *p, const wi_step *step) {
    const weft_tensor *node = p->values[step->members[0]].node;
    bool doubles = node->dtype == WEFT_F64;
    for (int i = 0; i < node->input_count; i++) doubles = doubles || node->inputs[i]->dtype == WEFT_F64;
    return doubles ? WI_NEEDS_DOUBLES : 0;
}

static weft_status append_step(wi_code *code, const wi_step *step) {
    switch (step->kind) {
    case WI_STEP_PRODUCT: return wi_code_product(code, step);
    case WI_STEP_KERNEL: return wi_code_kernel(code, step);
    case WI_STEP_TRANSFER: return WEFT_OK;
    case WI_STEP_LOOP: break;
    }
    return wi_code_loop(code, step);
}

static weft_status add_step(wi_code *code, const wi_step *step) {
    wi_step_code *const own = &code->of[step->index];
    own->whole.piece = own->partial.piece = own->combine.piece = -1;
    if (step->kind == WI_STEP_TRANSFER || wi_step_is_library(step)) return WEFT_OK;
    return append_step(code, step);
}

/* ---- the pass ---- */

/* OpenCL C has a decimal point, whatever the program's locale has. */
weft_status wi_plan_code(const wi_schedule *schedule, wi_code *code) {
    const wi_partition *p = schedule->loops->partition;
    *code = (wi_code){.schedule = schedule, .loops = schedule->loops};
    code->of = wi_arena_take(p->request->arena, p->step_count * sizeof *code->of);
    if (!code->of) return WEFT_ERROR_MEMORY;
    wi_locale locale;
    wi_locale_enter(&locale);
    weft_status status = WEFT_OK;
    for (size_t i = 0; i < p->step_count && status == WEFT_OK; i++) status = add_step(code, p->steps[i]);
    wi_locale_leave(&locale);
    return status;
}

void wi_code_clear(wi_code *code) {
    if (code->loops) wi_release(code->loops->partition->request->context->allocator, code->pieces);
}
