/* Ops of ONNX on integers, computed exactly: division, powers, and ops on bits. */
#include "onnx/onnx_build.h"
#include "onnx/onnx_types.h"
#include <math.h>

static bool is_whole(const weft_tensor *x) {
    return weft_tensor_dtype(x) == WEFT_I32;
}

static weft_tensor *divide(weft_tensor *a, weft_tensor *b) {
    return is_whole(a) ? weft_trunc_divide(a, b) : weft_div(a, b);
}

/* The remainder has the sign of the divisor, as in Python, or with the attribute fmod, which floats need, the sign of the dividend. */
static weft_tensor *build_mod(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const a = wi_onnx_get(n, node, 0), *const b = wi_onnx_get(n, node, 1);
    if (!a || !b) return NULL;
    return wi_onnx_whole(node, "fmod", 0) ? weft_fmod(a, b) : weft_remainder(a, b);
}

/* base^exponent modulo 2^32, for exponents from 0 to 2^bits - 1: the product of base^(2^k) over the set bits k of the exponent. */
static weft_tensor *power(weft_tensor *base, weft_tensor *exponent, int bits) {
    weft_tensor *result = weft_number(base, 1), *factor = base;
    for (int k = 0; k < bits; k++) {
        const double bit = ldexp(1, k);
        weft_tensor *const low = k < 30 ? weft_remainder_number(exponent, 2 * bit) : exponent;
        weft_tensor *const is_set = weft_greater_equal_number(low, bit);
        result = weft_mul(result, weft_where(is_set, factor, weft_number(base, 1)));
        factor = weft_square(factor);
    }
    return result;
}

/* The exponent if the host knows it and it is a single nonnegative integer, otherwise -1. */
static int known_exponent(const wi_onnx_numbers *known) {
    const double e = known && known->count == 1 ? known->data[0] : -1;
    return e >= 0 && e < 0x1p30 && e == floor(e) ? (int)e : -1;
}

static weft_tensor *whole_power(wi_onnx_import *n, wi_onnx_node *node, weft_tensor *x) {
    const int known = known_exponent(wi_onnx_known(n, node, 1));
    weft_tensor *const exponent = wi_onnx_get(n, node, 1);
    if (!exponent) return NULL;
    if (known < 0 && !is_whole(exponent))
        return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "powers of whole numbers need whole exponents");
    const int type = wi_onnx_get_type(n, node, 0);
    weft_tensor *const whole = weft_cast(exponent, WEFT_I32);
    if (known >= 0) return wi_onnx_wrap(power(x, whole, known > 1 ? ilogb(known) + 1 : 1), type);
    /* As an integer, 1 / x^n is 0 unless x is 1 or -1. */
    weft_tensor *const is_fraction =
        weft_logical_and(weft_less_number(whole, 0), weft_not_equal_number(weft_abs(x), 1));
    return wi_onnx_wrap(weft_where(is_fraction, weft_number(x, 0), power(x, weft_abs(whole), 31)), type);
}

static weft_tensor *build_pow(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    const wi_onnx_numbers *const known = wi_onnx_known(n, node, 1);
    if (!x || is_whole(x)) return x ? whole_power(n, node, x) : NULL;
    if (known && known->count == 1 && known->rank <= weft_tensor_rank(x))
        return weft_pow_number(x, known->data[0]);
    weft_tensor *const y = wi_onnx_get(n, node, 1);
    return y ? weft_pow(x, weft_cast(y, weft_tensor_dtype(x))) : NULL;
}

/* ---- bits ---- */

/* Shifts bits. Weft stores integers of 32 and 64 bits in i32, so the results of shifts that need more bits would be wrong. */
static weft_tensor *build_shift(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0), *const y = wi_onnx_get(n, node, 1);
    if (!x || !y) return NULL;
    if (!is_whole(x) || !is_whole(y))
        return wi_onnx_fail(n, node, WEFT_ERROR_DTYPE, "it takes whole numbers");
    enum { BITS = 5, MOST = 30 };
    weft_tensor *const factor = power(weft_number(x, 2), weft_minimum_number(y, MOST), BITS);
    weft_tensor *const is_most = weft_greater_number(y, MOST);
    const int direction =
        wi_onnx_need_choice(n, node, "direction", (const char *const[]){"LEFT", "RIGHT", NULL});
    if (direction < 0) return NULL;
    if (direction == 1) return weft_where(is_most, weft_number(x, 0), weft_trunc_divide(x, factor));
    return wi_onnx_wrap(
        weft_where(is_most, weft_number(x, 0), weft_mul(x, factor)), wi_onnx_get_type(n, node, 0));
}

/* x with the sign bit cleared; *sign: was the sign bit set? */
static weft_tensor *without_sign(weft_tensor *x, weft_tensor **sign) {
    *sign = weft_less_number(x, 0);
    return weft_where(*sign, weft_add_number(x, (double)INT32_MIN), x);
}

/* a and b, bit by bit from the highest to the lowest; each bit that is set is subtracted from its operand. */
static weft_tensor *both_bits(weft_tensor *a, weft_tensor *b) {
    weft_tensor *sign_a, *sign_b, *const zero = weft_number(a, 0);
    a = without_sign(a, &sign_a);
    b = without_sign(b, &sign_b);
    weft_tensor *result =
        weft_where(weft_logical_and(sign_a, sign_b), weft_number(a, (double)INT32_MIN), zero);
    for (int k = 30; k >= 0; k--) {
        weft_tensor *const bit = weft_number(a, ldexp(1, k));
        weft_tensor *const in_a = weft_where(weft_greater_equal(a, bit), bit, zero);
        weft_tensor *const in_b = weft_where(weft_greater_equal(b, bit), bit, zero);
        result = weft_add(result, weft_minimum(in_a, in_b));
        a = weft_sub(a, in_a);
        b = weft_sub(b, in_b);
    }
    return result;
}

/* Bitwise or: a + b - (a and b). Exclusive or: a + b - 2 · (a and b). */
static weft_tensor *either_bits(weft_tensor *a, weft_tensor *b) {
    return weft_sub(weft_add(a, b), both_bits(a, b));
}

static weft_tensor *unequal_bits(weft_tensor *a, weft_tensor *b) {
    return weft_sub(weft_add(a, b), weft_mul_number(both_bits(a, b), 2));
}

static weft_tensor *other_bits(weft_tensor *x) {
    return weft_number_sub(-1, x);
}

const wi_onnx_op wi_onnx_integer_ops[] = {{"Div", .two = divide, .wraps = true}, {"Mod", .build = build_mod},
    {"Pow", .build = build_pow}, {"BitShift", .build = build_shift}, {"BitwiseAnd", .two = both_bits},
    {"BitwiseOr", .two = either_bits}, {"BitwiseXor", .two = unequal_bits},
    {"BitwiseNot", .one = other_bits, .wraps = true}, {0}};
