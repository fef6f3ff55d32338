/* Trains a network on a simulated device with small buffers and on a device without this limit, and compares the weights. */
#ifndef PRETENDED_TRAINING_H
#define PRETENDED_TRAINING_H

#include "pretend/pretended.h"

typedef struct trained_network {
    const char *name;
    weft_tensor *(*loss)(weft_tensor *x, weft_tensor *label);
    int64_t batch, dims[4]; /* dims: the shape of an example; ended by 0 */
    float tolerance;        /* the allowed error of losses and parameters, relative to the largest of them */
    weft_dtype dtype;       /* the dtype of x */
    const weft_optimizer *optimizer; /* NULL: SGD with momentum */
    weft_precision precision;        /* default WEFT_PRECISION_F32 */
    const char *sparse;              /* the parameters that are updated by rows; NULL: none */
    size_t buffer;                   /* the bytes of the simulated devices' largest buffer; 0: 1 MiB */
    bool unlabelled;                 /* the loss reads no label */
    bool
        micro_batches; /* the plans for the simulated devices must have several micro-batches and undivided parameters */
} trained_network;

enum { TRAINED_STEPS = 2 };

/* Asserts that losses and parameters on each simulated device (`limited`) are those on a device of class gpu without the limit, that no
 * limit was exceeded, and that the plan for the unlimited device has larger buffers than a simulated device could have. */
void assert_same_training(const trained_network *n, const char *const *limited, size_t count);

#endif
