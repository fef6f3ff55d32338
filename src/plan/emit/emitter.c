/* The emitter's text, its variables, and the names of strides and types (contract in expression.h). */
#include "cl/opened_device.h"
#include "plan/emit/expression.h"
#include <stdio.h>

void wi_emitter_begin(wi_emitter *e, const wi_loops *loops, const wi_step *step, wi_kernel_text *kernel) {
    const wi_request *request = loops->partition->request;
    const wi_loop *loop = &loops->of[step->index];
    *e = (wi_emitter){
        .partition = loops->partition, .loops = loops, .step = step, .loop = loop, .kernel = kernel};
    wi_text_init(&e->text, request->allocator);
    const wi_device_profile *const device = &wi_step_device(loops->partition, step)->profile;
    e->walks = device->item_walks;
    e->lanes = e->walks ? device->lanes : wi_step_elements(loops->partition, loop);
    e->needs = e->lanes != device->lanes ? WI_NEEDS_QUADS : 0;
    e->narrow = wi_has_narrow_indices(loops->partition, loop);
    e->inner_is_reduced = loop->space.reduced[loop->space.rank - 1];
}

void wi_emitter_end(wi_emitter *e) {
    wi_release(e->text.allocator, e->memo);
    wi_text_clear(&e->text);
}

wi_stride_text wi_emit_stride(wi_emitter *e, int o, int d) {
    wi_stride_text stride;
    wi_emit_argument(e, WI_ARGUMENT_STRIDE, o, d, 0);
    snprintf(stride.text, sizeof stride.text, e->narrow ? "(int)s%d_%d" : "s%d_%d", o, d);
    return stride;
}

void wi_emit_remember(wi_emitter *e, const void *key, int temp) {
    if (wi_grow(e->text.allocator, (void **)&e->memo, &e->memo_capacity, e->memo_count + 1,
            sizeof *e->memo) != WEFT_OK) {
        e->text.failed = true;
        return;
    }
    e->memo[e->memo_count++] = (wi_memo){key, temp};
}

const char *wi_register_type(weft_dtype dtype) {
    return wi_format_of(dtype)->registers;
}

int wi_emit_begin(wi_emitter *e, weft_dtype dtype) {
    wi_emit_needs(e, dtype);
    wi_text_append(&e->text, "const %s t%d = ", wi_register_type(dtype), e->temps);
    return e->temps++;
}

void wi_emit_needs(wi_emitter *e, weft_dtype dtype) {
    if (dtype == WEFT_F64) e->needs |= WI_NEEDS_DOUBLES;
}

void wi_emit_rounding(wi_emitter *e, weft_dtype dtype) {
    if (wi_dtype_rounds(dtype)) wi_text_append(&e->text, "weft_round_%s", weft_dtype_name(dtype));
}
