/* Shapes and layouts (contract in shape.h). */
#include "graph/sizes.h"
#include "graph/weft_graph.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool wi_shape_equal(const wi_shape *a, const wi_shape *b) {
    if (a->rank != b->rank) return false;
    for (int i = 0; i < a->rank; i++) {
        if (a->dims[i] != b->dims[i]) return false;
    }
    return true;
}

/* ---- text ---- */

static void append(char *text, size_t capacity, size_t *used, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int wrote = vsnprintf(text + *used, capacity - *used, format, arguments);
    va_end(arguments);
    if (wrote > 0) *used += (size_t)wrote;
    if (*used >= capacity) *used = capacity - 1;
}

static void print_polynomial(
    const weft_graph *graph, const wi_polynomial *p, char *text, size_t capacity, size_t *used);

static void print_factor(
    const weft_graph *graph, uint16_t factor, char *text, size_t capacity, size_t *used) {
    const wi_size_entry *const entry = &graph->sizes.of[factor];
    const bool sum = entry->of.count > 1 || entry->of.rest != 0 || entry->of.terms[0].times != 1;
    if (entry->name) {
        append(text, capacity, used, "%s", entry->name);
        return;
    }
    append(text, capacity, used, sum ? "floor((" : "floor(");
    print_polynomial(graph, &entry->of, text, capacity, used);
    append(text, capacity, used, sum ? ")/%lld)" : "/%lld)", (long long)entry->divisor);
}

static void print_polynomial(
    const weft_graph *graph, const wi_polynomial *p, char *text, size_t capacity, size_t *used) {
    for (int i = 0; i < p->count; i++) {
        const wi_term *const term = &p->terms[i];
        const int64_t times = term->times < 0 ? -term->times : term->times;
        if (i > 0 || term->times < 0)
            append(text, capacity, used, i == 0 ? "-" : term->times < 0 ? " - " : " + ");
        if (times != 1) append(text, capacity, used, "%lld*", (long long)times);
        for (int k = 0; k < WI_MOST_FACTORS && term->factors[k] != WI_NO_FACTOR; k++) {
            if (k > 0) append(text, capacity, used, "*");
            print_factor(graph, term->factors[k], text, capacity, used);
        }
    }
    if (p->count == 0)
        append(text, capacity, used, "%lld", (long long)p->rest);
    else if (p->rest != 0)
        append(text, capacity, used, p->rest < 0 ? " - %lld" : " + %lld", (long long)wi_magnitude(p->rest));
}

/* The size as text, such as "2*length + 3"; `sum`: in parentheses if it is a sum. */
static void print_size(
    const weft_graph *graph, int64_t n, bool sum, char *text, size_t capacity, size_t *used) {
    wi_polynomial p;
    if (!wi_is_symbolic(n) || !graph || !wi_polynomial_of(graph, n, false, &p)) {
        append(text, capacity, used, n == INT64_MAX ? "?" : "%lld", (long long)n);
        return;
    }
    sum = sum && (p.count > 1 || p.rest != 0);
    append(text, capacity, used, sum ? "(" : "");
    print_polynomial(graph, &p, text, capacity, used);
    append(text, capacity, used, sum ? ")" : "");
}

const char *wi_shape_print(const weft_graph *graph, const wi_shape *shape, char text[WI_SHAPE_TEXT]) {
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < shape->rank; i++) {
        const int64_t dim = shape->dims[i];
        append(text, WI_SHAPE_TEXT, &used, i ? ", " : "(");
        if (dim != WEFT_BATCH) print_size(graph, wi_magnitude(dim), dim < 0, text, WI_SHAPE_TEXT, &used);
        if (dim < 0) append(text, WI_SHAPE_TEXT, &used, dim == WEFT_BATCH ? "batch" : "*batch");
    }
    append(text, WI_SHAPE_TEXT, &used, shape->rank ? ")" : "()");
    return text;
}

wi_shape wi_shape_of_rank(const wi_shape *shape, int rank) {
    const int more = rank > shape->rank ? rank - shape->rank : 0;
    wi_shape wide = {.rank = shape->rank + more};
    for (int i = 0; i < wide.rank; i++) wide.dims[i] = i < more ? 1 : shape->dims[i - more];
    return wide;
}

wi_shape wi_shape_without(const wi_shape *shape, uint32_t axes) {
    wi_shape rest = {0};
    for (int i = 0; i < shape->rank; i++)
        if (!(axes >> i & 1)) rest.dims[rest.rank++] = shape->dims[i];
    return rest;
}

