/* Running sums, products and linear recurrences along an axis. Kernels: scan.cl. Each one's gradients are
 * scans again, in the other direction, so that they may be differentiated as often as one likes. */
#include "base/integers.h"
#include "ops/op_table.h"

/* attributes.flags */
enum {
    FORM_AFTER = 0,   /* the state after an element */
    FORM_BEFORE = 1,  /* the state before it */
    FORM_DELAYED = 2, /* linear_scan: the factor of the element before is used */
    FORM = 3,
    BACKWARDS = 4
};

/* ---- what the kernels are told ---- */

typedef struct scan_work {
    int64_t outer, n, inner;
    int64_t lines; /* or vectors of neighbouring lines */
    int64_t parts, part_length, lines_an_item;
    bool along; /* a line's elements are neighbours, and many enough to share them out */
} scan_work;

enum { LANES = 16, GROUP = 64, TILE = 4 * GROUP, STATE_BYTES = 12 };

static void cut(scan_work *w, int64_t parts, int64_t unit) {
    w->part_length = wi_divide_up(wi_divide_up(w->n, wi_max64(parts, 1)), unit) * unit;
    w->parts = wi_divide_up(w->n, w->part_length);
}

/* As few items as keep the cores busy; a line is cut where there are too few of them. */
static void share_cpu(scan_work *w, int64_t units) {
    const int64_t width = w->along ? 1 : wi_min64(w->inner, LANES), wanted = units * 4;
    w->lines = w->along ? w->outer : w->outer * wi_divide_up(w->inner, LANES);
    const bool few = w->lines < units * 2;
    cut(w, few ? wi_min64(wanted / w->lines, w->n * width / 8192) : 1, LANES);
    const int64_t worth = wi_max64(1, w->lines * w->n * width / 4096);
    w->lines_an_item = w->parts > 1 ? 1 : wi_divide_up(w->lines, wi_min64(wi_min64(wanted, worth), w->lines));
}

static void share_gpu(scan_work *w, int64_t units) {
    w->lines = w->along ? w->outer : w->outer * w->inner;
    w->lines_an_item = 1;
    if (w->along)
        cut(w, wi_min64(units * 16 / w->lines, w->n / (4 * TILE)), TILE);
    else
        cut(w, wi_min64(wi_min64(units * 512 / w->lines, w->n / 64), 64), 1);
}

static scan_work work_of(const wi_kernel_site *site) {
    const wi_extent *x = &site->result;
    const int axis = site->node->attributes.axis;
    const bool cpu = site->device_class == WEFT_CLASS_CPU;
    scan_work w = {.outer = 1, .n = x->dims[axis].actual, .inner = 1};
    int64_t inner_general = 1;
    for (int i = 0; i < x->rank; i++) {
        if (i < axis) w.outer *= x->dims[i].actual;
        if (i > axis) w.inner *= x->dims[i].actual;
        if (i > axis) inner_general *= x->dims[i].general;
    }
    w.along = inner_general == 1 && (cpu || x->dims[axis].general > 32);
    if (cpu)
        share_cpu(&w, site->compute_units);
    else
        share_gpu(&w, site->compute_units);
    return w;
}

static void add_pass(const wi_kernel_site *site, wi_kernel_plan *plan, const scan_work *w, int pass) {
    const bool cpu = site->device_class == WEFT_CLASS_CPU;
    const uint32_t flags = site->node->attributes.flags;
    const int64_t items = wi_divide_up(w->lines, w->lines_an_item) * w->parts;
    wi_kernel_launch *launch = wi_kernel_launch_1d(
        plan, w->along ? "lines" : "columns", !cpu && w->along ? items * GROUP : items, cpu ? 1 : GROUP);
    wi_kernel_input(launch, 0);
    wi_kernel_input(launch, site->node->input_count - 1);
    wi_kernel_result(launch);
    wi_kernel_scratch(launch, 0);
    const int64_t longs[] = {w->outer, w->n, w->inner, w->parts, w->part_length, w->lines_an_item};
    const int64_t ints[] = {flags & FORM, (flags & BACKWARDS) != 0, pass};
    for (size_t i = 0; i < sizeof longs / sizeof *longs; i++) wi_kernel_long(launch, longs[i]);
    for (size_t i = 0; i < sizeof ints / sizeof *ints; i++) wi_kernel_int(launch, ints[i]);
}

