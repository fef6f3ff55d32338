/* weft/images.h: ops of images, as a reference card.
 *
 * An image is x (N, C, L), (N, C, H, W) or (N, C, D, H, W), f32: a batch of signals, pictures or volumes of C
 * channels; what follows C are its spatial axes, which do not depend on the batch size. Arrays in options
 * have one entry a spatial axis, in their order. In memory images lie channels-last; shapes do not show it.
 *
 * Errors are the graph's: WEFT_ERROR_DTYPE (not f32), WEFT_ERROR_SHAPE (not such a rank, a window longer than
 * the padded axis, ...), WEFT_ERROR_ARGUMENT (a number out of the range that its line states). PyTorch's
 * names and what differs: docs/ops.md. */
#ifndef WEFT_IMAGES_H
#define WEFT_IMAGES_H

#include <weft/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- pooling: a window at each place; the result is (N, C, ...) with the number of places of each axis ----
 * With e = dilation·(window - 1) + 1, an axis of n has floor((n + 2·padding - e) / stride) + 1 places. */
typedef struct weft_pool_options {
    size_t struct_size;
    int64_t window[3];   /* 1 or more, for each spatial axis */
    int64_t stride[3];   /* default 0: the window */
    int64_t padding[3];  /* default 0; on both sides, at most e / 2 */
    int64_t dilation[3]; /* default 0: 1, neighbours */
    bool ceil_mode; /* default false; ceil for floor, but no window begins behind x and its left padding */
    bool exclude_padding; /* default false: means count the padding as zeros (not what is behind it); avg */
    int64_t divisor;      /* default 0: the number of elements; what sums are divided by; avg */
} weft_pool_options;
#define WEFT_POOL_OPTIONS_INIT .struct_size = sizeof(weft_pool_options)
/* The greatest of each window, NaN if one is; the gradient goes to the first of equals. Padding never wins.
 */
WEFT_API weft_tensor *weft_max_pool(weft_tensor *x, const weft_pool_options *options);
/* The mean of each window. */
WEFT_API weft_tensor *weft_avg_pool(weft_tensor *x, const weft_pool_options *options);
/* (sum of x^p)^(1/p) of each window, p > 0: p = 1 is the sum; NaN where the sum is negative. Gradient 0 where
 * it is 0. With ceil_mode a window that reaches outside is scaled up to its whole size, as PyTorch does. */
WEFT_API weft_tensor *weft_lp_pool(weft_tensor *x, double p, const weft_pool_options *options);
/* (N, C, H, W), windows of size × size side by side. */
WEFT_API weft_tensor *weft_max_pool2d(weft_tensor *x, int64_t size);
WEFT_API weft_tensor *weft_avg_pool2d(weft_tensor *x, int64_t size);
/* To the given spatial sizes: place o of an axis of n is elements floor(o·n/size) .. ceil((o + 1)·n/size)
 * - 1.
 */
WEFT_API weft_tensor *weft_adaptive_max_pool(weft_tensor *x, const int64_t *sizes);
WEFT_API weft_tensor *weft_adaptive_avg_pool(weft_tensor *x, const int64_t *sizes);
/* All of an image: spatial axes of 1 stay, (N, C, 1, 1); weft_flatten makes it (N, C). */
WEFT_API weft_tensor *weft_global_max_pool(weft_tensor *x);
WEFT_API weft_tensor *weft_global_avg_pool(weft_tensor *x);

/* ---- resampling ---- */
typedef enum weft_resample_mode {
    WEFT_RESAMPLE_NEAREST, /* element floor(o·n / size), as PyTorch's "nearest" */
    WEFT_RESAMPLE_LINEAR   /* between the elements around: linear, bilinear or trilinear */
} weft_resample_mode;
typedef struct weft_resample_options {
    size_t struct_size;
    weft_resample_mode mode; /* default nearest */
    int64_t sizes[3];        /* the result's, for each spatial axis; or, where it is 0, */
    double factors[3];       /* times the input's, rounded down; then o / factor stands for o·n / size */
    bool align_corners;      /* default false: half a pixel is outside at each end; linear only */
} weft_resample_options;
#define WEFT_RESAMPLE_OPTIONS_INIT .struct_size = sizeof(weft_resample_options)
/* (N, C, ...) at another size. */
WEFT_API weft_tensor *weft_resample(weft_tensor *x, const weft_resample_options *options);
/* Every spatial axis `factor` times as long, factor >= 1. */
WEFT_API weft_tensor *weft_upsample_nearest(weft_tensor *x, int64_t factor);
WEFT_API weft_tensor *weft_upsample_linear(weft_tensor *x, int64_t factor, bool align_corners);
/* (N, C·r·r, H, W) → (N, C, H·r, W·r): y[c][h·r + i][w·r + j] = x[(c·r + i)·r + j][h][w]; and back. */
WEFT_API weft_tensor *weft_pixel_shuffle(weft_tensor *x, int64_t factor);
WEFT_API weft_tensor *weft_pixel_unshuffle(weft_tensor *x, int64_t factor);

/* ---- channels ---- */
/* x / (k + alpha / size · sum x²)^beta, the sum over `size` (1..64) channels: from c - size / 2 on. Those
 * that are not there count as 0. AlexNet has (x, 5, 1e-4, 0.75, 2). */
WEFT_API weft_tensor *weft_local_response_norm(
    weft_tensor *x, int64_t size, double alpha, double beta, double k);
/* weft_dropout of whole channels: of any f32 (N, C, ...), one number is drawn for each (n, c). 0 <= p < 1. */
WEFT_API weft_tensor *weft_dropout_channels(weft_tensor *x, float p);

#ifdef __cplusplus
}
#endif
#endif
