/* A CSV table as a dataset: which fields become which column, categories, missing values.
 *
 * Two walks over the table: the first decides which rows are kept and gathers the texts of categories, the
 * second writes numbers into the dataset. */
#include "base/options.h"
#include "io/csv.h"
#include "train/dataset.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WHOLE_DIGITS = 18, MOST_COLUMNS = 1 << 16 };

typedef struct category {
    const char *text;
    int32_t number;
} category;

/* A column of the dataset in the making. */
typedef struct chosen {
    weft_csv_column spec;
    size_t *fields;
    size_t count;
    bool fixed;           /* the categories were given */
    category *categories; /* sorted by text once they are complete */
    size_t category_count, category_capacity;
} chosen;

typedef struct builder {
    const weft_allocator *allocator;
    const weft_csv_options *options;
    wi_csv table;
    wi_arena arena;
    chosen *columns;
    size_t count;
    const char **cells; /* of the row at hand */
    size_t kept;        /* rows */
    bool *keep;         /* of each row */
} builder;

/* ---- errors ---- */

static void field_name(const builder *b, size_t field, char text[128]) {
    if (b->table.names)
        snprintf(text, 128, "'%.100s'", b->table.names[field]);
    else
        snprintf(text, 128, "%zu (from 0)", field);
}

static weft_status bad_cell(const builder *b, size_t row, size_t field, const char *what) {
    char name[128];
    field_name(b, field, name);
    return wi_fail(WEFT_ERROR_FORMAT, "'%s': line %zu (row %zu of the data), column %s: '%.60s' %s",
        b->table.path, b->table.lines[row], row + 1, name, b->cells[field], what);
}

/* ---- which fields ---- */

static weft_status find_field(const builder *b, const chosen *column, const char *name, size_t *field) {
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

static weft_status choose_fields(builder *b, chosen *column) {
    const weft_csv_column *const spec = &column->spec;
    column->count = spec->count ? spec->count : 1;
    if (spec->fields)
        for (column->count = 0; spec->fields[column->count];) column->count++;
    if (column->count == 0 || column->count > MOST_COLUMNS ||
        (!spec->fields && (spec->first >= b->table.fields || column->count > b->table.fields - spec->first)))
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "'%s': column '%s' names %zu fields from index %zu on; the table has %zu", b->table.path,
            spec->name, column->count, spec->first, b->table.fields);
    column->fields = wi_arena_take(&b->arena, column->count * sizeof *column->fields);
    if (!column->fields) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < column->count; i++) {
        column->fields[i] = spec->first + i;
        if (spec->fields) WI_TRY(find_field(b, column, spec->fields[i], &column->fields[i]));
    }
    return WEFT_OK;
}

static weft_status choose_shape(const builder *b, chosen *column) {
    weft_csv_column *const spec = &column->spec;
    if (spec->rank == 0 && column->count > 1) {
        spec->rank = 1;
        spec->dims[0] = (int64_t)column->count;
    }
    uint64_t numbers = 1;
    bool good = spec->rank >= 0 && spec->rank < WEFT_MAX_RANK;
    for (int axis = 0; axis < spec->rank && good; axis++) {
        good = spec->dims[axis] > 0 && spec->dims[axis] <= MOST_COLUMNS && numbers <= MOST_COLUMNS;
        numbers *= (uint64_t)spec->dims[axis];
    }
    if (!good || numbers != column->count)
        WI_FAIL(WEFT_ERROR_SHAPE, "'%s': the shape of column '%s' does not hold %zu fields", b->table.path,
            spec->name, column->count);
    return WEFT_OK;
}

/* ---- without columns in the options: all of the table's ---- */

static bool is_numeric(builder *b, size_t field) {
    const char *at = b->table.first;
    bool any = false;
    for (size_t row = 0; row < b->table.rows; row++) {
        double value = 0.0;
        at = wi_csv_row(&b->table, at, b->cells);
        if (wi_csv_is_missing(b->cells[field])) continue;
        if (!wi_csv_number(b->cells[field], &value)) return false;
        any = true;
    }
    return any;
}

