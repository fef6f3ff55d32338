/* Copies between host and device, and the embedder's memory. */
#include "cl/device_copy.h"
#include "cl/driver.h"
#include "cl/uploads.h"
#include "cl/waiting.h"
#include "plan/compiled_plan.h"
#include <stdio.h>
#include <string.h>

/* ---- what stands for a tensor of the caller ---- */

/* The input itself, or another node in its place, or one for each micro-batch, in the order of their examples. NULL: there are no
 * more. */
static const weft_tensor *part_of_input(const weft_plan *plan, const weft_tensor *input, size_t part) {
    const wi_node_order *const order = &plan->order;
    bool cut = false;
    if (input->graph != plan->request.graph || input->op != &wi_op_input) return NULL;
    for (size_t i = 0; i < order->input_count; i++) {
        const weft_tensor *const made = order->inputs[i].made;
        if (order->inputs[i].given != input) continue;
        if (made->attributes->source.part == 0)
            input = made;
        else if ((cut = true) && part-- == 0)
            return made;
    }
    return cut || part > 0 ? NULL : input;
}

/* Of an output, the same. */
static const wi_value *part_of_output(const weft_plan *plan, const weft_tensor *output, size_t part) {
    const wi_node_order *const order = &plan->order;
    for (size_t i = 0; i < order->output_count; i++) {
        if (order->outputs[i] != output || plan->partition.output_values[i] < 0) continue;
        const size_t at = i + part;
        if (part > 0 && (at >= order->output_count || !order->follows || !order->follows[at])) return NULL;
        return &plan->partition.values[plan->partition.output_values[at]];
    }
    return NULL;
}

/* The next part's value and size; NULL for one that nothing reads. false: there is none. */
static bool find_part(const weft_plan *plan, const weft_tensor *tensor, bool output, size_t part,
    const wi_value **value, size_t *bytes) {
    const weft_tensor *const input = output ? NULL : part_of_input(plan, tensor, part);
    *value = output  ? part_of_output(plan, tensor, part)
             : input ? wi_value_of_node(&plan->partition, input)
                     : NULL;
    if (!*value && !input) return false;
    const wi_extent extent = *value ? *(*value)->extent : wi_extent_of(&input->shape, plan->request.batch);
    *bytes = (size_t)wi_extent_count(&extent).actual * weft_dtype_size(tensor->dtype);
    return true;
}

/* "input 'x'", or what it is and where it comes from. */
static const char *named(const weft_tensor *tensor, char text[WI_NODE_TEXT]) {
    if (!*weft_tensor_name(tensor)) return wi_node_print(tensor, text);
    snprintf(text, WI_NODE_TEXT, "%s '%.128s'", tensor->op->name, weft_tensor_name(tensor));
    return text;
}

static weft_status fail_unknown(const char *call, const weft_tensor *tensor, bool output) {
    char text[WI_NODE_TEXT];
    WI_FAIL(WEFT_ERROR_ARGUMENT, "%s: %s is not one of the plan's %s%s", call, named(tensor, text),
        output ? "outputs" : "inputs",
        output ? "; pass it to weft_plan_create as an output" : ": no output of the plan depends on it");
}

static weft_status check_bytes(
    const weft_plan *plan, const char *call, const weft_tensor *tensor, size_t own, size_t bytes) {
    char text[WI_NODE_TEXT];
    if (bytes != own)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "%s: %s has %zu bytes at batch %lld, but %zu were given", call,
            named(tensor, text), own, (long long)plan->request.batch, bytes);
    return WEFT_OK;
}

/* What the caller brings for an input or output of the plan. */
static weft_status check_host(const weft_plan *plan, const char *call, const weft_tensor *tensor, bool output,
    const void *data, size_t bytes) {
    if (plan && data && !tensor) return wi_fail_null(call, "the tensor");
    if (!plan || !data) WI_FAIL(WEFT_ERROR_ARGUMENT, "%s: plan, tensor or data is NULL", call);
    const wi_value *value;
    size_t own, all = 0;
    bool known = false;
    for (size_t i = 0; find_part(plan, tensor, output, i, &value, &own); i++) {
        known = known || value;
        all += own;
    }
    return known ? check_bytes(plan, call, tensor, all, bytes) : fail_unknown(call, tensor, output);
}

