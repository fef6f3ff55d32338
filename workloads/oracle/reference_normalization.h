/* Norms in float64, by their definition, with how far a float32 result may be away: see reference.h. */
#ifndef ORACLE_REFERENCE_NORMALIZATION_H
#define ORACLE_REFERENCE_NORMALIZATION_H

#include "oracle/reference.h"

typedef struct f64_norm {
    const f64_array *weight, *bias; /* NULL: 1 and 0 */
    double epsilon;
} f64_norm;

/* The mean m and biased variance v of each channel; of each channel of each example; of each group of channels of each example; of
 * the last axes: y = (x - m) / sqrt(v + epsilon) · weight + bias. RMS: m = 0. */
f64_array *f64_batch_norm(const f64_array *x, const f64_norm *norm);
f64_array *f64_instance_norm(const f64_array *x, const f64_norm *norm);
f64_array *f64_group_norm(const f64_array *x, int64_t groups, const f64_norm *norm);
f64_array *f64_layer_norm(const f64_array *x, int axes, const f64_norm *norm);
f64_array *f64_rms_norm(const f64_array *x, int axes, const f64_norm *norm);

/* By given statistics (C) of x (N, C, ...). */
f64_array *f64_running_norm(
    const f64_array *x, const f64_array *mean, const f64_array *variance, const f64_norm *norm);
/* (1 - momentum) · running + momentum · the mean, or the unbiased variance, of each channel. per_example: of each example's
 * channel, averaged over the examples. */
typedef struct f64_running {
    const f64_array *running; /* (C) */
    double momentum;
    bool per_example, variance;
} f64_running;
f64_array *f64_move_running(const f64_array *x, const f64_running *running);

#endif
