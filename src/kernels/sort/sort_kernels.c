/* Sorting, the largest elements, and elements that are put at their indices. See sort.cl and put.cl in cl_kernels/sort. */
#include "kernels/index_type.h"
#include "kernels/work_split.h"
#include "ops/sort/sort.h"

/* ---- the order ---- */

/* TILE: elements that a work-group sorts in local memory. FEW: on devices whose items walk (item_walks), an item sorts at most
 * this many elements by insertion. */
enum { TILE, FEW };

static const char *const parameters[] = {[TILE] = "WEFT_SORT_TILE", [FEW] = "WEFT_SORT_FEW", NULL};

static const wi_variant variants[] = {{"u64", {[TILE] = 1024, [FEW] = 64}}, {0}};

/* MERGED: elements that an item of a group merges. LEAST: the fewest elements of a part of a line that an item sorts alone. */
enum { MERGED = 16, LEAST = 8192 };

static wi_limits group_limits(const int *p) {
    return (wi_limits){.local_bytes = (size_t)p[TILE] * sizeof(cl_ulong)};
}

typedef struct order_work {
    const wi_kernel_site *site;
    wi_kernel_plan *plan;
    int64_t lines, n, inner, k;
    int64_t tile;
    int64_t chunk;   /* elements that an item merges */
    int64_t few;     /* if at most this many elements are selected (k), no merge launches are needed */
    int64_t buffer;  /* elements of each of the two buffers between launches */
    int64_t workers; /* the number of items that keep a device busy whose items walk; 0: they do not walk */
} order_work;

static order_work order_of(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const int axis = site->node->attributes->sort.axis;
    const wi_extent *x = &site->inputs[0];
    order_work w = {.site = site, .plan = plan, .lines = 1, .inner = 1};
    for (int i = 0; i < x->rank; i++) {
        if (i != axis) w.lines *= x->dims[i].actual;
        if (i > axis) w.inner *= x->dims[i].actual;
    }
    w.n = x->dims[axis].actual;
    w.k = site->result.dims[axis].actual;
    return w;
}

/* A launch that divides each line of n elements into tiles and sorts each tile. It keeps the first `keep` elements of each
 * tile; all tiles of a line together keep `kept` elements. from, to: offsets in scratch memory; -1 means the input for `from`, and the result for `to`. */
typedef struct tiles {
    int64_t n, keep, kept, from, to;
} tiles;

/* Returns the number of items. *span: the tiles of an item if items walk; otherwise the least power of two that no tile
 * exceeds. */
static int64_t share_tiles(const order_work *w, int64_t n, int64_t *span) {
    const int64_t units = w->lines * wi_divide_up(n, w->tile);
    *span = 1;
    if (w->workers) {
        const int64_t worth = wi_max64(1, w->lines * n / 1024);
        *span = wi_divide_up(units, wi_min64(wi_min64(units, w->workers), worth));
        return wi_divide_up(units, *span);
    }
    while (*span < wi_min64(n, w->tile)) *span *= 2;
    return wi_divide_up(units, w->tile / *span) * w->site->device->group;
}

static void add_tiles(const order_work *w, const tiles *t) {
    int64_t span;
    const int64_t items = share_tiles(w, t->n, &span);
    wi_kernel_launch *const launch = wi_kernel_launch_1d(w->plan, "tiles", items, w->site->device->group);
    wi_kernel_input(launch, 0);
    wi_kernel_result(launch);
    wi_kernel_scratch(launch, 0);
    wi_kernel_indices(w->plan, launch,
        WI_KERNEL_NUMBERS(
            w->lines, t->n, w->inner, w->tile, t->keep, t->kept, span, t->from, t->to, 2 * w->buffer));
    wi_kernel_int(launch, w->site->node->attributes->sort.descending ? -1 : 0);
}

static void add_merge(const order_work *w, int64_t run, int64_t kept, int64_t from, int64_t to) {
    const int64_t items = w->lines * wi_divide_up(kept, w->chunk);
    wi_kernel_launch *const launch = wi_kernel_launch_1d(w->plan, "merge", items, w->site->device->group);
    wi_kernel_result(launch);
    wi_kernel_scratch(launch, 0);
    wi_kernel_indices(
        w->plan, launch, WI_KERNEL_NUMBERS(w->lines, w->n, w->inner, run, kept, w->chunk, from, to));
}

/* A selection of few elements sorts tiles and keeps the first k elements of each tile, again and again, until one tile is left. A
 * sort keeps all elements, and merges the tiles. */
