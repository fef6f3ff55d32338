/* Convolutions: checks, the three nodes and their gradients (contract in conv.h). The plan computes conv and
 * conv_data as matrix products over windows (kernels/convolution/conv_product.h), conv_weight has kernels of its own
 * (kernels/convolution/conv_weight.c). */
#include "ops/convolution/conv.h"
#include "graph/sizes.h"
#include "ops/op_table.h"
#include "ops/spatial.h"
#include <inttypes.h>
#include <stdio.h>
#include <weft/convolution.h>

/* ---- sizes of a node ---- */

wi_conv wi_conv_of(
    const wi_conv_attributes *attributes, const wi_extent *x, const wi_extent *y, const wi_shape *weight) {
    const int axes = x->rank - 2, first = 3 - axes;
    wi_conv conv = {.images = x->dims[0].actual,
        .groups = attributes->groups,
        .channels = weight->dims[1],
        .filters = weight->dims[0] / attributes->groups,
        .image = {1, 1, 1},
        .result = {1, 1, 1}};
    for (int i = 0; i < 3; i++) {
        conv.taps[i] = attributes->window.size[i];
        conv.stride[i] = attributes->window.stride[i];
        conv.dilation[i] = attributes->window.dilation[i];
        conv.before[i] = attributes->window.padding[i];
    }
    for (int i = 0; i < axes; i++) {
        conv.image[first + i] = x->dims[1 + i].actual;
        conv.result[first + i] = y->dims[1 + i].actual;
    }
    return conv;
}

double wi_conv_flops(const wi_conv *conv) {
    double flops =
        2.0 * (double)conv->images * (double)conv->groups * (double)conv->channels * (double)conv->filters;
    for (int i = 0; i < 3; i++) flops *= (double)conv->result[i] * (double)conv->taps[i];
    return flops;
}

bool wi_conv_is_pointwise(const wi_conv *conv) {
    for (int i = 0; i < 3; i++) {
        if (conv->taps[i] != 1 || conv->stride[i] != 1 || conv->before[i] != 0 ||
            conv->image[i] != conv->result[i])
            return false;
    }
    return true;
}

bool wi_conv_strides(const wi_extent *extent, const wi_layout *layout, int64_t strides[4]) {
    const int last = extent->rank - 1, axes = extent->rank - 2;
    strides[0] = layout->strides[0].actual;
    for (int i = 0; i < 3; i++)
        strides[1 + i] = i < 3 - axes ? 0 : layout->strides[i - (3 - axes) + 1].actual;
    return layout->strides[last].actual == 1 || extent->dims[last].actual == 1;
}

/* ---- nodes ---- */

static weft_tensor *conv_node(
    const wi_op *op, weft_tensor *a, weft_tensor *b, const wi_attributes *window, const wi_shape *shape) {
    weft_tensor *inputs[] = {a, b};
    return a && b ? wi_node(a->graph, op, inputs, 2, WEFT_F32, shape, window) : NULL;
}

static void conv_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    weft_tensor *x = y->inputs[0], *w = y->inputs[1];
    gradients[0] = conv_node(&wi_op_conv_data, g, w, y->attributes, &x->shape);
    gradients[1] = conv_node(&wi_op_conv_weight, x, g, y->attributes, &w->shape);
}
static void conv_data_backward(weft_tensor *image, weft_tensor *g, weft_tensor **gradients) {
    weft_tensor *y = image->inputs[0], *w = image->inputs[1];
    gradients[0] = conv_node(&wi_op_conv, g, w, image->attributes, &y->shape);
    gradients[1] = conv_node(&wi_op_conv_weight, g, y, image->attributes, &w->shape);
}
static void conv_weight_backward(weft_tensor *w, weft_tensor *g, weft_tensor **gradients) {
    weft_tensor *x = w->inputs[0], *y = w->inputs[1];
    gradients[0] = conv_node(&wi_op_conv_data, y, g, w->attributes, &x->shape);
    gradients[1] = conv_node(&wi_op_conv, x, g, w->attributes, &y->shape);
}

