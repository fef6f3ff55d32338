/* Host memory: the allocator hooks, an arena, a growing string.
 *
 * All host allocations of the library use these functions, with the context's allocator (NULL: malloc). A function that
 * runs out of memory records the error's message and returns NULL or WEFT_ERROR_MEMORY; wi_text_append sets `failed`. */
#ifndef WI_MEMORY_H
#define WI_MEMORY_H

#include "base/status.h"

/* Returns zeroed memory. */
void *wi_allocate(const weft_allocator *allocator, size_t bytes);
void *wi_allocate_array(const weft_allocator *allocator, size_t count, size_t size); /* overflow checked */
void *wi_reallocate(const weft_allocator *allocator, void *block, size_t bytes); /* growth is not zeroed */
void wi_release(const weft_allocator *allocator, void *block);
char *wi_copy_string(const weft_allocator *allocator, const char *text);

/* An arena hands out zeroed memory, aligned to 16 bytes, which is valid until wi_arena_clear. */
typedef struct wi_arena {
    const weft_allocator *allocator;
    struct wi_arena_block *blocks;
    size_t bytes; /* handed out since the last wi_arena_clear */
} wi_arena;

void wi_arena_init(wi_arena *arena, const weft_allocator *allocator);
void *wi_arena_take(wi_arena *arena, size_t bytes);
char *wi_arena_string(wi_arena *arena, const char *text);
void wi_arena_clear(wi_arena *arena); /* frees all memory of the arena, which may then be used again */

/* A growing string, always NUL-terminated. After an append that found no memory, `failed` stays set and later appends
 * do nothing, so that the caller checks `failed` once, at the end. */
typedef struct wi_text {
    const weft_allocator *allocator;
    char *data; /* NULL until the first append */
    size_t length, capacity;
    bool failed;
} wi_text;

void wi_text_init(wi_text *text, const weft_allocator *allocator);
void wi_text_append(wi_text *text, const char *format, ...) WI_PRINTF(2, 3);
void wi_text_append_bytes(wi_text *text, const char *bytes, size_t length);
void wi_text_clear(wi_text *text);
/* Copies the text to the caller's buffer of `capacity` bytes; a longer text is truncated, and a NUL always ends it.
 * *length (may be NULL): bytes of the whole text. WEFT_ERROR_MEMORY if the text has failed. */
weft_status wi_text_deliver(const wi_text *text, char *buffer, size_t capacity, size_t *length);

/* Reallocates the array *items, of items of item_size bytes, if it has room for fewer than `count` items. *capacity, a
 * number of items, at least doubles. */
weft_status wi_grow(
    const weft_allocator *allocator, void **items, size_t *capacity, size_t count, size_t item_size);

#endif
