/* Reading JSON (RFC 8259) in place, without allocating, and writing its strings. wi_json_check validates a text; the other functions walk
 * through a text that it has accepted. The check and a walk each take time linear in the text.
 *
 * Stricter than the RFC: texts and decoded strings are UTF-8 (no lone surrogates), and values are nested at most 64
 * deep. */
#ifndef WI_JSON_H
#define WI_JSON_H

#include "base/memory.h"

/* Whether the text is one value, with white space around it allowed. *at: offset of the first wrong byte, or `bytes` if
 * the text ends too early. */
bool wi_json_check(const char *text, size_t bytes, size_t *at);

typedef struct wi_json {
    char *at, *end;
} wi_json;

/* The first character of the next value or punctuation mark; 0 at the end of the text. */
char wi_json_peek(wi_json *json);
/* Moves to the first member or element of an object ('{') or array ('['). Returns false if the
 * object or array is empty, and moves past it; or if the next value does not begin with `opening`, and does not move.
 *     for (bool more = wi_json_enter(&json, '['); more; more = wi_json_more(&json)) takes or skips one value */
bool wi_json_enter(wi_json *json, char opening);
/* After a value: moves past the comma and returns true, or moves past the closing mark of the object or array and
 * returns false. */
bool wi_json_more(wi_json *json);
/* Decodes the string in place, and puts a NUL after its *bytes bytes; it may contain other NULs. The pointer is into
 * the text. NULL: the next value is not a string, and json does not move. */
char *wi_json_string(wi_json *json, size_t *bytes);
/* The name of a member; moves past its colon, too. */
char *wi_json_name(wi_json *json, size_t *bytes);
/* Reads an integer without fraction or exponent that fits in int64_t. False: the next value is not such an integer, and
 * json does not move. */
bool wi_json_integer(wi_json *json, int64_t *value);
void wi_json_skip(wi_json *json);
/* The number of members or elements of the next object or array, 0 for another value; json does not move. */
size_t wi_json_count(const wi_json *json);

/* Appends a string with its quotation marks. It must be UTF-8. */
void wi_json_append_string(wi_text *text, const char *string);

#endif
