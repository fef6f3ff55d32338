/* The index of pieces (contract in piece_index.h): an array, searched from its end. */
#include "cl/piece_index.h"
#include "base/memory.h"

#include <string.h>

enum { MOST_ON_DISK = 4096 }; /* pieces in the entry on disk, the latest ones; 128 KiB */

static wi_piece_place *find(const wi_piece_index *index, wi_cache_key piece) {
    for (size_t i = index->count; i-- > 0;) {
        if (wi_cache_key_equal(index->places[i].piece, piece)) return &index->places[i];
    }
    return NULL;
}

static weft_status add(wi_piece_index *index, const wi_device *device, wi_piece_place place) {
    WI_TRY(wi_grow(device->host.allocator, (void **)&index->places, &index->capacity, index->count + 1,
        sizeof *index->places));
    index->places[index->count++] = place;
    return WEFT_OK;
}

static wi_cache_key own_key(const wi_device *device) {
    return wi_disk_cache_key(device, "pieces of programs", "");
}

void wi_piece_index_read(wi_piece_index *index, wi_device *device) {
    wi_cache_entry entry;
    if (wi_disk_cache_read(device, own_key(device), &entry) != WEFT_OK) return;
    const size_t count =
        entry.data && entry.kind == WI_CACHE_INDEX ? entry.bytes / sizeof(wi_piece_place) : 0;
    for (size_t i = 0; i < count; i++) {
        wi_piece_place place;
        memcpy(&place, entry.data + i * sizeof place, sizeof place);
        if (!find(index, place.piece) && add(index, device, place) != WEFT_OK) break;
    }
    wi_release(device->host.allocator, entry.data);
}

bool wi_piece_index_find(
    wi_piece_index *index, wi_device *device, wi_cache_key piece, wi_cache_key *program) {
    const wi_piece_place *place = find(index, piece);
    if (!place && !index->was_read) {
        index->was_read = true;
        wi_piece_index_read(index, device);
        place = find(index, piece);
    }
    if (place) *program = place->program;
    return place != NULL;
}

weft_status wi_piece_index_set(
    wi_piece_index *index, wi_device *device, wi_cache_key piece, wi_cache_key program) {
    wi_piece_place *const known = find(index, piece);
    index->changed = true;
    if (!known) return add(index, device, (wi_piece_place){piece, program});
    known->program = program;
    return WEFT_OK;
}

void wi_piece_index_forget(wi_piece_index *index, wi_cache_key program) {
    size_t kept = 0;
    for (size_t i = 0; i < index->count; i++) {
        if (!wi_cache_key_equal(index->places[i].program, program)) index->places[kept++] = index->places[i];
    }
    index->changed = index->changed || kept < index->count;
    index->count = kept;
}

void wi_piece_index_save(wi_piece_index *index, wi_device *device,
    bool (*is_there)(const wi_device *device, wi_cache_key program)) {
    if (!index->changed) return;
    wi_piece_index_read(index, device);
    wi_piece_place *const there = wi_allocate_array(device->host.allocator, index->count, sizeof *there);
    size_t count = 0;
    for (size_t i = index->count > MOST_ON_DISK ? index->count - MOST_ON_DISK : 0; there && i < index->count;
         i++) {
        if (is_there(device, index->places[i].program)) there[count++] = index->places[i];
    }
    if (count > 0)
        index->changed =
            !wi_disk_cache_write(device, own_key(device), WI_CACHE_INDEX, there, count * sizeof *there);
    wi_release(device->host.allocator, there);
}

void wi_piece_index_clear(wi_piece_index *index, wi_device *device) {
    wi_release(device->host.allocator, index->places);
    *index = (wi_piece_index){0};
}
