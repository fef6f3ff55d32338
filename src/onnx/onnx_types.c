/* See onnx_types.h. */
#include "onnx/onnx_types.h"
#include "graph/dtype.h"
#include <math.h>
#include <string.h>

/* clang-format off */
static const wi_onnx_type types[] = {
    {.number = WI_ONNX_FLOAT, .bits = 32, .dtype = WEFT_F32},
    {.number = WI_ONNX_UINT8, .bits = 8, .dtype = WEFT_I32},
    {.number = WI_ONNX_INT8, .bits = 8, .dtype = WEFT_I32, .negative = true},
    {.number = WI_ONNX_UINT16, .bits = 16, .dtype = WEFT_I32},
    {.number = WI_ONNX_INT16, .bits = 16, .dtype = WEFT_I32, .negative = true},
    {.number = WI_ONNX_INT32, .bits = 32, .dtype = WEFT_I32, .negative = true},
    {.number = WI_ONNX_INT64, .bits = 64, .dtype = WEFT_I32, .negative = true},
    {.number = WI_ONNX_BOOL, .bits = 8, .dtype = WEFT_BOOL},
    {.number = WI_ONNX_FLOAT16, .bits = 16, .dtype = WEFT_F32},
    {.number = WI_ONNX_DOUBLE, .bits = 64, .dtype = WEFT_F32},
    {.number = WI_ONNX_UINT32, .bits = 32, .dtype = WEFT_I32},
    {.number = WI_ONNX_UINT64, .bits = 64, .dtype = WEFT_I32},
    {.number = WI_ONNX_BFLOAT16, .bits = 16, .dtype = WEFT_F32},
    {WI_ONNX_FLOAT8E4M3FN, 8, WEFT_F32, true, 3, 7, WI_ONNX_ALL_ONES, 448},
    {WI_ONNX_FLOAT8E4M3FNUZ, 8, WEFT_F32, true, 3, 8, WI_ONNX_MINUS_0, 240},
    {WI_ONNX_FLOAT8E5M2, 8, WEFT_F32, true, 2, 15, WI_ONNX_IEEE, 57344},
    {WI_ONNX_FLOAT8E5M2FNUZ, 8, WEFT_F32, true, 2, 16, WI_ONNX_MINUS_0, 57344},
    {.number = WI_ONNX_UINT4, .bits = 4, .dtype = WEFT_I32},
    {.number = WI_ONNX_INT4, .bits = 4, .dtype = WEFT_I32, .negative = true},
    {WI_ONNX_FLOAT4E2M1, 4, WEFT_F32, true, 1, 1, WI_ONNX_NO_SPECIAL, 6},
    {WI_ONNX_FLOAT8E8M0, 8, WEFT_F32, false, 0, 127, WI_ONNX_ALL_ONES, 0x1p127},
    {.number = WI_ONNX_UINT2, .bits = 2, .dtype = WEFT_I32},
    {.number = WI_ONNX_INT2, .bits = 2, .dtype = WEFT_I32, .negative = true}};
/* clang-format on */

const wi_onnx_type *wi_onnx_type_of(int number) {
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].number == number) return &types[i];
    return NULL;
}

/* ---- on the host ---- */

/* The value of a float of at most 8 bits. In e8m0, which has no mantissa and no sign, there are no subnormal numbers. */
static double narrow_float(const wi_onnx_type *type, unsigned pattern) {
    const int digits = type->bits - (type->negative ? 1 : 0);
    const unsigned rest = pattern & ((1u << digits) - 1), fraction = rest & ((1u << type->mantissa) - 1);
    const int exponent = (int)(rest >> type->mantissa), ones = (int)((1u << (digits - type->mantissa)) - 1);
    const double sign = rest != pattern ? -1 : 1;
    if (type->special == WI_ONNX_ALL_ONES && rest == (1u << digits) - 1) return (double)NAN;
    if (type->special == WI_ONNX_MINUS_0 && pattern == 1u << digits) return (double)NAN;
    if (type->special == WI_ONNX_IEEE && exponent == ones)
        return fraction ? (double)NAN : sign * (double)INFINITY;
    if (exponent == 0 && type->mantissa > 0)
        return sign * ldexp((double)fraction, 1 - type->bias - type->mantissa);
    return sign *
           ldexp((double)fraction + (double)(1u << type->mantissa), exponent - type->bias - type->mantissa);
}

/* The format of a type in which Weft can also store tensors; NULL: there is none. */
static const wi_format *format_of(int number) {
    switch (number) {
    case WI_ONNX_FLOAT: return wi_format_of(WEFT_F32);
    case WI_ONNX_INT64: return wi_format_of(WEFT_I64);
    case WI_ONNX_FLOAT16: return wi_format_of(WEFT_F16);
    case WI_ONNX_DOUBLE: return wi_format_of(WEFT_F64);
    case WI_ONNX_BFLOAT16: return wi_format_of(WEFT_BF16);
    default: return NULL;
    }
}

