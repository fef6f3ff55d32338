/* Host memory (contract in memory.h). Nothing here is shared: an arena or a text belongs to one thread at a time. */
#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARENA_ALIGNMENT = 16, ARENA_BLOCK_BYTES = 16384, TEXT_FIRST_CAPACITY = 256 };

/* Requests for 0 bytes also return an address, so that NULL always means failure. */
static size_t at_least_one(size_t bytes) {
    return bytes > 0 ? bytes : 1;
}

static void *no_memory(size_t bytes) {
    wi_fail(WEFT_ERROR_MEMORY, "out of host memory: %zu bytes were requested", bytes);
    return NULL;
}

void *wi_allocate(const weft_allocator *allocator, size_t bytes) {
    const size_t size = at_least_one(bytes);
    void *block = NULL;
    if (allocator) {
        block = allocator->allocate(allocator->user, size);
        if (block) memset(block, 0, size);
    } else {
        block = calloc(1, size);
    }
    return block ? block : no_memory(bytes);
}

void *wi_allocate_array(const weft_allocator *allocator, size_t count, size_t size) {
    if (size != 0 && count > SIZE_MAX / size) {
        wi_fail(WEFT_ERROR_MEMORY, "out of host memory: %zu items of %zu bytes were requested", count, size);
        return NULL;
    }
    return wi_allocate(allocator, count * size);
}

void *wi_reallocate(const weft_allocator *allocator, void *block, size_t bytes) {
    const size_t size = at_least_one(bytes);
    void *grown = allocator ? allocator->reallocate(allocator->user, block, size) : realloc(block, size);
    return grown ? grown : no_memory(bytes);
}

void wi_release(const weft_allocator *allocator, void *block) {
    if (!block) return;
    if (allocator)
        allocator->release(allocator->user, block);
    else
        free(block);
}

char *wi_copy_string(const weft_allocator *allocator, const char *text) {
    const size_t bytes = strlen(text) + 1;
    char *copy = wi_allocate(allocator, bytes);
    if (copy) memcpy(copy, text, bytes);
    return copy;
}

/* The header of a block; the memory that the arena hands out follows it. The padding gives the header a size that keeps
 * this memory aligned. */
typedef struct wi_arena_block {
    union {
        struct {
            struct wi_arena_block *next;
            size_t used, capacity;
        };
        char padding[2 * ARENA_ALIGNMENT];
    };
} wi_arena_block;

_Static_assert(sizeof(wi_arena_block) % ARENA_ALIGNMENT == 0, "what follows the header is aligned");

void wi_arena_init(wi_arena *arena, const weft_allocator *allocator) {
    *arena = (wi_arena){.allocator = allocator};
}

static wi_arena_block *add_block(wi_arena *arena, size_t bytes) {
    const size_t capacity = bytes > ARENA_BLOCK_BYTES ? bytes : ARENA_BLOCK_BYTES;
    wi_arena_block *block = wi_allocate(arena->allocator, sizeof *block + capacity);
    if (!block) return NULL;
    block->capacity = capacity;
    block->next = arena->blocks;
    arena->blocks = block;
    return block;
}

static void *take(wi_arena *arena, size_t bytes, size_t alignment) {
    wi_arena_block *block = arena->blocks;
    size_t begin = block ? (block->used + alignment - 1) / alignment * alignment : 0;
    if (!block || begin > block->capacity || block->capacity - begin < bytes) {
        block = add_block(arena, bytes);
        begin = 0;
    }
    if (!block) return NULL;
    block->used = begin + bytes;
    arena->bytes += bytes;
    return (char *)(block + 1) + begin;
}

void *wi_arena_take(wi_arena *arena, size_t bytes) {
    if (bytes > SIZE_MAX - sizeof(wi_arena_block) - ARENA_ALIGNMENT) return no_memory(bytes);
    const size_t size = (at_least_one(bytes) + ARENA_ALIGNMENT - 1) / ARENA_ALIGNMENT * ARENA_ALIGNMENT;
    return take(arena, size, ARENA_ALIGNMENT);
}

char *wi_arena_string(wi_arena *arena, const char *text) {
    const size_t bytes = strlen(text) + 1;
    char *const copy = take(arena, bytes, 1);
    if (copy) memcpy(copy, text, bytes);
    return copy;
}

void wi_arena_clear(wi_arena *arena) {
    while (arena->blocks) {
        wi_arena_block *const next = arena->blocks->next;
        wi_release(arena->allocator, arena->blocks);
        arena->blocks = next;
    }
    arena->bytes = 0;
}

