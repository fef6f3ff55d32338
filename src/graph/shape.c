/* Shapes and layouts (contract in shape.h). */
#include "graph/shape.h"
#include <stdio.h>
#include <string.h>

bool wi_shape_equal(const wi_shape *a, const wi_shape *b) {
    if (a->rank != b->rank) return false;
    for (int i = 0; i < a->rank; i++) {
        if (a->dims[i] != b->dims[i]) return false;
    }
    return true;
}

int64_t wi_magnitude(int64_t dim) {
    if (dim >= 0) return dim;
    return dim == INT64_MIN ? INT64_MAX : -dim;
}

/* ---- the length ---- */

int64_t wi_length_times(int64_t n, int64_t symbol, int64_t *rest) {
    const bool up = n % symbol > symbol / 2;
    *rest = n % symbol - (up ? symbol : 0);
    return n / symbol + up;
}

bool wi_has_length(int64_t dim, int64_t symbol) {
    const int64_t n = wi_magnitude(dim);
    if (symbol == 0 || n <= symbol / 2) return false; /* avoids the division for nearly all numbers */
    int64_t rest, times = wi_length_times(n, symbol, &rest);
    bool has = true;
    while (has && times > 0) {
        has = rest <= WI_LENGTH_REST && rest >= -WI_LENGTH_REST;
        times = wi_length_times(times, symbol, &rest);
    }
    return has && rest <= WI_LENGTH_REST;
}

bool wi_shape_has_length(const wi_shape *shape, int64_t symbol) {
    for (int i = 0; i < shape->rank; i++)
        if (wi_has_length(shape->dims[i], symbol)) return true;
    return false;
}

/* The product, or INT64_MAX if it is larger. */
static int64_t times_length(int64_t size, int64_t length) {
    return size > (INT64_MAX - WI_LENGTH_REST) / length ? INT64_MAX : size * length;
}

/* Evaluates the polynomial n in the symbol at the length, by Horner's rule. */
static int64_t evaluate(int64_t n, int64_t symbol, int64_t length) {
    int64_t rest;
    const int64_t times = wi_length_times(n, symbol, &rest);
    if (times == 0) return n;
    const int64_t more = times_length(evaluate(times, symbol, length), length);
    return more == INT64_MAX ? more : more + rest;
}

int64_t wi_at_length(int64_t dim, int64_t symbol, int64_t length) {
    const bool has = wi_has_length(dim, symbol);
    const int64_t n = wi_magnitude(dim), size = has ? evaluate(n, symbol, length) : n;
    if (dim >= 0) return size;
    if (size <= 0) return 0;
    return symbol == WI_BATCH_SYMBOL ? times_length(size, length) : -size;
}

int64_t wi_without_symbol(int64_t dim) {
    return dim > 0 && dim % WI_BATCH_SYMBOL == 0 ? -(dim / WI_BATCH_SYMBOL) : dim;
}

/* The symbol of which n is taken to be a multiple: that of the batch or WEFT_LENGTH, whichever leaves the smaller
 * rest. */
static int64_t symbol_of(int64_t n) {
    int64_t rest, rest_of_batch;
    if (!wi_has_length(n, WI_BATCH_SYMBOL)) return WEFT_LENGTH;
    if (!wi_has_length(n, WEFT_LENGTH)) return WI_BATCH_SYMBOL;
    wi_length_times(n, WEFT_LENGTH, &rest);
    wi_length_times(n, WI_BATCH_SYMBOL, &rest_of_batch);
    return wi_magnitude(rest) <= wi_magnitude(rest_of_batch) ? WEFT_LENGTH : WI_BATCH_SYMBOL;
}

enum { NUMBER_TEXT = 64, DIM_TEXT = 80 };

/* Writes n as text, such as "2*length + 3". If n contains the square of the length, the text leaves out the term that
 * is linear in the length. */
