/* weft/images.h: ops on images, as a reference card.
 *
 * An image is x (N, C, L), (N, C, H, W) or (N, C, D, H, W), f32: a batch of signals, pictures or volumes with C
 * channels. The axes after C are the spatial axes; their sizes must not depend on the batch. An option whose name is
 * singular is one number for all spatial axes; the plural has a number for each axis, in their order, as in
 * convolution.h: .stride = 2, or .strides = {2, 1}. Memory is channels-last, but shapes are (N, C, ...).
 *
 * An op that fails returns NULL, and the graph keeps the error: WEFT_ERROR_DTYPE (not f32), WEFT_ERROR_SHAPE (another
 * rank, a window longer than the padded axis, ...), WEFT_ERROR_ARGUMENT (a number outside of the range that is given
 * here). PyTorch's names and the differences: docs/ops.md. */
#ifndef WEFT_IMAGES_H
#define WEFT_IMAGES_H

#include <weft/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- pooling: the result is (N, C, ...) with one element for each window ----
 * With e = dilation·(window - 1) + 1, a spatial axis of size n has floor((n + 2·padding - e) / stride) + 1 windows. */
typedef struct weft_pool_options {
    size_t struct_size;
    int64_t window, windows[3];     /* 1 or more */
    int64_t stride, strides[3];     /* 0 (the default) means the window */
    int64_t padding, paddings[3];   /* default 0; on both sides of an axis, at most e / 2 */
    int64_t dilation, dilations[3]; /* 0 (the default) means 1: adjacent elements */
    /* Default false; true: ceil instead of floor, but only for windows that begin in the left padding or in x. */
    bool ceil_mode;
    /* Average only. Default false: the zeros of the padding count as elements (elements beyond the padding never
     * do). */
    bool exclude_padding;
    /* Average only: the number by which a sum is divided. 0 (the default) means the number of elements. */
    int64_t divisor;
} weft_pool_options;
#define WEFT_POOL_OPTIONS_INIT .struct_size = sizeof(weft_pool_options)
/* The maximum of each window, NaN if an element is NaN; padding does not count. The gradient goes to the first
 * maximum. */
WEFT_API weft_tensor *weft_max_pool(weft_tensor *x, const weft_pool_options *options);
/* The mean of each window. */
WEFT_API weft_tensor *weft_avg_pool(weft_tensor *x, const weft_pool_options *options);
/* (sum of x^p)^(1/p) of each window, p > 0; p = 1 is the sum. NaN where the sum is negative; the gradient is 0 where
 * the result is 0. With ceil_mode, the sum of a window that extends beyond the image is scaled up to a whole window, as
 * in PyTorch. */
WEFT_API weft_tensor *weft_lp_pool(weft_tensor *x, double p, const weft_pool_options *options);
/* x (N, C, H, W) with windows of size × size, as torch.nn.MaxPool2d and AvgPool2d. The default stride is `size`. In C
 * the call also takes options: weft_max_pool2d(x, 3, .stride = 2, .padding = 1). */
WEFT_API weft_tensor *weft_max_pool2d(weft_tensor *x, int64_t size);
WEFT_API weft_tensor *weft_avg_pool2d(weft_tensor *x, int64_t size);
/* weft_max_pool2d and weft_avg_pool2d with options, in which the window is not set; NULL means all defaults. */
WEFT_API weft_tensor *weft_max_pool2d_with(weft_tensor *x, int64_t size, const weft_pool_options *options);
WEFT_API weft_tensor *weft_avg_pool2d_with(weft_tensor *x, int64_t size, const weft_pool_options *options);
/* Pools to the given spatial sizes: along an axis of size n, element o of the result covers the elements floor(o·n /
 * size) to ceil((o + 1)·n / size) - 1. */
WEFT_API weft_tensor *weft_adaptive_max_pool(weft_tensor *x, const int64_t *sizes);
WEFT_API weft_tensor *weft_adaptive_avg_pool(weft_tensor *x, const int64_t *sizes);
/* Pool the whole image: spatial axes remain with size 1, (N, C, 1, 1); weft_flatten gives (N, C). */
WEFT_API weft_tensor *weft_global_max_pool(weft_tensor *x);
WEFT_API weft_tensor *weft_global_avg_pool(weft_tensor *x);

