/* A CSV table in a file: RFC 4180 with a choice of separator; lines end with LF, CR LF or CR, empty lines are left out, a
 * UTF-8 byte order mark is skipped.
 *
 * The table is never in memory as a whole: wi_csv_open reads the file once and checks it, and walks read it again row by
 * row. For any bytes, wi_csv_open gives a table whose rows all have the same number of cells, or an error that names the
 * file and the line. */
#ifndef WI_CSV_H
#define WI_CSV_H

#include "base/data_file.h"
#include "base/names.h"

typedef struct wi_csv_options {
    char separator;
    bool header; /* the first row has the names of the fields */
    bool trim;   /* removes blanks around cells without quotes */
} wi_csv_options;

/* A row in memory. */
typedef struct wi_csv_row {
    char *text; /* the cells without quotes, as NUL-terminated strings one after the other */
    size_t capacity, cells;
    uint64_t offset, end;  /* in the file: of its first byte, and of the next row or an empty line */
    size_t line, end_line; /* from 1 */
} wi_csv_row;

typedef struct wi_csv {
    wi_csv_options options;
    wi_data_file file;
    size_t fields, rows; /* rows: of data, without the header */
    const char **names;  /* of the fields; NULL: no header */
    wi_name *sorted;     /* the names and their indices, by name */
    char *name_text;     /* what the names point to */
    uint64_t first;      /* offset of the data */
    size_t first_line;
} wi_csv;

/* Opens a table, and checks the whole file. After an error the table is clear. Errors: WEFT_ERROR_FILE,
 * WEFT_ERROR_FORMAT, WEFT_ERROR_MEMORY. */
weft_status wi_csv_open(
    wi_csv *table, const wi_file_rules *rules, const char *path, const wi_csv_options *options);
void wi_csv_clear(wi_csv *table);
/* The index of the field of this name; SIZE_MAX: there is none; SIZE_MAX - 1: more than one. */
size_t wi_csv_field(const wi_csv *table, const char *name);

/* Rows one after the other. A walk belongs to one thread; walks of several threads may read one table. */
typedef struct wi_csv_walk {
    const wi_csv *table;
    wi_file_window window;
    wi_csv_row row;
    const char **cells; /* of the current row, table->fields of them */
    size_t index;       /* of the current row */
    size_t step;        /* bytes that are read at once */
} wi_csv_walk;

/* Begins before row 0. The walk must be cleared, also after an error. */
weft_status wi_csv_walk_begin(wi_csv_walk *walk, const wi_csv *table);
/* Moves to the next row. *more: there is one. Errors: those of wi_csv_open, if the file has changed. */
weft_status wi_csv_walk_next(wi_csv_walk *walk, bool *more);
/* Moves to the row that begins at an offset, as row.offset of another walk said. */
weft_status wi_csv_walk_to(wi_csv_walk *walk, uint64_t offset);
void wi_csv_walk_clear(wi_csv_walk *walk);

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
