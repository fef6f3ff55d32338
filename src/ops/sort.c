/* Sorting, and the greatest elements, along an axis. Kernels: sort.cl and place.cl.
 *
 * The order is one node (argsort, topk_indices), the values a second that picks by it; both functions of the
 * same arguments meet in the first. An order names each place once, so the values' gradient is put, not
 * added: `place`, whose own gradient picks again. */
#include "base/integers.h"
#include "ops/op_table.h"

enum { DESCENDING = 1 }; /* attributes.flags */

/* ---- the order: what the kernels are told ---- */

/* As in sort.cl: a group's tile, what an item of a cpu sorts by insertion, elements that an item merges. */
enum { GROUP = 64, GPU_TILE = 1024, FEW = 64, GPU_CHUNK = 16, CPU_TILE = 8192 };

typedef struct order_work {
    const wi_kernel_site *site;
    wi_kernel_plan *plan;
    bool cpu;
    int64_t lines, n, inner, k;
    int64_t tile;
    int64_t buffer;  /* elements of each of the two buffers between launches */
    int64_t workers; /* cpu: items that keep it busy */
} order_work;

static order_work order_of(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const int axis = site->node->attributes.axis;
    const wi_extent *x = &site->inputs[0];
    order_work w = {
        .site = site, .plan = plan, .cpu = site->device_class == WEFT_CLASS_CPU, .lines = 1, .inner = 1};
    for (int i = 0; i < x->rank; i++) {
        if (i != axis) w.lines *= x->dims[i].actual;
        if (i > axis) w.inner *= x->dims[i].actual;
    }
    w.n = x->dims[axis].actual;
    w.k = site->result.dims[axis].actual;
    w.workers = site->compute_units * 4;
    w.tile = GPU_TILE;
    if (w.cpu) { /* a line is cut only where there are too few of them */
        const bool few = w.lines < site->compute_units * 2;
        const int64_t tiles = few ? wi_min64(wi_divide_up(w.workers, w.lines), w.n / CPU_TILE) : 1;
        w.tile = wi_divide_up(w.n, wi_max64(tiles, 1));
    }
    return w;
}

