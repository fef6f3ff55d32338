/* Shapes and layouts.
 *
 * A dimension of a shape is a number, or a multiple of the batch size, which is a negative number: -3 is 3 × batch. A plan
 * has two values for every size: at its own batch size (actual), and at a placeholder for the batch size (general) that no
 * real dimension equals. Decisions about structure, such as which axes merge, which nodes fuse and which kernel is generated,
 * use only the general size, so that plans for all batch sizes need the same kernels. */
#ifndef WI_SHAPE_H
#define WI_SHAPE_H

#include "base/status.h"
#include <weft/graph.h>

typedef struct wi_shape {
    int rank;
    int64_t dims[WEFT_MAX_RANK];
} wi_shape;

/* A symbol is a large prime L that stands for the length that each plan chooses. Sizes are calculated with the symbol as with
 * any number: a·L + b means a times the length, plus b. a and b can be recovered if both are far below L. A plan creates nodes
 * with the length again, with a number in its place (length.h). The symbol of a graph is WEFT_LENGTH; or, if the size of a batch
 * axis changes, WI_BATCH_SYMBOL, and the length is the batch. A graph cannot have both, because a large multiple of one may be
 * close to a multiple of the other. */
#define WI_BATCH_SYMBOL INT64_C(122452633)
#define WI_LENGTH_REST  (1 << 20) /* the largest b */
#define WI_LENGTH_ORDINARY                                                                                   \
    (WEFT_LENGTH / 4) /* the largest size without the length in a graph with the length */

/* The placeholder for the batch size: a prime, so that no product of ordinary dimensions is a multiple of it. */
#define WI_GENERAL_BATCH 100003

typedef struct wi_size {
    int64_t general, actual;
} wi_size;

/* The positions of a tensor's elements in memory: offset and strides in elements. */
typedef struct wi_layout {
    wi_size offset;
    wi_size strides[WEFT_MAX_RANK];
} wi_layout;

/* The dimensions of a shape at a batch size. */
typedef struct wi_extent {
    int rank;
    wi_size dims[WEFT_MAX_RANK];
} wi_extent;

static inline wi_size wi_size_of(int64_t number) {
    return (wi_size){number, number};
}
/* A product of symbols may exceed 64 bits. Its value is then not used, but the overflow must not be undefined. */
static inline int64_t wi_wrapped_product(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a * (uint64_t)b);
}
static inline wi_size wi_size_mul(wi_size a, wi_size b) {
    return (wi_size){wi_wrapped_product(a.general, b.general), wi_wrapped_product(a.actual, b.actual)};
}
static inline wi_size wi_size_add(wi_size a, wi_size b) {
    return (wi_size){a.general + b.general, a.actual + b.actual};
}
static inline bool wi_size_equal(wi_size a, wi_size b) {
    return a.general == b.general;
}
static inline bool wi_size_is(wi_size a, int64_t number) {
    return a.general == number;
}
static inline bool wi_size_divides(wi_size a, wi_size by) { /* by divides a */
    return a.general % by.general == 0 && a.actual % by.actual == 0;
}

bool wi_shape_equal(const wi_shape *a, const wi_shape *b);
/* Writes "(batch, 3, 8)", and returns the text. WI_SHAPE_TEXT bytes are always enough. */
#define WI_SHAPE_TEXT 448
const char *wi_shape_print(const wi_shape *shape, char text[WI_SHAPE_TEXT]);
/* The shape with axes of size 1 in front, up to the rank. */
wi_shape wi_shape_of_rank(const wi_shape *shape, int rank);
/* The shape without these axes (a bit for each). */
wi_shape wi_shape_without(const wi_shape *shape, uint32_t axes);
/* NumPy broadcasting. False: the shapes do not broadcast. */
bool wi_shape_broadcast(const wi_shape *a, const wi_shape *b, wi_shape *result);
/* The number of elements is coefficient × batch^power. A coefficient that is too large is INT64_MAX. */
void wi_shape_count(const wi_shape *shape, int64_t *coefficient, int *power);
/* Fails if a dimension is 0, or if the rank or the number of elements is out of bounds. The message begins with `what`. */
weft_status wi_shape_check(const wi_shape *shape, const char *what);

/* The absolute value of a dimension; INT64_MAX for INT64_MIN. */
int64_t wi_magnitude(int64_t dim);
/* Returns `times`, and writes the rest, of n = times · symbol + rest, for n >= 0. The rest is in -symbol/2 .. symbol/2. */
int64_t wi_length_times(int64_t n, int64_t symbol, int64_t *rest);
/* Has the dimension the length? With symbol 0, none has. */
bool wi_has_length(int64_t dim, int64_t symbol);
bool wi_shape_has_length(const wi_shape *shape, int64_t symbol);
/* The dimension at a length. The result may be 0 or negative, for example for length - 3; but if the dimension is a
 * multiple of the batch, a negative multiple becomes 0. Dimensions that do not depend on the length are returned as
 * they are. */
int64_t wi_at_length(int64_t dim, int64_t symbol, int64_t length);
/* Converts a multiple of WI_BATCH_SYMBOL to the usual form, a negative number that means a multiple of the batch. Other
 * dimensions are returned as they are. */
int64_t wi_without_symbol(int64_t dim);

wi_extent wi_extent_of(const wi_shape *shape, int64_t batch);
wi_size wi_extent_count(const wi_extent *extent);
/* Row-major strides, offset 0. */
wi_layout wi_layout_contiguous(const wi_extent *extent);
bool wi_layout_is_contiguous(const wi_layout *layout, const wi_extent *extent);

#endif
