/* The inside of a vocabulary, and the division of texts into tokens. */
#ifndef WI_VOCABULARY_H
#define WI_VOCABULARY_H

#include "base/data_file.h"
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

/* A text: of a file, or of memory. */
typedef struct wi_text_source {
    const wi_data_file *file;
    uint64_t begin;   /* of the text in the file, after a byte order mark */
    const char *name; /* for errors */
} wi_text_source;

/* Memory as a file, which is not closed. */
wi_data_file wi_text_in_memory(const weft_allocator *allocator, const char *text, size_t bytes);
/* Opens a text file. name: gets the path in quotes. The caller closes *file, also after an error. */
weft_status wi_text_open(
    wi_text_source *text, wi_data_file *file, char name[512], weft_context *context, const char *path);

/* A walk over a text, token by token. Offsets are those in the text. */
typedef struct wi_text_walk {
    weft_text_level level;
    const wi_text_source *text;
    wi_file_window window;
    size_t step;        /* bytes that are read at once */
    uint64_t at, begin; /* the byte after the last token, and its first byte */
    size_t line;        /* of the last token, from 1 */
    bool after_break;   /* the last token ended a line */
} wi_text_walk;

wi_text_walk wi_text_walk_begin(weft_text_level level, const wi_text_source *text);
/* *more: there is a further token, which is valid until the next call. Errors: those of wi_data_file_read. */
weft_status wi_text_next(wi_text_walk *walk, wi_token *token, bool *more);
/* wi_text_next, and its number in the vocabulary. WEFT_ERROR_FORMAT: an unknown token while the vocabulary has none for
 * it. */
weft_status wi_text_next_number(
    wi_text_walk *walk, const weft_vocabulary *vocabulary, int32_t *number, bool *more);
void wi_text_walk_clear(wi_text_walk *walk);
/* WEFT_ERROR_FORMAT for an empty text, and for words that are not UTF-8, with byte and line. */
weft_status wi_text_check(weft_text_level level, const wi_text_source *text);
/* *tokens: the numbers of all tokens of a text; the caller releases them with the vocabulary's allocator.
 * WEFT_ERROR_FORMAT: as wi_text_check and wi_text_next_number. */
weft_status wi_encode_all(
    const weft_vocabulary *vocabulary, const wi_text_source *text, int32_t **tokens, size_t *count);

#endif
