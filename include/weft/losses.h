/* weft/losses.h: losses, as a reference card.
 *
 * weft_x(...) is the mean over all elements, of rank 0. weft_x_loss(..., options) is the same loss with
 * another reduction, with weights, and with the other arguments of the PyTorch function of that name; options
 * NULL means the mean. Definitions, divisors and gradients at kinks are those of PyTorch 1.13 where it has
 * the loss. Everything is f32 except labels, which are i32. Gradients flow to every f32 input except class
 * weights. All losses are stable for logits of any magnitude.
 *
 * Shapes: a loss compares element by element, and never broadcasts. What is compared (prediction and target, scores and
 * labels, the vectors of a triplet) has the same shape, or shapes that differ by axes of size 1 behind the first axis only:
 * (batch, 1), which weft_linear(h, 1) gives, and (batch), a field of a table, are the same elements, and so are matched.
 * The losses have the shape of the first input. A number (weft_number, weft_constant, weft_scalar) is compared with every
 * element. Any other difference is WEFT_ERROR_SHAPE, which names both shapes: weft_reshape what has the same elements,
 * weft_expand what is to be compared with several (a target (10) with predictions (batch, 10)). What may broadcast says so:
 * the weights of the options, positive_weight, the mask of a sequence, the variance of weft_gaussian_nll; and
 * weft_cosine_similarity, which is no loss.
 *
 * Forms: logits and log-probabilities are no probabilities. What weft_softmax or weft_sigmoid gives is WEFT_ERROR_ARGUMENT as
 * the logits of weft_cross_entropy, weft_sequence_cross_entropy and weft_bce_with_logits, which would convert it a second time,
 * and as the log-probabilities of weft_nll, weft_kl_div and weft_ctc; through views, casts and weft_stop_gradient, too. What
 * weft_log_softmax gives is good for all but weft_bce_with_logits. PyTorch takes each of them and trains on other numbers; for
 * those, copy the probabilities first: weft_mul_number(p, 1).
 *
 * Means over what counts: a mean over labels that are not ignored, or weighted by class, or over a mask
 * (weft_masked_mean) is a sum divided by a total that depends on the data. Where the total is 0, as no label of the batch
 * counts, the mean is 0 and so are its gradients; PyTorch has NaN there. weft_minimize, weft_optimizer_minimize,
 * weft_train_step and trainers make no update in such a run: parameters, moments, counters, averages and decay stay as
 * they are, and the run does not count in a window of accumulation. That holds for losses that are sums and differences
 * of such means, times or divided by what does not depend on the batch, plus what does not depend on it (a penalty on
 * weights). If another part of the loss depends on the batch, every run counts. Running statistics of normalization
 * follow the inputs in any case, and weft_optimizer_step uses the gradients that it is given. How such losses are
 * averaged over batches: weft_trainer_evaluate.
 *
 * Errors, as for every expression: WEFT_ERROR_SHAPE, WEFT_ERROR_DTYPE, WEFT_ERROR_ARGUMENT (a number outside
 * of the range that is given here, a margin that is not finite, a wrong struct_size). */
#ifndef WEFT_LOSSES_H
#define WEFT_LOSSES_H

#include <weft/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum weft_loss_reduction {
    WEFT_LOSS_MEAN,      /* sum / number of losses; for cross-entropy and nll see weft_class_loss_options */
    WEFT_LOSS_SUM,       /* rank 0, like the mean */
    WEFT_LOSS_NONE,      /* the losses themselves */
    WEFT_LOSS_BATCH_MEAN /* sum / first dimension of the losses */
} weft_loss_reduction;

typedef struct weft_loss_options {
    size_t struct_size;
    weft_loss_reduction reduction; /* default WEFT_LOSS_MEAN */
    weft_tensor *weights; /* f32, broadcasts to the losses and multiplies them before the reduction (the mean
                             still divides by their number); default NULL: none */
} weft_loss_options;
#define WEFT_LOSS_OPTIONS_INIT .struct_size = sizeof(weft_loss_options)

