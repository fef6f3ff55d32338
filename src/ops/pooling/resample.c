/* Resampling of images to another size: nearest or linear. resample.cl has the kernels, and describes indices and weights. The result
 * is linear in x, so that the gradient of the gradient is the op itself. */
#include "base/integers.h"
#include "graph/sizes.h"
#include "ops/pooling/pool.h"
#include "ops/spatial.h"
#include <math.h>

/* ---- gradients ---- */

static void gradient_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    gradients[0] = wi_node(y->graph, &wi_op_resample, &g, 1, WEFT_F32, &y->inputs[0]->shape, y->attributes);
}

/* The size of x divided by the size of the result. It is computed in float32 as in PyTorch, so that Weft and PyTorch
 * choose the same elements. 0: a plan computes it from its sizes. */
static float scale_of(int64_t in, int64_t out, double factor, uint32_t mode) {
    const bool corners = mode == WI_RESAMPLE_LINEAR_CORNERS;
    if (factor > 0 && !corners) return (float)(1 / factor);
    if (wi_is_symbolic(in) || wi_is_symbolic(out)) return 0;
    if (corners) return out > 1 ? (float)(in - 1) / (float)(out - 1) : 0;
    return (float)in / (float)out;
}

/* Creates y at the sizes of a plan. `image` and `result` are the shapes of x and of the resampled x. */
static weft_tensor *at_scales(const weft_tensor *y, weft_tensor *const *inputs, const wi_shape *shape,
    const wi_attributes *attributes, const wi_shape *image, const wi_shape *result) {
    wi_attributes own = *attributes;
    for (int i = 1; i < shape->rank - 1; i++) {
        float *const scale = &own.resample.scale[i + 4 - shape->rank];
        if (*scale == 0) *scale = scale_of(image->dims[i], result->dims[i], 0, own.resample.mode);
    }
    return wi_node(y->graph, y->op, inputs, 1, y->dtype, shape, &own);
}

static weft_tensor *gradient_again(const weft_tensor *y, weft_tensor *const *inputs, const wi_shape *shape,
    const wi_attributes *attributes) {
    return at_scales(y, inputs, shape, attributes, shape, &inputs[0]->shape);
}

static weft_tensor *resample_again(const weft_tensor *y, weft_tensor *const *inputs, const wi_shape *shape,
    const wi_attributes *attributes) {
    return at_scales(y, inputs, shape, attributes, &inputs[0]->shape, shape);
}

const wi_op wi_op_resample_gradient = {.name = "resample gradient",
    .kind = WI_KERNEL,
    .attribute_bytes = sizeof(wi_resample_attributes),
    .remake = gradient_again,
    .takes_examples = true,
    .contiguous = 1};

static void resample_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    gradients[0] =
        wi_node(y->graph, &wi_op_resample_gradient, &g, 1, WEFT_F32, &y->inputs[0]->shape, y->attributes);
}

const wi_op wi_op_resample = {.name = "resample",
    .kind = WI_KERNEL,
    .attribute_bytes = sizeof(wi_resample_attributes),
    .remake = resample_again,
    .takes_examples = true,
    .contiguous = 1};

/* ---- the public functions ---- */

/* floor(size · factor) of a size that only plans know: the factor must be a whole number divided by a power of two, for which it is
 * exact. 0: it is none. */
static int64_t scaled_size(weft_graph *graph, int64_t size, double factor) {
    enum { MOST = 1 << 10 };
    int64_t by = 1;
    while (by < MOST && factor * (double)by != floor(factor * (double)by)) by *= 2;
    const double times = factor * (double)by;
    if (!(times >= 1 && times <= MOST && times == floor(times))) return 0;
    return wi_dim_divide(graph, wi_dim_multiply(graph, size, (int64_t)times), by);
}

/* The size of spatial axis i of the result. 0: an error is recorded. */
static int64_t size_of(const weft_tensor *x, const weft_resample_options *o, int i) {
    const int64_t most = INT64_C(1) << 30, size = o->sizes[i];
    const double factor = o->factors[i], scaled = floor((double)x->shape.dims[i + 2] * factor);
    char text[WI_SHAPE_TEXT];
    if ((size != 0) == (factor != 0))
        wi_graph_fail(x->graph, WEFT_ERROR_ARGUMENT,
            "resample: sizes[%d] is %lld and factors[%d] is %g: set exactly one of the two", i,
            (long long)size, i, factor);
    else if (size != 0 && (size < 0 || (size > most && !wi_is_symbolic(size))))
        wi_graph_fail(x->graph, WEFT_ERROR_ARGUMENT, "resample: sizes[%d] = %lld is not in 1..2^30", i,
            (long long)size);
    else if (size == 0 && wi_axis_is_symbolic(x, i + 2)) {
        const int64_t symbolic = scaled_size(x->graph, x->shape.dims[i + 2], factor);
        if (symbolic) return symbolic;
        wi_graph_fail(x->graph, WEFT_ERROR_UNSUPPORTED,
            "resample: factors[%d] = %g along axis %d of %s, which plans choose: expected a whole number, or "
            "a "
            "fraction with a power of 2 below, at most 1024",
            i, factor, i + 2, wi_shape_print(x->graph, &x->shape, text));
    } else if (size == 0 && !(factor > 0 && scaled >= 1 && scaled <= (double)most))
        wi_graph_fail(x->graph, WEFT_ERROR_ARGUMENT,
            "resample: factors[%d] = %g gives an axis of %lld elements a size outside 1..2^30", i, factor,
            (long long)x->shape.dims[i + 2]);
    else
        return size ? size : (int64_t)scaled;
    return 0;
}

