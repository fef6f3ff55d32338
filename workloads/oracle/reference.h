/* float64 arrays: what the results of the library are compared with.
 *
 * A small NumPy in C, written without looking at the library. Every array knows, beside each value, how far a
 * correct float32 computation may be away from it: each function adds the error that it is allowed itself and
 * carries the error of its inputs through. So a chain of any length has a tolerance that nobody had to
 * choose:
 *
 *   elementwise  4 units in the last place, or 1e-6 of the value if that is more
 *   sums         1e-6 · log2(n) of the sum of absolute values; matrix products likewise over k
 *
 * Integers and booleans compare exactly, as their tolerance stays below one.
 *
 * Arrays live in one pool: take a mark, compute, go back to the mark. One thread. */
#ifndef ORACLE_REFERENCE_H
#define ORACLE_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <weft/graph.h>

/* Beyond it float32 has infinities, or rounds to them on the way. */
#define F64_LARGEST 3e38

typedef struct f64_array {
    int rank;
    int64_t dims[WEFT_MAX_RANK];
    size_t count;
    double *value; /* row-major */
    double *error; /* how far a float32 result may be away */
} f64_array;

/* ---- the pool ---- */
typedef struct f64_block *f64_mark;
f64_mark f64_pool_mark(void);
void f64_pool_release(f64_mark mark); /* frees every array made since */
/* Finite differences need no errors, and are faster without. */
void f64_track_errors(bool track);
bool f64_tracks_errors(void);
/* Results may be stored with so many bits of fraction on the way, so that maps, sums and products have that rounding, too. 0: they are
 * float32. */
void f64_store_with(int fraction_bits);
double f64_stored_rounding(double value); /* what storing it may change; 0 in float32 */

/* ---- making arrays ---- */
f64_array *f64_zeros(int rank, const int64_t *dims);
f64_array *f64_number(double value); /* rank 0 */
f64_array *f64_copy(const f64_array *a);
/* Moves on to the next index in row-major order; false after the last. */
bool f64_next(int64_t *index, int rank, const int64_t *dims);
/* The spacing of float32 numbers around a value. */
double f64_ulp(double value);
/* What a number on the way adds to the error of what is made of it: 0, or INFINITY where it is finite and beyond float32, which has an
 * infinity there. Of a sum this is that of its terms' absolute values, as partial sums may be as large. */
double f64_overflow(double size);
/* May float32 numbers that should be `gap` apart, with errors of this sum, come out equal or in the other order? Errors of
 * denormal size are none, so that zeros that were computed are as equal as zeros that were given. */
bool f64_may_meet(double gap, double error);
/* Dimensions of a list that WEFT_END ends; at most WEFT_MAX_RANK. */
int f64_list_length(const int64_t *list);
/* A negative axis counts from the end. */
int f64_axis(int64_t axis, int rank);

/* ---- elementwise, with broadcasting ---- */
typedef double f64_function(double a, double b, double c);
/* NULL for the inputs that the function does not use. */
f64_array *f64_map(f64_function *function, const f64_array *a, const f64_array *b, const f64_array *c);
/* The same where the function adds up terms that may cancel out: `size` is the sum of their absolute values, which rounding is relative to. */
f64_array *f64_map_sum(
    f64_function *function, f64_function *size, const f64_array *a, const f64_array *b, const f64_array *c);
f64_array *f64_add(const f64_array *a, const f64_array *b);
f64_array *f64_sub(const f64_array *a, const f64_array *b);
f64_array *f64_mul(const f64_array *a, const f64_array *b);
f64_array *f64_div(const f64_array *a, const f64_array *b);
f64_array *f64_maximum(const f64_array *a, const f64_array *b);
f64_array *f64_exp(const f64_array *a);
f64_array *f64_log(const f64_array *a);
f64_array *f64_sqrt(const f64_array *a);
f64_array *f64_tanh(const f64_array *a);
f64_array *f64_sigmoid(const f64_array *a);
f64_array *f64_relu(const f64_array *a);
f64_array *f64_square(const f64_array *a);

/* ---- reductions: axes end with WEFT_END; NULL or an empty list is all of them ---- */
f64_array *f64_sum(const f64_array *a, const int64_t *axes, bool keep);
f64_array *f64_mean(const f64_array *a, const int64_t *axes, bool keep);
f64_array *f64_max(const f64_array *a, const int64_t *axes, bool keep);
f64_array *f64_argmax(const f64_array *a, const int64_t *axes, bool keep);

/* ---- products, softmax ---- */
f64_array *f64_matmul(const f64_array *a, const f64_array *b);
f64_array *f64_softmax(const f64_array *a, int axis);
f64_array *f64_log_softmax(const f64_array *a, int axis);

/* ---- movement ---- */
f64_array *f64_reshape(const f64_array *a, int rank, const int64_t *dims);
f64_array *f64_permute(const f64_array *a, const int *axes);
f64_array *f64_transpose(const f64_array *a);
f64_array *f64_expand(const f64_array *a, int rank, const int64_t *dims);
f64_array *f64_slice(const f64_array *a, int axis, int64_t start, int64_t end);
f64_array *f64_concat(const f64_array *const *arrays, size_t count, int axis);
/* Any other move: where `place` finds the element of `a` that comes to index `to`; false: `outside` stands
 * there. */
typedef bool f64_place(const void *context, const f64_array *a, const int64_t *to, int64_t *from);
f64_array *f64_pick(
    const f64_array *a, int rank, const int64_t *dims, f64_place *place, const void *context, double outside);

#endif
