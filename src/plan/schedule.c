/* How each step's work is cut into work-items, and what scratch memory that takes. Only here do actual sizes
 * decide, and only between kernels that the program has anyway. */
#include "base/integers.h"
#include "plan/accumulators.h"
#include <math.h>

enum {
    CPU_ITEM_ELEMENTS = 4096, /* a work-item is worth its launch from about here */
    CPU_ITEMS_A_UNIT = 4,     /* more than one, to even out */
    GPU_PART_ELEMENTS = 4096, /* of a row that a group reduces at a time */
    GPU_ROUNDS_A_PART = 256,  /* reduced elements a work-item walks through */
    GPU_CELLS_WANTED = 32768,
    MOST_PARTS = 512
};

typedef struct sizes {
    int64_t kept, reduced, last;
    bool rows; /* the last dimension is reduced */
} sizes;

static sizes sizes_of(const wi_step *step) {
    const wi_space *space = &step->space;
    sizes s = {1, 1, space->dims[space->rank - 1].actual, space->reduced[space->rank - 1]};
    for (int d = 0; d < space->rank; d++) {
        if (space->reduced[d])
            s.reduced *= space->dims[d].actual;
        else
            s.kept *= space->dims[d].actual;
    }
    return s;
}

/* ---- cpu ---- */

static int64_t cpu_items_wanted(const weft_plan *plan, const sizes *s) {
    const int64_t units = wi_max64(1, plan->context->caps.compute_units);
    const int64_t worth = wi_max64(1, s->kept * s->reduced / CPU_ITEM_ELEMENTS);
    return worth < units ? worth : wi_min64(worth / units * units, units * CPU_ITEMS_A_UNIT);
}

static void schedule_cpu_rows(wi_step *step, const sizes *s, int64_t wanted) {
    const int64_t an_item = wi_divide_up(s->kept, wi_min64(wanted, s->kept));
    step->work[1] = (int)an_item;
    step->items = (size_t)wi_divide_up(s->kept, an_item);
}

/* run: columns that are walked along together; cutting them further is worth it only for idle units. */
static void schedule_cpu_columns(
    const weft_plan *plan, wi_step *step, const sizes *s, int64_t wanted, int64_t run) {
    const int64_t rows = s->kept / s->last, units = wi_max64(1, plan->context->caps.compute_units);
    const int64_t runs = wi_max64(wi_divide_up(s->last, run), wi_divide_up(units, rows));
    int64_t an_item = 1, spans = 1;
    if (rows >= wanted)
        an_item = wi_divide_up(rows, wanted);
    else
        spans = wi_min64(wi_min64(wi_divide_up(wanted, rows), runs), wi_divide_up(s->last, 16));
    const int64_t span = wi_divide_up(wi_divide_up(s->last, spans), 16) * 16;
    spans = wi_divide_up(s->last, span);
    step->work[1] = (int)an_item;
    step->work[2] = (int)spans;
    step->work[3] = (int)span;
    step->items = (size_t)(wi_divide_up(rows, an_item) * spans);
}

static void schedule_cpu(const weft_plan *plan, wi_step *step, const sizes *s) {
    int64_t wanted = cpu_items_wanted(plan, s);
    const int64_t run = step->reduced && step->passes == 1 ? 16 * wi_reduction_pieces(plan, step) : 16;
    const int64_t pieces = s->rows ? s->kept : s->kept / s->last * wi_divide_up(s->last, run);
    int64_t parts = 1;
    if (step->splits && pieces < wanted) parts = wi_min64(wanted / pieces, s->reduced / 16);
    if (parts > 1) wanted = pieces;
    if (s->rows)
        schedule_cpu_rows(step, s, wanted);
    else
        schedule_cpu_columns(plan, step, s, wanted, run);
    step->work[4] = (int)wi_max64(1, parts);
    step->finish_items = step->items;
    step->items *= (size_t)step->work[4];
}

/* ---- gpu ---- */

