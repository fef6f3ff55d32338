/* The graph's table of sizes, and their handles (contract in sizes.h). */
#include "graph/sizes.h"
#include "base/integers.h"
#include "cl/context.h"
#include "graph/weft_graph.h"
#include <stdio.h>
#include <string.h>

enum {
    REST_BITS = 21,
    MOST_REST = 1 << (REST_BITS - 1),
    MOST_TIMES = 1 << 20,
    LARGEST_PRIME = 1 << 21,
    MOST_ENTRIES = WI_NO_FACTOR,
    LONGEST_NAME = 63,
    /* The primes of the first entries are a little below a multiple of BLOCK, so that the lower 32 bits of handles, to which C shortens
     * them for a parameter of type int, are a negative number, which calls refuse. */
    MOST_CHOSEN = 64,
    BLOCK = 1 << 11,
    MOST_BELOW = 128
};

/* ---- the table ---- */

static bool is_prime(uint32_t n) {
    for (uint32_t i = 3; i * i <= n; i += 2)
        if (n % i == 0) return false;
    return n % 2 == 1;
}

/* The next prime, of those that MOST_BELOW allows if `chosen`. */
static uint32_t next_prime(uint32_t n, bool chosen) {
    do {
        n++;
        if (chosen && n % BLOCK < BLOCK - MOST_BELOW) n += BLOCK - MOST_BELOW - n % BLOCK;
    } while (!is_prime(n));
    return n;
}

bool wi_is_size_prime(uint32_t p) {
    enum { SPREAD = 1 << 14 };
    return p > 1 << 20 && p < (1 << 20) + SPREAD && p % BLOCK >= BLOCK - MOST_BELOW && is_prime(p);
}

/* The number of the new entry; -1: there is no memory, or the table is full. */
static int add_entry(weft_graph *graph, const wi_size_entry *entry) {
    wi_size_table *const sizes = &graph->sizes;
    const uint32_t last = sizes->count ? sizes->of[sizes->count - 1].prime : 1 << 20;
    const uint32_t prime = next_prime(last, sizes->count < MOST_CHOSEN);
    if (sizes->count == MOST_ENTRIES || prime > LARGEST_PRIME ||
        wi_grow(graph->context->allocator, (void **)&sizes->of, &sizes->capacity, sizes->count + 1,
            sizeof *sizes->of) != WEFT_OK)
        return -1;
    sizes->of[sizes->count] = *entry;
    sizes->of[sizes->count].prime = prime;
    return (int)sizes->count++;
}

static int add_symbol(weft_graph *graph, const char *name) {
    const wi_size_entry entry = {.name = name, .symbol = (uint32_t)graph->sizes.symbol_count};
    const int number = add_entry(graph, &entry);
    if (number >= 0) graph->sizes.symbol_count++;
    return number;
}

weft_status wi_sizes_begin(weft_graph *graph) {
    const bool added = add_symbol(graph, "batch") >= 0 && add_symbol(graph, "length") >= 0;
    return added ? WEFT_OK : WEFT_ERROR_MEMORY;
}

void wi_sizes_clear(weft_graph *graph) {
    wi_release(graph->context->allocator, graph->sizes.of);
    wi_release(graph->context->allocator, graph->sizes.required);
}

static bool is_polynomial(const wi_polynomial *a, const wi_polynomial *b) {
    return a->count == b->count && a->rest == b->rest &&
           memcmp(a->terms, b->terms, (size_t)a->count * sizeof *a->terms) == 0;
}

bool wi_sizes_require(weft_graph *graph, const wi_polynomial *p) {
    wi_size_table *const sizes = &graph->sizes;
    for (size_t i = 0; i < sizes->required_count; i++)
        if (is_polynomial(&sizes->required[i], p)) return true;
    if (wi_grow(graph->context->allocator, (void **)&sizes->required, &sizes->required_capacity,
            sizes->required_count + 1, sizeof *sizes->required) != WEFT_OK)
        return false;
    sizes->required[sizes->required_count++] = *p;
    return true;
}

