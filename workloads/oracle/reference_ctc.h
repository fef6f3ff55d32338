/* The loss of connectionist temporal classification in float64, of one example, in two ways. */
#ifndef REFERENCE_CTC_H
#define REFERENCE_CTC_H

#include "oracle/reference.h"
#include <weft/losses.h>

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

typedef struct f64_ctc_options {
    weft_loss_reduction reduction; /* the mean divides each loss by the number of its labels first */
    int blank;
    bool zero_infinity, every_path;
} f64_ctc_options;

/* Of inputs (T, N, C), (N, S), (N), (N). */
f64_array *f64_ctc(const f64_array *const *inputs, const f64_ctc_options *options);

#endif
