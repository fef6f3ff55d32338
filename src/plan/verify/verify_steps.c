/* Invariants of loops, code and schedule. */
#include "cl/opened_device.h"
#include "kernels/kernel_plan.h"
#include "plan/emit/accumulators.h"
#include "plan/verify/verify.h"
#include <string.h>

/* ---- loops ---- */

/* Along a padded dimension the kernel addresses the indices of the input, not those of the space. */
static bool stays_inside(const wi_partition *p, const wi_loop *loop, const wi_operand *operand) {
    wi_size dims[WEFT_MAX_RANK];
    int64_t first, end;
    for (int d = 0; d < loop->space.rank; d++) {
        const bool padded = operand->padding && operand->padding[d].mode;
        dims[d] = padded ? operand->padding[d].size : loop->space.dims[d];
    }
    wi_verify_reach(&operand->layout, dims, loop->space.rank, weft_dtype_size(operand->dtype), &first, &end);
    return first >= 0 && (size_t)end <= wi_verify_room(p, wi_base_storage(p, operand->value));
}

static weft_status check_operand(const wi_partition *p, const wi_loop *loop, int o) {
    const wi_operand *operand = &loop->operands[o];
    const wi_step *step = loop->step;
    if (operand->value < 0) {
        WI_REQUIRE(operand->generator && !operand->is_output, WI_PASS_LOOPS, "step", step->index,
            "an operand is neither stored nor a generator");
        return WEFT_OK;
    }
    WI_REQUIRE((size_t)operand->value < p->value_count && wi_base_storage(p, operand->value) >= 0,
        WI_PASS_LOOPS, "step", step->index, "an operand has no memory");
    const wi_value *value = &p->values[operand->value];
    WI_REQUIRE(step->kind == WI_STEP_TRANSFER ||
                   p->storages[wi_base_storage(p, operand->value)].device == step->device,
        WI_PASS_LOOPS, "step", step->index, "an operand is on another device");
    WI_REQUIRE(operand->is_output ? value->step == step->index : value->step < step->index, WI_PASS_LOOPS,
        "step", step->index, "an operand is read before it is computed, or is written by another step");
    WI_REQUIRE(step->kind == WI_STEP_KERNEL || stays_inside(p, loop, operand), WI_PASS_LOOPS, "step",
        step->index, "an operand reaches beyond its storage");
    return WEFT_OK;
}

/* A stored member needs an output operand and an existing sweep. */
static weft_status check_stored(const wi_loops *loops, const wi_loop *loop, int member) {
    const wi_value *value = &loops->partition->values[member];
    const wi_step *step = loop->step;
    if (value->storage < 0) return WEFT_OK;
    WI_REQUIRE(wi_loop_operand(loop, member, true) >= 0, WI_PASS_LOOPS, "step", step->index,
        "a member with memory is not stored");
    WI_REQUIRE(step->kind != WI_STEP_LOOP || loops->sweep[member] < loop->sweeps, WI_PASS_LOOPS, "step",
        step->index, "a member is stored after the last sweep");
    return WEFT_OK;
}

static weft_status check_space(const wi_loop *loop) {
    const wi_step *step = loop->step;
    int64_t points = 1;
    WI_REQUIRE(loop->space.rank >= 1 && loop->space.rank <= WEFT_MAX_RANK, WI_PASS_LOOPS, "step", step->index,
        "its space has no dimensions, or too many");
    for (int d = 0; d < loop->space.rank; d++) points *= loop->space.dims[d].actual;
    WI_REQUIRE(step->kind != WI_STEP_LOOP || points == wi_extent_count(&step->extent).actual, WI_PASS_LOOPS,
        "step", step->index, "merging its dimensions has changed the number of points");
    WI_REQUIRE(loop->staged < 0 || (loop->staging >= 0 && loop->staging < loop->operand_count &&
                                       loop->operands[loop->staging].is_output),
        WI_PASS_LOOPS, "step", step->index, "a value that a sweep stores for a later sweep has no memory");
    return WEFT_OK;
}

