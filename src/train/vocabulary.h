/* The inside of a vocabulary, and the division of texts into tokens. */
#ifndef WI_VOCABULARY_H
#define WI_VOCABULARY_H

#include "base/memory.h"
#include "cl/context.h"
#include <stdatomic.h>
#include <weft/text.h>

#define WI_END_OF_LINE "<eos>"

typedef struct wi_token {
    const char *text; /* NUL-terminated if the token is in a vocabulary, but not if it is in a text */
    size_t bytes;
} wi_token;

struct weft_vocabulary {
    weft_context *context;
    atomic_int references;
    wi_arena arena; /* texts */
    weft_text_level level;
    int32_t unknown; /* -1: none */
    wi_token *tokens;
    size_t count;
    int32_t *slots; /* hash table with open addressing: a token's number + 1, or 0 for a free slot */
    size_t slot_count;
};

/* Creates an empty vocabulary with one reference. */
weft_status wi_vocabulary_create(weft_vocabulary **vocabulary, weft_context *context, weft_text_level level);
/* Copies `count` tokens in the order of their numbers. WEFT_ERROR_FORMAT: a token occurs twice, or there are no tokens
 * or too many. */
weft_status wi_vocabulary_fill(weft_vocabulary *vocabulary, const wi_token *tokens, size_t count);
/* The token that stands for unknown ones at this level. */
wi_token wi_unknown_token(weft_text_level level);

/* A walk over a text, token by token. */
typedef struct wi_text_walk {
    weft_text_level level;
    const char *name; /* of the text, for errors */
    const char *text;
    size_t bytes, at;  /* at: the byte after the last token */
    size_t line;       /* of the last token, from 1 */
    size_t begin;      /* first byte of the last token */
    bool line_is_open; /* for words: the last token was not the end of a line */
} wi_text_walk;

wi_text_walk wi_text_walk_begin(weft_text_level level, const char *name, const char *text, size_t bytes);
/* false: there is no further token. */
bool wi_text_next(wi_text_walk *walk, wi_token *token);
/* WEFT_ERROR_FORMAT for an empty text, and for words that are not UTF-8, with byte and line. */
weft_status wi_text_check(weft_text_level level, const char *name, const char *text, size_t bytes);
/* *tokens: the numbers of all tokens of a text; the caller releases them with the vocabulary's allocator.
 * WEFT_ERROR_FORMAT: as wi_text_check, or an unknown token while the vocabulary has none for it. name: of the text, for
 * errors. */
weft_status wi_encode_all(const weft_vocabulary *vocabulary, const char *name, const char *text, size_t bytes,
    int32_t **tokens, size_t *count);

#endif
