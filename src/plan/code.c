/* The source of a plan's programs. */
#include "plan/code.h"
#include "cl/kernel_source.h"
#include <stdio.h>
#include <string.h>

weft_status wi_find_kernel(wi_code *code, const char *text, const char **name, bool *added) {
    const wi_request *request = code->loops->partition->request;
    const weft_allocator *allocator = request->context->allocator;
    const size_t count = code->kernel_count + 1;
    *added = false;
    for (size_t i = 0; i < code->kernel_count; i++) {
        if (strcmp(code->kernel_texts[i], text) != 0) continue;
        *name = code->kernel_names[i];
        return WEFT_OK;
    }
    WI_TRY(
        wi_grow(allocator, (void **)&code->kernel_texts, &code->kernel_text_capacity, count, sizeof(char *)));
    WI_TRY(
        wi_grow(allocator, (void **)&code->kernel_names, &code->kernel_name_capacity, count, sizeof(char *)));
    char fresh[32];
    snprintf(fresh, sizeof fresh, "k%zu", code->kernel_count);
    code->kernel_texts[code->kernel_count] = wi_arena_string(request->arena, text);
    code->kernel_names[code->kernel_count] = wi_arena_string(request->arena, fresh);
    if (!code->kernel_texts[code->kernel_count] || !code->kernel_names[code->kernel_count])
        return WEFT_ERROR_MEMORY;
    *name = code->kernel_names[code->kernel_count++];
    *added = true;
    return WEFT_OK;
}

weft_status wi_prepare_kernel(wi_code *code, const wi_step *step) {
    const wi_partition *p = code->loops->partition;
    wi_kernel_plan *const kernel = wi_arena_take(p->request->arena, sizeof *kernel);
    if (!kernel) return WEFT_ERROR_MEMORY;
    code->of[step->index].kernel = kernel;
    const wi_kernel_site site = wi_step_site(p, step);
    return wi_implementation_prepare(
        step->selection->chosen, step->selection->variant, &site, p->request->arena, kernel);
}

/* Does the code of any op call a function of elementwise.clh? */
static bool calls_functions(const wi_partition *p) {
    for (size_t i = 0; i < p->value_count; i++) {
        const wi_op *op = p->values[i].node->op;
        if (wi_code_calls(op->float_code) || wi_code_calls(op->int_code)) return true;
    }
    return false;
}

static bool has_doubles(const wi_partition *p) {
    for (size_t i = 0; i < p->value_count; i++) {
        if (p->values[i].node->dtype == WEFT_F64) return true;
    }
    return false;
}

static weft_status begin_source(const wi_partition *p, wi_text *source) {
    WI_TRY(wi_kernel_source_append(source, "common.clh"));
    if (has_doubles(p)) WI_TRY(wi_kernel_source_append(source, "doubles.clh"));
    return calls_functions(p) ? wi_kernel_source_append(source, "elementwise.clh") : WEFT_OK;
}

static weft_status append_step(wi_code *code, const wi_step *step) {
    switch (step->kind) {
    case WI_STEP_PRODUCT: return wi_code_product(code, step);
    case WI_STEP_KERNEL: return wi_code_kernel(code, step);
    case WI_STEP_LOOP: break;
    }
    return wi_code_loop(code, step);
}

static weft_status append_steps(wi_code *code) {
    const wi_partition *p = code->loops->partition;
    WI_TRY(begin_source(p, &code->source));
    WI_TRY(begin_source(p, &code->parts_source));
    for (size_t i = 0; i < p->step_count; i++) WI_TRY(append_step(code, p->steps[i]));
    return code->source.failed || code->parts_source.failed ? WEFT_ERROR_MEMORY : WEFT_OK;
}

/* OpenCL C has a decimal point, whatever the program's locale has. */
weft_status wi_plan_code(const wi_loops *loops, wi_code *code) {
    const wi_partition *p = loops->partition;
    *code = (wi_code){.loops = loops};
    wi_text_init(&code->source, p->request->context->allocator);
    wi_text_init(&code->parts_source, p->request->context->allocator);
    code->of = wi_arena_take(p->request->arena, p->step_count * sizeof *code->of);
    if (!code->of) return WEFT_ERROR_MEMORY;
    wi_locale locale;
    wi_locale_enter(&locale);
    const weft_status status = append_steps(code);
    wi_locale_leave(&locale);
    return status;
}

void wi_code_forget_source(wi_code *code) {
    wi_text_clear(&code->source);
    wi_text_clear(&code->parts_source);
}

void wi_code_clear(wi_code *code) {
    if (!code->loops) return;
    const weft_allocator *allocator = code->loops->partition->request->context->allocator;
    wi_code_forget_source(code);
    wi_release(allocator, (void *)code->kernel_texts);
    wi_release(allocator, (void *)code->kernel_names);
}
