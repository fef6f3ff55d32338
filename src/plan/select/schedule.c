/* How the work of each step is divided (contract in schedule.h). */
#include "plan/select/schedule.h"
#include "base/integers.h"
#include "base/key_map.h"
#include "cl/opened_device.h"
#include "kernels/candidates.h"
#include "kernels/convolution/conv_product.h"
#include "plan/emit/accumulators.h"
#include <math.h>

/* Products of dimensions of a loop's space, at the actual batch size. */
typedef struct sizes {
    int64_t kept, reduced, last; /* last: of the last dimension alone */
    bool rows;                   /* the last dimension is reduced */
} sizes;

/* Divides the work of a loop: `own` gets the result. */
typedef struct cutter {
    const wi_partition *partition;
    const wi_loop *loop;
    const wi_device_profile *device;
    sizes s;
    wi_step_schedule *own;
} cutter;

static sizes sizes_of(const wi_loop *loop) {
    const wi_space *space = &loop->space;
    sizes s = {1, 1, space->dims[space->rank - 1].actual, space->reduced[space->rank - 1]};
    for (int d = 0; d < space->rank; d++) {
        if (space->reduced[d])
            s.reduced *= space->dims[d].actual;
        else
            s.kept *= space->dims[d].actual;
    }
    return s;
}

/* ---- work-items that walk along the innermost axis ---- */

/* The number of items to use: a multiple of the number of compute units, if the loop has work for all of them. */
static int64_t items_wanted(const cutter *c) {
    const wi_loop_profile *profile = &c->device->loops;
    const int64_t units = c->device->units;
    const int64_t worth = wi_max64(1, c->s.kept * c->s.reduced / profile->item_elements);
    return worth < units ? worth : wi_min64(worth / units * units, units * c->device->items_a_unit);
}

static void cut_rows(cutter *c, int64_t wanted) {
    const int64_t an_item = wi_divide_up(c->s.kept, wi_min64(wanted, c->s.kept));
    c->own->work[WI_WORK_ROWS] = (int)an_item;
    c->own->items = (size_t)wi_divide_up(c->s.kept, an_item);
}

/* Divides the columns among about `wanted` items. run: columns that an item reads together. Items get fewer columns only if some compute
 * units would otherwise have no work. */
static void cut_columns(cutter *c, int64_t wanted, int64_t run) {
    const int64_t last = c->s.last, rows = c->s.kept / last, units = c->device->units,
                  lanes = c->device->lanes;
    const int64_t runs = wi_max64(wi_divide_up(last, run), wi_divide_up(units, rows));
    int64_t an_item = 1, spans = 1;
    if (rows >= wanted)
        an_item = wi_divide_up(rows, wanted);
    else
        spans = wi_min64(wi_min64(wi_divide_up(wanted, rows), runs), wi_divide_up(last, lanes));
    const int64_t span = wi_divide_up(wi_divide_up(last, spans), lanes) * lanes;
    spans = wi_divide_up(last, span);
    c->own->work[WI_WORK_ROWS] = (int)an_item;
    c->own->work[WI_WORK_SPANS] = (int)spans;
    c->own->work[WI_WORK_SPAN] = (int)span;
    c->own->items = (size_t)(wi_divide_up(rows, an_item) * spans);
}

static void cut_walks(cutter *c) {
    const sizes *s = &c->s;
    const wi_step *step = c->loop->step;
    const bool one_sweep = step->reduced && c->loop->sweeps == 1;
    const int64_t lanes = c->device->lanes;
    const int64_t run = one_sweep ? lanes * wi_reduction_vectors(c->partition, step) : lanes;
    const int64_t ranges = s->rows ? s->kept : s->kept / s->last * wi_divide_up(s->last, run);
    int64_t wanted = items_wanted(c), splits = 1;
    if (c->loop->may_split && ranges < wanted) splits = wi_min64(wanted / ranges, s->reduced / lanes);
    if (splits > 1) wanted = ranges;
    if (s->rows)
        cut_rows(c, wanted);
    else
        cut_columns(c, wanted, run);
    c->own->work[WI_WORK_SPLITS] = (int)wi_max64(1, splits);
    c->own->combine_items = c->own->items;
    c->own->items *= (size_t)c->own->work[WI_WORK_SPLITS];
}

