/* weft/losses.h: losses, as a reference card.
 *
 * weft_x(...) is the mean over all elements, of rank 0. weft_x_loss(..., options) is the same loss with another
 * reduction, with weights, and with the other arguments of the PyTorch function of the same name; options NULL means
 * all defaults. Definitions, divisors and gradients at kinks are those of PyTorch, if it has the loss. Inputs are
 * floats, except labels (i32); losses are f32, or f64 if an input is f64. All float inputs except class weights have
 * gradients. All losses are stable for logits of any magnitude.
 *
 * Shapes: a loss compares element by element, and never broadcasts. The compared tensors (prediction and target, scores
 * and labels, the vectors of a triplet) have the same shape, except for axes of size 1 after the first axis: (batch,
 * 1), the result of weft_linear(h, 1), and (batch), a column of a table, are compared element by element. The losses
 * have the shape of the first input. A number (weft_number, weft_constant, weft_scalar) is compared with every element.
 * Any other difference is WEFT_ERROR_SHAPE, which names both shapes: use weft_reshape, or weft_expand to compare a
 * target (10) with predictions (batch, 10). Only these arguments broadcast: the weights of the options,
 * positive_weight, the mask of a sequence, the variance of weft_gaussian_nll, and the inputs of weft_cosine_similarity.
 *
 * Logits and log-probabilities: weft_cross_entropy, weft_sequence_cross_entropy and weft_bce_with_logits take logits
 * and convert them to probabilities; weft_nll, weft_kl_div and weft_ctc take log-probabilities. For both, a result of
 * weft_softmax or weft_sigmoid is WEFT_ERROR_ARGUMENT, also behind views, casts and weft_stop_gradient (PyTorch
 * silently computes another loss; to get that loss, pass a copy of the probabilities: weft_mul_number(p, 1)). A result
 * of weft_log_softmax fits all of these losses but weft_bce_with_logits.
 *
 * Batches without labels that count: a mean over the labels that are not ignored, a mean weighted by class, and a mean
 * under a mask (weft_masked_mean) are a sum divided by a total that depends on the data. If the total is 0, the mean
 * and its gradients are 0 (in PyTorch NaN), and weft_minimize, weft_optimizer_minimize, weft_train_step and trainers
 * make no update: parameters, moments, counters and averages do not change, and weights do not decay. In a window of
 * accumulation the run takes a place, but the mean is over the other runs. This holds for sums and differences of such
 * means, each multiplied or divided by a factor that does not depend on the batch, plus terms that do not depend on the
 * batch (a penalty on weights). If another part of the loss depends on the batch, every run updates. Running statistics
 * of norms are updated in every run, and weft_optimizer_step always uses the gradients that it receives.
 * weft_trainer_evaluate says how such losses are averaged over batches.
 *
 * A call that fails returns NULL, and the graph keeps the error: WEFT_ERROR_SHAPE, WEFT_ERROR_DTYPE,
 * WEFT_ERROR_ARGUMENT (a number outside of the range that is given here, a margin that is not finite, a wrong
 * struct_size). */
#ifndef WEFT_LOSSES_H
#define WEFT_LOSSES_H

#include <weft/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum weft_loss_reduction {
    WEFT_LOSS_MEAN,      /* sum / number of losses; cross-entropy and nll: see weft_class_loss_options */
    WEFT_LOSS_SUM,       /* rank 0, like the mean */
    WEFT_LOSS_NONE,      /* the losses themselves */
    WEFT_LOSS_BATCH_MEAN /* sum / first dimension of the losses */
} weft_loss_reduction;

typedef struct weft_loss_options {
    size_t struct_size;
    weft_loss_reduction reduction; /* default WEFT_LOSS_MEAN */
    /* Factors (floats) that broadcast to the losses, before the reduction (the mean still divides by the number of
     * losses). Default NULL: 1. */
    weft_tensor *weights;
} weft_loss_options;
#define WEFT_LOSS_OPTIONS_INIT .struct_size = sizeof(weft_loss_options)

/* ---- the mean under a mask, for losses that you write yourself ---- */
/* The mean of those elements of x (floats) for which mask is not 0; 0 if there are no such elements.
 * weft_masked_mean(x, mask) is over all axes, weft_masked_mean(x, mask, 1) over axis 1. The mask has any dtype and
 * broadcasts to x. Elements for which mask is 0 may be NaN; their gradient is 0, and that of the n other elements is 1
 * / n. The mask has no gradient. If the mean is over all axes and the mask is 0 everywhere, the run makes no update
 * (see above). Errors: WEFT_ERROR_DTYPE; WEFT_ERROR_SHAPE (the mask does not broadcast to x, an axis that x does not
 * have). */
