/* weft/losses.h: losses, as a reference card.
 *
 * weft_x(...) is the mean over all elements, of rank 0. weft_x_loss(..., options) is the same loss with
 * another reduction, with weights, and with what else PyTorch's function of that name takes; NULL options:
 * the mean. Definitions, divisors and gradients at corners are those of PyTorch 1.13 where it has the loss.
 * All is f32 but labels, which are i32; gradients flow to every f32 input but class weights. Stable for
 * logits of any size.
 *
 * Errors, as for every expression: WEFT_ERROR_SHAPE, WEFT_ERROR_DTYPE, WEFT_ERROR_ARGUMENT (a number out of
 * the range that its line states, a margin that is not finite, options of another size). */
#ifndef WEFT_LOSSES_H
#define WEFT_LOSSES_H

#include <weft/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum weft_loss_reduction {
    WEFT_LOSS_MEAN,      /* sum / number of losses; cross-entropy and nll: see there */
    WEFT_LOSS_SUM,       /* rank 0, like the mean */
    WEFT_LOSS_NONE,      /* the losses themselves */
    WEFT_LOSS_BATCH_MEAN /* sum / first dimension of the losses */
} weft_loss_reduction;

typedef struct weft_loss_options {
    size_t struct_size;
    weft_loss_reduction reduction; /* default WEFT_LOSS_MEAN */
    weft_tensor *weights; /* f32, stretches to the losses and multiplies them before they are reduced (the
                             mean still divides by their number); default NULL: none */
} weft_loss_options;
#define WEFT_LOSS_OPTIONS_INIT .struct_size = sizeof(weft_loss_options)

/* ---- regression: shapes broadcast, losses have the broadcast shape ---- */
WEFT_API weft_tensor *weft_mse(weft_tensor *a, weft_tensor *b); /* (a - b)² */
WEFT_API weft_tensor *weft_l1(weft_tensor *a, weft_tensor *b);  /* |a - b|; gradient 0 at 0 */
/* d²/2 where d = |a - b| < delta, else delta·(d - delta/2); 0 < delta < ∞. */
WEFT_API weft_tensor *weft_huber(weft_tensor *a, weft_tensor *b, float delta);
/* d²/(2·beta) where d = |a - b| < beta, else d - beta/2; 0 <= beta < ∞, and 0 is weft_l1. */
WEFT_API weft_tensor *weft_smooth_l1(weft_tensor *a, weft_tensor *b, float beta);
/* exp(log_rate) - count·log_rate: Poisson's but for what does not depend on the rate. */
WEFT_API weft_tensor *weft_poisson_nll(weft_tensor *log_rate, weft_tensor *count);
/* (log v + (mean - target)²/v) / 2, v = max(variance, 1e-6). variance: mean's shape, or that without its last
 * axis, or with 1 there; a negative one gives NaN. mean and target: one shape. */
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
/* full: adds log(2π)/2. */
WEFT_API weft_tensor *weft_gaussian_nll_loss(weft_tensor *mean, weft_tensor *target, weft_tensor *variance,
    bool full, const weft_loss_options *options);

/* ---- probabilities ---- */
/* -(t·log p + (1 - t)·log(1 - p)), logarithms at least -100; one shape. p outside [0, 1] gives NaN. Prefer
 * logits. */
WEFT_API weft_tensor *weft_bce(weft_tensor *probabilities, weft_tensor *targets);
/* max(x, 0) - x·t + log1p(exp(-|x|)): weft_bce of sigmoid(x), for x of any size; one shape. */
WEFT_API weft_tensor *weft_bce_with_logits(weft_tensor *logits, weft_tensor *targets);
/* t·(log t - x), 0·log 0 = 0, of log-probabilities x and probabilities t >= 0; shapes broadcast. The
 * divergence as mathematics has it is WEFT_LOSS_BATCH_MEAN. */
