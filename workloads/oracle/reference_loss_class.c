/* Losses of class labels: see reference_loss.h. */
#include "oracle/reference_loss.h"
#include <math.h>

/* x (batch, classes, ...) or (classes) as (outer, classes, inner). */
typedef struct class_layout {
    size_t outer, classes, inner;
} class_layout;

static class_layout layout_of(const f64_array *x) {
    const size_t outer = x->rank > 1 ? (size_t)x->dims[0] : 1, classes = (size_t)x->dims[x->rank > 1];
    return (class_layout){outer, classes, x->count / (outer * classes)};
}

/* Where the first class of an example stands. */
static size_t first_of(const class_layout *l, size_t example) {
    return example / l->inner * l->classes * l->inner + example % l->inner;
}

/* Zeros of the shape of x without its class axis. */
static f64_array *one_an_example(const f64_array *x) {
    int64_t dims[WEFT_MAX_RANK];
    int rank = 0;
    for (int i = 0; i < x->rank; i++)
        if (i != (x->rank > 1)) dims[rank++] = x->dims[i];
    return f64_zeros(rank, dims);
}

static double weight_of(const f64_class_options *o, size_t class) {
    return o->weights ? o->weights->value[class] : 1;
}

/* The target of one class, and its error. */
static double target_of(const f64_class_options *o, const f64_array *targets, size_t at, bool hit,
    size_t classes, double *error) {
    const double chosen = targets ? targets->value[at] : hit;
    *error = targets ? (1 - o->smoothing) * (targets->error[at] + f64_ulp(chosen)) : 0;
    return (1 - o->smoothing) * chosen + o->smoothing / (double)classes;
}

/* -sum of target · weight · x over the classes; a target of 0 leaves out its class. The label is -1 where targets are dense. */
static void add_example(f64_array *losses, size_t example, const f64_array *x, size_t first, double label,
    const f64_array *targets, const f64_class_options *o) {
    const class_layout l = layout_of(x);
    const double allowed = 1e-6 * (1 + log2((double)l.classes));
    double sum = 0, error = 0;
    for (size_t c = 0; c < l.classes; c++) {
        const size_t at = first + c * l.inner;
        double target_error;
        const double target = target_of(o, targets, at, label == (double)c, l.classes, &target_error);
        if (target == 0 && target_error == 0) continue;
        const double w = weight_of(o, c), factor = target * w;
        sum -= factor * x->value[at];
        error += fabs(factor) * (x->error[at] + allowed * fabs(x->value[at])) +
                 fabs(w * x->value[at]) * target_error;
    }
    losses->value[example] = sum;
    losses->error[example] = error + f64_ulp(sum);
}

static bool is_ignored(const f64_class_options *o, double label) {
    return o->ignore && label == o->ignored;
}

/* The sum over the sum of the labels' weights, for a mean; where no label counts, as include/weft/losses.h has it, 0. */
static f64_array *labels_reduced(
    const f64_array *losses, const f64_array *labels, const f64_class_options *o, size_t classes) {
    if (o->reduction != WEFT_LOSS_MEAN) return f64_loss_reduced(losses, o->reduction);
    f64_array *const total = f64_number(0);
    for (size_t i = 0; i < labels->count; i++) {
        const double label = labels->value[i];
        if (!is_ignored(o, label) && label >= 0 && label < (double)classes)
            total->value[0] += weight_of(o, (size_t)label);
    }
    f64_array *const sum = f64_sum(losses, NULL, false);
    return total->value[0] == 0 ? sum : f64_div(sum, total);
}

/* x are log-probabilities. */
static f64_array *label_losses(
    const f64_array *x, const f64_array *labels, const f64_class_options *options) {
    const class_layout l = layout_of(x);
    f64_array *const losses = one_an_example(x);
    for (size_t i = 0; i < losses->count; i++) {
        const double label = labels->value[i];
        if (is_ignored(options, label)) continue;
        if (label >= 0 && label < (double)l.classes)
            add_example(losses, i, x, first_of(&l, i), label, NULL, options);
        else
            losses->value[i] = NAN;
    }
    return labels_reduced(losses, labels, options, l.classes);
}

