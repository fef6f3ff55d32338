/* A CSV table as a dataset: which fields form which column, categories, missing values.
 *
 * The table is read twice, row by row: the first walk decides which rows become examples and gathers the texts of
 * categories, the second walk writes numbers into the dataset. */
#include "base/options.h"
#include "graph/length.h"
#include "train/csv_build.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COLUMNS = 1 << 16, MOST_FIELDS = 1 << 24 /* of one column */ };

/* ---- errors ---- */

static weft_status bad_cell(const wi_csv_builder *b, size_t row, size_t field, const char *what) {
    char name[128];
    wi_csv_field_name(b, field, name);
    return wi_fail(WEFT_ERROR_FORMAT, "'%s': line %zu (row %zu of the data), column %s: '%.60s' %s",
        b->table.path, b->table.lines[row], row + 1, name, b->cells[field], what);
}

/* ---- the fields of a column ---- */

static weft_status find_field(
    const wi_csv_builder *b, const wi_csv_chosen *column, const char *name, size_t *field) {
    *field = wi_csv_field(&b->table, name);
    if (!b->table.names)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "'%s': column '%s' names the field '%s', but the table has no header",
            b->table.path, column->spec.name, name);
    if (*field == SIZE_MAX)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "'%s': column '%s' names the field '%s', which is not in the header",
            b->table.path, column->spec.name, name);
    if (*field == SIZE_MAX - 1)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "'%s': column '%s' names the field '%s', which is in the header twice",
            b->table.path, column->spec.name, name);
    return WEFT_OK;
}

static weft_status choose_fields(wi_csv_builder *b, wi_csv_chosen *column) {
    const weft_csv_column *const spec = &column->spec;
    column->count = spec->count ? spec->count : 1;
    if (spec->fields)
        for (column->count = 0; spec->fields[column->count];) column->count++;
    if (column->count == 0 || column->count > MOST_FIELDS ||
        (!spec->fields && (spec->first >= b->table.fields || column->count > b->table.fields - spec->first)))
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "'%s': column '%s' takes %zu fields, the first with index %zu, but the table has only %zu fields",
            b->table.path, spec->name, column->count, spec->first, b->table.fields);
    column->fields = wi_arena_take(&b->arena, column->count * sizeof *column->fields);
    if (!column->fields) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < column->count; i++) {
        column->fields[i] = spec->first + i;
        if (spec->fields) WI_TRY(find_field(b, column, spec->fields[i], &column->fields[i]));
    }
    return WEFT_OK;
}

static weft_status choose_shape(const wi_csv_builder *b, wi_csv_chosen *column) {
    weft_csv_column *const spec = &column->spec;
    if (spec->rank == 0 && column->count > 1) {
        spec->rank = 1;
        spec->dims[0] = (int64_t)column->count;
    }
    uint64_t numbers = 1;
    bool good = spec->rank >= 0 && spec->rank < WEFT_MAX_RANK;
    for (int axis = 0; axis < spec->rank && good; axis++) {
        good = spec->dims[axis] > 0 && spec->dims[axis] <= MOST_FIELDS && numbers <= MOST_FIELDS;
        numbers *= (uint64_t)spec->dims[axis];
    }
    if (!good || numbers != column->count)
        WI_FAIL(WEFT_ERROR_SHAPE,
            "'%s': the dims of column '%s' do not multiply to the number of its fields, %zu", b->table.path,
            spec->name, column->count);
    return WEFT_OK;
}

/* ---- without the option columns: each field is a column ---- */

static weft_status name_column(wi_csv_builder *b, size_t field, const char **name) {
    char number[32];
    snprintf(number, sizeof number, "column%zu", field + 1);
    const char *const given = b->table.names ? b->table.names[field] : "";
    *name = *given ? given : wi_arena_string(&b->arena, number);
    return *name ? WEFT_OK : WEFT_ERROR_MEMORY;
}