/* ---- neighbouring work-items ---- */

static int64_t whole_groups(int64_t items, int64_t group) {
    return wi_divide_up(items, group) * group;
}

/* Splits of a reduction of columns. If the launch joins the splits, there are enough items for all units, but no item has fewer than
 * least_rounds elements. If a second launch combines the splits, the splits are fewer and longer, because an item of the second launch
 * loads the partial results one after the other. */
static int64_t column_splits(const cutter *c) {
    const sizes *s = &c->s;
    const wi_loop_profile *profile = &c->device->loops;
    enum { ITEMS_A_UNIT = 512 };
    if (s->kept >= profile->results) return 1;
    const int64_t long_ones = wi_divide_up(s->reduced, profile->split_rounds);
    if (!wi_joins_splits(c->partition, c->loop)) return long_ones;
    return wi_max64(
        long_ones, wi_min64(c->device->units * ITEMS_A_UNIT / s->kept, s->reduced / profile->least_rounds));
}

static void cut_neighbours(cutter *c) {
    const sizes *s = &c->s;
    const wi_loop_profile *profile = &c->device->loops;
    const int64_t group = c->device->group;
    int64_t splits = 1;
    if (c->loop->may_split && s->rows)
        splits = wi_divide_up(s->reduced, profile->split_elements);
    else if (c->loop->may_split)
        splits = column_splits(c);
    const int64_t rows = s->rows ? s->kept * group : s->kept;
    splits =
        wi_min64(splits, wi_max64(1, wi_min64(profile->splits, profile->results * 8 / wi_max64(rows, 1))));
    c->own->work[WI_WORK_SPLITS] = (int)wi_max64(1, splits);
    c->own->items = (size_t)whole_groups(rows, group);
    c->own->combine_items = (size_t)whole_groups(s->kept, group);
}

/* Each item computes `elements` neighbouring elements of a row. */
static void cut_quads(cutter *c, int elements) {
    const int64_t a_row = wi_divide_up(c->s.last, elements), items = c->s.kept / c->s.last * a_row;
    c->own->work[WI_WORK_RESULTS] = (int)items;
    c->own->work[WI_WORK_ROWS] = (int)a_row;
    c->own->work[WI_WORK_SPLITS] = 1;
    c->own->items = (size_t)whole_groups(items, c->device->group);
}

/* ---- kernels of templates ---- */

static weft_status prepare_for_site(
    wi_schedule *schedule, const wi_selection *selection, const wi_kernel_site *site, void **made) {
    wi_arena *const arena = schedule->loops->partition->request->arena;
    wi_kernel_plan *const kernel = wi_arena_take(arena, sizeof *kernel);
    if (!kernel) return WEFT_ERROR_MEMORY;
    WI_TRY(wi_implementation_prepare(selection->chosen, selection->variant, site, arena, kernel));
    *made = kernel;
    return WEFT_OK;
}

static bool draws(const wi_kernel_plan *kernel) {
    for (int i = 0; i < kernel->count; i++) {
        for (int a = 0; a < kernel->launches[i]->argument_count; a++) {
            if (kernel->launches[i]->arguments[a].kind == WI_KERNEL_RANDOM) return true;
        }
    }
    return false;
}

