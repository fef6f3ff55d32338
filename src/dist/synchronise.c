/* Copies the values that parameters and states have in rank 0 to all processes (contract in weft/distributed.h). */
#include "dist/group.h"
#include "io/graph_state.h"
#include <inttypes.h>

/* Writes a line for each tensor with its name, dtype and shape, and a line each with the number of clocks and of scalars. */
static void describe(const wi_saved_list *list, wi_text *text) {
    for (size_t i = 0; i < list->count; i++) {
        const wi_saved_entry *const entry = &list->entries[i];
        wi_text_append(text, "%s: %s", entry->name, weft_dtype_name(entry->dtype));
        for (int d = 0; d < entry->rank; d++)
            wi_text_append(text, "%s%" PRId64, d ? ", " : " ", entry->dims[d]);
        wi_text_append(text, "\n");
    }
    for (size_t i = 0; i < list->pair_count; i++)
        wi_text_append(text, "%s: %s\n", list->pairs[i].key, list->pairs[i].value);
}

static weft_status send_entry(weft_distributed *job, const wi_saved_entry *entry) {
    weft_status status = WEFT_ERROR_MEMORY;
    unsigned char *const data = wi_allocate(job->allocator, entry->bytes + 1);
    if (data) status = job->rank == 0 ? wi_saved_entry_read(entry, data) : WEFT_OK;
    if (status == WEFT_OK) status = wi_group_broadcast(job, data, entry->bytes, 0);
    if (status == WEFT_OK && job->rank > 0) status = wi_saved_entry_write(entry, data);
    wi_release(job->allocator, data);
    return status;
}

static weft_status synchronise(weft_distributed *job, weft_graph *graph, wi_saved_list *list, wi_text *text) {
    const weft_status listed = wi_list_graph(list, graph);
    WI_TRY(wi_group_meet(job, WI_MEET_SYNCHRONISE, listed));
    describe(list, text);
    WI_TRY(wi_group_compare(job, "weft_distributed_synchronise", text->failed ? "" : text->data));
    for (size_t i = 0; i < list->count; i++)
        if (!wi_saved_entry_is_divided(&list->entries[i])) WI_TRY(send_entry(job, &list->entries[i]));
    return WEFT_OK;
}

weft_status weft_distributed_synchronise(weft_distributed *job, weft_graph *graph) {
    if (!job || !graph)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_distributed_synchronise: job and graph must not be NULL");
    if (job->size == 1) return WEFT_OK;
    wi_saved_list list;
    wi_text text;
    wi_saved_list_init(&list, job->allocator);
    wi_text_init(&text, job->allocator);
    const weft_status status = synchronise(job, graph, &list, &text);
    wi_text_clear(&text);
    wi_saved_list_clear(&list);
    return status;
}