/* ---- a mean under a mask: for losses of one's own ---- */
/* The mean of the elements of x where the mask is not 0, and 0 where there are none: weft_masked_mean(x, mask) over all axes,
 * weft_masked_mean(x, mask, 1) over one. x a float; the mask, of any dtype, broadcasts to x. Elements behind the mask may be
 * NaN. The gradient is 1 / their number where the mask is not 0, and 0 elsewhere; the mask has none. Over all axes it is a
 * mean over what counts, as above. Errors: WEFT_ERROR_DTYPE; WEFT_ERROR_SHAPE (the mask has more elements than x);
 * WEFT_ERROR_ARGUMENT (an axis that x does not have). */
#define weft_masked_mean(...) WEFT_TAKE_MASKED_AXES_(__VA_ARGS__, WEFT_8_ENDS_)
/* axes: a list that ends with WEFT_END, or NULL for all axes; keep: reduced axes remain with size 1. */
WEFT_API weft_tensor *weft_masked_mean_axes(
    weft_tensor *x, weft_tensor *mask, const int64_t *axes, bool keep);

/* ---- regression ---- */
WEFT_API weft_tensor *weft_mse(weft_tensor *a, weft_tensor *b); /* (a - b)² */
WEFT_API weft_tensor *weft_l1(weft_tensor *a, weft_tensor *b);  /* |a - b|; gradient 0 at 0 */
/* d²/2 where d = |a - b| < delta, else delta·(d - delta/2); 0 < delta < ∞. */
WEFT_API weft_tensor *weft_huber(weft_tensor *a, weft_tensor *b, float delta);
/* d²/(2·beta) where d = |a - b| < beta, else d - beta/2; 0 <= beta < ∞; beta 0 is weft_l1. */
WEFT_API weft_tensor *weft_smooth_l1(weft_tensor *a, weft_tensor *b, float beta);
/* exp(log_rate) - count·log_rate: the negative log-likelihood without the term that does not depend on the
 * rate. */
WEFT_API weft_tensor *weft_poisson_nll(weft_tensor *log_rate, weft_tensor *count);
/* (log v + (mean - target)²/v) / 2, v = max(variance, 1e-6). variance has the shape of mean, or it without the
 * last axis, or with 1 there: one for all elements of the last axis. A negative variance gives NaN. */
WEFT_API weft_tensor *weft_gaussian_nll(weft_tensor *mean, weft_tensor *target, weft_tensor *variance);

/* The same with options. */
WEFT_API weft_tensor *weft_mse_loss(weft_tensor *a, weft_tensor *b, const weft_loss_options *options);
WEFT_API weft_tensor *weft_l1_loss(weft_tensor *a, weft_tensor *b, const weft_loss_options *options);
WEFT_API weft_tensor *weft_huber_loss(
    weft_tensor *a, weft_tensor *b, float delta, const weft_loss_options *options);
WEFT_API weft_tensor *weft_smooth_l1_loss(
    weft_tensor *a, weft_tensor *b, float beta, const weft_loss_options *options);
/* log_input false: rate - count·log(rate + 1e-8). full: adds Stirling's approximation of log(count!) where
 * count > 1. */
WEFT_API weft_tensor *weft_poisson_nll_loss(
    weft_tensor *input, weft_tensor *count, bool log_input, bool full, const weft_loss_options *options);
/* full: adds log(2π) / 2. */
WEFT_API weft_tensor *weft_gaussian_nll_loss(weft_tensor *mean, weft_tensor *target, weft_tensor *variance,
    bool full, const weft_loss_options *options);

/* ---- probabilities ---- */
/* -(t·log p + (1 - t)·log(1 - p)), logarithms at least -100. p outside of [0, 1] gives NaN. Prefer weft_bce_with_logits. */
WEFT_API weft_tensor *weft_bce(weft_tensor *probabilities, weft_tensor *targets);
/* max(x, 0) - x·t + log1p(exp(-|x|)): weft_bce of sigmoid(x), stable for x of any magnitude. */
WEFT_API weft_tensor *weft_bce_with_logits(weft_tensor *logits, weft_tensor *targets);
/* t·(log t - x) with 0·log 0 = 0, of log-probabilities x and probabilities t >= 0. The
 * mathematical divergence is WEFT_LOSS_BATCH_MEAN. */
WEFT_API weft_tensor *weft_kl_div(weft_tensor *log_probabilities, weft_tensor *targets);

/* The same with options. */
WEFT_API weft_tensor *weft_bce_loss(
    weft_tensor *probabilities, weft_tensor *targets, const weft_loss_options *options);
