/* Pooling, resampling and what else images have, in float64, with how far a float32 result may be away: see reference.h. */
#ifndef ORACLE_REFERENCE_POOLING_H
#define ORACLE_REFERENCE_POOLING_H

#include "oracle/reference.h"
#include <weft/images.h>

f64_array *f64_max_pool(const f64_array *x, const weft_pool_options *options);
f64_array *f64_avg_pool(const f64_array *x, const weft_pool_options *options);
f64_array *f64_lp_pool(const f64_array *x, double p, const weft_pool_options *options);
f64_array *f64_adaptive_max_pool(const f64_array *x, const int64_t *sizes);
f64_array *f64_adaptive_avg_pool(const f64_array *x, const int64_t *sizes);
/* All spatial axes remain with size 1. */
f64_array *f64_global_max_pool(const f64_array *x);
f64_array *f64_global_avg_pool(const f64_array *x);

f64_array *f64_resample(const f64_array *x, const weft_resample_options *options);
f64_array *f64_upsample_nearest(const f64_array *x, int64_t factor);
f64_array *f64_upsample_linear(const f64_array *x, int64_t factor, bool align_corners);
f64_array *f64_pixel_shuffle(const f64_array *x, int64_t factor);
f64_array *f64_pixel_unshuffle(const f64_array *x, int64_t factor);
f64_array *f64_local_response_norm(const f64_array *x, int64_t size, double alpha, double beta, double k);

#endif
