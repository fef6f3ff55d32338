/* Device memory of a plan: buffers for inputs and for the arena. Variables are in memory of the graph. */
#include "cl/driver.h"
#include "cl/opened_device.h"
#include "graph/block_copies.h"
#include "plan/arrange/loads.h"
#include "plan/run/launches.h"
#include <stdio.h>
#include <string.h>

static weft_status allocate_place(wi_plan_memory *memory, size_t index) {
    const wi_placement *placement = memory->placement;
    const wi_request *request = placement->partition->request;
    const wi_place *place = &placement->places[index];
    wi_device *device = request->devices.of[place->device];
    wi_place_memory *own = &memory->of[index];
    if (place->kind == WI_STORAGE_INPUT) {
        WI_TRY(wi_buffer_create_for_plan(&own->buffer, device, place->bytes, &memory->shares[place->device]));
        own->memory = own->buffer.memory;
    } else if (place->kind == WI_STORAGE_BLOCK) {
        const size_t block = placement->partition->storages[index].block;
        WI_TRY(wi_block_memory_on(request->graph, block, device, &own->memory));
        own->is_user = !placement->partition->storages[index].on_host;
        request->graph->blocks[block].users += own->is_user;
    } else if (place->alias < 0) {
        own->memory = memory->chunks[place->chunk].memory;
        own->offset = place->offset;
        if (place->cleared) WI_TRY(wi_buffer_fill_zero(device, own->memory, own->offset, place->bytes));
    }
    return WEFT_OK;
}

size_t wi_missing_bytes(const wi_partition *p) {
    size_t missing = 0;
    for (size_t i = 0; i < p->storage_count; i++) {
        const wi_storage *storage = &p->storages[i];
        if (storage->kind == WI_STORAGE_BLOCK && !storage->on_host &&
            !wi_block_is_on(p->request->graph, storage->block, p->request->devices.of[0]))
            missing += storage->bytes;
    }
    return missing;
}

/* Checks the memory limit of each device. The memory of variables counts for device 0 only, which has all of them. */
static weft_status check_limits(const wi_placement *placement) {
    const wi_partition *p = placement->partition;
    const wi_plan_devices *devices = &p->request->devices;
    for (int d = 0; d < devices->count; d++) {
        const size_t own = placement->device_bytes[d] + (d == 0 ? wi_missing_bytes(p) : 0);
        char what[32] = "plan";
        if (d > 0) snprintf(what, sizeof what, "plan, on device %d,", d);
        WI_TRY(wi_buffer_check_limit(devices->of[d], own, what));
    }
    return WEFT_OK;
}

static wi_device *chunk_device(const wi_placement *placement, size_t chunk) {
    return placement->partition->request->devices.of[placement->chunk_device[chunk]];
}

/* ---- spare buffers of inputs: the next data is copied there while kernels read the first buffer ---- */

static wi_device *place_device(const wi_placement *placement, size_t index) {
    return placement->partition->request->devices.of[placement->places[index].device];
}

static bool has_spare(const wi_placement *placement, size_t index) {
    return placement->places[index].kind == WI_STORAGE_INPUT &&
           place_device(placement, index)->profile.upload_queue && place_device(placement, index)->uploads;
}

static bool fits_spare(const wi_placement *placement, size_t limit, size_t spare) {
    const size_t whole = placement->arena_bytes + placement->io_bytes;
    const wi_plan_devices *const devices = &placement->partition->request->devices;
    if (limit > 0 && (whole > limit || spare > limit - whole)) return false;
    for (int d = 0; d < devices->count; d++)
        if (spare > wi_buffer_available(devices->of[d])) return false;
    return true;
}

static void release_spares(wi_plan_memory *memory) {
    const wi_placement *const placement = memory->placement;
    for (size_t i = 0; memory->of && i < placement->place_count; i++) {
        wi_place_memory *const own = &memory->of[i];
        if (own->spare_left) clReleaseEvent(own->spare_left);
        own->spare_left = NULL;
        wi_buffer_release(&own->spare, place_device(placement, i));
    }
    memory->spare_bytes = 0;
}

