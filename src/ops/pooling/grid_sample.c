/* Images at positions that a tensor gives, by gathers of the pixels around each position, so that gradients of any order reach the image
 * and the positions. */
#include "base/options.h"
#include "graph/sizes.h"
#include "ops/movement/memory_order.h"
#include "ops/pooling/pool.h"

/* An image as rows of channels (N, H·W, C), its height and width, and what is between and outside of the pixels. */
typedef struct sampled_image {
    weft_tensor *pixels;
    int64_t sizes[2];
    weft_grid_sample_options options;
} sampled_image;

/* The positions (N, P) along axis 0 (height) or 1 (width), in pixels. In zero padding, those beyond the pixels outside of the border are
 * moved to these pixels, which are 0, so that all positions fit into an i32. */
static weft_tensor *positions(const sampled_image *image, weft_tensor *grid, int axis) {
    const int64_t size = image->sizes[axis], edge = image->options.border ? 0 : 1;
    const double middle = (double)(size - 1) / 2,
                 half = image->options.align_corners ? middle : (double)size / 2;
    weft_tensor *at = weft_squeeze(weft_slice(grid, 2, 1 - axis, 2 - axis), 2);
    return weft_clamp(
        weft_add_number(weft_mul_number(at, half), middle), (double)-edge, (double)(size - 1 + edge));
}

/* A row or column of pixels, i32, moved into the image. */
static weft_tensor *inside(weft_tensor *place, int64_t size) {
    return weft_maximum_number(weft_minimum_number(place, (double)(size - 1)), 0);
}

static weft_tensor *is_inside(weft_tensor *place, int64_t size) {
    return weft_logical_and(weft_greater_equal_number(place, 0), weft_less_number(place, (double)size));
}

/* The pixels (N, P, C) at row and column (N, P), times the weight (N, P); 0 outside of the image. */
static weft_tensor *pixels_at(
    const sampled_image *image, weft_tensor *row, weft_tensor *column, weft_tensor *weight) {
    const int64_t height = image->sizes[0], width = image->sizes[1];
    weft_tensor *index = weft_add(weft_mul_number(inside(row, height), (double)width), inside(column, width));
    if (!index) return NULL;
    const int64_t dims[] = {index->shape.dims[0], index->shape.dims[1], image->pixels->shape.dims[2]};
    weft_tensor *value = weft_gather(image->pixels, 1, weft_expand(weft_unsqueeze(index, 2), 3, dims));
    if (weight) value = weft_mul(value, weft_unsqueeze(weight, 2));
    if (image->options.border || !value) return value;
    weft_tensor *seen = weft_logical_and(is_inside(row, height), is_inside(column, width));
    return weft_where(weft_unsqueeze(seen, 2), value, weft_number(value, 0));
}

/* The four pixels around each position, weighted by how near they are. */
static weft_tensor *bilinear(const sampled_image *image, weft_tensor *const at[2]) {
    weft_tensor *places[2][2], *weights[2][2], *sum = NULL;
    for (int axis = 0; axis < 2; axis++) {
        weft_tensor *before = weft_floor(at[axis]);
        places[axis][0] = weft_cast(before, WEFT_I32);
        places[axis][1] = weft_add_number(places[axis][0], 1);
        weights[axis][1] = weft_sub(at[axis], before);
        weights[axis][0] = weft_number_sub(1, weights[axis][1]);
    }
    for (int corner = 0; corner < 4; corner++) {
        const int i = corner / 2, j = corner % 2;
        weft_tensor *part =
            pixels_at(image, places[0][i], places[1][j], weft_mul(weights[0][i], weights[1][j]));
        sum = corner ? weft_add(sum, part) : part;
    }
    return sum;
}

static weft_tensor *nearest(const sampled_image *image, weft_tensor *const at[2]) {
    weft_tensor *places[2];
    for (int axis = 0; axis < 2; axis++) places[axis] = weft_cast(weft_round(at[axis]), WEFT_I32);
    return pixels_at(image, places[0], places[1], NULL);
}

static bool shapes_good(const weft_tensor *x, const weft_tensor *grid) {
    char image[WI_SHAPE_TEXT], places[WI_SHAPE_TEXT];
    const wi_shape *const a = &x->shape, *const b = &grid->shape;
    if (a->rank == 4 && b->rank == 4 && a->dims[0] == b->dims[0] && b->dims[3] == 2 &&
        !wi_axis_is_symbolic(x, 2) && !wi_axis_is_symbolic(x, 3))
        return true;
    wi_graph_fail(x->graph, WEFT_ERROR_SHAPE,
        "grid_sample: the image is %s and the grid %s: expected (N, C, H, W) with a fixed height and width, "
        "and (N, h, w, 2)",
        wi_shape_print(x->graph, a, image), wi_shape_print(grid->graph, b, places));
    return false;
}

static weft_tensor *build_grid_sample(
    weft_tensor *x, weft_tensor *grid, const weft_grid_sample_options *given) {
    weft_tensor *const inputs[] = {x, grid};
    sampled_image image;
    weft_graph *graph = wi_inputs_graph("grid_sample", inputs, 2);
    if (!graph || !wi_image_graph("grid_sample", x) ||
        !WI_GRAPH_OPTIONS(graph, &image.options, given, "grid_sample", WEFT_GRID_SAMPLE_OPTIONS_INIT))
        return NULL;
    if (grid->dtype != WEFT_F32)
        return wi_graph_fail(graph, WEFT_ERROR_DTYPE, "grid_sample: the grid is %s, expected f32",
            weft_dtype_name(grid->dtype));
    if (!shapes_good(x, grid)) return NULL;
    image.pixels = weft_flatten_axes(weft_channels_last(x), 1, 2);
    weft_tensor *flat = weft_flatten_axes(grid, 1, 2); /* (N, P, 2) */
    for (int i = 0; i < 2; i++) image.sizes[i] = x->shape.dims[2 + i];
    weft_tensor *const at[] = {positions(&image, flat, 0), positions(&image, flat, 1)};
    weft_tensor *y = image.options.nearest ? nearest(&image, at) : bilinear(&image, at);
    if (!y) return NULL;
    const int64_t *const places = grid->shape.dims,
                         dims[] = {places[0], places[1], places[2], x->shape.dims[1]};
    return weft_channels_first(weft_reshape_shape(y, 4, dims));
}

weft_tensor *weft_grid_sample(weft_tensor *x, weft_tensor *grid, const weft_grid_sample_options *options) {
    return WI_CALL(x, "weft_grid_sample", build_grid_sample(x, grid, options));
}