#define weft_masked_mean(...) WEFT_TAKE_MASKED_AXES_(__VA_ARGS__, WEFT_8_ENDS_)
/* axes: a list that ends with WEFT_END, or NULL for all axes; keep: reduced axes remain with size 1. */
WEFT_API weft_tensor *weft_masked_mean_axes(
    weft_tensor *x, weft_tensor *mask, const int64_t *axes, bool keep);

/* ---- regression ---- */
WEFT_API weft_tensor *weft_mse(weft_tensor *a, weft_tensor *b); /* (a - b)² */
WEFT_API weft_tensor *weft_l1(weft_tensor *a, weft_tensor *b);  /* |a - b|; gradient 0 at 0 */
/* With d = |a - b|: d²/2 where d < delta, otherwise delta·(d - delta/2); 0 < delta < ∞. */
WEFT_API weft_tensor *weft_huber(weft_tensor *a, weft_tensor *b, float delta);
/* With d = |a - b|: d²/(2·beta) where d < beta, otherwise d - beta/2; 0 <= beta < ∞; beta 0 is weft_l1. */
WEFT_API weft_tensor *weft_smooth_l1(weft_tensor *a, weft_tensor *b, float beta);
/* exp(log_rate) - count·log_rate: the negative log-likelihood without the term that does not depend on the rate. */
WEFT_API weft_tensor *weft_poisson_nll(weft_tensor *log_rate, weft_tensor *count);
/* (log v + (mean - target)²/v) / 2 with v = max(variance, 1e-6). variance has the shape of mean, or this shape without
 * the last axis or with a last axis of size 1: one variance for all elements of the last axis. A negative variance
 * gives NaN. */
WEFT_API weft_tensor *weft_gaussian_nll(weft_tensor *mean, weft_tensor *target, weft_tensor *variance);

/* weft_mse, weft_l1, weft_huber and weft_smooth_l1 with options. */
WEFT_API weft_tensor *weft_mse_loss(weft_tensor *a, weft_tensor *b, const weft_loss_options *options);
WEFT_API weft_tensor *weft_l1_loss(weft_tensor *a, weft_tensor *b, const weft_loss_options *options);
WEFT_API weft_tensor *weft_huber_loss(
    weft_tensor *a, weft_tensor *b, float delta, const weft_loss_options *options);
WEFT_API weft_tensor *weft_smooth_l1_loss(
    weft_tensor *a, weft_tensor *b, float beta, const weft_loss_options *options);
/* weft_poisson_nll with options. log_input true: input is log_rate; false: input is the rate, and the loss rate -
 * count·log(rate + 1e-8). full: adds Stirling's approximation of log(count!) where count > 1. */
WEFT_API weft_tensor *weft_poisson_nll_loss(
    weft_tensor *input, weft_tensor *count, bool log_input, bool full, const weft_loss_options *options);
/* weft_gaussian_nll with options. full: adds log(2π) / 2. */
WEFT_API weft_tensor *weft_gaussian_nll_loss(weft_tensor *mean, weft_tensor *target, weft_tensor *variance,
    bool full, const weft_loss_options *options);

/* ---- probabilities ---- */
/* -(t·log p + (1 - t)·log(1 - p)), with logarithms clamped to -100 or more; NaN if p is outside of [0, 1]. Prefer
 * weft_bce_with_logits. */
WEFT_API weft_tensor *weft_bce(weft_tensor *probabilities, weft_tensor *targets);
/* max(x, 0) - x·t + log1p(exp(-|x|)): equals weft_bce of sigmoid(x), and is stable for x of any magnitude. */
WEFT_API weft_tensor *weft_bce_with_logits(weft_tensor *logits, weft_tensor *targets);
/* t·(log t - x) with 0·log 0 = 0, for log-probabilities x and probabilities t >= 0. The reduction WEFT_LOSS_BATCH_MEAN
 * gives the mathematical divergence. */
WEFT_API weft_tensor *weft_kl_div(weft_tensor *log_probabilities, weft_tensor *targets);

/* weft_bce with options. */
WEFT_API weft_tensor *weft_bce_loss(
    weft_tensor *probabilities, weft_tensor *targets, const weft_loss_options *options);
/* weft_bce_with_logits with options. positive_weight multiplies the term t·log p of the loss, and broadcasts to the
 * logits; NULL: 1. */
WEFT_API weft_tensor *weft_bce_with_logits_loss(weft_tensor *logits, weft_tensor *targets,
    weft_tensor *positive_weight, const weft_loss_options *options);
/* weft_kl_div with options. log_target: the targets are log-probabilities t, and the loss is exp(t)·(t - x). */
WEFT_API weft_tensor *weft_kl_div_loss(
    weft_tensor *log_probabilities, weft_tensor *targets, bool log_target, const weft_loss_options *options);

