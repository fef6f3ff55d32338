/* The launches of scans: scan.cl. */
#include "base/integers.h"
#include "kernels/families.h"
#include "ops/op_table.h"
#include "ops/scan/scan.h"

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
    const bool cpu = site->device->device_class == WEFT_CLASS_CPU;
    scan_work w = {.outer = 1, .n = x->dims[axis].actual, .inner = 1};
    int64_t inner_general = 1;
    for (int i = 0; i < x->rank; i++) {
        if (i < axis) w.outer *= x->dims[i].actual;
        if (i > axis) w.inner *= x->dims[i].actual;
        if (i > axis) inner_general *= x->dims[i].general;
    }
    w.along = inner_general == 1 && (cpu || x->dims[axis].general > 32);
    if (cpu)
        share_cpu(&w, site->device->units);
    else
        share_gpu(&w, site->device->units);
    return w;
}

static void add_pass(const wi_kernel_site *site, wi_kernel_plan *plan, const scan_work *w, int pass) {
    const bool cpu = site->device->device_class == WEFT_CLASS_CPU;
    const uint32_t flags = site->node->attributes.flags;
    const int64_t items = wi_divide_up(w->lines, w->lines_an_item) * w->parts;
    wi_kernel_launch *launch = wi_kernel_launch_1d(
        plan, w->along ? "lines" : "columns", !cpu && w->along ? items * GROUP : items, cpu ? 1 : GROUP);
    wi_kernel_input(launch, 0);
    wi_kernel_input(launch, site->node->input_count - 1);
    wi_kernel_result(launch);
    wi_kernel_scratch(launch, 0);
    const int64_t longs[] = {w->outer, w->n, w->inner, w->parts, w->part_length, w->lines_an_item};
    const int64_t ints[] = {flags & WI_SCAN_FORM, (flags & WI_SCAN_BACKWARDS) != 0, pass};
    for (size_t i = 0; i < sizeof longs / sizeof *longs; i++) wi_kernel_long(launch, longs[i]);
    for (size_t i = 0; i < sizeof ints / sizeof *ints; i++) wi_kernel_int(launch, ints[i]);
}

static weft_status scan(const wi_kernel_site *site, wi_kernel_plan *plan, int kind) {
    const scan_work w = work_of(site);
    const int64_t lanes = site->device->device_class == WEFT_CLASS_CPU ? LANES : 1;
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

static const wi_implementation wi_cumsum_kernel = {
    .name = "cumsum", .file = "scan.cl", .ops = {&wi_op_cumsum}, .prepare = cumsum_kernel};
static const wi_implementation wi_cumprod_kernel = {
    .name = "cumprod", .file = "scan.cl", .ops = {&wi_op_cumprod}, .prepare = cumprod_kernel};
static const wi_implementation wi_linear_scan_kernel = {
    .name = "linear_scan", .file = "scan.cl", .ops = {&wi_op_linear_scan}, .prepare = linear_scan_kernel};

const wi_implementation *const wi_scan_family[] = {
    &wi_cumsum_kernel, &wi_cumprod_kernel, &wi_linear_scan_kernel, NULL};
