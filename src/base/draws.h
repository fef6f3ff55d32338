/* Random numbers on the host for a range of elements. Each element gets the bits that philox.h gives for its index; a
 * processor with AVX2 and FMA computes eight elements at a time. */
#ifndef WI_DRAWS_H
#define WI_DRAWS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Philox's counter for element i is (lower half of i, upper half of i, stream, last), and its key is the seed. The
 * element's value is add + scale * x, rounded once; x is standard normal if `normal` is true, otherwise uniform in [0,
 * 1). */
typedef struct wi_draws {
    uint64_t seed;
    uint32_t stream, last;
    bool normal;
    float scale, add;
} wi_draws;

/* Writes the values of the elements first to first + count - 1. */
void wi_draw(const wi_draws *how, uint64_t first, size_t count, float *values);

/* Whether [low, high], or this mean and standard deviation, describe a distribution. If so, the arguments are finite,
 * and high - low is, too. */
static inline bool wi_uniform_exists(float low, float high) {
    return low <= high && isfinite(high - low);
}
static inline bool wi_normal_exists(float mean, float deviation) {
    return deviation >= 0 && isfinite(mean) && isfinite(deviation);
}

#endif
