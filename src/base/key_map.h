/* What was found before under a key of words. A key is told word by word, after wi_key_begin; values are the caller's.
 * Everything lies in an arena, and lives as long as that. */
#ifndef WI_KEY_MAP_H
#define WI_KEY_MAP_H

#include "base/memory.h"
#include <stdint.h>

typedef struct wi_key_map {
    wi_arena *arena;
    struct wi_key_entry **buckets;
    size_t bucket_count, count;
    uint64_t *words; /* of the key that is being told */
    size_t word_count, word_capacity;
    bool failed; /* no memory for it */
} wi_key_map;

void wi_key_map_init(wi_key_map *map, wi_arena *arena);
void wi_key_begin(wi_key_map *map);
void wi_key_add(wi_key_map *map, uint64_t word);
void wi_key_add_address(wi_key_map *map, const void *address);
void wi_key_add_number(wi_key_map *map, double number); /* by its bits */
void wi_key_add_bytes(wi_key_map *map, const void *bytes, size_t count);
/* Where the value of the key is: NULL there when the key is new. NULL: out of memory. */
void **wi_key_end(wi_key_map *map);

#endif