static void add_longs(wi_kernel_launch *launch, const int64_t *numbers, size_t count) {
    for (size_t i = 0; i < count; i++) wi_kernel_long(launch, numbers[i]);
}
#define ADD_LONGS(launch, ...)                                                                               \
    add_longs(                                                                                               \
        launch, (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

/* Sorts each tile of lines of n elements and keeps its first `keep`, `kept` elements a line. */
static void add_tiles(const order_work *w, int64_t n, int64_t keep, int64_t kept, int64_t from, int64_t to) {
    const int64_t units = w->lines * wi_divide_up(n, w->tile);
    int64_t span = 1, items;
    if (w->cpu) {
        const int64_t worth = wi_max64(1, w->lines * n / 1024);
        span = wi_divide_up(units, wi_min64(wi_min64(units, w->workers), worth));
        items = wi_divide_up(units, span);
    } else {
        while (span < wi_min64(n, w->tile)) span *= 2;
        items = wi_divide_up(units, GPU_TILE / span) * GROUP;
    }
    wi_kernel_launch *launch = wi_kernel_launch_1d(w->plan, "tiles", items, w->cpu ? 1 : GROUP);
    wi_kernel_input(launch, 0);
    wi_kernel_result(launch);
    wi_kernel_scratch(launch, 0);
    ADD_LONGS(launch, w->lines, n, w->inner, w->tile, keep, kept, span, from, to, 2 * w->buffer);
    wi_kernel_int(launch, w->site->node->attributes.flags & DESCENDING ? -1 : 0);
}

static void add_merge(const order_work *w, int64_t run, int64_t kept, int64_t from, int64_t to) {
    const int64_t chunk = w->cpu ? w->tile : GPU_CHUNK;
    wi_kernel_launch *launch =
        wi_kernel_launch_1d(w->plan, "merge", w->lines * wi_divide_up(kept, chunk), w->cpu ? 1 : GROUP);
    wi_kernel_result(launch);
    wi_kernel_scratch(launch, 0);
    ADD_LONGS(launch, w->lines, w->n, w->inner, run, kept, chunk, from, to);
}

/* Tiles of which the first k are kept, until one is left; or all of them, and merging. */
static void add_launches(order_work *w) {
    const bool select = w->k <= (w->cpu ? FEW : GPU_TILE / 2);
    int64_t length = w->n, from = -1, side = 0;
    do {
        const int64_t tiles = wi_divide_up(length, w->tile), keep = tiles == 1 || select ? w->k : w->tile;
        const int64_t kept = (tiles - 1) * keep + wi_min64(keep, length - (tiles - 1) * w->tile);
        if (tiles > 1) w->buffer = wi_max64(w->buffer, w->lines * kept); /* the first is the largest */
        const int64_t to = tiles == 1 ? -1 : side * w->buffer;
        add_tiles(w, length, keep, kept, from, to);
        if (to < 0) return;
        from = to;
        side = 1 - side;
        length = kept;
    } while (select);
    for (int64_t run = w->tile; run < length; run *= 2) {
        const bool last = 2 * run >= length;
        const int64_t to = last ? -1 : side * w->buffer;
        add_merge(w, run, last ? w->k : length, from, to);
        from = to;
        side = 1 - side;
    }
}

static weft_status order_kernel(const wi_kernel_site *site, wi_kernel_plan *plan) {
    order_work w = order_of(site, plan);
    plan->file = "sort.cl";
    wi_kernel_macro_int(plan, "WEFT_FLOAT", site->node->inputs[0]->dtype == WEFT_F32);
    add_launches(&w);
    const int64_t radix = w.cpu ? wi_min64(w.workers, w.lines * wi_divide_up(w.n, w.tile)) * 2 * w.tile : 0;
    plan->scratch_bytes = (size_t)(2 * w.buffer + radix + 1) * sizeof(cl_ulong);
    return WEFT_OK;
}

const wi_op wi_op_argsort = {.name = "argsort", .kind = WI_KERNEL, .kernel = order_kernel, .contiguous = 1};
const wi_op wi_op_topk_indices = {
    .name = "topk_indices", .kind = WI_KERNEL, .kernel = order_kernel, .contiguous = 1};

/* ---- the values: x at the places of an order ---- */

static weft_tensor *pick(const wi_op *op, weft_tensor *x, weft_tensor *order, int axis) {
    weft_tensor *inputs[] = {x, order};
    return x && order
               ? wi_node(x->graph, op, inputs, 2, x->dtype, &order->shape, &(wi_attributes){.axis = axis})
               : NULL;
}

static weft_tensor *pick_lower(weft_tensor *y, bool inference) {
    (void)inference;
    return weft_gather(y->inputs[0], y->attributes.axis, y->inputs[1]);
}

static const wi_op wi_op_place;

static void pick_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    weft_tensor *inputs[] = {g, y->inputs[1]};
    gradients[0] = g ? wi_node(g->graph, &wi_op_place, inputs, 2, g->dtype, &y->inputs[0]->shape,
                           &(wi_attributes){.axis = y->attributes.axis})
                     : NULL;
}

const wi_op wi_op_sort = {
    .name = "sort", .kind = WI_COMPOSITE, .lower = pick_lower, .backward = pick_backward};
const wi_op wi_op_topk = {
    .name = "topk", .kind = WI_COMPOSITE, .lower = pick_lower, .backward = pick_backward};

/* ---- place ---- */

static weft_status place_kernel(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_extent *index = &site->inputs[1], *y = &site->result;
    const int axis = site->node->attributes.axis;
    const bool cpu = site->device_class == WEFT_CLASS_CPU;
    int64_t outer = 1, inner = 1;
    for (int i = 0; i < y->rank; i++) {
        if (i < axis) outer *= y->dims[i].actual;
        if (i > axis) inner *= y->dims[i].actual;
    }
    const int64_t count = index->dims[axis].actual, size = y->dims[axis].actual;
    const int64_t totals[] = {outer * size * inner, outer * count * inner};
    plan->file = "place.cl";
    wi_kernel_macro_text(plan, "WEFT_ELEMENT", "uint");
    for (int put = count == size; put < 2; put++) {
        const int64_t total = totals[put];
        const int64_t items = cpu ? wi_max64(1, wi_min64(site->compute_units * 4, total / 4096)) : total;
        const int64_t share = wi_divide_up(total, items);
        wi_kernel_launch *launch =
            wi_kernel_launch_1d(plan, put ? "put" : "clear", wi_divide_up(total, share), cpu ? 1 : GROUP);
        if (put) wi_kernel_input(launch, 0);
        if (put) wi_kernel_input(launch, 1);
        wi_kernel_result(launch);
        ADD_LONGS(launch, total, share);
        if (put) ADD_LONGS(launch, count, size, inner);
    }
    return WEFT_OK;
}

static void place_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    gradients[0] = pick(&wi_op_sort, g, y->inputs[1], y->attributes.axis);
}