bool wi_shape_broadcast(const wi_shape *a, const wi_shape *b, wi_shape *result) {
    wi_shape out = {.rank = a->rank > b->rank ? a->rank : b->rank};
    for (int i = 1; i <= out.rank; i++) {
        const int64_t da = i <= a->rank ? a->dims[a->rank - i] : 1;
        const int64_t db = i <= b->rank ? b->dims[b->rank - i] : 1;
        if (da != db && da != 1 && db != 1) return false;
        out.dims[out.rank - i] = da == 1 ? db : da;
    }
    *result = out;
    return true;
}

static int64_t saturating_product(int64_t a, int64_t b) {
    return b && a > INT64_MAX / b ? INT64_MAX : a * b;
}

void wi_shape_count(weft_graph *graph, const wi_shape *shape, int64_t *coefficient, int *power) {
    bool symbolic = false;
    *coefficient = 1;
    *power = 0;
    for (int i = 0; i < shape->rank; i++) {
        const int64_t size = wi_magnitude(shape->dims[i]);
        symbolic = symbolic || wi_is_symbolic(size);
        *coefficient = symbolic ? wi_counted(graph, wi_dim_multiply(graph, *coefficient, size))
                                : saturating_product(*coefficient, size);
        *power += shape->dims[i] < 0;
    }
}

static const double MOST_ELEMENTS = (double)(INT64_C(1) << 40);
/* Numbers of elements at the general batch, and of their bytes, must fit into 64-bit integers. */
static const double MOST_GENERAL = (double)(INT64_C(1) << 60);

/* The least size, but at least 1. A plan checks the size that it has. */
static int64_t least_size(const weft_graph *graph, int64_t dim) {
    const int64_t least = wi_dim_least(graph, wi_magnitude(dim));
    return least > 0 ? least : 1;
}

weft_status wi_shape_check(const weft_graph *graph, const wi_shape *shape, const char *what) {
    char text[WI_SHAPE_TEXT];
    if (shape->rank < 0 || shape->rank > WEFT_MAX_RANK)
        WI_FAIL(WEFT_ERROR_SHAPE, "%s: rank %d is not in 0..%d", what, shape->rank, WEFT_MAX_RANK);
    int64_t count = 1;
    double general = 1.0;
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dims[i] == 0)
            WI_FAIL(WEFT_ERROR_SHAPE, "%s: dimension %d of %s is zero", what, i,
                wi_shape_print(graph, shape, text));
        const int64_t size = least_size(graph, shape->dims[i]);
        general *= (double)size * (shape->dims[i] < 0 ? (double)WI_GENERAL_BATCH : 1.0);
        if ((double)count * (double)size > MOST_ELEMENTS)
            WI_FAIL(WEFT_ERROR_SHAPE, "%s: %s has more than 2^40 elements", what,
                wi_shape_print(graph, shape, text));
        count *= size;
    }
    if (general > MOST_GENERAL)
        WI_FAIL(WEFT_ERROR_SHAPE, "%s: %s has more than 2^60 elements at a batch of %d", what,
            wi_shape_print(graph, shape, text), WI_GENERAL_BATCH);
    return WEFT_OK;
}

wi_extent wi_extent_of(const wi_shape *shape, int64_t batch) {
    wi_extent extent = {.rank = shape->rank};
    for (int i = 0; i < shape->rank; i++) {
        const int64_t dim = shape->dims[i];
        extent.dims[i] = dim >= 0 ? wi_size_of(dim) : (wi_size){-dim * WI_GENERAL_BATCH, -dim * batch};
    }
    return extent;
}

wi_size wi_extent_count(const wi_extent *extent) {
    wi_size count = wi_size_of(1);
    for (int i = 0; i < extent->rank; i++) count = wi_size_mul(count, extent->dims[i]);
    return count;
}

wi_layout wi_layout_contiguous(const wi_extent *extent) {
    wi_layout layout = {0};
    wi_size stride = wi_size_of(1);
    for (int i = extent->rank - 1; i >= 0; i--) {
        layout.strides[i] = stride;
        stride = wi_size_mul(stride, extent->dims[i]);
    }
    return layout;
}

bool wi_layout_is_contiguous(const wi_layout *layout, const wi_extent *extent) {
    const wi_layout wanted = wi_layout_contiguous(extent);
    for (int i = 0; i < extent->rank; i++) {
        if (!wi_size_is(extent->dims[i], 1) && !wi_size_equal(layout->strides[i], wanted.strides[i]))
            return false;
    }
    return true;
}
