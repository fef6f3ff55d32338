/* Training steps on several devices of a kind, from the step on one of them and the cost model of exchanges (scale_model.h). */
#ifndef ADVISE_SCALE_H
#define ADVISE_SCALE_H

#include "scale_model.h"
#include <stdint.h>

typedef struct advise_scale {
    int64_t devices;           /* of one process; 0: not asked for */
    int64_t ranks;             /* processes with a device each; 0: not asked for */
    double latency, bandwidth; /* between ranks; 0: those of Ethernet */
} advise_scale;

/* Seconds of a step, which takes `step` seconds on one device, if each device has as many examples, and nothing of the exchange is hidden. */
double advise_scale_step(const advise_scale *scale, double step, double gradient_bytes);
/* The memory of each device, of which a step on one device takes `bytes`: the gradients and their sums are tensors besides. */
double advise_scale_device_bytes(double bytes, double gradient_bytes);
/* How many devices train together; 1: nothing is asked for. */
int64_t advise_scale_count(const advise_scale *scale);
/* Says of what the times are made up. */
void advise_scale_print(const advise_scale *scale, double gradient_bytes);

#endif
