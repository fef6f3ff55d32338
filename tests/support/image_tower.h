/* A small network of the ops that usually stand between convolutions, computed by the library, and in float64 as the reference. */
#ifndef TEST_IMAGE_TOWER_H
#define TEST_IMAGE_TOWER_H

#include "oracle/reference.h"
#include "support/fixture.h"

/* tanh of an image, with the input and the result in channels-last memory, as image ops have them. */
weft_tensor *image_tower_op(weft_tensor *x);
/* image_tower_op with the permutes that a user would write instead of weft_channels_last and weft_channels_first. */
weft_tensor *image_tower_op_of_user(weft_tensor *x);
/* x (N, C, H, W), bias (C), gate (N, 2C, 1, 1) → (N, 2C): batch norm, biases, pad, slices, residual, concat,
 * one gate per channel, pooling. */
weft_tensor *image_tower(
    weft_tensor *x, weft_tensor *bias, weft_tensor *gate, weft_tensor *(*op)(weft_tensor *));
f64_array *image_tower_reference(const f64_array *x, const f64_array *bias, const f64_array *gate);

#endif