int wi_size_entry_number(weft_graph *graph, const wi_polynomial *of, int64_t divisor) {
    const wi_size_table *const sizes = &graph->sizes;
    for (size_t i = 0; i < sizes->count; i++)
        if (sizes->of[i].divisor == divisor && is_polynomial(&sizes->of[i].of, of)) return (int)i;
    return add_entry(graph, &(wi_size_entry){.of = *of, .divisor = divisor});
}

/* ---- handles ---- */

static wi_polynomial of_number(int64_t number) {
    return (wi_polynomial){.rest = number};
}

static wi_term term_of(int64_t times, size_t entry) {
    return (wi_term){times, {(uint16_t)entry, WI_NO_FACTOR, WI_NO_FACTOR, WI_NO_FACTOR}};
}

/* The number of the entry of a handle, and times · entry + rest = handle; -1: the number is not a handle of the graph. */
static int entry_of(const weft_graph *graph, int64_t handle, int64_t *times, int64_t *rest) {
    if (handle > INT64_MAX - MOST_REST) return -1;
    const int64_t whole = (handle + MOST_REST) >> REST_BITS;
    *rest = handle - whole * (INT64_C(1) << REST_BITS);
    for (size_t i = 0; i < graph->sizes.count; i++) {
        const int64_t prime = graph->sizes.of[i].prime;
        *times = whole / prime;
        if (whole % prime == 0 && *times < MOST_TIMES) return (int)i;
    }
    return -1;
}

static bool polynomial_of(const weft_graph *graph, int entry, int64_t times, int64_t rest, wi_polynomial *p) {
    const wi_size_entry *const found = &graph->sizes.of[entry];
    const wi_polynomial factor = of_number(times), more = of_number(rest);
    *p = (wi_polynomial){.count = 1, .terms = {term_of(1, (size_t)entry)}};
    if (found->divisor == 1) *p = found->of;
    return wi_polynomial_multiply(p, &factor, p) && wi_polynomial_add(p, &more, 1, p);
}

bool wi_polynomial_of(const weft_graph *graph, int64_t dim, bool is_dim, wi_polynomial *p) {
    int64_t times, rest;
    if (dim == INT64_MAX || dim == INT64_MIN) return false;
    const int64_t n = wi_magnitude(dim);
    *p = of_number(n);
    if (wi_is_symbolic(n)) {
        const int entry = entry_of(graph, n, &times, &rest);
        if (entry < 0 || !polynomial_of(graph, entry, times, rest, p)) return false;
    }
    if (dim >= 0) return true;
    const wi_polynomial factor =
        is_dim ? (wi_polynomial){.count = 1, .terms = {term_of(1, WI_SYMBOL_BATCH)}} : of_number(-1);
    return wi_polynomial_multiply(p, &factor, p);
}

/* Divides by the batch; false: a term does not have it. */
static bool divide_by_batch(const wi_polynomial *p, wi_polynomial *quotient) {
    const wi_polynomial batch = {.count = 1, .terms = {term_of(1, WI_SYMBOL_BATCH)}};
    return p->rest == 0 && wi_polynomial_quotient(p, &batch, quotient);
}

static int64_t common_factor(const wi_polynomial *p) {
    int64_t common = 0;
    for (int i = 0; i < p->count; i++) common = wi_gcd64(common, p->terms[i].times);
    return p->count == 1 && p->terms[0].times < 0 ? -common : common;
}

/* The handle of a polynomial with terms: times · entry + rest if both fit, otherwise an entry of its own. `is_dim`: the handle is above 0,
 * also if the polynomial has a factor below 0, as 7 - length has. */
static int64_t handle_of(weft_graph *graph, const wi_polynomial *p, bool is_dim) {
    const bool is_factor = p->count == 1 && p->terms[0].factors[1] == WI_NO_FACTOR;
    int64_t times = common_factor(p), rest = p->rest;
    wi_polynomial entry_polynomial = *p;
    int entry = is_factor ? p->terms[0].factors[0] : -1;
    if (times >= MOST_TIMES || times <= (is_dim ? 0 : -MOST_TIMES) || rest >= MOST_REST ||
        rest < -MOST_REST) {
        times = 1;
        rest = 0;
        entry = -1;
    } else {
        for (int i = 0; i < p->count; i++) entry_polynomial.terms[i].times /= times;
        entry_polynomial.rest = 0;
    }
    if (entry < 0) entry = wi_size_entry_number(graph, &entry_polynomial, 1);
    return entry < 0 ? INT64_MAX : times * ((int64_t)graph->sizes.of[entry].prime << REST_BITS) + rest;
}

