/* Ops of ONNX that pad, crop and rearrange, diagonals and determinants. */
#include "onnx/onnx_build.h"
#include "onnx/onnx_types.h"
#include <string.h>

/* ---- padding ---- */

/* Writes the given axes, or all axes if none are given, as indices from 0 on. Returns their number; -1 after an error. */
static int read_axes(wi_onnx_import *n, wi_onnx_node *node, const wi_onnx_list *given, int rank, int *axes) {
    bool seen[WEFT_MAX_RANK] = {false};
    const int count = given->count > 0 ? given->count : rank;
    for (int i = 0; i < count; i++) {
        const int64_t axis = given->count > 0 ? given->of[i] : i;
        const bool is_one = axis >= -rank && axis < rank && i < WEFT_MAX_RANK;
        if (!is_one || seen[wi_onnx_axis(axis, rank)])
            return wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "there is no axis %lld, or it is named twice",
                       (long long)axis),
                   -1;
        axes[i] = wi_onnx_axis(axis, rank);
        seen[axes[i]] = true;
    }
    return count;
}

/* Applies the negative paddings, which remove elements, and sets them to 0. */
static weft_tensor *crop(weft_tensor *x, int64_t *before, int64_t *after) {
    for (int d = 0, rank = x ? weft_tensor_rank(x) : 0; x && d < rank; d++) {
        const int64_t low = before[d] < 0 ? -before[d] : 0, high = after[d] < 0 ? after[d] : WEFT_END;
        if (before[d] < 0 || after[d] < 0) x = weft_slice(x, d, low, high);
        before[d] = before[d] < 0 ? 0 : before[d];
        after[d] = after[d] < 0 ? 0 : after[d];
    }
    return x;
}

static weft_tensor *pad(
    wi_onnx_import *n, wi_onnx_node *node, weft_tensor *x, int64_t *before, int64_t *after, double value) {
    static const char *const names[] = {"constant", "reflect", "edge", "wrap", NULL};
    static const weft_pad_mode modes[] = {WEFT_PAD_CONSTANT, WEFT_PAD_REFLECT, WEFT_PAD_EDGE, WEFT_PAD_WRAP};
    const int mode = wi_onnx_need_choice(n, node, "mode", names);
    if (mode < 0) return NULL;
    return weft_pad(crop(x, before, after), before, after, modes[mode], mode == 0 ? value : 0);
}

/* Numbers for each axis are attributes up to version 10, inputs from 11 on. */
static weft_tensor *build_pad(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    const wi_onnx_list pads = wi_onnx_has(node, 1)              ? wi_onnx_get_list(n, node, 1, "pads")
                              : wi_onnx_attribute(node, "pads") ? wi_onnx_wholes(node, "pads")
                                                                : wi_onnx_wholes(node, "paddings");
    const wi_onnx_list given =
        wi_onnx_has(node, 3) ? wi_onnx_get_list(n, node, 3, "axes") : (wi_onnx_list){0};
    const double value = wi_onnx_get_number(n, node, 2, wi_onnx_real(node, "value", 0));
    int64_t before[WEFT_MAX_RANK] = {0}, after[WEFT_MAX_RANK] = {0};
    int axes[WEFT_MAX_RANK];
    if (!x || n->status != WEFT_OK) return NULL;
    const int count = read_axes(n, node, &given, weft_tensor_rank(x), axes);
    if (count < 0) return NULL;
    if (pads.count != 2 * count)
        return wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "it needs two numbers for each axis");
    for (int i = 0; i < count; i++) {
        before[axes[i]] = pads.of[i], after[axes[i]] = pads.of[count + i];
        if (pads.of[i] == INT64_MIN || pads.of[count + i] == INT64_MIN)
            return wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "its pads are out of range");
    }
    return pad(n, node, x, before, after, value);
}