/* ---- classes ----
 * x (batch, classes, ...) or (classes); labels i32 in [0, classes), of the shape of x without the class axis; the
 * losses have the shape of the labels. A label out of range is an error of the next read or wait; its loss is NaN. The
 * classes of weft_cross_entropy and weft_nll may be the rows of the batch, as in contrastive losses (SimCLR, CLIP): x
 * (batch, batch), with weft_arange(graph, WEFT_I32, 0, WEFT_BATCH, 1) as labels. Then no options but the reduction are
 * allowed, and the loss of a label out of range is 0. */
/* -log softmax(logits)[label]. With float targets of the shape of the logits instead of labels: -sum of target·log
 * softmax(logits) over the classes. */
WEFT_API weft_tensor *weft_cross_entropy(weft_tensor *logits, weft_tensor *labels);
WEFT_API weft_tensor *weft_nll(weft_tensor *log_probabilities, weft_tensor *labels); /* -x[label] */
/* Sum over the other classes j of max(0, margin - x[label] + x[j]), divided by the number of classes. */
WEFT_API weft_tensor *weft_multi_margin(weft_tensor *scores, weft_tensor *labels, float margin);

typedef struct weft_class_loss_options {
    size_t struct_size;
    /* Default WEFT_LOSS_MEAN: the sum of the losses / the sum of the class weights of the labels that are not ignored,
     * 0 if the latter is 0 (see above); for multi_margin and float targets sum / number of losses. */
    weft_loss_reduction reduction;
    weft_tensor *class_weights; /* (classes), floats; default NULL: all 1 */
    bool ignore;                /* default false: no label is ignored, not even -100 */
    int32_t ignored_label;      /* with `ignore`: examples with this label, in range or not, have loss 0 */
    float label_smoothing; /* default 0; e in [0, 1]: the target is (1 - e)·[class = label] + e / classes */
} weft_class_loss_options;
#define WEFT_CLASS_LOSS_OPTIONS_INIT .struct_size = sizeof(weft_class_loss_options)

/* weft_cross_entropy with options. With float targets no label can be ignored. */
WEFT_API weft_tensor *weft_cross_entropy_loss(
    weft_tensor *logits, weft_tensor *labels, const weft_class_loss_options *options);
/* weft_nll with options, in which label_smoothing must be 0. */
WEFT_API weft_tensor *weft_nll_loss(
    weft_tensor *log_probabilities, weft_tensor *labels, const weft_class_loss_options *options);
/* weft_multi_margin with max(...)^p, p = 1 or 2, and options; label_smoothing must be 0, and `ignore` false. */
WEFT_API weft_tensor *weft_multi_margin_loss(
    weft_tensor *scores, weft_tensor *labels, float margin, int p, const weft_class_loss_options *options);

/* ---- margins: targets t are floats, 1 or -1 ---- */
WEFT_API weft_tensor *weft_hinge(weft_tensor *scores, weft_tensor *targets);       /* max(0, 1 - t·x) */
WEFT_API weft_tensor *weft_soft_margin(weft_tensor *scores, weft_tensor *targets); /* log(1 + exp(-t·x)) */
/* Distances x: x where t = 1, max(0, margin - x) where t = -1, for any other t the sum of both. */
WEFT_API weft_tensor *weft_hinge_embedding(weft_tensor *distances, weft_tensor *targets, float margin);
/* max(0, margin - t·(a - b)) */
WEFT_API weft_tensor *weft_margin_ranking(weft_tensor *a, weft_tensor *b, weft_tensor *targets, float margin);

/* weft_hinge, weft_soft_margin, weft_hinge_embedding and weft_margin_ranking with options. */
WEFT_API weft_tensor *weft_hinge_loss(
    weft_tensor *scores, weft_tensor *targets, const weft_loss_options *options);
WEFT_API weft_tensor *weft_soft_margin_loss(
    weft_tensor *scores, weft_tensor *targets, const weft_loss_options *options);
WEFT_API weft_tensor *weft_hinge_embedding_loss(
    weft_tensor *distances, weft_tensor *targets, float margin, const weft_loss_options *options);
WEFT_API weft_tensor *weft_margin_ranking_loss(
    weft_tensor *a, weft_tensor *b, weft_tensor *targets, float margin, const weft_loss_options *options);

/* ---- vectors ---- */
/* a·b / (max(‖a‖, epsilon)·max(‖b‖, epsilon)) along an axis, which the result lacks; a and b broadcast; epsilon >= 0
 * (PyTorch: 1e-8). This is not a loss: there is no reduction. */
WEFT_API weft_tensor *weft_cosine_similarity(weft_tensor *a, weft_tensor *b, int axis, float epsilon);
/* a and b (..., n), targets (...): 1 - cos where t = 1, max(0, cos - margin) where t = -1, 0 for any other t. cos is
 * the cosine of a and b, with 1e-12 added to both squared norms. */
WEFT_API weft_tensor *weft_cosine_embedding(
    weft_tensor *a, weft_tensor *b, weft_tensor *targets, float margin);
