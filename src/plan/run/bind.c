/* Memory that a plan shares with the embedding program (weft_plan_memory, weft_plan_bind). */
#include "cl/driver.h"
#include "cl/opened_device.h"
#include "plan/run/plan_tensors.h"

static weft_status rebind_launch(const wi_plan_launch *launch, int place, const wi_place_memory *own) {
    const cl_kernel kernel = launch->launch.kernel;
    for (int k = 0; k < launch->bound_count; k++) {
        const wi_bound_argument *argument = &launch->bound[k];
        if (argument->which != place) continue;
        const cl_uint index = (cl_uint)argument->index;
        if (argument->kind == WI_ARGUMENT_BUFFER) {
            WI_CL(clSetKernelArg(kernel, index, sizeof own->memory, &own->memory), "clSetKernelArg");
        } else {
            const cl_long at = argument->elements + (cl_long)(own->offset / argument->size);
            WI_CL(clSetKernelArg(kernel, index, sizeof at, &at), "clSetKernelArg");
        }
    }
    return WEFT_OK;
}

/* Sets the kernel arguments again after an input was bound to other memory. */
weft_status wi_plan_rebind(weft_plan *plan, int place) {
    for (size_t i = 0; i < plan->launches.count; i++)
        WI_TRY(rebind_launch(&plan->launches.launches[i], place, &plan->memory.of[place]));
    return WEFT_OK;
}

/* ---- the plan's memory ---- */

/* The program gets the address of the value's memory. If this is the memory of an input, later writes to the input go to this memory and
 * not to the spare buffer. */
static void show_memory(weft_plan *plan, const wi_value *value) {
    const wi_location at =
        wi_locate_value(&plan->memory, &plan->runs.end, (int)(value - plan->partition.values));
    if (at.input >= 0) plan->memory.of[at.input].is_shown = true;
}

weft_status weft_plan_memory(weft_plan *plan, weft_tensor *output, struct _cl_mem **memory, size_t *offset) {
    if (!plan || !output || !memory || !offset)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_plan_memory: plan, output, memory or offset is NULL");
    const wi_value *value;
    WI_TRY(wi_plan_find_value(plan, "weft_plan_memory", output, true, &value));
    *memory = wi_plan_memory_of(plan, value, offset);
    show_memory(plan, value);
    /* The embedding program may write to the input's memory without calling Weft. */
    if (output->op == &wi_op_input) plan->memory.of[value->storage].written = true;
    return WEFT_OK;
}

/* ---- memory of the embedder ---- */

/* A buffer of another cl_context must be refused here: PoCL's clSetKernelArg accepts such a buffer. */
static weft_status check_memory(cl_context cl, size_t bytes, cl_mem memory, size_t offset, size_t element) {
    size_t size = 0;
    cl_context owner = NULL;
    WI_TRY(wi_cl_check(clGetMemObjectInfo(memory, CL_MEM_SIZE, sizeof size, &size, NULL), "weft_plan_bind"));
    WI_TRY(wi_cl_check(
        clGetMemObjectInfo(memory, CL_MEM_CONTEXT, sizeof owner, &owner, NULL), "weft_plan_bind"));
    if (owner != cl)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_plan_bind: the buffer belongs to another cl_context than the plan; give this cl_context to "
            "weft_context_create as the option cl_context, or copy the data by weft_plan_write");
    if (offset % element != 0 || offset > size || size - offset < bytes)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_plan_bind: %zu bytes at offset %zu do not fit into a buffer of %zu, or the "
            "offset is not a multiple of %zu",
            bytes, offset, size, element);
    return WEFT_OK;
}

weft_status weft_plan_bind(weft_plan *plan, weft_tensor *input, struct _cl_mem *memory, size_t offset) {
    if (!plan || !input) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_plan_bind: plan or input is NULL");
    const wi_value *value;
    WI_TRY(wi_plan_find_value(plan, "weft_plan_bind", input, false, &value));
    const size_t bytes = plan->placement.places[value->storage].bytes;
    wi_place_memory *own = &plan->memory.of[value->storage];
    if (memory)
        WI_TRY(check_memory(
            wi_plan_device_of(plan, value)->cl, bytes, memory, offset, weft_dtype_size(input->dtype)));
    if (memory) WI_CL(clRetainMemObject(memory), "clRetainMemObject");
    if (own->memory != own->buffer.memory) clReleaseMemObject(own->memory);
    own->memory = memory ? memory : own->buffer.memory;
    own->offset = memory ? offset : 0;
    plan->inputs_known = false;
    return wi_plan_rebind(plan, value->storage);
}
