/* Copies weights to host memory and back (contract in snapshot.h). */
#include "io/snapshot.h"
#include "cl/context.h"
#include "graph/variable_names.h"

static bool is_kept(const wi_variable *variable) {
    return !variable->transient && (variable->trainable || *weft_tensor_name(variable->tensor));
}

static size_t kept_bytes(const weft_graph *graph) {
    size_t bytes = 0;
    for (size_t i = 0; i < graph->variable_count; i++)
        bytes += is_kept(graph->variables[i]) ? graph->variables[i]->bytes : 0;
    return bytes;
}

weft_status wi_snapshot_prepare(wi_snapshot *snapshot, weft_graph *graph) {
    const size_t bytes = kept_bytes(graph);
    snapshot->taken = false;
    if (snapshot->data && snapshot->bytes == bytes) return WEFT_OK;
    wi_snapshot_clear(snapshot);
    snapshot->data = wi_allocate(graph->context->allocator, bytes);
    if (!snapshot->data) return WEFT_ERROR_MEMORY;
    snapshot->graph = graph;
    snapshot->bytes = bytes;
    return WEFT_OK;
}

void wi_snapshot_clear(wi_snapshot *snapshot) {
    if (snapshot->graph) wi_release(snapshot->graph->context->allocator, snapshot->data);
    *snapshot = (wi_snapshot){0};
}

/* Calls `one` for each variable and its part of the memory. The loop ends at variables that were created after
 * wi_snapshot_prepare: they are the last of the graph, and the snapshot has no memory for them. */
static weft_status copy(
    const wi_snapshot *snapshot, weft_status (*one)(const wi_variable *, unsigned char *)) {
    size_t offset = 0;
    for (size_t i = 0; i < snapshot->graph->variable_count; i++) {
        const wi_variable *const variable = snapshot->graph->variables[i];
        if (!is_kept(variable)) continue;
        if (variable->bytes > snapshot->bytes - offset) break;
        WI_TRY(one(variable, snapshot->data + offset));
        offset += variable->bytes;
    }
    return WEFT_OK;
}

static weft_status take_one(const wi_variable *variable, unsigned char *data) {
    return weft_tensor_read(variable->tensor, data, variable->bytes);
}

static weft_status restore_one(const wi_variable *variable, unsigned char *data) {
    return weft_tensor_write(variable->tensor, data, variable->bytes);
}

weft_status wi_snapshot_take(wi_snapshot *snapshot) {
    snapshot->taken = false;
    WI_TRY(copy(snapshot, take_one));
    snapshot->taken = true;
    return WEFT_OK;
}

weft_status wi_snapshot_restore(const wi_snapshot *snapshot) {
    if (!snapshot->taken)
        WI_FAIL(WEFT_ERROR_STATE,
            "no best weights were kept; set early_stopping.keep_best or restore_best, and train an epoch");
    return copy(snapshot, restore_one);
}

weft_status wi_snapshot_list(const wi_snapshot *snapshot, wi_saved_list *list) {
    size_t offset = 0;
    for (size_t i = 0; i < snapshot->graph->variable_count; i++) {
        const wi_variable *const variable = snapshot->graph->variables[i];
        if (!is_kept(variable)) continue;
        if (variable->bytes > snapshot->bytes - offset) break;
        wi_saved_entry entry = wi_saved_entry_of(variable->tensor);
        entry.variable = NULL;
        entry.host = snapshot->data + offset;
        WI_TRY(wi_saved_list_add(list, WI_RESERVED_PREFIX "best.", &entry));
        offset += variable->bytes;
    }
    return WEFT_OK;
}
