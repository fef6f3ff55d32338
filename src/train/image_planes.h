/* The changes of pixels that transforms apply after their random numbers are drawn. The arithmetic is that of integers, so that every
 * machine computes the same pixels. image_colour.c changes colours, image_warp.c has the changes that combine neighbouring
 * pixels.
 *
 * A factor is in units of 2^-16. A blend by a factor f of a pixel x with another value d is d + f·(x - d), truncated and
 * clamped, as by Pillow's ImageEnhance. */
#ifndef WI_IMAGE_PLANES_H
#define WI_IMAGE_PLANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WI_UNIT = 1 << 16 };

typedef struct wi_planes {
    unsigned char *pixels; /* (channels, height, width) */
    unsigned char *spare;  /* as large; functions of image_warp.c write here, and exchange both */
    int64_t channels, height, width;
} wi_planes;

static inline unsigned char wi_blend(int64_t other, int64_t pixel, int64_t factor) {
    const int64_t value = other * WI_UNIT + factor * (pixel - other);
    return (unsigned char)(value < 0 ? 0 : value > 255 * WI_UNIT ? 255 : value >> 16);
}

/* The luma of ITU-R 601, 0.299 R + 0.587 G + 0.114 B, with the factors of Pillow in units of 2^-16. */
static inline unsigned wi_luma(unsigned red, unsigned green, unsigned blue) {
    return (19595u * red + 38470u * green + 7471u * blue + 32768u) >> 16;
}

/* The factor is in [0, 101]. wi_planes_grey, _saturate and _turn_hue change only images of three channels. */
void wi_planes_grey(wi_planes *planes);
void wi_planes_brighten(wi_planes *planes, int64_t factor); /* a blend with black */
void wi_planes_contrast(wi_planes *planes, int64_t factor); /* a blend with the mean luma of the image */
void wi_planes_saturate(wi_planes *planes, int64_t factor); /* a blend with the luma of the pixel */
void wi_planes_turn_hue(wi_planes *planes, int64_t turn);   /* turn: -1/2 to 1/2 turns, in units of 2^-16 */
/* Inverts values x with 2·x >= doubled_threshold, and keeps the bits of the mask. */
void wi_planes_solarize(wi_planes *planes, int64_t doubled_threshold, int64_t mask);
/* Stretches each channel linearly to 0..255, as ImageOps.autocontrast, or equalizes its histogram, as ImageOps.equalize. */
void wi_planes_stretch(wi_planes *planes, bool equalizes);

/* A blend with the image smoothed by the window 1 1 1, 1 5 1, 1 1 1; pixels of the border stay. */
void wi_planes_sharpen(wi_planes *planes, int64_t factor);
/* Moves pixels: the centre (x, y) of a pixel of the result comes from the position (m[0]·x + m[1]·y + m[2], m[3]·x +
 * m[4]·y + m[5]) by bilinear interpolation, with a repeated border. m is in units of 2^-24. fill[c]: the value of pixels
 * of channel c that come from outside of the image. */
void wi_planes_warp(wi_planes *planes, const int64_t m[6], const unsigned char *fill);
/* Fills a rectangle, which is inside of the image. */
void wi_planes_erase(
    wi_planes *planes, int64_t top, int64_t left, int64_t height, int64_t width, const unsigned char *fill);

#endif