static weft_status take_all_fields(wi_csv_builder *b) {
    b->count = b->table.fields;
    if (b->count > MOST_COLUMNS)
        WI_FAIL(WEFT_ERROR_FORMAT,
            "'%s' has %zu fields, but only up to %d can become one column each; use the option columns to "
            "combine fields",
            b->table.path, b->count, MOST_COLUMNS);
    b->columns = wi_allocate_array(b->allocator, b->count, sizeof *b->columns);
    if (!b->columns) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < b->count; i++) {
        b->columns[i].spec.first = i;
        WI_TRY(name_column(b, i, &b->columns[i].spec.name));
    }
    return wi_csv_find_kinds(b);
}

static weft_status take_given_columns(wi_csv_builder *b) {
    b->count = b->options->column_count;
    b->columns = wi_allocate_array(b->allocator, b->count, sizeof *b->columns);
    if (!b->columns) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < b->count; i++) {
        b->columns[i].spec = b->options->columns[i];
        const weft_csv_column *const spec = &b->columns[i].spec;
        if (!spec->name || !*spec->name)
            WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_dataset_open_csv: column %zu has no name", i);
        if ((unsigned)spec->kind > WEFT_CSV_CATEGORY)
            WI_FAIL(WEFT_ERROR_ARGUMENT,
                "weft_dataset_open_csv: column '%s': kind is %d, which is not a weft_csv_kind", spec->name,
                (int)spec->kind);
    }
    return WEFT_OK;
}

/* ---- the first walk ---- */

static bool is_missing(const wi_csv_chosen *column, const char *cell) {
    if (column->spec.kind != WEFT_CSV_CATEGORY) return wi_csv_is_missing(cell);
    return cell[strspn(cell, " \t")] == '\0';
}

static weft_status check_row(wi_csv_builder *b, size_t row) {
    b->keep[row] = true;
    for (size_t c = 0; c < b->count; c++) {
        const wi_csv_chosen *const column = &b->columns[c];
        for (size_t i = 0; i < column->count; i++) {
            if (!is_missing(column, b->cells[column->fields[i]])) continue;
            const weft_missing missing = b->options->missing;
            if (missing == WEFT_MISSING_SKIP_ROW)
                b->keep[row] = false;
            else if (missing == WEFT_MISSING_ERROR || column->spec.kind == WEFT_CSV_CATEGORY)
                return bad_cell(b, row, column->fields[i], "is a missing value");
        }
    }
    return WEFT_OK;
}

static weft_status look_at_rows(wi_csv_builder *b) {
    const char *at = b->table.first;
    b->keep = wi_allocate_array(b->allocator, b->table.rows, sizeof *b->keep);
    if (!b->keep) return WEFT_ERROR_MEMORY;
    for (size_t row = 0; row < b->table.rows; row++) {
        at = wi_csv_row(&b->table, at, b->cells);
        WI_TRY(check_row(b, row));
        if (!b->keep[row]) continue;
        b->kept++;
        WI_TRY(wi_csv_gather_categories(b));
    }
    if (b->kept == 0)
        WI_FAIL(WEFT_ERROR_FORMAT, "'%s': every row has missing values, so no row is left", b->table.path);
    for (size_t c = 0; c < b->count; c++) wi_csv_number_categories(&b->columns[c]);
    return WEFT_OK;
}

/* ---- the second walk ---- */

static weft_status cell_number(const wi_csv_builder *b, size_t row, size_t field, double *value) {
    if (b->options->missing == WEFT_MISSING_FILL && wi_csv_is_missing(b->cells[field])) {
        *value = b->options->fill;
        return WEFT_OK;
    }
    if (wi_csv_number(&b->form, b->cells[field], value)) return WEFT_OK;
    char what[128];
    const char *const hint = wi_csv_forms_hint(wi_csv_forms_of(b->cells[field]));
    snprintf(what, sizeof what, "is not a number%s%s", hint ? "; " : "", hint ? hint : "");
    return bad_cell(b, row, field, what);
}

