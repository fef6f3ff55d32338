/* Minimum, maximum and rounded division of sizes. */
#ifndef WI_INTEGERS_H
#define WI_INTEGERS_H

#include <stdint.h>

static inline int64_t wi_max64(int64_t a, int64_t b) {
    return a > b ? a : b;
}
static inline int64_t wi_min64(int64_t a, int64_t b) {
    return a < b ? a : b;
}
/* a / b, rounded up; a >= 0 and b > 0. */
static inline int64_t wi_divide_up(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}
/* The greatest common divisor, 0 or more. */
static inline int64_t wi_gcd64(int64_t a, int64_t b) {
    while (b != 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

#endif
