/* `weft bench curve --shards`: the same training by a trainer, whose batches are divided into gradient shards and among the processes of a
 * launcher. */
#ifndef CURVE_TRAINER_H
#define CURVE_TRAINER_H

#include "bench_networks.h"

typedef struct curve_training {
    const bench_network *network;
    const char *batches, *weights, *csv_log; /* files; weights NULL: not written */
    size_t batch, steps, shards;             /* batch: of all processes; shards: of a process */
    float rate;                              /* of SGD; 0: the network's own optimizer */
    weft_precision precision;
} curve_training;

/* The loss of each step is a line of the log. */
weft_status curve_train(weft_context *context, weft_distributed *job, const curve_training *training);

#endif
