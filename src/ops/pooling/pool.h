/* Pooling, for its other forms (pool_forms.c). */
#ifndef WI_POOL_H
#define WI_POOL_H

#include "ops/op_table.h"
#include <weft/images.h>

extern const wi_op wi_op_max_pool_gradient, wi_op_max_pool_winners, wi_op_avg_pool_gradient,
    wi_op_resample_gradient;
/* attributes.resample.mode */
enum { WI_RESAMPLE_NEAREST, WI_RESAMPLE_LINEAR, WI_RESAMPLE_LINEAR_CORNERS };

/* Checks that x is an f32 image, and returns the graph of x. NULL: x is not an f32 image, and the error is recorded. */
weft_graph *wi_image_graph(const char *op, weft_tensor *x);
/* Reads the caller's options. False: an error is recorded. */
bool wi_pool_options_read(
    const char *op, const weft_tensor *x, weft_pool_options *own, const weft_pool_options *given);
/* Pools an image. `sizes` are the spatial sizes of the result. */
weft_tensor *wi_pool(const wi_op *op, weft_tensor *x, const wi_attributes *attributes, const int64_t *sizes);

#endif
