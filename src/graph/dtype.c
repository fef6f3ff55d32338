/* The table of number formats (contract in dtype.h). */
#include "graph/dtype.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- narrow floats on the host ---- */

/* The bits of the nearest number of a binary format that is narrower than f32, ties to even. */
static uint32_t encode(double value, int exponent_bits, int fraction_bits) {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const uint32_t infinity = ((1u << exponent_bits) - 1) << fraction_bits;
    const uint32_t sign = signbit(value) ? 1u << (exponent_bits + fraction_bits) : 0;
    if (isnan(value)) return sign | infinity | 1u << (fraction_bits - 1);
    if (value == 0 || isinf(value)) return sign | (value == 0 ? 0 : infinity);
    int exponent = ilogb(value);
    if (exponent < 1 - bias) exponent = 1 - bias; /* of subnormal numbers */
    if (exponent > bias) return sign | infinity;
    /* The implied leading 1 of a normal number is added to the exponent, and so is a carry from the rounding. */
    const uint32_t steps = (uint32_t)nearbyint(ldexp(fabs(value), fraction_bits - exponent));
    const uint32_t bits = ((uint32_t)(exponent + bias - 1) << fraction_bits) + steps;
    return sign | (bits < infinity ? bits : infinity);
}

static double decode(uint32_t bits, int exponent_bits, int fraction_bits) {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const int fraction = (int)(bits & ((1u << fraction_bits) - 1));
    const int exponent = (int)(bits >> fraction_bits & ((1u << exponent_bits) - 1));
    const double sign = bits >> (exponent_bits + fraction_bits) & 1 ? -1 : 1;
    if (exponent == (1 << exponent_bits) - 1) return fraction ? (double)NAN : sign * (double)INFINITY;
    const int implied = exponent ? 1 << fraction_bits : 0, shown = exponent ? exponent : 1;
    return sign * ldexp(implied + fraction, shown - bias - fraction_bits);
}

/* ---- the table ---- */

/* Columns: dtype, name, type of an element in memory, expressions by which the host reads an element x and writes a value, and
 * the fields of wi_format from `kind` to `numpy`. */
/* clang-format off */
#define FORMATS(ROW)                                                                                                                      \
    ROW(WEFT_F32,   f32,  float,    (double)x,        value,                WI_NUMBER_FLOAT, true,  WEFT_F32,  "WF", "float",  "f", "f4") \
    ROW(WEFT_I32,   i32,  int32_t,  (double)x,        value,                WI_NUMBER_INT,   true,  WEFT_I32,  "WI", "int",    "i", "i4") \
    ROW(WEFT_F16,   f16,  uint16_t, decode(x, 5, 10), encode(value, 5, 10), WI_NUMBER_FLOAT, true,  WEFT_F32,  "WF", "float",  "f", "f2") \
    ROW(WEFT_BF16,  bf16, uint16_t, decode(x, 8, 7),  encode(value, 8, 7),  WI_NUMBER_FLOAT, true,  WEFT_F32,  "WF", "float",  "f", NULL) \
    ROW(WEFT_I64,   i64,  int64_t,  (double)x,        value,                WI_NUMBER_INT,   false, WEFT_I64,  "WL", "long",   "l", "i8") \
    ROW(WEFT_U8,    u8,   uint8_t,  (double)x,        value,                WI_NUMBER_INT,   false, WEFT_U8,   "WI", "int",    "i", "u1") \
    ROW(WEFT_BOOL,  bool, uint8_t,  x != 0 ? 1 : 0,   value != 0,           WI_NUMBER_BOOL,  false, WEFT_BOOL, "WI", "int",    "i", "b1") \
    ROW(WEFT_F64,   f64,  double,   x,                value,                WI_NUMBER_FLOAT, true,  WEFT_F64,  "WD", "double", "d", "f8")
/* clang-format on */

#define ACCESS(dtype, name, type, READ, WRITE, ...)                                                          \
    static double get_##name(const void *data, size_t i) {                                                   \
        type x;                                                                                              \
        memcpy(&x, (const char *)data + i * sizeof x, sizeof x);                                             \
        return READ;                                                                                         \
    }                                                                                                        \
    static void put_##name(void *data, size_t i, double value) {                                             \
        const type x = (type)(WRITE);                                                                        \
        memcpy((char *)data + i * sizeof x, &x, sizeof x);                                                   \
    }
FORMATS(ACCESS)

#define ENTRY(dtype, name, type, READ, WRITE, ...)                                                           \
    [dtype] = {#name, sizeof(type), __VA_ARGS__, get_##name, put_##name},
static const wi_format formats[] = {FORMATS(ENTRY)};

enum { FORMAT_COUNT = sizeof formats / sizeof *formats };

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

bool wi_dtype_is_taken(weft_dtype dtype, unsigned takes) {
    const unsigned kinds = !wi_dtype_is_float(dtype)            ? WI_TAKES_INTEGERS
                           : formats[dtype].compute == WEFT_F32 ? WI_TAKES_FLOATS | WI_TAKES_SINGLES
                                                                : WI_TAKES_FLOATS;
    return formats[dtype].computes && (takes & kinds);
}

/* Lists the dtypes that `takes` allows: floats first, in the order of the table. Returns their number. */
static int listed(unsigned takes, weft_dtype *list) {
    int count = 0;
    for (int floats = 1; floats >= 0; floats--)
        for (int i = 0; i < FORMAT_COUNT; i++)
            if (wi_dtype_is_float((weft_dtype)i) == floats && wi_dtype_is_taken((weft_dtype)i, takes))
                list[count++] = (weft_dtype)i;
    return count;
}

const char *wi_dtypes_text(unsigned takes) {
    static _Thread_local char text[256];
    weft_dtype list[FORMAT_COUNT];
    const int count = listed(takes, list);
    size_t length = 0;
    for (int i = 0; i < count && length < sizeof text; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%s",
            i == 0          ? ""
            : i + 1 < count ? ", "
                            : " or ",
            formats[list[i]].name);
    return text;
}

const char *weft_dtype_name(weft_dtype dtype) {
    return wi_dtype_valid(dtype) ? formats[dtype].name : "unknown dtype";
}

size_t weft_dtype_size(weft_dtype dtype) {
    return wi_dtype_valid(dtype) ? formats[dtype].size : 0;
}