/* positive_weight multiplies the loss of positive targets, and broadcasts to the logits; NULL: 1. */
WEFT_API weft_tensor *weft_bce_with_logits_loss(weft_tensor *logits, weft_tensor *targets,
    weft_tensor *positive_weight, const weft_loss_options *options);
/* log_target: the targets are log-probabilities t, and the loss is exp(t)·(t - x). */
WEFT_API weft_tensor *weft_kl_div_loss(
    weft_tensor *log_probabilities, weft_tensor *targets, bool log_target, const weft_loss_options *options);

/* ---- classes ----
 * x (batch, classes, ...) or (classes); labels i32 in [0, classes), of the shape of x without the class axis,
 * which is that of the losses. A label out of range is an error of the next read or wait; its loss
 * is NaN. */
/* -log softmax(logits)[label]. Or, with f32 targets of the shape of the logits: -sum of target·log
 * softmax(logits). */
WEFT_API weft_tensor *weft_cross_entropy(weft_tensor *logits, weft_tensor *labels);
WEFT_API weft_tensor *weft_nll(weft_tensor *log_probabilities, weft_tensor *labels); /* -x[label] */
/* Sum over the other classes j of max(0, margin - x[label] + x[j]), divided by the number of classes. */
WEFT_API weft_tensor *weft_multi_margin(weft_tensor *scores, weft_tensor *labels, float margin);

typedef struct weft_class_loss_options {
    size_t struct_size;
    weft_loss_reduction reduction; /* default WEFT_LOSS_MEAN: sum / sum of the weights of the labels that are
                                      not ignored, and 0 if that sum is 0 (see above); multi_margin and f32
                                      targets: sum / number */
    weft_tensor *class_weights;    /* f32 (classes); default NULL: all 1 */
    bool ignore;                   /* default false: no label is ignored, not even -100 */
    int32_t ignored_label;         /* with `ignore`: examples of this label, in range or not, have loss 0 */
    float label_smoothing; /* e in [0, 1]: the target is (1 - e)·[class = label] + e / classes; default 0 */
} weft_class_loss_options;
#define WEFT_CLASS_LOSS_OPTIONS_INIT .struct_size = sizeof(weft_class_loss_options)

/* The same with options. With f32 targets no label can be ignored. */
WEFT_API weft_tensor *weft_cross_entropy_loss(
    weft_tensor *logits, weft_tensor *labels, const weft_class_loss_options *options);
/* label_smoothing must be 0. */
WEFT_API weft_tensor *weft_nll_loss(
    weft_tensor *log_probabilities, weft_tensor *labels, const weft_class_loss_options *options);
/* max(...)^p, p = 1 or 2; no label_smoothing and no ignored label. */
WEFT_API weft_tensor *weft_multi_margin_loss(
    weft_tensor *scores, weft_tensor *labels, float margin, int p, const weft_class_loss_options *options);

/* ---- margins: targets f32, 1 or -1 ---- */
WEFT_API weft_tensor *weft_hinge(weft_tensor *scores, weft_tensor *targets);       /* max(0, 1 - t·x) */
WEFT_API weft_tensor *weft_soft_margin(weft_tensor *scores, weft_tensor *targets); /* log(1 + exp(-t·x)) */
/* x where t = 1, max(0, margin - x) where t = -1; for any other t the sum of both. */
WEFT_API weft_tensor *weft_hinge_embedding(weft_tensor *distances, weft_tensor *targets, float margin);
/* max(0, margin - t·(a - b)) */
WEFT_API weft_tensor *weft_margin_ranking(weft_tensor *a, weft_tensor *b, weft_tensor *targets, float margin);

/* The same with options. */
WEFT_API weft_tensor *weft_hinge_loss(
    weft_tensor *scores, weft_tensor *targets, const weft_loss_options *options);
WEFT_API weft_tensor *weft_soft_margin_loss(
    weft_tensor *scores, weft_tensor *targets, const weft_loss_options *options);
WEFT_API weft_tensor *weft_hinge_embedding_loss(
    weft_tensor *distances, weft_tensor *targets, float margin, const weft_loss_options *options);
WEFT_API weft_tensor *weft_margin_ranking_loss(
    weft_tensor *a, weft_tensor *b, weft_tensor *targets, float margin, const weft_loss_options *options);

