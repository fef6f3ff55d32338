/* Polynomials of symbols and floor quotients (contract in polynomials.h). */
#include "base/integers.h"
#include "graph/sizes.h"
#include "graph/weft_graph.h"
#include <string.h>

static int compare_factors(const wi_term *a, const wi_term *b) {
    for (int i = 0; i < WI_MOST_FACTORS; i++)
        if (a->factors[i] != b->factors[i]) return a->factors[i] < b->factors[i] ? -1 : 1;
    return 0;
}

/* Adds a term, in the order of factors, without equal ones and without zeros. */
static bool add_term(wi_polynomial *p, const wi_term *term) {
    int at = 0, order = 1;
    while (at < p->count && (order = compare_factors(term, &p->terms[at])) > 0) at++;
    if (at < p->count && order == 0) {
        if (__builtin_add_overflow(p->terms[at].times, term->times, &p->terms[at].times)) return false;
        if (p->terms[at].times != 0) return true;
        p->count--;
        memmove(&p->terms[at], &p->terms[at + 1], (size_t)(p->count - at) * sizeof *term);
        return true;
    }
    if (term->times == 0) return true;
    if (p->count == WI_MOST_TERMS) return false;
    memmove(&p->terms[at + 1], &p->terms[at], (size_t)(p->count - at) * sizeof *term);
    p->terms[at] = *term;
    p->count++;
    return true;
}

static bool scale(const wi_polynomial *a, int64_t by, wi_polynomial *scaled) {
    wi_polynomial result = {0};
    if (__builtin_mul_overflow(a->rest, by, &result.rest)) return false;
    for (int i = 0; i < a->count && by != 0; i++) {
        wi_term term = a->terms[i];
        if (__builtin_mul_overflow(term.times, by, &term.times)) return false;
        result.terms[result.count++] = term;
    }
    *scaled = result;
    return true;
}

bool wi_polynomial_add(const wi_polynomial *a, const wi_polynomial *b, int64_t sign, wi_polynomial *sum) {
    wi_polynomial result = *a, signed_b;
    if (!scale(b, sign, &signed_b)) return false;
    if (__builtin_add_overflow(result.rest, signed_b.rest, &result.rest)) return false;
    for (int i = 0; i < signed_b.count; i++)
        if (!add_term(&result, &signed_b.terms[i])) return false;
    *sum = result;
    return true;
}

/* The product of two terms; false: it has too many factors. */
static bool multiply_terms(const wi_term *a, const wi_term *b, wi_term *product) {
    int i = 0, j = 0, count = 0;
    *product = (wi_term){0, {WI_NO_FACTOR, WI_NO_FACTOR, WI_NO_FACTOR, WI_NO_FACTOR}};
    if (__builtin_mul_overflow(a->times, b->times, &product->times)) return false;
    for (;;) {
        const uint16_t from_a = i < WI_MOST_FACTORS ? a->factors[i] : WI_NO_FACTOR,
                       from_b = j < WI_MOST_FACTORS ? b->factors[j] : WI_NO_FACTOR;
        if (from_a == WI_NO_FACTOR && from_b == WI_NO_FACTOR) return true;
        if (count == WI_MOST_FACTORS) return false;
        if (from_a <= from_b)
            product->factors[count++] = from_a, i++;
        else
            product->factors[count++] = from_b, j++;
    }
}

bool wi_polynomial_multiply(const wi_polynomial *a, const wi_polynomial *b, wi_polynomial *product) {
    wi_polynomial result, more;
    if (!scale(a, b->rest, &result)) return false;
    for (int j = 0; j < b->count; j++) {
        const wi_polynomial rest = {.rest = 0, .count = 1, .terms = {b->terms[j]}};
        if (!scale(&rest, a->rest, &more) || !wi_polynomial_add(&result, &more, 1, &result)) return false;
        for (int i = 0; i < a->count; i++) {
            wi_term term;
            if (!multiply_terms(&a->terms[i], &b->terms[j], &term) || !add_term(&result, &term)) return false;
        }
    }
    *product = result;
    return true;
}

