/* Recognises GELU by parts: products of x, ½ and 1 + erf(x / sqrt(2)), or 1 + tanh(sqrt(2/π)·(x + 0.044715·x³)), in any order. */
#include "ops/parts.h"
#include <math.h>

/* DEPTH: how far parts are searched. DEGREE: of the polynomials in x. */
enum { DEPTH = 6, DEGREE = 3 };

typedef struct polynomial {
    double of[DEGREE + 1]; /* the coefficients of 1, x, x², x³ */
} polynomial;

static bool is_near(double a, double b) {
    return fabs(a - b) <= 2e-6 * fabs(b);
}

/* False: the product has a higher degree. */
static bool multiply(polynomial *a, const polynomial *b) {
    polynomial product = {{0}};
    for (int i = 0; i <= DEGREE; i++) {
        for (int k = 0; k <= DEGREE; k++) {
            if (i + k <= DEGREE)
                product.of[i + k] += a->of[i] * b->of[k];
            else if (a->of[i] * b->of[k] != 0)
                return false;
        }
    }
    *a = product;
    return true;
}

static bool raise(polynomial *p, double exponent) {
    const polynomial base = *p;
    if (exponent != 2 && exponent != 3) return false;
    return multiply(p, &base) && (exponent == 2 || multiply(p, &base));
}

/* Is u a polynomial in x? Notes the nodes between the two. */
static bool is_polynomial(
    polynomial *p, weft_tensor *u, const weft_tensor *x, wi_recognised *found, int depth) {
    double number;
    polynomial other;
    *p = (polynomial){{0}};
    if (u == x) return p->of[1] = 1, true;
    if (wi_parts_number(u, &p->of[0])) return true;
    if (depth == 0 || u->op->kind != WI_MAP || !wi_shape_equal(&u->shape, &x->shape) ||
        !wi_parts_note(found, u) || !is_polynomial(p, u->inputs[0], x, found, depth - 1))
        return false;
    if (u->op == &wi_op_square) return raise(p, 2);
    if (u->input_count != 2) return false;
    if (u->op == &wi_op_pow) return wi_parts_number(u->inputs[1], &number) && raise(p, number);
    if (!is_polynomial(&other, u->inputs[1], x, found, depth - 1)) return false;
    if (u->op == &wi_op_mul) return multiply(p, &other);
    if (u->op == &wi_op_div)
        return wi_parts_number(u->inputs[1], &number) && multiply(p, &(polynomial){{1 / number}});
    for (int i = 0; i <= DEGREE; i++) p->of[i] += other.of[i];
    return u->op == &wi_op_add;
}

/* The sum 1 + erf(u) or 1 + tanh(u) among the factors of y, or NULL. */
static weft_tensor *find_sum(weft_tensor *y, weft_tensor **curve, int depth) {
    double number;
    for (int i = 0; y->op == &wi_op_add && i < 2; i++) {
        *curve = y->inputs[i];
        const bool is_curve = (*curve)->op == &wi_op_erf || (*curve)->op == &wi_op_tanh;
        if (is_curve && wi_parts_number(y->inputs[1 - i], &number) && number == 1) return y;
    }
    if (depth == 0 || (y->op != &wi_op_mul && y->op != &wi_op_div)) return NULL;
    weft_tensor *const first = find_sum(y->inputs[0], curve, depth - 1);
    return first || y->op == &wi_op_div ? first : find_sum(y->inputs[1], curve, depth - 1);
}

/* Is y the product of ½, x and the sum? Counts how often x and the sum occur. */
static bool take_product(weft_tensor *y, const weft_tensor *x, const weft_tensor *sum, double *number,
    int occurs[2], wi_recognised *found, int depth) {
    double factor;
    if (y == x || y == sum) return occurs[y == sum]++ == 0;
    if (wi_parts_number(y, &factor)) return *number *= factor, true;
    const bool divides = y->op == &wi_op_div;
    if (depth == 0 || (!divides && y->op != &wi_op_mul)) return false;
    if (depth < DEPTH && !wi_parts_note(found, y)) return false; /* y is not a part of itself */
    if (!take_product(y->inputs[0], x, sum, number, occurs, found, depth - 1)) return false;
    if (!divides) return take_product(y->inputs[1], x, sum, number, occurs, found, depth - 1);
    return wi_parts_number(y->inputs[1], &factor) && (*number /= factor, true);
}

static bool is_gelu_of(
    weft_tensor *y, weft_tensor *x, weft_tensor *sum, weft_tensor *curve, wi_recognised *found) {
    const double k = 0.79788456080286536;
    polynomial p;
    double number = 1;
    int occurs[2] = {0};
    *found = (wi_recognised){.leaves = {x}};
    if (!wi_parts_note(found, sum) || !wi_parts_note(found, curve) ||
        !is_polynomial(&p, curve->inputs[0], x, found, DEPTH))
        return false;
    const bool is_erf = curve->op == &wi_op_erf;
    if (p.of[0] != 0 || p.of[2] != 0 || !is_near(p.of[1], is_erf ? 0.70710678118654752 : k)) return false;
    if (is_erf ? p.of[3] != 0 : !is_near(p.of[3], k * 0.044715)) return false;
    if (!take_product(y, x, sum, &number, occurs, found, DEPTH) || occurs[0] != 1 || occurs[1] != 1 ||
        !is_near(number, 0.5))
        return false;
    found->node = is_erf ? weft_gelu(x) : weft_gelu_tanh(x);
    return true;
}

/* Tries each node below the curve that may be x. */
static bool try_below(
    weft_tensor *y, weft_tensor *u, weft_tensor *sum, weft_tensor *curve, wi_recognised *found, int depth) {
    double number;
    if (wi_parts_number(u, &number)) return false;
    if (u->dtype == WEFT_F32 && wi_shape_equal(&u->shape, &y->shape) && is_gelu_of(y, u, sum, curve, found))
        return true;
    for (int i = 0; depth > 0 && u->op->kind == WI_MAP && i < u->input_count; i++)
        if (try_below(y, u->inputs[i], sum, curve, found, depth - 1)) return true;
    return false;
}

bool wi_gelu_recognise(weft_tensor *y, wi_recognised *found) {
    weft_tensor *curve = NULL, *const sum = y->dtype == WEFT_F32 ? find_sum(y, &curve, DEPTH / 2) : NULL;
    return sum && try_below(y, curve->inputs[0], sum, curve, found, DEPTH / 2);
}