/* Removes elements, or adds zeros, at both ends of an axis. If their number is odd, there is one more at the end. */
static weft_tensor *build_center_crop_pad(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    const wi_onnx_list shape = wi_onnx_get_list(n, node, 1, "the shape"),
                       given = wi_onnx_wholes(node, "axes");
    int64_t before[WEFT_MAX_RANK] = {0}, after[WEFT_MAX_RANK] = {0};
    int axes[WEFT_MAX_RANK];
    if (!x || n->status != WEFT_OK) return NULL;
    const int count = read_axes(n, node, &given, weft_tensor_rank(x), axes);
    if (count < 0) return NULL;
    if (shape.count != count)
        return wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "the number of sizes in its shape is %d, expected %d",
            shape.count, count);
    for (int i = 0; i < count; i++) {
        const int64_t size = wi_onnx_fixed_size(x, axes[i]);
        if (size == 0 || shape.of[i] < 1 || shape.of[i] > INT32_MAX)
            return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "its sizes must be fixed, and 1 or more");
        const int64_t more = shape.of[i] - size;
        before[axes[i]] = more / 2; /* toward 0 */
        after[axes[i]] = more - more / 2;
    }
    return weft_pad(crop(x, before, after), before, after, WEFT_PAD_CONSTANT, 0);
}

/* ---- blocks of pixels ---- */

/* The block's size, for an image of four axes; 0 after an error. */
static int64_t block_of(wi_onnx_import *n, wi_onnx_node *node, const weft_tensor *x) {
    const int64_t block = wi_onnx_whole(node, "blocksize", 0);
    if (weft_tensor_rank(x) == 4 && block >= 1 && block <= 1 << 15) return block;
    wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "it needs a blocksize, and an image of four axes");
    return 0;
}

/* Moves channels to blocks of pixels. The index of a channel has the position in the block as its slowest part (DCR) or as its fastest
 * part (CRD). */
static weft_tensor *build_depth_to_space(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    const int64_t b = x ? block_of(n, node, x) : 0;
    const int mode = wi_onnx_need_choice(n, node, "mode", (const char *const[]){"DCR", "CRD", NULL});
    const bool last = mode == 1;
    int64_t d[WEFT_MAX_RANK];
    if (b == 0 || mode < 0) return NULL;
    wi_onnx_dims(x, d);
    if (wi_onnx_fixed_size(x, 1) % (b * b) != 0 || wi_onnx_fixed_size(x, 1) == 0)
        return wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "its blocks do not divide the channels");
    const int64_t split[] = {d[0], last ? d[1] / b / b : b, b, last ? b : d[1] / b / b, d[2], d[3]};
    const int axes[] = {0, last ? 1 : 3, 4, last ? 2 : 1, 5, last ? 3 : 2};
    return weft_reshape_shape(weft_permute_axes(weft_reshape_shape(x, 6, split), 6, axes), 4,
        (const int64_t[]){d[0], d[1] / b / b, d[2] * b, d[3] * b});
}

static weft_tensor *build_space_to_depth(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    const int64_t b = x ? block_of(n, node, x) : 0;
    int64_t d[WEFT_MAX_RANK];
    if (b == 0) return NULL;
    wi_onnx_dims(x, d);
    const int64_t channels = wi_onnx_fixed_size(x, 1), rows = wi_onnx_fixed_size(x, 2),
                  columns = wi_onnx_fixed_size(x, 3);
    if (channels == 0 || rows == 0 || columns == 0 || rows % b != 0 || columns % b != 0)
        return wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "its blocks do not divide the image");
    const int64_t split[] = {d[0], d[1], d[2] / b, b, d[3] / b, b};
    const int axes[] = {0, 3, 5, 1, 2, 4};
    return weft_reshape_shape(weft_permute_axes(weft_reshape_shape(x, 6, split), 6, axes), 4,
        (const int64_t[]){d[0], d[1] * b * b, d[2] / b, d[3] / b});
}

/* An axis of the image of col2im. */
typedef struct axis {
    int64_t size, window, stride, dilation, before, after, count;
} axis;

