/* The launches of sorting, of the greatest elements, and of putting elements at their places: sort.cl, place.cl. */
#include "base/integers.h"
#include "kernels/families.h"
#include "ops/sort/sort.h"

/* ---- the order ---- */

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
    order_work w = {.site = site,
        .plan = plan,
        .cpu = site->device->device_class == WEFT_CLASS_CPU,
        .lines = 1,
        .inner = 1};
    for (int i = 0; i < x->rank; i++) {
        if (i != axis) w.lines *= x->dims[i].actual;
        if (i > axis) w.inner *= x->dims[i].actual;
    }
    w.n = x->dims[axis].actual;
    w.k = site->result.dims[axis].actual;
    w.workers = site->device->units * 4;
    w.tile = GPU_TILE;
    if (w.cpu) { /* a line is cut only where there are too few of them */
        const bool few = w.lines < site->device->units * 2;
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
    wi_kernel_int(launch, w->site->node->attributes.flags & WI_SORT_DESCENDING ? -1 : 0);
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
    wi_kernel_macro_int(plan, "WEFT_FLOAT", site->node->inputs[0]->dtype == WEFT_F32);
    add_launches(&w);
    const int64_t radix = w.cpu ? wi_min64(w.workers, w.lines * wi_divide_up(w.n, w.tile)) * 2 * w.tile : 0;
    plan->scratch_bytes = (size_t)(2 * w.buffer + radix + 1) * sizeof(cl_ulong);
    return WEFT_OK;
}

/* ---- place ---- */

static weft_status place_kernel(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_extent *index = &site->inputs[1], *y = &site->result;
    const int axis = site->node->attributes.axis;
    const bool cpu = site->device->device_class == WEFT_CLASS_CPU;
    int64_t outer = 1, inner = 1;
    for (int i = 0; i < y->rank; i++) {
        if (i < axis) outer *= y->dims[i].actual;
        if (i > axis) inner *= y->dims[i].actual;
    }
    const int64_t count = index->dims[axis].actual, size = y->dims[axis].actual;
    const int64_t totals[] = {outer * size * inner, outer * count * inner};
    wi_kernel_macro_text(plan, "WEFT_ELEMENT", "uint");
    for (int put = count == size; put < 2; put++) {
        const int64_t total = totals[put];
        const int64_t items = cpu ? wi_max64(1, wi_min64(site->device->units * 4, total / 4096)) : total;
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

static const wi_implementation wi_order_kernel = {.name = "order",
    .file = "sort.cl",
    .ops = {&wi_op_argsort, &wi_op_topk_indices},
    .prepare = order_kernel};
static const wi_implementation wi_place_kernel = {
    .name = "place", .file = "place.cl", .ops = {&wi_op_place}, .prepare = place_kernel};

const wi_implementation *const wi_sort_family[] = {&wi_order_kernel, &wi_place_kernel, NULL};