/* max(0, d(anchor, positive) - d(anchor, negative) + margin) with d(a, b) = ‖a - b + 1e-6‖; vectors (..., n) → losses
 * (...). */
WEFT_API weft_tensor *weft_triplet_margin(
    weft_tensor *anchor, weft_tensor *positive, weft_tensor *negative, float margin);

/* weft_cosine_embedding with options. */
WEFT_API weft_tensor *weft_cosine_embedding_loss(
    weft_tensor *a, weft_tensor *b, weft_tensor *targets, float margin, const weft_loss_options *options);
/* weft_triplet_margin with options; d is the p-norm, p = 1 or 2. swap: instead of d(anchor, negative), the smaller of
 * d(anchor, negative) and d(positive, negative) (Balntas et al. 2016). */
WEFT_API weft_tensor *weft_triplet_margin_loss(weft_tensor *anchor, weft_tensor *positive,
    weft_tensor *negative, float margin, int p, bool swap, const weft_loss_options *options);

/* ---- sequences ---- */
/* Cross-entropy of logits (..., classes) and labels i32 (...): the mean over the labels that count. A label of -100
 * does not count, as in PyTorch. mask: NULL (all others count); or a bool that broadcasts to the labels, true where a
 * label counts; or i32 lengths (N) for labels (N, T): the number of first labels of each row that count. A length
 * outside of 0 .. T is an error of the next read or wait. */
WEFT_API weft_tensor *weft_sequence_cross_entropy(
    weft_tensor *logits, weft_tensor *labels, weft_tensor *mask);
/* weft_sequence_cross_entropy with options; with `ignore`, ignored_label takes the place of -100. */
WEFT_API weft_tensor *weft_sequence_cross_entropy_loss(
    weft_tensor *logits, weft_tensor *labels, weft_tensor *mask, const weft_class_loss_options *options);
/* Connectionist temporal classification (Graves et al. 2006): -log of the total probability of all paths through the
 * classes that become the labels when first repetitions and then blanks (class 0) are removed. log_probs f32 (T, N, C),
 * a result of weft_log_softmax; targets i32 (N, S), in each row the labels and then arbitrary values; input_lengths i32
 * (N) in [0, T]; target_lengths i32 (N) in [0, S]. Plans may choose N and T; C and S are numbers. The
 * losses are (N); the result is the mean of loss / max(target length, 1). If no path of the input's length gives the
 * labels, the loss is ∞ and the gradient NaN. A length out of range, or a label that is not a class or is the blank, is
 * an error of the next read or wait; the loss of this example is NaN and its gradient 0. The gradient is the derivative
 * with respect to log_probs; PyTorch's also contains exp(log_probs), which the gradient of log_softmax removes. */
WEFT_API weft_tensor *weft_ctc(
    weft_tensor *log_probs, weft_tensor *targets, weft_tensor *input_lengths, weft_tensor *target_lengths);

typedef struct weft_ctc_loss_options {
    size_t struct_size;
    /* Default WEFT_LOSS_MEAN, which first divides each loss by its target length; the others do not. */
    weft_loss_reduction reduction;
    int32_t blank;      /* the class of the blank, in [0, C); default 0 */
    bool zero_infinity; /* default false; true: infinite losses and their gradients become 0 */
} weft_ctc_loss_options;
#define WEFT_CTC_LOSS_OPTIONS_INIT .struct_size = sizeof(weft_ctc_loss_options)
/* weft_ctc with options; NULL means all defaults. The result is (N) for WEFT_LOSS_NONE, otherwise of rank 0. */
WEFT_API weft_tensor *weft_ctc_loss(weft_tensor *log_probs, weft_tensor *targets, weft_tensor *input_lengths,
    weft_tensor *target_lengths, const weft_ctc_loss_options *options);

/* ---- used by the macro ---- */
#define WEFT_TAKE_MASKED_AXES_(...) WEFT_TAKE_MASKED_AXES_LIST_(__VA_ARGS__)
#ifdef __cplusplus
#define WEFT_TAKE_MASKED_AXES_LIST_(x, mask, a, b, c, d, e, f, g, h, ...)                                    \
    weft_masked_mean_axes(x, mask,                                                                           \
        weft_axis_list_{{(int64_t)(a), (int64_t)(b), (int64_t)(c), (int64_t)(d), (int64_t)(e), (int64_t)(f), \
                            (int64_t)(g), (int64_t)(h), WEFT_END}}                                           \
            .axes,                                                                                           \
        false)
}
#else
#define WEFT_TAKE_MASKED_AXES_LIST_(x, mask, a, b, c, d, e, f, g, h, ...)                                    \
    weft_masked_mean_axes(x, mask, (const int64_t[]){a, b, c, d, e, f, g, h, WEFT_END}, false)
#endif
#endif
