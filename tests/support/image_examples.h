/* Datasets of random images, and loading all examples of a dataset. */
#ifndef IMAGE_EXAMPLES_H
#define IMAGE_EXAMPLES_H

#include <weft/weft.h>

/* A dataset of images of random bytes, which depend only on the height. Example i has the label i. */
weft_dataset *image_examples_make(
    const weft_image_options *options, size_t examples, int64_t channels, int64_t height, int64_t width);
/* Loads one epoch, and stores all examples, one after the other, to images and labels (either may be NULL). Returns the number of
 * examples. */
size_t image_examples_load(
    weft_dataset *dataset, const weft_loader_options *options, uint64_t epoch, void *images, int32_t *labels);

#endif
