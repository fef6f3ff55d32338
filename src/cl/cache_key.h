/* Keys of texts: of programs and their pieces, in memory and in the cache folder. */
#ifndef WI_CACHE_KEY_H
#define WI_CACHE_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct wi_cache_key {
    uint64_t high, low;
} wi_cache_key;

static inline bool wi_cache_key_equal(wi_cache_key a, wi_cache_key b) {
    return a.high == b.high && a.low == b.low;
}

/* The hash of a text (XXH3, 128 bits). */
wi_cache_key wi_text_key(const char *text, size_t length);

enum { WI_PIECE_NAME = 24 };
/* The beginning of the names of a piece's kernels (program.h). text: the hash of the piece's text. */
void wi_piece_name(char name[WI_PIECE_NAME], wi_cache_key text);

#endif
