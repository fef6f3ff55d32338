/* Polynomials of symbols and of floor quotients, as sizes.h uses them, and the table in which a graph keeps them. */
#ifndef WI_POLYNOMIALS_H
#define WI_POLYNOMIALS_H

#include "graph/shape.h"

enum { WI_MOST_TERMS = 12, WI_MOST_FACTORS = 4, WI_NO_FACTOR = 0xffff };

/* times · the product of the factors, which are numbers of entries of the graph's table, in rising order, then WI_NO_FACTOR. */
typedef struct wi_term {
    int64_t times;
    uint16_t factors[WI_MOST_FACTORS];
} wi_term;

/* The sum of the terms, whose factors differ and are in rising order, and of the rest. */
typedef struct wi_polynomial {
    int count;
    int64_t rest;
    wi_term terms[WI_MOST_TERMS];
} wi_polynomial;

typedef struct wi_size_entry {
    uint32_t prime;   /* of its handles (sizes.h) */
    uint32_t symbol;  /* the number of the symbol */
    const char *name; /* of the symbol; NULL: the entry is none, but floor(of / divisor) */
    int64_t divisor;  /* 0: a symbol; 1: the polynomial itself, which is not a factor of others */
    wi_polynomial of;
} wi_size_entry;

typedef struct wi_size_table {
    wi_size_entry *of;
    size_t count, capacity, symbol_count;
    wi_polynomial *required; /* are 0 or more in each plan */
    size_t required_count, required_capacity;
} wi_size_table;

/* The values that a plan gives to symbols. */
typedef struct wi_given {
    /* By number of the symbol; 0: not given. NULL: none is, and no node is symbolic. */
    const int64_t *values;
    size_t count;
    int64_t examples; /* replaces the batch if this is not 0 */
    int64_t batch;    /* of the plan */
} wi_given;

/* False: the result is too large, or has too many terms. */
bool wi_polynomial_add(const wi_polynomial *a, const wi_polynomial *b, int64_t sign, wi_polynomial *sum);
bool wi_polynomial_multiply(const wi_polynomial *a, const wi_polynomial *b, wi_polynomial *product);
/* floor(p / by), for a number `by` of 1 or more. */
bool wi_polynomial_divide(weft_graph *graph, const wi_polynomial *p, int64_t by, wi_polynomial *quotient);
/* The exact quotient of two polynomials; false: it is none, or was not found. */
bool wi_polynomial_quotient(const wi_polynomial *a, const wi_polynomial *b, wi_polynomial *quotient);
/* The least and the largest value if every symbol is 1 or more; INT64_MIN, INT64_MAX: there is no bound. */
int64_t wi_polynomial_least(const weft_graph *graph, const wi_polynomial *p);
int64_t wi_polynomial_most(const weft_graph *graph, const wi_polynomial *p);
/* The value; *missing is set to the number of a symbol that has none. */
int64_t wi_polynomial_at(
    const weft_graph *graph, const wi_polynomial *p, const wi_given *given, int *missing);
/* The number of the table's entry for floor(of / divisor), or with divisor 1 for the polynomial itself; -1: there is no memory. */
int wi_size_entry_number(weft_graph *graph, const wi_polynomial *of, int64_t divisor);

#endif