static weft_status write_number(const wi_csv_builder *b, size_t row, size_t field, float *target) {
    double value = 0.0;
    WI_TRY(cell_number(b, row, field, &value));
    *target = (float)value;
    if (isinf(*target) && !isinf(value)) return bad_cell(b, row, field, "is out of the range of f32");
    if (isinf(value) && !strpbrk(b->cells[field], "iI") && !wi_csv_is_missing(b->cells[field]))
        return bad_cell(b, row, field, "is out of the range of f32");
    if ((double)*target == value || b->options->rounded || !wi_csv_is_whole(&b->form, b->cells[field]))
        return WEFT_OK;
    return bad_cell(b, row, field,
        "is a whole number that f32 would round: use the kind WEFT_CSV_INTEGER (and an i32 input) for "
        "numbers up to 2147483647, the kind WEFT_CSV_CATEGORY for any, or the option rounded to allow "
        "rounding");
}

static weft_status write_integer(const wi_csv_builder *b, size_t row, size_t field, int32_t *target) {
    double value = 0.0;
    WI_TRY(cell_number(b, row, field, &value));
    if (!(value >= INT32_MIN && value <= INT32_MAX) || value != floor(value))
        return bad_cell(b, row, field, "is not a whole number that fits into an i32");
    *target = (int32_t)value;
    return WEFT_OK;
}

static weft_status write_category(
    const wi_csv_builder *b, const wi_csv_chosen *column, size_t row, size_t field, int32_t *target) {
    const int32_t found = wi_csv_find_category(column, b->cells[field]);
    if (found < 0) return bad_cell(b, row, field, "is not one of the categories");
    *target = found;
    return WEFT_OK;
}

static weft_status write_row(const wi_csv_builder *b, weft_dataset *dataset, size_t row, size_t example) {
    for (size_t c = 0; c < b->count; c++) {
        const wi_csv_chosen *const column = &b->columns[c];
        for (size_t i = 0; i < column->count; i++) {
            const size_t index = example * column->count + i, field = column->fields[i];
            void *const data = wi_dataset_data(dataset, c);
            switch (column->spec.kind) {
            case WEFT_CSV_NUMBER: WI_TRY(write_number(b, row, field, (float *)data + index)); break;
            case WEFT_CSV_INTEGER: WI_TRY(write_integer(b, row, field, (int32_t *)data + index)); break;
            case WEFT_CSV_CATEGORY:
                WI_TRY(write_category(b, column, row, field, (int32_t *)data + index));
                break;
            }
        }
    }
    return WEFT_OK;
}

static weft_status write_rows(const wi_csv_builder *b, weft_dataset *dataset) {
    const char *at = b->table.first;
    size_t example = 0;
    for (size_t row = 0; row < b->table.rows; row++) {
        at = wi_csv_row(&b->table, at, b->cells);
        if (b->keep[row]) WI_TRY(write_row(b, dataset, row, example++));
    }
    return wi_csv_hand_over_categories(b, dataset);
}

/* ---- the dataset ---- */

static weft_status make_dataset(wi_csv_builder *b, weft_dataset **dataset, weft_context *context) {
    weft_column *const columns = wi_arena_take(&b->arena, b->count * sizeof *columns);
    if (!columns) return WEFT_ERROR_MEMORY;
    for (size_t c = 0; c < b->count; c++) {
        const weft_csv_column *const spec = &b->columns[c].spec;
        columns[c] = (weft_column){.name = spec->name,
            .dtype = spec->kind == WEFT_CSV_NUMBER ? WEFT_F32 : WEFT_I32,
            .rank = spec->rank};
        memcpy(columns[c].dims, spec->dims, sizeof spec->dims);
    }
    WI_TRY(wi_dataset_create(dataset, context, b->kept, columns, b->count));
    const weft_status status = write_rows(b, *dataset);
    if (status == WEFT_OK) return WEFT_OK;
    weft_dataset_release(*dataset);
    *dataset = NULL;
    return status;
}

