/* Saves the parameters and named states of a graph to a safetensors file, one variable at a time. */
#include "base/options.h"
#include "base/platform.h"
#include "cl/context.h"
#include "graph/dtype.h"
#include "io/graph_state.h"
#include "io/name_choice.h"
#include "io/safetensors_write.h"
#include <math.h>
#include <weft/io.h>

/* ---- rounding ---- */

/* The entry with the dtype and size that the variable has in the graph. */
static wi_saved_entry in_memory(const wi_saved_entry *entry) {
    wi_saved_entry whole = *entry;
    whole.dtype = entry->variable->dtype;
    whole.bytes = entry->bytes / weft_dtype_size(entry->dtype) * weft_dtype_size(whole.dtype);
    return whole;
}

static void narrow_entries(wi_saved_list *list, weft_dtype dtype) {
    for (size_t i = 0; i < list->count; i++) {
        wi_saved_entry *const entry = &list->entries[i];
        if (entry->dtype != WEFT_F32) continue;
        entry->dtype = dtype;
        entry->bytes = entry->bytes / weft_dtype_size(WEFT_F32) * weft_dtype_size(dtype);
    }
}

/* Rounds numbers in place to the entry's dtype, which is not larger, so that no number is overwritten before it is read. */
static weft_status round_numbers(const wi_saved_entry *entry, void *data, const char *path) {
    const wi_format *const from = wi_format_of(entry->variable->dtype), *const to =
                                                                            wi_format_of(entry->dtype);
    if (from == to) return WEFT_OK;
    for (size_t i = 0; i < entry->bytes / to->size; i++) {
        const double value = from->get(data, i);
        to->put(data, i, value);
        if (isfinite(value) && !isfinite(to->get(data, i)))
            WI_FAIL(WEFT_ERROR_NOT_FINITE, "'%s': tensor '%s': element %zu is %g, which does not fit into %s",
                path, entry->name, i, value, to->name);
    }
    return WEFT_OK;
}

/* ---- the file ---- */

static size_t largest_bytes(const wi_saved_list *list) {
    size_t largest = 1;
    for (size_t i = 0; i < list->count; i++) {
        const size_t bytes = in_memory(&list->entries[i]).bytes;
        if (bytes > largest) largest = bytes;
    }
    return largest;
}

static weft_status append_data(
    wi_file_writer *writer, const wi_saved_list *list, const char *path, void *scratch) {
    for (size_t i = 0; i < list->count; i++) {
        const wi_saved_entry *const entry = &list->entries[i], whole = in_memory(entry);
        WI_TRY(wi_saved_entry_read(&whole, scratch));
        WI_TRY(round_numbers(entry, scratch, path));
        WI_TRY(wi_file_writer_append(writer, scratch, entry->bytes));
    }
    return WEFT_OK;
}

static weft_status check_patterns(
    const wi_saved_list *list, const char *path, const char *const *patterns, const char *option) {
    for (; patterns && *patterns; patterns++) {
        size_t i = 0;
        while (i < list->count && !wi_pattern_matches(*patterns, list->entries[i].name)) i++;
        if (i == list->count)
            WI_FAIL(WEFT_ERROR_ARGUMENT,
                "'%s': the option %s names '%.100s', but the graph has no such parameter or state", path,
                option, *patterns);
    }
    return WEFT_OK;
}

/* Removes entries that are not to be saved from the list, and gives the others their names in the file. */
static weft_status choose_entries(
    wi_saved_list *list, const char *path, const weft_weights_save_options *options) {
    const wi_renaming prefix = {options->prefix, options->new_prefix};
    const size_t all = list->count;
    WI_TRY(check_patterns(list, path, options->only, "only"));
    WI_TRY(check_patterns(list, path, options->skip, "skip"));
    list->count = 0;
    for (size_t i = 0; i < all; i++) {
        wi_saved_entry entry = list->entries[i];
        if (!wi_name_is_chosen(options->only, options->skip, entry.name)) continue;
        if (!(entry.name = wi_rename(&list->arena, &prefix, entry.name))) return WEFT_ERROR_MEMORY;
        list->entries[list->count++] = entry;
    }
    if (all && list->count == 0)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "'%s': the options only and skip exclude every parameter and state (%zu) of the graph", path,
            all);
    return WEFT_OK;
}

static weft_status read_options(weft_weights_save_options *options, const weft_weights_save_options *given) {
    WI_TRY(WI_OPTIONS(options, given, "weft_weights_save_with", WEFT_WEIGHTS_SAVE_OPTIONS_INIT));
    if (options->dtype != WEFT_F32 && !wi_dtype_valid(options->dtype))
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_weights_save_dtype: dtype is %d, which is not a weft_dtype",
            (int)options->dtype);
    if (options->dtype != WEFT_F32 && !wi_dtype_rounds(options->dtype))
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_weights_save_dtype: weights are saved in f32, f16 or bf16, not %s",
            weft_dtype_name(options->dtype));
    return WEFT_OK;
}

static weft_status list_chosen(
    wi_saved_list *list, weft_graph *graph, const char *path, const weft_weights_save_options *options) {
    WI_TRY(wi_list_weights(list, graph));
    WI_TRY(choose_entries(list, path, options));
    narrow_entries(list, options->dtype);
    return WEFT_OK;
}

weft_status weft_weights_save(weft_graph *graph, const char *path) {
    return weft_weights_save_with(graph, path, NULL);
}

weft_status weft_weights_save_dtype(weft_graph *graph, const char *path, weft_dtype dtype) {
    return weft_weights_save_with(
        graph, path, &(weft_weights_save_options){WEFT_WEIGHTS_SAVE_OPTIONS_INIT, .dtype = dtype});
}

weft_status weft_weights_save_with(
    weft_graph *graph, const char *path, const weft_weights_save_options *given) {
    weft_weights_save_options options;
    if (!graph || !path) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_weights_save: graph and path must not be NULL");
    WI_TRY(read_options(&options, given));
    WI_TRY(weft_graph_status(graph));
    const weft_allocator *const allocator = graph->context->allocator;
    weft_status status = WEFT_OK;
    wi_saved_list list;
    wi_text header;
    wi_file_writer *writer = NULL;
    void *scratch = NULL;
    size_t bytes = 0;
    wi_saved_list_init(&list, allocator);
    wi_text_init(&header, allocator);
    WI_TRY_DONE(list_chosen(&list, graph, path, &options));
    WI_TRY_DONE(wi_saved_header(&header, path, &list, &bytes));
    scratch = wi_allocate(allocator, largest_bytes(&list));
    if (!scratch) WI_FAIL_DONE(WEFT_ERROR_MEMORY, "out of host memory while writing '%s'", path);
    WI_TRY_DONE(wi_file_writer_begin(&writer, allocator, path));
    WI_TRY_DONE(wi_file_writer_append(writer, header.data, header.length));
    WI_TRY_DONE(append_data(writer, &list, path, scratch));
    status = wi_file_writer_commit(writer);
    writer = NULL;
done:
    wi_file_writer_abandon(writer);
    wi_release(allocator, scratch);
    wi_text_clear(&header);
    wi_saved_list_clear(&list);
    return status;
}
