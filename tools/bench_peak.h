/* The device's peak, measured beside what a benchmark times: of multiply-adds in f32, or of its matrix engine. */
#ifndef BENCH_PEAK_H
#define BENCH_PEAK_H

#include "cl/buffer.h"
#include "cl/launch.h"
#include <weft/device.h>

typedef struct bench_peak {
    wi_launch launch;
    wi_buffer result;
    double flops; /* of one run */
} bench_peak;

/* engine: of the matrix engine, if the device has one. */
weft_status bench_peak_create(bench_peak *peak, weft_context *context, bool engine);
void bench_peak_clear(bench_peak *peak, weft_context *context);
/* One run; the first one compiles. */
weft_status bench_peak_time(double *seconds, const bench_peak *peak, weft_context *context);

#endif
