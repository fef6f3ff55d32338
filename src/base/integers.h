/* Small arithmetic on sizes. */
#ifndef WI_INTEGERS_H
#define WI_INTEGERS_H

#include <stdint.h>

static inline int64_t wi_max64(int64_t a, int64_t b) {
    return a > b ? a : b;
}
static inline int64_t wi_min64(int64_t a, int64_t b) {
    return a < b ? a : b;
}
/* a / b for a >= 0 and b > 0, rounded up. */
static inline int64_t wi_divide_up(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

#endif