static weft_status make_spares(wi_plan_memory *memory) {
    const wi_placement *const placement = memory->placement;
    for (size_t i = 0; i < placement->place_count; i++) {
        if (!has_spare(placement, i)) continue;
        WI_TRY(wi_buffer_create_for_plan(&memory->of[i].spare, place_device(placement, i),
            placement->places[i].bytes, &memory->shares[placement->places[i].device]));
        memory->spare_bytes += placement->places[i].bytes;
    }
    return WEFT_OK;
}

/* A plan works without spare buffers, so a failed allocation is not an error. */
static void allocate_spares(wi_plan_memory *memory, size_t limit) {
    const wi_placement *const placement = memory->placement;
    char error[WI_ERROR_LINE];
    wi_plan_share shares[WI_MAX_DEVICES];
    size_t bytes = 0;
    for (size_t i = 0; i < placement->place_count; i++)
        if (has_spare(placement, i)) bytes += placement->places[i].bytes;
    if (bytes == 0 || !fits_spare(placement, limit, bytes)) return;
    wi_error_save(error, sizeof error);
    memcpy(shares, memory->shares, sizeof shares);
    if (make_spares(memory) == WEFT_OK) return;
    wi_error_restore(error);
    memcpy(memory->shares, shares, sizeof shares); /* without the bytes of the spare buffers */
    release_spares(memory);
}

weft_status wi_plan_allocate(const wi_placement *placement, size_t limit, wi_plan_memory *memory) {
    const wi_partition *p = placement->partition;
    *memory = (wi_plan_memory){.placement = placement};
    WI_TRY(wi_move_host_blocks(p));
    WI_TRY(check_limits(placement));
    memory->of = wi_arena_take(p->request->arena, (placement->place_count + 1) * sizeof *memory->of);
    memory->chunks = wi_arena_take(p->request->arena, (placement->chunk_count + 1) * sizeof *memory->chunks);
    if (!memory->of || !memory->chunks) return WEFT_ERROR_MEMORY;
    for (int d = 0; d < p->request->devices.count; d++)
        wi_plan_share_begin(&memory->shares[d], p->request->devices.of[d]);
    for (size_t i = 0; i < placement->chunk_count; i++)
        WI_TRY(wi_buffer_create_for_plan(&memory->chunks[i], chunk_device(placement, i),
            placement->chunk_bytes[i], &memory->shares[placement->chunk_device[i]]));
    for (size_t i = 0; i < placement->place_count; i++) WI_TRY(allocate_place(memory, i));
    allocate_spares(memory, limit);
    return WEFT_OK;
}

static void leave_block(const wi_partition *p, size_t storage) {
    p->request->graph->blocks[p->storages[storage].block].users--;
}

void wi_plan_memory_clear(wi_plan_memory *memory) {
    const wi_placement *placement = memory->placement;
    if (placement) release_spares(memory);
    for (size_t i = 0; memory->of && i < placement->place_count; i++) {
        wi_place_memory *own = &memory->of[i];
        if (own->is_user) leave_block(placement->partition, i);
        if (placement->places[i].kind != WI_STORAGE_INPUT) continue;
        if (own->memory && own->memory != own->buffer.memory) clReleaseMemObject(own->memory);
        wi_buffer_release(
            &own->buffer, placement->partition->request->devices.of[placement->places[i].device]);
    }
    for (size_t i = 0; memory->chunks && i < placement->chunk_count; i++)
        wi_buffer_release(&memory->chunks[i], chunk_device(placement, i));
    const wi_plan_devices *const devices = placement ? &placement->partition->request->devices : NULL;
    for (int d = 0; devices && d < devices->count; d++)
        wi_plan_share_end(&memory->shares[d], devices->of[d], memory->created);
}

wi_location wi_locate_place(const wi_plan_memory *memory, int place) {
    size_t offset;
    const int root = wi_place_root(memory->placement, place, &offset);
    const wi_place_memory *own = &memory->of[root];
    const bool is_input = memory->placement->places[root].kind == WI_STORAGE_INPUT;
    return (wi_location){
        .memory = own->memory, .offset = own->offset + offset, .input = is_input ? root : -1};
}

wi_location wi_locate_value(const wi_plan_memory *memory, const wi_run *run, int value) {
    size_t offset;
    const int place = wi_place_of_value(memory->placement->runs, run, value, &offset);
    wi_location at = wi_locate_place(memory, place);
    at.offset += offset;
    return at;
}
