/* What `weft tune` works on: a training step of a network, a matrix product, or a convolution with its gradients. */
#ifndef WEFT_TUNE_WORK_H
#define WEFT_TUNE_WORK_H

#include "bench_networks.h"

enum { TUNE_NUMBERS = 7 };

typedef struct tune_work {
    const char *text; /* as it was asked for */
    const bench_network *network;
    int64_t numbers[TUNE_NUMBERS];
    int count;          /* of the numbers: 3 of a product */
    bool transposed[2]; /* the product's matrices in memory */
    int64_t batch;      /* of a network; 0: its own */
    weft_precision precision;
} tune_work;

/* It in a graph of its own, planned, with its inputs written. */
typedef struct tune_model {
    bench_model model; /* of a network */
    weft_graph *graph;
    weft_plan *plan;
} tune_model;

/* "AlexNet-R", "512x512x512:NT" (MxNxK), "16x56x64x128x3x2x1" (batch, size, channels, filters, window, and, 1 without,
 * stride and groups). false: it is none of these. */
bool tune_work_parse(tune_work *work, const char *text);
/* Clear it also after a failure. */
weft_status tune_model_create(tune_model *model, weft_context *context, const tune_work *work);
void tune_model_clear(tune_model *model);

#endif
