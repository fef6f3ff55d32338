/* Random numbers of neighbouring elements: for each the same bits as philox.h gives for its index alone, eight
 * elements at a time where the processor can. */
#ifndef WI_DRAWS_H
#define WI_DRAWS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Element i has the counter (i, its upper half, stream, last). Its number is add + scale * x, rounded once, where x is
 * uniform in [0, 1) or standard normal. */
typedef struct wi_draws {
    uint64_t seed;
    uint32_t stream, last;
    bool normal;
    float scale, add;
} wi_draws;

/* The numbers of the elements first, first + 1, ... */
void wi_draw(const wi_draws *how, uint64_t first, size_t count, float *values);

/* Are these the bounds, or the mean and the deviation, of a distribution? All are finite then, and so is high - low. */
static inline bool wi_uniform_exists(float low, float high) {
    return low <= high && isfinite(high - low);
}
static inline bool wi_normal_exists(float mean, float deviation) {
    return deviation >= 0 && isfinite(mean) && isfinite(deviation);
}

#endif
