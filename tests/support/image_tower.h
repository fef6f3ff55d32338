/* A small tower of what stands between ops of images, as the library computes it and as float64 does. */
#ifndef TEST_IMAGE_TOWER_H
#define TEST_IMAGE_TOWER_H

#include "oracle/reference.h"
#include "support/fixture.h"

/* An op of images: of its input in channels-last memory it makes tanh there. */
weft_tensor *image_tower_op(weft_tensor *x);
/* The same without keeping the order of memory: by permutes as users write them. */
weft_tensor *image_tower_op_of_user(weft_tensor *x);
/* x (N, C, H, W), bias (C), gate (N, 2C, 1, 1) → (N, 2C): batch norm, biases, pad, slices, residual, concat,
 * a gate a channel, pooling. */
weft_tensor *image_tower(
    weft_tensor *x, weft_tensor *bias, weft_tensor *gate, weft_tensor *(*op)(weft_tensor *));
f64_array *image_tower_reference(const f64_array *x, const f64_array *bias, const f64_array *gate);

#endif
