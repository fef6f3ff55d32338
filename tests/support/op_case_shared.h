/* What the files of op_case.h share: the cases of a suite, the format that it computes in, how results are judged. */
#ifndef TEST_OP_CASE_SHARED_H
#define TEST_OP_CASE_SHARED_H

#include "support/op_case.h"

enum { OP_BATCHES = 3 };

/* What one plan gave for a case. */
typedef struct op_result {
    void *output;
    double *gradients[OP_CASE_INPUTS]; /* NULL: none wanted */
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

void *op_take(size_t count, size_t size); /* zeros */

/* ---- op_format.c ---- */

typedef struct op_format {
    const char *name;
    weft_dtype dtype;
    int precision, least_exponent; /* bits of the significand; of normal numbers */
    double value;                  /* what is allowed of the error that the reference allows of f32 */
    double gradient;               /* of a directional derivative, relative to its terms */
} op_format;

/* NULL: not one of floats. */
const op_format *op_format_of(weft_dtype dtype);
/* Is $WEFT_TEST_FORMAT "mixed" or "mixed_f16": mixed precision in bf16 or f16? */
bool op_tests_mixed(void);
/* The precision that WEFT_TEST_FORMAT asks for, if it does. */
void op_set_precision(weft_graph *graph);
/* That of $WEFT_TEST_FORMAT. */
const op_format *op_tested_format(void);
/* As the dtype keeps it. */
double op_nearest(weft_dtype dtype, double value);
/* Half the distance to the next number, and as much again for a result that was computed in f32 before. */
double op_rounding(weft_dtype dtype, double value);

/* ---- op_case.c ---- */

f64_array *op_reference_value(const op_state *s, f64_array *const *sources);
f64_array *op_weight_values(const op_state *s, const f64_array *output);

/* ---- op_judge.c ---- */

/* `roundings` of the largest element are allowed besides (op_case.roundings). */
void op_assert_values(
    const char *what, weft_dtype dtype, const void *got, const f64_array *wanted, double roundings);
/* In random directions against differences of the reference. */
void op_check_gradient(
    const op_state *s, int64_t batch, f64_array **sources, int which, const double *gradient);

#endif
