/* Options that are given as floats, but mean decimals. */
#ifndef WI_FRACTION_H
#define WI_FRACTION_H

#include <math.h>

/* Returns the decimal of up to 7 places that the caller wrote as the float x, or x itself if there is none. The float
 * 0.999f is 0.99900001, which would give 1 - 0.999f a relative error of 1.3e-5. */
static inline double wi_fraction(float x) {
    const double decimal = round((double)x * 1e7) / 1e7;
    return (float)decimal == x ? decimal : (double)x;
}

#endif