void wi_text_init(wi_text *text, const weft_allocator *allocator) {
    *text = (wi_text){.allocator = allocator};
}

/* Makes room for `more` bytes and the final NUL; false: out of memory. */
static bool reserve_text(wi_text *text, size_t more) {
    if (text->failed) return false;
    if (more >= SIZE_MAX / 2 - text->length) {
        no_memory(more);
        text->failed = true;
        return false;
    }
    const size_t needed = text->length + more + 1;
    if (needed <= text->capacity) return true;
    size_t capacity = text->capacity ? text->capacity : TEXT_FIRST_CAPACITY;
    while (capacity < needed) capacity *= 2;
    char *const data = wi_reallocate(text->allocator, text->data, capacity);
    if (!data) {
        text->failed = true;
        return false;
    }
    text->data = data;
    text->capacity = capacity;
    return true;
}

void wi_text_append_bytes(wi_text *text, const char *bytes, size_t length) {
    if (!reserve_text(text, length)) return;
    if (length > 0) memcpy(text->data + text->length, bytes, length);
    text->length += length;
    text->data[text->length] = '\0';
}

static void append_int(wi_text *text, int number) {
    char digits[12];
    char *first = digits + sizeof digits;
    unsigned rest = number < 0 ? 0u - (unsigned)number : (unsigned)number;
    do {
        *--first = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (number < 0) *--first = '-';
    wi_text_append_bytes(text, first, (size_t)(digits + sizeof digits - first));
}

/* Handles %s, %d, %c and %%, which are nearly all conversions of generated code, about ten times as fast as vsnprintf.
 * Returns false at the first other conversion; the caller then formats the whole text again. */
static bool append_simple(wi_text *text, const char *format, va_list *arguments) {
    for (const char *next; (next = strchr(format, '%')) != NULL; format = next + 2) {
        wi_text_append_bytes(text, format, (size_t)(next - format));
        if (next[1] == 's') {
            const char *const word = va_arg(*arguments, const char *);
            wi_text_append_bytes(text, word, strlen(word));
        } else if (next[1] == 'd') {
            append_int(text, va_arg(*arguments, int));
        } else if (next[1] == 'c') {
            const char letter = (char)va_arg(*arguments, int);
            wi_text_append_bytes(text, &letter, 1);
        } else if (next[1] == '%') {
            wi_text_append_bytes(text, next, 1);
        } else {
            return false;
        }
    }
    wi_text_append_bytes(text, format, strlen(format));
    return true;
}

static void append_formatted(wi_text *text, const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    const int length = vsnprintf(NULL, 0, format, arguments);
    if (length >= 0 && reserve_text(text, (size_t)length)) {
        vsnprintf(text->data + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    } else {
        text->failed = true;
    }
    va_end(again);
}

void wi_text_append(wi_text *text, const char *format, ...) {
    const size_t before = text->length;
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    if (!append_simple(text, format, &arguments)) {
        text->length = before;
        append_formatted(text, format, again);
    }
    va_end(again);
    va_end(arguments);
}

weft_status wi_text_deliver(const wi_text *text, char *buffer, size_t capacity, size_t *length) {
    if (text->failed) return WEFT_ERROR_MEMORY;
    if (length) *length = text->length;
    const size_t copied = text->length < capacity ? text->length : capacity ? capacity - 1 : 0;
    if (copied) memcpy(buffer, text->data, copied);
    if (capacity) buffer[copied] = '\0';
    return WEFT_OK;
}

void wi_text_clear(wi_text *text) {
    wi_release(text->allocator, text->data);
    wi_text_init(text, text->allocator);
}

weft_status wi_grow(
    const weft_allocator *allocator, void **items, size_t *capacity, size_t count, size_t item_size) {
    if (count <= *capacity) return WEFT_OK;
    size_t wanted = *capacity > 0 ? *capacity : 8;
    while (wanted < count) {
        if (wanted > SIZE_MAX / 2) WI_FAIL(WEFT_ERROR_MEMORY, "out of host memory: %zu items", count);
        wanted *= 2;
    }
    if (item_size != 0 && wanted > SIZE_MAX / item_size)
        WI_FAIL(WEFT_ERROR_MEMORY, "out of host memory: %zu items of %zu bytes", wanted, item_size);
    void *const grown = wi_reallocate(allocator, *items, wanted * item_size);
    if (!grown) return WEFT_ERROR_MEMORY;
    *items = grown;
    *capacity = wanted;
    return WEFT_OK;
}