/* term / by; false: a factor of `by` is none of the term's. */
static bool divide_term(const wi_term *term, const wi_term *by, wi_term *quotient) {
    int count = 0, j = 0;
    if (term->times % by->times != 0) return false;
    *quotient = (wi_term){term->times / by->times, {WI_NO_FACTOR, WI_NO_FACTOR, WI_NO_FACTOR, WI_NO_FACTOR}};
    for (int i = 0; i < WI_MOST_FACTORS; i++) {
        if (j < WI_MOST_FACTORS && by->factors[j] != WI_NO_FACTOR && term->factors[i] == by->factors[j])
            j++;
        else if (term->factors[i] != WI_NO_FACTOR)
            quotient->factors[count++] = term->factors[i];
    }
    return j == WI_MOST_FACTORS || by->factors[j] == WI_NO_FACTOR;
}

/* Divides the first term, subtracts the multiple, and goes on with what is left. */
bool wi_polynomial_quotient(const wi_polynomial *a, const wi_polynomial *b, wi_polynomial *quotient) {
    wi_polynomial left = *a, result = {0};
    if (b->count == 0 && b->rest == 0) return false;
    for (int steps = 0; left.count > 0 || left.rest != 0; steps++) {
        wi_polynomial part = {0}, multiple;
        wi_term term;
        if (steps == WI_MOST_TERMS) return false;
        if (b->count == 0 || left.count == 0) {
            if (b->count > 0 || left.rest % b->rest != 0) return false;
            for (int i = 0; i < left.count; i++)
                if (left.terms[i].times % b->rest != 0) return false;
            for (int i = 0; i < left.count; i++) left.terms[i].times /= b->rest;
            left.rest /= b->rest;
            return wi_polynomial_add(&result, &left, 1, quotient);
        }
        if (divide_term(&left.terms[0], &b->terms[0], &term)) {
            if (term.factors[0] == WI_NO_FACTOR)
                part.rest = term.times;
            else
                part.terms[part.count++] = term;
        } else
            return false;
        if (!wi_polynomial_multiply(&part, b, &multiple) || !wi_polynomial_add(&left, &multiple, -1, &left) ||
            !wi_polynomial_add(&result, &part, 1, &result))
            return false;
    }
    *quotient = result;
    return true;
}

/* ---- floor quotients ---- */

static int64_t floor_of(int64_t a, int64_t by) {
    return a / by - (a % by < 0);
}

/* Is p one floor quotient, plus a number? Then floor(p / by) is the floor quotient of its numerator by a product. */
static const wi_size_entry *only_quotient(const weft_graph *graph, const wi_polynomial *p) {
    const bool one = p->count == 1 && p->terms[0].times == 1 && p->terms[0].factors[1] == WI_NO_FACTOR;
    const wi_size_entry *const entry = one ? &graph->sizes.of[p->terms[0].factors[0]] : NULL;
    return entry && entry->divisor > 1 ? entry : NULL;
}

/* floor((multiple · by + rest) / by), as multiple + floor(rest / by), in which all numbers of `rest` are from 0 to by - 1. */
bool wi_polynomial_divide(weft_graph *graph, const wi_polynomial *p, int64_t by, wi_polynomial *quotient) {
    wi_polynomial whole = {0}, rest = {0};
    whole.rest = floor_of(p->rest, by);
    rest.rest = p->rest - whole.rest * by;
    int64_t common = by;
    for (int i = 0; i < p->count; i++) {
        wi_term term = p->terms[i];
        const int64_t times = floor_of(term.times, by), left = term.times - times * by;
        term.times = times;
        if (times) whole.terms[whole.count++] = term;
        term.times = left;
        if (left) rest.terms[rest.count++] = term;
        common = wi_gcd64(common, left);
    }
    if (rest.count == 0) return *quotient = whole, true;
    for (int i = 0; i < rest.count; i++) rest.terms[i].times /= common;
    rest.rest /= common; /* the rest of this division is below 1 in units of the others */
    by /= common;
    const wi_size_entry *const inner = only_quotient(graph, &rest);
    if (inner) {
        wi_polynomial more = {.rest = rest.rest}, sum;
        const int64_t divisor = inner->divisor;
        if (by > (INT64_C(1) << 40) / divisor || !scale(&more, divisor, &more) ||
            !wi_polynomial_add(&inner->of, &more, 1, &sum) ||
            !wi_polynomial_divide(graph, &sum, by * divisor, &rest))
            return false;
        return wi_polynomial_add(&whole, &rest, 1, quotient);
    }
    const int factor = wi_size_entry_number(graph, &rest, by);
    if (factor < 0) return false;
    const wi_polynomial one = {
        .count = 1, .terms = {{1, {(uint16_t)factor, WI_NO_FACTOR, WI_NO_FACTOR, WI_NO_FACTOR}}}};
    return wi_polynomial_add(&whole, &one, 1, quotient);
}