int64_t wi_polynomial_dim(weft_graph *graph, const wi_polynomial *p, bool is_dim) {
    wi_polynomial whole;
    if (p->count == 0) return wi_is_symbolic(p->rest) || (is_dim && p->rest < 0) ? INT64_MAX : p->rest;
    if (!is_dim || !divide_by_batch(p, &whole)) return handle_of(graph, p, is_dim);
    const int64_t times = wi_polynomial_dim(graph, &whole, false);
    return times <= 0 || times == INT64_MAX ? INT64_MAX : -times;
}

/* ---- calculating ---- */

int64_t wi_dim_add(weft_graph *graph, int64_t a, int64_t b) {
    wi_polynomial p, q;
    const bool same = (a < 0) == (b < 0) || a == 0 || b == 0;
    if (same && !wi_is_symbolic(a) && !wi_is_symbolic(b)) return a + b;
    const bool good = wi_polynomial_of(graph, a, true, &p) && wi_polynomial_of(graph, b, true, &q) &&
                      wi_polynomial_add(&p, &q, 1, &p);
    return good ? wi_polynomial_dim(graph, &p, true) : INT64_MAX;
}

int64_t wi_dim_multiply(weft_graph *graph, int64_t a, int64_t b) {
    wi_polynomial p, q;
    int64_t product;
    if (a >= 0 && b >= 0 && !wi_is_symbolic(a) && !wi_is_symbolic(b))
        return __builtin_mul_overflow(a, b, &product) || wi_is_symbolic(product) ? INT64_MAX : product;
    const bool good = wi_polynomial_of(graph, a, true, &p) && wi_polynomial_of(graph, b, true, &q) &&
                      wi_polynomial_multiply(&p, &q, &p);
    return good ? wi_polynomial_dim(graph, &p, true) : INT64_MAX;
}

int64_t wi_dim_divide(weft_graph *graph, int64_t a, int64_t by) {
    wi_polynomial p;
    if (!wi_is_symbolic(a) && a >= 0) return a / by;
    const bool good = wi_polynomial_of(graph, a, true, &p) && wi_polynomial_divide(graph, &p, by, &p);
    return good ? wi_polynomial_dim(graph, &p, true) : INT64_MAX;
}

bool wi_dim_divides(weft_graph *graph, int64_t a, int64_t b, int64_t *quotient) {
    wi_polynomial p, q;
    const bool good = wi_polynomial_of(graph, a, true, &p) && wi_polynomial_of(graph, b, true, &q) &&
                      wi_polynomial_quotient(&p, &q, &p);
    *quotient = good ? wi_polynomial_dim(graph, &p, true) : INT64_MAX;
    return *quotient != INT64_MAX;
}

int64_t wi_dim_least(const weft_graph *graph, int64_t dim) {
    wi_polynomial p;
    if (!wi_is_symbolic(dim) && dim >= 0) return dim;
    return wi_polynomial_of(graph, dim, true, &p) ? wi_polynomial_least(graph, &p) : wi_magnitude(dim);
}

int64_t wi_counted(weft_graph *graph, int64_t dim) {
    wi_polynomial p;
    if (dim >= 0) return dim;
    return wi_polynomial_of(graph, dim, true, &p) ? wi_polynomial_dim(graph, &p, false) : INT64_MAX;
}

int64_t wi_position_add(weft_graph *graph, int64_t a, int64_t b, int64_t sign) {
    wi_polynomial p, q;
    if (!wi_is_symbolic(a) && !wi_is_symbolic(b)) return a + sign * b;
    const bool good = wi_polynomial_of(graph, a, false, &p) && wi_polynomial_of(graph, b, false, &q) &&
                      wi_polynomial_add(&p, &q, sign, &p);
    return good ? wi_polynomial_dim(graph, &p, false) : INT64_MAX;
}