static weft_status scan(const wi_kernel_site *site, wi_kernel_plan *plan, int kind) {
    const scan_work w = work_of(site);
    const int64_t lanes = site->device_class == WEFT_CLASS_CPU ? LANES : 1;
    plan->file = "scan.cl";
    plan->flops = (double)(w.outer * w.n * w.inner);
    plan->scratch_bytes = (size_t)((w.parts > 1 ? w.parts * w.lines : 1) * lanes * STATE_BYTES);
    wi_kernel_macro_int(plan, "WEFT_KIND", kind);
    wi_kernel_macro_int(plan, "WEFT_FLOAT", site->node->dtype == WEFT_F32);
    if (w.parts > 1) add_pass(site, plan, &w, 0);
    add_pass(site, plan, &w, 1);
    return WEFT_OK;
}

static weft_status cumsum_kernel(const wi_kernel_site *site, wi_kernel_plan *plan) {
    return scan(site, plan, 0);
}
static weft_status cumprod_kernel(const wi_kernel_site *site, wi_kernel_plan *plan) {
    return scan(site, plan, 1);
}
static weft_status linear_scan_kernel(const wi_kernel_site *site, wi_kernel_plan *plan) {
    return scan(site, plan, 2);
}

/* ---- gradients ---- */

static weft_tensor *make(const wi_op *op, weft_tensor *x, weft_tensor *b, int axis, uint32_t flags) {
    weft_tensor *inputs[] = {x, b};
    if (!x || (op == &wi_op_linear_scan && !b)) return NULL;
    return wi_node(
        x->graph, op, inputs, b ? 2 : 1, x->dtype, &x->shape, &(wi_attributes){.axis = axis, .flags = flags});
}

static void cumsum_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    gradients[0] = make(&wi_op_cumsum, g, NULL, y->attributes.axis, y->attributes.flags ^ BACKWARDS);
}

/* s · p, where the sum s may have overflowed behind an element that is 0 and takes it away. */
static weft_tensor *taken_away(weft_tensor *s, weft_tensor *p) {
    weft_tensor *zero = weft_number(s, 0), *finite = weft_equal(weft_sub(s, s), zero);
    return weft_mul(p, weft_where(finite, s, weft_where(weft_equal(p, zero), zero, s)));
}

/* With p[i] the product of the elements before i, and s[i] the sum over k >= i of g[k] times the elements in
 * i+1 .. k, the gradient is p[i] · s[i]: nothing is divided by, so elements may be 0. s is a recurrence:
 * s[i] = g[i] + x[i+1] · s[i+1]. */
static void cumprod_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    weft_tensor *x = y->inputs[0];
    const int axis = y->attributes.axis;
    const uint32_t back = (y->attributes.flags & BACKWARDS) ^ BACKWARDS;
    const bool before = (y->attributes.flags & FORM) == FORM_BEFORE;
    weft_tensor *products = make(&wi_op_cumprod, x, NULL, axis, FORM_BEFORE | (back ^ BACKWARDS));
    weft_tensor *sums = make(&wi_op_linear_scan, x, g, axis, (before ? FORM_BEFORE : FORM_DELAYED) | back);
    gradients[0] = products && sums ? taken_away(sums, products) : NULL;
}

/* y[i] = a[i] · y[i-1] + b[i]: what reaches b[i] is e[i] = g[i] + a[i+1] · e[i+1], and a[i] gets e[i] ·
 * y[i-1]. The three forms are closed under this. */
