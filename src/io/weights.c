/* The parameters and named states of a graph to a safetensors file, one variable at a time. */
#include "base/platform.h"
#include "graph/nodes.h"
#include "io/graph_state.h"
#include "io/safetensors_write.h"
#include <weft/io.h>

static size_t largest_bytes(const wi_saved_list *list) {
    size_t largest = 1;
    for (size_t i = 0; i < list->count; i++)
        if (list->entries[i].bytes > largest) largest = list->entries[i].bytes;
    return largest;
}

static weft_status append_data(wi_file_writer *writer, const wi_saved_list *list, void *scratch) {
    for (size_t i = 0; i < list->count; i++) {
        WI_TRY(wi_saved_entry_read(&list->entries[i], scratch));
        WI_TRY(wi_file_writer_append(writer, scratch, list->entries[i].bytes));
    }
    return WEFT_OK;
}

weft_status weft_weights_save(weft_graph *graph, const char *path) {
    if (!graph || !path) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_weights_save: graph and path must not be NULL");
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
    WI_TRY_DONE(wi_saved_header(&header, path, &list, &bytes));
    scratch = wi_allocate(allocator, largest_bytes(&list));
    if (!scratch) WI_FAIL_DONE(WEFT_ERROR_MEMORY, "out of memory while writing '%s'", path);
    WI_TRY_DONE(wi_file_writer_begin(&writer, allocator, path));
    WI_TRY_DONE(wi_file_writer_append(writer, header.data, header.length));
    WI_TRY_DONE(append_data(writer, &list, scratch));
    status = wi_file_writer_commit(writer);
    writer = NULL;
done:
    wi_file_writer_abandon(writer);
    wi_release(allocator, scratch);
    wi_text_clear(&header);
    wi_saved_list_clear(&list);
    return status;
}