f64_array *f64_cross_entropy(const f64_array *x, const f64_array *labels, const f64_class_options *options) {
    return label_losses(f64_log_softmax(x, x->rank > 1), labels, options);
}

f64_array *f64_nll(const f64_array *x, const f64_array *labels, const f64_class_options *options) {
    return label_losses(x, labels, options);
}

f64_array *f64_dense_cross_entropy(
    const f64_array *x, const f64_array *targets, const f64_class_options *options) {
    const class_layout l = layout_of(x);
    const f64_array *const logs = f64_log_softmax(x, x->rank > 1);
    f64_array *const losses = one_an_example(x);
    for (size_t i = 0; i < losses->count; i++)
        add_example(losses, i, logs, first_of(&l, i), -1, targets, options);
    return f64_loss_reduced(losses, options->reduction);
}

/* The sum of max(0, z)^p, and its error, over the classes but the label's. */
static void add_excess(
    const f64_array *x, size_t first, size_t label, double margin, int p, double *sum, double *error) {
    const class_layout l = layout_of(x);
    const size_t own = first + label * l.inner;
    const double base = margin - x->value[own], base_error = x->error[own] + 4 * f64_ulp(base);
    for (size_t c = 0; c < l.classes; c++) {
        const size_t at = first + c * l.inner;
        const double z = base + x->value[at], off = base_error + x->error[at] + 4 * f64_ulp(z);
        if (c == label || z + off <= 0) continue;
        if (z > 0) *sum += p == 2 ? z * z : z;
        *error += p == 2 ? (2 * fabs(z) + off) * off : off;
    }
    *error += 1e-6 * (1 + log2((double)l.classes)) * *sum;
}

f64_array *f64_multi_margin(
    const f64_array *x, const f64_array *labels, double margin, int p, const f64_class_options *options) {
    const class_layout l = layout_of(x);
    f64_array *const losses = one_an_example(x);
    for (size_t i = 0; i < losses->count; i++) {
        const size_t label = (size_t)labels->value[i];
        const double share = weight_of(options, label) / (double)l.classes;
        double sum = 0, error = 0;
        add_excess(x, first_of(&l, i), label, margin, p, &sum, &error);
        losses->value[i] = share * sum;
        losses->error[i] = share * error + f64_ulp(share * sum);
    }
    return f64_loss_reduced(losses, options->reduction);
}

/* Those that do not count become the ignored one. mask: NULL, flags that broadcast, or the lengths of rows. */
static f64_array *labels_that_count(
    const f64_array *labels, const f64_array *mask, bool lengths, double ignored) {
    f64_array *const kept = f64_copy(labels);
    const f64_array *const flags = mask && !lengths ? f64_expand(mask, labels->rank, labels->dims) : NULL;
    for (size_t i = 0; i < kept->count; i++) {
        const size_t steps = lengths ? (size_t)labels->dims[1] : 1;
        const bool counts =
            lengths ? (double)(i % steps) < mask->value[i / steps] : !flags || flags->value[i] != 0;
        if (!counts) kept->value[i] = ignored;
    }
    return kept;
}

f64_array *f64_sequence_cross_entropy(const f64_array *x, const f64_array *labels, const f64_array *mask,
    bool lengths, const f64_class_options *options) {
    const int64_t classes = x->dims[x->rank - 1], rows = (int64_t)labels->count;
    f64_class_options own = *options;
    if (!own.ignore) own.ignored = -100;
    own.ignore = true;
    const f64_array *const kept = labels_that_count(labels, mask, lengths, own.ignored);
    f64_array *const losses = f64_cross_entropy(
        f64_reshape(x, 2, (const int64_t[]){rows, classes}), f64_reshape(kept, 1, &rows), &own);
    return own.reduction == WEFT_LOSS_NONE ? f64_reshape(losses, labels->rank, labels->dims) : losses;
}
