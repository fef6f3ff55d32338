/* The life of a plan, and the copies between host and device. */
#include "plan/steps.h"
#include <string.h>

/* ---- life ---- */

static void plan_destroy(weft_plan *plan) {
    weft_context *context = plan->context;
    const weft_allocator *allocator = context->allocator;
    (void)wi_queue_finish(wi_context_device(context)); /* nothing may run on memory that is given back */
    for (size_t i = 0; i < plan->launch_count; i++) wi_launch_clear(&plan->launches[i].launch);
    for (size_t i = 0; i < plan->storage_count; i++) {
        wi_storage *storage = &plan->storages[i];
        if (storage->kind != WI_STORAGE_INPUT) continue;
        if (storage->memory && storage->memory != storage->buffer.memory) clReleaseMemObject(storage->memory);
        wi_buffer_release(&storage->buffer, wi_context_device(context));
    }
    for (size_t i = 0; plan->chunks && i < plan->chunk_count; i++)
        wi_buffer_release(&plan->chunks[i], wi_context_device(context));
    wi_text_clear(&plan->source);
    wi_text_clear(&plan->parts_source);
    wi_release(allocator, plan->order);
    wi_release(allocator, plan->value_of);
    wi_release(allocator, plan->values);
    wi_release(allocator, plan->storages);
    wi_release(allocator, plan->steps);
    wi_release(allocator, plan->assignments);
    wi_release(allocator, (void *)plan->kernel_texts);
    wi_release(allocator, (void *)plan->kernel_names);
    wi_release(allocator, plan->launches);
    wi_arena_clear(&plan->arena);
    weft_graph *graph = plan->owns_graph ? plan->graph : NULL;
    wi_release(allocator, plan);
    weft_graph_release(graph);
}

static weft_status check_limit(const weft_plan *plan, size_t limit) {
    if (limit && plan->info.total_bytes > limit)
        WI_FAIL(WEFT_ERROR_MEMORY_LIMIT,
            "plan: needs %zu bytes (%zu intermediates, %zu inputs), memory_limit is %zu",
            plan->info.total_bytes, plan->info.arena_bytes, plan->info.io_bytes, limit);
    return WEFT_OK;
}

static void sum_up(weft_plan *plan) {
    weft_plan_info *info = &plan->info;
    info->batch = plan->batch;
    info->steps = plan->step_count;
    info->kernels = plan->kernel_count;
    for (size_t i = 0; i < plan->step_count; i++) {
        const wi_step *step = plan->steps[i];
        info->launches += (size_t)step->launch_count;
        info->flops += step->flops;
        info->bytes_moved += step->bytes_moved;
        info->conversions += step->only_moves;
        const wi_conversions changes = wi_step_conversions(plan, step);
        info->layout_changes += (size_t)(changes.to_last + changes.to_first);
    }
}

/* OpenCL C has a decimal point, whatever the program's locale has. */
static weft_status generate_code(weft_plan *plan) {
    wi_locale locale;
    wi_locale_enter(&locale);
    const weft_status status = wi_plan_codegen(plan);
    wi_locale_leave(&locale);
    return status;
}

weft_status wi_plan_compile(weft_plan *plan) {
    if (plan->compiled) return WEFT_OK;
    const weft_status status = wi_plan_launches(plan);
    if (status != WEFT_OK) {
        for (size_t i = 0; i < plan->launch_count; i++) wi_launch_clear(&plan->launches[i].launch);
        plan->launch_count = 0;
        return status;
    }
    wi_text_clear(&plan->source);
    wi_text_clear(&plan->parts_source);
    plan->compiled = true;
    return WEFT_OK;
}

static weft_status build(weft_plan *plan, const weft_plan_options *options) {
    WI_TRY(wi_plan_order(plan));
    WI_TRY(wi_plan_fuse(plan));
    WI_TRY(wi_plan_loops(plan));
    WI_TRY(generate_code(plan));
    WI_TRY(wi_plan_schedule(plan));
    WI_TRY(wi_plan_place(plan));
    WI_TRY(check_limit(plan, options ? options->memory_limit : 0));
    WI_TRY(wi_plan_allocate(plan));
    wi_plan_count_launches(plan);
    sum_up(plan);
    return options && options->compile_late ? WEFT_OK : wi_plan_compile(plan);
}

