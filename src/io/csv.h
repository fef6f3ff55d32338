/* A CSV table in memory: RFC 4180 with a choice of separator; lines end with LF, CR LF or CR, empty lines are
 * left out, a UTF-8 byte order mark is skipped.
 *
 * The memory of the file becomes the table: cells without quotes, as NUL-terminated strings one after the other. For
 * any bytes, reading gives a table whose rows all have the same number of cells, or an error that names the file and
 * the line. */
#ifndef WI_CSV_H
#define WI_CSV_H

#include "base/names.h"
#include "base/platform.h"

typedef struct wi_csv_options {
    char separator;
    bool header; /* the first row has the names of the fields */
    bool trim;   /* removes blanks around cells without quotes */
} wi_csv_options;

typedef struct wi_csv {
    const weft_allocator *allocator;
    const char *path; /* not copied */
    char *bytes;
    size_t fields, rows; /* rows: of data, without the header */
    const char **names;  /* of the fields; NULL: no header */
    wi_name *sorted;     /* the names and their indices, by name */
    const char *first;   /* first cell of row 0 */
    size_t *lines;       /* the line of each row in the file, from 1 */
    size_t line_capacity;
} wi_csv;

/* Reads a table. path must outlive the table. After an error the table is clear. Errors: WEFT_ERROR_FILE,
 * WEFT_ERROR_FORMAT, WEFT_ERROR_MEMORY. */
weft_status wi_csv_read(
    wi_csv *table, const wi_file_rules *rules, const char *path, const wi_csv_options *options);
void wi_csv_clear(wi_csv *table);
/* cells: the cells of the row that begins at `at` (table->first: row 0). Returns the beginning of the next row. */
const char *wi_csv_row(const wi_csv *table, const char *at, const char **cells);
/* The index of the field of this name; SIZE_MAX: there is none; SIZE_MAX - 1: more than one. */
size_t wi_csv_field(const wi_csv *table, const char *name);

/* ---- numbers: to be called between wi_locale_enter and wi_locale_leave ---- */

/* How numbers are written. */
typedef struct wi_csv_form {
    char decimal;   /* the mark before the fraction; 0: a point */
    char thousands; /* an optional mark between groups of three digits; 0: none */
} wi_csv_form;

/* Is the cell a number, or inf? Blanks around it are allowed. *value: the number. */
bool wi_csv_number(const wi_csv_form *form, const char *cell, double *value);
/* Is the cell digits, with or without a sign and thousands marks, but without fraction and exponent? */
bool wi_csv_is_whole(const wi_csv_form *form, const char *cell);
/* The usual forms in which the cell is a number, one bit each; 0: none. */
enum { WI_CSV_FORMS = 7 };
unsigned wi_csv_forms_of(const char *cell);
/* A text for errors: the options with which numbers of these forms can be read; NULL: there are none. */
const char *wi_csv_forms_hint(unsigned forms);
/* Is the cell a number in one of the usual forms, with or without a sign of percent or currency? */
bool wi_csv_is_almost_number(const char *cell);
/* Is the cell empty, blanks, or NA, N/A, NaN, null, None or ?, in upper or lower case? */
bool wi_csv_is_missing(const char *cell);

#endif
