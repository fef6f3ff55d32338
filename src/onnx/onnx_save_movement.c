/* Views, movements, indexing, scans and sorting in ONNX. */
#include "onnx/onnx_save.h"
#include "ops/index/index.h"
#include "ops/scan/scan.h"
#include <math.h>

static wi_export_value *value_of(wi_export *e, const weft_tensor *y, int index) {
    return wi_export_of(e, y->inputs[index]);
}

static bool is_fixed(const wi_export *e, const weft_tensor *y) {
    (void)e;
    return !wi_export_has_open(&y->shape) && !wi_export_has_open(&y->inputs[0]->shape);
}

/* ---- views ---- */

static wi_export_value *emit_reshape(wi_export *e, weft_tensor *y, const char *name) {
    wi_export_value *const part = wi_export_scan_part(e, y);
    (void)name;
    return part ? part : wi_export_reshape(e, value_of(e, y, 0), &y->inputs[0]->shape, &y->shape);
}

/* Writes a permute. A permute between the memory orders of images in Weft (channels last) and ONNX (channels first) writes no node: the input
 * is already in ONNX's order. */
static wi_export_value *emit_permute(wi_export *e, weft_tensor *y, const char *name) {
    const int rank = y->shape.rank;
    const int8_t *const axes = y->attributes->permute.axes;
    wi_export_entry *const x = wi_export_entry_of(e, wi_export_resolve(e, y->inputs[0]));
    int64_t order[WEFT_MAX_RANK];
    bool to_last = rank > 2, to_first = rank > 2;
    for (int i = 0; i < rank; i++) {
        order[i] = axes[i];
        to_last = to_last && axes[i] == (i == 0 ? 0 : i == rank - 1 ? 1 : i + 1);
        to_first = to_first && axes[i] == (i == 0 ? 0 : i == 1 ? rank - 1 : i - 1);
    }
    if (to_first && x->first) return x->first;
    wi_export_value *const value = wi_export_of(e, y->inputs[0]);
    if (to_last) wi_export_entry_of(e, y)->first = value;
    if (to_last) return NULL;
    return wi_export_op(e, name, WI_FROM(value), WI_WITH(WI_WHOLES("perm", order, rank)));
}

/* Writes an expand. Axes whose size does not change have 1 in the shape, which leaves the size of the input. */
static wi_export_value *emit_expand(wi_export *e, weft_tensor *y, const char *name) {
    const wi_shape *const x = &y->inputs[0]->shape;
    int64_t dims[WEFT_MAX_RANK];
    for (int i = 0; i < y->shape.rank; i++) {
        const int own = i - (y->shape.rank - x->rank);
        dims[i] = own >= 0 && x->dims[own] == y->shape.dims[i] ? 1 : y->shape.dims[i];
    }
    return wi_export_two(e, name, value_of(e, y, 0), wi_export_shape(e, y->shape.rank, dims));
}

/* ---- slices ---- */

/* Writes a slice. Its start and size are both numbers or both multiples of the batch, except for a slice with a step up to the end of an open
 * axis. */
static wi_export_value *emit_slice(wi_export *e, weft_tensor *y, const char *name) {
    const wi_slice_attributes *const a = &y->attributes->slice;
    const int64_t axis = a->axis, size = y->shape.dims[axis], last = a->start + (size - 1) * a->step;
    wi_export_value *const end = a->step == 1              ? wi_export_size(e, a->start + size)
                                 : wi_export_is_open(size) ? wi_export_ints(e, &(int64_t){INT64_MAX}, 1)
                                                           : wi_export_size(e, last + 1);
    return wi_export_op(e, name,
        WI_FROM(value_of(e, y, 0), wi_export_size(e, a->start), end, wi_export_ints(e, &axis, 1),
            wi_export_ints(e, &a->step, 1)),
        NULL);
}

static wi_export_value *emit_flip(wi_export *e, weft_tensor *y, const char *name) {
    int64_t axes[WEFT_MAX_RANK], starts[WEFT_MAX_RANK], ends[WEFT_MAX_RANK];
    int count = 0;
    for (int i = 0; i < y->shape.rank; i++) {
        if (!(y->attributes->over.axes >> i & 1)) continue;
        starts[count] = -1;
        ends[count] = INT64_MIN;
        axes[count++] = i;
    }
    wi_export_value *const back = wi_export_ints(e, starts, count), *const end =
                                                                        wi_export_ints(e, ends, count);
    return wi_export_op(
        e, name, WI_FROM(value_of(e, y, 0), back, end, wi_export_ints(e, axes, count), back), NULL);
}

