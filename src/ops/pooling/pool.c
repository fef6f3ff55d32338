/* Pooling: the maximum or the average of windows over channels-last images. pool.cl has the kernels and describes windows. The
 * gradient of max_pool finds the maxima again by comparing x with y, which other layers store anyway, so that no indices are stored.
 * The gradient of this gradient selects the elements of another image at the maxima (max_pool winners), and the gradient of the
 * selection is the max_pool gradient again. */
#include "ops/pooling/pool.h"
#include "base/integers.h"
#include "graph/sizes.h"
#include "ops/spatial.h"

/* ---- nodes and gradients ---- */

#define POOL_OP(text, inputs)                                                                                \
    {                                                                                                        \
        .name = text, .kind = WI_KERNEL, .attribute_bytes = sizeof(wi_pool_attributes),                      \
        .takes_examples = true, .contiguous = (inputs)                                                       \
    }
const wi_op wi_op_max_pool = POOL_OP("max_pool", 1), wi_op_avg_pool = POOL_OP("avg_pool", 1);
/* The gradients with regard to x. Their inputs are (x, y, g) for max_pool, and (g) for avg_pool. */
const wi_op wi_op_max_pool_gradient = POOL_OP("max_pool gradient", 7),
            wi_op_avg_pool_gradient = POOL_OP("avg_pool gradient", 1);
/* With inputs (x, other): for each window, the element of `other` at the position where x has its maximum. */
const wi_op wi_op_max_pool_winners = POOL_OP("max_pool winners", 3);

/* The gradient of x: g at the maxima, where x equals the pooled y, and zeros elsewhere. */
static weft_tensor *spread(weft_tensor *x, weft_tensor *y, weft_tensor *g) {
    weft_tensor *inputs[] = {x, y, g};
    return y && g ? wi_node(y->graph, &wi_op_max_pool_gradient, inputs, 3, WEFT_F32, &x->shape, y->attributes)
                  : NULL;
}
static void max_pool_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    gradients[0] = spread(y->inputs[0], y, g);
}
static void spread_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    weft_tensor *inputs[] = {y->inputs[0], g};
    gradients[2] =
        wi_node(y->graph, &wi_op_max_pool_winners, inputs, 2, WEFT_F32, &y->inputs[2]->shape, y->attributes);
}
static void winners_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    weft_tensor *x = y->inputs[0];
    gradients[1] =
        spread(x, wi_node(y->graph, &wi_op_max_pool, &x, 1, WEFT_F32, &y->shape, y->attributes), g);
}
static void avg_pool_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    gradients[0] =
        wi_node(y->graph, &wi_op_avg_pool_gradient, &g, 1, WEFT_F32, &y->inputs[0]->shape, y->attributes);
}
static void mean_gradient_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    gradients[0] = wi_node(y->graph, &wi_op_avg_pool, &g, 1, WEFT_F32, &y->inputs[0]->shape, y->attributes);
}

weft_tensor *wi_pool(const wi_op *op, weft_tensor *x, const wi_attributes *attributes, const int64_t *sizes) {
    weft_tensor *image = wi_channels_last(x);
    if (!image) return NULL;
    wi_shape shape = image->shape;
    for (int i = 0; i < shape.rank - 2; i++) shape.dims[1 + i] = sizes[i];
    return wi_channels_first(wi_node(x->graph, op, &image, 1, WEFT_F32, &shape, attributes));
}

/* ---- checks ---- */

weft_graph *wi_image_graph(const char *op, weft_tensor *x) {
    static const int64_t longest = INT64_C(1) << 30;
    char text[WI_SHAPE_TEXT];
    weft_graph *graph = wi_inputs_graph(op, &x, 1);
    if (!graph) return NULL;
    if (x->dtype != WEFT_F32) {
        wi_graph_fail(graph, WEFT_ERROR_DTYPE, "%s: takes f32, not %s", op, weft_dtype_name(x->dtype));
        return NULL;
    }
    if (x->shape.rank < 3 || x->shape.rank > 5) {
        wi_graph_fail(graph, WEFT_ERROR_SHAPE, "%s: %s is not (N, C, L), (N, C, H, W) or (N, C, D, H, W)", op,
            wi_shape_print(x->graph, &x->shape, text));
        return NULL;
    }
    for (int i = 2; i < x->shape.rank; i++) {
        if (x->shape.dims[i] > 0 && (x->shape.dims[i] <= longest || wi_axis_is_symbolic(x, i))) continue;
        wi_graph_fail(graph, WEFT_ERROR_SHAPE, "%s: axis %d of %s must be a fixed size of at most 2^30", op,
            i, wi_shape_print(x->graph, &x->shape, text));
        return NULL;
    }
    return graph;
}

/* Fills the fields that have a number for each axis. */
bool wi_pool_options_read(
    const char *op, const weft_tensor *x, weft_pool_options *own, const weft_pool_options *given) {
    const int axes = x->shape.rank - 2;
    if (!given) {
        wi_graph_fail(x->graph, WEFT_ERROR_ARGUMENT,
            "%s: options is NULL; set its field size or sizes, the window", op);
        return false;
    }
    if (!WI_GRAPH_OPTIONS(x->graph, own, given, op, WEFT_POOL_OPTIONS_INIT)) return false;
    const bool read = wi_spatial_read(x, op, axes, WI_SPATIAL(own, window, false)) &&
                      wi_spatial_read(x, op, axes, WI_SPATIAL(own, stride, false)) &&
                      wi_spatial_read(x, op, axes, WI_SPATIAL(own, padding, true)) &&
                      wi_spatial_read(x, op, axes, WI_SPATIAL(own, dilation, false));
    own->window = own->stride = own->padding = own->dilation = 0; /* another pooling op may read the result */
    return read;
}

