/* A map from sequences of words to pointers (contract in key_map.h). */
#include "base/key_map.h"
#include <string.h>
#include <xxhash.h>

enum { FIRST_BUCKETS = 64, FIRST_WORDS = 256 };

typedef struct wi_key_entry {
    struct wi_key_entry *next;
    void *value;
    uint64_t hash;
    size_t count;
    uint64_t words[];
} wi_key_entry;

wi_key_map *wi_key_map_new(wi_arena *arena) {
    wi_key_map *const map = wi_arena_take(arena, sizeof *map);
    if (map) map->arena = arena;
    return map;
}

/* ---- composing a key ---- */

void wi_key_begin(wi_key_map *map) {
    map->word_count = 0;
    map->failed = false;
}

/* Room for `count` more words of the key; NULL: out of memory. */
static uint64_t *take_words(wi_key_map *map, size_t count) {
    const size_t needed = map->word_count + count;
    if (needed > map->word_capacity) {
        const size_t twice = 2 * map->word_capacity, least = needed > FIRST_WORDS ? needed : FIRST_WORDS;
        const size_t capacity = twice > least ? twice : least;
        uint64_t *const wider = wi_arena_take(map->arena, capacity * sizeof *wider);
        if (!wider) {
            map->failed = true;
            return NULL;
        }
        if (map->word_count > 0) memcpy(wider, map->words, map->word_count * sizeof *wider);
        map->words = wider;
        map->word_capacity = capacity;
    }
    uint64_t *const words = map->words + map->word_count;
    map->word_count = needed;
    return words;
}

void wi_key_add(wi_key_map *map, uint64_t word) {
    uint64_t *const words = take_words(map, 1);
    if (words) *words = word;
}

void wi_key_add_address(wi_key_map *map, const void *address) {
    wi_key_add(map, (uint64_t)(uintptr_t)address);
}

void wi_key_add_bytes(wi_key_map *map, const void *bytes, size_t count) {
    const size_t whole = (count + sizeof(uint64_t) - 1) / sizeof(uint64_t);
    wi_key_add(map, count);
    uint64_t *const words = whole > 0 ? take_words(map, whole) : NULL;
    if (!words) return;
    words[whole - 1] = 0;
    memcpy(words, bytes, count);
}

/* ---- finding a key ---- */

static bool grow(wi_key_map *map) {
    if (map->count < map->bucket_count) return true;
    const size_t count = map->bucket_count ? 4 * map->bucket_count : FIRST_BUCKETS;
    wi_key_entry **const buckets = wi_arena_take(map->arena, count * sizeof(wi_key_entry *));
    if (!buckets) return false;
    for (size_t i = 0; i < map->bucket_count; i++) {
        for (wi_key_entry *entry = map->buckets[i], *next; entry; entry = next) {
            next = entry->next;
            entry->next = buckets[entry->hash % count];
            buckets[entry->hash % count] = entry;
        }
    }
    map->buckets = buckets;
    map->bucket_count = count;
    return true;
}

void **wi_key_end(wi_key_map *map) {
    const size_t bytes = map->word_count * sizeof *map->words;
    if (map->failed || !grow(map)) return NULL;
    const uint64_t hash = XXH3_64bits(map->words, bytes);
    wi_key_entry **const bucket = &map->buckets[hash % map->bucket_count];
    for (wi_key_entry *entry = *bucket; entry; entry = entry->next) {
        if (entry->hash == hash && entry->count == map->word_count &&
            memcmp(entry->words, map->words, bytes) == 0)
            return &entry->value;
    }
    wi_key_entry *const entry = wi_arena_take(map->arena, sizeof *entry + bytes);
    if (!entry) return NULL;
    *entry = (wi_key_entry){.next = *bucket, .hash = hash, .count = map->word_count};
    if (bytes > 0) memcpy(entry->words, map->words, bytes);
    *bucket = entry;
    map->count++;
    return &entry->value;
}