static int64_t entry(const wi_onnx_list *list, int index, int64_t otherwise) {
    return index < list->count ? list->of[index] : otherwise;
}

static bool read_image(axis *axes, int *rank, wi_onnx_import *n, wi_onnx_node *node) {
    enum { MOST = 1 << 24 };
    const wi_onnx_list size = wi_onnx_get_list(n, node, 1, "the image's shape"),
                       window = wi_onnx_get_list(n, node, 2, "the block's shape"),
                       strides = wi_onnx_wholes(node, "strides"),
                       dilations = wi_onnx_wholes(node, "dilations"), pads = wi_onnx_wholes(node, "pads");
    bool good = size.count >= 1 && size.count <= 3 && size.count == window.count;
    *rank = size.count;
    for (int d = 0; n->status == WEFT_OK && good && d < *rank; d++) {
        axis *const a = &axes[d];
        *a = (axis){size.of[d], window.of[d], entry(&strides, d, 1), entry(&dilations, d, 1),
            entry(&pads, d, 0), entry(&pads, d + *rank, 0), 0};
        good = a->size > 0 && a->window > 0 && a->stride > 0 && a->dilation > 0 && a->before >= 0 &&
               a->after >= 0 && a->size < MOST && a->window < MOST && a->stride < MOST &&
               a->dilation < MOST && a->before < MOST && a->after < MOST;
        const int64_t room = good ? a->size + a->before + a->after - a->dilation * (a->window - 1) - 1 : -1;
        good = good && room >= 0;
        a->count = good ? room / a->stride + 1 : 0;
    }
    if (!good) wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "its sizes are out of range");
    return good && n->status == WEFT_OK;
}

/* Adds each column to the elements of its window: a transposed convolution, whose weights have a single 1 for each channel. */
static weft_tensor *place_windows(
    wi_onnx_import *n, weft_tensor *columns, const axis *axes, int rank, int64_t channels, int64_t block) {
    int64_t dims[WEFT_MAX_RANK], split[WEFT_MAX_RANK];
    weft_conv_options options = {WEFT_CONV_OPTIONS_INIT, .mode = WEFT_PADDING_EACH, .groups = channels};
    dims[0] = weft_tensor_dimension(columns, 0), split[0] = channels * block;
    dims[1] = channels * block, split[1] = 1;
    for (int d = 0; d < rank; d++) {
        const axis *const a = &axes[d];
        dims[d + 2] = a->count, split[d + 2] = a->window;
        options.strides[d] = a->stride, options.dilations[d] = a->dilation;
        options.paddings[d] = a->before, options.paddings_after[d] = a->after;
        options.output_paddings[d] =
            a->size - ((a->count - 1) * a->stride - a->before - a->after + a->dilation * (a->window - 1) + 1);
    }
    weft_tensor *const ones =
        weft_expand(weft_eye(n->graph, WEFT_F32, block, block), 3, (const int64_t[]){channels, block, block});
    return weft_conv_transpose_with(weft_reshape_shape(columns, rank + 2, dims),
        weft_reshape_shape(ones, rank + 2, split), NULL, &options);
}

static weft_tensor *build_col2im(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    axis axes[3];
    int rank;
    int64_t block = 1, count = 1;
    if (!x || !read_image(axes, &rank, n, node)) return NULL;
    for (int d = 0; d < rank; d++) {
        count *= axes[d].count;
        block = block < INT32_MAX ? block * axes[d].window : block;
    }
    const int64_t channels = weft_tensor_rank(x) == 3 ? wi_onnx_fixed_size(x, 1) : 0;
    if (channels == 0 || channels % block != 0 || weft_tensor_dimension(x, 2) != count)
        return wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "its columns do not match the image");
    return place_windows(n, x, axes, rank, channels / block, block);
}

/* ---- matrices ---- */

