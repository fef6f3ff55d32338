/* weft/normalization.h: batch, instance, group, layer and RMS norms, as a reference card.
 *
 * Each norm computes, over the elements that its line gives, with their mean m and biased variance v:
 *   y = (x - m) / sqrt(v + epsilon) · weight + bias
 * as the PyTorch layer of that name. weight and bias are floats or NULL (1 and 0). C is axis 1. Errors, as
 * for every expression: WEFT_ERROR_SHAPE, WEFT_ERROR_DTYPE (everything is a float), WEFT_ERROR_ARGUMENT (an
 * epsilon that is negative or not finite, a number outside of the range that is given here, a wrong
 * struct_size).
 *
 * Running statistics depend on the plan. A plan for training (weft_plan_options.inference false) normalises
 * with the statistics of its batch and updates the running ones in every run. A plan for inference
 * (weft_predict, validation) uses the running statistics and does not change them, and so do norms that are made in a scope of
 * weft_scope_inference, in every plan. They are states of the
 * graph: they are saved with the weights, and kept and restored with the best weights. */
#ifndef WEFT_NORMALIZATION_H
#define WEFT_NORMALIZATION_H

#include <weft/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- layers: ops that create their parameters and states; N = 1, 2, ... counts those of the graph ---- */

/* x (N, C), (N, C, L), (N, C, H, W) or (N, C, D, H, W); each channel over all other axes. Parameters
 * "batchnormN.weight" (C), initially 1, and "batchnormN.bias" (C), 0; states "batchnormN.running_mean" (C),
 * 0, and "batchnormN.running_var" (C), 1. S. Ioffe and C. Szegedy 2015. A plan for training with one value
 * per channel is an error (WEFT_ERROR_SHAPE), as in PyTorch. */
WEFT_API weft_tensor *weft_batch_norm(weft_tensor *x);

typedef struct weft_batch_norm_options {
    size_t struct_size;
    const char *name; /* default "batchnormN" */
    float epsilon;    /* 0 (the default) means 1e-5; WEFT_ZERO: 0 */
    float momentum;   /* running ← (1 - momentum)·running + momentum·(that of the batch); 0..1; 0 (the
                         default) means 0.1; WEFT_ZERO: 0, they stay as they are */
    bool cumulative;  /* PyTorch's momentum None: the mean over all batches so far, which the i32 state
                         "batchnormN.num_batches_tracked" counts; default false */
    bool no_affine;   /* no weight and bias; default false */
    bool no_running;  /* no running statistics: those of the batch in inference, too; default false */
    bool fixed; /* uses the running statistics in training, too, and does not change them (PyTorch's eval()
                   for some layers of a network), as weft_freeze of the statistics does; default false */
} weft_batch_norm_options;
#define WEFT_BATCH_NORM_OPTIONS_INIT .struct_size = sizeof(weft_batch_norm_options)
/* The same with options; NULL means all defaults. */
WEFT_API weft_tensor *weft_batch_norm_layer(weft_tensor *x, const weft_batch_norm_options *options);

/* x (N, C, spatial...), 1 to 3 spatial axes; each channel of each example over the spatial axes. Without
 * parameters or states, as in PyTorch. D. Ulyanov et al. 2016. A single spatial element is an error. */
WEFT_API weft_tensor *weft_instance_norm(weft_tensor *x);

typedef struct weft_instance_norm_options {
    size_t struct_size;
    const char *name; /* default "instancenormN" */
    float epsilon;    /* 0 (the default) means 1e-5; WEFT_ZERO: 0 */
    float momentum;   /* as in weft_batch_norm_options */
    bool cumulative;  /* the same */
    bool affine;      /* weight and bias (C); default false */
    bool running;     /* running statistics, from the mean over the examples of a batch; default false */
} weft_instance_norm_options;
#define WEFT_INSTANCE_NORM_OPTIONS_INIT .struct_size = sizeof(weft_instance_norm_options)
/* The same with options; NULL means all defaults. */
WEFT_API weft_tensor *weft_instance_norm_layer(weft_tensor *x, const weft_instance_norm_options *options);

