/* The part of `weft tune` that runs kernels, in a process of its own, which a kernel may hang or end.
 *
 * It writes lines to the process that watches it: the path of the tuning file in the cache folder; the head of the device's
 * section; then, before each kernel, the line that says that it is bad, and an empty line when it has ended. */
#ifndef WEFT_TUNE_MEASURE_H
#define WEFT_TUNE_MEASURE_H

#include "tune_work.h"

enum { TUNE_MOST_WORKS = 32, TUNE_LINE = 2048 };

typedef struct tune_options {
    const char *device, *file;
    tune_work works[TUNE_MOST_WORKS];
    int count;
    double budget, limit; /* seconds */
    int64_t batch;
    weft_precision precision;
} tune_options;

/* Until `end` by wi_clock_seconds. Returns the exit status. */
int tune_measure(const tune_options *options, double end, int to);

#endif