/* The one value behind an input or output, for calls that take or give its memory. */
static weft_status find_value(
    const weft_plan *plan, const char *call, const weft_tensor *tensor, bool output, const wi_value **value) {
    const wi_value *next;
    size_t bytes;
    char text[WI_NODE_TEXT];
    if (!find_part(plan, tensor, output, 0, value, &bytes) || !*value)
        return fail_unknown(call, tensor, output);
    if (find_part(plan, tensor, output, 1, &next, &bytes))
        WI_FAIL(WEFT_ERROR_UNSUPPORTED,
            "%s: %s is stored in several buffers, as it is larger than the device's largest buffer; use "
            "weft_plan_write or weft_plan_read",
            call, named(tensor, text));
    return WEFT_OK;
}

/* That the value's memory is on. */
static wi_device *device_of(const weft_plan *plan, const wi_value *value) {
    const wi_partition *p = &plan->partition;
    return plan->request.devices.of[p->storages[wi_base_storage(p, (int)(value - p->values))].device];
}

static cl_command_queue queue_of(const weft_plan *plan, const wi_value *value) {
    return device_of(plan, value)->queue;
}

static cl_mem memory_of(const weft_plan *plan, const wi_value *value, size_t *offset) {
    const wi_location at =
        wi_locate_value(&plan->memory, &plan->runs.end, (int)(value - plan->partition.values));
    *offset = at.offset + (size_t)value->layout->offset.actual * weft_dtype_size(value->format);
    return at.memory;
}

/* ---- writing ---- */

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

/* After an input's memory has become another. */
static weft_status rebind(weft_plan *plan, int place) {
    for (size_t i = 0; i < plan->launches.count; i++)
        WI_TRY(rebind_launch(&plan->launches.launches[i], place, &plan->memory.of[place]));
    return WEFT_OK;
}

/* All that was enqueued for the old memory stays behind the mark. */
static void exchange_buffers(wi_place_memory *own, cl_event mark) {
    const wi_buffer old = own->buffer;
    if (own->spare_left) clReleaseEvent(own->spare_left);
    own->spare_left = mark;
    own->buffer = own->spare;
    own->spare = old;
    own->memory = own->buffer.memory;
}

/* On the second queue, into the second buffer, which is the input's memory from then on: kernels of earlier runs read the
 * other one meanwhile. */
static weft_status write_beside(
    weft_plan *plan, const wi_value *value, const void *data, size_t bytes, bool wait) {
    wi_device *const device = device_of(plan, value);
    wi_place_memory *const own = &plan->memory.of[value->storage];
    cl_event mark;
    WI_TRY(wi_uploads_mark(device, &mark));
    const weft_status status = wi_upload(device, own->spare.memory, data, bytes, own->spare_left, wait);
    if (status != WEFT_OK) {
        clReleaseEvent(mark);
        return status;
    }
    exchange_buffers(own, mark);
    return rebind(plan, value->storage);
}

static bool is_beside(const wi_place_memory *own) {
    return own->spare.memory && !own->is_shown && own->memory == own->buffer.memory;
}

static weft_status write_part(
    weft_plan *plan, const wi_value *value, const void *data, size_t bytes, cl_bool wait) {
    wi_place_memory *const own = &plan->memory.of[value->storage];
    if (is_beside(own)) {
        WI_TRY(write_beside(plan, value, data, bytes, wait));
    } else {
        size_t offset;
        const cl_mem memory = memory_of(plan, value, &offset);
        if (wait) WI_TRY(wi_wait_for_queue(device_of(plan, value), queue_of(plan, value)));
        WI_CL(clEnqueueWriteBuffer(queue_of(plan, value), memory, wait, offset, bytes, data, 0, NULL, NULL),
            "clEnqueueWriteBuffer");
    }
    own->written = true;
    return WEFT_OK;
}

