/* weft/normalization.h: batch, instance, group, layer and RMS norms, as a reference card.
 *
 * Each norm computes
 *     y = (x - m) / sqrt(v + epsilon) · weight + bias
 * as the PyTorch layer of the same name; m and v are the mean and the biased variance of the elements that the comment
 * of the norm names. weight and bias are floats or NULL (1 and 0). C is the size of axis 1. A call that fails returns
 * NULL, and the graph keeps the error: WEFT_ERROR_SHAPE, WEFT_ERROR_DTYPE (a tensor is not a float),
 * WEFT_ERROR_ARGUMENT (an epsilon that is negative or not finite, a number outside of the range that is given here, a
 * wrong struct_size).
 *
 * The plan decides how running statistics are used. A plan for training normalises with the statistics of its batch and
 * updates the running ones in every run. A plan with inference (also weft_predict and validation) uses the running
 * statistics and does not change them; norms that were created in a scope of weft_scope_inference do this in every
 * plan. Running statistics are states of the graph: they are saved with the weights, and belong to the best weights of
 * a training. */
#ifndef WEFT_NORMALIZATION_H
#define WEFT_NORMALIZATION_H

#include <weft/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- layers: ops that create their parameters and states; N in a name is the number of the layer ---- */

/* Normalises each channel over all other axes; x (N, C), (N, C, L), (N, C, H, W) or (N, C, D, H, W). Parameters
 * "batchnormN.weight" (C), initially 1, and "batchnormN.bias" (C), initially 0; states "batchnormN.running_mean" (C),
 * initially 0, and "batchnormN.running_var" (C), initially 1. S. Ioffe and C. Szegedy 2015. A plan for training with
 * one value per channel is an error (WEFT_ERROR_SHAPE), as in PyTorch. */
WEFT_API weft_tensor *weft_batch_norm(weft_tensor *x);

typedef struct weft_batch_norm_options {
    size_t struct_size;
    const char *name; /* default "batchnormN" */
    float epsilon;    /* 0 (the default) means 1e-5; WEFT_ZERO: 0 */
    /* In 0..1: running ← (1 - momentum)·running + momentum·(statistic of the batch). 0 (the default) means 0.1;
     * WEFT_ZERO: 0, the running statistics do not change. */
    float momentum;
    /* Default false; true: PyTorch's momentum=None, the running statistics are means over all batches so far, which the
     * i32 state "batchnormN.num_batches_tracked" counts. */
    bool cumulative;
    bool no_affine;  /* default false; true: no weight and no bias */
    bool no_running; /* default false; true: no running statistics; inference uses the batch's */
    /* Default false; true: plans for training also use the running statistics and do not change them (PyTorch's eval()
     * of this layer), as after weft_freeze of the statistics. */
    bool fixed;
} weft_batch_norm_options;
#define WEFT_BATCH_NORM_OPTIONS_INIT .struct_size = sizeof(weft_batch_norm_options)
/* weft_batch_norm with options; NULL means all defaults. */
WEFT_API weft_tensor *weft_batch_norm_layer(weft_tensor *x, const weft_batch_norm_options *options);

/* Normalises each channel of each example over the spatial axes; x (N, C, spatial...) with 1 to 3 spatial axes. No
 * parameters and no states, as in PyTorch. D. Ulyanov et al. 2016. A single spatial element is an error. */
WEFT_API weft_tensor *weft_instance_norm(weft_tensor *x);

typedef struct weft_instance_norm_options {
    size_t struct_size;
    const char *name; /* default "instancenormN" */
    float epsilon;    /* 0 (the default) means 1e-5; WEFT_ZERO: 0 */
    float momentum;   /* as in weft_batch_norm_options */
    bool cumulative;  /* as in weft_batch_norm_options */
    bool affine;      /* default false; true: weight and bias (C) */
    bool running;     /* default false; true: running statistics, updated with means over the examples */
} weft_instance_norm_options;
#define WEFT_INSTANCE_NORM_OPTIONS_INIT .struct_size = sizeof(weft_instance_norm_options)
/* weft_instance_norm with options; NULL means all defaults. */
WEFT_API weft_tensor *weft_instance_norm_layer(weft_tensor *x, const weft_instance_norm_options *options);