/* The diagonal of a matrix flattened to (..., rows · columns): every (columns + 1)-th element. */
static weft_tensor *diagonal_parts(weft_tensor *y) {
    const wi_diagonal_attributes *const a = &y->attributes->diagonal;
    weft_tensor *const x = y->inputs[0];
    const int rank = x->shape.rank;
    const int64_t columns = x->shape.dims[a->columns], size = y->shape.dims[rank - 2];
    const int64_t start = a->offset < 0 ? -a->offset * columns : a->offset;
    int order[WEFT_MAX_RANK], count = 0;
    for (int i = 0; i < rank; i++)
        if (i != a->rows && i != a->columns) order[count++] = i;
    order[count++] = a->rows;
    order[count++] = a->columns;
    weft_tensor *const flat = weft_flatten_axes(weft_permute_axes(x, rank, order), rank - 2, rank - 1);
    return weft_slice_step(flat, rank - 2, start, start + (size - 1) * (columns + 1) + 1, columns + 1);
}

/* ---- padding ---- */

static bool can_pad(const wi_export *e, const weft_tensor *y) {
    for (int i = 0; i < y->shape.rank; i++) {
        const int mode = y->attributes->padding.mode[i];
        if (mode == WI_PADDING_INTERIOR || (mode == WI_PADDING_WRAP && e->options.opset < 19)) return false;
    }
    return true;
}

/* Writes a Pad node for the axes that are padded in this mode. */
static wi_export_value *pad(
    wi_export *e, const weft_tensor *y, wi_export_value *x, int mode, const char *text) {
    const wi_padding_attributes *const a = &y->attributes->padding;
    int64_t pads[2 * WEFT_MAX_RANK] = {0};
    const int rank = y->shape.rank;
    bool pads_any = false;
    for (int i = 0; i < rank; i++) {
        if (a->mode[i] != mode) continue;
        pads[i] = a->before[i];
        pads[rank + i] = wi_position_add(e->graph, wi_counted(e->graph, y->shape.dims[i]),
            wi_position_add(e->graph, wi_counted(e->graph, y->inputs[0]->shape.dims[i]), a->before[i], 1),
            -1);
        pads_any = true;
        if (wi_export_is_open(pads[i]) || wi_export_is_open(pads[rank + i]))
            return wi_export_refuse(e, y, "paddings of an open size");
    }
    if (!pads_any) return x;
    wi_export_value *const outside =
        mode == WI_PADDING_CONSTANT ? wi_export_number(e, y->dtype, a->outside) : &wi_export_none;
    return wi_export_op(
        e, "Pad", WI_FROM(x, wi_export_ints(e, pads, 2 * rank), outside), WI_WITH(WI_TEXT("mode", text)));
}

static wi_export_value *emit_pad(wi_export *e, weft_tensor *y, const char *name) {
    static const char *const texts[] = {[WI_PADDING_CONSTANT] = "constant",
        [WI_PADDING_EDGE] = "edge",
        [WI_PADDING_REFLECT] = "reflect",
        [WI_PADDING_WRAP] = "wrap"};
    wi_export_value *x = value_of(e, y, 0);
    (void)name;
    for (int mode = 0; mode <= WI_PADDING_WRAP; mode++)
        if (texts[mode]) x = pad(e, y, x, mode, texts[mode]);
    return x;
}

/* Replaces the padding of wrapped axes by concatenations; the other axes stay as they are. */
static weft_tensor *pad_parts(weft_tensor *y) {
    const wi_padding_attributes *const a = &y->attributes->padding;
    weft_tensor *x = y->inputs[0];
    for (int i = 0; x && i < y->shape.rank; i++) {
        if (a->mode[i] == WI_PADDING_NONE) continue;
        if (a->mode[i] != WI_PADDING_WRAP) return NULL;
        const int64_t n = x->shape.dims[i], before = a->before[i], after = y->shape.dims[i] - n - before;
        weft_tensor *parts[3];
        size_t count = 0;
        if (before) parts[count++] = weft_slice(x, i, n - before, n);
        parts[count++] = x;
        if (after) parts[count++] = weft_slice(x, i, 0, after);
        x = weft_concat(parts, count, i);
    }
    return x;
}

