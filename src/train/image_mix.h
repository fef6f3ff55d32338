/* Mixtures of the examples of a batch: mixup and cutmix, and the targets of labels. */
#ifndef WI_IMAGE_MIX_H
#define WI_IMAGE_MIX_H

#include "train/image_transform.h"

/* A random number of the distribution Beta(alpha, alpha), rounded to a multiple of 2^-16. words: one block of four
 * random words for each attempt; see wi_example_draw. The example gives the seed, the epoch and the counter. */
double wi_draw_beta(const wi_example *example, size_t transform, double alpha);

/* Mixes the finished examples of a batch, and writes the targets of its labels. scratch: the block of the workspace for
 * one example. Errors: WEFT_ERROR_ARGUMENT (a label out of range), WEFT_ERROR_MEMORY. */
weft_status wi_batch_mix(const wi_image_pipeline *pipeline, const wi_batch *batch, wi_workspace *workspace);

#endif