static weft_status take_all_fields(builder *b) {
    b->count = b->table.fields;
    b->columns = wi_allocate_array(b->allocator, b->count, sizeof *b->columns);
    if (!b->columns) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < b->count; i++) {
        char name[32];
        snprintf(name, sizeof name, "column%zu", i + 1);
        const char *const given = b->table.names ? b->table.names[i] : "";
        b->columns[i].spec = (weft_csv_column){.first = i,
            .name = *given ? given : wi_arena_string(&b->arena, name),
            .kind = is_numeric(b, i) ? WEFT_CSV_NUMBER : WEFT_CSV_CATEGORY};
        if (!b->columns[i].spec.name) return WEFT_ERROR_MEMORY;
    }
    return WEFT_OK;
}

static weft_status take_given_columns(builder *b) {
    b->count = b->options->column_count;
    b->columns = wi_allocate_array(b->allocator, b->count, sizeof *b->columns);
    if (!b->columns) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < b->count; i++) {
        b->columns[i].spec = b->options->columns[i];
        const weft_csv_column *const spec = &b->columns[i].spec;
        if (!spec->name || !*spec->name)
            WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_dataset_open_csv: column %zu has no name", i);
        if ((unsigned)spec->kind > WEFT_CSV_CATEGORY)
            WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_dataset_open_csv: column '%s': kind is %d", spec->name,
                (int)spec->kind);
    }
    return WEFT_OK;
}

/* ---- categories ---- */

static bool whole_number(const char *text, int64_t *value) {
    const char *const digits = text + (*text == '-');
    const size_t length = strspn(digits, "0123456789");
    if (length == 0 || length > WHOLE_DIGITS || digits[length]) return false;
    *value = strtoll(text, NULL, 10);
    return true;
}

static int by_text(const void *a, const void *b) {
    const char *const left = ((const category *)a)->text, *const right = ((const category *)b)->text;
    int64_t x = 0, y = 0;
    const bool whole_left = whole_number(left, &x), whole_right = whole_number(right, &y);
    if (whole_left != whole_right) return whole_left ? -1 : 1;
    if (whole_left && x != y) return x < y ? -1 : 1;
    return strcmp(left, right);
}

static weft_status add_category(const builder *b, chosen *column, const char *text) {
    if (column->category_count >= INT32_MAX)
        WI_FAIL(WEFT_ERROR_FORMAT, "'%s': too many categories", b->table.path);
    WI_TRY(wi_grow(b->allocator, (void **)&column->categories, &column->category_capacity,
        column->category_count + 1, sizeof *column->categories));
    column->categories[column->category_count] = (category){text, (int32_t)column->category_count};
    column->category_count++;
    return WEFT_OK;
}

/* Those of the options, or of the dataset that this one is to be like. */
static weft_status take_given_categories(builder *b, chosen *column) {
    const weft_dataset *const like = b->options->like;
    const char *const *const texts = column->spec.categories;
    if (column->spec.kind != WEFT_CSV_CATEGORY) return WEFT_OK;
    for (size_t i = 0; texts && texts[i]; i++) WI_TRY(add_category(b, column, texts[i]));
    for (size_t c = 0; !texts && like && c < like->count; c++) {
        if (strcmp(like->columns[c].name, column->spec.name) != 0) continue;
        for (size_t i = 0; i < like->categories[c].count; i++)
            WI_TRY(add_category(b, column, like->categories[c].texts[i]));
    }
    column->fixed = column->category_count > 0;
    if (!column->fixed) return WEFT_OK;
    qsort(column->categories, column->category_count, sizeof *column->categories, by_text);
    for (size_t i = 1; i < column->category_count; i++)
        if (strcmp(column->categories[i - 1].text, column->categories[i].text) == 0)
            WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_dataset_open_csv: column '%s' has the category '%s' twice",
                column->spec.name, column->categories[i].text);
    return WEFT_OK;
}

