/* A network is trained on a device with small buffers and on one without: what it learns is the same. */
#ifndef PRETENDED_TRAINING_H
#define PRETENDED_TRAINING_H

#include "pretend/pretended.h"

typedef struct trained_network {
    const char *name;
    weft_tensor *(*loss)(weft_tensor *x, weft_tensor *label);
    int64_t batch, dims[4];          /* of an example; ended by 0 */
    float tolerance;                 /* of losses and parameters, beside the largest of them */
    weft_dtype dtype;                /* of x */
    const weft_optimizer *optimizer; /* NULL: SGD with momentum */
    weft_precision precision;        /* WEFT_PRECISION_F32 */
    const char *sparse;              /* the parameters that are updated by rows; NULL: none */
    bool unlabelled;                 /* the loss reads no label */
} trained_network;

enum { TRAINED_STEPS = 2 };

typedef struct trained {
    float losses[TRAINED_STEPS], *parameters;
    size_t
        count; /* of the numbers of parameters, and behind them of their averages, where the optimizer keeps any */
    pretend_record record;
    weft_plan_info info;
} trained;

/* Asserts that losses and parameters are those of the device without the limit, that nothing was above a limit, and that a buffer
 * of the first device is 1 MiB at most, where the other's are larger. The records are there for what the caller asserts. */
void assert_same_training(
    const trained_network *n, const char *limited, const char *unlimited, trained *cut, trained *whole);

#endif