typedef struct weft_norm_options {
    size_t struct_size;
    const char *name; /* default "groupnormN", "layernormN", "rmsnormN" */
    float epsilon;    /* 0 (the default) means 1e-5; RMS: 2^-23, as torch.nn.RMSNorm; WEFT_ZERO: 0 */
    int axes;         /* layer and RMS: the number of last axes; 0 (the default) means 1 */
    bool no_affine;   /* no weight and bias; default false */
    bool no_bias;     /* default false */
} weft_norm_options;
#define WEFT_NORM_OPTIONS_INIT .struct_size = sizeof(weft_norm_options)

/* x (N, C, spatial...), 0 to 3 spatial axes; each group of C / groups channels of each example. Parameters
 * "groupnormN.weight" (C) and "groupnormN.bias" (C). Y. Wu and K. He 2018. */
WEFT_API weft_tensor *weft_group_norm(weft_tensor *x, int64_t groups);
/* The same with options; NULL means all defaults. */
WEFT_API weft_tensor *weft_group_norm_layer(weft_tensor *x, int64_t groups, const weft_norm_options *options);
/* x (..., D); over each row. Parameters "layernormN.weight" (D) and "layernormN.bias" (D). J. Ba et al.
 * 2016. */
WEFT_API weft_tensor *weft_layer_norm(weft_tensor *x);
/* The same with options, over the last `axes` axes; NULL means all defaults. */
WEFT_API weft_tensor *weft_layer_norm_layer(weft_tensor *x, const weft_norm_options *options);
/* x (..., D) → x / sqrt(mean(x²) + epsilon) · weight, over each row. Parameter "rmsnormN.weight" (D). B.
 * Zhang and R. Sennrich 2019. */
WEFT_API weft_tensor *weft_rms_norm(weft_tensor *x);
/* The same with options, over the last `axes` axes; NULL means all defaults. */
WEFT_API weft_tensor *weft_rms_norm_layer(weft_tensor *x, const weft_norm_options *options);

/* ---- the ops themselves ---- */

typedef struct weft_running {
    weft_tensor *mean, *var; /* f32 states (C); var: the unbiased variance */
    weft_tensor *batches;    /* i32 state of rank 0: the number of batches, for a cumulative mean; NULL: by
                                momentum */
    float momentum;          /* 0..1: running ← (1 - momentum)·running + momentum·(that of the batch) */
    bool fixed;              /* used in training, too, and not changed */
} weft_running;

/* weight, bias (C). running NULL: always the statistics of the batch. Norms
 * that share running statistics move them one after the other, in the order of their creation, in each run of a
 * plan that has several of them. */
WEFT_API weft_tensor *weft_batch_norm_with(
    weft_tensor *x, weft_tensor *weight, weft_tensor *bias, const weft_running *running, float epsilon);
/* The same for each example. */
WEFT_API weft_tensor *weft_instance_norm_with(
    weft_tensor *x, weft_tensor *weight, weft_tensor *bias, const weft_running *running, float epsilon);
/* weight, bias (C); groups divides C. */
WEFT_API weft_tensor *weft_group_norm_with(
    weft_tensor *x, int64_t groups, weft_tensor *weight, weft_tensor *bias, float epsilon);
/* Over the last `axes` axes, 1 or more; weight and bias have the shape of these axes. */
WEFT_API weft_tensor *weft_layer_norm_with(
    weft_tensor *x, int axes, weft_tensor *weight, weft_tensor *bias, float epsilon);
WEFT_API weft_tensor *weft_rms_norm_with(
    weft_tensor *x, int axes, weft_tensor *weight, float epsilon); /* the same without mean and bias */

#ifdef __cplusplus
}
#else /* arguments with names (graph.h): weft_batch_norm(x, .name = "bn1", .momentum = 0.01f) */
#define weft_batch_norm(...)    WEFT_NAMED_(weft_batch_norm_layer, batch_norm, 1, __VA_ARGS__)
#define weft_instance_norm(...) WEFT_NAMED_(weft_instance_norm_layer, instance_norm, 1, __VA_ARGS__)
#define weft_group_norm(x, ...) WEFT_NAMED_(weft_group_norm_layer, norm, 2, x, __VA_ARGS__)
#define weft_layer_norm(...)    WEFT_NAMED_(weft_layer_norm_layer, norm, 1, __VA_ARGS__)
#define weft_rms_norm(...)      WEFT_NAMED_(weft_rms_norm_layer, norm, 1, __VA_ARGS__)
#endif
#endif