const wi_op wi_op_conv = {.name = "conv",
    .kind = WI_PRODUCT,
    .attribute_bytes = sizeof(wi_conv_attributes),
    .takes_examples = true};
const wi_op wi_op_conv_data = {.name = "conv_data",
    .kind = WI_PRODUCT,
    .attribute_bytes = sizeof(wi_conv_attributes),
    .takes_examples = true};
const wi_op wi_op_conv_weight = {.name = "conv_weight",
    .kind = WI_KERNEL,
    .attribute_bytes = sizeof(wi_conv_attributes),
    .takes_examples = true,
    .contiguous = 3};

/* ---- options ---- */

static weft_tensor *fail_axis(
    const weft_tensor *x, const char *op, const char *what, int64_t number, int axis, const char *rule) {
    return wi_graph_fail(x->graph, WEFT_ERROR_ARGUMENT,
        "%s: %s of %" PRId64 " along spatial axis %d, expected %s", op, what, number, axis, rule);
}

enum { MOST = 1 << 20 };

/* Fills a field with a number for each axis: the caller's number, or `least` if the caller gives none. False: a number
 * is below `least` or too large, and the error is recorded. */
static bool read_field(const weft_tensor *x, const char *op, int axes, const wi_spatial *field,
    const char *what, int64_t least) {
    if (!wi_spatial_read(x, op, axes, field)) return false;
    for (int i = 0; i < axes; i++) {
        if (field->numbers[i] == 0) field->numbers[i] = least;
        if (field->numbers[i] < least || field->numbers[i] > MOST)
            return fail_axis(x, op, what, field->numbers[i], i, least ? "1 or more" : "0 or more");
    }
    return true;
}

static bool is_given(const int64_t number, const int64_t numbers[3]) {
    return number || numbers[0] || numbers[1] || numbers[2];
}

/* Fills the paddings before and after each axis; those of WEFT_PADDING_SAME are computed later. */
static bool read_paddings(weft_conv_options *o, const char *op, const weft_tensor *x, int axes) {
    const wi_spatial after = {
        "padding_after", "paddings_after", o->padding_after, o->paddings_after, .may_be_zero = true};
    if (o->mode != WEFT_PADDING_EACH && is_given(o->padding_after, o->paddings_after))
        return wi_graph_fail(x->graph, WEFT_ERROR_ARGUMENT,
            "%s: padding_after is set, but only mode WEFT_PADDING_EACH uses it", op);
    if (o->mode == WEFT_PADDING_SAME && is_given(o->padding, o->paddings))
        return wi_graph_fail(x->graph, WEFT_ERROR_ARGUMENT,
            "%s: padding is set together with mode WEFT_PADDING_SAME, which computes the padding: set one of "
            "them",
            op);
    if (!read_field(x, op, axes, WI_SPATIAL(o, padding, true), "a padding", 0) ||
        !read_field(x, op, axes, &after, "a padding after the image", 0))
        return false;
    for (int i = 0; i < axes && o->mode != WEFT_PADDING_EACH; i++) o->paddings_after[i] = o->paddings[i];
    return true;
}

static bool read_output_paddings(
    weft_conv_options *o, const char *op, const weft_tensor *x, int axes, bool transposed) {
    if (!wi_spatial_read(x, op, axes, WI_SPATIAL(o, output_padding, true))) return false;
    for (int i = 0; i < axes; i++) {
        const int64_t bound = o->strides[i] > o->dilations[i] ? o->strides[i] : o->dilations[i];
        const int64_t more = o->output_paddings[i];
        if (more != 0 && !transposed)
            return fail_axis(
                x, op, "an output padding", more, i, "0, as only transposed convolutions have it");
        if (more < 0 || (more >= bound && transposed))
            return fail_axis(x, op, "an output padding", more, i, "0 or more, below the stride or dilation");
    }
    return true;
}

