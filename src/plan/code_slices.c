/* Kernels of sliced loops (slices.h): a function for each loop, which does one slice, and a kernel that calls them for one
 * slice after another. A loop's parameters have its number behind their names in the kernel. */
#include "plan/code_shared.h"
#include "plan/slices.h"
#include <stdio.h>

typedef struct writer {
    wi_code *code;
    wi_sliced *sliced;
    wi_text functions, parameters, calls;
    unsigned needs;
} writer;

/* The number of an argument that is the same for every batch. */
static bool is_fixed(const wi_loop *loop, const wi_argument *argument, int64_t *number) {
    const int columns = loop->space.rank - 1;
    wi_size size = {0, 1};
    if (argument->kind == WI_ARGUMENT_DIM) size = loop->space.dims[argument->a];
    if (argument->kind == WI_ARGUMENT_STRIDE) size = loop->operands[argument->a].layout.strides[argument->b];
    if (argument->kind == WI_ARGUMENT_WORK && argument->a == WI_WORK_SPANS && columns > 0)
        size = (wi_size){1, 1};
    if (argument->kind == WI_ARGUMENT_WORK && argument->a == WI_WORK_SPAN && columns > 0)
        size = loop->space.dims[columns];
    *number = size.actual;
    return size.general == size.actual;
}

/* Such numbers are in the code, where the compiler makes more of them: there are few kernels of this kind. */
static void write_fixed(const wi_emitter *e, wi_text *text) {
    static const char *const formats[] = {
        [WI_ARGUMENT_DIM] = "const int n%d = %lld;\n", [WI_ARGUMENT_WORK] = "const int w%d = %lld;\n"};
    wi_kernel_text *const kernel = e->kernel;
    const int count = kernel->argument_count;
    kernel->argument_count = 0;
    for (int i = 0; i < count; i++) {
        const wi_argument argument = kernel->arguments[i];
        int64_t number;
        if (!is_fixed(e->loop, &argument, &number))
            kernel->arguments[kernel->argument_count++] = argument;
        else if (argument.kind == WI_ARGUMENT_STRIDE)
            wi_text_append(text, "const long s%d_%d = %lld;\n", argument.a, argument.b, (long long)number);
        else
            wi_text_append(text, formats[argument.kind], argument.a, (long long)number);
    }
}

static weft_status write_loop(writer *w, int number) {
    wi_emitter e;
    char suffix[16];
    const wi_step *const step = w->code->loops->partition->steps[w->sliced->steps[number]];
    wi_emitter_begin(&e, w->code->loops, step, &w->sliced->kernels[number]);
    e.requests = number == 0; /* the others find the rows in the cache */
    wi_text fixed;
    wi_text_init(&fixed, e.text.allocator);
    wi_emit_slice(&e);
    write_fixed(&e, &fixed);
    wi_text_append(&w->functions, "static inline void WEFT_NAME(slice%d)(const int slice", number);
    wi_text_append(&w->calls, "WEFT_NAME(slice%d)(slice", number);
    snprintf(suffix, sizeof suffix, "_%d", number);
    wi_text *const texts[] = {&w->functions, &w->parameters, &w->calls};
    for (int i = 0; i < 3; i++) {
        e.suffix = i > 0 ? suffix : "";
        wi_text_append(texts[i], ", ");
        wi_emit_parameters(&e, texts[i], i == 2);
    }
    wi_text_append(
        &w->functions, ") {\n%s%s}\n", fixed.data ? fixed.data : "", e.text.data ? e.text.data : "");
    wi_text_append(&w->calls, ");\n");
    w->needs |= e.needs;
    const weft_status status = e.text.failed || fixed.failed ? WEFT_ERROR_MEMORY : WEFT_OK;
    wi_text_clear(&fixed);
    wi_emitter_end(&e);
    return status;
}

static weft_status add_kernel(writer *w) {
    int piece;
    wi_text_append(&w->functions,
        "__kernel WEFT_ITEMS(1) void WEFT_NAME(" WI_SLICES_SUFFIX ")(const int slices%s) {\n"
        "const int first = (int)get_global_id(0) * slices;\n"
        "for (int slice = first; slice < first + slices; slice++) {\n%s}\n}\n",
        w->parameters.data, w->calls.data);
    WI_TRY(wi_add_piece(w->code, &w->functions, w->needs, &piece));
    for (int i = 0; i < w->sliced->count; i++) w->sliced->kernels[i].piece = piece;
    return WEFT_OK;
}

weft_status wi_code_sliced(wi_code *code, wi_sliced *sliced) {
    writer w = {.code = code, .sliced = sliced};
    const weft_allocator *const allocator = code->loops->partition->request->context->allocator;
    wi_text_init(&w.functions, allocator);
    wi_text_init(&w.parameters, allocator);
    wi_text_init(&w.calls, allocator);
    weft_status status = WEFT_OK;
    for (int i = 0; i < sliced->count && status == WEFT_OK; i++) status = write_loop(&w, i);
    if (status == WEFT_OK && (w.parameters.failed || w.calls.failed)) status = WEFT_ERROR_MEMORY;
    if (status == WEFT_OK) status = add_kernel(&w);
    wi_text_clear(&w.functions);
    wi_text_clear(&w.parameters);
    wi_text_clear(&w.calls);
    return status;
}