static weft_status check_outputs(weft_tensor *const *outputs, size_t count) {
    if (!outputs || count == 0) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_plan_create: there are no outputs");
    weft_graph *graph = NULL;
    for (size_t i = 0; i < count; i++) {
        if (!outputs[i]) continue;
        WI_TRY(weft_graph_status(outputs[i]->graph));
        if (graph && outputs[i]->graph != graph)
            WI_FAIL(
                WEFT_ERROR_ARGUMENT, "weft_plan_create: output %zu is of another graph than the others", i);
        graph = outputs[i]->graph;
    }
    for (size_t i = 0; i < count; i++) {
        if (!outputs[i]) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_plan_create: output %zu is NULL", i);
    }
    return WEFT_OK;
}

weft_status wi_plan_create_unowned(
    weft_plan **out, weft_tensor *const *outputs, size_t count, const weft_plan_options *options) {
    if (!out) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_plan_create: plan is NULL");
    *out = NULL;
    WI_TRY(check_outputs(outputs, count));
    if (options && options->struct_size < sizeof *options)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_plan_create: options.struct_size is %zu, not %zu",
            options->struct_size, sizeof *options);
    const int64_t batch = options && options->batch ? options->batch : 1;
    if (batch < 1 || batch > INT32_MAX)
        WI_FAIL(
            WEFT_ERROR_ARGUMENT, "weft_plan_create: a batch of %lld is not in 1..2^31-1", (long long)batch);
    weft_graph *graph = outputs[0]->graph;
    weft_context *context = graph->context;
    weft_plan *plan = wi_allocate(context->allocator, sizeof *plan);
    if (!plan) return WEFT_ERROR_MEMORY;
    wi_arena_init(&plan->arena, context->allocator);
    plan->graph = graph;
    plan->context = context;
    plan->references = 1;
    plan->faults = -1;
    plan->batch = batch;
    plan->inference = options && options->inference;
    plan->output_count = count;
    plan->outputs = wi_arena_take(&plan->arena, count * sizeof *plan->outputs);
    plan->output_values = wi_arena_take(&plan->arena, count * sizeof *plan->output_values);
    weft_status status = plan->outputs && plan->output_values ? WEFT_OK : WEFT_ERROR_MEMORY;
    if (status == WEFT_OK) {
        memcpy(plan->outputs, outputs, count * sizeof *outputs);
        status = build(plan, options);
    }
    if (status != WEFT_OK)
        plan_destroy(plan);
    else
        *out = plan;
    return status;
}

weft_status weft_plan_create(
    weft_plan **plan, weft_tensor *const *outputs, size_t count, const weft_plan_options *options) {
    WI_TRY(wi_plan_create_unowned(plan, outputs, count, options));
    (*plan)->owns_graph = true;
    weft_graph_retain((*plan)->graph);
    return WEFT_OK;
}

weft_plan *weft_plan_retain(weft_plan *plan) {
    if (plan) plan->references++;
    return plan;
}

void weft_plan_release(weft_plan *plan) {
    if (plan && --plan->references == 0) plan_destroy(plan);
}

/* ---- host and device ---- */

/* The value behind an input or output of the plan, checked against what the caller brings. */
static weft_status find_value(weft_plan *plan, const char *call, weft_tensor *tensor, bool output,
    const void *data, size_t bytes, wi_value **value) {
    if (!plan || !tensor || !data) WI_FAIL(WEFT_ERROR_ARGUMENT, "%s: plan, tensor or data is NULL", call);
    *value = NULL;
    for (size_t i = 0; output && i < plan->output_count; i++) {
        if (plan->outputs[i] == tensor && plan->output_values[i] >= 0)
            *value = &plan->values[plan->output_values[i]];
    }
    if (!output && tensor->graph == plan->graph && tensor->op == &wi_op_input)
        *value = wi_plan_value(plan, tensor);
    if (!*value)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "%s: %s '%s' is not among the plan's %s", call, tensor->op->name,
            weft_tensor_name(tensor), output ? "outputs" : "inputs");
    const size_t own = (size_t)wi_extent_count(&(*value)->extent).actual * weft_dtype_size(tensor->dtype);
    if (bytes != own)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "%s: %s '%s' has %zu bytes at batch %lld, %zu were given", call,
            tensor->op->name, weft_tensor_name(tensor), own, (long long)plan->batch, bytes);
    return WEFT_OK;
}

static cl_mem memory_of(weft_plan *plan, const wi_value *value, size_t *offset) {
    const wi_storage *storage = wi_plan_storage(plan, plan->values[value->base].storage, offset);
    *offset += (size_t)value->layout.offset.actual * weft_dtype_size(value->node->dtype);
    return storage->memory;
}

static weft_status write_input(
    weft_plan *plan, weft_tensor *input, const void *data, size_t bytes, cl_bool wait) {
    wi_value *value;
    WI_TRY(find_value(plan, "weft_plan_write", input, false, data, bytes, &value));
    size_t offset;
    const cl_mem memory = memory_of(plan, value, &offset);
    return wi_cl_check(clEnqueueWriteBuffer(wi_context_device(plan->context)->queue, memory, wait, offset,
                           bytes, data, 0, NULL, NULL),
        "clEnqueueWriteBuffer");
}