/* Fills the fields that have a number for each axis. False: a number is out of range, and the error is recorded. */
static bool read_options(weft_conv_options *options, const weft_conv_options *given, const char *op,
    const weft_tensor *x, int axes, bool transposed) {
    if (!WI_GRAPH_OPTIONS(x->graph, options, given, op, WEFT_CONV_OPTIONS_INIT)) return false;
    if (options->groups == 0) options->groups = 1;
    if (options->groups < 0 || options->groups > MOST)
        return wi_graph_fail(x->graph, WEFT_ERROR_ARGUMENT, "%s: groups is %" PRId64 ", expected 1 or more",
            op, options->groups);
    if ((unsigned)options->mode > WEFT_PADDING_SAME || (transposed && options->mode == WEFT_PADDING_SAME))
        return wi_graph_fail(
            x->graph, WEFT_ERROR_ARGUMENT, "%s: padding mode %d is not supported", op, (int)options->mode);
    return read_field(x, op, axes, WI_SPATIAL(options, stride, false), "a stride", 1) &&
           read_field(x, op, axes, WI_SPATIAL(options, dilation, false), "a dilation", 1) &&
           read_paddings(options, op, x, axes) && read_output_paddings(options, op, x, axes, transposed);
}

static void pad_same(weft_conv_options *options, int axis, int64_t image, int64_t reach) {
    const int64_t result = (image + options->strides[axis] - 1) / options->strides[axis];
    const int64_t missing = (result - 1) * options->strides[axis] + reach - image;
    options->paddings[axis] = missing > 0 ? missing / 2 : 0;
    options->paddings_after[axis] = missing > 0 ? missing - missing / 2 : 0;
}

static wi_attributes window_of(const weft_conv_options *options, const weft_tensor *weight, int axes) {
    wi_attributes attributes = {.conv = {.groups = (int32_t)options->groups}};
    wi_window *const window = &attributes.conv.window;
    for (int i = 0; i < 3; i++) {
        const int axis = i - (3 - axes);
        const bool there = axis >= 0;
        window->size[i] = there ? (int32_t)weight->shape.dims[2 + axis] : 1;
        window->stride[i] = there ? (int32_t)options->strides[axis] : 1;
        window->dilation[i] = there ? (int32_t)options->dilations[axis] : 1;
        window->padding[i] = there ? (int32_t)options->paddings[axis] : 0;
    }
    return attributes;
}

/* ---- checks ---- */

static weft_tensor *fail_shapes(
    const char *op, const weft_tensor *x, const weft_tensor *weight, const char *rule) {
    char text_x[WI_SHAPE_TEXT], text_w[WI_SHAPE_TEXT];
    return wi_graph_fail(x->graph, WEFT_ERROR_SHAPE, "%s: x %s and weight %s: %s", op,
        wi_shape_print(x->graph, &x->shape, text_x), wi_shape_print(weight->graph, &weight->shape, text_w),
        rule);
}

