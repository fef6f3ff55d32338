/* Running sums, products and linear recurrences along an axis. Kernels: scan.cl. The gradient of each is a scan in the opposite
 * direction, so that gradients of any order exist. */
#include "ops/scan/scan.h"
#include "ops/op_table.h"

/* ---- gradients ---- */

static weft_tensor *make(
    const wi_op *op, weft_tensor *x, weft_tensor *b, int axis, wi_scan_form form, bool backwards) {
    weft_tensor *inputs[] = {x, b};
    if (!x || (op == &wi_op_linear_scan && !b)) return NULL;
    const wi_attributes attributes = {.scan = {.axis = axis, .form = form, .backwards = backwards}};
    return wi_node(x->graph, op, inputs, b ? 2 : 1, x->dtype, &x->shape, &attributes);
}

static void cumsum_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    const wi_scan_attributes *const a = &y->attributes->scan;
    gradients[0] = make(&wi_op_cumsum, g, NULL, a->axis, (wi_scan_form)a->form, !a->backwards);
}

/* s · p, but 0 if p is 0 and the sum s has overflowed. */
static weft_tensor *taken_away(weft_tensor *s, weft_tensor *p) {
    weft_tensor *zero = weft_number(s, 0), *finite = weft_equal(weft_sub(s, s), zero);
    return weft_mul(p, weft_where(finite, s, weft_where(weft_equal(p, zero), zero, s)));
}

/* The gradient is p[i] · s[i], where p[i] is the product of the elements before i, and s[i] the sum over k >= i of g[k] times the
 * elements i+1 .. k. Without a division, elements may be 0. s is a recurrence: s[i] = g[i] + x[i+1] · s[i+1]. */
static void cumprod_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    weft_tensor *x = y->inputs[0];
    const wi_scan_attributes *const a = &y->attributes->scan;
    const wi_scan_form form = a->form == WI_SCAN_BEFORE ? WI_SCAN_BEFORE : WI_SCAN_DELAYED;
    weft_tensor *products = make(&wi_op_cumprod, x, NULL, a->axis, WI_SCAN_BEFORE, a->backwards);
    weft_tensor *sums = make(&wi_op_linear_scan, x, g, a->axis, form, !a->backwards);
    gradients[0] = products && sums ? taken_away(sums, products) : NULL;
}

/* Of y[i] = a[i] · y[i-1] + b[i], the gradient of b[i] is e[i] = g[i] + a[i+1] · e[i+1], and that of a[i] is e[i] ·
 * y[i-1]. For each wi_scan_form, the gradients are scans of one of these forms. */
static void linear_scan_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    weft_tensor *a = y->inputs[0], *b = y->inputs[1];
    const int axis = y->attributes->scan.axis;
    const bool direction = y->attributes->scan.backwards, back = !direction;
    const uint32_t form = y->attributes->scan.form;
    if (form == WI_SCAN_AFTER) {
        gradients[1] = make(&wi_op_linear_scan, a, g, axis, WI_SCAN_DELAYED, back);
        gradients[0] =
            weft_mul(gradients[1], make(&wi_op_linear_scan, a, b, axis, WI_SCAN_BEFORE, direction));
        return;
    }
    weft_tensor *before = make(&wi_op_linear_scan, a, g, axis, WI_SCAN_BEFORE, back);
    gradients[0] = weft_mul(before, y);
    gradients[1] =
        form == WI_SCAN_BEFORE ? before : make(&wi_op_linear_scan, a, g, axis, WI_SCAN_AFTER, back);
}

static int along(const weft_tensor *y) {
    return y->attributes->scan.axis;
}

#define KERNEL_OP(op, inputs)                                                                                \
    const wi_op wi_op_##op = {.name = #op,                                                                   \
        .kind = WI_KERNEL,                                                                                   \
        .attribute_bytes = sizeof(wi_scan_attributes),                                                       \
        .along = along,                                                                                      \
        .contiguous = inputs};
KERNEL_OP(cumsum, 1)
KERNEL_OP(cumprod, 1)
KERNEL_OP(linear_scan, 3)

/* ---- the public functions ---- */

static weft_tensor *cumulate(const wi_op *op, weft_tensor *x, int axis, bool exclusive, bool reverse) {
    if (!wi_inputs_graph(op->name, &x, 1)) return NULL;
    if (!wi_takes_dtype(x, op->name, WI_TAKES_SINGLES | WI_TAKES_INTEGERS)) return NULL;
    const int a = wi_axis_index(x, op->name, axis);
    if (a < 0) return NULL;
    const wi_scan_form form = exclusive ? WI_SCAN_BEFORE : WI_SCAN_AFTER;
    return weft_cast(make(op, wi_wide(x), NULL, a, form, reverse), x->dtype);
}

weft_tensor *weft_cumsum(weft_tensor *x, int axis) {
    return cumulate(&wi_op_cumsum, x, axis, false, false);
}
weft_tensor *weft_cumprod(weft_tensor *x, int axis) {
    return cumulate(&wi_op_cumprod, x, axis, false, false);
}
weft_tensor *weft_cumsum_with(weft_tensor *x, int axis, bool exclusive, bool reverse) {
    return WI_CALL(x, "weft_cumsum_with", cumulate(&wi_op_cumsum, x, axis, exclusive, reverse));
}
weft_tensor *weft_cumprod_with(weft_tensor *x, int axis, bool exclusive, bool reverse) {
    return WI_CALL(x, "weft_cumprod_with", cumulate(&wi_op_cumprod, x, axis, exclusive, reverse));
}

weft_tensor *weft_linear_scan(weft_tensor *a, weft_tensor *b, int axis, bool reverse) {
    weft_tensor *inputs[] = {a, b};
    weft_graph *graph = wi_inputs_graph("linear_scan", inputs, 2);
    if (!graph) return NULL;
    char text_a[WI_SHAPE_TEXT], text_b[WI_SHAPE_TEXT];
    if (wi_format_of(a->dtype)->compute != WEFT_F32 || wi_format_of(b->dtype)->compute != WEFT_F32)
        return wi_graph_fail(graph, WEFT_ERROR_DTYPE,
            "linear_scan: takes two tensors of one dtype, %s, not %s and %s",
            wi_dtypes_text(WI_TAKES_SINGLES), weft_dtype_name(a->dtype), weft_dtype_name(b->dtype));
    const weft_dtype dtype = wi_dtype_wider(a->dtype, b->dtype);
    wi_shape shape;
    if (!wi_shape_broadcast(&a->shape, &b->shape, &shape))
        return wi_graph_fail(graph, WEFT_ERROR_SHAPE, "linear_scan: %s and %s do not broadcast",
            wi_shape_print(a->graph, &a->shape, text_a), wi_shape_print(b->graph, &b->shape, text_b));
    a = weft_expand(a, shape.rank, shape.dims);
    b = weft_expand(b, shape.rank, shape.dims);
    const int found = a ? wi_axis_index(a, "linear_scan", axis) : -1;
    if (found < 0) return NULL;
    weft_tensor *y = make(&wi_op_linear_scan, wi_wide(a), wi_wide(b), found, WI_SCAN_AFTER, reverse);
    return weft_cast(y, dtype);
}

const wi_op_rules wi_scan_rules[] = {{.op = &wi_op_cumsum, .backward = cumsum_backward},
    {.op = &wi_op_cumprod, .backward = cumprod_backward},
    {.op = &wi_op_linear_scan, .backward = linear_scan_backward}, {0}};
