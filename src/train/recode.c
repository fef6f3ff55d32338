/* Datasets whose categories get the numbers that a graph has for them (contract in recode.h). */
#include "train/recode.h"
#include "base/names.h"
#include <stdio.h>
#include <string.h>

/* ---- numbers of categories ---- */

/* (*numbers)[i]: the number in `to` of category i of `from`; -1: `to` has no category of this text. The caller releases
 * *numbers, also after an error. */
static weft_status match_categories(
    int32_t **numbers, const weft_allocator *allocator, const weft_encoding *from, const weft_encoding *to) {
    wi_name *const names = wi_allocate_array(allocator, to->count + 1, sizeof *names);
    *numbers = wi_allocate_array(allocator, from->count + 1, sizeof **numbers);
    if (names && *numbers) {
        for (size_t i = 0; i < to->count; i++) names[i] = (wi_name){to->texts[i], i};
        wi_names_sort(names, to->count);
    }
    for (size_t i = 0; names && *numbers && i < from->count; i++) {
        const wi_name *const found = wi_names_find(names, to->count, from->texts[i]);
        (*numbers)[i] = found ? (int32_t)found->number : -1;
    }
    wi_release(allocator, names);
    return names && *numbers ? WEFT_OK : WEFT_ERROR_MEMORY;
}

static weft_status fail_unknown(
    const weft_column *column, int32_t number, size_t example, const weft_encoding *known) {
    char names[256];
    size_t used = 0;
    for (size_t i = 0; i < known->count && used + 1 < sizeof names; i++) {
        const int wrote =
            snprintf(names + used, sizeof names - used, "%s'%s'", i ? ", " : "", known->texts[i]);
        used += wrote > 0 ? (size_t)wrote : 0;
    }
    WI_FAIL(WEFT_ERROR_ARGUMENT,
        "column '%.100s': example %zu is '%.100s', which is not one of the %zu categories of the training "
        "data: %s",
        column->name, example, column->encoding->texts[number], known->count, names);
}

/* to: the column with its numbers mapped. A number that is not a category, such as an ignored label, does not change. */
static weft_status map_numbers(
    int32_t *to, const weft_dataset *dataset, size_t index, const weft_encoding *known, const int32_t *map) {
    const weft_column *const column = &dataset->columns[index];
    const int32_t *const from = column->data;
    const size_t each = wi_column_bytes(column) / sizeof *from;
    for (size_t i = 0; i < each * dataset->examples; i++) {
        const bool is_category = from[i] >= 0 && (size_t)from[i] < column->encoding->count;
        to[i] = is_category ? map[from[i]] : from[i];
        if (is_category && to[i] < 0) return fail_unknown(column, from[i], i / each, known);
    }
    return WEFT_OK;
}

/* `recoded` shares the data of its base dataset. Gives one of its columns separate data, in which the categories have
 * the numbers that `known` gives them. */
static weft_status recode_column(weft_dataset *recoded, size_t index, const weft_encoding *known) {
    const weft_dataset *const base = recoded->base;
    const weft_allocator *const allocator = base->context->allocator;
    weft_column *const column = &recoded->columns[index];
    int32_t *map = NULL;
    weft_status status = match_categories(&map, allocator, column->encoding, known);
    int32_t *const numbers =
        status == WEFT_OK ? wi_allocate_array(allocator, base->examples, wi_column_bytes(column)) : NULL;
    if (!numbers) status = WEFT_ERROR_MEMORY;
    if (status == WEFT_OK) status = map_numbers(numbers, base, index, known, map);
    wi_release(allocator, map);
    if (numbers) column->data = numbers;
    column->encoding = status == WEFT_OK ? wi_encoding_copy(&recoded->arena, known) : NULL;
    if (status == WEFT_OK && !column->encoding) status = WEFT_ERROR_MEMORY;
    return status;
}

/* ---- columns that a source makes ---- */

/* Lets another source make an example, and maps its categories. */
typedef struct mapping_source {
    wi_source base; /* must be first: a loader knows only this struct */
    const weft_dataset *dataset;
    wi_source *inner;
    int32_t **maps;              /* by column; NULL: the column is not mapped */
    const weft_encoding **known; /* by column: the encoding to which it is mapped */
} mapping_source;

static weft_status make_mapped(
    const wi_source *base, const wi_example *example, wi_workspace *workspace, void *const *targets) {
    const mapping_source *const source = (const mapping_source *)(const void *)base;
    const weft_dataset *const dataset = source->dataset;
    WI_TRY(source->inner->load(source->inner, example, workspace, targets));
    for (size_t c = 0; c < dataset->count; c++) {
        const weft_column *const column = &dataset->columns[c];
        int32_t *const numbers = source->maps[c] ? targets[c] : NULL;
        for (size_t i = 0; numbers && i < wi_column_bytes(column) / sizeof *numbers; i++) {
            const int32_t number = numbers[i];
            if (number < 0 || (size_t)number >= column->encoding->count) continue;
            numbers[i] = source->maps[c][number];
            if (numbers[i] < 0) return fail_unknown(column, number, example->index, source->known[c]);
        }
    }
    return WEFT_OK;
}