bool wi_position_is_less(weft_graph *graph, int64_t a, int64_t b) {
    wi_polynomial p, q;
    if (!wi_is_symbolic(a) && !wi_is_symbolic(b)) return a < b;
    const bool known = wi_polynomial_of(graph, a, false, &p) && wi_polynomial_of(graph, b, false, &q);
    if (!known) return a < b; /* numbers that are too large for any size */
    return wi_polynomial_add(&p, &q, -1, &p) && wi_polynomial_most(graph, &p) < 0;
}

int64_t wi_dim_canonical(weft_graph *graph, int64_t dim) {
    wi_polynomial p;
    if (!wi_is_symbolic(dim)) return dim;
    return wi_polynomial_of(graph, dim, true, &p) ? wi_polynomial_dim(graph, &p, true) : INT64_MAX;
}

int64_t wi_dim_at(const weft_graph *graph, int64_t dim, const wi_given *given, int *missing) {
    wi_polynomial p;
    int64_t size = wi_magnitude(dim);
    *missing = -1;
    if (wi_is_symbolic(size))
        size =
            wi_polynomial_of(graph, size, true, &p) ? wi_polynomial_at(graph, &p, given, missing) : INT64_MAX;
    if (dim >= 0) return size;
    if (size <= 0) return 0;
    if (!given->examples) return -size;
    return size > INT64_MAX / given->examples ? INT64_MAX : size * given->examples;
}

/* ---- symbols ---- */

size_t wi_symbol_count(const weft_graph *graph) {
    return graph->sizes.symbol_count;
}

static size_t entry_of_symbol(const weft_graph *graph, size_t number) {
    size_t entry = 0;
    while (!graph->sizes.of[entry].name || graph->sizes.of[entry].symbol != number) entry++;
    return entry;
}

const char *wi_symbol_name(const weft_graph *graph, size_t number) {
    return graph->sizes.of[entry_of_symbol(graph, number)].name;
}

int64_t wi_symbol_dim(const weft_graph *graph, size_t number) {
    if (number == WI_SYMBOL_BATCH) return WEFT_BATCH;
    return (int64_t)graph->sizes.of[entry_of_symbol(graph, number)].prime << REST_BITS;
}

size_t wi_symbol_find(const weft_graph *graph, const char *name) {
    for (size_t i = 0; i < graph->sizes.count; i++)
        if (graph->sizes.of[i].name && strcmp(graph->sizes.of[i].name, name) == 0)
            return graph->sizes.of[i].symbol;
    return SIZE_MAX;
}

int wi_dim_symbol(const weft_graph *graph, int64_t dim, int64_t *times, int64_t *rest) {
    wi_polynomial p;
    const bool good = wi_polynomial_of(graph, dim, true, &p) && p.count == 1 &&
                      p.terms[0].factors[1] == WI_NO_FACTOR && graph->sizes.of[p.terms[0].factors[0]].name;
    if (!good) return -1;
    *times = p.terms[0].times;
    *rest = p.rest;
    return (int)graph->sizes.of[p.terms[0].factors[0]].symbol;
}

int64_t weft_symbol(weft_graph *graph, const char *name) {
    if (!graph || graph->status != WEFT_OK) return 0;
    const size_t length = name ? strlen(name) : 0;
    if (length == 0 || length > LONGEST_NAME) {
        wi_graph_fail(graph, WEFT_ERROR_ARGUMENT, "symbol: the name is %s; expected 1 to %d bytes",
            !name    ? "NULL"
            : length ? "too long"
                     : "empty",
            LONGEST_NAME);
        return 0;
    }
    const size_t known = wi_symbol_find(graph, name);
    if (known != SIZE_MAX) return wi_symbol_dim(graph, known);
    char *const own = wi_arena_take(&graph->arena, length + 1);
    const int entry = own ? add_symbol(graph, memcpy(own, name, length + 1)) : -1;
    if (entry >= 0) return (int64_t)graph->sizes.of[entry].prime << REST_BITS;
    wi_graph_fail(graph, WEFT_ERROR_MEMORY, "symbol '%s': the graph has too many sizes", name);
    return 0;
}
