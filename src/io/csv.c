/* Reading CSV tables (contract in csv.h).
 *
 * A row is read from the bytes of a window. If they end within the row, the window is made larger, and the row is read
 * again. */
#include "io/csv.h"
#include "base/file_guess.h"
#include "base/text_file.h"
#include <inttypes.h>
#include <string.h>

/* The bytes of a window, from which one row is read. */
typedef struct scan {
    const wi_csv *table;
    const char *from, *end; /* from: the next byte to read */
    char *to;               /* where the next cell is written */
    size_t line;            /* of the file, from 1 */
    bool is_last;           /* the file ends at `end` */
    bool is_short;          /* the row may continue after `end` */
} scan;

static weft_status bad_row(const scan *s, const char *what) {
    return wi_fail(WEFT_ERROR_FORMAT, "'%s': line %zu: %s", s->table->file.path, s->line, what);
}

static bool ends_line(const scan *s) {
    return s->from == s->end || *s->from == '\n' || *s->from == '\r';
}

static bool ends_cell(const scan *s) {
    return ends_line(s) || *s->from == s->table->options.separator;
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
    const wi_csv_options *const options = &s->table->options;
    while (options->trim && s->from < s->end && is_blank(*s->from) && *s->from != options->separator)
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
            return s->is_last ? bad_row(s, "a quoted cell is never closed") : WEFT_OK;
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
        while (s->table->options.trim && s->to > begin && is_blank(s->to[-1])) s->to--;
    }
    return WEFT_OK;
}

static weft_status read_cells(scan *s, size_t *cells) {
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
    s->is_short = s->from == s->end && !s->is_last; /* also a line feed after a carriage return may follow */
    return WEFT_OK;
}

/* ---- rows in a window ---- */

/* The cells have a NUL in place of their separator, so that a row is at most one byte longer than its bytes. */
static weft_status make_room(wi_csv_row *row, const weft_allocator *allocator, size_t bytes) {
    if (row->text && bytes <= row->capacity) return WEFT_OK;
    wi_release(allocator, row->text); /* the contents are not kept */
    row->text = wi_allocate(allocator, bytes);
    row->capacity = row->text ? bytes : 0;
    return row->text ? WEFT_OK : WEFT_ERROR_MEMORY;
}

/* Skips empty lines, and reads the row after them from the bytes that the window has. *found: there is a row. */
static weft_status read_row(wi_csv_walk *walk, scan *s, size_t count, bool *found) {
    wi_csv_row *const row = &walk->row;
    const char *const begin = s->from;
    const uint64_t offset = row->end;
    WI_TRY(make_room(row, s->table->file.allocator, count + 1));
    s->to = row->text;
    while (s->from < s->end && ends_line(s)) skip_line_end(s);
    *found = s->from < s->end;
    const size_t line = s->line;
    const uint64_t first = offset + (uint64_t)(s->from - begin);
    if (*found) WI_TRY(read_cells(s, &row->cells));
    if (!*found) s->is_short = !s->is_last;
    if (s->is_short) return WEFT_OK;
    row->offset = first;
    row->line = line;
    row->end = offset + (uint64_t)(s->from - begin);
    row->end_line = s->line;
    return WEFT_OK;
}

/* Reads the row that begins at row.end, or after the empty lines that are there. */
static weft_status next_row(wi_csv_walk *walk, bool *found) {
    const wi_data_file *const file = &walk->table->file;
    for (size_t wanted = 1;; wanted *= 2) {
        const char *at = NULL;
        size_t count = 0;
        WI_TRY(wi_file_window_at(&walk->window, file, walk->row.end, wanted, walk->step, &at, &count));
        scan s = {.table = walk->table, .from = at, .end = at + count, .line = walk->row.end_line};
        s.is_last = walk->row.end + count >= file->bytes;
        WI_TRY(read_row(walk, &s, count, found));
        if (!s.is_short) return WEFT_OK;
        if (wanted < count) wanted = count;
    }
}

static void find_cells(wi_csv_walk *walk) {
    const char *at = walk->row.text;
    for (size_t i = 0; i < walk->table->fields; i++) {
        walk->cells[i] = at;
        at += strlen(at) + 1;
    }
}

static weft_status check_cells(const wi_csv *table, const wi_csv_row *row) {
    if (row->cells == table->fields) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_FORMAT, "'%s': line %zu: the number of cells is %zu, expected %zu as in the first",
        table->file.path, row->line, row->cells, table->fields);
}

weft_status wi_csv_walk_begin(wi_csv_walk *walk, const wi_csv *table) {
    const weft_allocator *const allocator = table->file.allocator;
    *walk = (wi_csv_walk){.table = table, .index = SIZE_MAX, .step = WI_WINDOW_STEP};
    walk->row.end = table->first;
    walk->row.end_line = table->first_line;
    if (table->fields == 0) return WEFT_OK; /* not known yet */
    walk->cells = wi_allocate_array(allocator, table->fields, sizeof *walk->cells);
    return walk->cells ? WEFT_OK : WEFT_ERROR_MEMORY;
}

weft_status wi_csv_walk_next(wi_csv_walk *walk, bool *more) {
    WI_TRY(next_row(walk, more));
    if (!*more) return WEFT_OK;
    WI_TRY(check_cells(walk->table, &walk->row));
    walk->index++;
    find_cells(walk);
    return WEFT_OK;
}

