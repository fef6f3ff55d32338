/* Reads during a run (contract in early_reads.h). */
#include "plan/run/early_reads.h"
#include "base/process.h"
#include "cl/driver.h"
#include "cl/waiting.h"
#include "plan/run/plan_tensors.h"
#include <limits.h>

/* ---- which run writes which bytes ---- */

typedef struct range {
    size_t first, end;
} range;

/* The range of bytes of its outermost storage that the value occupies. */
static range bytes_of(const wi_partition *p, int value) {
    const wi_span span = wi_span_of(&p->values[value]);
    const size_t size = weft_dtype_size(p->values[value].format);
    size_t first = (size_t)span.first * size;
    for (int s = wi_base_storage(p, value); p->storages[s].alias >= 0; s = p->storages[s].alias)
        first += p->storages[s].alias_offset;
    return (range){first, first + (size_t)(span.end - span.first) * size};
}

/* The last run of the step. */
static int last_run(const wi_materialised *runs, int step) {
    size_t i = runs->run_count;
    while (i-- > 0)
        if (runs->runs[i].step->index == step) return (int)i;
    return -1;
}

/* The last step that writes the bytes of this part of the output. */
static int last_step(const weft_plan *plan, const wi_value *part, size_t first, size_t end) {
    const wi_partition *const p = &plan->partition;
    const int own = (int)(part - p->values), storage = wi_whole_storage(p, own);
    const size_t begin = bytes_of(p, own).first;
    int last = -1;
    for (size_t i = 0; i < p->value_count; i++) {
        const wi_value *const value = &p->values[i];
        if (value->state != WI_VALUE_MEMBER || wi_whole_storage(p, (int)i) != storage) continue;
        const range of = bytes_of(p, (int)i);
        if (of.first < begin + end && begin + first < of.end && value->step > last) last = value->step;
    }
    return last;
}

/* Intersects a read with one part of the output, which begins at byte `at` of the output and has `bytes` bytes: the read wants the bytes
 * [*first, *end) of the part. False: it wants none. */
static bool cut(const wi_early_read *read, size_t at, size_t bytes, size_t *first, size_t *end) {
    const size_t last = read->first + read->bytes;
    if (last <= at || read->first >= at + bytes) return false;
    *first = read->first > at ? read->first - at : 0;
    *end = (last < at + bytes ? last : at + bytes) - at;
    return true;
}

static int find_last(const weft_plan *plan, const wi_early_read *read) {
    const wi_value *value;
    size_t bytes, at = 0, first, end;
    int last = -1;
    for (size_t i = 0; wi_plan_find_part(plan, read->output, true, i, &value, &bytes); i++, at += bytes) {
        if (!value || !cut(read, at, bytes, &first, &end)) continue;
        const int run = last_run(&plan->runs, last_step(plan, value, first, end));
        if (run > last) last = run;
    }
    return last;
}

void wi_early_reads_find(const weft_plan *plan, wi_early_reads *reads) {
    for (size_t i = 0; i < reads->count; i++) {
        reads->of[i].after = find_last(plan, &reads->of[i]);
        if (i > 0 && reads->of[i - 1].after > reads->of[i].after) reads->of[i].after = reads->of[i - 1].after;
    }
}

/* ---- a run ---- */

static weft_status enqueue_part(
    const weft_plan *plan, const wi_value *value, wi_early_read *read, size_t first, size_t bytes, void *to) {
    const wi_device *const device = wi_plan_device_of(plan, value);
    size_t offset;
    const cl_mem memory = wi_plan_memory_of(plan, value, &offset);
    if (read->event) clReleaseEvent(read->event);
    read->event = NULL;
    WI_CL(clEnqueueReadBuffer(
              device->queue, memory, CL_FALSE, offset + first, bytes, to, 0, NULL, &read->event),
        "clEnqueueReadBuffer");
    return wi_cl_check(clFlush(device->queue), "clFlush");
}

static weft_status enqueue(const weft_plan *plan, wi_early_read *read, unsigned char *to) {
    const wi_value *value;
    size_t bytes, at = 0, first, end;
    for (size_t i = 0; wi_plan_find_part(plan, read->output, true, i, &value, &bytes); i++, at += bytes) {
        if (!value || !cut(read, at, bytes, &first, &end)) continue;
        WI_TRY(enqueue_part(plan, value, read, first, end - first, to));
        to += end - first;
    }
    return WEFT_OK;
}

weft_status wi_early_reads_advance(weft_plan *plan, int run) {
    wi_early_reads *const reads = plan->reads;
    while (reads && reads->begun < reads->count && reads->of[reads->begun].after < run) {
        wi_early_read *const read = &reads->of[reads->begun++];
        WI_TRY(enqueue(plan, read, reads->memory + read->at));
    }
    return WEFT_OK;
}

weft_status wi_plan_run_reading(weft_plan *plan, wi_early_reads *reads, void *memory) {
    wi_early_reads_clear(reads);
    reads->memory = memory;
    plan->reads = reads;
    weft_status status = weft_plan_run(plan);
    if (status == WEFT_OK) status = wi_early_reads_advance(plan, INT_MAX);
    plan->reads = NULL;
    if (status != WEFT_OK) wi_plan_finish_after_error(plan);
    return status;
}

weft_status wi_early_read_test(wi_early_read *read, bool *done) {
    cl_int state = CL_COMPLETE;
    *done = true;
    if (!read->event) return WEFT_OK;
    WI_TRY(wi_process_check_driver());
    WI_CL(clGetEventInfo(read->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL),
        "clGetEventInfo");
    *done = state <= CL_COMPLETE;
    return state < 0 ? wi_cl_check(state, "the read of an output") : WEFT_OK;
}

weft_status wi_early_read_wait(const weft_plan *plan, wi_early_read *read) {
    if (!read->event) return WEFT_OK;
    WI_TRY(wi_process_check_driver());
    return wi_wait_for_events(plan->request.devices.of[0], 1, &read->event, "the read of an output");
}

void wi_early_reads_clear(wi_early_reads *reads) {
    for (size_t i = 0; i < reads->begun; i++) {
        if (reads->of[i].event) clReleaseEvent(reads->of[i].event);
        reads->of[i].event = NULL;
    }
    reads->begun = 0;
}
