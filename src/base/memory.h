/* Host memory: the allocator hooks, an arena, a growing byte string.
 *
 * Every host allocation of the library goes through wi_allocate with the context's allocator (NULL: malloc).
 * All functions return NULL or false when out of memory and record the error line. */
#ifndef WI_MEMORY_H
#define WI_MEMORY_H

#include "base/status.h"

/* Zeroed memory; NULL with WEFT_ERROR_MEMORY recorded when there is none. */
void *wi_allocate(const weft_allocator *allocator, size_t bytes);
void *wi_allocate_array(const weft_allocator *allocator, size_t count, size_t size); /* overflow checked */
void *wi_reallocate(const weft_allocator *allocator, void *block, size_t bytes); /* growth is not zeroed */
void wi_release(const weft_allocator *allocator, void *block);
char *wi_copy_string(const weft_allocator *allocator, const char *text);

/* An arena hands out zeroed, 16-byte aligned memory that lives until the arena is cleared. */
typedef struct wi_arena {
    const weft_allocator *allocator;
    struct wi_arena_block *blocks;
    size_t bytes; /* handed out so far */
} wi_arena;

void wi_arena_init(wi_arena *arena, const weft_allocator *allocator);
void *wi_arena_take(wi_arena *arena, size_t bytes);
char *wi_arena_string(wi_arena *arena, const char *text);
void wi_arena_clear(wi_arena *arena); /* frees everything; the arena may be used again */

/* A growing, always NUL-terminated string. After a failed append `failed` stays set; check it once at the
 * end. */
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
/* Into a caller's buffer, NUL-terminated and cut at its capacity; *length (may be NULL) gets the whole
 * length. */
weft_status wi_text_deliver(const wi_text *text, char *buffer, size_t capacity, size_t *length);

/* Grows *items (of item_size bytes) so that it holds at least count; doubles. */
weft_status wi_grow(
    const weft_allocator *allocator, void **items, size_t *capacity, size_t count, size_t item_size);

#endif
