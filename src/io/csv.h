/* A CSV table in memory: RFC 4180 with a choice of separator; lines end with LF, CR LF or CR, empty lines are
 * left out, a UTF-8 byte order mark is skipped.
 *
 * The file's own memory becomes the table: cells as NUL-terminated strings, one after the other, without
 * quotes. Whatever the bytes are, reading gives a table whose rows all have as many cells, or an error that
 * names the file and the row. */
#ifndef WI_CSV_H
#define WI_CSV_H

#include "base/names.h"
#include "base/platform.h"

typedef struct wi_csv_options {
    char separator;
    bool header; /* the first row holds names */
    bool trim;   /* blanks around cells without quotes go */
} wi_csv_options;

typedef struct wi_csv {
    const weft_allocator *allocator;
    const char *path; /* the caller's */
    char *bytes;
    size_t fields, rows; /* rows of data */
    const char **names;  /* of the fields; NULL: no header */
    wi_name *sorted;     /* the same */
    const char *first;   /* cell of row 0 */
    size_t *lines;       /* of each row, from 1 */
    size_t line_capacity;
} wi_csv;

/* path must outlive the table. A clear table after an error. */
weft_status wi_csv_read(
    wi_csv *table, const wi_file_rules *rules, const char *path, const wi_csv_options *options);
void wi_csv_clear(wi_csv *table);
/* Fills cells[fields] with the row that begins at `at` (table->first: row 0); returns where the next begins.
 */
const char *wi_csv_row(const wi_csv *table, const char *at, const char **cells);
/* Index of the field of that name; SIZE_MAX: none; SIZE_MAX - 1: more than one. */
size_t wi_csv_field(const wi_csv *table, const char *name);

/* ---- numbers; all within wi_locale_enter ---- */

/* How numbers are written. */
typedef struct wi_csv_form {
    char decimal;   /* 0: a point */
    char thousands; /* between groups of three digits, which need not be there; 0: none */
} wi_csv_form;

/* The number in a cell, blanks around it allowed, or inf. */
bool wi_csv_number(const wi_csv_form *form, const char *cell, double *value);
/* Digits and perhaps a sign, without a fraction or an exponent. */
bool wi_csv_is_whole(const wi_csv_form *form, const char *cell);
/* In which of the usual forms it is a number, a bit each; 0: none. */
enum { WI_CSV_FORMS = 7 };
unsigned wi_csv_forms_of(const char *cell);
/* Which options read numbers that are in all these forms; NULL: none do. */
const char *wi_csv_forms_hint(unsigned forms);
/* A number in one of the usual forms, with or without a sign of percent or currency. */
bool wi_csv_is_almost_number(const char *cell);
/* Nothing, blanks, or NA, N/A, NaN, null, None or ? in any case. */
bool wi_csv_is_missing(const char *cell);

#endif
