/* A small network for tests of profiles: an LSTM, whose scan repeats launches on class gpu, a reduction, and an update. */
#ifndef PROFILED_NET_H
#define PROFILED_NET_H

#include <weft/weft.h>

enum {
    PROFILED_STEPS = 6,
    PROFILED_IN = 5,
    PROFILED_HIDDEN = 8,
    PROFILED_CLASSES = 3,
    PROFILED_BATCH = 4,
    PROFILED_MAX_PARAMETERS = 8
};

typedef struct profiled_net {
    weft_graph *graph;
    weft_tensor *x, *label, *loss;
    weft_plan *plan; /* computes a training step; has run twice */
} profiled_net;

/* The values of the loss and of all parameters. */
typedef struct profiled_numbers {
    float loss, parameters[PROFILED_MAX_PARAMETERS][4 * PROFILED_HIDDEN * PROFILED_STEPS * PROFILED_HIDDEN];
    size_t count, sizes[PROFILED_MAX_PARAMETERS]; /* bytes */
} profiled_numbers;

profiled_net profiled_net_in(weft_context *context);
void profiled_net_clear(profiled_net *n);
void profiled_net_read(const profiled_net *n, profiled_numbers *all);
/* Writes the parameters; the loss is not an input. */
void profiled_net_write(const profiled_net *n, const profiled_numbers *all);

#endif
