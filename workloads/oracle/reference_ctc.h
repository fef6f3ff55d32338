/* The loss of connectionist temporal classification in float64, of one example, in two ways. */
#ifndef REFERENCE_CTC_H
#define REFERENCE_CTC_H

#include "oracle/reference.h"

/* One example of inputs (T, N, C), (N, S), (N), (N). */
typedef struct ctc_example {
    const double *x; /* of step 0 */
    size_t step;     /* elements from step to step */
    int classes, length, count, blank;
    const double *labels;
} ctc_example;

/* log(exp a + exp b). */
double ctc_log_sum(double a, double b);

ctc_example ctc_example_of(const f64_array *const *inputs, size_t n, int blank);
/* -log of the sum over all classes^length paths, of 8 steps at most. */
double ctc_loss_of_paths(const ctc_example *e);
/* By the recursion over prefixes of the labels. */
double ctc_loss_of_prefixes(const ctc_example *e);

#endif
