/* Copies between host and plan, and from one plan to another. */
#include "base/process.h"
#include "cl/device_copy.h"
#include "cl/driver.h"
#include "cl/uploads.h"
#include "cl/waiting.h"
#include "plan/run/plan_tensors.h"
#include <string.h>

/* ---- writing ---- */

static cl_command_queue queue_of(const weft_plan *plan, const wi_value *value) {
    return wi_plan_device_of(plan, value)->queue;
}

/* Makes the spare buffer the input's buffer and the old buffer the spare one. mark: an event after everything that was enqueued for the
 * old buffer. */
static void exchange_buffers(wi_place_memory *own, cl_event mark) {
    const wi_buffer old = own->buffer;
    if (own->spare_left) clReleaseEvent(own->spare_left);
    own->spare_left = mark;
    own->buffer = own->spare;
    own->spare = old;
    own->memory = own->buffer.memory;
}

/* Writes to the spare buffer on the upload queue. The spare buffer then becomes the input's memory; kernels of earlier runs read the old
 * buffer meanwhile. */
static weft_status write_to_spare(
    weft_plan *plan, const wi_value *value, const void *data, size_t bytes, bool wait) {
    wi_device *const device = wi_plan_device_of(plan, value);
    wi_place_memory *const own = &plan->memory.of[value->storage];
    cl_event mark;
    WI_TRY(wi_uploads_mark(device, &mark));
    const weft_status status = wi_upload(device, own->spare.memory, data, bytes, own->spare_left, wait);
    if (status != WEFT_OK) {
        clReleaseEvent(mark);
        return status;
    }
    exchange_buffers(own, mark);
    return wi_plan_rebind(plan, value->storage);
}

static bool is_beside(const wi_place_memory *own) {
    return own->spare.memory && !own->is_shown && own->memory == own->buffer.memory;
}

static weft_status write_part(
    weft_plan *plan, const wi_value *value, const void *data, size_t bytes, cl_bool wait) {
    wi_place_memory *const own = &plan->memory.of[value->storage];
    if (is_beside(own)) {
        WI_TRY(write_to_spare(plan, value, data, bytes, wait));
    } else {
        size_t offset;
        const cl_mem memory = wi_plan_memory_of(plan, value, &offset);
        if (wait) WI_TRY(wi_wait_for_queue(wi_plan_device_of(plan, value), queue_of(plan, value)));
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
    WI_TRY(wi_plan_check_host(plan, "weft_plan_write", input, false, data, bytes));
    WI_TRY(wi_process_check_driver());
    for (size_t i = 0; wi_plan_find_part(plan, input, false, i, &value, &own); i++, from += own)
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
    const cl_mem memory = wi_plan_memory_of(plan, value, &offset);
    if (wait) WI_TRY(wi_wait_for_queue(wi_plan_device_of(plan, value), queue_of(plan, value)));
    return wi_cl_check(
        clEnqueueReadBuffer(queue_of(plan, value), memory, wait, offset, bytes, data, 0, NULL, NULL),
        "clEnqueueReadBuffer");
}

static weft_status read_output(weft_plan *plan, weft_tensor *output, void *data, size_t bytes, cl_bool wait) {
    const wi_value *value;
    char *to = data;
    size_t own;
    WI_TRY(wi_plan_check_host(plan, "weft_plan_read", output, true, data, bytes));
    WI_TRY(wi_process_check_driver());
    for (size_t i = 0; wi_plan_find_part(plan, output, true, i, &value, &own); i++, to += own)
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

/* weft_plan_step does not write to the memory of an input, so const can be cast away. */
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
    wi_device_range range = {.device = wi_plan_device_of(plan, value)};
    range.memory = wi_plan_memory_of(plan, value, &range.offset);
    return range;
}

weft_status weft_plan_feed(weft_plan *plan, weft_tensor *input, weft_plan *from, weft_tensor *output) {
    const wi_value *to_value, *from_value;
    if (!plan || !input || !from || !output)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_plan_feed: plan, input, from or output is NULL");
    WI_TRY(wi_plan_find_value(from, "weft_plan_feed", output, true, &from_value));
    WI_TRY(wi_plan_find_value(plan, "weft_plan_feed", input, false, &to_value));
    if (input->dtype != output->dtype)
        WI_FAIL(WEFT_ERROR_DTYPE,
            "weft_plan_feed: input '%s' is %s, but the output is %s; weft_cast converts",
            weft_tensor_name(input), weft_dtype_name(input->dtype), weft_dtype_name(output->dtype));
    const size_t bytes = wi_value_bytes(from_value);
    const size_t own = (size_t)wi_extent_count(to_value->extent).actual * weft_dtype_size(input->dtype);
    WI_TRY(wi_plan_check_bytes(plan, "weft_plan_feed", input, own, bytes));
    if (from->run_count == 0)
        WI_FAIL(WEFT_ERROR_STATE, "weft_plan_feed: the plan of the output has not run yet");
    const wi_device_range to = range_of(plan, to_value), source = range_of(from, from_value);
    plan->memory.of[to_value->storage].written = true;
    if (to.memory == source.memory && to.offset == source.offset) return WEFT_OK;
    return wi_device_copy(&to, &source, bytes, NULL);
}
