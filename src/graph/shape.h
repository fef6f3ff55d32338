/* Shapes and layouts.
 *
 * A shape's dimension is a number, or a multiple of the batch size written as a negative number (-3 is 3 ×
 * batch). A plan knows every size twice: as it is at its batch size (actual), and at a stand-in batch size
 * (general) that no real dimension equals. Decisions about structure (what merges, what fuses, which kernel
 * is generated) look at the general size only, so that plans for all batch sizes need the same kernels. */
#ifndef WI_SHAPE_H
#define WI_SHAPE_H

#include "base/status.h"
#include <weft/graph.h>

typedef struct wi_shape {
    int rank;
    int64_t dims[WEFT_MAX_RANK];
} wi_shape;

/* The length that a plan gives is written as a symbol, a prime L that stands for it, and is calculated with as any
 * number: a·L + b is a times the length and b, and is decoded uniquely while b and a are far below L. Plans see
 * nothing of it: what depends on it is made again with the length in its place (graph/length.h). The symbol is WEFT_LENGTH,
 * or, where a batch axis is cut or lengthened, this one, and the length is the batch. A graph has one of the two: far
 * multiples of one may be near those of the other. */
#define WI_BATCH_SYMBOL    INT64_C(122452633)
#define WI_LENGTH_REST     (1 << 20)         /* b is no larger */
#define WI_LENGTH_ORDINARY (WEFT_LENGTH / 4) /* no ordinary number is, where it meets the length */

/* A prime, so that no product of ordinary dimensions equals a multiple of it. */
#define WI_GENERAL_BATCH 100003

typedef struct wi_size {
    int64_t general, actual;
} wi_size;

/* Where the elements of a tensor lie: offset and strides in elements. */
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
/* Products of symbols may be larger than 64 bits, where they are of no use but must not be undefined. */
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

bool wi_shape_equal(const wi_shape *a, const wi_shape *b);
/* "(batch, 3, 8)" into text; returns text. WI_SHAPE_TEXT bytes are always enough. */
#define WI_SHAPE_TEXT 448
const char *wi_shape_print(const wi_shape *shape, char text[WI_SHAPE_TEXT]);
/* The shape with axes of size 1 in front, as a tensor of that rank or a higher one is broadcast; a rank that is not larger
 * changes nothing. */
wi_shape wi_shape_of_rank(const wi_shape *shape, int rank);
/* NumPy broadcasting; false when the shapes do not fit. */
bool wi_shape_broadcast(const wi_shape *a, const wi_shape *b, wi_shape *result);
/* Elements as coefficient × batch^power; INT64_MAX where the product is larger. */
void wi_shape_count(const wi_shape *shape, int64_t *coefficient, int *power);
/* Dimensions positive (or multiples of the batch), rank and element count within bounds; `what` begins the
 * line. */
weft_status wi_shape_check(const wi_shape *shape, const char *what);

/* Of a dimension, whatever its sign; the largest number for one that has no opposite. */
int64_t wi_magnitude(int64_t dim);
/* n = times · symbol + rest with n >= 0, the rest between -symbol/2 and symbol/2: the times. */
int64_t wi_length_times(int64_t n, int64_t symbol, int64_t *rest);
/* Is this number, or multiple of the batch, a multiple of the symbol and a number? Symbol 0: none is. */
bool wi_has_length(int64_t dim, int64_t symbol);
bool wi_shape_has_length(const wi_shape *shape, int64_t symbol);
/* What it is at a length, which may be 0 or below; 0 for what would be that many times the batch. Other numbers stay, and
 * multiples of the batch where it is not the length. */
int64_t wi_at_length(int64_t dim, int64_t symbol, int64_t length);
/* Written as other dimensions are: so many times the batch's symbol are a multiple of the batch. */
int64_t wi_without_symbol(int64_t dim);

wi_extent wi_extent_of(const wi_shape *shape, int64_t batch);
wi_size wi_extent_count(const wi_extent *extent);
/* Row-major strides, offset 0. */
wi_layout wi_layout_contiguous(const wi_extent *extent);
bool wi_layout_is_contiguous(const wi_layout *layout, const wi_extent *extent);

#endif
