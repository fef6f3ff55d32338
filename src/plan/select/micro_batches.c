/* The number of micro-batches that a plan needs (contract in micro_batches.h). order_micro_batches.c divides the nodes. */
#include "plan/select/micro_batches.h"
#include "cl/buffer.h"

#include "base/integers.h"
#include <stdio.h>

/* The largest memory of the plan that must fit in one buffer. */
typedef struct most {
    size_t bytes;
    const weft_tensor *node; /* stored there, or computed with this scratch memory */
    bool scratch;
} most;

/* Does the plan allocate the storage, rather than the graph or another storage? */
static bool is_ours(const wi_storage *storage) {
    return storage->alias < 0 && (storage->kind == WI_STORAGE_ARENA || storage->kind == WI_STORAGE_INPUT);
}

static most find_most(const wi_schedule *schedule) {
    const wi_partition *const p = schedule->loops->partition;
    most found = {0};
    for (size_t i = 0; i < p->value_count; i++) {
        const int storage = wi_base_storage(p, (int)i);
        if (storage < 0 || !is_ours(&p->storages[storage]) || p->storages[storage].bytes <= found.bytes)
            continue;
        found = (most){p->storages[storage].bytes, p->values[i].node, false};
    }
    for (size_t i = 0; i < p->step_count; i++) {
        const wi_step *const step = p->steps[i];
        const size_t bytes = schedule->of[step->index].scratch_bytes;
        if (bytes > found.bytes) found = (most){bytes, p->values[step->members[0]].node, true};
    }
    return found;
}

static weft_status fail(const wi_request *request, const most *found) {
    char what[WI_NODE_TEXT + 32], text[WI_NODE_TEXT];
    snprintf(what, sizeof what, "plan: %s%s", found->scratch ? "scratch memory of " : "",
        wi_node_print(found->node, text));
    return wi_buffer_check_largest(request->devices.of[0], found->bytes, what);
}

/* The number of micro-batches with which the memory would fit, if it grows in proportion to the examples of a micro-batch; 0: not even one
 * example fits. */
static int64_t count_for(const wi_request *request, size_t bytes, size_t largest) {
    const int64_t examples = wi_divide_up(request->batch, request->micro_batches);
    const int64_t fitting = (int64_t)((double)examples * ((double)largest / (double)bytes));
    return fitting > 0 ? wi_divide_up(request->batch, fitting) : 0;
}

weft_status wi_count_micro_batches(const wi_schedule *schedule, wi_micro_batches *m) {
    const wi_request *const request = schedule->loops->partition->request;
    const size_t largest = wi_buffer_largest(request->devices.of[0]);
    const most found = find_most(schedule);
    m->enough = found.bytes <= largest;
    if (m->enough) return WEFT_OK;
    if (found.scratch && m->most_scratch == 0) {
        m->most_scratch = largest;
        return WEFT_OK;
    }
    const int64_t count = count_for(request, found.bytes, largest);
    const bool may_cut = request->devices.count == 1 && !request->given.examples &&
                         count > request->micro_batches && (m->bytes == 0 || found.bytes < m->bytes);
    if (!may_cut) return fail(request, &found);
    m->bytes = found.bytes;
    m->count = count;
    return WEFT_OK;
}
