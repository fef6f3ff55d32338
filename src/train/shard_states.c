/* The states that the plan of the loss assigns (contract in shards.h). */
#include "cl/launch.h"
#include "graph/block_copies.h"
#include "train/shards.h"
#include <string.h>

static wi_device *device_of(const wi_shards *shards, size_t own) {
    return shards->part->graph->context->devices[shards->devices.of[own]];
}

/* Enqueues the reads of the states. others NULL: only the averaged states are read. */
static weft_status read_states(
    const wi_shards *shards, wi_device *device, float *averaged, unsigned char *others) {
    for (size_t i = 0; i < shards->state_count; i++) {
        const wi_shard_state *const state = &shards->states[i];
        if (!state->is_averaged && !others) continue;
        void *const to = state->is_averaged ? (void *)(averaged + state->at) : (void *)(others + state->at);
        WI_TRY(wi_variable_read_on(state->variable, device, to));
    }
    return WEFT_OK;
}

static weft_status write_states(
    const wi_shards *shards, wi_device *device, const float *averaged, const unsigned char *others) {
    for (size_t i = 0; i < shards->state_count; i++) {
        const wi_shard_state *const state = &shards->states[i];
        const void *const from =
            state->is_averaged ? (const void *)(averaged + state->at) : (const void *)(others + state->at);
        WI_TRY(wi_variable_write_on(state->variable, device, from));
    }
    return WEFT_OK;
}

/* States that are not averaged do not change if shard 0 has no examples. */
weft_status wi_shards_note_states(const wi_shards *shards) {
    wi_device *const device = shards->part->graph->context->devices[0];
    if (shards->state_count == 0) return WEFT_OK;
    WI_TRY(read_states(shards, device, shards->before, shards->others));
    WI_TRY(wi_queue_finish(device));
    memcpy(shards->others + shards->other_bytes, shards->others, shards->other_bytes);
    return WEFT_OK;
}

/* The first shard of each device needs no reset: the device has the states already (on further devices by wi_copies_update). */
weft_status wi_shards_begin_states(const wi_shards *shards, size_t own) {
    const bool is_first = wi_shard_devices_next(&shards->devices, shards->devices.of[own], 0) == own;
    wi_device *const device = device_of(shards, own);
    if (!is_first) WI_TRY(write_states(shards, device, shards->before, shards->others));
    return wi_shards_begin_carries(shards, device, shards->own.first + own);
}

weft_status wi_shards_end_states(const wi_shards *shards, size_t own, float *slot) {
    wi_device *const device = device_of(shards, own);
    unsigned char *const others = own == 0 ? shards->others + shards->other_bytes : NULL;
    if (slot) WI_TRY(read_states(shards, device, slot + shards->gradients, others));
    return wi_shards_end_carries(shards, device, shards->own.first + own);
}

weft_status wi_shards_finish_states(const wi_shards *shards, size_t examples, float *sums) {
    const size_t filled = examples < shards->count ? examples : shards->count;
    if (shards->state_count == 0) return WEFT_OK;
    for (size_t i = 0; i < shards->state_floats; i++) sums[i] /= (float)filled;
    if (shards->other_bytes && shards->group)
        WI_TRY(
            wi_group_broadcast(shards->group, shards->others + shards->other_bytes, shards->other_bytes, 0));
    return write_states(
        shards, shards->part->graph->context->devices[0], sums, shards->others + shards->other_bytes);
}
