/* Code of ops with kernels of their own. */
#include "cl/kernel_source.h"
#include "plan/code.h"

static bool draws(const wi_kernel_plan *kernel) {
    for (int i = 0; i < kernel->count; i++) {
        for (int a = 0; a < kernel->launches[i]->argument_count; a++) {
            if (kernel->launches[i]->arguments[a].kind == WI_KERNEL_RANDOM) return true;
        }
    }
    return false;
}

static weft_status append_template(wi_code *code, const wi_step_code *step) {
    wi_text *source = &code->source;
    wi_kernel_macros_define(step->kernel, source);
    WI_TRY(wi_kernel_headers_append(step->kernel, source));
    wi_text_append(source, "#define WEFT_NAME(suffix) %s_##suffix\n", step->prefix);
    WI_TRY(wi_kernel_source_append(source, step->kernel->file));
    wi_text_append(source, "\n#undef WEFT_NAME\n");
    wi_kernel_macros_undefine(step->kernel, source);
    return source->failed ? WEFT_ERROR_MEMORY : WEFT_OK;
}

static weft_status add_template(wi_code *code, wi_step_code *step, const wi_text *key) {
    bool added = false;
    if (key->failed) return WEFT_ERROR_MEMORY;
    WI_TRY(wi_find_kernel(code, key->data, &step->prefix, &added));
    return added ? append_template(code, step) : WEFT_OK;
}

weft_status wi_code_kernel(wi_code *code, const wi_step *step) {
    const wi_partition *p = code->loops->partition;
    wi_step_code *own = &code->of[step->index];
    WI_TRY(wi_prepare_kernel(code, step));
    code->draws = code->draws || draws(own->kernel);

    wi_text key;
    wi_text_init(&key, p->request->context->allocator);
    wi_text_append(&key, "%s\n", own->kernel->file);
    wi_kernel_macros_define(own->kernel, &key);
    const weft_status status = add_template(code, own, &key);
    wi_text_clear(&key);
    return status;
}
