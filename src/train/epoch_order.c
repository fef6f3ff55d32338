/* Fisher and Yates, with SplitMix64 (Steele, Lea and Flood 2014) and Lemire's unbiased bounding (2019). */
#include "train/epoch_order.h"
#include "base/splitmix.h"

/* Uniform in 0 .. bound - 1. */
static size_t random_below(uint64_t *state, uint32_t bound) {
    uint64_t product = (wi_splitmix(state) >> 32) * bound;
    const uint32_t threshold = (uint32_t)(0u - bound) % bound;
    while ((uint32_t)product < threshold) product = (wi_splitmix(state) >> 32) * bound;
    return (size_t)(product >> 32);
}

void wi_epoch_order(size_t *order, size_t count, bool shuffle, uint64_t seed, uint64_t epoch) {
    for (size_t i = 0; i < count; i++) order[i] = i;
    if (!shuffle) return;
    uint64_t state = seed;
    state = wi_splitmix(&state) ^ epoch; /* mixed first, so that seed 0, epoch 1 is not seed 1, epoch 0 */
    for (size_t i = count - 1; i > 0; i--) {
        const size_t j = random_below(&state, (uint32_t)i + 1);
        const size_t kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}