/* Each text once, numbered in order. */
static void number_categories(chosen *column) {
    size_t count = 0;
    if (column->fixed || column->category_count == 0) return;
    qsort(column->categories, column->category_count, sizeof *column->categories, by_text);
    for (size_t i = 0; i < column->category_count; i++) {
        const char *const text = column->categories[i].text;
        if (count && strcmp(column->categories[count - 1].text, text) == 0) continue;
        column->categories[count] = (category){text, (int32_t)count};
        count++;
    }
    column->category_count = count;
}

static weft_status hand_over_categories(const builder *b, weft_dataset *dataset) {
    for (size_t c = 0; c < b->count; c++) {
        const chosen *const column = &b->columns[c];
        if (column->spec.kind != WEFT_CSV_CATEGORY) continue;
        const char **const texts = wi_allocate_array(b->allocator, column->category_count, sizeof *texts);
        if (!texts) return WEFT_ERROR_MEMORY;
        for (size_t i = 0; i < column->category_count; i++)
            texts[column->categories[i].number] = column->categories[i].text;
        const weft_status status = wi_dataset_set_categories(dataset, c, texts, column->category_count);
        wi_release(b->allocator, texts);
        WI_TRY(status);
    }
    return WEFT_OK;
}

/* ---- the first walk ---- */

static bool is_missing(const chosen *column, const char *cell) {
    if (column->spec.kind != WEFT_CSV_CATEGORY) return wi_csv_is_missing(cell);
    return cell[strspn(cell, " \t")] == '\0';
}