static void schedule_gpu(wi_step *step, const sizes *s) {
    int64_t parts = 1;
    if (step->splits && s->rows)
        parts = wi_divide_up(s->reduced, GPU_PART_ELEMENTS);
    else if (step->splits && s->kept < GPU_CELLS_WANTED)
        parts = wi_divide_up(s->reduced, GPU_ROUNDS_A_PART);
    const int64_t rows = s->rows ? s->kept * 64 : s->kept;
    parts = wi_min64(parts, wi_max64(1, wi_min64(MOST_PARTS, GPU_CELLS_WANTED * 8 / wi_max64(rows, 1))));
    step->work[4] = (int)wi_max64(1, parts);
    step->items = (size_t)(wi_divide_up(rows, 64) * 64);
    step->finish_items = (size_t)(wi_divide_up(s->kept, 64) * 64);
}

/* ---- both ---- */

static size_t count_slots(const weft_plan *plan, const wi_step *step) {
    size_t count = 0;
    for (int i = 0; i < step->member_count; i++)
        count += (size_t)wi_reduction_slots(&plan->values[step->members[i]]);
    return count;
}

static weft_status schedule_loop(weft_plan *plan, wi_step *step) {
    const sizes s = sizes_of(step);
    if (s.kept > INT32_MAX / 2)
        WI_FAIL(WEFT_ERROR_UNSUPPORTED, "a step over %lld results is more than a kernel counts",
            (long long)s.kept);
    step->work[0] = (int)s.kept;
    if (plan->context->caps.device_class == WEFT_CLASS_CPU)
        schedule_cpu(plan, step, &s);
    else
        schedule_gpu(step, &s);
    if (step->work[4] > 1)
        step->scratch_bytes =
            count_slots(plan, step) * wi_reduction_cell(plan, step) * (size_t)s.kept * (size_t)step->work[4];
    step->flops += (double)step->member_count * (double)s.kept * (double)s.reduced;
    return WEFT_OK;
}

static void schedule_product(wi_step *step) {
    const double results = (double)step->gemm.batch * (double)step->gemm.m * (double)step->gemm.n;
    step->flops += (double)(step->member_count - 1) * results;
    if (step->kernel) step->scratch_bytes = step->kernel->scratch_bytes;
}

/* What the step reads and writes, each operand once: stretched ones in their own size. */
static double bytes_of(const weft_plan *plan, const wi_step *step) {
    double bytes = 0;
    for (int i = 0; i < step->operand_count; i++) {
        if (step->operands[i].value < 0) continue;
        const wi_value *value = &plan->values[step->operands[i].value];
        bytes += (double)wi_extent_count(&value->extent).actual * (double)weft_dtype_size(value->node->dtype);
    }
    for (int i = 0; step->kind == WI_STEP_PRODUCT && step->gemm.windows && i < 2; i++)
        bytes += (double)wi_extent_count(&plan->values[step->sources[i]].extent).actual * 4;
    if (step->kind == WI_STEP_PRODUCT && !step->gemm.windows)
        bytes += ((double)step->gemm.m + (double)step->gemm.n) * (double)step->gemm.k *
                 (double)step->gemm.batch * 4;
    return bytes;
}

weft_status wi_plan_schedule(weft_plan *plan) {
    for (size_t i = 0; i < plan->step_count; i++) {
        wi_step *step = plan->steps[i];
        if (step->kind == WI_STEP_PRODUCT)
            schedule_product(step);
        else if (step->kind == WI_STEP_LOOP)
            WI_TRY(schedule_loop(plan, step));
        step->bytes_moved = bytes_of(plan, step);
        if (step->scratch_bytes == 0) continue;
        WI_TRY(wi_plan_new_storage(plan, WI_STORAGE_ARENA, step->scratch_bytes, &step->scratch));
        plan->storages[step->scratch].first = plan->storages[step->scratch].last = (int)i;
    }
    return WEFT_OK;
}
