/* A step measured in a process of its own: a driver that crashes or has started with another number of threads is no one
 * else's. */
#ifndef ADVISE_MEASURE_H
#define ADVISE_MEASURE_H

#include "advise.h"

typedef struct advise_measurement {
    const bench_network *network;
    int64_t batch, steps; /* batch 0: the network's own */
} advise_measurement;

/* Can the number of the device's threads be chosen as its driver starts? */
bool advise_takes_threads(const weft_device_info *device);
/* Fills the row, of which name and selector are there; what fails on the device is in row->failure. threads 0: all. */
weft_status advise_measure(advise_row *row, const advise_measurement *wanted, int64_t threads);

#endif