static weft_status check_row(builder *b, size_t row) {
    b->keep[row] = true;
    for (size_t c = 0; c < b->count; c++) {
        const chosen *const column = &b->columns[c];
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

static weft_status gather_categories(builder *b) {
    for (size_t c = 0; c < b->count; c++) {
        chosen *const column = &b->columns[c];
        if (column->spec.kind != WEFT_CSV_CATEGORY || column->fixed) continue;
        for (size_t i = 0; i < column->count; i++)
            WI_TRY(add_category(b, column, b->cells[column->fields[i]]));
    }
    return WEFT_OK;
}

static weft_status look_at_rows(builder *b) {
    const char *at = b->table.first;
    b->keep = wi_allocate_array(b->allocator, b->table.rows, sizeof *b->keep);
    if (!b->keep) return WEFT_ERROR_MEMORY;
    for (size_t row = 0; row < b->table.rows; row++) {
        at = wi_csv_row(&b->table, at, b->cells);
        WI_TRY(check_row(b, row));
        if (!b->keep[row]) continue;
        b->kept++;
        WI_TRY(gather_categories(b));
    }
    if (b->kept == 0)
        WI_FAIL(WEFT_ERROR_FORMAT, "'%s': every row has missing values; nothing is left", b->table.path);
    for (size_t c = 0; c < b->count; c++) number_categories(&b->columns[c]);
    return WEFT_OK;
}

/* ---- the second walk ---- */

static weft_status cell_number(const builder *b, size_t row, size_t field, double *value) {
    if (b->options->missing == WEFT_MISSING_FILL && wi_csv_is_missing(b->cells[field])) {
        *value = b->options->fill;
        return WEFT_OK;
    }
    return wi_csv_number(b->cells[field], value) ? WEFT_OK : bad_cell(b, row, field, "is not a number");
}

static weft_status write_number(const builder *b, size_t row, size_t field, float *target) {
    double value = 0.0;
    WI_TRY(cell_number(b, row, field, &value));
    *target = (float)value;
    if (isinf(*target) && !isinf(value)) return bad_cell(b, row, field, "is out of the range of f32");
    if (isinf(value) && !strpbrk(b->cells[field], "iI") && !wi_csv_is_missing(b->cells[field]))
        return bad_cell(b, row, field, "is out of the range of f32");
    return WEFT_OK;
}

static weft_status write_integer(const builder *b, size_t row, size_t field, int32_t *target) {
    double value = 0.0;
    WI_TRY(cell_number(b, row, field, &value));
    if (!(value >= INT32_MIN && value <= INT32_MAX) || value != floor(value))
        return bad_cell(b, row, field, "is not a whole number of i32");
    *target = (int32_t)value;
    return WEFT_OK;
}

static weft_status write_category(
    const builder *b, const chosen *column, size_t row, size_t field, int32_t *target) {
    const category key = {.text = b->cells[field]};
    const category *const found =
        bsearch(&key, column->categories, column->category_count, sizeof key, by_text);
    if (!found) return bad_cell(b, row, field, "is not one of the categories");
    *target = found->number;
    return WEFT_OK;
}

static weft_status write_row(const builder *b, weft_dataset *dataset, size_t row, size_t example) {
    for (size_t c = 0; c < b->count; c++) {
        const chosen *const column = &b->columns[c];
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

static weft_status write_rows(const builder *b, weft_dataset *dataset) {
    const char *at = b->table.first;
    size_t example = 0;
    for (size_t row = 0; row < b->table.rows; row++) {
        at = wi_csv_row(&b->table, at, b->cells);
        if (b->keep[row]) WI_TRY(write_row(b, dataset, row, example++));
    }
    return hand_over_categories(b, dataset);
}

/* ---- all of it ---- */

static weft_status make_dataset(builder *b, weft_dataset **dataset, weft_context *context) {
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

static weft_status build(builder *b, weft_dataset **dataset, weft_context *context, const char *path) {
    const wi_csv_options form = {.separator = b->options->separator ? b->options->separator : ',',
        .header = !b->options->no_header,
        .trim = b->options->trim};
    WI_TRY(wi_csv_read(&b->table, b->allocator, path, &form));
    b->cells = wi_allocate_array(b->allocator, b->table.fields, sizeof *b->cells);
    if (!b->cells) return WEFT_ERROR_MEMORY;
    WI_TRY(b->options->columns ? take_given_columns(b) : take_all_fields(b));
    for (size_t c = 0; c < b->count; c++) {
        WI_TRY(choose_fields(b, &b->columns[c]));
        WI_TRY(choose_shape(b, &b->columns[c]));
        WI_TRY(take_given_categories(b, &b->columns[c]));
    }
    WI_TRY(look_at_rows(b));
    return make_dataset(b, dataset, context);
}

static void clear_builder(builder *b) {
    for (size_t c = 0; c < b->count && b->columns; c++) wi_release(b->allocator, b->columns[c].categories);
    wi_release(b->allocator, b->columns);
    wi_release(b->allocator, b->cells);
    wi_release(b->allocator, b->keep);
    wi_arena_clear(&b->arena);
    wi_csv_clear(&b->table);
}

static weft_status read_options(weft_csv_options *options, const weft_csv_options *given) {
    WI_TRY(WI_OPTIONS(options, given, "weft_dataset_open_csv", WEFT_CSV_OPTIONS_INIT));
    if ((unsigned)options->missing > WEFT_MISSING_FILL)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_dataset_open_csv: missing is %d", (int)options->missing);
    if (options->separator == '"' || options->separator == '\n' || options->separator == '\r')
        WI_FAIL(
            WEFT_ERROR_ARGUMENT, "weft_dataset_open_csv: the separator cannot be a quote or a line break");
    if (!options->columns != !options->column_count)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_dataset_open_csv: %zu columns, and columns is %sNULL",
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
    builder b = {.allocator = context->allocator, .options = &options};
    wi_locale locale;
    wi_arena_init(&b.arena, b.allocator);
    wi_locale_enter(&locale);
    const weft_status status = build(&b, dataset, context, path);
    wi_locale_leave(&locale);
    clear_builder(&b);
    return status;
}