weft_status wi_verify_loops(const wi_loops *loops) {
    const wi_partition *p = loops->partition;
    for (size_t i = 0; i < p->step_count; i++) {
        const wi_loop *loop = &loops->of[i];
        WI_REQUIRE(loop->step == p->steps[i], WI_PASS_LOOPS, "step", i, "its loop belongs to another step");
        WI_REQUIRE(loop->operand_count >= 0 && loop->operand_count <= WI_MAX_OPERANDS, WI_PASS_LOOPS, "step",
            i, "it has more operands than fit");
        WI_TRY(check_space(loop));
        for (int o = 0; o < loop->operand_count; o++) WI_TRY(check_operand(p, loop, o));
        for (int m = 0; m < loop->step->member_count; m++)
            WI_TRY(check_stored(loops, loop, loop->step->members[m]));
    }
    return WEFT_OK;
}

/* ---- code ---- */

static bool is_bound(const wi_loop *loop, const wi_argument *argument) {
    const wi_operand *operand = argument->a < loop->operand_count ? &loop->operands[argument->a] : NULL;
    switch (argument->kind) {
    case WI_ARGUMENT_BUFFER:
    case WI_ARGUMENT_OFFSET: return operand && operand->value >= 0;
    case WI_ARGUMENT_STRIDE: return operand && argument->b < loop->space.rank;
    case WI_ARGUMENT_PADDING: return operand && operand->padding && argument->b < loop->space.rank;
    case WI_ARGUMENT_PICK: return operand && operand->pick && !operand->is_index;
    case WI_ARGUMENT_DIM: return argument->a < loop->space.rank;
    case WI_ARGUMENT_WORK: return argument->a < WI_WORK_NUMBERS;
    case WI_ARGUMENT_FLOAT:
    case WI_ARGUMENT_DOUBLE:
    case WI_ARGUMENT_WHOLE:
    case WI_ARGUMENT_SCALAR:
    case WI_ARGUMENT_DRAWS:
    case WI_ARGUMENT_ITERATION:
    case WI_ARGUMENT_SEED:
    case WI_ARGUMENT_FAULT:
    case WI_ARGUMENT_SCRATCH:
    case WI_ARGUMENT_CELLS: break;
    }
    return true;
}

static weft_status check_kernel(const wi_code *code, size_t step, const wi_kernel_text *kernel) {
    WI_REQUIRE(kernel->piece >= 0 && (size_t)kernel->piece < code->piece_count, WI_PASS_CODE, "step", step,
        "it has no kernel");
    for (int i = 0; i < kernel->argument_count; i++)
        WI_REQUIRE(is_bound(&code->loops->of[step], &kernel->arguments[i]), WI_PASS_CODE, "step", step,
            "an argument belongs to no operand or dimension");
    return WEFT_OK;
}

static weft_status check_step_code(const wi_code *code, size_t index) {
    const wi_step *step = code->loops->partition->steps[index];
    const wi_step_code *own = &code->of[index];
    if (step->kind == WI_STEP_TRANSFER || wi_step_is_library(step)) return WEFT_OK;
    if (!wi_is_split(step, &code->schedule->of[index])) return check_kernel(code, index, &own->whole);
    WI_TRY(check_kernel(code, index, &own->partial));
    return check_kernel(code, index, &own->combine);
}

weft_status wi_verify_code(const wi_code *code) {
    for (size_t i = 0; i < code->loops->partition->step_count; i++) WI_TRY(check_step_code(code, i));
    for (size_t i = 0; i < code->piece_count; i++) {
        for (size_t k = 0; k < i; k++)
            WI_REQUIRE(strcmp(code->pieces[i].name, code->pieces[k].name) != 0, WI_PASS_CODE, "piece", i,
                "another one has the same name");
    }
    return WEFT_OK;
}