static const wi_op wi_op_place = {
    .name = "place", .kind = WI_KERNEL, .backward = place_backward, .kernel = place_kernel, .contiguous = 3};

/* ---- the public functions ---- */

/* -1 with the error recorded when x cannot be ordered along the axis. */
static int check(const char *op, weft_tensor *x, int axis) {
    weft_graph *graph = wi_inputs_graph(op, &x, 1);
    if (!graph) return -1;
    if (x->dtype == WEFT_F32 || x->dtype == WEFT_I32) return wi_axis_index(x, op, axis);
    wi_graph_fail(graph, WEFT_ERROR_DTYPE, "%s: takes f32 or i32, not %s", op, weft_dtype_name(x->dtype));
    return -1;
}

static weft_tensor *order(const wi_op *op, weft_tensor *x, int axis, int64_t k, bool descending) {
    wi_shape shape = x->shape;
    shape.dims[axis] = k;
    return wi_node(x->graph, op, &x, 1, WEFT_I32, &shape,
        &(wi_attributes){.axis = axis, .flags = descending ? DESCENDING : 0});
}

weft_tensor *weft_argsort(weft_tensor *x, int axis, bool descending) {
    const int a = check("argsort", x, axis);
    return a < 0 ? NULL : order(&wi_op_argsort, x, a, x->shape.dims[a], descending);
}

weft_tensor *weft_sort(weft_tensor *x, int axis, bool descending) {
    const int a = check("sort", x, axis);
    return a < 0 ? NULL : pick(&wi_op_sort, x, weft_argsort(x, a, descending), a);
}

static weft_tensor *first_k(const char *op, weft_tensor *x, int64_t k, int axis, bool largest, int *found) {
    *found = check(op, x, axis);
    if (*found < 0) return NULL;
    const int64_t size = x->shape.dims[*found];
    char text[WI_SHAPE_TEXT];
    if (size < 0)
        return wi_graph_fail(x->graph, WEFT_ERROR_SHAPE, "%s: axis %d of %s depends on the batch size", op,
            *found, wi_shape_print(&x->shape, text));
    if (k < 1 || k > size)
        return wi_graph_fail(x->graph, WEFT_ERROR_ARGUMENT, "%s: k = %lld is not in 1..%lld, axis %d of %s",
            op, (long long)k, (long long)size, *found, wi_shape_print(&x->shape, text));
    return order(&wi_op_topk_indices, x, *found, k, largest);
}

weft_tensor *weft_topk_indices(weft_tensor *x, int64_t k, int axis, bool largest) {
    int a;
    return first_k("topk_indices", x, k, axis, largest, &a);
}

weft_tensor *weft_topk(weft_tensor *x, int64_t k, int axis, bool largest) {
    int a;
    weft_tensor *indices = first_k("topk", x, k, axis, largest, &a);
    return indices ? pick(&wi_op_topk, x, indices, a) : NULL;
}
