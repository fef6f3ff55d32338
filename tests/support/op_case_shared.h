/* Shared by op_case.c, op_format.c and op_judge.c: the cases of a suite, the tested number format, and the comparison of results. */
#ifndef TEST_OP_CASE_SHARED_H
#define TEST_OP_CASE_SHARED_H

#include "support/op_case.h"

enum { OP_BATCHES = 3 };

/* The results of one plan for a case. */
typedef struct op_result {
    void *output;
    double *gradients[OP_CASE_INPUTS]; /* NULL: not computed */
} op_result;

/* A case in the suite's graph. */
typedef struct op_state {
    const op_case *c;
    char title[160];
    int input_count;
    bool has_batch;
    weft_tensor *sources[OP_CASE_INPUTS], *output, *weights;
    weft_tensor *gradients[OP_CASE_INPUTS];
    op_result results[OP_BATCHES];
} op_state;

void *op_take(size_t count, size_t size); /* allocates memory of zeros; the test fails if there is none */

/* ---- op_format.c ---- */

typedef struct op_format {
    const char *name;
    weft_dtype dtype;
    int precision, least_exponent; /* bits of the significand; the smallest exponent of normal numbers */
    double value;    /* the allowed error, as a multiple of the error that the reference allows for f32 */
    double gradient; /* the allowed error of a directional derivative, relative to its terms */
} op_format;

/* The format of this dtype; NULL: it is not a float. */
const op_format *op_format_of(weft_dtype dtype);
/* Whether mixed precision is tested: $WEFT_TEST_FORMAT is "mixed" (bf16) or "mixed_f16" (f16). */
bool op_tests_mixed(void);
/* Sets the graph's mixed precision if $WEFT_TEST_FORMAT names one. */
void op_set_precision(weft_graph *graph);
/* The format that $WEFT_TEST_FORMAT names; f32 if it is unset. */
const op_format *op_tested_format(void);
/* The value, rounded to the dtype. */
double op_nearest(weft_dtype dtype, double value);
/* The distance from the value to the next number of the dtype: half of it for rounding to the dtype, and as much for errors of the result
 * in f32 before it was rounded. */
double op_rounding(weft_dtype dtype, double value);

/* ---- op_case.c ---- */

f64_array *op_reference_value(const op_state *s, f64_array *const *sources);
f64_array *op_weight_values(const op_state *s, const f64_array *output);

/* ---- op_judge.c ---- */

/* Compares values with the reference; `roundings`: see op_case.roundings. */
void op_assert_values(
    const char *what, weft_dtype dtype, const void *got, const f64_array *wanted, double roundings);
/* Compares the gradient, in random directions, with differences of the reference. */
void op_check_gradient(
    const op_state *s, int64_t batch, f64_array **sources, int which, const double *gradient);

#endif
