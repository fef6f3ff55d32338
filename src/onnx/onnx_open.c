/* See onnx_fold.h: numbers that depend on open sizes, in the encoding of onnx_sizes.h. */
#include "onnx/onnx_fold.h"
#include <math.h>

/* An open number: batch * b + length * l + rest. */
typedef struct parts {
    double batch, length, rest;
} parts;

/* Splits a number that is not a product of the batch and the length. A number that is not open has only a rest. */
static parts split(double number) {
    int64_t batch, length, rest;
    if (!wi_onnx_parts(number, &batch, &length, &rest)) return (parts){0, 0, number};
    return (parts){(double)batch, (double)length, (double)rest};
}

/* Encodes the parts as a number (onnx_sizes.h). NAN: decoding the number would give other parts. */
static double join(parts p) {
    const double number = p.batch * 0x1p40 + p.length * (double)WEFT_LENGTH + p.rest;
    const parts back = split(number);
    const bool same = back.batch == p.batch && back.length == p.length && back.rest == p.rest;
    return same ? number : (double)NAN;
}

static parts difference(double a, double b) {
    const parts p = split(a), q = split(b);
    return (parts){p.batch - q.batch, p.length - q.length, p.rest - q.rest};
}

/* The smallest value that the number can have, because the batch and the length are at least 1. */
static double least(parts p) {
    return p.batch >= 0 && p.length >= 0 ? p.batch + p.length + p.rest : -(double)INFINITY;
}

static double most(parts p) {
    return p.batch <= 0 && p.length <= 0 ? p.batch + p.length + p.rest : (double)INFINITY;
}

static bool divides(double divisor, double number) {
    return fmod(number, divisor) == 0;
}

/* ---- products of the batch and the length ---- */

static bool is_product(double number) {
    return fabs(number) >= 0x1p60 && wi_onnx_is_open(number);
}

/* Encodes the batch times a multiple of the length. */
static double product(double of_length) {
    const double number = of_length * 0x1p40;
    return fabs(of_length) < 0x1p53 && is_product(number) ? number : (double)NAN;
}

static bool is_multiple(parts p, bool of_length) {
    return p.rest == 0 && (of_length ? p.batch : p.length) == 0;
}

/* Multiplies or divides a product of the batch and the length by another number. */
static double scale_product(wi_onnx_rule rule, double of_length, double b) {
    const parts q = split(b);
    if (rule == WI_ONNX_MUL)
        return wi_onnx_is_open(b) ? (double)NAN
               : b == 0           ? 0
               : b == floor(b)    ? product(of_length * b)
                                  : (double)NAN;
    if (is_product(b)) return divides(b / 0x1p40, of_length) ? of_length / (b / 0x1p40) : (double)NAN;
    if (b == 0 || !divides(wi_onnx_is_open(b) && is_multiple(q, false) ? q.batch : b, of_length))
        return (double)NAN;
    if (!wi_onnx_is_open(b)) return product(of_length / b);
    return is_multiple(q, false)  ? of_length / q.batch
           : is_multiple(q, true) ? of_length / b * 0x1p40
                                  : (double)NAN;
}

static double calculate_product(wi_onnx_rule rule, double a, double b) {
    switch (rule) {
    case WI_ONNX_SAME:
    case WI_ONNX_FLOOR:
    case WI_ONNX_CEIL:
    case WI_ONNX_ROUND:
    case WI_ONNX_TRUNC: return a;
    case WI_ONNX_EQUAL: return a == b ? 1 : (double)NAN;
    case WI_ONNX_MUL:
        return is_product(a) ? scale_product(rule, a / 0x1p40, b) : scale_product(rule, b / 0x1p40, a);
    case WI_ONNX_DIV: return is_product(a) ? scale_product(rule, a / 0x1p40, b) : (double)NAN;
    default: return (double)NAN;
    }
}

/* ---- sums and multiples ---- */

