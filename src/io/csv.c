/* Reading CSV tables (contract in csv.h).
 *
 * The cells are written into the memory from which the file is read. A cell with its terminating NUL, but without
 * quotes, is never longer than the cell with its separator in the file, so that writing never overtakes reading. */
#include "io/csv.h"
#include "base/file_guess.h"
#include "base/text_file.h"
#include <string.h>

typedef struct scan {
    wi_csv *table;
    const wi_csv_options *options;
    const char *from, *end; /* from: the next byte to read; end: the NUL after the file */
    char *to;               /* where the next cell is written */
    size_t line;            /* of the file, from 1 */
    size_t row;             /* from 1, including the header */
} scan;

static weft_status bad_row(const scan *s, const char *what) {
    return wi_fail(WEFT_ERROR_FORMAT, "'%s': line %zu: %s", s->table->path, s->line, what);
}

static bool ends_line(const scan *s) {
    return s->from == s->end || *s->from == '\n' || *s->from == '\r';
}

static bool ends_cell(const scan *s) {
    return ends_line(s) || *s->from == s->options->separator;
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

static void skip_line_end(scan *s) {
    if (s->from == s->end) return;
    s->from += *s->from == '\r' && s->from + 1 < s->end && s->from[1] == '\n' ? 2 : 1;
    s->line++;
}

/* With the option trim, skips blanks that are not the separator. */
static void skip_blanks(scan *s) {
    while (s->options->trim && s->from < s->end && is_blank(*s->from) && *s->from != s->options->separator)
        s->from++;
}

static void count_line(scan *s) {
    const char c = *s->from;
    s->line += c == '\n' || (c == '\r' && !(s->from + 1 < s->end && s->from[1] == '\n'));
}

static weft_status quoted_cell(scan *s) {
    const size_t first_line = s->line;
    s->from++;
    for (;;) {
        if (s->from == s->end) {
            s->line = first_line;
            return bad_row(s, "a quoted cell is never closed");
        }
        if (*s->from == '"' && s->from + 1 < s->end && s->from[1] == '"')
            s->from++;
        else if (*s->from == '"')
            break;
        count_line(s);
        *s->to++ = *s->from++;
    }
    s->from++;
    skip_blanks(s);
    return ends_cell(s) ? WEFT_OK : bad_row(s, "there is text between a closing quote and the separator");
}

static weft_status read_cell(scan *s) {
    skip_blanks(s);
    const char *const begin = s->to;
    if (s->from < s->end && *s->from == '"') {
        WI_TRY(quoted_cell(s));
    } else {
        while (!ends_cell(s)) *s->to++ = *s->from++;
        while (s->options->trim && s->to > begin && is_blank(s->to[-1])) s->to--;
    }
    return WEFT_OK;
}

/* Skips each separator or line end before it writes the terminating NUL, which may overwrite it. */
static weft_status read_row(scan *s, size_t *cells) {
    *cells = 0;
    for (bool more = true; more;) {
        WI_TRY(read_cell(s));
        more = !ends_line(s);
        if (more)
            s->from++;
        else
            skip_line_end(s);
        *s->to++ = '\0';
        ++*cells;
    }
    return WEFT_OK;
}

static weft_status add_row(scan *s, size_t line, size_t cells) {
    wi_csv *const table = s->table;
    if (s->row == 1) table->fields = cells;
    if (cells != table->fields)
        WI_FAIL(WEFT_ERROR_FORMAT, "'%s': line %zu has %zu cells, expected %zu as in the first", table->path,
            line, cells, table->fields);
    if (s->row == 1 && s->options->header) {
        table->first = s->to;
        return WEFT_OK;
    }
    WI_TRY(wi_grow(table->allocator, (void **)&table->lines, &table->line_capacity, table->rows + 1,
        sizeof *table->lines));
    table->lines[table->rows++] = line;
    return WEFT_OK;
}

static weft_status read_rows(scan *s) {
    while (s->from < s->end) {
        if (ends_line(s)) { /* an empty line */
            skip_line_end(s);
            continue;
        }
        const size_t line = s->line;
        size_t cells = 0;
        s->row++;
        WI_TRY(read_row(s, &cells));
        WI_TRY(add_row(s, line, cells));
    }
    if (s->table->rows == 0) WI_FAIL(WEFT_ERROR_FORMAT, "'%s' has no rows of data", s->table->path);
    return WEFT_OK;
}

static weft_status take_names(wi_csv *table) {
    table->names = wi_allocate_array(table->allocator, table->fields, sizeof *table->names);
    table->sorted = wi_allocate_array(table->allocator, table->fields, sizeof *table->sorted);
    if (!table->names || !table->sorted) return WEFT_ERROR_MEMORY;
    (void)wi_csv_row(table, table->bytes, table->names);
    for (size_t i = 0; i < table->fields; i++) table->sorted[i] = (wi_name){table->names[i], i};
    wi_names_sort(table->sorted, table->fields);
    return WEFT_OK;
}

static weft_status check_text(const wi_csv *table, size_t size) {
    const char *const nul = memchr(table->bytes, '\0', size);
    if (nul)
        WI_FAIL(WEFT_ERROR_FORMAT, "'%s': byte %zu is 0, so the file is not text", table->path,
            (size_t)(nul - table->bytes));
    return WEFT_OK;
}

static weft_status read_table(wi_csv *table, const wi_file_rules *rules, const wi_csv_options *options) {
    size_t size = 0, begin = 0;
    WI_TRY(wi_file_read_by(rules, table->path, &table->bytes, &size));
    WI_TRY(wi_text_file_begin(table->path, table->bytes, size, &begin));
    WI_TRY(wi_file_refuse_page(table->path, table->bytes, size));
    WI_TRY(check_text(table, size));
    scan s = {.table = table,
        .options = options,
        .from = table->bytes + begin,
        .end = table->bytes + size,
        .to = table->bytes,
        .line = 1};
    table->first = table->bytes;
    WI_TRY(read_rows(&s));
    return options->header ? take_names(table) : WEFT_OK;
}

weft_status wi_csv_read(
    wi_csv *table, const wi_file_rules *rules, const char *path, const wi_csv_options *options) {
    *table = (wi_csv){.allocator = rules->allocator, .path = path};
    const weft_status status = read_table(table, rules, options);
    if (status != WEFT_OK) wi_csv_clear(table);
    return status;
}

void wi_csv_clear(wi_csv *table) {
    wi_release(table->allocator, table->bytes);
    wi_release(table->allocator, table->names);
    wi_release(table->allocator, table->sorted);
    wi_release(table->allocator, table->lines);
    *table = (wi_csv){0};
}

const char *wi_csv_row(const wi_csv *table, const char *at, const char **cells) {
    for (size_t i = 0; i < table->fields; i++) {
        cells[i] = at;
        at += strlen(at) + 1;
    }
    return at;
}

size_t wi_csv_field(const wi_csv *table, const char *name) {
    const wi_name *const found = table->sorted ? wi_names_find(table->sorted, table->fields, name) : NULL;
    if (!found) return SIZE_MAX;
    return wi_names_twice(table->sorted, table->fields, (size_t)(found - table->sorted)) ? SIZE_MAX - 1
                                                                                         : found->number;
}
