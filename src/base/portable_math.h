/* Functions whose results reach weights, with the same bits on every system: C libraries round exp, log, pow and cos
 * differently, and MinGW's fmaf rounds twice. They use additions, multiplications and divisions alone, which IEEE 754
 * rounds exactly. Errors are below three units in the last place. */
#ifndef WI_PORTABLE_MATH_H
#define WI_PORTABLE_MATH_H

#include <stdint.h>
#include <string.h>

double wi_math_exp(double x);
double wi_math_log(double x);           /* x > 0, not subnormal; 0 gives -infinity, below 0 gives NaN */
double wi_math_pow(double x, double y); /* x >= 0; a power of an x below 0 is NaN unless y is whole */
double wi_math_cos(double x);           /* |x| < 1e5 */

/* x·y + z, rounded once. The product of two floats is exact in double. The sum is rounded to odd, so that rounding it to
 * float gives what rounding the exact sum would (S. Boldo, G. Melquiond, Emulation of FMA, 2008). */
static inline float wi_fmaf(float x, float y, float z) {
    const double product = (double)x * (double)y, sum = product + (double)z;
    const double of_z = sum - product;
    const double error = (product - (sum - of_z)) + ((double)z - of_z);
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    if (error == 0 || bits & 1 || !(error == error)) return (float)sum;
    bits = (error > 0) == (sum > 0) ? bits + 1 : bits - 1;
    double odd;
    memcpy(&odd, &bits, sizeof odd);
    return (float)odd;
}

#endif
