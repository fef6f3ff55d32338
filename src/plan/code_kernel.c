/* Code of ops with kernels of their own. */
#include "plan/code.h"

static weft_status append_template(wi_text *source, const wi_kernel_plan *kernel, size_t *alone) {
    WI_TRY(wi_kernel_template_append(kernel, source));
    *alone = source->length;
    wi_code_bundles(kernel, source);
    return WEFT_OK;
}

weft_status wi_code_kernel(wi_code *code, const wi_step *step) {
    wi_step_code *own = &code->of[step->index];
    const unsigned needs = wi_step_needs(code->loops->partition, step);
    wi_text source;
    size_t alone = 0;
    wi_text_init(&source, code->loops->partition->request->context->allocator);
    weft_status status = append_template(&source, own->kernel, &alone);
    if (status == WEFT_OK) status = wi_add_piece(code, &source, alone, needs, &own->whole.piece);
    wi_text_clear(&source);
    return status;
}
