/* Sorting, and the largest elements, along an axis. Kernels: sort.cl and put.cl.
 *
 * argsort and topk_indices compute an order, and sort and topk gather x by it, so that indices and values of the same arguments share a
 * node. An order contains each index once. The gradient of the gather therefore writes each element to its index (op `put`) and adds
 * nothing; the gradient of put is the gather again. */
#include "ops/sort/sort.h"

static int along(const weft_tensor *y) {
    return y->attributes->sort.axis;
}

/* ---- the order ---- */

const wi_op wi_op_argsort = {.name = "argsort",
    .kind = WI_KERNEL,
    .along = along,
    .attribute_bytes = sizeof(wi_sort_attributes),
    .zero_gradient = true,
    .contiguous = 1};
static weft_status topk_fits(const weft_tensor *y, weft_tensor *const *inputs, const wi_shape *shape,
    const wi_attributes *attributes) {
    const int axis = attributes->sort.axis;
    const int64_t k = shape->dims[axis], size = inputs[0]->shape.dims[axis];
    if (k <= size) return WEFT_OK;
    WI_FAIL(
        WEFT_ERROR_ARGUMENT, "%s: k = %lld is not in 1..%lld", y->op->name, (long long)k, (long long)size);
}

const wi_op wi_op_topk_indices = {.name = "topk_indices",
    .kind = WI_KERNEL,
    .along = along,
    .fits = topk_fits,
    .zero_gradient = true,
    .attribute_bytes = sizeof(wi_sort_attributes),
    .contiguous = 1};

/* ---- the values ---- */

static weft_tensor *pick(const wi_op *op, weft_tensor *x, weft_tensor *order, int axis) {
    weft_tensor *inputs[] = {x, order};
    const wi_attributes attributes = {.sort = {.axis = axis}};
    return x && order ? wi_node(x->graph, op, inputs, 2, x->dtype, &order->shape, &attributes) : NULL;
}

static weft_tensor *pick_lower(weft_tensor *y, bool inference) {
    (void)inference;
    return weft_gather(y->inputs[0], y->attributes->sort.axis, y->inputs[1]);
}

static void pick_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    weft_tensor *inputs[] = {g, y->inputs[1]};
    gradients[0] =
        g ? wi_node(g->graph, &wi_op_put, inputs, 2, g->dtype, &y->inputs[0]->shape, y->attributes) : NULL;
}

const wi_op wi_op_sort = {
    .name = "sort", .kind = WI_COMPOSITE, .attribute_bytes = sizeof(wi_sort_attributes), .lower = pick_lower};
const wi_op wi_op_topk = {
    .name = "topk", .kind = WI_COMPOSITE, .attribute_bytes = sizeof(wi_sort_attributes), .lower = pick_lower};

/* ---- put ---- */

static void put_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    gradients[0] = pick(&wi_op_sort, g, y->inputs[1], y->attributes->sort.axis);
}

const wi_op wi_op_put = {.name = "put",
    .kind = WI_KERNEL,
    .along = along,
    .attribute_bytes = sizeof(wi_sort_attributes),
    .contiguous = 3};

/* ---- the public functions ---- */

/* The index of the axis. -1: x cannot be sorted along it, and the error is recorded. */
static int check(const char *op, weft_tensor *x, int axis) {
    if (!wi_inputs_graph(op, &x, 1)) return -1;
    return wi_takes_dtype(x, op, WI_TAKES_SINGLES | WI_TAKES_INTEGERS) ? wi_axis_index(x, op, axis) : -1;
}

static weft_tensor *order(const wi_op *op, weft_tensor *x, int axis, int64_t k, bool descending) {
    wi_shape shape = x->shape;
    shape.dims[axis] = k;
    x = wi_wide(x);
    if (!x) return NULL;
    return wi_node(x->graph, op, &x, 1, WEFT_I32, &shape,
        &(wi_attributes){.sort = {.axis = axis, .descending = descending}});
}

weft_tensor *weft_argsort(weft_tensor *x, int axis, bool descending) {
    const int a = check("argsort", x, axis);
    return a < 0 ? NULL : order(&wi_op_argsort, x, a, x->shape.dims[a], descending);
}

static weft_tensor *build_sort(weft_tensor *x, int axis, bool descending) {
    const int a = check("sort", x, axis);
    return a < 0 ? NULL : pick(&wi_op_sort, x, weft_argsort(x, a, descending), a);
}

weft_tensor *weft_sort(weft_tensor *x, int axis, bool descending) {
    return WI_CALL(x, "weft_sort", build_sort(x, axis, descending));
}

static weft_tensor *first_k(const char *op, weft_tensor *x, int64_t k, int axis, bool largest, int *found) {
    *found = check(op, x, axis);
    if (*found < 0) return NULL;
    const int64_t size = x->shape.dims[*found];
    char text[WI_SHAPE_TEXT];
    if (k < 1 || (size >= 0 && k > size)) /* topk_fits checks k along a batch axis */
        return wi_graph_fail(x->graph, WEFT_ERROR_ARGUMENT, "%s: k = %lld is not in 1..%lld, axis %d of %s",
            op, (long long)k, (long long)(size < 0 ? INT32_MAX : size), *found,
            wi_shape_print(x->graph, &x->shape, text));
    return order(&wi_op_topk_indices, x, *found, k, largest);
}

weft_tensor *weft_topk_indices(weft_tensor *x, int64_t k, int axis, bool largest) {
    int a;
    return first_k("topk_indices", x, k, axis, largest, &a);
}

static weft_tensor *build_topk(weft_tensor *x, int64_t k, int axis, bool largest) {
    int a;
    weft_tensor *indices = first_k("topk", x, k, axis, largest, &a);
    return indices ? pick(&wi_op_topk, x, indices, a) : NULL;
}

weft_tensor *weft_topk(weft_tensor *x, int64_t k, int axis, bool largest) {
    return WI_CALL(x, "weft_topk", build_topk(x, k, axis, largest));
}

const wi_op_rules wi_sort_rules[] = {{.op = &wi_op_sort, .backward = pick_backward},
    {.op = &wi_op_topk, .backward = pick_backward}, {.op = &wi_op_put, .backward = put_backward}, {0}};