/* ---- resampling ---- */
typedef enum weft_resample_mode {
    WEFT_RESAMPLE_NEAREST, /* element o of the result is element floor(o·n / size), as PyTorch's "nearest" */
    WEFT_RESAMPLE_LINEAR   /* interpolates between neighbours: linear, bilinear or trilinear */
} weft_resample_mode;
typedef struct weft_resample_options {
    size_t struct_size;
    weft_resample_mode mode; /* default nearest */
    int64_t size, sizes[3];  /* of the result; each axis needs either a size or a factor */
    /* The size of the result is floor(factor · n), and positions are o / factor instead of o·n / size. */
    double factor, factors[3];
    bool align_corners; /* linear only; default false: pixel centres are aligned; true: corner pixels are */
} weft_resample_options;
#define WEFT_RESAMPLE_OPTIONS_INIT .struct_size = sizeof(weft_resample_options)
/* Resizes the spatial axes; options must not be NULL. */
WEFT_API weft_tensor *weft_resample(weft_tensor *x, const weft_resample_options *options);
/* Resize each spatial axis to `factor` times its size, factor >= 1. */
WEFT_API weft_tensor *weft_upsample_nearest(weft_tensor *x, int64_t factor);
WEFT_API weft_tensor *weft_upsample_linear(weft_tensor *x, int64_t factor, bool align_corners);
/* With r = factor: x (N, C·r·r, H, W) → (N, C, H·r, W·r), y[c][h·r + i][w·r + j] = x[(c·r + i)·r + j][h][w]; unshuffle
 * is the inverse. */
WEFT_API weft_tensor *weft_pixel_shuffle(weft_tensor *x, int64_t factor);
WEFT_API weft_tensor *weft_pixel_unshuffle(weft_tensor *x, int64_t factor);

typedef struct weft_grid_sample_options {
    size_t struct_size;
    bool nearest; /* default false: bilinear; true: the nearest pixel, which has no gradient for the grid */
    bool border;  /* default false: 0 outside of the image; true: the nearest pixel of the image's border */
    /* Default false: -1 and 1 are the outer edges of the image; true: the centres of its outermost pixels. */
    bool align_corners;
} weft_grid_sample_options;
#define WEFT_GRID_SAMPLE_OPTIONS_INIT .struct_size = sizeof(weft_grid_sample_options)
/* torch.nn.functional.grid_sample: x (N, C, H, W) at the positions of grid, f32 (N, h, w, 2) → (N, C, h, w). A position
 * is (x, y), from -1 (left, top) to 1 (right, bottom). options NULL means all defaults. If base has the positions (x,
 * y, 1) of all pixels, (h·w, 3), the positions of torch.nn.functional.affine_grid are weft_matmul(base,
 * weft_transpose(theta)). */
WEFT_API weft_tensor *weft_grid_sample(
    weft_tensor *x, weft_tensor *grid, const weft_grid_sample_options *options);

/* ---- channels ---- */
/* x / (k + alpha / size · sum of x²)^beta; the sum at channel c is over `size` (1..64) channels from c - size / 2 on,
 * where channels that do not exist count as 0. AlexNet uses (x, 5, 1e-4, 0.75, 2). */
WEFT_API weft_tensor *weft_local_response_norm(
    weft_tensor *x, int64_t size, double alpha, double beta, double k);
/* weft_dropout of whole channels of any x (N, C, ...), floats: one random number for each (n, c). 0 <= p < 1. */
WEFT_API weft_tensor *weft_dropout_channels(weft_tensor *x, float p);

#ifdef __cplusplus
}
#else /* named arguments (graph.h) */
#define weft_max_pool2d(x, ...) WEFT_NAMED_(weft_max_pool2d_with, pool, 2, x, __VA_ARGS__)
#define weft_avg_pool2d(x, ...) WEFT_NAMED_(weft_avg_pool2d_with, pool, 2, x, __VA_ARGS__)
#endif
#endif
