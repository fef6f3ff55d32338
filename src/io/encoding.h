/* Encodings: what the numbers of a column stand for. Categories are texts, numbered from 0; other numbers were normalised.
 *
 * An encoding is not changed once it is made, and lives in the arena that it was made in. Datasets have encodings of their
 * columns. A graph keeps those of the columns that it was trained with, by name, so that datasets which it meets later are
 * compared with them; checkpoints have the graph's. */
#ifndef WI_ENCODING_H
#define WI_ENCODING_H

#include "base/memory.h"
#include <weft/graph.h>

typedef enum wi_encoding_kind { WI_CATEGORIES = 1, WI_PIXELS, WI_NORMALISED } wi_encoding_kind;

typedef struct weft_encoding {
    wi_encoding_kind kind;
    size_t count;                   /* of categories, channels of pixels, fields */
    const char *const *texts;       /* of categories */
    const double *mean, *deviation; /* of the others: a number is (x - mean) / deviation */
    int64_t height, width;          /* of images; else 0 */
} weft_encoding;

/* Deep copy; NULL: out of memory. */
const weft_encoding *wi_encoding_copy(wi_arena *arena, const weft_encoding *encoding);
bool wi_encoding_equal(const weft_encoding *a, const weft_encoding *b);
/* The number of a category; -1: there is none of this text. */
int32_t wi_encoding_find(const weft_encoding *categories, const char *text);
/* WEFT_OK if they are equal; else an error that says what differs. trained: what the graph was trained with. */
weft_status wi_encoding_check(const char *name, const weft_encoding *given, const weft_encoding *trained);

/* ---- as text, which is UTF-8 and has no NUL ---- */

void wi_encoding_write(wi_text *text, const weft_encoding *encoding);
/* NULL: not such a text, or out of memory. */
const weft_encoding *wi_encoding_read(wi_arena *arena, const char *text);
/* A name with what is not UTF-8 written as \xHH, and the way back. */
void wi_encoding_write_name(wi_text *text, const char *name);
const char *wi_encoding_read_name(wi_arena *arena, const char *text);

/* ---- of a graph ---- */

typedef struct wi_named_encoding {
    const char *name;
    const weft_encoding *encoding; /* NULL: not known */
} wi_named_encoding;

/* NULL: not known. Borrowed until the next change. */
const weft_encoding *wi_graph_encoding(const weft_graph *graph, const char *name);
/* All of them. */
const wi_named_encoding *wi_graph_encodings(const weft_graph *graph, size_t *count);
/* Another number after each change. */
uint64_t wi_graph_encodings_version(const weft_graph *graph);
/* Copies those of the list in place of those of the same names. Nothing has changed after an error. */
weft_status wi_graph_encodings_set(weft_graph *graph, const wi_named_encoding *named, size_t count);

#endif
