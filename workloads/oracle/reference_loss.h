/* Losses in float64, with how far a float32 result may be away: see reference.h.
 *
 * A function f64_<loss> computes the losses themselves by the definition in weft/losses.h; f64_loss_reduced makes one number of them. */
#ifndef REFERENCE_LOSS_H
#define REFERENCE_LOSS_H

#include "oracle/reference.h"
#include <weft/losses.h>

f64_array *f64_loss_reduced(const f64_array *losses, weft_loss_reduction reduction);

/* Numbers and probabilities. */
f64_array *f64_mse(const f64_array *a, const f64_array *b);
f64_array *f64_l1(const f64_array *a, const f64_array *b);
f64_array *f64_huber(const f64_array *a, const f64_array *b, double delta);
f64_array *f64_smooth_l1(const f64_array *a, const f64_array *b, double beta);
f64_array *f64_poisson_nll(const f64_array *x, const f64_array *count, bool log_input, bool full);
f64_array *f64_gaussian_nll(
    const f64_array *mean, const f64_array *target, const f64_array *variance, bool full);
f64_array *f64_bce(const f64_array *p, const f64_array *t);
/* positive_weight NULL: 1. */
f64_array *f64_bce_with_logits(const f64_array *x, const f64_array *t, const f64_array *positive_weight);
f64_array *f64_kl_div(const f64_array *x, const f64_array *t, bool log_target);

/* Margins and vectors. */
f64_array *f64_hinge(const f64_array *x, const f64_array *t);
f64_array *f64_soft_margin(const f64_array *x, const f64_array *t);
f64_array *f64_hinge_embedding(const f64_array *x, const f64_array *t, double margin);
f64_array *f64_margin_ranking(const f64_array *a, const f64_array *b, const f64_array *t, double margin);
/* The norms of a along an axis, where a broadcasts to the shape of `wide`. */
f64_array *f64_norm_like(const f64_array *a, const f64_array *wide, int axis);
f64_array *f64_cosine_similarity(const f64_array *a, const f64_array *b, int axis, double epsilon);
f64_array *f64_cosine_embedding(const f64_array *a, const f64_array *b, const f64_array *t, double margin);
f64_array *f64_triplet_margin(const f64_array *anchor, const f64_array *positive, const f64_array *negative,
    double margin, int p, bool swap);

/* Classes: x (batch, classes, ...) or (classes). These are reduced, as a mean may divide by the weights of the labels. */
typedef struct f64_class_options {
    weft_loss_reduction reduction;
    const f64_array *weights; /* (classes); NULL: all 1 */
    bool ignore;              /* labels equal to `ignored` */
    double ignored, smoothing;
} f64_class_options;
f64_array *f64_cross_entropy(const f64_array *x, const f64_array *labels, const f64_class_options *options);
f64_array *f64_dense_cross_entropy(
    const f64_array *x, const f64_array *targets, const f64_class_options *options);
/* x (..., classes), labels (...). mask: NULL; flags that broadcast to the labels; or lengths (N) of rows (N, T). */
f64_array *f64_sequence_cross_entropy(const f64_array *x, const f64_array *labels, const f64_array *mask,
    bool lengths, const f64_class_options *options);
f64_array *f64_nll(const f64_array *x, const f64_array *labels, const f64_class_options *options);
f64_array *f64_multi_margin(
    const f64_array *x, const f64_array *labels, double margin, int p, const f64_class_options *options);

#endif
