/* Reading JSON (RFC 8259) in the memory where it stands, without taking any: wi_json_check goes over a text once, a walk over a
 * checked text takes out what is wanted. Both take time linear in the text.
 *
 * Stricter than the RFC: a text is UTF-8, as are the strings in it (no lone surrogates), and is nested at most 64 deep. */
#ifndef WI_JSON_H
#define WI_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Is all of it one value, blanks around it allowed? *at: the first byte that is not of one. */
bool wi_json_check(const char *text, size_t bytes, size_t *at);

typedef struct wi_json {
    char *at, *end;
} wi_json;

/* The first character of the next value or mark; 0 at the end. */
char wi_json_peek(wi_json *json);
/* Enters an object or array; false, and nothing is passed over, if the value begins with another character.
 *     for (bool more = wi_json_enter(&json, '['); more; more = wi_json_more(&json)) takes or skips a value */
bool wi_json_enter(wi_json *json, char opening);
bool wi_json_more(wi_json *json);
/* A string, decoded where it stands and NUL-terminated; it may hold further NULs. NULL, and nothing is passed over, if the
 * value is no string. */
char *wi_json_string(wi_json *json, size_t *bytes);
/* The name of a member, and its colon. */
char *wi_json_name(wi_json *json, size_t *bytes);
/* An integer of int64_t, in digits alone; else false, and nothing is passed over. */
bool wi_json_integer(wi_json *json, int64_t *value);
void wi_json_skip(wi_json *json);
/* Members or elements of the object or array that comes next; it is not entered. */
size_t wi_json_count(const wi_json *json);

#endif
