/* Random numbers of an example, and the random transforms of its pixels. */
#ifndef WI_IMAGE_AUGMENT_H
#define WI_IMAGE_AUGMENT_H

#include "train/dataset.h"
#include "train/image_planes.h"
#include <weft/image_data.h>

/* Philox4x32-10 with the seed as key and the counter (example, low half of the epoch, high half, transform · 2^16 +
 * block), so that an example gets the same numbers on any thread and at any time. */
void wi_example_draw(const wi_example *example, size_t transform, uint32_t block, uint32_t words[4]);

/* A random whole number below the bound, floor(word · bound / 2^32). */
static inline int64_t wi_word_below(uint32_t word, int64_t bound) {
    return (int64_t)((uint64_t)word * (uint64_t)bound >> 32);
}

static inline double wi_word_between(uint32_t word, double low, double high) {
    return low + (high - low) * ((double)word * 0x1p-32);
}

/* Draws the sides *a and *b of a rectangle, rounded: its area is a random fraction of `area`, and *a / *b a random ratio. */
void wi_draw_rectangle(
    const weft_transform *transform, double area, const uint32_t words[2], double *a, double *b);

/* Applies a transform to the planes that changes pixels but not the size: grey, rotation, jitter, erasing,
 * RandAugment. index: of the transform. fill[c]: the value of pixels without a source. */
void wi_planes_augment(wi_planes *planes, const weft_transform *transform, size_t index,
    const wi_example *example, const unsigned char *fill);

#endif
