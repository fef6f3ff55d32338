/* A context: the devices that were opened together, and what is the program's own (allocator, log, seed).
 *
 * One thread at a time may use a context and what was made from it (retain, release and weft_context_memory
 * may be called from any). The fields are read by the layers above; only src/cl writes them. */
#ifndef WI_CONTEXT_H
#define WI_CONTEXT_H

#include "cl/opened_device.h"
#include <stdatomic.h>

enum { WI_MAX_DEVICES = 8 }; /* of a context */

struct weft_context {
    weft_allocator allocator_storage;
    const weft_allocator *allocator; /* NULL or &allocator_storage */
    wi_log log;
    weft_progress_function progress;
    void *progress_user;
    uint64_t seed;
    wi_file_rules files; /* which are read */
    wi_device *devices[WI_MAX_DEVICES];
    int device_count;
    struct weft_graph *graph; /* the default graph, made on demand by src/graph; released first */
    void (*graph_release)(struct weft_graph *graph);
    int plan_count; /* made so far, by src/plan */
    unsigned told;  /* formats, a bit each, of which the log says that f32 arithmetic serves; by src/plan */
    atomic_int references;
};

/* Opens one more device as these options say; its index is the next. */
weft_status wi_context_open_device(weft_context *context, const weft_context_options *options);

/* The device that parameters and states belong to, and that a plan runs on: index 0. */
static inline wi_device *wi_context_device(const weft_context *context) {
    return context->devices[0];
}

#endif
