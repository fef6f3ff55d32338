/* States of a training in host memory (contract in host_state.h). */
#include "graph/host_state.h"
#include "cl/context.h"

typedef struct wi_host_copy {
    uint64_t number; /* of the state */
    unsigned char *bytes;
    size_t size;
} wi_host_copy;

void wi_host_state_add(weft_graph *graph, wi_host_state *state) {
    wi_host_state **place = &graph->host_states;
    while (*place) place = &(*place)->next;
    state->number = graph->host_state_count++;
    state->next = NULL;
    *place = state;
}

void wi_host_state_remove(weft_graph *graph, wi_host_state *state) {
    for (wi_host_state **place = &graph->host_states; *place; place = &(*place)->next)
        if (*place == state) {
            *place = state->next;
            return;
        }
}

/* ---- copies ---- */

void wi_host_copies_clear(const weft_graph *graph, wi_host_copies *copies) {
    for (size_t i = 0; i < copies->count; i++) wi_release(graph->context->allocator, copies->of[i].bytes);
    wi_release(graph->context->allocator, copies->of);
    *copies = (wi_host_copies){0};
}

static weft_status take_one(const weft_graph *graph, wi_host_copies *copies, wi_host_state *state) {
    const weft_allocator *const allocator = graph->context->allocator;
    wi_host_copy copy = {.number = state->number, .size = state->size(state)};
    WI_TRY(
        wi_grow(allocator, (void **)&copies->of, &copies->capacity, copies->count + 1, sizeof *copies->of));
    copy.bytes = wi_allocate(allocator, copy.size);
    if (!copy.bytes) return WEFT_ERROR_MEMORY;
    state->save(state, copy.bytes);
    copies->of[copies->count++] = copy;
    return WEFT_OK;
}

weft_status wi_host_copies_take(weft_graph *graph, wi_host_copies *copies) {
    weft_status status = WEFT_OK;
    wi_host_copies_clear(graph, copies);
    for (wi_host_state *state = graph->host_states; state && status == WEFT_OK; state = state->next)
        status = take_one(graph, copies, state);
    if (status != WEFT_OK) wi_host_copies_clear(graph, copies);
    return status;
}

weft_status wi_host_copies_restore(weft_graph *graph, const wi_host_copies *copies) {
    for (size_t i = 0; i < copies->count; i++)
        for (wi_host_state *state = graph->host_states; state; state = state->next)
            if (state->number == copies->of[i].number)
                WI_TRY(state->load(state, copies->of[i].bytes, copies->of[i].size));
    return WEFT_OK;
}
