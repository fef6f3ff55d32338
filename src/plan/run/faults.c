/* Faults: errors in the data that kernels report. */
#include "cl/driver.h"
#include "cl/waiting.h"
#include "graph/origin.h"
#include "plan/compiled_plan.h"

enum { FAULTS_READ = 64 };

/* A slot is 0 without a fault. Otherwise it is INT_MAX minus the lowest position with a fault, or an invalid label. */
static weft_status fail_of_node(const weft_tensor *node, cl_int noted) {
    if (node->op->fail_label) return node->op->fail_label(node, noted);
    WI_FAIL(WEFT_ERROR_ARGUMENT, "%s: %s, first at position %d %s", node->op->name, node->op->fault,
        INT32_MAX - noted, node->op->fault_index ? node->op->fault_index : "(row-major) of its index input");
}

static weft_status fail_at_origin(const weft_tensor *node, cl_int noted) {
    char origin[WI_ORIGIN_TEXT];
    const weft_status status = fail_of_node(node, noted);
    wi_error_add(wi_origin_print(node->graph, node->origin, weft_last_error(), origin));
    return status;
}

static weft_status fail_of(const weft_plan *plan, const cl_int *slots, int first, int count) {
    for (size_t i = 0; i < plan->partition.value_count; i++) {
        const wi_value *const value = &plan->partition.values[i];
        if (value->fault < first || value->fault >= first + count || slots[value->fault - first] == 0)
            continue;
        return fail_at_origin(value->node, slots[value->fault - first]);
    }
    return WEFT_OK;
}

weft_status wi_plan_check_device_faults(weft_plan *plan, int index) {
    const wi_partition *p = &plan->partition;
    wi_device *const device = plan->request.devices.of[index];
    if (p->faults[index] < 0) return WEFT_OK;
    const wi_location at = wi_locate_place(&plan->memory, p->faults[index]);
    const int count_all = (int)(p->storages[p->faults[index]].bytes / sizeof(cl_int));
    weft_status status = WEFT_OK;
    for (int first = 0; first < count_all && status == WEFT_OK; first += FAULTS_READ) {
        cl_int slots[FAULTS_READ];
        const int left = count_all - first, count = left < FAULTS_READ ? left : FAULTS_READ;
        WI_TRY(wi_wait_for_queue(device, device->queue));
        WI_CL(
            clEnqueueReadBuffer(device->queue, at.memory, CL_TRUE, at.offset + (size_t)first * sizeof(cl_int),
                (size_t)count * sizeof(cl_int), slots, 0, NULL, NULL),
            "clEnqueueReadBuffer");
        status = fail_of(plan, slots, first, count);
    }
    if (status != WEFT_OK)
        WI_TRY(wi_buffer_fill_zero(device, at.memory, at.offset, p->storages[p->faults[index]].bytes));
    return status;
}
