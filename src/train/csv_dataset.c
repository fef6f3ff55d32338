/* A CSV table as a dataset: which fields form which column, categories, missing values.
 *
 * Walks read the table row by row: one finds the kinds of columns, if the options do not give them, one counts the rows that
 * become examples and gathers the texts of categories, and the last one (csv_rows.c) converts the numbers. */
#include "base/options.h"
#include "base/platform.h"
#include "graph/sizes.h"
#include "train/csv_build.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COLUMNS = 1 << 16, MOST_FIELDS = 1 << 24 /* of one column */ };

/* ---- the fields of a column ---- */

static weft_status find_field(
    const wi_csv_builder *b, const wi_csv_chosen *column, const char *name, size_t *field) {
    *field = wi_csv_field(&b->table, name);
    if (!b->table.names)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "'%s': column '%s' names the field '%s', but the table has no header",
            b->table.file.path, column->spec.name, name);
    if (*field == SIZE_MAX)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "'%s': column '%s' names the field '%s', which is not in the header",
            b->table.file.path, column->spec.name, name);
    if (*field == SIZE_MAX - 1)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "'%s': column '%s' names the field '%s', which is in the header twice",
            b->table.file.path, column->spec.name, name);
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
            "'%s': column '%s': count is %zu and first is %zu, but the number of the table's fields is %zu",
            b->table.file.path, spec->name, column->count, spec->first, b->table.fields);
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
            "'%s': the dims of column '%s' do not multiply to the number of its fields, %zu",
            b->table.file.path, spec->name, column->count);
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
            b->table.file.path, b->count, MOST_COLUMNS);
    b->columns = wi_allocate_array(b->allocator, b->count, sizeof *b->columns);
    if (!b->columns) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < b->count; i++) {
        b->columns[i].spec.first = i;
        WI_TRY(name_column(b, i, &b->columns[i].spec.name));
    }
    return wi_csv_find_kinds(b);
}

static weft_status take_given_columns(wi_csv_builder *b) {
    b->count = b->options.column_count;
    b->columns = wi_allocate_array(b->allocator, b->count, sizeof *b->columns);
    if (!b->columns) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < b->count; i++) {
        b->columns[i].spec = b->options.columns[i];
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

/* ---- the walk that finds examples and categories ---- */

static weft_status check_row(const wi_csv_builder *b, bool *kept) {
    *kept = true;
    for (size_t c = 0; c < b->count; c++) {
        const wi_csv_chosen *const column = &b->columns[c];
        for (size_t i = 0; i < column->count; i++) {
            if (!wi_csv_lacks_value(column, b->walk.cells[column->fields[i]])) continue;
            const weft_missing missing = b->options.missing;
            if (missing == WEFT_MISSING_SKIP_ROW)
                *kept = false;
            else if (missing == WEFT_MISSING_ERROR || column->spec.kind == WEFT_CSV_CATEGORY)
                return wi_csv_bad_cell(b, &b->walk, column->fields[i], "is a missing value");
        }
    }
    return WEFT_OK;
}

static weft_status look_at_rows(wi_csv_builder *b) {
    bool more = true, kept = false;
    WI_TRY(wi_csv_walk_begin(&b->walk, &b->table));
    for (;;) {
        WI_TRY(wi_csv_walk_next(&b->walk, &more));
        if (!more) break;
        WI_TRY(check_row(b, &kept));
        if (!kept) continue;
        b->kept++;
        WI_TRY(wi_csv_gather_categories(b));
    }
    wi_csv_walk_clear(&b->walk);
    if (b->kept == 0)
        WI_FAIL(
            WEFT_ERROR_FORMAT, "'%s': every row has missing values, so no row is left", b->table.file.path);
    for (size_t c = 0; c < b->count; c++) wi_csv_number_categories(b, &b->columns[c]);
    return WEFT_OK;
}

/* ---- the dataset ---- */

static weft_status sort_like(wi_csv_builder *b) {
    const weft_dataset *const like = b->options.like;
    if (!like) return WEFT_OK;
    b->like = wi_allocate_array(b->allocator, like->count, sizeof *b->like);
    if (!b->like) return WEFT_ERROR_MEMORY;
    for (size_t c = 0; c < like->count; c++) b->like[c] = (wi_name){like->columns[c].name, c};
    wi_names_sort(b->like, like->count);
    return WEFT_OK;
}

static weft_status build(wi_csv_builder *b, const wi_file_rules *rules, const char *path) {
    const wi_csv_options form = {.separator = b->options.separator ? b->options.separator : ',',
        .header = !b->options.no_header,
        .trim = b->options.trim};
    b->form = (wi_csv_form){b->options.decimal, b->options.thousands};
    WI_TRY(wi_csv_open(&b->table, rules, path, &form));
    WI_TRY(sort_like(b));
    WI_TRY(b->options.columns ? take_given_columns(b) : take_all_fields(b));
    for (size_t c = 0; c < b->count; c++) {
        WI_TRY(choose_fields(b, &b->columns[c]));
        WI_TRY(choose_shape(b, &b->columns[c]));
        WI_TRY(wi_csv_set_given_categories(b, &b->columns[c]));
    }
    return look_at_rows(b);
}

void wi_csv_builder_release(wi_csv_builder *b) {
    if (!b) return;
    for (size_t c = 0; c < b->count && b->columns; c++) {
        wi_release(b->allocator, b->columns[c].categories);
        wi_release(b->allocator, b->columns[c].slots);
    }
    wi_csv_walk_clear(&b->walk);
    wi_release(b->allocator, b->columns);
    wi_release(b->allocator, b->like);
    wi_arena_clear(&b->arena);
    wi_csv_clear(&b->table);
    wi_release(b->allocator, b);
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

/* Bytes of an example: all numbers have four. */
static uint64_t example_bytes(const wi_csv_builder *b) {
    uint64_t bytes = 0;
    for (size_t c = 0; c < b->count; c++) bytes += 4 * (uint64_t)b->columns[c].count;
    return bytes;
}

weft_status wi_csv_dataset_open(weft_dataset **dataset, weft_context *context, const char *path,
    const weft_csv_options *given, bool in_memory) {
    weft_csv_options options;
    WI_TRY(read_options(&options, given));
    wi_csv_builder *b = wi_allocate(context->allocator, sizeof *b);
    if (!b) return WEFT_ERROR_MEMORY;
    b->allocator = context->allocator;
    b->options = options;
    wi_arena_init(&b->arena, b->allocator);
    wi_locale locale;
    wi_locale_enter(&locale);
    weft_status status = build(b, &context->files, path);
    if (status == WEFT_OK)
        status = wi_csv_create_dataset(
            dataset, context, &b, in_memory || wi_dataset_fits(context, b->kept, example_bytes(b)));
    wi_locale_leave(&locale);
    wi_csv_builder_release(b);
    return status;
}

weft_status weft_dataset_open_csv(
    weft_dataset **dataset, weft_context *context, const char *path, const weft_csv_options *given) {
    if (!dataset) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_dataset_open_csv: dataset is NULL");
    *dataset = NULL;
    if (!context || !path)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_dataset_open_csv: context and path must not be NULL");
    return wi_csv_dataset_open(dataset, context, path, given, false);
}