static void add_launches(order_work *w) {
    const bool select = w->k <= w->few;
    int64_t length = w->n, from = -1, side = 0;
    do {
        const int64_t tiles_here = wi_divide_up(length, w->tile);
        const int64_t keep = tiles_here == 1 || select ? w->k : w->tile;
        const int64_t kept = (tiles_here - 1) * keep + wi_min64(keep, length - (tiles_here - 1) * w->tile);
        if (tiles_here > 1) w->buffer = wi_max64(w->buffer, w->lines * kept); /* the first is the largest */
        const int64_t to = tiles_here == 1 ? -1 : side * w->buffer;
        add_tiles(w, &(tiles){length, keep, kept, from, to});
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

/* Scratch memory has two buffers, each at most as large as the input. */
static void finish_order(order_work *w, int64_t radix) {
    wi_kernel_index_type(w->plan, w->site, 2.0 * (double)w->lines * (double)w->n);
    wi_kernel_macro_int(w->plan, "WEFT_FLOAT", w->site->node->inputs[0]->dtype == WEFT_F32);
    add_launches(w);
    w->plan->scratch_bytes = (size_t)(2 * w->buffer + radix + 1) * sizeof(cl_ulong);
}

/* Lines are divided only if there are few of them. */
static weft_status prepare_order_cpu(const wi_kernel_site *site, wi_kernel_plan *plan) {
    order_work w = order_of(site, plan);
    const int64_t units = site->device->units;
    w.workers = units * site->device->items_a_unit;
    const int64_t parts = w.lines < units * 2 ? wi_min64(wi_divide_up(w.workers, w.lines), w.n / LEAST) : 1;
    w.tile = w.chunk = wi_divide_up(w.n, wi_max64(parts, 1));
    w.few = site->values[FEW];
    finish_order(&w, wi_min64(w.workers, w.lines * wi_divide_up(w.n, w.tile)) * 2 * w.tile);
    return WEFT_OK;
}

static weft_status prepare_order_gpu(const wi_kernel_site *site, wi_kernel_plan *plan) {
    order_work w = order_of(site, plan);
    w.tile = site->values[TILE];
    w.chunk = MERGED;
    w.few = w.tile / 2;
    finish_order(&w, 0);
    return WEFT_OK;
}

/* ---- put ---- */

static weft_status put_kernel(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_extent *index = &site->inputs[1], *y = &site->result;
    const int axis = site->node->attributes->sort.axis;
    int64_t outer = 1, inner = 1;
    for (int i = 0; i < y->rank; i++) {
        if (i < axis) outer *= y->dims[i].actual;
        if (i > axis) inner *= y->dims[i].actual;
    }
    const int64_t count = index->dims[axis].actual, size = y->dims[axis].actual;
    const int64_t totals[] = {outer * size * inner, outer * count * inner};
    wi_kernel_index_type(plan, site, (double)wi_max64(totals[0], totals[1]));
    wi_kernel_macro_bits(plan, "WEFT_ELEMENT", site->node->dtype);
    for (int put = count == size; put < 2; put++) {
        const int64_t total = totals[put];
        const int64_t share = wi_divide_up(total, wi_work_items(site->device, total));
        wi_kernel_launch *launch =
            wi_kernel_launch_1d(plan, put ? "put" : "clear", wi_divide_up(total, share), site->device->group);
        wi_kernel_inputs(launch, put ? 2 : 0);
        wi_kernel_result(launch);
        wi_kernel_indices(plan, launch, WI_KERNEL_NUMBERS(total, share));
        if (put) wi_kernel_indices(plan, launch, WI_KERNEL_NUMBERS(count, size, inner));
    }
    return WEFT_OK;
}

#define ORDER                                                                                                \
    .ops = {&wi_op_argsort, &wi_op_topk_indices}, .file = "sort.cl", .parameters = parameters,               \
    .variants = variants

static const wi_implementation wi_order_cpu = {
    ORDER, .name = "order_cpu", .needs = {.classes = WI_ON_CPU}, .prepare = prepare_order_cpu};

static const wi_implementation wi_order_gpu = {ORDER, .name = "order_gpu",
    .needs = {.classes = WI_ON_GPU, .limits = group_limits}, .prepare = prepare_order_gpu};

static const wi_implementation wi_put_kernel = {
    .name = "put", .ops = {&wi_op_put}, .file = "put.cl", .prepare = put_kernel};

const wi_implementation *const wi_sort_family[] = {&wi_order_cpu, &wi_order_gpu, &wi_put_kernel, NULL};