weft_status wi_csv_walk_to(wi_csv_walk *walk, uint64_t offset) {
    const wi_csv *const table = walk->table;
    bool found = false;
    const char *before = "\n";
    size_t count = 0;
    if (offset > table->first)
        WI_TRY(wi_file_window_at(&walk->window, &table->file, offset - 1, 1, walk->step, &before, &count));
    const bool begins = *before == '\n' || *before == '\r';
    walk->row.end = offset;
    const weft_status status = wi_csv_walk_next(walk, &found);
    if (status != WEFT_OK && status != WEFT_ERROR_FORMAT) return status;
    if (status == WEFT_OK && found && begins && walk->row.offset == offset) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_FORMAT, "'%s' has changed: no row begins at byte %" PRIu64, walk->table->file.path,
        offset);
}

void wi_csv_walk_clear(wi_csv_walk *walk) {
    if (!walk->table) return;
    const weft_allocator *const allocator = walk->table->file.allocator;
    wi_file_window_clear(&walk->window, allocator);
    wi_release(allocator, walk->row.text);
    wi_release(allocator, (void *)walk->cells);
    *walk = (wi_csv_walk){0};
}

/* ---- opening ---- */

/* Uses the first row as the names of the fields. The table becomes the owner of its text. */
static weft_status take_names(wi_csv *table, wi_csv_walk *walk) {
    const weft_allocator *const allocator = table->file.allocator;
    table->name_text = walk->row.text;
    walk->row.text = NULL;
    table->names = wi_allocate_array(allocator, table->fields, sizeof *table->names);
    table->sorted = wi_allocate_array(allocator, table->fields, sizeof *table->sorted);
    if (!table->names || !table->sorted) return WEFT_ERROR_MEMORY;
    const char *at = table->name_text;
    for (size_t i = 0; i < table->fields; i++) {
        table->names[i] = at;
        table->sorted[i] = (wi_name){at, i};
        at += strlen(at) + 1;
    }
    wi_names_sort(table->sorted, table->fields);
    return WEFT_OK;
}

static weft_status check_rows(wi_csv *table, wi_csv_walk *walk) {
    bool found = false;
    WI_TRY(next_row(walk, &found));
    table->fields = walk->row.cells;
    if (found && table->options.header) {
        table->first = walk->row.end;
        table->first_line = walk->row.end_line;
        WI_TRY(take_names(table, walk));
        WI_TRY(next_row(walk, &found));
    }
    for (; found; table->rows++) {
        WI_TRY(check_cells(table, &walk->row));
        WI_TRY(next_row(walk, &found));
    }
    if (table->rows == 0) WI_FAIL(WEFT_ERROR_FORMAT, "'%s' has no rows of data", table->file.path);
    return WEFT_OK;
}

static weft_status check_text(const wi_csv *table, wi_file_window *window) {
    const wi_data_file *const file = &table->file;
    const char *at = NULL;
    size_t count = 0;
    for (uint64_t offset = 0; offset < file->bytes; offset += count) {
        WI_TRY(wi_file_window_at(window, file, offset, 1, WI_WINDOW_STEP, &at, &count));
        const char *const nul = memchr(at, '\0', count);
        if (nul)
            WI_FAIL(WEFT_ERROR_FORMAT, "'%s': byte %" PRIu64 " is 0, so the file is not text", file->path,
                offset + (uint64_t)(nul - at));
    }
    return WEFT_OK;
}

static weft_status check_file(wi_csv *table, wi_csv_walk *walk) {
    const wi_data_file *const file = &table->file;
    const char *at = NULL;
    size_t count = 0, begin = 0;
    WI_TRY(wi_csv_walk_begin(walk, table));
    WI_TRY(wi_file_window_at(&walk->window, file, 0, WI_WINDOW_STEP, WI_WINDOW_STEP, &at, &count));
    WI_TRY(wi_text_file_begin(file->path, at, count, &begin));
    WI_TRY(wi_file_refuse_page(file->path, at, count));
    WI_TRY(check_text(table, &walk->window));
    table->first = walk->row.end = begin;
    return check_rows(table, walk);
}

weft_status wi_csv_open(
    wi_csv *table, const wi_file_rules *rules, const char *path, const wi_csv_options *options) {
    wi_csv_walk walk = {0};
    *table = (wi_csv){.options = *options, .first_line = 1};
    WI_TRY(wi_data_file_open(&table->file, rules, path));
    const weft_status status = check_file(table, &walk);
    wi_csv_walk_clear(&walk);
    if (status != WEFT_OK) wi_csv_clear(table);
    return status;
}

void wi_csv_clear(wi_csv *table) {
    const weft_allocator *const allocator = table->file.allocator;
    wi_release(allocator, (void *)table->names);
    wi_release(allocator, table->sorted);
    wi_release(allocator, table->name_text);
    wi_data_file_close(&table->file);
    *table = (wi_csv){0};
}

size_t wi_csv_field(const wi_csv *table, const char *name) {
    const wi_name *const found = table->sorted ? wi_names_find(table->sorted, table->fields, name) : NULL;
    if (!found) return SIZE_MAX;
    return wi_names_twice(table->sorted, table->fields, (size_t)(found - table->sorted)) ? SIZE_MAX - 1
                                                                                         : found->number;
}
