/* The device's memory bandwidth: a copy, or reads alone, measured beside what a benchmark times. */
#ifndef BENCH_COPY_H
#define BENCH_COPY_H

#include "cl/buffer.h"
#include "cl/launch.h"
#include <weft/device.h>

typedef struct bench_copy {
    wi_launch launch;
    wi_buffer from, to;
} bench_copy;

/* Buffers for copies that read and write up to `bytes` each. */
weft_status bench_copy_create(bench_copy *copy, weft_context *context, size_t bytes);
/* The same for a kernel that only reads: up to twice `bytes`, of one buffer. */
weft_status bench_read_create(bench_copy *copy, weft_context *context, size_t bytes);
void bench_copy_clear(bench_copy *copy, weft_context *context);
/* Makes it read and write about as many bytes together as wanted; *bytes tells how many. */
weft_status bench_copy_size(bench_copy *copy, weft_context *context, double wanted, double *bytes);
/* One run; the first one compiles. */
weft_status bench_copy_time(double *seconds, const bench_copy *copy, weft_context *context);

#endif
