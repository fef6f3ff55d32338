/* weft/normalization.h: batch, instance, group, layer and RMS norms, as a reference card.
 *
 * Over each set of elements that a norm names, with mean m and biased variance v:
 *   y = (x - m) / sqrt(v + epsilon) · weight + bias
 * as PyTorch's of that name; weight and bias are floats or NULL (1 and 0). C is axis 1. Errors, as for every
 * expression: WEFT_ERROR_SHAPE, WEFT_ERROR_DTYPE (all is f32), WEFT_ERROR_ARGUMENT (an epsilon that is not 0
 * or more and finite, a number out of the range that its line states, options of another size).
 *
 * Running statistics follow the plan: one for training (weft_plan_options.inference false) takes the
 * statistics of its batch and moves the running ones in every run, without being asked to; one for inference
 * (weft_predict, validation) takes the running ones and leaves them. They are states of the graph: saved with
 * the weights, and kept and restored with the best ones. */
#ifndef WEFT_NORMALIZATION_H
#define WEFT_NORMALIZATION_H

#include <weft/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- layers: ops that make their own parameters and states, N = 1, 2, ... in the graph ---- */

/* x (N, C), (N, C, L), (N, C, H, W) or (N, C, D, H, W); each channel over all else. Parameters
 * "batchnormN.weight" (C), 1 at first, and "batchnormN.bias" (C), 0; states "batchnormN.running_mean" (C), 0,
 * and "batchnormN.running_var" (C), 1. S. Ioffe and C. Szegedy 2015. A training plan with one value a channel
 * is refused (WEFT_ERROR_SHAPE), as PyTorch refuses it. */
WEFT_API weft_tensor *weft_batch_norm(weft_tensor *x);

typedef struct weft_batch_norm_options {
    size_t struct_size;
    const char *name; /* default "batchnormN" */
    float epsilon;    /* default 0: 1e-5 */
    float momentum;   /* running ← (1 - momentum)·running + momentum·batch's; 0..1; default 0: 0.1 */
    bool cumulative;  /* PyTorch's momentum None: the mean over all batches so far, which the i32 state
                         "batchnormN.num_batches_tracked" counts; default false */
    bool no_affine;   /* no weight and bias; default false */
    bool no_running;  /* no running statistics: the batch's in inference, too; default false */
    bool fixed; /* the running statistics in training, too, where they stay as they are (PyTorch's eval()
                   of a part of a network); default false */
} weft_batch_norm_options;
#define WEFT_BATCH_NORM_OPTIONS_INIT .struct_size = sizeof(weft_batch_norm_options)
/* The same with options; NULL: every default. */
WEFT_API weft_tensor *weft_batch_norm_layer(weft_tensor *x, const weft_batch_norm_options *options);

/* x (N, C, spatial...), 1 to 3 spatial axes; each channel of each example over space. Without parameters or
 * states, as PyTorch's. D. Ulyanov et al. 2016. Refused where space is one element. */
WEFT_API weft_tensor *weft_instance_norm(weft_tensor *x);

typedef struct weft_instance_norm_options {
    size_t struct_size;
    const char *name; /* default "instancenormN" */
    float epsilon;    /* default 0: 1e-5 */
    float momentum;   /* as in weft_batch_norm_options */
    bool cumulative;  /* the same */
    bool affine;      /* weight and bias (C); default false */
    bool running;     /* running statistics: the mean over the batch of each example's; default false */
} weft_instance_norm_options;
#define WEFT_INSTANCE_NORM_OPTIONS_INIT .struct_size = sizeof(weft_instance_norm_options)
/* The same with options; NULL: every default. */
WEFT_API weft_tensor *weft_instance_norm_layer(weft_tensor *x, const weft_instance_norm_options *options);

typedef struct weft_norm_options {
    size_t struct_size;
    const char *name; /* default "groupnormN", "layernormN", "rmsnormN" */
    float epsilon;    /* default 0: 1e-5; RMS: 2^-23, as torch.nn.RMSNorm */
    int axes;         /* layer and RMS: over so many last axes; default 0: 1 */
    bool no_affine;   /* no weight and bias; default false */
    bool no_bias;     /* default false */
} weft_norm_options;
#define WEFT_NORM_OPTIONS_INIT .struct_size = sizeof(weft_norm_options)

/* x (N, C, spatial...), 0 to 3 spatial axes; each group of C / groups channels of each example. Parameters
 * "groupnormN.weight" (C) and "groupnormN.bias" (C). Y. Wu and K. He 2018. */
WEFT_API weft_tensor *weft_group_norm(weft_tensor *x, int64_t groups);
/* The same with options; NULL: every default. */
WEFT_API weft_tensor *weft_group_norm_layer(weft_tensor *x, int64_t groups, const weft_norm_options *options);
/* x (..., D); each row. Parameters "layernormN.weight" (D) and "layernormN.bias" (D). J. Ba et al. 2016. */
WEFT_API weft_tensor *weft_layer_norm(weft_tensor *x);
/* The same with options, over the last `axes` axes; NULL: every default. */
WEFT_API weft_tensor *weft_layer_norm_layer(weft_tensor *x, const weft_norm_options *options);
/* x (..., D) → x / sqrt(mean(x²) + epsilon) · weight, each row. Parameter "rmsnormN.weight" (D). B. Zhang and
 * R. Sennrich 2019. */
WEFT_API weft_tensor *weft_rms_norm(weft_tensor *x);
/* The same with options, over the last `axes` axes; NULL: every default. */
WEFT_API weft_tensor *weft_rms_norm_layer(weft_tensor *x, const weft_norm_options *options);

/* ---- the ops themselves ---- */

typedef struct weft_running {
    weft_tensor *mean, *var; /* f32 states (C); var: the unbiased variance */
    weft_tensor *batches; /* i32 state of rank 0: batches so far, for a cumulative mean; NULL: by momentum */
    float momentum;       /* 0..1: running ← (1 - momentum)·running + momentum·batch's */
    bool fixed;           /* used in training, too, and left alone */
} weft_running;

/* weight, bias (C). running NULL: the batch's statistics always. A plan may have the same running statistics
 * in one op only. With running statistics the gradient has no gradient (an error). */
WEFT_API weft_tensor *weft_batch_norm_with(
    weft_tensor *x, weft_tensor *weight, weft_tensor *bias, const weft_running *running, float epsilon);
/* The same for each example. */
WEFT_API weft_tensor *weft_instance_norm_with(
    weft_tensor *x, weft_tensor *weight, weft_tensor *bias, const weft_running *running, float epsilon);
/* weight, bias (C); groups divides C. */
WEFT_API weft_tensor *weft_group_norm_with(
    weft_tensor *x, int64_t groups, weft_tensor *weight, weft_tensor *bias, float epsilon);
/* Over the last `axes` axes, 1 or more; weight, bias of their shape. */
WEFT_API weft_tensor *weft_layer_norm_with(
    weft_tensor *x, int axes, weft_tensor *weight, weft_tensor *bias, float epsilon);
WEFT_API weft_tensor *weft_rms_norm_with(
    weft_tensor *x, int axes, weft_tensor *weight, float epsilon); /* the same without mean and bias */

#ifdef __cplusplus
}
#endif
#endif
