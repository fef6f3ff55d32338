/* A context: the opened devices, and the allocator, log and seed that the program chose.
 *
 * Only one thread at a time may use a context and what was created from it; retain, release and weft_context_memory may
 * be called from any thread. Layers above read the fields, and write only those whose comments name the layer. */
#ifndef WI_CONTEXT_H
#define WI_CONTEXT_H

#include "base/file_read.h"
#include "base/log.h"
#include "cl/max_devices.h"
#include "cl/opened_device.h"
#include <stdatomic.h>

struct weft_context {
    weft_allocator allocator_storage;
    const weft_allocator *allocator; /* NULL (malloc) or &allocator_storage */
    wi_log log;
    weft_progress_function progress;
    void *progress_user;
    void (*on_release)(void *user); /* NULL: none */
    void *release_user;
    uint64_t seed;
    wi_file_rules files; /* which files may be read */
    size_t data_limit;   /* the option; 0: the default */
    wi_device *devices[WI_MAX_DEVICES];
    int device_count;
    struct weft_graph *graph; /* the default graph, set on demand by src/graph; released first */
    void (*graph_release)(struct weft_graph *graph);
    int plan_count; /* plans created so far; counted by src/plan */
    unsigned told;  /* bits of formats for which the log said that f32 is used instead; set by src/plan */
    atomic_int references;
};

/* Opens one more device by these options, and appends it to the context's devices. */
weft_status wi_context_open_device(weft_context *context, const weft_context_options *options);

/* Device 0: it has the parameters and states, and plans run on it. */
static inline wi_device *wi_context_device(const weft_context *context) {
    return context->devices[0];
}

#endif
