/* See reference_ctc.h. */
#include "oracle/reference_ctc.h"
#include "oracle/reference_loss.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>

ctc_example ctc_example_of(const f64_array *const *inputs, size_t n, int blank) {
    const f64_array *const x = inputs[0], *const targets = inputs[1];
    return (ctc_example){.x = x->value + n * (size_t)x->dims[2],
        .step = (size_t)(x->dims[1] * x->dims[2]),
        .classes = (int)x->dims[2],
        .length = (int)inputs[2]->value[n],
        .count = (int)inputs[3]->value[n],
        .blank = blank,
        .labels = targets->value + n * (size_t)targets->dims[1]};
}

/* Does the path give the labels, once repetitions and then blanks are taken out? */
static bool gives_labels(const ctc_example *e, const int *path) {
    int found = 0;
    for (int t = 0; t < e->length; t++) {
        if (path[t] == e->blank || (t > 0 && path[t] == path[t - 1])) continue;
        if (found == e->count || path[t] != (int)e->labels[found]) return false;
        found++;
    }
    return found == e->count;
}

/* -log of the sum over all classes^length paths. */
double ctc_loss_of_paths(const ctc_example *e) {
    int path[8] = {0};
    double sum = 0;
    assert(e->length <= 8);
    for (int t = 0; t >= 0;) {
        double log = 0;
        for (int i = 0; i < e->length; i++) log += e->x[(size_t)i * e->step + (size_t)path[i]];
        if (gives_labels(e, path)) sum += exp(log);
        for (t = e->length - 1; t >= 0 && ++path[t] == e->classes; t--) path[t] = 0;
    }
    return -log(sum);
}

double ctc_log_sum(double a, double b) {
    const double most = fmax(a, b);
    if (isnan(a) || isnan(b)) return NAN;
    return most == -(double)INFINITY ? most : most + log(exp(a - most) + exp(b - most));
}

/* By labels found: ending[j] and resting[j] are log-probabilities of having found the first j labels with the
 * last one just read, or with a blank since. */
double ctc_loss_of_prefixes(const ctc_example *e) {
    const size_t size = (size_t)e->count + 1;
    double *const ending = calloc(2 * size, sizeof *ending), *const resting = ending + size;
    assert(ending);
    for (size_t j = 0; j < size; j++) ending[j] = resting[j] = -(double)INFINITY;
    resting[0] = 0;
    for (int t = 0; t < e->length; t++) {
        const double *const x = e->x + (size_t)t * e->step;
        for (size_t j = size; j-- > 0;) {
            resting[j] = ctc_log_sum(resting[j], ending[j]) + x[e->blank];
            if (j == 0) continue;
            double before = j > 1 && e->labels[j - 1] == e->labels[j - 2] ? -(double)INFINITY : ending[j - 1];
            /* of the step before, as j goes down */
            before = ctc_log_sum(before, resting[j - 1]);
            ending[j] = ctc_log_sum(ending[j], before) + x[(int)e->labels[j - 1]];
        }
    }
    const double loss = -ctc_log_sum(ending[e->count], resting[e->count]);
    free(ending);
    return loss;
}

/* ---- a batch ---- */

/* The largest error among the log-probabilities of an example. */
static double error_of_example(const f64_array *x, size_t example) {
    const size_t classes = (size_t)x->dims[2], step = (size_t)x->dims[1] * classes;
    double error = 0;
    for (size_t t = 0; t < (size_t)x->dims[0]; t++)
        for (size_t c = 0; c < classes; c++) error = fmax(error, x->error[t * step + example * classes + c]);
    return error;
}

f64_array *f64_ctc(const f64_array *const *inputs, const f64_ctc_options *o) {
    f64_array *const losses = f64_zeros(1, &inputs[0]->dims[1]);
    for (size_t n = 0; n < losses->count; n++) {
        const ctc_example e = ctc_example_of(inputs, n, o->blank);
        const double loss = o->every_path ? ctc_loss_of_paths(&e) : ctc_loss_of_prefixes(&e);
        const double part = o->reduction == WEFT_LOSS_MEAN ? fmax(e.count, 1) : 1;
        if (isinf(loss) && o->zero_infinity) continue;
        losses->value[n] = loss / part;
        losses->error[n] = (1e-6 * (1 + fabs(loss)) + e.length * error_of_example(inputs[0], n)) / part;
    }
    return f64_loss_reduced(losses, o->reduction);
}
