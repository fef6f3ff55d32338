/* Philox4x32-10, a counter-based random number generator (J. K. Salmon et al., "Parallel random numbers: as easy as 1,
 * 2, 3", SC 2011), and uniform and normal numbers from its words.
 *
 * cl_kernels/random.clh has the same functions, and the host and every device compute the same bits: normal numbers use
 * the Box-Muller method with polynomials (Cephes, S. L. Moshier) of fmaf and single multiplications, which IEEE 754
 * rounds in only one way (portable_math.h). */
#ifndef WI_PHILOX_H
#define WI_PHILOX_H

#include "base/portable_math.h"
#include <stdint.h>
#include <string.h>

/* Replaces the counter by its four random words; the seed is the key. */
static inline void wi_philox(uint32_t counter[4], uint64_t seed) {
    uint32_t key0 = (uint32_t)seed, key1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        const uint64_t product0 = (uint64_t)0xD2511F53u * counter[0];
        const uint64_t product1 = (uint64_t)0xCD9E8D57u * counter[2];
        counter[0] = (uint32_t)(product1 >> 32) ^ counter[1] ^ key0;
        counter[1] = (uint32_t)product1;
        counter[2] = (uint32_t)(product0 >> 32) ^ counter[3] ^ key1;
        counter[3] = (uint32_t)product0;
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
}

/* Uniform in [0, 1), a multiple of 2^-24. */
static inline float wi_uniform_of(uint32_t bits) {
    return (float)(bits >> 8) * 0x1p-24f;
}

static inline float wi_random_log(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    /* x = m · 2^e with m in [sqrt(1/2), sqrt(2)) */
    const uint32_t shifted = bits - 0x3F3504F3u;
    const int32_t exponent = (int32_t)shifted >> 23;
    bits = (shifted & 0x007FFFFFu) + 0x3F3504F3u;
    float m;
    memcpy(&m, &bits, sizeof m);
    const float f = m - 1.0f;
    float p = wi_fmaf(7.0376836292e-2f, f, -1.1514610310e-1f);
    p = wi_fmaf(p, f, 1.1676998740e-1f);
    p = wi_fmaf(p, f, -1.2420140846e-1f);
    p = wi_fmaf(p, f, 1.4249322787e-1f);
    p = wi_fmaf(p, f, -1.6668057665e-1f);
    p = wi_fmaf(p, f, 2.0000714765e-1f);
    p = wi_fmaf(p, f, -2.4999993993e-1f);
    p = wi_fmaf(p, f, 3.3333331174e-1f);
    p = wi_fmaf(p, f, -0.5f);
    const float square = f * f;
    p = wi_fmaf(p, square, f);
    return wi_fmaf((float)exponent, 0.693147180559945f, p);
}

/* x / sqrt(x), where Newton's method refines an estimate of 1 / sqrt(x): sqrt of devices may round in another way. */
static inline float wi_random_sqrt(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits = 0x5F3759DFu - (bits >> 1);
    float y;
    memcpy(&y, &bits, sizeof y);
    const float half = 0.5f * x;
    for (int i = 0; i < 4; i++) {
        const float square = y * y;
        y = y * wi_fmaf(-half, square, 1.5f);
    }
    return x * y;
}

/* cos(2π · angle / 2^24) */
static inline float wi_random_cos(uint32_t angle) {
    const uint32_t quarter = (angle + (1u << 21)) >> 22;
    const float x = (float)((int32_t)angle - (int32_t)(quarter << 22)) * 3.745070282923929e-7f;
    const float square = x * x;
    float c = wi_fmaf(2.443315711809948e-5f, square, -1.388731625493765e-3f);
    c = wi_fmaf(c, square, 4.166664568298827e-2f);
    c = wi_fmaf(c, square, -0.5f);
    c = wi_fmaf(c, square, 1.0f);
    float s = wi_fmaf(-1.9515295891e-4f, square, 8.3321608736e-3f);
    s = wi_fmaf(s, square, -1.6666654611e-1f);
    const float cube = square * x;
    s = wi_fmaf(s, cube, x);
    const float value = quarter & 1 ? s : c;
    return (quarter + 1) & 2 ? -value : value;
}

/* Standard normal. */
static inline float wi_normal_of(uint32_t bits0, uint32_t bits1) {
    const float u = (float)((bits0 >> 8) + 1) * 0x1p-24f;
    return wi_random_sqrt(-2.0f * wi_random_log(u)) * wi_random_cos(bits1 >> 8);
}

#endif
