/* See onnx_fold.h: numbers that depend on open sizes, as polynomials. */
#include "onnx/onnx_fold.h"
#include <math.h>

typedef struct operands {
    weft_graph *graph;
    wi_polynomial a, b, difference; /* a - b */
} operands;

static double number_of(const operands *o, bool good, const wi_polynomial *p) {
    return good ? wi_onnx_from_polynomial(o->graph, p) : (double)NAN;
}

/* Sizes are 1 or more. */
static bool is_at_least(const operands *o, const wi_polynomial *p, int64_t least) {
    return wi_polynomial_least(o->graph, p) >= least;
}

static bool is_at_most(const operands *o, const wi_polynomial *p, int64_t most) {
    return wi_polynomial_most(o->graph, p) <= most;
}

/* Is p 0 or more, at least in the plans that are created from now on? */
static bool require(const operands *o, const wi_polynomial *p) {
    return is_at_least(o, p, 0) || (wi_polynomial_most(o->graph, p) >= 0 && wi_sizes_require(o->graph, p));
}

/* An exact quotient is the same for whole numbers and for floats. Another one is a floor for whole numbers: ONNX rounds to zero, which
 * is the same where the dividend is no number below 0, so that plans whose sizes make it negative are refused. */
static double divide(const operands *o, bool whole) {
    wi_polynomial p;
    if (wi_polynomial_quotient(&o->a, &o->b, &p)) return wi_onnx_from_polynomial(o->graph, &p);
    const bool floors = whole && o->b.count == 0 && o->b.rest > 0 && require(o, &o->a);
    return number_of(o, floors && wi_polynomial_divide(o->graph, &o->a, o->b.rest, &p), &p);
}

/* a - b · floor(a / b) */
static double modulo(const operands *o) {
    wi_polynomial p;
    const bool good = o->b.count == 0 && o->b.rest > 0 &&
                      wi_polynomial_divide(o->graph, &o->a, o->b.rest, &p) &&
                      wi_polynomial_multiply(&p, &o->b, &p) && wi_polynomial_add(&o->a, &p, -1, &p);
    return number_of(o, good, &p);
}

/* A factor whose reciprocal is a whole number divides. False: it is none. */
static bool turns_over(double *b, wi_onnx_rule *rule) {
    const double inverse = 1 / *b;
    if (*b == floor(*b) || inverse != floor(inverse)) return false;
    *b = inverse;
    *rule = *rule == WI_ONNX_MUL ? WI_ONNX_DIV : WI_ONNX_MUL;
    return true;
}

static double less(const operands *o) {
    return is_at_most(o, &o->difference, -1) ? 1 : is_at_least(o, &o->difference, 0) ? 0 : (double)NAN;
}

static double greater(const operands *o) {
    return is_at_least(o, &o->difference, 1) ? 1 : is_at_most(o, &o->difference, 0) ? 0 : (double)NAN;
}

static double equal(const operands *o) {
    const wi_polynomial *const d = &o->difference;
    if (d->count == 0 && d->rest == 0) return 1;
    return is_at_most(o, d, -1) || is_at_least(o, d, 1) ? 0 : (double)NAN;
}

static double choose(const operands *o, double a, double b, bool larger) {
    if (is_at_least(o, &o->difference, 0)) return larger ? a : b;
    return is_at_most(o, &o->difference, 0) ? (larger ? b : a) : (double)NAN;
}

/* The smaller of a size and a number, such as the length of a table of which the network takes the first rows. If the table is
 * shorter than the size, a plan refuses it, as it refuses the slice. */
static double smaller(const operands *o, double a, double b, bool whole) {
    const double chosen = choose(o, a, b, false);
    const bool limits_a = o->b.count == 0 && o->b.rest > 1, limits_b = o->a.count == 0 && o->a.rest > 1;
    const wi_polynomial zero = {0};
    wi_polynomial room = o->difference; /* a - b */
    if (!isnan(chosen) || !whole || limits_a == limits_b) return chosen;
    if (limits_a && !wi_polynomial_add(&zero, &o->difference, -1, &room)) return chosen;
    return require(o, &room) ? (limits_a ? a : b) : chosen;
}

static double negative(const operands *o) {
    const wi_polynomial zero = {0};
    wi_polynomial p;
    return number_of(o, wi_polynomial_add(&zero, &o->a, -1, &p), &p);
}

static double absolute(const operands *o, double a) {
    return is_at_least(o, &o->a, 0) ? a : is_at_most(o, &o->a, 0) ? negative(o) : (double)NAN;
}

static double sign_of(const operands *o) {
    return is_at_least(o, &o->a, 1) ? 1 : is_at_most(o, &o->a, -1) ? -1 : (double)NAN;
}

double wi_onnx_calculate_open(weft_graph *graph, wi_onnx_rule rule, bool whole, double a, double b) {
    operands o = {.graph = graph};
    wi_polynomial p;
    const bool scales = rule == WI_ONNX_MUL || rule == WI_ONNX_DIV;
    if (scales && wi_onnx_is_open(a) && !wi_onnx_is_open(b) && turns_over(&b, &rule)) whole = false;
    if (rule == WI_ONNX_MUL && wi_onnx_is_open(b) && !wi_onnx_is_open(a) && a != floor(a))
        return wi_onnx_calculate_open(graph, rule, whole, b, a);
    if (!wi_onnx_polynomial(graph, a, &o.a) || !wi_onnx_polynomial(graph, b, &o.b) ||
        !wi_polynomial_add(&o.a, &o.b, -1, &o.difference))
        return (double)NAN;
    switch (rule) {
    case WI_ONNX_SAME:
    case WI_ONNX_FLOOR:
    case WI_ONNX_CEIL:
    case WI_ONNX_ROUND:
    case WI_ONNX_TRUNC: return a; /* an open number is whole */
    case WI_ONNX_ADD: return number_of(&o, wi_polynomial_add(&o.a, &o.b, 1, &p), &p);
    case WI_ONNX_SUB: return number_of(&o, true, &o.difference);
    case WI_ONNX_NEG: return negative(&o);
    case WI_ONNX_MUL: return number_of(&o, wi_polynomial_multiply(&o.a, &o.b, &p), &p);
    case WI_ONNX_SQUARE: return number_of(&o, wi_polynomial_multiply(&o.a, &o.a, &p), &p);
    case WI_ONNX_DIV: return divide(&o, whole);
    case WI_ONNX_MOD: return modulo(&o);
    case WI_ONNX_MAX: return choose(&o, a, b, true);
    case WI_ONNX_MIN: return smaller(&o, a, b, whole);
    case WI_ONNX_RELU: return choose(&o, a, 0, true);
    case WI_ONNX_EQUAL: return equal(&o);
    case WI_ONNX_LESS: return less(&o);
    case WI_ONNX_GREATER: return greater(&o);
    case WI_ONNX_LESS_EQUAL: return 1 - greater(&o);
    case WI_ONNX_GREATER_EQUAL: return 1 - less(&o);
    case WI_ONNX_NOT: return is_at_least(&o, &o.a, 1) || is_at_most(&o, &o.a, -1) ? 0 : (double)NAN;
    case WI_ONNX_ABS: return absolute(&o, a);
    case WI_ONNX_SIGN: return sign_of(&o);
    default: return (double)NAN;
    }
}