/* Fills the fields that have a size or a factor for each axis. */
static bool read_axes(const weft_tensor *x, weft_resample_options *o) {
    const int axes = x->shape.rank - 2;
    const wi_spatial size = {"size", "sizes", o->size, o->sizes, .may_be_zero = true};
    if (!wi_spatial_read(x, "resample", axes, &size) ||
        !WI_TAKES_NUMBERS(x->graph, "resample", {"factor", o->factor}, {"factors[0]", o->factors[0]},
            {"factors[1]", o->factors[1]}, {"factors[2]", o->factors[2]}))
        return false;
    for (int i = 0; i < 3; i++) {
        if (o->factors[i] != 0 && (o->factor != 0 || i >= axes))
            return wi_graph_fail(x->graph, WEFT_ERROR_ARGUMENT,
                o->factor != 0 ? "resample: factors[%d] = %g and factor are both set: give one number for "
                                 "all spatial axes, or one for each"
                               : "resample: factors[%d] is %g, but x has fewer spatial axes",
                i, o->factors[i]);
        if (i < axes && o->factor != 0) o->factors[i] = o->factor;
    }
    return true;
}

static weft_tensor *build_resample(weft_tensor *x, const weft_resample_options *given) {
    weft_graph *graph = wi_image_graph("resample", x);
    weft_resample_options own;
    const weft_resample_options *const options = &own;
    if (!graph) return NULL;
    if (!given)
        return wi_graph_fail(
            graph, WEFT_ERROR_ARGUMENT, "resample: options is NULL; set sizes, factor or factors");
    if (!WI_GRAPH_OPTIONS(graph, &own, given, "resample", WEFT_RESAMPLE_OPTIONS_INIT)) return NULL;
    if (!read_axes(x, &own)) return NULL;
    if ((unsigned)options->mode > WEFT_RESAMPLE_LINEAR)
        return wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
            "resample: mode is %d, which is not a weft_resample_mode", (int)options->mode);
    if (options->align_corners && options->mode == WEFT_RESAMPLE_NEAREST)
        return wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
            "resample: align_corners is set, but only mode WEFT_RESAMPLE_LINEAR uses it");
    const uint32_t mode = options->mode == WEFT_RESAMPLE_NEAREST ? WI_RESAMPLE_NEAREST
                          : options->align_corners               ? WI_RESAMPLE_LINEAR_CORNERS
                                                                 : WI_RESAMPLE_LINEAR;
    wi_attributes attributes = {.resample = {.mode = mode, .scale = {1, 1}}};
    int64_t sizes[3] = {0};
    for (int i = 0; i < x->shape.rank - 2; i++) {
        sizes[i] = size_of(x, options, i);
        if (sizes[i] == 0) return NULL;
        attributes.resample.scale[i + 5 - x->shape.rank] =
            scale_of(x->shape.dims[i + 2], sizes[i], options->factors[i], mode);
    }
    return wi_pool(&wi_op_resample, x, &attributes, sizes);
}

weft_tensor *weft_resample(weft_tensor *x, const weft_resample_options *given) {
    return WI_CALL(x, "weft_resample", build_resample(x, given));
}

static weft_tensor *build_upsample_nearest(weft_tensor *x, int64_t factor) {
    const double f = (double)factor;
    return weft_resample(x, &(weft_resample_options){WEFT_RESAMPLE_OPTIONS_INIT, .factor = f});
}

weft_tensor *weft_upsample_nearest(weft_tensor *x, int64_t factor) {
    return WI_CALL(x, "weft_upsample_nearest", build_upsample_nearest(x, factor));
}

static weft_tensor *build_upsample_linear(weft_tensor *x, int64_t factor, bool align_corners) {
    const double f = (double)factor;
    return weft_resample(x, &(weft_resample_options){WEFT_RESAMPLE_OPTIONS_INIT, .mode = WEFT_RESAMPLE_LINEAR,
                                .factor = f, .align_corners = align_corners});
}

weft_tensor *weft_upsample_linear(weft_tensor *x, int64_t factor, bool align_corners) {
    return WI_CALL(x, "weft_upsample_linear", build_upsample_linear(x, factor, align_corners));
}

const wi_op_rules wi_resample_rules[] = {{.op = &wi_op_resample_gradient, .backward = gradient_backward},
    {.op = &wi_op_resample, .backward = resample_backward}, {0}};