WEFT_API weft_tensor *weft_kl_div(weft_tensor *log_probabilities, weft_tensor *targets);

/* The same with options. */
WEFT_API weft_tensor *weft_bce_loss(
    weft_tensor *probabilities, weft_tensor *targets, const weft_loss_options *options);
/* positive_weight multiplies what positive targets lose, and stretches to the logits; NULL: 1. */
WEFT_API weft_tensor *weft_bce_with_logits_loss(weft_tensor *logits, weft_tensor *targets,
    weft_tensor *positive_weight, const weft_loss_options *options);
/* log_target: targets are log-probabilities t, the loss exp(t)·(t - x). */
WEFT_API weft_tensor *weft_kl_div_loss(
    weft_tensor *log_probabilities, weft_tensor *targets, bool log_target, const weft_loss_options *options);

/* ---- classes ----
 * x (batch, classes, ...) or (classes), labels i32: x's shape without the class axis, in [0, classes); losses
 * have the labels' shape. A label out of range gives NaN. */
/* -log softmax(logits)[label]. Or f32 targets of the logits' shape: -sum of target·log softmax(logits). */
WEFT_API weft_tensor *weft_cross_entropy(weft_tensor *logits, weft_tensor *labels);
WEFT_API weft_tensor *weft_nll(weft_tensor *log_probabilities, weft_tensor *labels); /* -x[label] */
/* Sum over the other classes j of max(0, margin - x[label] + x[j]), / classes. */
WEFT_API weft_tensor *weft_multi_margin(weft_tensor *scores, weft_tensor *labels, float margin);

typedef struct weft_class_loss_options {
    size_t struct_size;
    weft_loss_reduction reduction; /* default WEFT_LOSS_MEAN: sum / sum of the weights of the labels that are
                                      not ignored, so nothing left gives NaN (and gradients 0, as long as the
                                      weights are not all 0); multi_margin and f32 targets: sum / number */
    weft_tensor *class_weights;    /* f32 (classes); default NULL: 1 */
    bool ignore;                   /* default false: there is no ignored label, not even -100 */
    int32_t ignored_label;         /* with ignore: examples of this label, in range or not, lose 0 */
    float label_smoothing; /* e in [0, 1]: the target is (1 - e)·[class = label] + e / classes; default 0 */
} weft_class_loss_options;
#define WEFT_CLASS_LOSS_OPTIONS_INIT .struct_size = sizeof(weft_class_loss_options)

/* The same with options. f32 targets: nothing can be ignored. */
WEFT_API weft_tensor *weft_cross_entropy_loss(
    weft_tensor *logits, weft_tensor *labels, const weft_class_loss_options *options);
/* No label_smoothing. */
WEFT_API weft_tensor *weft_nll_loss(
    weft_tensor *log_probabilities, weft_tensor *labels, const weft_class_loss_options *options);
/* max(...)^p, p = 1 or 2; no label_smoothing, no ignore. */
WEFT_API weft_tensor *weft_multi_margin_loss(
    weft_tensor *scores, weft_tensor *labels, float margin, int p, const weft_class_loss_options *options);

/* ---- margins: targets f32, 1 or -1; shapes broadcast ---- */
WEFT_API weft_tensor *weft_hinge(weft_tensor *scores, weft_tensor *targets);       /* max(0, 1 - t·x) */
WEFT_API weft_tensor *weft_soft_margin(weft_tensor *scores, weft_tensor *targets); /* log(1 + exp(-t·x)) */
/* x where t = 1, max(0, margin - x) where t = -1 (the sum of both for any other t). */
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
/* a·b / (max(‖a‖, epsilon)·max(‖b‖, epsilon)) along an axis, which goes away; shapes broadcast; epsilon >= 0,
 * PyTorch's is 1e-8. Not a loss: no reduction. */