static void print_number(char text[NUMBER_TEXT], int64_t n) {
    int64_t rest;
    const int64_t symbol = symbol_of(n), times = wi_length_times(n, symbol, &rest);
    const bool of_batch = symbol == WI_BATCH_SYMBOL, squared = wi_has_length(times, symbol);
    const char *const powers =
        squared ? (of_batch ? "batch*batch" : "length*length") : (of_batch ? "batch" : "length");
    const int64_t many = squared ? wi_length_times(times, symbol, &(int64_t){0}) : times;
    if (!wi_has_length(n, symbol))
        snprintf(text, NUMBER_TEXT, "%lld", (long long)n);
    else if (rest == 0 && many == 1)
        snprintf(text, NUMBER_TEXT, "%s", powers);
    else if (rest == 0)
        snprintf(text, NUMBER_TEXT, "%lld*%s", (long long)many, powers);
    else if (many == 1)
        snprintf(text, NUMBER_TEXT, "%s %c %d", powers, rest < 0 ? '-' : '+', (int)(rest < 0 ? -rest : rest));
    else
        snprintf(text, NUMBER_TEXT, "%lld*%s %c %d", (long long)many, powers, rest < 0 ? '-' : '+',
            (int)(rest < 0 ? -rest : rest));
}

static void print_dim(char text[DIM_TEXT], int64_t dim) {
    char number[NUMBER_TEXT];
    print_number(number, wi_magnitude(dim));
    if (dim >= 0)
        snprintf(text, DIM_TEXT, "%s", number);
    else if (dim == WEFT_BATCH)
        snprintf(text, DIM_TEXT, "batch");
    else
        snprintf(text, DIM_TEXT, strchr(number, ' ') ? "(%s)*batch" : "%s*batch", number);
}

const char *wi_shape_print(const wi_shape *shape, char text[WI_SHAPE_TEXT]) {
    size_t length = 1;
    text[0] = '(';
    for (int i = 0; i < shape->rank; i++) {
        char one[DIM_TEXT];
        print_dim(one, shape->dims[i]);
        length += (size_t)snprintf(text + length, WI_SHAPE_TEXT - length, i ? ", %s" : "%s", one);
    }
    snprintf(text + length, WI_SHAPE_TEXT - length, ")");
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

void wi_shape_count(const wi_shape *shape, int64_t *coefficient, int *power) {
    *coefficient = 1;
    *power = 0;
    for (int i = 0; i < shape->rank; i++) {
        const int64_t size = wi_magnitude(shape->dims[i]);
        *coefficient = size && *coefficient > INT64_MAX / size ? INT64_MAX : *coefficient * size;
        *power += shape->dims[i] < 0;
    }
}

static const double MOST_ELEMENTS = (double)(INT64_C(1) << 40);
/* Numbers of elements at the general batch, and of their bytes, must fit into 64-bit integers. */
static const double MOST_GENERAL = (double)(INT64_C(1) << 60);

/* The dimension at length 1, but at least 1. A plan checks the dimension at the length of the plan. */
static int64_t least_size(int64_t dim) {
    const int64_t n = wi_magnitude(dim), size = wi_at_length(n, symbol_of(n), 1);
    return size > 0 ? size : 1;
}

weft_status wi_shape_check(const wi_shape *shape, const char *what) {
    char text[WI_SHAPE_TEXT];
    if (shape->rank < 0 || shape->rank > WEFT_MAX_RANK)
        WI_FAIL(WEFT_ERROR_SHAPE, "%s: rank %d is not in 0..%d", what, shape->rank, WEFT_MAX_RANK);
    int64_t count = 1;
    double general = 1.0;
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dims[i] == 0)
            WI_FAIL(WEFT_ERROR_SHAPE, "%s: dimension %d of %s is zero", what, i, wi_shape_print(shape, text));
        const int64_t size = least_size(shape->dims[i]);
        general *= (double)size * (shape->dims[i] < 0 ? (double)WI_GENERAL_BATCH : 1.0);
        if ((double)count * (double)size > MOST_ELEMENTS)
            WI_FAIL(
                WEFT_ERROR_SHAPE, "%s: %s has more than 2^40 elements", what, wi_shape_print(shape, text));
        count *= size;
    }
    if (general > MOST_GENERAL)
        WI_FAIL(WEFT_ERROR_SHAPE, "%s: %s has more than 2^60 elements at a batch of %d", what,
            wi_shape_print(shape, text), WI_GENERAL_BATCH);
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
