/* The kinds of a table's columns, if the options do not give them (contract in csv_build.h). A column in which most
 * cells are numbers, at least in another form, is not taken for categories: its other cells are probably mistakes. */
#include "train/csv_build.h"
#include <stdio.h>
#include <string.h>

enum { QUOTED = 3, QUOTED_BYTES = 41 };

/* The cells of a field that are not missing. */
typedef struct field_cells {
    size_t count, numbers, almost; /* almost: numbers, and texts that are numbers in another form */
    unsigned forms; /* bits of wi_csv_forms_of: forms that read all cells counted in `almost` */
    size_t quoted;  /* number of entries in lines and texts, the first cells that are not numbers */
    size_t lines[QUOTED];
    char *texts[QUOTED]; /* the beginnings, QUOTED_BYTES with their NUL; in the builder's arena */
} field_cells;

void wi_csv_field_name(const wi_csv_builder *b, size_t field, char text[128]) {
    if (b->table.names)
        snprintf(text, 128, "'%.100s'", b->table.names[field]);
    else
        snprintf(text, 128, "%zu (from 0)", field);
}

weft_status wi_csv_check_form(const char *call, const wi_csv_form *form) {
    const char decimal = form->decimal ? form->decimal : '.';
    if (decimal != '.' && decimal != ',')
        WI_FAIL(WEFT_ERROR_ARGUMENT, "%s: decimal is '%c', expected a point or a comma", call, decimal);
    if (form->thousands && !strchr(",.' ", form->thousands))
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "%s: thousands is '%c', expected a comma, a point, an apostrophe or a blank", call,
            form->thousands);
    if (form->thousands == decimal)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "%s: '%c' cannot be both decimal and thousands", call, decimal);
    return WEFT_OK;
}

static weft_status look_at_cell(wi_csv_builder *b, field_cells *field, const char *cell) {
    double value = 0.0;
    if (wi_csv_is_missing(cell)) return WEFT_OK;
    field->count++;
    const bool number = wi_csv_number(&b->form, cell, &value);
    field->numbers += number;
    if (number && !strpbrk(cell, ",.' ")) { /* a number in every form */
        field->almost++;
        return WEFT_OK;
    }
    if (number || wi_csv_is_almost_number(cell)) {
        field->almost++;
        field->forms &= wi_csv_forms_of(cell);
    }
    if (number || field->quoted == QUOTED) return WEFT_OK;
    char *const text = wi_arena_take(&b->arena, QUOTED_BYTES);
    if (!text) return WEFT_ERROR_MEMORY;
    snprintf(text, QUOTED_BYTES, "%s", cell);
    field->lines[field->quoted] = b->walk.row.line;
    field->texts[field->quoted++] = text;
    return WEFT_OK;
}

static weft_status fail_almost(const wi_csv_builder *b, const field_cells *field, size_t index) {
    const size_t others = field->count - field->numbers;
    const char *const hint = field->almost == field->count ? wi_csv_forms_hint(field->forms) : NULL;
    char name[128], cells[320] = "";
    size_t used = 0;
    for (size_t i = 0; i < field->quoted; i++)
        used += (size_t)snprintf(cells + used, sizeof cells - used, "%s'%.40s' (line %zu)", i ? ", " : "",
            field->texts[i], field->lines[i]);
    if (others > field->quoted)
        snprintf(cells + used, sizeof cells - used, " and %zu more", others - field->quoted);
    wi_csv_field_name(b, index, name);
    WI_FAIL(WEFT_ERROR_FORMAT,
        "'%s': column %s: %zu of %zu cells are numbers, but not %s; %s%scorrect these cells, or declare the "
        "column in the option columns with the kind WEFT_CSV_CATEGORY",
        b->table.file.path, name, field->numbers, field->count, cells, hint ? hint : "", hint ? ", or " : "");
}

static weft_status choose_kind(wi_csv_builder *b, const field_cells *field, size_t index) {
    weft_csv_column *const spec = &b->columns[index].spec;
    const weft_dataset *const like = b->options.like;
    const wi_name *const same = like ? wi_names_find(b->like, like->count, spec->name) : NULL;
    if (same) {
        const bool category = weft_dataset_category_count(like, same->number) > 0;
        const bool integer = like->columns[same->number].dtype == WEFT_I32;
        spec->kind = category ? WEFT_CSV_CATEGORY : integer ? WEFT_CSV_INTEGER : WEFT_CSV_NUMBER;
        return WEFT_OK;
    }
    spec->kind = field->count && field->numbers == field->count ? WEFT_CSV_NUMBER : WEFT_CSV_CATEGORY;
    if (spec->kind == WEFT_CSV_NUMBER || field->count == 0) return WEFT_OK;
    return field->almost >= field->count - field->count / 10 ? fail_almost(b, field, index) : WEFT_OK;
}

static weft_status look_at_rows(wi_csv_builder *b, field_cells *fields) {
    bool more = true;
    WI_TRY(wi_csv_walk_begin(&b->walk, &b->table));
    for (;;) {
        WI_TRY(wi_csv_walk_next(&b->walk, &more));
        if (!more) return WEFT_OK;
        for (size_t i = 0; i < b->table.fields; i++) WI_TRY(look_at_cell(b, &fields[i], b->walk.cells[i]));
    }
}

weft_status wi_csv_find_kinds(wi_csv_builder *b) {
    field_cells *const fields = wi_allocate_array(b->allocator, b->table.fields, sizeof *fields);
    if (!fields) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < b->table.fields; i++) fields[i].forms = (1u << WI_CSV_FORMS) - 1;
    weft_status status = look_at_rows(b, fields);
    wi_csv_walk_clear(&b->walk);
    for (size_t i = 0; i < b->table.fields && status == WEFT_OK; i++) status = choose_kind(b, &fields[i], i);
    wi_release(b->allocator, fields);
    return status;
}