static weft_status write_input(
    weft_plan *plan, weft_tensor *input, const void *data, size_t bytes, cl_bool wait) {
    const wi_value *value;
    const char *from = data;
    size_t own;
    WI_TRY(check_host(plan, "weft_plan_write", input, false, data, bytes));
    WI_TRY(wi_plan_check_devices(plan));
    for (size_t i = 0; find_part(plan, input, false, i, &value, &own); i++, from += own)
        if (value) WI_TRY(write_part(plan, value, from, own, wait));
    return WEFT_OK;
}

weft_status weft_plan_write(weft_plan *plan, weft_tensor *input, const void *data, size_t bytes) {
    return write_input(plan, input, data, bytes, CL_TRUE);
}

weft_status weft_plan_write_async(weft_plan *plan, weft_tensor *input, const void *data, size_t bytes) {
    return write_input(plan, input, data, bytes, CL_FALSE);
}

static weft_status read_part(
    const weft_plan *plan, const wi_value *value, void *data, size_t bytes, cl_bool wait) {
    size_t offset;
    const cl_mem memory = memory_of(plan, value, &offset);
    if (wait) WI_TRY(wi_wait_for_queue(device_of(plan, value), queue_of(plan, value)));
    return wi_cl_check(
        clEnqueueReadBuffer(queue_of(plan, value), memory, wait, offset, bytes, data, 0, NULL, NULL),
        "clEnqueueReadBuffer");
}

static weft_status read_output(weft_plan *plan, weft_tensor *output, void *data, size_t bytes, cl_bool wait) {
    const wi_value *value;
    char *to = data;
    size_t own;
    WI_TRY(check_host(plan, "weft_plan_read", output, true, data, bytes));
    WI_TRY(wi_plan_check_devices(plan));
    for (size_t i = 0; find_part(plan, output, true, i, &value, &own); i++, to += own)
        WI_TRY(read_part(plan, value, to, own, wait));
    return WEFT_OK;
}

weft_status weft_plan_read(weft_plan *plan, weft_tensor *output, void *data, size_t bytes) {
    WI_TRY(read_output(plan, output, data, bytes, CL_TRUE));
    return wi_plan_check_faults(plan);
}

weft_status weft_plan_read_async(weft_plan *plan, weft_tensor *output, void *data, size_t bytes) {
    return read_output(plan, output, data, bytes, CL_FALSE);
}

/* Memory of an input is not written (weft_plan_step), so that its const may be dropped. */
weft_value weft_value_in(weft_tensor *input, const void *data, size_t bytes) {
    weft_value value = {.bytes = bytes};
    if (!input || input->op != &wi_op_input) return value;
    value.tensor = input;
    memcpy(&value.data, &data, sizeof data);
    return value;
}

weft_status weft_plan_step(weft_plan *plan, const weft_value *values, size_t count) {
    if (!plan || (count && !values)) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_plan_step: plan or values is NULL");
    for (size_t i = 0; i < count; i++) {
        const weft_value *v = &values[i];
        if (!v->tensor)
            WI_FAIL(WEFT_ERROR_ARGUMENT,
                "weft_plan_step: value %zu has no tensor: the tensor is NULL, or weft_value_in names an "
                "input that the graph does not have",
                i);
        if (v->tensor->op != &wi_op_input) continue;
        for (size_t k = 0; k < i; k++)
            if (values[k].tensor == v->tensor)
                WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_plan_step: values %zu and %zu are both for the input '%s'",
                    k, i, weft_tensor_name(v->tensor));
        WI_TRY(weft_plan_write(plan, v->tensor, v->data, v->bytes));
    }
    WI_TRY(weft_plan_run(plan));
    for (size_t i = 0; i < count; i++) {
        const weft_value *v = &values[i];
        if (v->tensor->op != &wi_op_input) WI_TRY(weft_plan_read(plan, v->tensor, v->data, v->bytes));
    }
    return WEFT_OK;
}

