/* Choosing images for random calls: see draw.h. An image is (N, C, spatial...) with a number of channels. */
#ifndef ORACLE_DRAW_IMAGE_H
#define ORACLE_DRAW_IMAGE_H

#include "oracle/draw.h"

/* A float image of so many spatial axes, with elements in low .. high: one of the program, or a new one. */
int draw_image(oracle_draw *draw, int least_axes, int most_axes, double low, double high);
/* The same, whose spatial axes are numbers. */
int draw_fixed_image(oracle_draw *draw, int least_axes, int most_axes, double low, double high);

/* A new image. `divisor` divides its channels, `step` its spatial axes, which are
 * numbers then. */
typedef struct draw_image_options {
    int axes;
    double low, high;
    int64_t divisor, step;
    bool fixed; /* spatial axes are numbers */
} draw_image_options;
int draw_new_image(oracle_draw *draw, const draw_image_options *options);

/* The size of a spatial axis at the sizes that the program is drawn with. */
int64_t draw_image_size(const oracle_draw *draw, int image, int axis);
/* One of the numbers that divide n. */
int64_t draw_divisor(oracle_draw *draw, int64_t n);
/* The lower of two random numbers 0 .. bound - 1, so that small ones are frequent. */
int64_t draw_small(oracle_draw *draw, int64_t bound);

#endif