/* Computes the launches of the chosen implementation and the macros of its template; equal sites share them. */
static weft_status prepare_kernel(wi_schedule *schedule, const wi_step *step) {
    const wi_partition *const p = schedule->loops->partition;
    wi_kernel_site site = wi_step_site(p, step);
    site.quads = step->kind == WI_STEP_PRODUCT &&
                 wi_step_elements(schedule->loops->partition, &schedule->loops->of[step->index]) > 1;
    wi_key_begin(schedule->kernels);
    wi_key_add(schedule->kernels, site.quads);
    wi_key_add_address(schedule->kernels, step->selection->chosen);
    wi_key_add_address(schedule->kernels, step->selection->variant);
    wi_key_add_site(schedule->kernels, wi_step_device(p, step), &site);
    void **const prepared = wi_key_end(schedule->kernels);
    if (!prepared) return WEFT_ERROR_MEMORY;
    if (!*prepared) WI_TRY(prepare_for_site(schedule, step->selection, &site, prepared));
    schedule->of[step->index].kernel = *prepared;
    schedule->draws = schedule->draws || draws(*prepared);
    return WEFT_OK;
}

/* ---- steps of each kind ---- */

/* Partial results that each split stores for each result. */
static size_t count_partial_cells(const wi_partition *p, const wi_step *step) {
    size_t count = 0;
    for (int i = 0; i < step->member_count; i++)
        count += (size_t)wi_partial_cells(&p->values[step->members[i]]);
    return count;
}

static weft_status schedule_loop(const wi_partition *p, const wi_loop *loop, wi_step_schedule *own) {
    const wi_step *step = loop->step;
    const wi_device_profile *device = &wi_step_device(p, step)->profile;
    cutter c = {.partition = p, .loop = loop, .device = device, .s = sizes_of(loop), .own = own};
    if (c.s.kept > INT32_MAX / 2) return wi_fail_large(p->values[step->members[0]].node, c.s.kept);
    own->work[WI_WORK_RESULTS] = (int)c.s.kept;
    const int elements = wi_step_elements(p, loop);
    if (device->item_walks)
        cut_walks(&c);
    else if (elements > 1)
        cut_quads(&c, elements);
    else
        cut_neighbours(&c);
    if (wi_joins_splits(p, loop))
        own->cell_bytes = wi_join_bytes(p, step, c.s.kept, own->work[WI_WORK_SPLITS]);
    else if (own->work[WI_WORK_SPLITS] > 1)
        own->scratch_bytes = count_partial_cells(p, step) * wi_reduction_cell(p, step) * (size_t)c.s.kept *
                             (size_t)own->work[WI_WORK_SPLITS];
    own->flops = (double)step->member_count * (double)c.s.kept * (double)c.s.reduced;
    own->launch_count = wi_is_split(step, own) ? 2 : 1;
    return WEFT_OK;
}

/* The number of launches in a run; each repetition counts. */
static int count_launches(const wi_kernel_plan *kernel) {
    int count = 0;
    for (int i = 0; i < kernel->count;) {
        const wi_kernel_launch *const launch = kernel->launches[i];
        const bool repeats = launch->iterations > 0;
        count += repeats ? (int)launch->iterations * launch->launches_per_iteration : 1;
        i += repeats ? launch->launches_per_iteration : 1;
    }
    return count;
}

/* Operations of the contraction, without the epilogue. */
static double product_flops(const wi_gemm_shape *gemm) {
    if (gemm->convolution) return gemm->convolution->flops;
    return 2.0 * (double)gemm->batch * (double)gemm->m * (double)gemm->n * (double)gemm->k;
}

/* kernel: NULL if a library computes the product. */
static void schedule_kernel(const wi_step *step, const wi_kernel_plan *kernel, wi_step_schedule *own) {
    const wi_gemm_shape *gemm = &step->gemm;
    own->launch_count = kernel ? count_launches(kernel) : 1;
    own->scratch_bytes = kernel ? kernel->scratch_bytes : 0;
    if (step->kind == WI_STEP_KERNEL) {
        own->flops = kernel->flops;
        return;
    }
    const double results = (double)gemm->batch * (double)gemm->m * (double)gemm->n;
    own->flops = product_flops(gemm) + (double)(step->member_count - 1) * results;
}

/* Bytes of an element of a contraction's operand. */
static double source_size(const wi_partition *p, const wi_step *step, int source) {
    return (double)weft_dtype_size(p->values[step->sources[source]].format);
}

