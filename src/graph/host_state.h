/* State of a training in host memory, such as the history of L-BFGS. Checkpoints and snapshots contain the states that
 * have been added to the graph, in the order in which they were added. The owner of a state removes it before freeing
 * its memory. */
#ifndef WI_HOST_STATE_H
#define WI_HOST_STATE_H

#include "graph/weft_graph.h"

struct wi_host_state {
    const char *kind;                            /* its name in checkpoints: "lbfgs" */
    size_t (*size)(struct wi_host_state *state); /* the number of bytes that save would write */
    void (*save)(struct wi_host_state *state, unsigned char *bytes);
    /* Reads what save wrote, perhaps in another process. If bytes is NULL, the state is reset. If the bytes do not fit,
     * the state is reset and a message is logged. If memory runs out, the state is reset and WEFT_ERROR_MEMORY is
     * returned. */
    weft_status (*load)(struct wi_host_state *state, const unsigned char *bytes, size_t size);
    uint64_t number; /* unique in the graph, also among removed states */
    struct wi_host_state *next;
};

void wi_host_state_add(weft_graph *graph, wi_host_state *state);
void wi_host_state_remove(weft_graph *graph, wi_host_state *state); /* ignores a state that was not added */

/* Copies of all states of a graph in host memory. */
typedef struct wi_host_copies {
    struct wi_host_copy *of;
    size_t count, capacity;
} wi_host_copies;
void wi_host_copies_clear(const weft_graph *graph, wi_host_copies *copies);
weft_status wi_host_copies_take(weft_graph *graph, wi_host_copies *copies); /* replaces earlier copies */
/* Restores the copied states. States that have been added since the copies were taken do not change. */
weft_status wi_host_copies_restore(weft_graph *graph, const wi_host_copies *copies);

#endif