/* ---- bounds ---- */

static int64_t clamp_product(int64_t a, int64_t b) {
    int64_t product;
    if (!__builtin_mul_overflow(a, b, &product)) return product;
    return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}

static int64_t clamp_sum(int64_t a, int64_t b) {
    int64_t sum;
    return !__builtin_add_overflow(a, b, &sum) ? sum : a < 0 ? INT64_MIN : INT64_MAX;
}

/* The least value of a factor: 1 for a symbol. */
static int64_t least_factor(const weft_graph *graph, uint16_t number) {
    const wi_size_entry *const entry = &graph->sizes.of[number];
    if (entry->divisor <= 1) return 1;
    const int64_t least = wi_polynomial_least(graph, &entry->of);
    return least == INT64_MIN ? least : floor_of(least, entry->divisor);
}

/* Terms above 0 are least with the least factors; those below 0 have no bound. */
int64_t wi_polynomial_least(const weft_graph *graph, const wi_polynomial *p) {
    int64_t sum = p->rest;
    for (int i = 0; i < p->count; i++) {
        int64_t product = p->terms[i].times;
        if (product < 0) return INT64_MIN;
        for (int k = 0; k < WI_MOST_FACTORS && p->terms[i].factors[k] != WI_NO_FACTOR; k++) {
            const int64_t least = least_factor(graph, p->terms[i].factors[k]);
            if (least < 0) return INT64_MIN;
            product = clamp_product(product, least);
        }
        sum = clamp_sum(sum, product);
    }
    return sum;
}

int64_t wi_polynomial_most(const weft_graph *graph, const wi_polynomial *p) {
    wi_polynomial negative;
    if (!scale(p, -1, &negative)) return INT64_MAX;
    const int64_t least = wi_polynomial_least(graph, &negative);
    return least == INT64_MIN ? INT64_MAX : -least;
}

/* ---- values ---- */

static int64_t factor_at(const weft_graph *graph, uint16_t number, const wi_given *given, int *missing) {
    const wi_size_entry *const entry = &graph->sizes.of[number];
    if (entry->divisor > 1)
        return floor_of(wi_polynomial_at(graph, &entry->of, given, missing), entry->divisor);
    const int64_t value = number == WI_SYMBOL_BATCH      ? (given->examples ? given->examples : given->batch)
                          : entry->symbol < given->count ? given->values[entry->symbol]
                                                         : 0;
    if (value == 0) *missing = (int)entry->symbol;
    return value;
}

int64_t wi_polynomial_at(
    const weft_graph *graph, const wi_polynomial *p, const wi_given *given, int *missing) {
    int64_t sum = p->rest;
    for (int i = 0; i < p->count; i++) {
        int64_t product = p->terms[i].times;
        for (int k = 0; k < WI_MOST_FACTORS && p->terms[i].factors[k] != WI_NO_FACTOR; k++)
            product = clamp_product(product, factor_at(graph, p->terms[i].factors[k], given, missing));
        sum = clamp_sum(sum, product);
    }
    return sum;
}