/* ---- the schedule ---- */

typedef struct counts {
    int64_t kept, last;
    bool rows; /* the last dimension is reduced */
} counts;

static counts count(const wi_loop *loop) {
    const wi_space *space = &loop->space;
    counts c = {1, space->dims[space->rank - 1].actual, space->reduced[space->rank - 1]};
    for (int d = 0; d < space->rank; d++) c.kept *= space->reduced[d] ? 1 : space->dims[d].actual;
    return c;
}

/* Do the work-items reach every result? */
static bool covers(const wi_step_schedule *own, counts c, const wi_device_profile *device, int elements) {
    const int64_t items = (int64_t)own->items;
    if (elements > 1)
        return items >= own->work[WI_WORK_RESULTS] &&
               own->work[WI_WORK_RESULTS] == c.kept / c.last * own->work[WI_WORK_ROWS] &&
               (int64_t)own->work[WI_WORK_ROWS] * elements >= c.last;
    if (own->work[WI_WORK_RESULTS] != c.kept) return false;
    if (!device->item_walks) return items >= c.kept * (c.rows ? device->group : 1);
    const int64_t each = items / own->work[WI_WORK_SPLITS];
    if (c.rows) return each * own->work[WI_WORK_ROWS] >= c.kept;
    const int64_t spans = own->work[WI_WORK_SPANS];
    return spans > 0 && spans * own->work[WI_WORK_SPAN] >= c.last &&
           each / spans * own->work[WI_WORK_ROWS] >= c.kept / c.last;
}

/* Bytes of the partial results of one split, for each result. */
static size_t split_bytes(const wi_partition *p, const wi_step *step) {
    size_t cells = 0;
    for (int i = 0; i < step->member_count; i++)
        cells += (size_t)wi_partial_cells(&p->values[step->members[i]]);
    return cells * wi_reduction_cell(p, step);
}

static weft_status check_loop_schedule(
    const wi_partition *p, const wi_loop *loop, const wi_step_schedule *own) {
    const counts c = count(loop);
    const int index = loop->step->index, splits = own->work[WI_WORK_SPLITS];
    WI_REQUIRE(splits == 1 || (splits > 1 && loop->may_split), WI_PASS_SCHEDULE, "step", index,
        "its reduction is split, but its kernel cannot be split");
    WI_REQUIRE(covers(own, c, &wi_step_device(p, loop->step)->profile, wi_step_elements(p, loop)),
        WI_PASS_SCHEDULE, "step", index, "its work-items do not compute every result");
    const size_t needed = splits > 1 ? split_bytes(p, loop->step) * (size_t)c.kept * (size_t)splits : 0;
    WI_REQUIRE((own->cell_bytes > 0 ? own->cell_bytes : own->scratch_bytes) >= needed, WI_PASS_SCHEDULE,
        "step", index, "its splits do not fit into the scratch memory");
    return WEFT_OK;
}

weft_status wi_verify_schedule(const wi_schedule *schedule) {
    const wi_partition *p = schedule->loops->partition;
    for (size_t i = 0; i < p->step_count; i++) {
        const wi_step_schedule *own = &schedule->of[i];
        const wi_kernel_plan *kernel = own->kernel;
        WI_REQUIRE(own->launch_count > 0, WI_PASS_SCHEDULE, "step", i, "it has no launches");
        WI_REQUIRE(!kernel || kernel->count > 0, WI_PASS_SCHEDULE, "step", i, "its template has no launches");
        if (p->steps[i]->kind == WI_STEP_LOOP) WI_TRY(check_loop_schedule(p, &schedule->loops->of[i], own));
        WI_REQUIRE(!kernel || own->scratch_bytes >= kernel->scratch_bytes, WI_PASS_SCHEDULE, "step", i,
            "it has less scratch memory than its launches need");
    }
    return WEFT_OK;
}
