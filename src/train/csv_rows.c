/* Converts the rows of a CSV table to the examples of a dataset (contract in csv_build.h): all of them now, or each one when it is
 * needed, from the recorded offset of its row in the file. */
#include "base/platform.h"
#include "train/csv_build.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- cells ---- */

weft_status wi_csv_bad_cell(
    const wi_csv_builder *b, const wi_csv_walk *walk, size_t field, const char *what) {
    char name[128];
    wi_csv_field_name(b, field, name);
    return wi_fail(WEFT_ERROR_FORMAT, "'%s': line %zu (row %zu of the data), column %s: '%.60s' %s",
        b->table.file.path, walk->row.line, walk->index + 1, name, walk->cells[field], what);
}

bool wi_csv_lacks_value(const wi_csv_chosen *column, const char *cell) {
    if (column->spec.kind != WEFT_CSV_CATEGORY) return wi_csv_is_missing(cell);
    return cell[strspn(cell, " \t")] == '\0';
}

static weft_status cell_number(
    const wi_csv_builder *b, const wi_csv_walk *walk, size_t field, double *value) {
    if (b->options.missing == WEFT_MISSING_FILL && wi_csv_is_missing(walk->cells[field])) {
        *value = b->options.fill;
        return WEFT_OK;
    }
    if (wi_csv_number(&b->form, walk->cells[field], value)) return WEFT_OK;
    char what[128];
    const char *const hint = wi_csv_forms_hint(wi_csv_forms_of(walk->cells[field]));
    snprintf(what, sizeof what, "is not a number%s%s", hint ? "; " : "", hint ? hint : "");
    return wi_csv_bad_cell(b, walk, field, what);
}

static weft_status write_number(
    const wi_csv_builder *b, const wi_csv_walk *walk, size_t field, float *target) {
    double value = 0.0;
    WI_TRY(cell_number(b, walk, field, &value));
    *target = (float)value;
    if (isinf(*target) && !isinf(value)) return wi_csv_bad_cell(b, walk, field, "is out of the range of f32");
    if (isinf(value) && !strpbrk(walk->cells[field], "iI") && !wi_csv_is_missing(walk->cells[field]))
        return wi_csv_bad_cell(b, walk, field, "is out of the range of f32");
    if ((double)*target == value || b->options.rounded || !wi_csv_is_whole(&b->form, walk->cells[field]))
        return WEFT_OK;
    return wi_csv_bad_cell(b, walk, field,
        "is a whole number that f32 would round: use the kind WEFT_CSV_INTEGER (and an i32 input) for "
        "numbers up to 2147483647, the kind WEFT_CSV_CATEGORY for any, or the option rounded to allow "
        "rounding");
}

static weft_status write_integer(
    const wi_csv_builder *b, const wi_csv_walk *walk, size_t field, int32_t *target) {
    double value = 0.0;
    WI_TRY(cell_number(b, walk, field, &value));
    if (!(value >= INT32_MIN && value <= INT32_MAX) || value != floor(value))
        return wi_csv_bad_cell(b, walk, field, "is not a whole number that fits into an i32");
    *target = (int32_t)value;
    return WEFT_OK;
}

static weft_status write_category(const wi_csv_builder *b, const wi_csv_chosen *column,
    const wi_csv_walk *walk, size_t field, int32_t *target) {
    const int32_t found = wi_csv_find_category(column, walk->cells[field]);
    if (found < 0) return wi_csv_bad_cell(b, walk, field, "is not one of the categories");
    *target = found;
    return WEFT_OK;
}

/* ---- rows ---- */

/* targets: where the numbers of each column begin. */
static weft_status write_row(const wi_csv_builder *b, const wi_csv_walk *walk, void *const *targets) {
    for (size_t c = 0; c < b->count; c++) {
        const wi_csv_chosen *const column = &b->columns[c];
        for (size_t i = 0; i < column->count; i++) {
            const size_t field = column->fields[i];
            switch (column->spec.kind) {
            case WEFT_CSV_NUMBER: WI_TRY(write_number(b, walk, field, (float *)targets[c] + i)); break;
            case WEFT_CSV_INTEGER: WI_TRY(write_integer(b, walk, field, (int32_t *)targets[c] + i)); break;
            case WEFT_CSV_CATEGORY:
                WI_TRY(write_category(b, column, walk, field, (int32_t *)targets[c] + i));
                break;
            }
        }
    }
    return WEFT_OK;
}

static bool is_kept(const wi_csv_builder *b, const wi_csv_walk *walk) {
    if (b->options.missing != WEFT_MISSING_SKIP_ROW) return true;
    for (size_t c = 0; c < b->count; c++)
        for (size_t i = 0; i < b->columns[c].count; i++)
            if (wi_csv_lacks_value(&b->columns[c], walk->cells[b->columns[c].fields[i]])) return false;
    return true;
}

/* Converts all rows. If offsets is NULL, the targets have room for all examples, and the function advances them. Otherwise the
 * targets have room for one example, and the function writes the offsets of the rows. */
static weft_status write_rows(wi_csv_builder *b, char **targets, uint64_t *offsets) {
    size_t example = 0;
    bool more = true;
    WI_TRY(wi_csv_walk_begin(&b->walk, &b->table));
    for (;;) {
        WI_TRY(wi_csv_walk_next(&b->walk, &more));
        if (!more) break;
        if (!is_kept(b, &b->walk)) continue;
        if (example == b->kept) break;
        WI_TRY(write_row(b, &b->walk, (void *const *)targets));
        if (offsets) offsets[example] = b->walk.row.offset;
        for (size_t c = 0; c < b->count && !offsets; c++) targets[c] += 4 * b->columns[c].count;
        example++;
    }
    if (more || example < b->kept)
        WI_FAIL(WEFT_ERROR_FORMAT, "'%s' has changed while it was read", b->table.file.path);
    wi_csv_walk_clear(&b->walk);
    return WEFT_OK;
}

