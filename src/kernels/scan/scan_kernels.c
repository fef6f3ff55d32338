/* Sums, products and linear recurrences along an axis. See cl_kernels/scan/scan.cl. */
#include "base/integers.h"
#include "kernels/index_type.h"
#include "ops/op_table.h"
#include "ops/scan/scan.h"
#include <math.h>

typedef struct scan_work {
    int64_t outer, n, inner;
    int64_t lines; /* number of lines, or of vectors of neighbouring lines */
    int64_t splits, split_length, lines_an_item;
    bool along; /* are a line's elements adjacent, and enough of them for several items? */
} scan_work;

/* AN_ITEM: elements of a tile that an item of a group scans. STATE: words of a state. */
enum { AN_ITEM, STATE };

static const char *const parameters[] = {[AN_ITEM] = "WEFT_SCAN_TILE", [STATE] = "WEFT_SCAN_STATE", NULL};

static const wi_variant variants[] = {{"f32", {[AN_ITEM] = 4, [STATE] = 3}}, {0}};

static void cut(scan_work *w, int64_t splits, int64_t unit) {
    w->split_length = wi_divide_up(wi_divide_up(w->n, wi_max64(splits, 1)), unit) * unit;
    w->splits = wi_divide_up(w->n, w->split_length);
}

/* Divides the work on devices whose items walk, into as few items as keep the units busy. If there are few lines, they are divided
 * into splits. */
static void share_walks(scan_work *w, const wi_device_profile *device) {
    const int64_t lanes = device->lanes, width = w->along ? 1 : wi_min64(w->inner, lanes),
                  wanted = device->units * device->items_a_unit;
    w->lines = w->along ? w->outer : w->outer * wi_divide_up(w->inner, lanes);
    const bool few = w->lines < device->units * 2;
    cut(w, few ? wi_min64(wanted / w->lines, w->n * width / 8192) : 1, lanes);
    const int64_t worth = wi_max64(1, w->lines * w->n * width / 4096);
    w->lines_an_item =
        w->splits > 1 ? 1 : wi_divide_up(w->lines, wi_min64(wi_min64(wanted, worth), w->lines));
}

/* Divides the work on other devices: a work-group scans the tiles of a line, or neighbouring items scan neighbouring lines. */
static void share_groups(scan_work *w, const wi_device_profile *device, int64_t tile) {
    const int64_t units = device->units;
    w->lines = w->along ? w->outer : w->outer * w->inner;
    w->lines_an_item = 1;
    if (w->along)
        cut(w, wi_min64(units * 16 / w->lines, w->n / (4 * tile)), tile);
    else
        cut(w, wi_min64(wi_min64(units * 512 / w->lines, w->n / 64), 64), 1);
}

static scan_work work_of(const wi_kernel_site *site) {
    const wi_extent *x = &site->result;
    const int axis = site->node->attributes->scan.axis;
    const wi_device_profile *const device = site->device;
    scan_work w = {.outer = 1, .n = x->dims[axis].actual, .inner = 1};
    int64_t inner_general = 1;
    for (int i = 0; i < x->rank; i++) {
        if (i < axis) w.outer *= x->dims[i].actual;
        if (i > axis) w.inner *= x->dims[i].actual;
        if (i > axis) inner_general *= x->dims[i].general;
    }
    w.along = inner_general == 1 && (device->item_walks || x->dims[axis].general > 32);
    if (device->item_walks)
        share_walks(&w, device);
    else
        share_groups(&w, device, site->values[AN_ITEM] * device->group);
    return w;
}

static void add_pass(const wi_kernel_site *site, wi_kernel_plan *plan, const scan_work *w, int pass) {
    const int64_t group = site->device->group;
    const wi_scan_attributes *const a = &site->node->attributes->scan;
    const int64_t items = wi_divide_up(w->lines, w->lines_an_item) * w->splits;
    wi_kernel_launch *launch =
        wi_kernel_launch_1d(plan, w->along ? "lines" : "columns", w->along ? items * group : items, group);
    wi_kernel_input(launch, 0);
    wi_kernel_input(launch, site->node->input_count - 1);
    wi_kernel_result(launch);
    wi_kernel_scratch(launch, 0);
    wi_kernel_indices(plan, launch,
        WI_KERNEL_NUMBERS(w->outer, w->n, w->inner, w->splits, w->split_length, w->lines_an_item));
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(a->form, a->backwards, pass));
}

/* The value of WEFT_KIND in scan.cl. */
static int kind_of(const wi_op *op) {
    return op == &wi_op_cumsum ? 0 : op == &wi_op_cumprod ? 1 : 2;
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const scan_work w = work_of(site);
    const int64_t states = w.splits > 1 ? w.splits * w.lines : 1;
    plan->flops = (double)(w.outer * w.n * w.inner);
    plan->scratch_bytes = (size_t)(states * site->device->lanes * site->values[STATE]) * sizeof(float);
    wi_kernel_index_type(plan, site, fmax(plan->flops, (double)plan->scratch_bytes / sizeof(float)));
    wi_kernel_macro_int(plan, "WEFT_KIND", kind_of(site->node->op));
    wi_kernel_macro_int(plan, "WEFT_FLOAT", site->node->dtype == WEFT_F32);
    if (w.splits > 1) add_pass(site, plan, &w, 0);
    add_pass(site, plan, &w, 1);
    return WEFT_OK;
}

#define RECORD(spelling, op)                                                                                 \
    {                                                                                                        \
        .name = (spelling), .file = "scan.cl", .parameters = parameters, .variants = variants,               \
        .ops = {&(op)}, .prepare = prepare                                                                   \
    }
static const wi_implementation wi_cumsum_kernel = RECORD("cumsum", wi_op_cumsum);
static const wi_implementation wi_cumprod_kernel = RECORD("cumprod", wi_op_cumprod);
static const wi_implementation wi_linear_scan_kernel = RECORD("linear_scan", wi_op_linear_scan);

const wi_implementation *const wi_scan_family[] = {
    &wi_cumsum_kernel, &wi_cumprod_kernel, &wi_linear_scan_kernel, NULL};
