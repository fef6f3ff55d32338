/* State of a training that lies in host memory, as L-BFGS's history does. Checkpoints and snapshots keep what the graph knows
 * of, in the order in which it was added. The owner adds its state to the graph, and removes it before its memory ends. */
#ifndef WI_HOST_STATE_H
#define WI_HOST_STATE_H

#include "graph/nodes.h"

struct wi_host_state {
    const char *kind;                            /* its name in checkpoints: "lbfgs" */
    size_t (*size)(struct wi_host_state *state); /* bytes that save writes now */
    void (*save)(struct wi_host_state *state, unsigned char *bytes);
    /* Takes what save wrote, perhaps in another process. bytes NULL: the state begins anew, and so does one that the bytes do
     * not fit, which the log says. Error: WEFT_ERROR_MEMORY, after which the state has begun anew. */
    weft_status (*load)(struct wi_host_state *state, const unsigned char *bytes, size_t size);
    uint64_t number; /* of the graph's; no other has it, though it be removed */
    struct wi_host_state *next;
};

void wi_host_state_add(weft_graph *graph, wi_host_state *state);
void wi_host_state_remove(weft_graph *graph, wi_host_state *state); /* one that was not added is ignored */

/* Copies of all states of a graph in host memory. */
typedef struct wi_host_copies {
    struct wi_host_copy *of;
    size_t count, capacity;
} wi_host_copies;
void wi_host_copies_clear(const weft_graph *graph, wi_host_copies *copies);
weft_status wi_host_copies_take(weft_graph *graph, wi_host_copies *copies); /* replaces what they hold */
/* States that were added since keep what they hold. */
weft_status wi_host_copies_restore(weft_graph *graph, const wi_host_copies *copies);

#endif
