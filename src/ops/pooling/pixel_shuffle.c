/* Pixel shuffle and unshuffle: views of channels-last memory, and one copy. */
#include "ops/pooling/pool.h"

static weft_graph *check(const char *op, weft_tensor *x, int64_t factor) {
    char text[WI_SHAPE_TEXT];
    weft_graph *graph = wi_image_graph(op, x);
    if (!graph) return NULL;
    if (x->shape.rank != 4) {
        wi_graph_fail(graph, WEFT_ERROR_SHAPE, "%s: %s is not (N, C, H, W)", op,
            wi_shape_print(x->graph, &x->shape, text));
        return NULL;
    }
    if (factor < 1 || factor > INT16_MAX) {
        wi_graph_fail(
            graph, WEFT_ERROR_ARGUMENT, "%s: the factor is %lld, expected 1 to 32767", op, (long long)factor);
        return NULL;
    }
    return graph;
}

/* (N, H, W, C·r·r) → (N, H, r, W, r, C) */
static weft_tensor *build_pixel_shuffle(weft_tensor *x, int64_t factor) {
    char text[WI_SHAPE_TEXT];
    if (!check("pixel_shuffle", x, factor)) return NULL;
    const int64_t *d = x->shape.dims, r = factor, channels = d[1] / (r * r);
    if (d[1] < 0 || channels * r * r != d[1])
        return wi_graph_fail(x->graph, WEFT_ERROR_SHAPE,
            "pixel_shuffle: the channels of %s are not a multiple of %lld squared",
            wi_shape_print(x->graph, &x->shape, text), (long long)r);
    weft_tensor *parts =
        weft_reshape_shape(wi_channels_last(x), 6, (const int64_t[]){d[0], d[2], d[3], channels, r, r});
    parts = parts ? weft_permute_axes(parts, 6, (const int[]){0, 1, 4, 2, 5, 3}) : NULL;
    return wi_channels_first(
        parts ? weft_reshape_shape(parts, 4, (const int64_t[]){d[0], d[2] * r, d[3] * r, channels}) : NULL);
}

weft_tensor *weft_pixel_shuffle(weft_tensor *x, int64_t factor) {
    return WI_CALL(x, "weft_pixel_shuffle", build_pixel_shuffle(x, factor));
}

/* (N, H·r, W·r, C) → (N, H, W, C, r, r) */
static weft_tensor *build_pixel_unshuffle(weft_tensor *x, int64_t factor) {
    char text[WI_SHAPE_TEXT];
    if (!check("pixel_unshuffle", x, factor)) return NULL;
    const int64_t *d = x->shape.dims, r = factor, h = d[2] / r, w = d[3] / r;
    if (h * r != d[2] || w * r != d[3] || d[1] < 0)
        return wi_graph_fail(x->graph, WEFT_ERROR_SHAPE,
            "pixel_unshuffle: height and width of %s are not multiples of %lld",
            wi_shape_print(x->graph, &x->shape, text), (long long)r);
    weft_tensor *parts =
        weft_reshape_shape(wi_channels_last(x), 6, (const int64_t[]){d[0], h, r, w, r, d[1]});
    parts = parts ? weft_permute_axes(parts, 6, (const int[]){0, 1, 3, 5, 2, 4}) : NULL;
    return wi_channels_first(
        parts ? weft_reshape_shape(parts, 4, (const int64_t[]){d[0], h, w, d[1] * r * r}) : NULL);
}

weft_tensor *weft_pixel_unshuffle(weft_tensor *x, int64_t factor) {
    return WI_CALL(x, "weft_pixel_unshuffle", build_pixel_unshuffle(x, factor));
}