WEFT_API weft_tensor *weft_cosine_similarity(weft_tensor *a, weft_tensor *b, int axis, float epsilon);
/* a and b (..., n) of one shape, targets (...): 1 - cos where t = 1, max(0, cos - margin) where t = -1, 0 for
 * any other t; cos with 1e-12 added to both squared norms. */
WEFT_API weft_tensor *weft_cosine_embedding(
    weft_tensor *a, weft_tensor *b, weft_tensor *targets, float margin);
/* max(0, d(anchor, positive) - d(anchor, negative) + margin) of vectors (..., n) → losses (...); shapes
 * broadcast; d(a, b) = ‖a - b + 1e-6‖. */
WEFT_API weft_tensor *weft_triplet_margin(
    weft_tensor *anchor, weft_tensor *positive, weft_tensor *negative, float margin);

/* The same with options. */
WEFT_API weft_tensor *weft_cosine_embedding_loss(
    weft_tensor *a, weft_tensor *b, weft_tensor *targets, float margin, const weft_loss_options *options);
/* The p-norm, p = 1 or 2. swap: the nearer of anchor and positive stands for the anchor of the negative
 * (Balntas et al. 2016). */
WEFT_API weft_tensor *weft_triplet_margin_loss(weft_tensor *anchor, weft_tensor *positive,
    weft_tensor *negative, float margin, int p, bool swap, const weft_loss_options *options);

/* ---- sequences ---- */
/* Cross-entropy of logits (..., classes) and labels i32 (...): the mean over the labels that count. The label
 * -100 does not, as in PyTorch. mask: bool that stretches to the labels, true where they count; or i32
 * lengths (N) for labels (N, T), in [0, T], any other gives NaN; or NULL. */
WEFT_API weft_tensor *weft_sequence_cross_entropy(
    weft_tensor *logits, weft_tensor *labels, weft_tensor *mask);
/* The same with options; with `ignore` the ignored label is its ignored_label instead. */
WEFT_API weft_tensor *weft_sequence_cross_entropy_loss(
    weft_tensor *logits, weft_tensor *labels, weft_tensor *mask, const weft_class_loss_options *options);
/* Connectionist temporal classification (Graves et al. 2006): -log of the probability of all paths through
 * the classes that give the labels once repetitions and then blanks are taken out. log_probs f32 (T, N, C),
 * as weft_log_softmax gives them; targets i32 (N, S), the labels first and then anything; input_lengths i32
 * (N) in [0, T]; target_lengths i32 (N) in [0, S]; T, C, S fixed, N may be WEFT_BATCH → losses (N), and the
 * mean of loss / max(target length, 1). Blank 0. Labels that no path of the input's length gives: ∞, gradient
 * NaN. A length out of range, or a label that is no class or the blank, fails the next read or wait; that
 * example's loss is NaN, its gradient 0. The gradient is that of log_probs as given; PyTorch's adds
 * exp(log_probs), which log_softmax takes out again. */
WEFT_API weft_tensor *weft_ctc(
    weft_tensor *log_probs, weft_tensor *targets, weft_tensor *input_lengths, weft_tensor *target_lengths);

typedef struct weft_ctc_loss_options {
    size_t struct_size;
    weft_loss_reduction
        reduction;      /* default WEFT_LOSS_MEAN, divided by target lengths first; others are not */
    int32_t blank;      /* in [0, C); default 0 */
    bool zero_infinity; /* infinite losses, and their gradients, are 0; default false */
} weft_ctc_loss_options;
#define WEFT_CTC_LOSS_OPTIONS_INIT .struct_size = sizeof(weft_ctc_loss_options)
/* The same with options; NULL: the defaults. (N) for WEFT_LOSS_NONE, else rank 0. */
WEFT_API weft_tensor *weft_ctc_loss(weft_tensor *log_probs, weft_tensor *targets, weft_tensor *input_lengths,
    weft_tensor *target_lengths, const weft_ctc_loss_options *options);

#ifdef __cplusplus
}
#endif
#endif