double wi_onnx_type_get(const wi_onnx_type *type, const void *data, size_t i) {
    const wi_format *const format = format_of(type->number);
    const unsigned char *const bytes = data;
    uint64_t pattern = 0;
    if (format) return format->get(data, i);
    if (type->bits >= 8)
        memcpy(&pattern, bytes + i * (size_t)type->bits / 8, (size_t)type->bits / 8);
    else
        pattern = (uint64_t)bytes[i * (size_t)type->bits / 8] >> (i * (size_t)type->bits % 8) &
                  ((1u << type->bits) - 1);
    if (type->dtype == WEFT_F32) return narrow_float(type, (unsigned)pattern);
    if (type->dtype == WEFT_BOOL) return pattern != 0;
    const bool negative = type->negative && pattern >> (type->bits - 1) & 1;
    return (double)pattern - (negative ? ldexp(1, type->bits) : 0);
}

double wi_onnx_type_low(const wi_onnx_type *type) {
    return type->negative ? -ldexp(1, type->bits - 1) : 0;
}

double wi_onnx_type_high(const wi_onnx_type *type) {
    return ldexp(1, type->bits - (type->negative ? 1 : 0)) - 1;
}

/* ---- in the graph ---- */

weft_tensor *wi_onnx_wrap(weft_tensor *x, int number) {
    const wi_onnx_type *const type = wi_onnx_type_of(number);
    if (!x || !type || type->dtype != WEFT_I32 || type->bits > 16) return x;
    const double count = ldexp(1, type->bits), half = type->negative ? count / 2 : 0;
    if (!type->negative) return weft_remainder_number(x, count);
    return weft_sub_number(weft_remainder_number(weft_add_number(x, half), count), half);
}

/* Rounds |x| to a multiple of the distance between the numbers of the type around it, which is a power of 2. All factors are powers of 2,
 * so the products are exact, and ties are rounded to even. */
static weft_tensor *round_magnitude(weft_tensor *magnitude, const wi_onnx_type *type) {
    const int least = 1 - type->bias, most = ilogb(type->largest);
    weft_tensor *down = weft_number(magnitude, ldexp(1, type->mantissa - least));
    weft_tensor *up = weft_number(magnitude, ldexp(1, least - type->mantissa));
    for (int e = least + 1; e <= most; e++) {
        weft_tensor *const above = weft_greater_equal_number(magnitude, ldexp(1, e));
        down = weft_where(above, weft_number(magnitude, ldexp(1, type->mantissa - e)), down);
        up = weft_where(above, weft_number(magnitude, ldexp(1, e - type->mantissa)), up);
    }
    return weft_mul(weft_round(weft_mul(magnitude, down)), up);
}

static weft_tensor *round_to(weft_tensor *x, const wi_onnx_type *type, bool saturate) {
    weft_tensor *const rounded = round_magnitude(weft_abs(x), type);
    const bool has_infinity = type->special == WI_ONNX_IEEE;
    weft_tensor *const beyond = weft_number(x, saturate || type->special == WI_ONNX_NO_SPECIAL ? type->largest
                                               : has_infinity ? (double)INFINITY
                                                              : (double)NAN);
    weft_tensor *const bounded = weft_where(weft_greater_number(rounded, type->largest), beyond, rounded);
    weft_tensor *const y = weft_where(weft_less_number(x, 0), weft_neg(bounded), bounded);
    return type->special == WI_ONNX_NO_SPECIAL ? weft_where(weft_isnan(x), weft_number(x, 0), y)
                                               : weft_where(weft_isnan(x), x, y);
}

weft_tensor *wi_onnx_cast(wi_onnx_import *n, wi_onnx_node *node, weft_tensor *x, int number, bool saturate) {
    const wi_onnx_type *const type = wi_onnx_type_of(number);
    if (!x || n->status != WEFT_OK) return NULL;
    if (!type || number == WI_ONNX_FLOAT8E8M0)
        return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "ONNX's data type %d is not supported", number);
    weft_tensor *const y = weft_cast(x, type->dtype);
    if (type->mantissa > 0) return round_to(y, type, saturate);
    if (number == WI_ONNX_FLOAT16) return weft_cast(weft_cast(y, WEFT_F16), WEFT_F32);
    if (number == WI_ONNX_BFLOAT16) return weft_cast(weft_cast(y, WEFT_BF16), WEFT_F32);
    return wi_onnx_wrap(y, number);
}
