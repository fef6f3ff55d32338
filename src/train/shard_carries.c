/* States that are carried from step to step, of which each gradient shard has a value of its own (contract in shards.h). */
#include "graph/block_copies.h"
#include "train/shards.h"
#include <string.h>

static weft_tensor *carried_by(weft_tensor *assignment) {
    weft_tensor *state = assignment->inputs[0];
    while (!state->variable) state = state->inputs[0]; /* of a view */
    return state;
}

/* All shards begin with the value that the state has now. */
static weft_status hold(weft_tensor *state, const weft_allocator *allocator, size_t shards) {
    wi_variable *const own = state->variable;
    own->whole = wi_allocate_array(allocator, shards, own->bytes);
    if (!own->whole) return WEFT_ERROR_MEMORY;
    own->whole_bytes = shards * own->bytes;
    WI_TRY(wi_variable_read(state, 0, own->whole, own->bytes));
    for (size_t s = 1; s < shards; s++) memcpy(own->whole + s * own->bytes, own->whole, own->bytes);
    return WEFT_OK;
}

static bool is_held(const wi_carries *carries, const weft_tensor *state) {
    for (size_t i = 0; i < carries->count; i++)
        if (carries->states[i] == state) return true;
    return false;
}

weft_status wi_carries_init(wi_carries *carries, const weft_allocator *allocator,
    weft_tensor *const *assignments, size_t count, size_t shards) {
    *carries = (wi_carries){.allocator = allocator};
    for (size_t i = 0; i < count; i++) {
        weft_tensor *const state = carried_by(assignments[i]);
        if (is_held(carries, state)) continue;
        if (state->variable->whole)
            WI_FAIL(WEFT_ERROR_STATE, "weft_trainer_create: another trainer with gradient shards carries a "
                                      "state of these carries: release that trainer first");
        carries->states[carries->count++] = state;
        WI_TRY(hold(state, allocator, shards));
    }
    return WEFT_OK;
}

void wi_carries_clear(wi_carries *carries) {
    for (size_t i = 0; i < carries->count; i++) {
        wi_variable *const own = carries->states[i]->variable;
        wi_release(carries->allocator, own->whole);
        own->whole = NULL;
        own->whole_bytes = 0;
    }
    *carries = (wi_carries){0};
}

weft_status wi_shards_begin_carries(const wi_shards *shards, wi_device *device, size_t shard) {
    for (size_t i = 0; shards->carries && i < shards->carries->count; i++) {
        const weft_tensor *const state = shards->carries->states[i];
        const wi_variable *const own = state->variable;
        WI_TRY(wi_variable_write_on(state, device, own->whole + shard * own->bytes));
    }
    return WEFT_OK;
}

weft_status wi_shards_end_carries(const wi_shards *shards, wi_device *device, size_t shard) {
    for (size_t i = 0; shards->carries && i < shards->carries->count; i++) {
        const weft_tensor *const state = shards->carries->states[i];
        const wi_variable *const own = state->variable;
        WI_TRY(wi_variable_read_on(state, device, own->whole + shard * own->bytes));
    }
    return WEFT_OK;
}

weft_status wi_shards_gather_carries(const wi_shards *shards) {
    const size_t ranks = weft_distributed_size(shards->group);
    for (size_t i = 0; shards->carries && ranks > 1 && i < shards->carries->count; i++) {
        const wi_variable *const own = shards->carries->states[i]->variable;
        for (size_t r = 0; r < ranks; r++) shards->bytes[r] = wi_shards_of_rank(shards, r).count * own->bytes;
        WI_TRY(wi_group_gather(
            shards->group, own->whole + shards->own.first * own->bytes, shards->bytes, own->whole));
    }
    return WEFT_OK;
}