/* Bytes that the step reads and writes. Each operand counts once, a broadcast operand with the size that it has in memory. */
static double bytes_of(const wi_partition *p, const wi_loop *loop) {
    const wi_step *step = loop->step;
    double bytes = 0;
    for (int i = 0; i < loop->operand_count; i++) {
        if (loop->operands[i].value < 0) continue;
        const wi_operand *const operand = &loop->operands[i];
        const wi_value *value =
            &p->values[operand->pick && !operand->is_index ? operand->viewed : operand->value];
        const bool is_table =
            !operand->of_source && wi_is_table_of(p, step, operand->value, operand->is_output);
        bytes += (double)wi_extent_count(is_table ? &step->extent : value->extent).actual *
                 (double)weft_dtype_size(value->format);
    }
    const bool whole_sources = step->gemm.convolution || step->by_segments;
    /* A sum by segments has source 0, the rows, among its operands. */
    for (int i = step->by_segments; step->kind == WI_STEP_PRODUCT && whole_sources && i < 2; i++)
        bytes += (double)wi_extent_count(p->values[step->sources[i]].extent).actual * source_size(p, step, i);
    if (step->kind == WI_STEP_PRODUCT && !whole_sources)
        bytes += ((double)step->gemm.m * source_size(p, step, 0) +
                     (double)step->gemm.n * source_size(p, step, 1)) *
                 (double)step->gemm.k * (double)step->gemm.batch;
    return bytes;
}

bool wi_is_split(const wi_step *step, const wi_step_schedule *schedule) {
    return step->kind == WI_STEP_LOOP && schedule->work[WI_WORK_SPLITS] > 1 && schedule->cell_bytes == 0;
}

/* The slower of two devices determines the time of a transfer. */
static double seconds_of(const wi_partition *p, const wi_step *step, const wi_step_schedule *own) {
    const wi_device_profile *device = &wi_step_device(p, step)->profile;
    if (wi_changes_device(p, step)) {
        const wi_device_profile *from = &p->request->devices.of[wi_transfer_from(p, step)]->profile;
        return fmax(device->transfer_seconds, from->transfer_seconds) +
               (double)wi_value_bytes(&p->values[step->members[0]]) /
                   fmin(device->transfer_bandwidth, from->transfer_bandwidth);
    }
    const weft_dtype compute = wi_format_of(p->values[step->members[0]].node->dtype)->compute;
    const double peak = wi_device_peak(device, weft_dtype_size(compute));
    return own->launch_count * device->launch_seconds +
           fmax(own->flops / peak, own->bytes_moved / device->bandwidth);
}

static weft_status schedule_step(wi_schedule *schedule, const wi_step *step) {
    const wi_partition *const p = schedule->loops->partition;
    const wi_loop *const loop = &schedule->loops->of[step->index];
    wi_step_schedule *const own = &schedule->of[step->index];
    if (step->kind == WI_STEP_LOOP) {
        WI_TRY(schedule_loop(p, loop, own));
    } else if (step->kind == WI_STEP_TRANSFER) {
        own->launch_count = 1;
    } else {
        if (!wi_step_is_library(step)) WI_TRY(prepare_kernel(schedule, step));
        schedule_kernel(step, own->kernel, own);
    }
    own->bytes_moved = bytes_of(p, loop);
    own->seconds = seconds_of(p, step, own);
    return WEFT_OK;
}

weft_status wi_plan_schedule(const wi_loops *loops, wi_schedule *schedule) {
    const wi_partition *p = loops->partition;
    *schedule = (wi_schedule){.loops = loops};
    schedule->kernels = wi_key_map_new(p->request->arena);
    schedule->of = wi_arena_take(p->request->arena, p->step_count * sizeof *schedule->of);
    if (!schedule->kernels || !schedule->of) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < p->step_count; i++) WI_TRY(schedule_step(schedule, p->steps[i]));
    return WEFT_OK;
}