static double add(parts p, parts q, double sign) {
    return join((parts){p.batch + sign * q.batch, p.length + sign * q.length, p.rest + sign * q.rest});
}

static double multiply(double a, double b) {
    const parts p = split(a), q = split(b);
    if (wi_onnx_is_open(a) && wi_onnx_is_open(b)) {
        if (is_multiple(p, false) && is_multiple(q, true)) return product(p.batch * b);
        return is_multiple(p, true) && is_multiple(q, false) ? product(a * q.batch) : (double)NAN;
    }
    const parts of = wi_onnx_is_open(a) ? p : q;
    const double factor = wi_onnx_is_open(a) ? b : a;
    return join((parts){of.batch * factor, of.length * factor, of.rest * factor});
}

/* Divides an open number. Only exact divisions are possible, whose result is the same for integers and for floats. */
static double divide(double a, double b) {
    const parts p = split(a);
    if (wi_onnx_is_open(b)) {
        const double ratio = round(a / b);
        return multiply(b, ratio) == a ? ratio : (double)NAN;
    }
    if (b == 0 || !divides(b, p.batch) || !divides(b, p.length) || !divides(b, p.rest)) return (double)NAN;
    return join((parts){p.batch / b, p.length / b, p.rest / b});
}

static double modulo(double a, double b) {
    const parts p = split(a);
    const bool known = !wi_onnx_is_open(b) && b > 0 && divides(b, p.batch) && divides(b, p.length);
    return known && least(p) >= 0 ? p.rest - b * floor(p.rest / b) : (double)NAN;
}

/* ---- order ---- */

static double less(double a, double b) {
    const parts p = difference(a, b);
    return most(p) < 0 ? 1 : least(p) >= 0 ? 0 : (double)NAN;
}

static double equal(double a, double b) {
    const parts p = difference(a, b);
    return most(p) < 0 || least(p) > 0 ? 0 : most(p) == 0 && least(p) == 0 ? 1 : (double)NAN;
}

static double choose(double a, double b, bool larger) {
    if (less(b, a) == 0) return larger ? b : a;
    return less(a, b) == 0 ? (larger ? a : b) : (double)NAN;
}

static double absolute(double a) {
    return less(a, 0) == 0 ? a : less(0, a) == 0 ? add(split(0), split(a), -1) : (double)NAN;
}

static double sign_of(double a) {
    return less(0, a) == 1 ? 1 : less(a, 0) == 1 ? -1 : (double)NAN;
}

double wi_onnx_calculate_open(wi_onnx_rule rule, double a, double b) {
    if (is_product(a) || is_product(b)) return calculate_product(rule, a, b);
    switch (rule) {
    case WI_ONNX_SAME:
    case WI_ONNX_FLOOR:
    case WI_ONNX_CEIL:
    case WI_ONNX_ROUND:
    case WI_ONNX_TRUNC: return a; /* an open number is an integer */
    case WI_ONNX_ADD: return add(split(a), split(b), 1);
    case WI_ONNX_SUB: return add(split(a), split(b), -1);
    case WI_ONNX_NEG: return add(split(0), split(a), -1);
    case WI_ONNX_MUL: return multiply(a, b);
    case WI_ONNX_DIV: return divide(a, b);
    case WI_ONNX_MOD: return modulo(a, b);
    case WI_ONNX_MAX: return choose(a, b, true);
    case WI_ONNX_MIN: return choose(a, b, false);
    case WI_ONNX_RELU: return choose(a, 0, true);
    case WI_ONNX_EQUAL: return equal(a, b);
    case WI_ONNX_LESS: return less(a, b);
    case WI_ONNX_GREATER: return less(b, a);
    case WI_ONNX_LESS_EQUAL: return 1 - less(b, a);
    case WI_ONNX_GREATER_EQUAL: return 1 - less(a, b);
    case WI_ONNX_NOT: return equal(a, 0);
    case WI_ONNX_ABS: return absolute(a);
    case WI_ONNX_SIGN: return sign_of(a);
    default: return (double)NAN;
    }
}