/* Checks ranks, dtypes, fixed sizes and channels. False: an error is recorded. */
static bool check_operands(
    const char *op, weft_tensor *x, weft_tensor *weight, weft_tensor *bias, int64_t groups, bool transposed) {
    const int rank = x->shape.rank;
    if (x->dtype != WEFT_F32 || weight->dtype != WEFT_F32 || (bias && bias->dtype != WEFT_F32))
        return wi_graph_fail(x->graph, WEFT_ERROR_DTYPE, "%s: takes f32, not (%s, %s%s%s)", op,
            weft_dtype_name(x->dtype), weft_dtype_name(weight->dtype), bias ? ", " : "",
            bias ? weft_dtype_name(bias->dtype) : "");
    if (rank < 3 || rank > 5 || weight->shape.rank != rank)
        return fail_shapes(op, x, weight,
            "expected x (N, C, spatial...) with one to three spatial axes, and a weight of the same rank, or "
            "(N, F, C / groups, K...) with kernels for each example");
    for (int i = 0; i < rank; i++) {
        if (weight->shape.dims[i] <= 0 || wi_axis_is_symbolic(weight, i) || (i > 0 && x->shape.dims[i] <= 0))
            return fail_shapes(op, x, weight,
                "the weight must have numbers as sizes, and channels and spatial sizes may be any size, but "
                "not the batch");
    }
    const int64_t channels = x->shape.dims[1], first = weight->shape.dims[0], second = weight->shape.dims[1];
    if (transposed ? channels != first || first % groups : channels != second * groups || first % groups) {
        char rule[160];
        snprintf(rule, sizeof rule, "with %" PRId64 " group%s the weight must be %s", groups,
            groups == 1 ? "" : "s",
            transposed ? "(C, F / groups, K...), and groups must divide C"
                       : "(F, C / groups, K...), and groups must divide C and F");
        return fail_shapes(op, x, weight, rule);
    }
    const int64_t filters = transposed ? second * groups : first;
    if (bias && (bias->shape.rank != 1 || bias->shape.dims[0] != filters))
        return fail_shapes(op, weight, bias, "the bias must be (F)");
    return true;
}

/* check_operands if the weight has kernels for each example. */
static bool check_each(
    const char *op, weft_tensor *x, weft_tensor *weight, weft_tensor *bias, int64_t groups) {
    const int64_t *const w = weight->shape.dims, *const b = bias ? bias->shape.dims : NULL;
    const int rank = bias ? bias->shape.rank : 0;
    if (x->dtype != WEFT_F32 || weight->dtype != WEFT_F32 || (bias && bias->dtype != WEFT_F32))
        return wi_graph_fail(
            x->graph, WEFT_ERROR_DTYPE, "%s: takes f32, not another dtype; weft_cast converts", op);
    for (int i = 1; i < weight->shape.rank; i++)
        if (w[i] <= 0 || wi_axis_is_symbolic(weight, i))
            return fail_shapes(op, x, weight, "the weight must have numbers as sizes after its first axis");
    if (w[0] != x->shape.dims[0] || x->shape.dims[1] != w[2] * groups || w[1] % groups)
        return fail_shapes(
            op, x, weight, "the weight must be (N, F, C / groups, K...), and groups must divide C and F");
    if (bias && b[rank - 1] == w[1] && (rank == 1 || (rank == 2 && b[0] == w[0]))) return true;
    return !bias || fail_shapes(op, weight, bias, "the bias must be (F) or (N, F)");
}

/* Adds the bias in memory order, in which filters are the last axis. */
static weft_tensor *finish(weft_tensor *node, weft_tensor *bias) {
    return wi_channels_first(bias ? weft_add(node, bias) : node);
}

/* Checks x, weight and bias, and reads the options. Returns the number of spatial axes; 0: an error is recorded. */
static int begin(const char *op, weft_tensor *const inputs[3], weft_conv_options *options,
    const weft_conv_options *given, bool transposed) {
    weft_tensor *const x = inputs[0], *const weight = inputs[1], *const bias = inputs[2];
    if (!wi_inputs_graph(op, inputs, bias ? 3 : 2)) return 0;
    const int axes = x->shape.rank - 2;
    if (axes < 1 || axes > 3)
        fail_shapes(op, x, weight, "expected x (N, C, spatial...) with one to three spatial axes");
    else if (read_options(options, given, op, x, axes, transposed) &&
             (!transposed && weight->shape.rank == x->shape.rank + 1
                     ? check_each(op, x, weight, bias, options->groups)
                     : check_operands(op, x, weight, bias, options->groups, transposed)))
        return axes;
    return 0;
}

/* ---- public ---- */

