/* Exponentials, logarithms and cosines (contract in portable_math.h). A number with twice the digits is an unevaluated
 * sum of two doubles (T. J. Dekker, A floating-point technique for extending the available precision, 1971). */
#include "base/portable_math.h"
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FACTORS = 8 };

typedef struct pair {
    double high, low; /* |low| is at most half a unit in the last place of high */
} pair;

static pair add_small(double large, double small) {
    const double sum = large + small;
    return (pair){sum, small - (sum - large)};
}

static pair multiply(double a, double b) {
    const double a_scaled = 134217729.0 * a, b_scaled = 134217729.0 * b; /* 2^27 + 1 */
    const double a_high = a_scaled - (a_scaled - a), b_high = b_scaled - (b_scaled - b);
    const double a_low = a - a_high, b_low = b - b_high, product = a * b;
    return (pair){product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low};
}

/* ln 2: `head` has 33 bits, so that a product with an exponent is exact. */
static const double head = 0x1.62e42fee00000p-1, tail = 0x1.a39ef35793c76p-33;

/* log(x) of a positive, normal number. With m = x / 2^e in [sqrt(1/2), sqrt(2)) and s = (m - 1) / (m + 1), it is
 * e·ln 2 + 2s + 2s³/3 + 2s⁵/5 + ... */
static pair log_pair(double x) {
    int exponent;
    double m = frexp(x, &exponent);
    if (m < 0.70710678118654752) {
        m *= 2;
        exponent--;
    }
    const double f = m - 1, below = 2 + f, s = f / below;
    const pair product = multiply(s, below);
    const double rest = ((f - product.high) - product.low - s * (f - (below - 2))) / below;
    const double square = s * s;
    double sum = 0;
    for (int power = 25; power >= 3; power -= 2) sum = sum * square + 2.0 / power;
    const pair first = add_small(exponent * head, 2 * s);
    /* Without an exponent, 2s is the larger number. */
    const pair leading = exponent ? first : (pair){2 * s, 0};
    return add_small(leading.high, leading.low + (sum * square * s + (2 * rest + exponent * tail)));
}

/* exp(high + low): x = k·ln 2 + r, and the series of exp(r) - 1 - r with |r| <= ln 2 / 2. */
static double exp_of(pair x) {
    if (!(x.high == x.high)) return x.high;
    if (x.high > 710) return HUGE_VAL;
    if (x.high < -746) return 0;
    const double k = nearbyint(x.high * 1.4426950408889634);
    const pair r = add_small(x.high - k * head, x.low - k * tail);
    double sum = 0;
    for (int i = 14; i >= 2; i--) sum = (sum + 1) * r.high / i;
    return ldexp(1 + (r.high + (sum * r.high + r.low)), (int)k);
}

double wi_math_exp(double x) {
    return exp_of((pair){x, 0});
}

double wi_math_log(double x) {
    if (x == 0) return -HUGE_VAL;
    if (!(x > 0) || isinf(x)) return x > 0 ? x : (double)NAN;
    const pair result = log_pair(x);
    return result.high + result.low;
}

static double positive_power(double x, double y) {
    if (x == 0 || isinf(x)) return (x == 0) == (y > 0) ? 0 : HUGE_VAL;
    const pair log = log_pair(x), product = multiply(log.high, y);
    if (fabs(product.high) > 1000) return product.high > 0 ? HUGE_VAL : 0;
    return exp_of(add_small(product.high, product.low + log.low * y));
}

/* Exact if the result is a whole number of at most 53 bits. */
static double whole_power(double x, int y) {
    double power = x;
    for (int i = 1; i < abs(y); i++) power *= x;
    return y < 0 ? 1 / power : power;
}

double wi_math_pow(double x, double y) {
    if (y == 0 || x == 1) return 1;
    if (fabs(y) <= MOST_FACTORS && y == floor(y)) return whole_power(x, (int)y);
    if (x >= 0) return positive_power(x, y);
    if (!(x < 0) || y != floor(y)) return (double)NAN;
    const double power = positive_power(-x, y);
    return fmod(y, 2) == 0 ? power : -power;
}

/* pi / 2 in three parts: products of the first two with a quarter below 2^17 are exact (W. J. Cody, W. Waite). */
static const double quarter_1 = 0x1.921fb54400000p+0, quarter_2 = 0x1.0b4611a600000p-34,
                    quarter_3 = 0x1.3198a2e037073p-69;

double wi_math_cos(double x) {
    const double quarter = nearbyint(x * 0.63661977236758134);
    const double r = ((x - quarter * quarter_1) - quarter * quarter_2) - quarter * quarter_3, square = r * r;
    const int phase = (int)((int64_t)quarter & 3);
    double sum = 0;
    if (phase & 1) { /* ± sin r */
        for (int i = 17; i >= 3; i -= 2) sum = (1 + sum) * -square / (i * (i - 1));
        sum = r + r * sum;
    } else {
        for (int i = 18; i >= 2; i -= 2) sum = (1 + sum) * -square / (i * (i - 1));
        sum = 1 + sum;
    }
    return phase == 1 || phase == 2 ? -sum : sum;
}

/* The product of two floats is exact in double. The sum is rounded to odd, so that rounding it to float gives what
 * rounding the exact sum would (S. Boldo, G. Melquiond, Emulation of FMA and correctly rounded sums, 2008). */
float wi_fmaf(float x, float y, float z) {
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
