/* Conversion between f32 and bf16, for exchanges (contract in sum.h). Source and destination may overlap. Both functions convert block by
 * block through a local array, so that the compiler can vectorise the loops; a block is read before anything is written over it. */
#include "dist/sum.h"
#include <string.h>

enum { PORTION = 512 };

/* The upper half of a float; NaN stays NaN. */
static uint16_t rounded(uint32_t bits) {
    const uint32_t nearest = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
    return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? bits >> 16 | 0x40u : nearest);
}

void wi_bf16_pack(void *to, const float *from, size_t count) {
    uint32_t bits[PORTION];
    uint16_t halves[PORTION];
    for (size_t done = 0, next; done < count; done += next) {
        next = count - done < PORTION ? count - done : PORTION;
        memcpy(bits, from + done, next * sizeof *bits);
        for (size_t i = 0; i < next; i++) halves[i] = rounded(bits[i]);
        memcpy((unsigned char *)to + done * sizeof *halves, halves, next * sizeof *halves);
    }
}

void wi_bf16_unpack(float *to, const void *from, size_t count) {
    uint32_t bits[PORTION];
    uint16_t halves[PORTION];
    for (size_t done = 0, next; done < count; done += next) {
        next = count - done < PORTION ? count - done : PORTION;
        memcpy(halves, (const unsigned char *)from + done * sizeof *halves, next * sizeof *halves);
        for (size_t i = 0; i < next; i++) bits[i] = (uint32_t)halves[i] << 16;
        memcpy(to + done, bits, next * sizeof *bits);
    }
}
