/* Datasets of random images, and all that a loader makes of one. */
#ifndef IMAGE_EXAMPLES_H
#define IMAGE_EXAMPLES_H

#include <weft/weft.h>

/* Images of random bytes, the same for the same height; labels count from 0. */
weft_dataset *image_examples_make(
    const weft_image_options *options, size_t examples, int64_t channels, int64_t height, int64_t width);
/* One epoch, example after example, into images and labels (NULL: not wanted). Returns how many there were. */
size_t image_examples_load(
    weft_dataset *dataset, const weft_loader_options *options, uint64_t epoch, void *images, int32_t *labels);

#endif
