/* Finds the values and the memory of a plan's inputs and outputs (contract in plan_tensors.h). */
#include "plan/run/plan_tensors.h"
#include <stdio.h>

/* ---- values of inputs and outputs ---- */

/* The node that replaces the input (or the input itself), or the node of micro-batch number `part`. NULL: there are no more. */
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

/* The value of an output, or of its part or piece with this number. NULL: there are no more. */
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

bool wi_plan_find_part(const weft_plan *plan, const weft_tensor *tensor, bool output, size_t part,
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

/* For messages: "input 'x'", or a description of the tensor and its origin. */
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

weft_status wi_plan_check_bytes(
    const weft_plan *plan, const char *call, const weft_tensor *tensor, size_t expected, size_t bytes) {
    char text[WI_NODE_TEXT];
    if (bytes != expected)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "%s: %s has %zu bytes at batch %lld, but %zu were given", call,
            named(tensor, text), expected, (long long)plan->request.batch, bytes);
    return WEFT_OK;
}

weft_status wi_plan_check_host(const weft_plan *plan, const char *call, const weft_tensor *tensor,
    bool output, const void *data, size_t bytes) {
    if (plan && data && !tensor) return wi_fail_null(call, "the tensor");
    if (!plan || !data) WI_FAIL(WEFT_ERROR_ARGUMENT, "%s: plan, tensor or data is NULL", call);
    const wi_value *value;
    size_t part, all = 0;
    bool known = false;
    for (size_t i = 0; wi_plan_find_part(plan, tensor, output, i, &value, &part); i++) {
        known = known || value;
        all += part;
    }
    return known ? wi_plan_check_bytes(plan, call, tensor, all, bytes) : fail_unknown(call, tensor, output);
}

weft_status wi_plan_find_value(
    const weft_plan *plan, const char *call, const weft_tensor *tensor, bool output, const wi_value **value) {
    const wi_value *next;
    size_t bytes;
    char text[WI_NODE_TEXT];
    if (!wi_plan_find_part(plan, tensor, output, 0, value, &bytes) || !*value)
        return fail_unknown(call, tensor, output);
    if (wi_plan_find_part(plan, tensor, output, 1, &next, &bytes))
        WI_FAIL(WEFT_ERROR_UNSUPPORTED,
            "%s: %s is stored in several buffers, as it is larger than the device's largest buffer; use "
            "weft_plan_write or weft_plan_read",
            call, named(tensor, text));
    return WEFT_OK;
}

wi_device *wi_plan_device_of(const weft_plan *plan, const wi_value *value) {
    const wi_partition *p = &plan->partition;
    return plan->request.devices.of[p->storages[wi_base_storage(p, (int)(value - p->values))].device];
}

cl_mem wi_plan_memory_of(const weft_plan *plan, const wi_value *value, size_t *offset) {
    const wi_location at =
        wi_locate_value(&plan->memory, &plan->runs.end, (int)(value - plan->partition.values));
    *offset = at.offset + (size_t)value->layout->offset.actual * weft_dtype_size(value->format);
    return at.memory;
}
