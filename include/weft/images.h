/* weft/images.h: ops on images, as a reference card.
 *
 * An image is x (N, C, L), (N, C, H, W) or (N, C, D, H, W), f32: a batch of signals, pictures or volumes with
 * C channels. The axes after C are its spatial axes; their sizes must not depend on the batch size. An option in the
 * singular is one number for all spatial axes, and its plural has one for each, in their order, as in convolution.h:
 * .stride = 2, or .strides = {2, 1}. Images are stored channels-last; shapes do not show it.
 *
 * Errors are those of the graph: WEFT_ERROR_DTYPE (not f32), WEFT_ERROR_SHAPE (another rank, a window longer
 * than the padded axis, ...), WEFT_ERROR_ARGUMENT (a number outside of the range that is given here).
 * PyTorch's names and the differences: docs/ops.md. */
#ifndef WEFT_IMAGES_H
#define WEFT_IMAGES_H

#include <weft/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- pooling: (N, C, ...) with the number of windows along each spatial axis ----
 * With e = dilation·(window - 1) + 1, an axis of size n has floor((n + 2·padding - e) / stride) + 1
 * windows. */
typedef struct weft_pool_options {
    size_t struct_size;
    int64_t window, windows[3];     /* 1 or more */
    int64_t stride, strides[3];     /* 0 (the default) means the window */
    int64_t padding, paddings[3];   /* default 0; on both sides, at most e / 2 */
    int64_t dilation, dilations[3]; /* 0 (the default) means 1: adjacent elements */
    bool ceil_mode; /* default false; true: ceil instead of floor, but no window begins after x and its left
                       padding */
    bool exclude_padding; /* default false: the mean includes padding zeros (not elements after the padding);
                             average only */
    int64_t divisor;      /* 0 (the default) means the number of elements; the sum is divided by it; average
                             only */
} weft_pool_options;
#define WEFT_POOL_OPTIONS_INIT .struct_size = sizeof(weft_pool_options)
/* The maximum of each window, NaN if an element is NaN. The gradient goes to the first of equal elements.
 * Padding is never the maximum. */
WEFT_API weft_tensor *weft_max_pool(weft_tensor *x, const weft_pool_options *options);
/* The mean of each window. */
WEFT_API weft_tensor *weft_avg_pool(weft_tensor *x, const weft_pool_options *options);
/* (sum of x^p)^(1/p) of each window, p > 0; p = 1 is the sum. NaN where the sum is negative; the gradient is
 * 0 where the result is 0. With ceil_mode a window that extends beyond the image is scaled up to its full
 * size, as in PyTorch. */
WEFT_API weft_tensor *weft_lp_pool(weft_tensor *x, double p, const weft_pool_options *options);
/* x (N, C, H, W), windows of size × size, as torch.nn.MaxPool2d and AvgPool2d; adjacent unless a stride is given. In C the
 * options stand in the call: weft_max_pool2d(x, 3, .stride = 2, .padding = 1). */
WEFT_API weft_tensor *weft_max_pool2d(weft_tensor *x, int64_t size);
WEFT_API weft_tensor *weft_avg_pool2d(weft_tensor *x, int64_t size);
/* The same with options, whose window stays unset; NULL means all defaults. */
WEFT_API weft_tensor *weft_max_pool2d_with(weft_tensor *x, int64_t size, const weft_pool_options *options);
WEFT_API weft_tensor *weft_avg_pool2d_with(weft_tensor *x, int64_t size, const weft_pool_options *options);
/* To the given spatial sizes: result o of an axis of size n covers the elements floor(o·n / size) to
 * ceil((o + 1)·n / size) - 1. */
WEFT_API weft_tensor *weft_adaptive_max_pool(weft_tensor *x, const int64_t *sizes);
WEFT_API weft_tensor *weft_adaptive_avg_pool(weft_tensor *x, const int64_t *sizes);
/* Over the whole image: spatial axes remain with size 1, (N, C, 1, 1); weft_flatten makes it (N, C). */
WEFT_API weft_tensor *weft_global_max_pool(weft_tensor *x);
WEFT_API weft_tensor *weft_global_avg_pool(weft_tensor *x);

/* ---- resampling ---- */
typedef enum weft_resample_mode {
    WEFT_RESAMPLE_NEAREST, /* element floor(o·n / size), as PyTorch's "nearest" */
    WEFT_RESAMPLE_LINEAR   /* interpolates between the nearest elements: linear, bilinear or trilinear */
} weft_resample_mode;
typedef struct weft_resample_options {
    size_t struct_size;
    weft_resample_mode mode; /* default nearest */
    int64_t size, sizes[3];  /* of the result; where an axis has none, its factor is used */
    double factor,
        factors[3]; /* the size of the result is floor(factor · n), and o / factor replaces o·n / size */
    bool align_corners; /* default false: positions are pixel centres; true: corner pixels are aligned;
                           linear only */
} weft_resample_options;
#define WEFT_RESAMPLE_OPTIONS_INIT .struct_size = sizeof(weft_resample_options)
/* Resizes the spatial axes. */
WEFT_API weft_tensor *weft_resample(weft_tensor *x, const weft_resample_options *options);
/* Makes each spatial axis `factor` times as long, factor >= 1. */
WEFT_API weft_tensor *weft_upsample_nearest(weft_tensor *x, int64_t factor);
WEFT_API weft_tensor *weft_upsample_linear(weft_tensor *x, int64_t factor, bool align_corners);
/* x (N, C·r·r, H, W) → (N, C, H·r, W·r): y[c][h·r + i][w·r + j] = x[(c·r + i)·r + j][h][w]; and its
 * inverse. */
WEFT_API weft_tensor *weft_pixel_shuffle(weft_tensor *x, int64_t factor);
WEFT_API weft_tensor *weft_pixel_unshuffle(weft_tensor *x, int64_t factor);

/* ---- channels ---- */
/* x / (k + alpha / size · sum of x²)^beta, summed over `size` (1..64) channels beginning with c - size / 2;
 * channels that do not exist count as 0. AlexNet uses (x, 5, 1e-4, 0.75, 2). */
WEFT_API weft_tensor *weft_local_response_norm(
    weft_tensor *x, int64_t size, double alpha, double beta, double k);
/* weft_dropout of whole channels of any f32 x (N, C, ...): one random number for each (n, c). 0 <= p < 1. */
WEFT_API weft_tensor *weft_dropout_channels(weft_tensor *x, float p);

#ifdef __cplusplus
}
#else /* arguments with names (graph.h) */
#define weft_max_pool2d(x, ...) WEFT_NAMED_(weft_max_pool2d_with, pool, 2, x, __VA_ARGS__)
#define weft_avg_pool2d(x, ...) WEFT_NAMED_(weft_avg_pool2d_with, pool, 2, x, __VA_ARGS__)
#endif
#endif