/* ---- a source of rows ---- */

enum { BLOCK_WINDOW, BLOCK_TEXT, BLOCK_CELLS, READ_STEP = 4096 };

typedef struct row_source {
    wi_source base; /* must be first: a loader knows only this struct */
    wi_csv_builder *builder;
    uint64_t *offsets; /* of each example's row */
} row_source;

/* Reads a row by a walk whose memory is that of the workspace. */
static weft_status load_example(
    const wi_source *base, const wi_example *example, wi_workspace *workspace, void *const *targets) {
    const row_source *const source = (const row_source *)(const void *)base;
    const wi_csv_builder *const b = source->builder;
    void *const cells = wi_workspace_take(workspace, BLOCK_CELLS, b->table.fields * sizeof(const char *));
    if (!cells) return WEFT_ERROR_MEMORY;
    wi_csv_walk walk = {.table = &b->table,
        .cells = cells,
        .step = READ_STEP,
        .window = {.bytes = workspace->blocks[BLOCK_WINDOW], .capacity = workspace->capacities[BLOCK_WINDOW]},
        .row = {.text = workspace->blocks[BLOCK_TEXT], .capacity = workspace->capacities[BLOCK_TEXT]}};
    wi_locale locale;
    wi_locale_enter(&locale);
    weft_status status = wi_csv_walk_to(&walk, source->offsets[example->index]);
    if (status == WEFT_OK) status = write_row(b, &walk, targets);
    wi_locale_leave(&locale);
    workspace->blocks[BLOCK_WINDOW] = walk.window.bytes;
    workspace->capacities[BLOCK_WINDOW] = walk.window.capacity;
    workspace->blocks[BLOCK_TEXT] = walk.row.text;
    workspace->capacities[BLOCK_TEXT] = walk.row.capacity;
    return status;
}

static void destroy_source(wi_source *base) {
    row_source *const source = (row_source *)(void *)base;
    const weft_allocator *const allocator = source->builder->allocator;
    wi_release(allocator, source->offsets);
    wi_csv_builder_release(source->builder);
    wi_release(allocator, source);
}

/* Creates a source that owns the builder. Pointers in the builder to memory of the caller, such as options, are set to NULL. */
static weft_status make_source(row_source **source, wi_csv_builder **builder) {
    wi_csv_builder *const b = *builder;
    row_source *const made = wi_allocate(b->allocator, sizeof *made);
    if (!made) return WEFT_ERROR_MEMORY;
    wi_source_init(&made->base, SIZE_MAX, load_example, destroy_source);
    made->builder = b;
    b->options.columns = NULL;
    b->options.like = NULL;
    *builder = NULL;
    *source = made;
    made->offsets = wi_allocate_array(b->allocator, b->kept, sizeof *made->offsets);
    return made->offsets ? WEFT_OK : WEFT_ERROR_MEMORY;
}

/* ---- datasets ---- */

static weft_status load(
    weft_dataset **dataset, weft_context *context, wi_csv_builder *b, const weft_column *columns) {
    char **const targets = wi_arena_take(&b->arena, b->count * sizeof *targets);
    if (!targets) return WEFT_ERROR_MEMORY;
    WI_TRY(wi_dataset_create(dataset, context, b->kept, columns, b->count));
    for (size_t c = 0; c < b->count; c++) targets[c] = wi_dataset_data(*dataset, c);
    WI_TRY(write_rows(b, targets, NULL));
    return wi_csv_copy_categories(b, *dataset);
}

/* Converts all rows once, so that errors are found now, but keeps only their offsets. */
static weft_status open_in_place(
    weft_dataset **dataset, weft_context *context, row_source *source, const weft_column *columns) {
    wi_csv_builder *const b = source->builder;
    char **const targets = wi_arena_take(&b->arena, b->count * sizeof *targets);
    if (!targets) return WEFT_ERROR_MEMORY;
    for (size_t c = 0; c < b->count; c++)
        if (!(targets[c] = wi_arena_take(&b->arena, 4 * b->columns[c].count))) return WEFT_ERROR_MEMORY;
    WI_TRY(write_rows(b, targets, source->offsets));
    WI_TRY(wi_dataset_create_from_source(dataset, context, &source->base, b->kept, columns, b->count));
    return wi_csv_copy_categories(b, *dataset);
}

weft_status wi_csv_create_dataset(
    weft_dataset **dataset, weft_context *context, wi_csv_builder **builder, bool in_memory) {
    wi_csv_builder *const b = *builder;
    row_source *source = NULL;
    weft_column *const columns = wi_arena_take(&b->arena, b->count * sizeof *columns);
    if (!columns) return WEFT_ERROR_MEMORY;
    for (size_t c = 0; c < b->count; c++) {
        const weft_csv_column *const spec = &b->columns[c].spec;
        columns[c] = (weft_column){.name = spec->name,
            .dtype = spec->kind == WEFT_CSV_NUMBER ? WEFT_F32 : WEFT_I32,
            .rank = spec->rank};
        memcpy(columns[c].dims, spec->dims, sizeof spec->dims);
    }
    weft_status status = in_memory ? load(dataset, context, b, columns) : make_source(&source, builder);
    if (status == WEFT_OK && source) status = open_in_place(dataset, context, source, columns);
    if (source) wi_source_release(&source->base); /* the dataset retains it */
    if (status == WEFT_OK) return WEFT_OK;
    weft_dataset_release(*dataset);
    *dataset = NULL;
    return status;
}
