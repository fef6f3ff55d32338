/* The code of each step of a plan (contract in code.h). */
#include "plan/emit/code.h"
#include "base/platform.h"

/* ---- steps ---- */

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
    own->whole.piece = own->partial.piece = own->combine.piece = own->shared_piece = -1;
    if (step->kind == WI_STEP_TRANSFER || wi_step_is_library(step)) return WEFT_OK;
    return append_step(code, step);
}

/* ---- the pass ---- */

/* Numbers are printed in the C locale, because OpenCL C expects a decimal point. */
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
    if (code->loops) wi_release(code->loops->partition->request->allocator, code->pieces);
}