static weft_tensor *roll_parts(weft_tensor *y) {
    weft_tensor *x = y->inputs[0];
    for (int i = 0; x && i < y->shape.rank; i++) {
        const int64_t n = x->shape.dims[i], by = y->attributes->padding.before[i] % n,
                      k = by < 0 ? by + n : by;
        if (k == 0) continue;
        x = weft_concat((weft_tensor *const[]){weft_slice(x, i, n - k, n), weft_slice(x, i, 0, n - k)}, 2, i);
    }
    return x;
}

static wi_export_value *emit_tile(wi_export *e, weft_tensor *y, const char *name) {
    int64_t repeats[WEFT_MAX_RANK];
    for (int i = 0; i < y->shape.rank; i++)
        if (!wi_dim_divides(y->graph, y->shape.dims[i], y->inputs[0]->shape.dims[i], &repeats[i]))
            return wi_export_refuse(e, y, "repeats of an open size");
    return wi_export_two(e, name, value_of(e, y, 0), wi_export_ints(e, repeats, y->shape.rank));
}

/* ---- indices ---- */

/* Writes a ScatterElements node. reduction: how elements with the same index are combined. */
static wi_export_value *scatter(
    wi_export *e, wi_export_value *const inputs[3], int64_t axis, const char *reduction) {
    return wi_export_op(
        e, "ScatterElements", inputs, 3, WI_WITH(WI_WHOLE("axis", axis), WI_TEXT("reduction", reduction)));
}

/* Writes a scatter into a constant: elements that no index names are 0 in a sum, and the lowest or highest number in a maximum or minimum. */
static wi_export_value *emit_scatter(wi_export *e, weft_tensor *y, const char *reduction) {
    const double none = *reduction == 'a' ? 0 : reduction[1] == 'a' ? -(double)INFINITY : (double)INFINITY;
    wi_export_value *const base = wi_export_two(
        e, "Expand", wi_export_number(e, y->dtype, none), wi_export_shape(e, y->shape.rank, y->shape.dims));
    wi_export_value *const inputs[] = {base, value_of(e, y, 1), value_of(e, y, 0)};
    return scatter(e, inputs, y->attributes->index.axis, reduction);
}

/* Is the node one that a program can create? Nodes that skip an index or read the order of the index exist only in plans and gradients. */
static bool is_plain(const wi_export *e, const weft_tensor *y) {
    (void)e;
    return !y->attributes->index.skips && (y->op != &wi_op_index_sum || y->input_count == 2);
}

static weft_tensor *index_sum_parts(weft_tensor *y) {
    const int axis = y->attributes->index.axis;
    const wi_shape *const shape = &y->inputs[0]->shape;
    int64_t dims[WEFT_MAX_RANK];
    for (int i = 0; i < shape->rank; i++) dims[i] = i == axis ? shape->dims[axis] : 1;
    weft_tensor *const line = weft_reshape_shape(y->inputs[1], shape->rank, dims);
    weft_tensor *const index = line ? weft_expand(line, shape->rank, shape->dims) : NULL;
    return index ? weft_scatter_sum(y->inputs[0], axis, index, y->shape.dims[axis]) : NULL;
}

static wi_export_value *emit_index_copy(wi_export *e, weft_tensor *y, const char *name) {
    const int axis = y->attributes->index.axis;
    const wi_shape *const source = &y->inputs[2]->shape;
    wi_shape line = {.rank = source->rank};
    for (int i = 0; i < line.rank; i++) line.dims[i] = i == axis ? source->dims[axis] : 1;
    wi_export_value *index = wi_export_reshape(e, value_of(e, y, 1), &y->inputs[1]->shape, &line);
    index = wi_export_two(e, "Expand", index, wi_export_shape(e, source->rank, source->dims));
    return scatter(e, (wi_export_value *const[]){value_of(e, y, 0), index, value_of(e, y, 2)}, axis, name);
}

/* ---- scans and sorting ---- */

static wi_export_value *emit_cumsum(wi_export *e, weft_tensor *y, const char *name) {
    const wi_scan_attributes *const a = &y->attributes->scan;
    const int64_t axis = a->axis;
    wi_export_value *const along = wi_export_constant(e, WI_ONNX_INT64, 0, NULL, &axis, sizeof axis);
    return wi_export_op(e, name, WI_FROM(value_of(e, y, 0), along),
        WI_WITH(WI_WHOLE("exclusive", a->form == WI_SCAN_BEFORE), WI_WHOLE("reverse", a->backwards)));
}