typedef struct weft_norm_options {
    size_t struct_size;
    const char *name; /* default "groupnormN", "layernormN" or "rmsnormN" */
    float epsilon;    /* 0 (the default) means 1e-5; RMS: 2^-23, as torch.nn.RMSNorm; WEFT_ZERO: 0 */
    int axes;         /* layer and RMS: how many last axes are normalised; 0 (the default) means 1 */
    bool no_affine;   /* default false; true: no weight and no bias */
    bool no_bias;     /* default false; true: no bias */
} weft_norm_options;
#define WEFT_NORM_OPTIONS_INIT .struct_size = sizeof(weft_norm_options)

/* Normalises each group of C / groups channels of each example; x (N, C, spatial...) with 0 to 3 spatial axes.
 * Parameters "groupnormN.weight" (C) and "groupnormN.bias" (C). Y. Wu and K. He 2018. */
WEFT_API weft_tensor *weft_group_norm(weft_tensor *x, int64_t groups);
/* weft_group_norm with options; NULL means all defaults. */
WEFT_API weft_tensor *weft_group_norm_layer(weft_tensor *x, int64_t groups, const weft_norm_options *options);
/* Normalises over the last axis; x (..., D). Parameters "layernormN.weight" (D) and "layernormN.bias" (D). J. Ba et al.
 * 2016. */
WEFT_API weft_tensor *weft_layer_norm(weft_tensor *x);
/* weft_layer_norm with options, over the last `axes` axes; NULL means all defaults. */
WEFT_API weft_tensor *weft_layer_norm_layer(weft_tensor *x, const weft_norm_options *options);
/* x / sqrt(mean(x²) + epsilon) · weight, over the last axis; x (..., D). Parameter "rmsnormN.weight" (D). B. Zhang and
 * R. Sennrich 2019. */
WEFT_API weft_tensor *weft_rms_norm(weft_tensor *x);
/* weft_rms_norm with options, over the last `axes` axes; NULL means all defaults. */
WEFT_API weft_tensor *weft_rms_norm_layer(weft_tensor *x, const weft_norm_options *options);

/* ---- the same norms with existing weights and states ---- */

typedef struct weft_running {
    weft_tensor *mean, *var; /* states (C), f32, or f64 if x is f64; var is unbiased */
    /* i32 state of rank 0, the number of batches so far, for cumulative means; NULL: `momentum` is used. */
    weft_tensor *batches;
    float momentum; /* as in weft_batch_norm_options, but 0 means 0 */
    bool fixed;     /* as in weft_batch_norm_options */
} weft_running;

/* weight, bias: (C) or NULL. running NULL: always the statistics of the batch. If several norms of a plan share running
 * statistics, each run updates the statistics once for each of these norms, in the order in which they were created. */
WEFT_API weft_tensor *weft_batch_norm_with(
    weft_tensor *x, weft_tensor *weight, weft_tensor *bias, const weft_running *running, float epsilon);
/* Instance norm, with the arguments of weft_batch_norm_with. */
WEFT_API weft_tensor *weft_instance_norm_with(
    weft_tensor *x, weft_tensor *weight, weft_tensor *bias, const weft_running *running, float epsilon);
/* weight, bias: (C) or NULL; groups divides C. */
WEFT_API weft_tensor *weft_group_norm_with(
    weft_tensor *x, int64_t groups, weft_tensor *weight, weft_tensor *bias, float epsilon);
/* Over the last `axes` axes, 1 or more; weight and bias have the shape of these axes, or are NULL. */
WEFT_API weft_tensor *weft_layer_norm_with(
    weft_tensor *x, int axes, weft_tensor *weight, weft_tensor *bias, float epsilon);
WEFT_API weft_tensor *weft_rms_norm_with(
    weft_tensor *x, int axes, weft_tensor *weight, float epsilon); /* RMS norm: no mean and no bias */

#ifdef __cplusplus
}
#else /* named arguments (graph.h): weft_batch_norm(x, .name = "bn1", .momentum = 0.01f) */
#define weft_batch_norm(...)    WEFT_NAMED_(weft_batch_norm_layer, batch_norm, 1, __VA_ARGS__)
#define weft_instance_norm(...) WEFT_NAMED_(weft_instance_norm_layer, instance_norm, 1, __VA_ARGS__)
#define weft_group_norm(x, ...) WEFT_NAMED_(weft_group_norm_layer, norm, 2, x, __VA_ARGS__)
#define weft_layer_norm(...)    WEFT_NAMED_(weft_layer_norm_layer, norm, 1, __VA_ARGS__)
#define weft_rms_norm(...)      WEFT_NAMED_(weft_rms_norm_layer, norm, 1, __VA_ARGS__)
#endif
#endif
