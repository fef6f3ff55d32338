/* A training of one layer, for tests in which OpenCL calls or allocations fail. */
#ifndef SMALL_TRAINING_H
#define SMALL_TRAINING_H

#include <weft/weft.h>

typedef struct small_training {
    weft_context *context;
    weft_graph *graph;
    weft_tensor *x, *outputs[1 + WEFT_MAX_UPDATES];
    size_t count;
    weft_plan *plan;
} small_training;

/* Creates the context, with these options and a fixed seed, the network, and its plan. */
small_training small_training_begin(weft_context_options options);
weft_plan *small_training_plan(const small_training *t);
void small_training_run(small_training *t, int steps, float *losses);
void small_training_end(small_training *t);

#endif
