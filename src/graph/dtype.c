#include "graph/dtype.h"
#include <math.h>
#include <string.h>

/* ---- 16-bit floats on the host ---- */

/* Any binary format of 16 bits: the bits of the nearest number, ties to even. */
static uint16_t encode(double value, int fraction_bits) {
    const int exponent_bits = 15 - fraction_bits, bias = (1 << (exponent_bits - 1)) - 1;
    const uint32_t infinity = ((1u << exponent_bits) - 1) << fraction_bits;
    const uint32_t sign = signbit(value) ? 0x8000u : 0;
    if (isnan(value)) return (uint16_t)(sign | infinity | 1u << (fraction_bits - 1));
    if (value == 0 || isinf(value)) return (uint16_t)(sign | (value == 0 ? 0 : infinity));
    int exponent = ilogb(value);
    if (exponent < 1 - bias) exponent = 1 - bias; /* subnormal numbers share the least exponent */
    if (exponent > bias) return (uint16_t)(sign | infinity);
    /* The implied one of a normal number adds 1 to the exponent, as a carry of the rounding does. */
    const uint32_t steps = (uint32_t)nearbyint(ldexp(fabs(value), fraction_bits - exponent));
    const uint32_t bits = ((uint32_t)(exponent + bias - 1) << fraction_bits) + steps;
    return (uint16_t)(sign | (bits < infinity ? bits : infinity));
}

static double decode(uint16_t bits, int fraction_bits) {
    const int exponent_bits = 15 - fraction_bits, bias = (1 << (exponent_bits - 1)) - 1;
    const int fraction = bits & ((1 << fraction_bits) - 1);
    const int exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1);
    const double sign = bits & 0x8000u ? -1 : 1;
    if (exponent == (1 << exponent_bits) - 1) return fraction ? (double)NAN : sign * (double)INFINITY;
    const int implied = exponent ? 1 << fraction_bits : 0, shown = exponent ? exponent : 1;
    return sign * ldexp(implied + fraction, shown - bias - fraction_bits);
}

enum { F16_FRACTION = 10, BF16_FRACTION = 7 };

/* ---- numbers in memory ---- */

#define ACCESS(name, type, READ, WRITE)                                                                      \
    static double get_##name(const void *data, size_t i) {                                                   \
        type x;                                                                                              \
        memcpy(&x, (const char *)data + i * sizeof x, sizeof x);                                             \
        return READ;                                                                                         \
    }                                                                                                        \
    static void put_##name(void *data, size_t i, double value) {                                             \
        const type x = (type)(WRITE);                                                                        \
        memcpy((char *)data + i * sizeof x, &x, sizeof x);                                                   \
    }
ACCESS(f32, float, (double)x, value)
ACCESS(f64, double, x, value)
ACCESS(f16, uint16_t, decode(x, F16_FRACTION), encode(value, F16_FRACTION))
ACCESS(bf16, uint16_t, decode(x, BF16_FRACTION), encode(value, BF16_FRACTION))
ACCESS(i32, int32_t, (double)x, value)
ACCESS(i64, int64_t, (double)x, value)
ACCESS(u8, uint8_t, (double)x, value)
ACCESS(bool, uint8_t, x != 0 ? 1.0 : 0.0, value != 0)

/* ---- the table ---- */

/* clang-format off */
#define FORMAT(name, size, kind, computes, compute, registers, scalar, suffix, numpy)                        \
    {#name, size, kind, computes, compute, registers, scalar, suffix, numpy, get_##name, put_##name}
static const wi_format formats[] = {
    [WEFT_F32]  = FORMAT(f32,  4, WI_NUMBER_FLOAT, true,  WEFT_F32,  "WF", "float",  "f", "f4"),
    [WEFT_I32]  = FORMAT(i32,  4, WI_NUMBER_INT,   true,  WEFT_I32,  "WI", "int",    "i", "i4"),
    [WEFT_F16]  = FORMAT(f16,  2, WI_NUMBER_FLOAT, true,  WEFT_F32,  "WF", "float",  "f", "f2"),
    [WEFT_BF16] = FORMAT(bf16, 2, WI_NUMBER_FLOAT, true,  WEFT_F32,  "WF", "float",  "f", NULL),
    [WEFT_I64]  = FORMAT(i64,  8, WI_NUMBER_INT,   false, WEFT_I64,  "WL", "long",   "l", "i8"),
    [WEFT_U8]   = FORMAT(u8,   1, WI_NUMBER_INT,   false, WEFT_U8,   "WI", "int",    "i", "u1"),
    [WEFT_BOOL] = FORMAT(bool, 1, WI_NUMBER_BOOL,  false, WEFT_BOOL, "WI", "int",    "i", "b1"),
    [WEFT_F64]  = FORMAT(f64,  8, WI_NUMBER_FLOAT, true,  WEFT_F64,  "WD", "double", "d", "f8"),
};
/* clang-format on */

const wi_format *wi_format_of(weft_dtype dtype) {
    return &formats[dtype];
}

bool wi_dtype_valid(weft_dtype dtype) {
    return (unsigned)dtype < sizeof formats / sizeof *formats;
}

bool wi_dtype_is_float(weft_dtype dtype) {
    return formats[dtype].kind == WI_NUMBER_FLOAT;
}

bool wi_dtype_computes(weft_dtype dtype) {
    return formats[dtype].computes;
}

bool wi_dtype_rounds(weft_dtype dtype) {
    return formats[dtype].compute != dtype;
}

weft_dtype wi_dtype_wider(weft_dtype a, weft_dtype b) {
    if (a == b) return a;
    const weft_dtype wide_a = formats[a].compute, wide_b = formats[b].compute;
    return formats[wide_a].size >= formats[wide_b].size ? wide_a : wide_b;
}

double wi_dtype_nearest(weft_dtype dtype, double value) {
    double memory = 0;
    formats[dtype].put(&memory, 0, value);
    return formats[dtype].get(&memory, 0);
}

const char *wi_dtypes_text(unsigned takes) {
    if (takes == WI_TAKES_INTEGERS) return "i32";
    return takes == WI_TAKES_FLOATS ? "f32, f16, bf16 or f64" : "f32, f16, bf16, f64 or i32";
}

const char *weft_dtype_name(weft_dtype dtype) {
    return wi_dtype_valid(dtype) ? formats[dtype].name : "unknown dtype";
}

size_t weft_dtype_size(weft_dtype dtype) {
    return wi_dtype_valid(dtype) ? formats[dtype].size : 0;
}
