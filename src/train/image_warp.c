/* Transforms that combine neighbouring pixels (contract in image_planes.h). */
#include "train/image_planes.h"
#include <string.h>

enum { POSITION_BITS = 24, WEIGHT_BITS = 11, WEIGHT = 1 << WEIGHT_BITS };

static void exchange(wi_planes *p) {
    unsigned char *const pixels = p->pixels;
    p->pixels = p->spare;
    p->spare = pixels;
}

static unsigned char *row_of(unsigned char *pixels, const wi_planes *p, int64_t channel, int64_t y) {
    return pixels + (channel * p->height + y) * p->width;
}

void wi_planes_erase(
    wi_planes *p, int64_t top, int64_t left, int64_t height, int64_t width, const unsigned char *fill) {
    for (int64_t c = 0; c < p->channels; c++)
        for (int64_t y = top; y < top + height; y++)
            memset(row_of(p->pixels, p, c, y) + left, fill[c], (size_t)width);
}

/* ---- sharpness ---- */

static void sharpen_row(
    const unsigned char *at, unsigned char *to, ptrdiff_t stride, int64_t count, int64_t factor) {
    for (int64_t x = 0; x < count; x++) {
        const unsigned char *const above = at + x - stride, *const here = at + x,
                                   *const below = here + stride;
        const int32_t around =
            above[-1] + above[0] + above[1] + here[-1] + here[1] + below[-1] + below[0] + below[1];
        const int32_t smooth = (2 * (around + 5 * here[0]) + 13) / 26; /* the sum / 13, rounded */
        to[x] = wi_blend(smooth, here[0], factor);
    }
}

void wi_planes_sharpen(wi_planes *p, int64_t factor) {
    if (p->height < 3 || p->width < 3) return;
    memcpy(p->spare, p->pixels, (size_t)(p->channels * p->height * p->width));
    for (int64_t c = 0; c < p->channels; c++)
        for (int64_t y = 1; y < p->height - 1; y++)
            sharpen_row(row_of(p->pixels, p, c, y) + 1, row_of(p->spare, p, c, y) + 1, p->width, p->width - 2,
                factor);
    exchange(p);
}

/* ---- affine maps ---- */

/* The four pixels around a position, and the weights of the right and of the lower ones. */
typedef struct corners {
    int64_t upper_left, upper_right, lower_left, lower_right;
    uint32_t right, lower;
} corners;

/* Position (x, y) is inside of the image. The centre of pixel i is at i + 1/2, so that the right one of two neighbours is
 * the pixel that holds x + 1/2. */
static corners corners_at(const wi_planes *p, int64_t x, int64_t y) {
    const int64_t half = (int64_t)1 << (POSITION_BITS - 1);
    const int64_t right = (x + half) >> POSITION_BITS, lower = (y + half) >> POSITION_BITS;
    const int64_t x0 = right > 0 ? right - 1 : 0, x1 = right < p->width ? right : p->width - 1;
    const int64_t y0 = lower > 0 ? lower - 1 : 0, y1 = lower < p->height ? lower : p->height - 1;
    return (corners){.upper_left = y0 * p->width + x0,
        .upper_right = y0 * p->width + x1,
        .lower_left = y1 * p->width + x0,
        .lower_right = y1 * p->width + x1,
        .right = (uint32_t)((x + half) >> (POSITION_BITS - WEIGHT_BITS)) & (WEIGHT - 1),
        .lower = (uint32_t)((y + half) >> (POSITION_BITS - WEIGHT_BITS)) & (WEIGHT - 1)};
}

static unsigned char interpolate(const unsigned char *plane, const corners *at) {
    const uint32_t left = WEIGHT - at->right, upper = WEIGHT - at->lower;
    const uint32_t above = plane[at->upper_left] * left + plane[at->upper_right] * at->right;
    const uint32_t below = plane[at->lower_left] * left + plane[at->lower_right] * at->right;
    const uint32_t half = 1u << (2 * WEIGHT_BITS - 1);
    return (unsigned char)((above * upper + below * at->lower + half) >> (2 * WEIGHT_BITS));
}

void wi_planes_warp(wi_planes *p, const int64_t m[6], const unsigned char *fill) {
    const int64_t end_x = p->width << POSITION_BITS, end_y = p->height << POSITION_BITS;
    const int64_t plane = p->height * p->width;
    for (int64_t row = 0; row < p->height; row++) {
        unsigned char *const to = p->spare + row * p->width;
        int64_t x = m[0] / 2 + m[1] * row + m[1] / 2 + m[2], y = m[3] / 2 + m[4] * row + m[4] / 2 + m[5];
        for (int64_t column = 0; column < p->width; column++, x += m[0], y += m[3]) {
            const int inside = x >= 0 && x < end_x && y >= 0 && y < end_y;
            const corners at = inside ? corners_at(p, x, y) : (corners){0};
            for (int64_t c = 0; c < p->channels; c++)
                to[c * plane + column] = inside ? interpolate(p->pixels + c * plane, &at) : fill[c];
        }
    }
    exchange(p);
}
