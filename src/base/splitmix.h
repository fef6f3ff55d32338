/* SplitMix64 (G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014), for
 * random choices on the host, such as the order of examples. The values of tensors are drawn by philox.h. */
#ifndef WI_SPLITMIX_H
#define WI_SPLITMIX_H

#include <stdint.h>

static inline uint64_t wi_splitmix(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

#endif
