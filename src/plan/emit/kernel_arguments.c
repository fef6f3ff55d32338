/* The list of arguments of a generated kernel (contract in expression.h). */
#include "plan/emit/expression.h"

static bool has_room(const wi_emitter *e, wi_kernel_text *kernel) {
    enum { FIRST = 8 };
    if (kernel->argument_count < kernel->argument_capacity) return true;
    const int capacity = kernel->argument_capacity ? 2 * kernel->argument_capacity : FIRST;
    wi_argument *const wider =
        wi_arena_take(e->partition->request->arena, (size_t)capacity * sizeof *kernel->arguments);
    if (!wider) return false;
    for (int i = 0; i < kernel->argument_count; i++) wider[i] = kernel->arguments[i];
    kernel->arguments = wider;
    kernel->argument_capacity = capacity;
    return true;
}

void wi_emit_argument(wi_emitter *e, wi_argument_kind kind, int a, int b, double number) {
    wi_kernel_text *kernel = e->kernel;
    for (int i = 0; i < kernel->argument_count; i++) {
        const wi_argument *known = &kernel->arguments[i];
        if (known->kind == kind && known->a == a && known->b == b) return;
    }
    if (!has_room(e, kernel)) {
        e->text.failed = true;
        return;
    }
    kernel->arguments[kernel->argument_count++] = (wi_argument){kind, a, b, number};
}

int wi_emit_scalar(wi_emitter *e, int index) {
    int count = 0;
    for (int i = 0; i < e->kernel->argument_count; i++) {
        const wi_argument *const known = &e->kernel->arguments[i];
        if (known->kind == WI_ARGUMENT_SCALAR && known->a == index) return (int)known->number;
        count += known->kind == WI_ARGUMENT_SCALAR;
    }
    wi_emit_argument(e, WI_ARGUMENT_SCALAR, index, 0, count);
    return count;
}

int wi_emit_number(wi_emitter *e, wi_argument_kind kind, double number) {
    int count = 0;
    for (int i = 0; i < e->kernel->argument_count; i++) {
        const wi_argument *const known = &e->kernel->arguments[i];
        if (known->kind == kind && known->number == number) return known->a;
        count += known->kind == WI_ARGUMENT_FLOAT || known->kind == WI_ARGUMENT_DOUBLE ||
                 known->kind == WI_ARGUMENT_WHOLE;
    }
    wi_emit_argument(e, kind, count, 0, number);
    return count;
}

static void emit_parameter(const wi_emitter *e, wi_text *text, const wi_argument *argument, bool names_only) {
    const int a = argument->a, b = argument->b;
    const char *const an_int = names_only ? "" : "const int ",
                      *const a_long = names_only ? "" : "const long ",
                      *const a_float = names_only ? "" : "const float ";
    switch (argument->kind) {
    case WI_ARGUMENT_BUFFER:
        if (!names_only)
            wi_text_append(text, "__global WEFT_T_%s *", weft_dtype_name(e->loop->operands[a].dtype));
        wi_text_append(text, "b%d", a);
        break;
    case WI_ARGUMENT_OFFSET: wi_text_append(text, "%sf%d", a_long, a); break;
    case WI_ARGUMENT_STRIDE: wi_text_append(text, "%ss%d_%d", a_long, a, b); break;
    case WI_ARGUMENT_PADDING:
        for (int i = 0; i < 3; i++)
            wi_text_append(text, "%s%s%c%d_%d", i ? ", " : "", an_int, "lhv"[i], a, b);
        break;
    case WI_ARGUMENT_PICK:
        wi_text_append(
            text, "%srows%d, %scount%d, %swidth%d, %sskipped%d", an_int, a, an_int, a, an_int, a, an_int, a);
        break;
    case WI_ARGUMENT_DIM: wi_text_append(text, "%sn%d", an_int, a); break;
    case WI_ARGUMENT_WORK: wi_text_append(text, "%sw%d", an_int, a); break;
    case WI_ARGUMENT_FLOAT: wi_text_append(text, "%sc%d", a_float, a); break;
    case WI_ARGUMENT_DOUBLE: wi_text_append(text, "%sc%d", names_only ? "" : "const double ", a); break;
    case WI_ARGUMENT_WHOLE: wi_text_append(text, "%sc%d", an_int, a); break;
    case WI_ARGUMENT_SCALAR: wi_text_append(text, "%su%d", a_float, (int)argument->number); break;
    case WI_ARGUMENT_DRAWS: wi_text_append(text, "%sdraws", names_only ? "" : "const uint "); break;
    case WI_ARGUMENT_ITERATION: break; /* only kernel ops have it */
    case WI_ARGUMENT_SEED:
        for (int i = 0; i < 2; i++)
            wi_text_append(text, "%s%sseed%d", i ? ", " : "", names_only ? "" : "const uint ", i);
        break;
    case WI_ARGUMENT_FAULT:
        wi_text_append(text, "%sfaults%d, %sfault%d", names_only ? "" : "__global int *", a, a_long, a);
        break;
    case WI_ARGUMENT_SCRATCH:
        wi_text_append(text, "%sx%d, %sy%d", names_only ? "" : "__global float *", a, a_long, a);
        break;
    case WI_ARGUMENT_CELLS:
        wi_text_append(text, "%scells, %scells_offset", names_only ? "" : "volatile __global int *", a_long);
        break;
    }
}

void wi_emit_parameters(const wi_emitter *e, wi_text *text, bool names_only) {
    for (int i = 0; i < e->kernel->argument_count; i++) {
        if (i) wi_text_append(text, ", ");
        emit_parameter(e, text, &e->kernel->arguments[i], names_only);
    }
}