static weft_status finish_mapped(const wi_source *base, const wi_batch *batch, wi_workspace *workspace) {
    const wi_source *const inner = ((const mapping_source *)(const void *)base)->inner;
    return inner->finish(inner, batch, workspace);
}

static void destroy_mapped(wi_source *base) {
    mapping_source *const source = (mapping_source *)(void *)base;
    const weft_allocator *const allocator = source->dataset->context->allocator;
    for (size_t c = 0; c < source->dataset->count && source->maps; c++)
        wi_release(allocator, source->maps[c]);
    wi_source_release(source->inner);
    wi_release(allocator, source->maps);
    wi_release(allocator, (void *)source->known);
    wi_release(allocator, source);
}

/* Lets the recoded dataset read through a mapping source instead of the source of its base dataset, unless it does already. */
static weft_status map_source(weft_dataset *recoded, mapping_source **source) {
    const weft_dataset *const base = recoded->base;
    const weft_allocator *const allocator = base->context->allocator;
    if (recoded->source != base->source) return *source = (mapping_source *)(void *)recoded->source, WEFT_OK;
    mapping_source *const made = wi_allocate(allocator, sizeof *made);
    if (!made) return WEFT_ERROR_MEMORY;
    wi_source_init(&made->base, base->source->columns, make_mapped, destroy_mapped);
    made->base.finish = base->source->finish ? finish_mapped : NULL;
    made->dataset = base;
    made->inner = recoded->source;
    made->maps = wi_allocate_array(allocator, base->count, sizeof *made->maps);
    made->known = wi_allocate_array(allocator, base->count, sizeof *made->known);
    recoded->source = &made->base;
    *source = made;
    return made->maps && made->known ? WEFT_OK : WEFT_ERROR_MEMORY;
}

static weft_status recode_made(weft_dataset *recoded, size_t index, const weft_encoding *known) {
    mapping_source *source = NULL;
    weft_column *const column = &recoded->columns[index];
    WI_TRY(map_source(recoded, &source));
    WI_TRY(match_categories(&source->maps[index], recoded->context->allocator, column->encoding, known));
    column->encoding = wi_encoding_copy(&recoded->arena, known);
    source->known[index] = column->encoding;
    return column->encoding ? WEFT_OK : WEFT_ERROR_MEMORY;
}

/* ---- datasets ---- */

static weft_status make_over(weft_dataset **made, weft_dataset *base) {
    weft_dataset *const over = wi_allocate(base->context->allocator, sizeof *over);
    if (!over) return WEFT_ERROR_MEMORY;
    over->context = weft_context_retain(base->context);
    over->source = wi_source_retain(base->source);
    over->base = weft_dataset_retain(base);
    over->examples = base->examples;
    over->origins = base->origins;
    over->skipped = base->skipped;
    atomic_init(&over->references, 1);
    wi_arena_init(&over->arena, base->context->allocator);
    over->columns = wi_arena_take(&over->arena, base->count * sizeof *over->columns);
    if (!over->columns) {
        weft_dataset_release(over);
        return WEFT_ERROR_MEMORY;
    }
    memcpy(over->columns, base->columns, base->count * sizeof *over->columns);
    over->count = base->count;
    *made = over;
    return WEFT_OK;
}

static bool can_map(const weft_column *column, const weft_encoding *known) {
    return column->dtype == WEFT_I32 && column->encoding->kind == WI_CATEGORIES &&
           known->kind == WI_CATEGORIES;
}

static weft_status match_column(
    weft_dataset **recoded, weft_dataset *dataset, const weft_graph *graph, size_t c) {
    const weft_column *const column = &dataset->columns[c];
    const weft_encoding *const known = wi_graph_encoding(graph, column->name);
    if (!known || !column->encoding || wi_encoding_equal(column->encoding, known)) return WEFT_OK;
    if (!can_map(column, known)) return wi_encoding_check(column->name, column->encoding, known);
    if (!*recoded) WI_TRY(make_over(recoded, dataset));
    return column->data ? recode_column(*recoded, c, known) : recode_made(*recoded, c, known);
}

weft_status wi_dataset_recode(
    weft_dataset **recoded, weft_dataset *dataset, const weft_graph *graph, const bool *used) {
    weft_status status = WEFT_OK;
    *recoded = NULL;
    for (size_t c = 0; c < dataset->count && status == WEFT_OK; c++)
        if (used[c]) status = match_column(recoded, dataset, graph, c);
    if (status == WEFT_OK && !*recoded) *recoded = weft_dataset_retain(dataset);
    if (status == WEFT_OK) return WEFT_OK;
    weft_dataset_release(*recoded);
    *recoded = NULL;
    return status;
}

weft_status wi_dataset_keep_encodings(weft_graph *graph, const weft_dataset *dataset, const bool *used) {
    const weft_allocator *const allocator = dataset->context->allocator;
    wi_named_encoding *const named = wi_allocate_array(allocator, dataset->count, sizeof *named);
    size_t count = 0;
    if (!named) return WEFT_ERROR_MEMORY;
    for (size_t c = 0; c < dataset->count; c++)
        if (used[c])
            named[count++] = (wi_named_encoding){dataset->columns[c].name, dataset->columns[c].encoding};
    const weft_status status = wi_graph_encodings_set(graph, named, count);
    wi_release(allocator, named);
    return status;
}