/* Shifts x by `by` elements in the direction of the scan, and fills the elements that become free with `outside`. */
static weft_tensor *moved(weft_tensor *x, const wi_scan_attributes *a, int64_t by, double outside) {
    int64_t before[WEFT_MAX_RANK] = {0}, after[WEFT_MAX_RANK] = {0};
    if (!x) return NULL;
    const int64_t n = x->shape.dims[a->axis];
    (a->backwards ? after : before)[a->axis] = by;
    x = a->backwards ? weft_slice(x, a->axis, by, n) : weft_slice(x, a->axis, 0, n - by);
    return weft_pad(x, before, after, WEFT_PAD_CONSTANT, outside);
}

/* A cumulative product by doubling: after each step, every element is the product of 2, 4, 8, ... elements. */
static weft_tensor *cumprod_parts(weft_tensor *y) {
    const wi_scan_attributes *const a = &y->attributes->scan;
    const int64_t n = y->shape.dims[a->axis];
    weft_tensor *product = y->inputs[0];
    if (a->form == WI_SCAN_BEFORE)
        product =
            n > 1 ? moved(product, a, 1, 1) : weft_expand(weft_number(y, 1), y->shape.rank, y->shape.dims);
    for (int64_t by = 1; product && by < n; by *= 2) product = weft_mul(product, moved(product, a, by, 1));
    return product;
}

/* Writes an argsort or top-k as a TopK node, which also keeps the order of equal elements. */
static wi_export_value *emit_order(wi_export *e, weft_tensor *y, const char *name) {
    const wi_sort_attributes *const a = &y->attributes->sort;
    wi_export_value *const k = wi_export_size(e, y->shape.dims[a->axis]);
    wi_export_value *const top = wi_export_op(e, name, WI_FROM(value_of(e, y, 0), k),
        WI_WITH(WI_WHOLE("axis", a->axis), WI_WHOLE("largest", a->descending), WI_WHOLE("sorted", 1)));
    return wi_export_cast(e, wi_export_output(e, top, 1), WI_ONNX_INT32);
}

const wi_export_row wi_export_movement_rows[] = {{&wi_op_reshape, .name = "Reshape", .emit = emit_reshape},
    {&wi_op_permute, .name = "Transpose", .emit = emit_permute},
    {&wi_op_expand, .name = "Expand", .emit = emit_expand},
    {&wi_op_concat, .name = "Concat", .axis = WI_AXIS(wi_along_attributes)},
    {&wi_op_slice, .name = "Slice", .emit = emit_slice}, {&wi_op_flip, .name = "Slice", .emit = emit_flip},
    {&wi_op_diagonal, .rewrite = diagonal_parts, .fits = is_fixed},
    {&wi_op_pad, .name = "Pad", .emit = emit_pad, .fits = can_pad},
    {&wi_op_pad, .rewrite = pad_parts, .fits = is_fixed},
    {&wi_op_dilate, .name = "Pad", .emit = emit_pad, .fits = can_pad},
    {&wi_op_roll, .rewrite = roll_parts, .fits = is_fixed}, {&wi_op_tile, .name = "Tile", .emit = emit_tile},
    {&wi_op_gather, .name = "GatherElements", .axis = WI_AXIS(wi_index_attributes)},
    {&wi_op_index_select, .name = "Gather", .axis = WI_AXIS(wi_index_attributes)},
    {&wi_op_embedding, .name = "Gather", .axis = WI_AXIS(wi_index_attributes)},
    {&wi_op_scatter_sum, .name = "add", .emit = emit_scatter},
    {&wi_op_scatter_max, .name = "max", .since = 18, .emit = emit_scatter},
    {&wi_op_scatter_min, .name = "min", .since = 18, .emit = emit_scatter},
    {&wi_op_index_sum, .rewrite = index_sum_parts, .fits = is_plain},
    {&wi_op_index_copy, .name = "none", .emit = emit_index_copy, .fits = is_plain},
    {&wi_op_cumsum, .name = "CumSum", .emit = emit_cumsum},
    {&wi_op_cumprod, .rewrite = cumprod_parts, .fits = is_fixed},
    {&wi_op_argsort, .name = "TopK", .emit = emit_order},
    {&wi_op_topk_indices, .name = "TopK", .emit = emit_order}, {0}};
