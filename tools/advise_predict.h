/* What the planner expects a step to take on a device with given figures. */
#ifndef ADVISE_PREDICT_H
#define ADVISE_PREDICT_H

#include "bench_networks.h"
#include "cl/known_devices.h"

typedef struct advise_figures {
    const char *selector;         /* of the device that plans; it computes nothing */
    const wi_known_device *known; /* a GPU that is not here; NULL: the device itself, with */
    int64_t units;
    double flops, bandwidth; /* of all units in f32, and of memory, a second */
} advise_figures;

typedef struct advise_prediction {
    double seconds, bytes; /* of a step; of device memory */
    double gradient_bytes; /* of all parameters */
} advise_prediction;

/* batch 0: the network's own. */
weft_status advise_predict(
    advise_prediction *expected, const advise_figures *figures, const bench_network *network, int64_t batch);

#endif