/* ---- vectors ---- */
/* a·b / (max(‖a‖, epsilon)·max(‖b‖, epsilon)) along an axis, which is removed; the inputs broadcast; epsilon
 * >= 0 (PyTorch: 1e-8). It is not a loss and is not reduced. */
WEFT_API weft_tensor *weft_cosine_similarity(weft_tensor *a, weft_tensor *b, int axis, float epsilon);
/* a and b (..., n), targets (...): 1 - cos where t = 1, max(0, cos - margin) where t = -1,
 * 0 for any other t. For cos, 1e-12 is added to both squared norms. */
WEFT_API weft_tensor *weft_cosine_embedding(
    weft_tensor *a, weft_tensor *b, weft_tensor *targets, float margin);
/* max(0, d(anchor, positive) - d(anchor, negative) + margin) of vectors (..., n) → losses (...), with d(a,
 * b) = ‖a - b + 1e-6‖. */
WEFT_API weft_tensor *weft_triplet_margin(
    weft_tensor *anchor, weft_tensor *positive, weft_tensor *negative, float margin);

/* The same with options. */
WEFT_API weft_tensor *weft_cosine_embedding_loss(
    weft_tensor *a, weft_tensor *b, weft_tensor *targets, float margin, const weft_loss_options *options);
/* The p-norm, p = 1 or 2. swap: the distance to the negative is that from the anchor or from the positive,
 * whichever is smaller (Balntas et al. 2016). */
WEFT_API weft_tensor *weft_triplet_margin_loss(weft_tensor *anchor, weft_tensor *positive,
    weft_tensor *negative, float margin, int p, bool swap, const weft_loss_options *options);

/* ---- sequences ---- */
/* Cross-entropy of logits (..., classes) and labels i32 (...): the mean over the labels that are not masked.
 * The label -100 is always masked, as in PyTorch. mask: NULL; or bool that broadcasts to the labels, true
 * where a label counts; or i32 lengths (N) in [0, T] for labels (N, T), where any other length is an error of
 * the next read or wait. */
WEFT_API weft_tensor *weft_sequence_cross_entropy(
    weft_tensor *logits, weft_tensor *labels, weft_tensor *mask);
/* The same with options; with `ignore` the label that is masked is ignored_label instead of -100. */
WEFT_API weft_tensor *weft_sequence_cross_entropy_loss(
    weft_tensor *logits, weft_tensor *labels, weft_tensor *mask, const weft_class_loss_options *options);
/* Connectionist temporal classification (Graves et al. 2006): -log of the probability of all paths through
 * the classes that become the labels when repetitions and then blanks are removed. log_probs f32 (T, N, C), a
 * result of weft_log_softmax; targets i32 (N, S), each row the labels and then arbitrary values;
 * input_lengths i32 (N) in [0, T]; target_lengths i32 (N) in [0, S]. N may be WEFT_BATCH
 * and T WEFT_LENGTH; C and S are fixed: targets are as many as the most, with target_lengths. The losses are (N); the result is the mean of loss / max(target length, 1). The blank is class
 * 0. If no path of the input's length gives the labels, the loss is ∞ and the gradient NaN. A length out of
 * range, or a label that is not a class or is the blank, is an error of the next read or wait; the loss of
 * that example is NaN and its gradient 0. The gradient is that of log_probs itself; PyTorch's adds
 * exp(log_probs), which the gradient of log_softmax removes. */
WEFT_API weft_tensor *weft_ctc(
    weft_tensor *log_probs, weft_tensor *targets, weft_tensor *input_lengths, weft_tensor *target_lengths);

typedef struct weft_ctc_loss_options {
    size_t struct_size;
    weft_loss_reduction
        reduction;      /* default WEFT_LOSS_MEAN, which divides by the target lengths first; the others do
                           not */
    int32_t blank;      /* in [0, C); default 0 */
    bool zero_infinity; /* infinite losses and their gradients become 0; default false */
} weft_ctc_loss_options;
#define WEFT_CTC_LOSS_OPTIONS_INIT .struct_size = sizeof(weft_ctc_loss_options)
/* The same with options; NULL means all defaults. (N) for WEFT_LOSS_NONE, else rank 0. */
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
