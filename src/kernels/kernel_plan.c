/* Filling in the plan of a step's kernels (contract in kernel_plan.h). */
#include "kernels/kernel_plan.h"
#include "cl/kernel_source.h"
#include <stdio.h>

/* The functions of this file count also what does not fit in the plan's arrays, without storing it. wi_kernel_plan_check then
 * reports that a count exceeds the length of its array. */

void wi_kernel_macro_text(wi_kernel_plan *plan, const char *name, const char *value) {
    const int i = plan->macro_count++;
    if (i >= WI_KERNEL_MACROS) return;
    plan->macros[i].name = name;
    const int length = snprintf(plan->macros[i].value, sizeof plan->macros[i].value, "%s", value);
    if (length >= (int)sizeof plan->macros[i].value) plan->macro_count = WI_KERNEL_MACROS + 1;
}

void wi_kernel_macro_int(wi_kernel_plan *plan, const char *name, int64_t value) {
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    wi_kernel_macro_text(plan, name, text);
}

void wi_kernel_macro_bits(wi_kernel_plan *plan, const char *name, weft_dtype dtype) {
    static const char *const types[] = {[1] = "uchar", [2] = "ushort", [4] = "uint", [8] = "ulong"};
    wi_kernel_macro_text(plan, name, types[weft_dtype_size(dtype)]);
}

weft_status wi_kernel_headers_include(const wi_kernel_plan *plan, wi_text *source) {
    for (int i = 0; plan->headers && plan->headers[i]; i++)
        WI_TRY(wi_kernel_source_include(source, plan->headers[i]));
    return WEFT_OK;
}

void wi_kernel_macros_define(const wi_kernel_plan *plan, wi_text *source) {
    for (int i = 0; plan->parameters && plan->parameters[i]; i++)
        wi_text_append(source, "#define %s %d\n", plan->parameters[i], plan->values[i]);
    for (int i = 0; i < plan->macro_count; i++)
        wi_text_append(source, "#define %s %s\n", plan->macros[i].name, plan->macros[i].value);
}

void wi_kernel_macros_undefine(const wi_kernel_plan *plan, wi_text *source) {
    for (int i = 0; plan->parameters && plan->parameters[i]; i++)
        wi_text_append(source, "#undef %s\n", plan->parameters[i]);
    for (int i = 0; i < plan->macro_count; i++) wi_text_append(source, "#undef %s\n", plan->macros[i].name);
}

weft_status wi_kernel_template_append(const wi_kernel_plan *plan, wi_text *source) {
    wi_kernel_macros_define(plan, source);
    WI_TRY(wi_kernel_headers_include(plan, source));
    WI_TRY(wi_kernel_source_include(source, plan->file));
    wi_text_append(source, "\n");
    wi_kernel_macros_undefine(plan, source);
    return WEFT_OK;
}

wi_kernel_launch *wi_kernel_launch_1d(
    wi_kernel_plan *plan, const char *suffix, int64_t items, int64_t group) {
    const int i = plan->count++;
    wi_kernel_launch *launch = &plan->spare;
    if (i < WI_KERNEL_LAUNCHES) {
        plan->launches[i] = wi_arena_take(plan->arena, sizeof *launch);
        if (plan->launches[i])
            launch = plan->launches[i];
        else
            plan->failed = true;
    }
    const int64_t unit = group > 0 ? group : 1;
    *launch = (wi_kernel_launch){.suffix = suffix, .dimensions = 1};
    launch->global[0] = (size_t)((items + unit - 1) / unit * unit);
    launch->local[0] = (size_t)group;
    launch->global[1] = launch->global[2] = 1;
    launch->local[1] = launch->local[2] = 1;
    return launch;
}

wi_kernel_launch *wi_kernel_launch_3d(
    wi_kernel_plan *plan, const char *suffix, int64_t x, int64_t y, int64_t z) {
    wi_kernel_launch *const launch = wi_kernel_launch_1d(plan, suffix, x, 1);
    launch->dimensions = 3;
    launch->global[1] = (size_t)y;
    launch->global[2] = (size_t)z;
    return launch;
}

wi_kernel_launch *wi_kernel_launch_groups(
    wi_kernel_plan *plan, const char *suffix, const int64_t groups[3], const size_t local[3]) {
    wi_kernel_launch *const launch = wi_kernel_launch_1d(plan, suffix, 1, 1);
    launch->dimensions = 3;
    for (int i = 0; i < 3; i++) {
        launch->global[i] = (size_t)groups[i] * local[i];
        launch->local[i] = local[i];
    }
    return launch;
}