/* Keeps the elements above or below a diagonal; the others become 0. */
static weft_tensor *build_trilu(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    const double diagonal = wi_onnx_get_number(n, node, 1, 0);
    if (!x || n->status != WEFT_OK) return NULL;
    const double most = (double)INT32_MAX;
    const int64_t k = (int64_t)(diagonal > most ? most : diagonal < -most ? -most : diagonal);
    const bool is_bool = weft_tensor_dtype(x) == WEFT_BOOL;
    weft_tensor *const all = is_bool ? weft_cast(x, WEFT_I32) : x;
    weft_tensor *const y = wi_onnx_whole(node, "upper", 1) ? weft_triu(all, k) : weft_tril(all, k);
    return is_bool ? weft_cast(y, WEFT_BOOL) : y;
}

/* 1 on a diagonal of a matrix of the input's shape. */
static weft_tensor *build_eye_like(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    const int type = (int)wi_onnx_whole(node, "dtype", wi_onnx_get_type(n, node, 0));
    const int64_t k = wi_onnx_whole(node, "k", 0);
    if (!x) return NULL;
    if (weft_tensor_rank(x) != 2 || k <= INT32_MIN || k >= INT32_MAX)
        return wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "it needs a matrix");
    weft_tensor *const row = wi_onnx_iota(n, x, 0, 2), *const column = wi_onnx_iota(n, x, 1, 2);
    weft_tensor *const y =
        wi_onnx_cast(n, node, weft_equal(weft_sub(column, row), weft_number(row, (double)k)), type, true);
    if (y) wi_onnx_set_type(n, node, 0, type);
    return y;
}

/* The determinant of a submatrix by Laplace expansion along its first row. Its rows are those from `row` on; `columns` has a bit for each
 * of its columns. */
static weft_tensor *expand_row(weft_tensor *(*const a)[4], int size, int row, unsigned columns) {
    weft_tensor *sum = NULL;
    for (int c = 0, sign = 1; c < size; c++) {
        if (!(columns >> c & 1)) continue;
        weft_tensor *const minor = row + 1 < size ? expand_row(a, size, row + 1, columns & ~(1u << c)) : NULL;
        weft_tensor *const term = minor ? weft_mul(a[row][c], minor) : a[row][c];
        sum = !sum ? term : sign > 0 ? weft_add(sum, term) : weft_sub(sum, term);
        sign = -sign;
    }
    return sum;
}

static weft_tensor *build_det(wi_onnx_import *n, wi_onnx_node *node) {
    enum { MOST = 4 };
    weft_tensor *a[MOST][MOST], *const x = wi_onnx_get(n, node, 0);
    const int rank = x ? weft_tensor_rank(x) : 0;
    if (!x) return NULL;
    const int64_t size = rank >= 2 ? weft_tensor_dimension(x, rank - 1) : 0;
    if (size < 1 || size > MOST || weft_tensor_dimension(x, rank - 2) != size)
        return wi_onnx_fail(
            n, node, WEFT_ERROR_UNSUPPORTED, "it needs square matrices of up to %d rows", MOST);
    for (int r = 0; r < size; r++)
        for (int c = 0; c < size; c++)
            a[r][c] = weft_squeeze_axes(
                weft_slice(weft_slice(x, -2, r, r + 1), -1, c, c + 1), (const int64_t[]){-2, -1, WEFT_END});
    return expand_row(a, (int)size, 0, (1u << size) - 1);
}

const wi_onnx_op wi_onnx_block_ops[] = {{"Pad", .build = build_pad, .host = 1u << 1 | 1u << 2 | 1u << 3},
    {"CenterCropPad", .build = build_center_crop_pad, .host = 1u << 1},
    {"DepthToSpace", .build = build_depth_to_space}, {"SpaceToDepth", .build = build_space_to_depth},
    {"Col2Im", .build = build_col2im, .host = 1u << 1 | 1u << 2},
    {"Trilu", .build = build_trilu, .host = 1u << 1}, {"EyeLike", .build = build_eye_like},
    {"Det", .build = build_det}, {0}};
