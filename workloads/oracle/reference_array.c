/* The pool of float64 arrays, and spacings of numbers: see reference.h. */
#include "oracle/reference.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

/* ---- the pool ---- */

struct f64_block {
    struct f64_block *previous;
    f64_array array;
    double numbers[];
};

static struct f64_block *pool;
static bool tracking = true;
static int stored_bits; /* 0: float32 */

f64_mark f64_pool_mark(void) {
    return pool;
}

void f64_pool_release(f64_mark mark) {
    while (pool != mark) {
        struct f64_block *const block = pool;
        pool = block->previous;
        free(block);
    }
}

void f64_track_errors(bool track) {
    tracking = track;
}

bool f64_tracks_errors(void) {
    return tracking;
}

void f64_store_with(int fraction_bits) {
    stored_bits = fraction_bits;
}

double f64_stored_rounding(double value) {
    return stored_bits && isfinite(value) ? ldexp(fabs(value), -stored_bits - 1) : 0;
}

/* ---- making arrays ---- */

f64_array *f64_zeros(int rank, const int64_t *dims) {
    assert(rank >= 0 && rank <= WEFT_MAX_RANK);
    size_t count = 1;
    for (int i = 0; i < rank; i++) count *= (size_t)dims[i];
    struct f64_block *const block = calloc(1, sizeof *block + 2 * count * sizeof(double));
    if (!block) abort();
    block->previous = pool;
    pool = block;
    f64_array *const array = &block->array;
    array->rank = rank;
    for (int i = 0; i < rank; i++) array->dims[i] = dims[i];
    array->count = count;
    array->value = block->numbers;
    array->error = block->numbers + count;
    return array;
}

f64_array *f64_number(double value) {
    f64_array *const array = f64_zeros(0, NULL);
    array->value[0] = value;
    return array;
}

f64_array *f64_copy(const f64_array *a) {
    return f64_reshape(a, a->rank, a->dims);
}

bool f64_next(int64_t *index, int rank, const int64_t *dims) {
    for (int axis = rank - 1; axis >= 0; axis--) {
        if (++index[axis] < dims[axis]) return true;
        index[axis] = 0;
    }
    return false;
}

double f64_ulp(double value) {
    const double size = fabs(value);
    if (!(size >= FLT_MIN)) return ldexp(1, -149);
    if (size > FLT_MAX) return ldexp(1, 104);
    return ldexp(1, ilogb(size) - 23);
}

double f64_overflow(double size) {
    return isfinite(size) && fabs(size) > F64_LARGEST ? INFINITY : 0;
}

bool f64_may_meet(double gap, double error) {
    return !isfinite(error) || (error > 1e-37 ? gap <= error : gap != 0 && gap < 1e-37);
}

int f64_list_length(const int64_t *list) {
    int length = 0;
    while (length < WEFT_MAX_RANK && list[length] != WEFT_END) length++;
    return length;
}

int f64_axis(int64_t axis, int rank) {
    return (int)(axis < 0 ? axis + rank : axis);
}
