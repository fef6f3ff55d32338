/* Shapes and layouts.
 *
 * A dimension of a shape is a number, a multiple of the batch size, which is a negative number: -3 is 3 × batch; or a handle for a
 * size that plans choose (graph/sizes.h), which plans replace by a number. A plan has two values for every size: at its own batch size (actual), and at a placeholder for the batch size (general) that no
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

/* The handle of the batch (graph/sizes.h), a handle as WEFT_LENGTH is one. */
#define WI_BATCH_HANDLE (INT64_C(1050503) << 21)
/* Is the size no number, and no multiple of the batch by a number, but a handle? Numbers are at most 2^40, handles are above 2^40.9. */
static inline bool wi_is_symbolic(int64_t dim) {
    const int64_t least = INT64_C(3) << 39;
    return dim >= least || dim <= -least;
}

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
/* Writes "(batch, 3, 8)", and returns the text, which is cut if WI_SHAPE_TEXT bytes are not enough. */
#define WI_SHAPE_TEXT 448
const char *wi_shape_print(const weft_graph *graph, const wi_shape *shape, char text[WI_SHAPE_TEXT]);
/* The shape with axes of size 1 in front, up to the rank. */
wi_shape wi_shape_of_rank(const wi_shape *shape, int rank);
/* The shape without these axes (a bit for each). */
wi_shape wi_shape_without(const wi_shape *shape, uint32_t axes);
/* NumPy broadcasting. False: the shapes do not broadcast. */
bool wi_shape_broadcast(const wi_shape *a, const wi_shape *b, wi_shape *result);
/* The number of elements is coefficient × batch^power. A coefficient that is too large is INT64_MAX. */
void wi_shape_count(weft_graph *graph, const wi_shape *shape, int64_t *coefficient, int *power);
/* Fails if a dimension is 0, or if the rank or the number of elements is out of bounds. The message begins with `what`. */
weft_status wi_shape_check(const weft_graph *graph, const wi_shape *shape, const char *what);

/* The absolute value of a dimension; INT64_MAX for INT64_MIN. */
static inline int64_t wi_magnitude(int64_t dim) {
    return dim >= 0 ? dim : dim == INT64_MIN ? INT64_MAX : -dim;
}
wi_extent wi_extent_of(const wi_shape *shape, int64_t batch);
wi_size wi_extent_count(const wi_extent *extent);
/* Row-major strides, offset 0. */
wi_layout wi_layout_contiguous(const wi_extent *extent);
bool wi_layout_is_contiguous(const wi_layout *layout, const wi_extent *extent);

#endif
