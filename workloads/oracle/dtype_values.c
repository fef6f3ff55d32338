/* Numbers in the memory of every dtype: see dtype_values.h. */
#include "oracle/dtype_values.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* A binary format with a sign, `exponent_bits` and `fraction_bits`: the nearest number's bits, ties to even.
 */
static uint32_t encode(double value, int exponent_bits, int fraction_bits) {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const uint32_t sign = signbit(value) ? 1u << (exponent_bits + fraction_bits) : 0;
    const uint32_t infinity = ((1u << exponent_bits) - 1) << fraction_bits;
    if (isnan(value)) return sign | infinity | 1u << (fraction_bits - 1);
    if (value == 0) return sign;
    if (isinf(value)) return sign | infinity;
    int exponent = ilogb(value);
    if (exponent < 1 - bias) exponent = 1 - bias; /* subnormal numbers share the smallest exponent */
    const double steps = nearbyint(ldexp(fabs(value), fraction_bits - exponent));
    const double one = ldexp(1, fraction_bits);
    if (steps < one) return sign | (uint32_t)steps;
    const uint32_t bits = ((uint32_t)(exponent + bias) << fraction_bits) + (uint32_t)(steps - one);
    return sign | (bits < infinity ? bits : infinity); /* rounding up may carry into the exponent */
}

static double decode(uint32_t bits, int exponent_bits, int fraction_bits) {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const uint32_t fraction = bits & ((1u << fraction_bits) - 1);
    const int exponent = (int)(bits >> fraction_bits & ((1u << exponent_bits) - 1));
    double value;
    if (exponent == (1 << exponent_bits) - 1)
        value = fraction ? NAN : INFINITY;
    else if (exponent == 0)
        value = ldexp(fraction, 1 - bias - fraction_bits);
    else
        value = ldexp(fraction + ldexp(1, fraction_bits), exponent - bias - fraction_bits);
    return bits >> (exponent_bits + fraction_bits) & 1 ? -value : value;
}

/* tests/CMakeLists.txt reads this table: suites of op cases run in each of them. */
static const f64_narrow_format narrow[] = {
    {WEFT_F16, 5, 10},
    {WEFT_BF16, 8, 7},
};

const f64_narrow_format *f64_narrow_formats(size_t *count) {
    *count = sizeof narrow / sizeof narrow[0];
    return narrow;
}

static const f64_narrow_format *narrow_format(weft_dtype dtype) {
    for (size_t i = 0; i < sizeof narrow / sizeof narrow[0]; i++)
        if (narrow[i].dtype == dtype) return &narrow[i];
    return NULL;
}

uint16_t f64_half_of(double value) {
    return (uint16_t)encode(value, 5, 10);
}
double f64_half_value(uint16_t bits) {
    return decode(bits, 5, 10);
}
uint16_t f64_bfloat_of(double value) {
    return (uint16_t)encode(value, 8, 7);
}
double f64_bfloat_value(uint16_t bits) {
    return decode(bits, 8, 7);
}

/* The bits stand at the upper end of an element's memory. */
static int shift_of(const f64_narrow_format *format) {
    return 8 * (int)weft_dtype_size(format->dtype) - 1 - format->exponent_bits - format->fraction_bits;
}

static void put_narrow(const f64_narrow_format *format, double value, size_t i, void *to) {
    const uint32_t bits = encode(value, format->exponent_bits, format->fraction_bits) << shift_of(format);
    switch (weft_dtype_size(format->dtype)) {
    case 1: ((uint8_t *)to)[i] = (uint8_t)bits; break;
    case 2: ((uint16_t *)to)[i] = (uint16_t)bits; break;
    default: ((uint32_t *)to)[i] = bits; break;
    }
}

static double narrow_at(const f64_narrow_format *format, const void *from, size_t i) {
    const size_t bytes = weft_dtype_size(format->dtype);
    const uint32_t bits = bytes == 1   ? ((const uint8_t *)from)[i]
                          : bytes == 2 ? ((const uint16_t *)from)[i]
                                       : ((const uint32_t *)from)[i];
    return decode(bits >> shift_of(format), format->exponent_bits, format->fraction_bits);
}

void f64_to_dtype(weft_dtype dtype, const double *from, size_t count, void *to) {
    const f64_narrow_format *const format = narrow_format(dtype);
    for (size_t i = 0; i < count; i++) {
        switch ((int)dtype) {
        case WEFT_F32: ((float *)to)[i] = (float)from[i]; break;
        case WEFT_F64: ((double *)to)[i] = from[i]; break;
        case WEFT_I32: ((int32_t *)to)[i] = (int32_t)from[i]; break;
        case WEFT_I64: ((int64_t *)to)[i] = (int64_t)from[i]; break;
        case WEFT_U8: ((uint8_t *)to)[i] = (uint8_t)from[i]; break;
        case WEFT_BOOL: ((uint8_t *)to)[i] = from[i] != 0; break;
        default: assert(format); put_narrow(format, from[i], i, to);
        }
    }
}

void f64_from_dtype(weft_dtype dtype, const void *from, size_t count, double *to) {
    const f64_narrow_format *const format = narrow_format(dtype);
    for (size_t i = 0; i < count; i++) {
        switch ((int)dtype) {
        case WEFT_F32: to[i] = (double)((const float *)from)[i]; break;
        case WEFT_F64: to[i] = ((const double *)from)[i]; break;
        case WEFT_I32: to[i] = (double)((const int32_t *)from)[i]; break;
        case WEFT_I64: to[i] = (double)((const int64_t *)from)[i]; break;
        case WEFT_U8:
        case WEFT_BOOL: to[i] = ((const uint8_t *)from)[i]; break;
        default: assert(format); to[i] = narrow_at(format, from, i);
        }
    }
}
