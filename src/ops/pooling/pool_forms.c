/* Forms of pooling that other ops compute: with square windows, adaptive, global and Lp. */
#include "graph/sizes.h"
#include "ops/pooling/pool.h"
#include <math.h>
#include <weft/convolution.h>

/* ---- square windows ---- */

static weft_tensor *square(const char *op, weft_tensor *x, int64_t size, const weft_pool_options *given,
    weft_tensor *(*pool)(weft_tensor *, const weft_pool_options *)) {
    char text[WI_SHAPE_TEXT];
    weft_pool_options o;
    if (!wi_image_graph(op, x) || !WI_GRAPH_OPTIONS(x->graph, &o, given, op, WEFT_POOL_OPTIONS_INIT))
        return NULL;
    if (x->shape.rank != 4)
        return wi_graph_fail(x->graph, WEFT_ERROR_SHAPE, "%s: %s is not (N, C, H, W)", op,
            wi_shape_print(x->graph, &x->shape, text));
    if (o.window || o.windows[0] || o.windows[1] || o.windows[2])
        return wi_graph_fail(x->graph, WEFT_ERROR_ARGUMENT,
            "%s: the window size is given twice, by the argument size and by an option: give it once", op);
    o.windows[0] = o.windows[1] = size;
    return pool(x, &o);
}

weft_tensor *weft_max_pool2d_with(weft_tensor *x, int64_t size, const weft_pool_options *options) {
    return WI_CALL(x, "weft_max_pool2d", square("max_pool2d", x, size, options, weft_max_pool));
}
weft_tensor *weft_avg_pool2d_with(weft_tensor *x, int64_t size, const weft_pool_options *options) {
    return WI_CALL(x, "weft_avg_pool2d", square("avg_pool2d", x, size, options, weft_avg_pool));
}
weft_tensor *(weft_max_pool2d)(weft_tensor *x, int64_t size) {
    return weft_max_pool2d(x, size);
}
weft_tensor *(weft_avg_pool2d)(weft_tensor *x, int64_t size) {
    return weft_avg_pool2d(x, size);
}

/* ---- adaptive and global ---- */

static weft_tensor *adaptive(const char *name, const wi_op *op, weft_tensor *x, const int64_t *sizes) {
    weft_graph *graph = wi_image_graph(name, x);
    if (!graph) return NULL;
    if (!sizes) return wi_graph_fail(graph, WEFT_ERROR_ARGUMENT, "%s: sizes is NULL", name);
    for (int i = 0; i < x->shape.rank - 2; i++) {
        if (sizes[i] >= 1 && sizes[i] <= INT64_C(1) << 30) continue;
        return wi_graph_fail(graph, WEFT_ERROR_ARGUMENT, "%s: sizes[%d] = %lld is not in 1..2^30", name, i,
            (long long)sizes[i]);
    }
    return wi_pool(op, x, &(wi_attributes){.pool = {.window = {.dilation = {1, 1, 1}}}}, sizes);
}

weft_tensor *weft_adaptive_max_pool(weft_tensor *x, const int64_t *sizes) {
    return WI_CALL(x, "weft_adaptive_max_pool", adaptive("adaptive_max_pool", &wi_op_max_pool, x, sizes));
}
weft_tensor *weft_adaptive_avg_pool(weft_tensor *x, const int64_t *sizes) {
    return WI_CALL(x, "weft_adaptive_avg_pool", adaptive("adaptive_avg_pool", &wi_op_avg_pool, x, sizes));
}
weft_tensor *weft_global_max_pool(weft_tensor *x) {
    return WI_CALL(x, "weft_global_max_pool",
        adaptive("global_max_pool", &wi_op_max_pool, x, (const int64_t[]){1, 1, 1}));
}
static weft_tensor *build_global_avg_pool(weft_tensor *x) {
    static const int64_t axes[] = {2, 3, 4, WEFT_END};
    if (!wi_image_graph("global_avg_pool", x)) return NULL;
    int64_t spatial[4];
    for (int i = 0; i < 4; i++) spatial[i] = i < x->shape.rank - 2 ? axes[i] : WEFT_END;
    return weft_mean_axes(x, spatial, true);
}

weft_tensor *weft_global_avg_pool(weft_tensor *x) {
    return WI_CALL(x, "weft_global_avg_pool", build_global_avg_pool(x));
}

/* ---- Lp ---- */

/* s^(1/p); if s is 0, the gradient is 0. */
static weft_tensor *root(weft_tensor *s, double p) {
    weft_tensor *zero = weft_number(s, 0), *none = weft_equal(s, zero);
    weft_tensor *some = weft_where(none, weft_number(s, 1), s);
    return weft_where(none, zero, p == 2 ? weft_sqrt(some) : weft_pow_number(some, 1 / p));
}

static weft_tensor *build_lp_pool(weft_tensor *x, double p, const weft_pool_options *given) {
    weft_graph *graph = wi_image_graph("lp_pool", x);
    weft_pool_options options;
    if (!graph || !wi_pool_options_read("lp_pool", x, &options, given)) return NULL;
    if (!WI_TAKES_NUMBERS(graph, "lp_pool", {"p", p})) return NULL;
    if (!(p > 0) || isinf(p))
        return wi_graph_fail(graph, WEFT_ERROR_ARGUMENT, "lp_pool: p = %g is not a positive number", p);
    if (options.exclude_padding || options.divisor)
        return wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
            "lp_pool: the options exclude_padding and divisor are only for avg_pool");
    double size = 1;
    for (int i = 0; i < x->shape.rank - 2; i++) size *= (double)options.windows[i];
    /* In f16, powers of small numbers would be 0. */
    weft_tensor *powers = weft_keep_f32(p == 2 ? weft_square(x) : weft_pow_number(x, p));
    weft_tensor *mean = weft_keep_f32(weft_avg_pool(powers, &options));
    weft_tensor *sum = mean ? weft_mul_number(mean, size) : NULL;
    return sum ? root(sum, p) : NULL;
}

weft_tensor *weft_lp_pool(weft_tensor *x, double p, const weft_pool_options *given) {
    return WI_CALL(x, "weft_lp_pool", build_lp_pool(x, p, given));
}
