/* Decimals given as floats. */
#ifndef WI_FRACTION_H
#define WI_FRACTION_H

#include <math.h>

/* The decimal that a float stands for: 0.999f is 0.99900001, and 1 - 0.999f off by 1.3e-5. */
static inline double wi_fraction(float x) {
    const double decimal = round((double)x * 1e7) / 1e7;
    return (float)decimal == x ? decimal : (double)x;
}

#endif
