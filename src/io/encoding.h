/* Encodings: what the numbers of a column stand for. Categories are texts, numbered from 0; other numbers were
 * normalised.
 *
 * An encoding does not change, and lives in the arena in which it was created. Datasets have encodings of their columns.
 * A graph keeps the encodings of the columns that it was trained with, by name, so that later datasets can be compared
 * with them. Checkpoints contain the encodings of the graph. */
#ifndef WI_ENCODING_H
#define WI_ENCODING_H

#include "base/memory.h"
#include <weft/graph.h>

typedef enum wi_encoding_kind { WI_CATEGORIES = 1, WI_PIXELS, WI_NORMALISED } wi_encoding_kind;

typedef struct weft_encoding {
    wi_encoding_kind kind;
    size_t count;                   /* number of categories, of channels of pixels, or of normalised fields */
    const char *const *texts;       /* of categories */
    const double *mean, *deviation; /* of channels or fields: a number is (x - mean) / deviation */
    int64_t height, width;          /* of images; otherwise 0 */
} weft_encoding;

/* Deep copy; NULL: out of memory. */
const weft_encoding *wi_encoding_copy(wi_arena *arena, const weft_encoding *encoding);
bool wi_encoding_equal(const weft_encoding *a, const weft_encoding *b);
/* WEFT_ERROR_ARGUMENT: the encodings differ; the line says how. name: of the column. trained: the graph's encoding. */
weft_status wi_encoding_check(const char *name, const weft_encoding *given, const weft_encoding *trained);

/* ---- as text, which is UTF-8 and has no NUL ---- */

void wi_encoding_write(wi_text *text, const weft_encoding *encoding);
/* NULL: the text is no encoding, or there is not enough memory. */
const weft_encoding *wi_encoding_read(wi_arena *arena, const char *text);
/* Writes a name in which bytes that are not UTF-8 become \xHH, and reads it again; NULL: out of memory. */
void wi_encoding_write_name(wi_text *text, const char *name);
const char *wi_encoding_read_name(wi_arena *arena, const char *text);

/* ---- encodings of a graph ---- */

typedef struct wi_named_encoding {
    const char *name;
    const weft_encoding *encoding; /* NULL: not known */
} wi_named_encoding;

/* The encoding of a column; NULL: not known. Valid until the next wi_graph_encodings_set. */
const weft_encoding *wi_graph_encoding(const weft_graph *graph, const char *name);
/* The encodings of all columns. */
const wi_named_encoding *wi_graph_encodings(const weft_graph *graph, size_t *count);
/* A number that changes with each wi_graph_encodings_set. */
uint64_t wi_graph_encodings_version(const weft_graph *graph);
/* Copies the encodings of the list, which replace those of the same names. WEFT_ERROR_MEMORY: nothing has changed. */
weft_status wi_graph_encodings_set(weft_graph *graph, const wi_named_encoding *named, size_t count);

#endif
