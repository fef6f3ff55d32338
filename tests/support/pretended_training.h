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
    size_t buffer;                   /* bytes of the devices' largest; 0: 1 MiB */
    bool unlabelled;                 /* the loss reads no label */
    bool micro_batches; /* the plans of these devices have several, and the parameters are whole */
} trained_network;

enum { TRAINED_STEPS = 2 };

/* Asserts that losses and parameters on each of these devices are those of a device of class gpu without the limit, that nothing was
 * above a limit, and that a buffer of these devices is as large as their largest at most, where the other's are larger. */
void assert_same_training(const trained_network *n, const char *const *limited, size_t count);

#endif
