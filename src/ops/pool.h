/* Pooling for its other forms (pool_forms.c). */
#ifndef WI_POOL_H
#define WI_POOL_H

#include "ops/op_table.h"
#include <weft/images.h>

/* x is an f32 image; its graph, or NULL with the error recorded. */
weft_graph *wi_image_graph(const char *op, weft_tensor *x);
/* The options are of the right size; false with the error recorded. */
bool wi_pool_options_check(const char *op, const weft_tensor *x, const weft_pool_options *options);
/* x (an image) in those windows; the spatial sizes are the result's. */
weft_tensor *wi_pool(const wi_op *op, weft_tensor *x, const wi_attributes *attributes, const int64_t *sizes);

#endif