/* Is the entry of a field in least .. most? */
static bool in_range(const char *op, const weft_tensor *x, const char *field, int i, int64_t value,
    int64_t least, int64_t most) {
    char text[WI_SHAPE_TEXT];
    if (value >= least && value <= most) return true;
    wi_graph_fail(x->graph, WEFT_ERROR_ARGUMENT, "%s: a %s of %lld along axis %d of %s is not in %lld..%lld",
        op, field, (long long)value, i + 2, wi_shape_print(x->graph, &x->shape, text), (long long)least,
        (long long)most);
    return false;
}

/* The size of spatial axis i of the result; writes the window. 0: an error is recorded. */
static int64_t place_axis(
    const char *op, const weft_tensor *x, const weft_pool_options *o, int i, wi_window *window) {
    const int64_t most = INT64_C(1) << 30, n = x->shape.dims[i + 2];
    const int64_t stride = o->strides[i] ? o->strides[i] : o->windows[i];
    const int64_t dilation = o->dilations[i] ? o->dilations[i] : 1;
    if (!in_range(op, x, "window", i, o->windows[i], 1, most) ||
        !in_range(op, x, "stride", i, stride, 1, most) || !in_range(op, x, "dilation", i, dilation, 1, most))
        return 0;
    if (!WI_TAKES_NUMBERS(x->graph, op, {"stride", (double)stride})) return 0;
    const int64_t reach = dilation * (o->windows[i] - 1) + 1;
    if (!in_range(op, x, "padding", i, o->paddings[i], 0, reach / 2)) return 0;
    const int64_t room = n + 2 * o->paddings[i] - reach;
    if (room < 0) {
        char text[WI_SHAPE_TEXT];
        wi_graph_fail(x->graph, WEFT_ERROR_SHAPE,
            "%s: a window over %lld elements is longer than axis %d of %s with padding %lld", op,
            (long long)reach, i + 2, wi_shape_print(x->graph, &x->shape, text), (long long)o->paddings[i]);
        return 0;
    }
    const bool may_lack_last = stride + o->paddings[i] > reach;
    if (o->ceil_mode && may_lack_last && wi_axis_is_symbolic(x, i + 2)) {
        char text[WI_SHAPE_TEXT];
        wi_graph_fail(x->graph, WEFT_ERROR_UNSUPPORTED,
            "%s: with ceil_mode, axis %d of %s must be a number if the stride and the padding together are "
            "more than the window",
            op, i + 2, wi_shape_print(x->graph, &x->shape, text));
        return 0;
    }
    const int a = i + 5 - x->shape.rank;
    window->size[a] = (int32_t)o->windows[i];
    window->stride[a] = (int32_t)stride;
    window->padding[a] = (int32_t)o->paddings[i];
    window->dilation[a] = (int32_t)dilation;
    const int64_t steps = wi_dim_divide(x->graph, o->ceil_mode ? room + stride - 1 : room, stride);
    const bool lacks_last = o->ceil_mode && may_lack_last && steps * stride >= n + o->paddings[i];
    return lacks_last ? steps : wi_dim_add(x->graph, steps, 1);
}

static weft_tensor *pool(const wi_op *op, weft_tensor *x, const weft_pool_options *given) {
    weft_pool_options own;
    if (!wi_image_graph(op->name, x) || !wi_pool_options_read(op->name, x, &own, given)) return NULL;
    const weft_pool_options *const options = &own;
    const bool averages = op == &wi_op_avg_pool;
    if (!averages && (options->exclude_padding || options->divisor))
        return wi_graph_fail(x->graph, WEFT_ERROR_ARGUMENT,
            "%s: the options exclude_padding and divisor are only for avg_pool", op->name);
    if (!WI_TAKES_NUMBERS(x->graph, op->name, {"divisor", (double)options->divisor})) return NULL;
    if (options->divisor < 0 || options->divisor > INT32_MAX)
        return wi_graph_fail(x->graph, WEFT_ERROR_ARGUMENT, "%s: divisor is %lld, expected 0 to 2^31 - 1",
            op->name, (long long)options->divisor);
    wi_attributes attributes = {.pool = {.divisor = (int32_t)options->divisor,
                                    .exclude_padding = options->exclude_padding,
                                    .window = {{1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}}}};
    int64_t sizes[3] = {0};
    for (int i = 0; i < x->shape.rank - 2; i++) {
        sizes[i] = place_axis(op->name, x, options, i, &attributes.pool.window);
        if (sizes[i] == 0) return NULL;
    }
    return wi_pool(op, x, &attributes, sizes);
}

weft_tensor *weft_max_pool(weft_tensor *x, const weft_pool_options *options) {
    return WI_CALL(x, "weft_max_pool", pool(&wi_op_max_pool, x, options));
}
weft_tensor *weft_avg_pool(weft_tensor *x, const weft_pool_options *options) {
    return WI_CALL(x, "weft_avg_pool", pool(&wi_op_avg_pool, x, options));
}

const wi_op_rules wi_pool_rules[] = {{.op = &wi_op_max_pool_gradient, .backward = spread_backward},
    {.op = &wi_op_max_pool_winners, .backward = winners_backward},
    {.op = &wi_op_avg_pool_gradient, .backward = mean_gradient_backward},
    {.op = &wi_op_max_pool, .backward = max_pool_backward},
    {.op = &wi_op_avg_pool, .backward = avg_pool_backward}, {0}};