static weft_status sort_like(wi_csv_builder *b) {
    const weft_dataset *const like = b->options->like;
    if (!like) return WEFT_OK;
    b->like = wi_allocate_array(b->allocator, like->count, sizeof *b->like);
    if (!b->like) return WEFT_ERROR_MEMORY;
    for (size_t c = 0; c < like->count; c++) b->like[c] = (wi_name){like->columns[c].name, c};
    wi_names_sort(b->like, like->count);
    return WEFT_OK;
}

static weft_status build(wi_csv_builder *b, weft_dataset **dataset, weft_context *context, const char *path) {
    const wi_csv_options form = {.separator = b->options->separator ? b->options->separator : ',',
        .header = !b->options->no_header,
        .trim = b->options->trim};
    b->form = (wi_csv_form){b->options->decimal, b->options->thousands};
    WI_TRY(wi_csv_read(&b->table, &context->files, path, &form));
    b->cells = wi_allocate_array(b->allocator, b->table.fields, sizeof *b->cells);
    if (!b->cells) return WEFT_ERROR_MEMORY;
    WI_TRY(sort_like(b));
    WI_TRY(b->options->columns ? take_given_columns(b) : take_all_fields(b));
    for (size_t c = 0; c < b->count; c++) {
        WI_TRY(choose_fields(b, &b->columns[c]));
        WI_TRY(choose_shape(b, &b->columns[c]));
        WI_TRY(wi_csv_give_categories(b, &b->columns[c]));
    }
    WI_TRY(look_at_rows(b));
    return make_dataset(b, dataset, context);
}

static void clear_builder(wi_csv_builder *b) {
    for (size_t c = 0; c < b->count && b->columns; c++) wi_release(b->allocator, b->columns[c].categories);
    wi_release(b->allocator, b->columns);
    wi_release(b->allocator, b->like);
    wi_release(b->allocator, b->cells);
    wi_release(b->allocator, b->keep);
    wi_arena_clear(&b->arena);
    wi_csv_clear(&b->table);
}

static weft_status read_options(weft_csv_options *options, const weft_csv_options *given) {
    WI_TRY(WI_OPTIONS(options, given, "weft_dataset_open_csv", WEFT_CSV_OPTIONS_INIT));
    WI_TRY(WI_CHECK_NUMBERS("csv", {"fill", options->fill}));
    if ((unsigned)options->missing > WEFT_MISSING_FILL)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_dataset_open_csv: missing is %d, which is not a weft_missing",
            (int)options->missing);
    if (options->separator == '"' || options->separator == '\n' || options->separator == '\r')
        WI_FAIL(
            WEFT_ERROR_ARGUMENT, "weft_dataset_open_csv: the separator cannot be a quote or a line break");
    WI_TRY(wi_csv_check_form("weft_dataset_open_csv", &(wi_csv_form){options->decimal, options->thousands}));
    if (!options->columns != !options->column_count)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_dataset_open_csv: column_count is %zu, but columns is %sNULL",
            options->column_count, options->columns ? "not " : "");
    return WEFT_OK;
}

weft_status weft_dataset_open_csv(
    weft_dataset **dataset, weft_context *context, const char *path, const weft_csv_options *given) {
    weft_csv_options options;
    if (!dataset) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_dataset_open_csv: dataset is NULL");
    *dataset = NULL;
    if (!context || !path)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_dataset_open_csv: context and path must not be NULL");
    WI_TRY(read_options(&options, given));
    wi_csv_builder b = {.allocator = context->allocator, .options = &options};
    wi_locale locale;
    wi_arena_init(&b.arena, b.allocator);
    wi_locale_enter(&locale);
    const weft_status status = build(&b, dataset, context, path);
    wi_locale_leave(&locale);
    clear_builder(&b);
    return status;
}
