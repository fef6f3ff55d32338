/* Categories of tables (contract in csv_build.h): sorted texts, in which whole numbers come first. */
#include "train/csv_build.h"
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { WHOLE_DIGITS = 18 };

static bool whole_number(const char *text, int64_t *value) {
    const char *const digits = text + (*text == '-');
    const size_t length = strspn(digits, "0123456789");
    if (length == 0 || length > WHOLE_DIGITS || digits[length]) return false;
    *value = strtoll(text, NULL, 10);
    return true;
}

static int by_text(const void *a, const void *b) {
    const char *const left = ((const wi_csv_category *)a)->text, *const right =
                                                                     ((const wi_csv_category *)b)->text;
    int64_t x = 0, y = 0;
    const bool whole_left = whole_number(left, &x), whole_right = whole_number(right, &y);
    if (whole_left != whole_right) return whole_left ? -1 : 1;
    if (whole_left && x != y) return x < y ? -1 : 1;
    return strcmp(left, right);
}

/* The slot of a text, or the free slot for it. */
static size_t slot_of(const wi_csv_chosen *column, const char *text) {
    size_t at = (size_t)XXH3_64bits(text, strlen(text)) & (column->slot_count - 1);
    for (; column->slots[at]; at = (at + 1) & (column->slot_count - 1))
        if (strcmp(column->categories[column->slots[at] - 1].text, text) == 0) break;
    return at;
}

static weft_status grow_slots(const wi_csv_builder *b, wi_csv_chosen *column) {
    if (2 * (column->category_count + 1) <= column->slot_count) return WEFT_OK;
    const size_t count = column->slot_count ? 2 * column->slot_count : 16;
    wi_release(b->allocator, column->slots);
    column->slot_count = count;
    column->slots = wi_allocate_array(b->allocator, count, sizeof *column->slots);
    if (!column->slots) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < column->category_count; i++)
        column->slots[slot_of(column, column->categories[i].text)] = (int32_t)i + 1;
    return WEFT_OK;
}

/* *is_new: the column did not have the category, whose text is copied. */
static weft_status add_category(wi_csv_builder *b, wi_csv_chosen *column, const char *text, bool *is_new) {
    if (column->category_count >= INT32_MAX)
        WI_FAIL(WEFT_ERROR_FORMAT, "'%s': a column has more than 2^31 - 1 categories", b->table.file.path);
    WI_TRY(grow_slots(b, column));
    const size_t slot = slot_of(column, text), count = column->category_count;
    *is_new = column->slots[slot] == 0;
    if (!*is_new) return WEFT_OK;
    WI_TRY(wi_grow(b->allocator, (void **)&column->categories, &column->category_capacity, count + 1,
        sizeof *column->categories));
    const char *const copy = wi_arena_string(&b->arena, text);
    if (!copy) return WEFT_ERROR_MEMORY;
    column->categories[count] = (wi_csv_category){copy, (int32_t)count};
    column->slots[slot] = (int32_t)++column->category_count;
    return WEFT_OK;
}

static weft_status give_category(wi_csv_builder *b, wi_csv_chosen *column, const char *text) {
    bool is_new = false;
    WI_TRY(add_category(b, column, text, &is_new));
    if (is_new) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_dataset_open_csv: column '%s' has the category '%s' twice",
        column->spec.name, text);
}

static void sort_categories(const wi_csv_builder *b, wi_csv_chosen *column) {
    wi_release(b->allocator, column->slots);
    column->slots = NULL;
    column->slot_count = 0;
    qsort(column->categories, column->category_count, sizeof *column->categories, by_text);
}

weft_status wi_csv_set_given_categories(wi_csv_builder *b, wi_csv_chosen *column) {
    const weft_dataset *const like = b->options.like;
    const char *const *const texts = column->spec.categories;
    if (column->spec.kind != WEFT_CSV_CATEGORY) return WEFT_OK;
    for (size_t i = 0; texts && texts[i]; i++) WI_TRY(give_category(b, column, texts[i]));
    const wi_name *const same =
        texts || !like ? NULL : wi_names_find(b->like, like->count, column->spec.name);
    const size_t known = same ? weft_dataset_category_count(like, same->number) : 0;
    for (size_t i = 0; i < known; i++)
        WI_TRY(give_category(b, column, weft_dataset_category(like, same->number, (int32_t)i)));
    column->fixed = column->category_count > 0;
    if (column->fixed) sort_categories(b, column);
    return WEFT_OK;
}

void wi_csv_number_categories(const wi_csv_builder *b, wi_csv_chosen *column) {
    if (column->fixed || column->category_count == 0) return;
    sort_categories(b, column);
    for (size_t i = 0; i < column->category_count; i++) column->categories[i].number = (int32_t)i;
}

weft_status wi_csv_gather_categories(wi_csv_builder *b) {
    bool is_new = false;
    for (size_t c = 0; c < b->count; c++) {
        wi_csv_chosen *const column = &b->columns[c];
        if (column->spec.kind != WEFT_CSV_CATEGORY || column->fixed) continue;
        for (size_t i = 0; i < column->count; i++)
            WI_TRY(add_category(b, column, b->walk.cells[column->fields[i]], &is_new));
    }
    return WEFT_OK;
}

int32_t wi_csv_find_category(const wi_csv_chosen *column, const char *text) {
    const wi_csv_category key = {.text = text};
    const wi_csv_category *const found =
        column->category_count
            ? bsearch(&key, column->categories, column->category_count, sizeof key, by_text)
            : NULL;
    return found ? found->number : -1;
}

weft_status wi_csv_copy_categories(const wi_csv_builder *b, weft_dataset *dataset) {
    for (size_t c = 0; c < b->count; c++) {
        const wi_csv_chosen *const column = &b->columns[c];
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