weft_status weft_plan_write(weft_plan *plan, weft_tensor *input, const void *data, size_t bytes) {
    return write_input(plan, input, data, bytes, CL_TRUE);
}

weft_status weft_plan_write_async(weft_plan *plan, weft_tensor *input, const void *data, size_t bytes) {
    return write_input(plan, input, data, bytes, CL_FALSE);
}

static weft_status read_output(weft_plan *plan, weft_tensor *output, void *data, size_t bytes, cl_bool wait) {
    wi_value *value;
    WI_TRY(find_value(plan, "weft_plan_read", output, true, data, bytes, &value));
    size_t offset;
    const cl_mem memory = memory_of(plan, value, &offset);
    return wi_cl_check(clEnqueueReadBuffer(wi_context_device(plan->context)->queue, memory, wait, offset,
                           bytes, data, 0, NULL, NULL),
        "clEnqueueReadBuffer");
}

weft_status weft_plan_read(weft_plan *plan, weft_tensor *output, void *data, size_t bytes) {
    WI_TRY(read_output(plan, output, data, bytes, CL_TRUE));
    return wi_plan_check_faults(plan);
}

weft_status weft_plan_read_async(weft_plan *plan, weft_tensor *output, void *data, size_t bytes) {
    return read_output(plan, output, data, bytes, CL_FALSE);
}

weft_status weft_plan_memory(weft_plan *plan, weft_tensor *output, struct _cl_mem **memory, size_t *offset) {
    if (!plan || !output || !memory || !offset)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_plan_memory: plan, output, memory or offset is NULL");
    for (size_t i = 0; i < plan->output_count; i++) {
        if (plan->outputs[i] != output || plan->output_values[i] < 0) continue;
        *memory = memory_of(plan, &plan->values[plan->output_values[i]], offset);
        return WEFT_OK;
    }
    WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_plan_memory: the tensor is not among the plan's outputs");
}

/* ---- the embedder's memory ---- */

static weft_status check_memory(const wi_storage *storage, cl_mem memory, size_t offset, size_t element) {
    size_t size = 0;
    WI_TRY(wi_cl_check(clGetMemObjectInfo(memory, CL_MEM_SIZE, sizeof size, &size, NULL), "weft_plan_bind"));
    if (offset % element != 0 || offset > size || size - offset < storage->bytes)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_plan_bind: %zu bytes at offset %zu do not fit into a buffer of %zu, or the "
            "offset is no multiple of %zu",
            storage->bytes, offset, size, element);
    return WEFT_OK;
}

static weft_status rebind(weft_plan *plan, int storage, size_t offset) {
    const cl_mem memory = plan->storages[storage].memory;
    for (size_t i = 0; i < plan->launch_count; i++) {
        const wi_plan_launch *launch = &plan->launches[i];
        for (int k = 0; k < launch->bound_count; k++) {
            const wi_bound_argument *argument = &launch->bound[k];
            if (argument->which != storage) continue;
            const cl_uint index = (cl_uint)argument->index;
            if (argument->kind == WI_ARGUMENT_BUFFER) {
                WI_CL(clSetKernelArg(launch->launch.kernel, index, sizeof memory, &memory), "clSetKernelArg");
            } else {
                const cl_long at = argument->elements + (cl_long)(offset / argument->size);
                WI_CL(clSetKernelArg(launch->launch.kernel, index, sizeof at, &at), "clSetKernelArg");
            }
        }
    }
    return WEFT_OK;
}

weft_status weft_plan_bind(weft_plan *plan, weft_tensor *input, struct _cl_mem *memory, size_t offset) {
    if (!plan || !input) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_plan_bind: plan or input is NULL");
    const wi_value *value =
        input->graph == plan->graph && input->op == &wi_op_input ? wi_plan_value(plan, input) : NULL;
    if (!value)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_plan_bind: %s '%s' is not among the plan's inputs",
            input->op->name, weft_tensor_name(input));
    wi_storage *storage = &plan->storages[value->storage];
    if (memory) WI_TRY(check_memory(storage, memory, offset, weft_dtype_size(input->dtype)));
    if (memory) WI_CL(clRetainMemObject(memory), "clRetainMemObject");
    if (storage->memory != storage->buffer.memory) clReleaseMemObject(storage->memory);
    storage->memory = memory ? memory : storage->buffer.memory;
    storage->offset = memory ? offset : 0;
    return rebind(plan, value->storage, storage->offset);
}
