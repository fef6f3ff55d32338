/* A program as a graph with its loss, gradients and update. */
#ifndef RANDOM_TRAINED_H
#define RANDOM_TRAINED_H

#include "random/random_program.h"

enum { PROGRAM_OUTPUTS = 3 * PROGRAM_VALUES };
#define PROGRAM_RATE 0.125f

typedef struct trained {
    program_graph built;
    weft_tensor *weights[PROGRAM_LOSS_TERMS]; /* inputs */
    int wrt[PROGRAM_VALUES], wrt_count;
    weft_tensor *gradients[PROGRAM_VALUES], *seconds[PROGRAM_VALUES],
        *across[PROGRAM_VALUES]; /* by place in wrt */
    weft_tensor *update;
    weft_tensor *outputs[PROGRAM_OUTPUTS];
    size_t output_count,
        value_count; /* the first of them have values; assignments and the update come after them */
    void *kept[PROGRAM_OUTPUTS]; /* the bytes of these values in the first run, until program_forget */
    uint64_t runs;               /* of its plans so far */
} trained;

/* The graph has an error: its status. What is there of it is released with trained.built.graph in any case. */
weft_status program_prepare(trained *t, weft_context *context, const program *p, const oracle_sizes *sizes);
/* What a plan of it reads: the numbers of its sources, then, once the loss's terms are known, weights and directions. */
void program_write_sources(const trained *t, const program *p, weft_plan *plan, f64_array *const *values);
void program_write_directions(const trained *t, const program *p, weft_plan *plan, f64_array *const *values);
/* Frees what was kept, and the graph. */
void program_forget(trained *t);
/* Is the source a parameter that the update leaves alone? */
bool program_is_frozen(const program *p, int source);

#endif
