/* The parameters and named states of a graph to a safetensors file, one variable at a time. */
#include "base/platform.h"
#include "graph/dtype.h"
#include "graph/nodes.h"
#include "io/graph_state.h"
#include "io/safetensors_write.h"
#include <math.h>
#include <weft/io.h>

/* ---- rounding ---- */

/* As the graph has it. */
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

/* In place: each number ends before the next one begins. */
static weft_status round_numbers(const wi_saved_entry *entry, void *data, const char *path) {
    const wi_format *const from = wi_format_of(entry->variable->dtype), *const to =
                                                                            wi_format_of(entry->dtype);
    if (from == to) return WEFT_OK;
    for (size_t i = 0; i < entry->bytes / to->size; i++) {
        const double value = from->get(data, i);
        to->put(data, i, value);
        if (isfinite(value) && !isfinite(to->get(data, i)))
            WI_FAIL(WEFT_ERROR_NOT_FINITE, "'%s': tensor '%s': element %zu, %g, does not fit %s", path,
                entry->name, i, value, to->name);
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

weft_status weft_weights_save(weft_graph *graph, const char *path) {
    return weft_weights_save_dtype(graph, path, WEFT_F32);
}

weft_status weft_weights_save_dtype(weft_graph *graph, const char *path, weft_dtype dtype) {
    if (!graph || !path) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_weights_save: graph and path must not be NULL");
    if (dtype != WEFT_F32 && !wi_dtype_valid(dtype))
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_weights_save_dtype: %d is no weft_dtype", (int)dtype);
    if (dtype != WEFT_F32 && !wi_dtype_rounds(dtype))
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_weights_save_dtype: weights are saved in f32, f16 or bf16, not %s",
            weft_dtype_name(dtype));
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
    WI_TRY_DONE(wi_list_weights(&list, graph));
    narrow_entries(&list, dtype);
    WI_TRY_DONE(wi_saved_header(&header, path, &list, &bytes));
    scratch = wi_allocate(allocator, largest_bytes(&list));
    if (!scratch) WI_FAIL_DONE(WEFT_ERROR_MEMORY, "out of memory while writing '%s'", path);
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