static weft_tensor *build_conv_with(
    weft_tensor *x, weft_tensor *weight, weft_tensor *bias, const weft_conv_options *given) {
    weft_conv_options options;
    const int axes = begin("conv", (weft_tensor *[]){x, weight, bias}, &options, given, false);
    if (axes == 0) return NULL;
    wi_shape result = {.rank = x->shape.rank};
    result.dims[0] = x->shape.dims[0];
    result.dims[result.rank - 1] = weight->shape.dims[0];
    const bool each = weight->shape.rank > x->shape.rank;
    for (int i = 0; i < axes; i++) {
        const int64_t image = x->shape.dims[2 + i],
                      reach = options.dilations[i] * (weight->shape.dims[2 + each + i] - 1) + 1;
        const bool is_known = !wi_axis_is_symbolic(x, 2 + i);
        if (options.mode == WEFT_PADDING_SAME && options.strides[i] > 1 && !is_known)
            return fail_shapes("conv", x, weight,
                "with mode WEFT_PADDING_SAME and a stride above 1 the sizes of the image must be numbers");
        if (options.mode == WEFT_PADDING_SAME) pad_same(&options, i, is_known ? image : reach, reach);
        const int64_t room = image + options.paddings[i] + options.paddings_after[i] - reach;
        if (room < 0) {
            char rule[160];
            snprintf(rule, sizeof rule,
                "along spatial axis %d a window of %" PRId64 " is larger than the padded image of %" PRId64,
                i, reach, image + options.paddings[i] + options.paddings_after[i]);
            return fail_shapes("conv", x, weight, rule);
        }
        result.dims[1 + i] = wi_dim_add(x->graph, wi_dim_divide(x->graph, room, options.strides[i]), 1);
    }
    if (each) return wi_conv_each(x, weight, bias, &options, axes);
    const wi_attributes attributes = window_of(&options, weight, axes);
    return finish(conv_node(&wi_op_conv, wi_channels_last(x), weight, &attributes, &result), bias);
}

weft_tensor *weft_conv_with(
    weft_tensor *x, weft_tensor *weight, weft_tensor *bias, const weft_conv_options *given) {
    return WI_CALL(x, "weft_conv_with", build_conv_with(x, weight, bias, given));
}

static weft_tensor *build_conv_transpose_with(
    weft_tensor *x, weft_tensor *weight, weft_tensor *bias, const weft_conv_options *given) {
    weft_conv_options options;
    const int axes = begin("conv_transpose", (weft_tensor *[]){x, weight, bias}, &options, given, true);
    if (axes == 0) return NULL;
    wi_shape result = {.rank = x->shape.rank};
    result.dims[0] = x->shape.dims[0];
    result.dims[result.rank - 1] = weight->shape.dims[1] * options.groups;
    for (int i = 0; i < axes; i++) {
        const int64_t reach = options.dilations[i] * (weight->shape.dims[2 + i] - 1) + 1;
        const int64_t size = wi_dim_multiply(x->graph, x->shape.dims[2 + i] - 1, options.strides[i]) -
                             options.paddings[i] - options.paddings_after[i] + reach +
                             options.output_paddings[i];
        if (size < 1) {
            char rule[128];
            snprintf(rule, sizeof rule, "along spatial axis %d the result would have %" PRId64 " elements", i,
                size);
            return fail_shapes("conv_transpose", x, weight, rule);
        }
        result.dims[1 + i] = size;
    }
    const wi_attributes attributes = window_of(&options, weight, axes);
    return finish(conv_node(&wi_op_conv_data, wi_channels_last(x), weight, &attributes, &result), bias);
}

weft_tensor *weft_conv_transpose_with(
    weft_tensor *x, weft_tensor *weight, weft_tensor *bias, const weft_conv_options *given) {
    return WI_CALL(x, "weft_conv_transpose_with", build_conv_transpose_with(x, weight, bias, given));
}

const wi_op_rules wi_conv_rules[] = {{.op = &wi_op_conv, .backward = conv_backward},
    {.op = &wi_op_conv_data, .backward = conv_data_backward},
    {.op = &wi_op_conv_weight, .backward = conv_weight_backward}, {0}};
