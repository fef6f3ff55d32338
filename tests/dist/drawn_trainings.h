/* Drawn trainings: what a training computes, where it is computed, and what comes out of it. */
#ifndef DRAWN_TRAININGS_H
#define DRAWN_TRAININGS_H

#include "support/fixture.h"

enum { DRAWN_EPOCHS = 3, DRAWN_NUMBERS = 7 };

typedef enum drawn_network { DRAWN_CONV, DRAWN_DENSE, DRAWN_TEXT, DRAWN_NETWORKS } drawn_network;

/* What is computed. The same values give the same bits, wherever it is. */
typedef struct drawn_training {
    uint64_t number;
    drawn_network network;
    weft_optimizer optimizer;
    size_t shards;
    weft_dtype exchange;
    weft_precision precision;
    weft_schedule schedule;
    bool keeps_order, drops_last, watches, sparse, measures;
} drawn_training;

/* Where it is computed. */
typedef struct drawn_place {
    size_t devices, ranks;
    size_t limit;      /* memory_limit of each context; 0: none */
    size_t plan_limit; /* memory_limit of the trainer; 0: none */
    bool shard_optimizer;
} drawn_place;

/* A run up to a step, after which the training is resumed at another place. */
typedef struct drawn_leg {
    drawn_place place;
    size_t until; /* SIZE_MAX: the end */
} drawn_leg;

typedef struct drawn_outcome {
    weft_status status;
    char line[1024];
    double epochs[DRAWN_EPOCHS][DRAWN_NUMBERS], evaluated[2];
    unsigned char *file; /* the last checkpoint of rank 0 */
    size_t file_bytes;
    float *weights; /* of rank 0, after the run */
    size_t weight_count;
    size_t peak, steps;
    int64_t micro_batches;
    size_t host_bytes;
} drawn_outcome;

/* Runs one leg after the other. */
drawn_outcome drawn_run(const drawn_training *training, const drawn_leg *legs, size_t count);
void drawn_outcome_clear(drawn_outcome *outcome);

#endif