static void add(wi_kernel_launch *launch, wi_kernel_argument argument) {
    const int i = launch->argument_count++;
    if (i < WI_KERNEL_ARGUMENTS) launch->arguments[i] = argument;
}

void wi_kernel_input(wi_kernel_launch *launch, int input) {
    add(launch, (wi_kernel_argument){.kind = WI_KERNEL_INPUT, .number = input});
}
void wi_kernel_inputs(wi_kernel_launch *launch, int count) {
    for (int i = 0; i < count; i++) wi_kernel_input(launch, i);
}
void wi_kernel_result(wi_kernel_launch *launch) {
    add(launch, (wi_kernel_argument){.kind = WI_KERNEL_RESULT});
}
void wi_kernel_scratch(wi_kernel_launch *launch, int64_t offset) {
    add(launch, (wi_kernel_argument){.kind = WI_KERNEL_SCRATCH, .number = offset});
}
void wi_kernel_int(wi_kernel_launch *launch, int64_t number) {
    add(launch, (wi_kernel_argument){.kind = WI_KERNEL_INT, .number = number});
}
void wi_kernel_long(wi_kernel_launch *launch, int64_t number) {
    add(launch, (wi_kernel_argument){.kind = WI_KERNEL_LONG, .number = number});
}
void wi_kernel_ints(wi_kernel_launch *launch, const int64_t *numbers, size_t count) {
    for (size_t i = 0; i < count; i++) wi_kernel_int(launch, numbers[i]);
}
void wi_kernel_longs(wi_kernel_launch *launch, const int64_t *numbers, size_t count) {
    for (size_t i = 0; i < count; i++) wi_kernel_long(launch, numbers[i]);
}
void wi_kernel_float(wi_kernel_launch *launch, double number) {
    add(launch, (wi_kernel_argument){.kind = WI_KERNEL_FLOAT, .real = (float)number});
}
void wi_kernel_faults(wi_kernel_launch *launch) {
    add(launch, (wi_kernel_argument){.kind = WI_KERNEL_FAULTS});
}
void wi_kernel_random(wi_kernel_launch *launch) {
    add(launch, (wi_kernel_argument){.kind = WI_KERNEL_RANDOM});
}
void wi_kernel_iteration(wi_kernel_launch *launch) {
    add(launch, (wi_kernel_argument){.kind = WI_KERNEL_ITERATION});
}

void wi_kernel_repeat(wi_kernel_plan *plan, int first, int64_t iterations) {
    if (plan->failed || plan->count > WI_KERNEL_LAUNCHES || first >= plan->count) return;
    plan->launches[first]->iterations = iterations;
    plan->launches[first]->launches_per_iteration = plan->count - first;
}

void wi_kernel_packs(wi_kernel_plan *plan, uint32_t inputs, size_t bytes) {
    plan->pack_count = plan->count;
    plan->packed = inputs;
    plan->pack_bytes = bytes;
}

static bool fits_int(const wi_kernel_argument *argument) {
    return argument->kind != WI_KERNEL_INT ||
           (argument->number >= INT32_MIN && argument->number <= INT32_MAX);
}

weft_status wi_kernel_plan_check(const wi_kernel_plan *plan, const char *op) {
    if (plan->failed) return WEFT_ERROR_MEMORY;
    bool whole = plan->file && plan->count > 0 && plan->count <= WI_KERNEL_LAUNCHES &&
                 plan->macro_count <= WI_KERNEL_MACROS;
    for (int i = 0; whole && i < plan->count; i++) {
        const wi_kernel_launch *launch = plan->launches[i];
        whole = launch->argument_count <= WI_KERNEL_ARGUMENTS && launch->dimensions >= 1 &&
                launch->dimensions <= 3 && launch->global[0] > 0;
        for (int a = 0; whole && a < launch->argument_count; a++) {
            if (!fits_int(&launch->arguments[a]))
                WI_FAIL(WEFT_ERROR_UNSUPPORTED,
                    "%s: a size of %lld is too large for a kernel, which counts in 32 bits", op,
                    (long long)launch->arguments[a].number);
        }
    }
    if (!whole) WI_FAIL(WEFT_ERROR_INTERNAL, "%s: its launches are not filled in", op);
    return WEFT_OK;
}
