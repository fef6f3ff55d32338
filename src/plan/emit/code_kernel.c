/* The code of kernel ops: the template of the chosen implementation. */
#include "kernels/kernel_plan.h"
#include "plan/emit/code.h"

weft_status wi_code_kernel(wi_code *code, const wi_step *step) {
    wi_step_code *own = &code->of[step->index];
    const unsigned needs = wi_step_needs(code->loops->partition, step);
    wi_text source;
    wi_text_init(&source, code->loops->partition->request->allocator);
    weft_status status = wi_kernel_template_append(code->schedule->of[step->index].kernel, &source);
    if (status == WEFT_OK) status = wi_add_piece(code, &source, needs, &own->whole.piece);
    wi_text_clear(&source);
    return status;
}