static void linear_scan_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    weft_tensor *a = y->inputs[0], *b = y->inputs[1];
    const int axis = y->attributes.axis;
    const uint32_t direction = y->attributes.flags & BACKWARDS, back = direction ^ BACKWARDS;
    const uint32_t form = y->attributes.flags & FORM;
    if (form == FORM_AFTER) {
        gradients[1] = make(&wi_op_linear_scan, a, g, axis, FORM_DELAYED | back);
        gradients[0] = weft_mul(gradients[1], make(&wi_op_linear_scan, a, b, axis, FORM_BEFORE | direction));
        return;
    }
    weft_tensor *before = make(&wi_op_linear_scan, a, g, axis, FORM_BEFORE | back);
    gradients[0] = weft_mul(before, y);
    gradients[1] = form == FORM_BEFORE ? before : make(&wi_op_linear_scan, a, g, axis, FORM_AFTER | back);
}

#define KERNEL_OP(op, inputs)                                                                                \
    const wi_op wi_op_##op = {.name = #op,                                                                   \
        .kind = WI_KERNEL,                                                                                   \
        .backward = op##_backward,                                                                           \
        .kernel = op##_kernel,                                                                               \
        .contiguous = inputs};
KERNEL_OP(cumsum, 1)
KERNEL_OP(cumprod, 1)
KERNEL_OP(linear_scan, 3)

/* ---- the public functions ---- */

static weft_tensor *cumulate(const wi_op *op, weft_tensor *x, int axis, bool exclusive, bool reverse) {
    weft_graph *graph = wi_inputs_graph(op->name, &x, 1);
    if (!graph) return NULL;
    if (x->dtype != WEFT_F32 && x->dtype != WEFT_I32)
        return wi_graph_fail(
            graph, WEFT_ERROR_DTYPE, "%s: takes f32 or i32, not %s", op->name, weft_dtype_name(x->dtype));
    const int a = wi_axis_index(x, op->name, axis);
    if (a < 0) return NULL;
    return make(op, x, NULL, a, (exclusive ? FORM_BEFORE : FORM_AFTER) | (reverse ? BACKWARDS : 0));
}

weft_tensor *weft_cumsum(weft_tensor *x, int axis) {
    return cumulate(&wi_op_cumsum, x, axis, false, false);
}
weft_tensor *weft_cumprod(weft_tensor *x, int axis) {
    return cumulate(&wi_op_cumprod, x, axis, false, false);
}
weft_tensor *weft_cumsum_with(weft_tensor *x, int axis, bool exclusive, bool reverse) {
    return cumulate(&wi_op_cumsum, x, axis, exclusive, reverse);
}
weft_tensor *weft_cumprod_with(weft_tensor *x, int axis, bool exclusive, bool reverse) {
    return cumulate(&wi_op_cumprod, x, axis, exclusive, reverse);
}

weft_tensor *weft_linear_scan(weft_tensor *a, weft_tensor *b, int axis, bool reverse) {
    weft_tensor *inputs[] = {a, b};
    weft_graph *graph = wi_inputs_graph("linear_scan", inputs, 2);
    if (!graph) return NULL;
    char text_a[WI_SHAPE_TEXT], text_b[WI_SHAPE_TEXT];
    if (a->dtype != WEFT_F32 || b->dtype != WEFT_F32)
        return wi_graph_fail(graph, WEFT_ERROR_DTYPE, "linear_scan: takes f32 and f32, not %s and %s",
            weft_dtype_name(a->dtype), weft_dtype_name(b->dtype));
    wi_shape shape;
    if (!wi_shape_broadcast(&a->shape, &b->shape, &shape))
        return wi_graph_fail(graph, WEFT_ERROR_SHAPE, "linear_scan: %s and %s do not broadcast",
            wi_shape_print(&a->shape, text_a), wi_shape_print(&b->shape, text_b));
    a = weft_expand(a, shape.rank, shape.dims);
    b = weft_expand(b, shape.rank, shape.dims);
    const int found = a ? wi_axis_index(a, "linear_scan", axis) : -1;
    return found < 0 ? NULL : make(&wi_op_linear_scan, a, b, found, reverse ? BACKWARDS : 0);
}
