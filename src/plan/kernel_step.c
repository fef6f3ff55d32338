/* Steps of ops with kernels of their own (kernels/registry.h): one op a step, one result in memory. */
#include "cl/kernel_source.h"
#include "plan/steps.h"

/* ---- fuse.c ---- */

/* The input as the op wants it: in memory, contiguous where it asks for that. */
static weft_status take_source(weft_plan *plan, const weft_tensor *node, int input, int *value) {
    *value = wi_plan_value_index(plan, node->inputs[input]);
    WI_TRY(wi_plan_in_memory(plan, value));
    return node->op->contiguous >> input & 1 ? wi_plan_contiguous(plan, value) : WEFT_OK;
}

static weft_status take_fault(weft_plan *plan, wi_step *step) {
    if (plan->faults < 0) {
        WI_TRY(wi_plan_new_storage(plan, WI_STORAGE_ARENA, 0, &plan->faults));
        plan->storages[plan->faults].keep = true;
    }
    step->fault = plan->fault_count++;
    plan->storages[plan->faults].bytes = (size_t)plan->fault_count * sizeof(cl_int);
    return WEFT_OK;
}

weft_status wi_kernel_step_take(weft_plan *plan, int value) {
    const weft_tensor *node = plan->values[value].node;
    int sources[WI_KERNEL_INPUTS], index;
    if (node->input_count > WI_KERNEL_INPUTS)
        WI_FAIL(WEFT_ERROR_INTERNAL, "%s: more than %d inputs", node->op->name, WI_KERNEL_INPUTS);
    for (int i = 0; i < node->input_count; i++) WI_TRY(take_source(plan, node, i, &sources[i]));
    WI_TRY(wi_plan_new_step(plan, WI_STEP_KERNEL, &node->shape, &index));
    wi_step *step = plan->steps[index];
    for (int i = 0; i < node->input_count; i++) step->sources[i] = sources[i];
    wi_plan_add_member(plan, index, value);
    if (node->op->fault) WI_TRY(take_fault(plan, step));
    WI_TRY(wi_step_select(plan, step));
    return wi_plan_in_memory(plan, &value);
}

/* ---- loop.c ---- */

weft_status wi_kernel_step_operands(weft_plan *plan, wi_step *step) {
    const weft_tensor *node = plan->values[step->members[0]].node;
    step->space.rank = step->extent.rank;
    for (int i = 0; i < step->extent.rank; i++) step->space.dims[i] = step->extent.dims[i];
    for (int i = 0; i <= node->input_count; i++) {
        const bool is_output = i == node->input_count;
        const int value = is_output ? step->members[0] : step->sources[i];
        step->operands[step->operand_count++] = (wi_operand){.value = value,
            .is_output = is_output,
            .dtype = plan->values[value].node->dtype,
            .layout = plan->values[value].layout};
    }
    return WEFT_OK;
}

/* ---- codegen.c ---- */

static bool draws(const wi_kernel_plan *kernel) {
    for (int i = 0; i < kernel->count; i++) {
        for (int a = 0; a < kernel->launches[i]->argument_count; a++) {
            if (kernel->launches[i]->arguments[a].kind == WI_KERNEL_RANDOM) return true;
        }
    }
    return false;
}

static weft_status append_template(weft_plan *plan, const wi_step *step) {
    wi_text *source = &plan->source;
    wi_kernel_macros_define(step->kernel, source);
    WI_TRY(wi_kernel_headers_append(step->kernel, source));
    wi_text_append(source, "#define WEFT_NAME(suffix) %s_##suffix\n", step->prefix);
    WI_TRY(wi_kernel_source_append(source, step->kernel->file));
    wi_text_append(source, "\n#undef WEFT_NAME\n");
    wi_kernel_macros_undefine(step->kernel, source);
    return source->failed ? WEFT_ERROR_MEMORY : WEFT_OK;
}

weft_status wi_kernel_step_source(weft_plan *plan, wi_step *step) {
    step->kernel = wi_arena_take(&plan->arena, sizeof *step->kernel);
    if (!step->kernel) return WEFT_ERROR_MEMORY;
    const wi_kernel_site site = wi_step_site(plan, step);
    WI_TRY(wi_implementation_prepare(
        step->implementation, step->selection->variant, &site, &plan->arena, step->kernel));
    step->scratch_bytes = step->kernel->scratch_bytes;
    step->flops = step->kernel->flops;
    plan->draws = plan->draws || draws(step->kernel);

    wi_text key;
    wi_text_init(&key, plan->context->allocator);
    wi_text_append(&key, "%s\n", step->kernel->file);
    wi_kernel_macros_define(step->kernel, &key);
    bool added = false;
    weft_status status = key.failed ? WEFT_ERROR_MEMORY : WEFT_OK;
    if (status == WEFT_OK) status = wi_plan_find_kernel(plan, key.data, &step->prefix, &added);
    if (status == WEFT_OK && added) status = append_template(plan, step);
    wi_text_clear(&key);
    return status;
}

/* ---- faults ---- */

enum { FAULTS_READ = 64 };

/* A slot holds INT_MAX minus the lowest position at which the kernel met a fault; 0: none. */
static weft_status fail_of(weft_plan *plan, const cl_int *slots, int first, int count) {
    for (size_t i = 0; i < plan->step_count; i++) {
        const wi_step *step = plan->steps[i];
        if (step->fault < first || step->fault >= first + count || slots[step->fault - first] == 0) continue;
        const weft_tensor *node = plan->values[step->members[0]].node;
        WI_FAIL(WEFT_ERROR_ARGUMENT, "%s: %s, first at position %d %s", node->op->name, node->op->fault,
            INT32_MAX - slots[step->fault - first],
            node->op->fault_place ? node->op->fault_place : "(row-major) of its index input");
    }
    return WEFT_OK;
}

weft_status wi_plan_check_faults(weft_plan *plan) {
    if (plan->faults < 0) return WEFT_OK;
    size_t offset;
    const wi_storage *storage = wi_plan_storage(plan, plan->faults, &offset);
    weft_status status = WEFT_OK;
    for (int first = 0; first < plan->fault_count && status == WEFT_OK; first += FAULTS_READ) {
        cl_int slots[FAULTS_READ];
        const int left = plan->fault_count - first, count = left < FAULTS_READ ? left : FAULTS_READ;
        WI_CL(clEnqueueReadBuffer(plan->context->queue, storage->memory, CL_TRUE,
                  offset + (size_t)first * sizeof(cl_int), (size_t)count * sizeof(cl_int), slots, 0, NULL,
                  NULL),
            "clEnqueueReadBuffer");
        status = fail_of(plan, slots, first, count);
    }
    if (status != WEFT_OK)
        WI_TRY(wi_buffer_fill_zero(plan->context, storage->memory, offset, storage->bytes));
    return status;
}