/* ---- from plan to plan ---- */

static wi_device_range range_of(const weft_plan *plan, const wi_value *value) {
    wi_device_range range = {.device = device_of(plan, value)};
    range.memory = memory_of(plan, value, &range.offset);
    return range;
}

weft_status weft_plan_feed(weft_plan *plan, weft_tensor *input, weft_plan *from, weft_tensor *output) {
    const wi_value *to_value, *from_value;
    if (!plan || !input || !from || !output)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_plan_feed: plan, input, from or output is NULL");
    WI_TRY(find_value(from, "weft_plan_feed", output, true, &from_value));
    WI_TRY(find_value(plan, "weft_plan_feed", input, false, &to_value));
    if (input->dtype != output->dtype)
        WI_FAIL(WEFT_ERROR_DTYPE,
            "weft_plan_feed: input '%s' is %s, but the output is %s; weft_cast converts",
            weft_tensor_name(input), weft_dtype_name(input->dtype), weft_dtype_name(output->dtype));
    const size_t bytes = wi_value_bytes(from_value);
    const size_t own = (size_t)wi_extent_count(to_value->extent).actual * weft_dtype_size(input->dtype);
    WI_TRY(check_bytes(plan, "weft_plan_feed", input, own, bytes));
    if (from->run_count == 0)
        WI_FAIL(WEFT_ERROR_STATE, "weft_plan_feed: the plan of the output has not run yet");
    const wi_device_range to = range_of(plan, to_value), source = range_of(from, from_value);
    plan->memory.of[to_value->storage].written = true;
    if (to.memory == source.memory && to.offset == source.offset) return WEFT_OK;
    return wi_device_copy(&to, &source, bytes, NULL);
}

/* Where an output lies in an input's memory, writes to the input leave it there from now on. */
static void show_memory(weft_plan *plan, const wi_value *value) {
    const wi_location at =
        wi_locate_value(&plan->memory, &plan->runs.end, (int)(value - plan->partition.values));
    if (at.input >= 0) plan->memory.of[at.input].is_shown = true;
}

weft_status weft_plan_memory(weft_plan *plan, weft_tensor *output, struct _cl_mem **memory, size_t *offset) {
    if (!plan || !output || !memory || !offset)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_plan_memory: plan, output, memory or offset is NULL");
    const wi_value *value;
    WI_TRY(find_value(plan, "weft_plan_memory", output, true, &value));
    *memory = memory_of(plan, value, offset);
    show_memory(plan, value);
    if (output->op == &wi_op_input) plan->memory.of[value->storage].written = true; /* it may be now */
    return WEFT_OK;
}

/* ---- the embedder's memory ---- */

static weft_status check_memory(size_t bytes, cl_mem memory, size_t offset, size_t element) {
    size_t size = 0;
    WI_TRY(wi_cl_check(clGetMemObjectInfo(memory, CL_MEM_SIZE, sizeof size, &size, NULL), "weft_plan_bind"));
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
    WI_TRY(find_value(plan, "weft_plan_bind", input, false, &value));
    const size_t bytes = plan->placement.places[value->storage].bytes;
    wi_place_memory *own = &plan->memory.of[value->storage];
    if (memory) WI_TRY(check_memory(bytes, memory, offset, weft_dtype_size(input->dtype)));
    if (memory) WI_CL(clRetainMemObject(memory), "clRetainMemObject");
    if (own->memory != own->buffer.memory) clReleaseMemObject(own->memory);
    own->memory = memory ? memory : own->buffer.memory;
    own->offset = memory ? offset : 0;
    plan->inputs_known = false;
    return rebind(plan, value->storage);
}
