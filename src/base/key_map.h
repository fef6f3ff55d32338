/* A map from keys to pointers, to remember results that were computed before. A key is a sequence of 64-bit words:
 * wi_key_begin, then wi_key_add for each of its parts, then wi_key_end. The caller owns what the values point to. All
 * memory is from the arena, and is valid until the arena is cleared. */
#ifndef WI_KEY_MAP_H
#define WI_KEY_MAP_H

#include "base/memory.h"
#include <stdint.h>

typedef struct wi_key_map {
    wi_arena *arena;
    struct wi_key_entry **buckets;
    size_t bucket_count, count;
    uint64_t *words; /* of the key that is being composed */
    size_t word_count, word_capacity;
    bool failed; /* out of memory for this key */
} wi_key_map;

/* A new map, itself in the arena. NULL: out of memory. */
wi_key_map *wi_key_map_new(wi_arena *arena);
void wi_key_begin(wi_key_map *map);
void wi_key_add(wi_key_map *map, uint64_t word);
void wi_key_add_address(wi_key_map *map, const void *address);
void wi_key_add_bytes(wi_key_map *map, const void *bytes, size_t count);
/* Returns where the value of the key is stored. A new key gets the value NULL, which the caller replaces. NULL: out of
 * memory, also in a wi_key_add before. */
void **wi_key_end(wi_key_map *map);

#endif
