/* Which loops are sliced, and how (contract in slices.h). */
#include "plan/slices.h"
#include "base/integers.h"

/* Bytes of picked rows in a slice: the first-level cache has two to three times as many. */
enum { SLICE_BYTES = 24 << 10 };

typedef struct finder {
    const wi_loops *loops;
    const wi_partition *partition;
} finder;

/* ---- which loops ---- */

/* The rows that the loop picks: the pick's operand; NULL: none. */
static const wi_operand *picked_by(const wi_loop *loop) {
    for (int o = 0; o < loop->operand_count; o++)
        if (loop->operands[o].pick && !loop->operands[o].is_index) return &loop->operands[o];
    return NULL;
}

static bool picks(const wi_loop *loop, const wi_pick *pick) {
    for (int o = 0; o < loop->operand_count; o++)
        if (loop->operands[o].pick == pick) return true;
    return false;
}

/* Does the loop read what that step makes? */
static bool reads_step(const finder *f, const wi_loop *loop, int step) {
    for (int o = 0; o < loop->operand_count; o++) {
        const int value = loop->operands[o].value;
        if (value < 0 || loop->operands[o].is_output) continue;
        if (f->partition->values[f->partition->values[value].base].step == step) return true;
    }
    return false;
}

/* From the first loop that picks the rows to the last: these two, and what the last one needs of what lies between. false:
 * too many. */
static bool gather(const finder *f, int first, int last, wi_sliced *sliced) {
    int needed[WI_MOST_SLICED] = {last}, count = 1;
    for (int i = last - 1; i >= first; i--) {
        bool wanted = i == first;
        for (int k = 0; k < count; k++) wanted |= reads_step(f, &f->loops->of[needed[k]], i);
        if (wanted && count == WI_MOST_SLICED) return false;
        if (wanted) needed[count++] = i;
    }
    for (int k = 0; k < count; k++) sliced->steps[k] = needed[count - 1 - k];
    sliced->count = count;
    return true;
}

/* ---- may they? ---- */

/* How many numbers of the loop's first dimension belong to one of what is sliced; 0: it does not begin with that. */
static wi_size share_of(const wi_loop *loop, wi_size size) {
    const wi_size first = loop->space.dims[0];
    const bool divides = first.general % size.general == 0 && first.actual % size.actual == 0;
    return divides ? (wi_size){first.general / size.general, first.actual / size.actual} : (wi_size){0, 0};
}

/* Elements from one number of what is sliced to the next, if all that the operand has for one lie between; 0: they do not. */
static int64_t slice_of(const wi_loop *loop, const wi_operand *operand, wi_size size, bool actual) {
    const wi_size along = operand->layout.strides[0], share = share_of(loop, size);
    const int64_t slice = actual ? along.actual * share.actual : along.general * share.general;
    int64_t reach = slice - (actual ? along.actual : along.general);
    for (int d = 1; d < loop->space.rank; d++) {
        const wi_size stride = operand->layout.strides[d], count = loop->space.dims[d];
        const int64_t step = actual ? stride.actual : stride.general;
        if (step < 0) return 0;
        reach += step * ((actual ? count.actual : count.general) - 1);
    }
    return reach < slice ? slice : 0;
}

static bool has_equal_slices(
    const wi_loop *a, const wi_operand *written, const wi_loop *b, const wi_operand *read, wi_size size) {
    for (int actual = 0; actual < 2; actual++) {
        const int64_t slice = slice_of(a, written, size, actual);
        if (slice == 0 || slice != slice_of(b, read, size, actual)) return false;
    }
    return wi_size_is(written->layout.offset, 0) && wi_size_is(read->layout.offset, 0);
}

/* Has each slice of the reader what the same slice of the writer has made, if it reads anything of it? */
static bool keeps_slices(const finder *f, const wi_loop *writer, const wi_loop *reader, wi_size size) {
    const wi_partition *const p = f->partition;
    for (int w = 0; w < writer->operand_count; w++) {
        if (!writer->operands[w].is_output) continue;
        const int storage = wi_whole_storage(p, writer->operands[w].value);
        for (int r = 0; r < reader->operand_count; r++) {
            const wi_operand *const operand = &reader->operands[r];
            if (operand->value < 0 || wi_whole_storage(p, operand->value) != storage) continue;
            if (operand->is_output || operand->padded || operand->pick ||
                !has_equal_slices(writer, &writer->operands[w], reader, operand, size))
                return false;
        }
    }
    return true;
}

/* A loop whose rows are counted along the first dimension first, and which writes intermediates of its own alone. */
static bool may_be_sliced(const finder *f, int index, wi_size size) {
    const wi_partition *const p = f->partition;
    const wi_step *const step = p->steps[index];
    const wi_loop *const loop = &f->loops->of[index];
    if (step->kind != WI_STEP_LOOP || step->device != 0 || wi_step_assigns(p, index)) return false;
    if (loop->space.reduced[0] || share_of(loop, size).actual == 0) return false;
    for (int o = 0; o < loop->operand_count; o++) {
        if (!loop->operands[o].is_output) continue;
        const wi_storage *const storage = &p->storages[wi_base_storage(p, loop->operands[o].value)];
        if (storage->kind != WI_STORAGE_ARENA || storage->alias >= 0) return false;
    }
    return true;
}

static bool may_be(const finder *f, const wi_sliced *sliced) {
    for (int i = 0; i < sliced->count; i++) {
        if (!may_be_sliced(f, sliced->steps[i], sliced->size)) return false;
        for (int k = 0; k < i; k++)
            if (!keeps_slices(
                    f, &f->loops->of[sliced->steps[k]], &f->loops->of[sliced->steps[i]], sliced->size))
                return false;
    }
    return true;
}

/* What is sliced: the least of the loops' first dimensions, which those of maps may have others merged into. */
static void find_size(const finder *f, wi_sliced *sliced) {
    for (int i = 0; i < sliced->count; i++) {
        const wi_size size = f->loops->of[sliced->steps[i]].space.dims[0];
        if (i == 0 || size.general < sliced->size.general) sliced->size = size;
    }
}

/* ---- the pass ---- */

static weft_status slice(finder *f, wi_code *code, int first, int last, const wi_operand *rows) {
    const wi_partition *const p = f->partition;
    wi_sliced *const sliced = wi_arena_take(p->request->arena, sizeof *sliced);
    if (!sliced) return WEFT_ERROR_MEMORY;
    *sliced = (wi_sliced){.count = 0};
    if (!gather(f, first, last, sliced)) return WEFT_OK;
    find_size(f, sliced);
    if (!may_be(f, sliced)) return WEFT_OK;
    for (int i = 0; i < sliced->count; i++)
        if (code->of[sliced->steps[i]].sliced) return WEFT_OK;
    sliced->row_bytes =
        (int64_t)wi_value_bytes(&p->values[rows->viewed]) / f->loops->of[first].space.dims[0].actual;
    for (int i = 0; i < sliced->count; i++) code->of[sliced->steps[i]].sliced = sliced;
    sliced->next = code->sliced;
    code->sliced = sliced;
    return wi_code_sliced(code, sliced);
}

weft_status wi_code_slices(wi_code *code) {
    finder f = {.loops = code->loops, .partition = code->loops->partition};
    const wi_partition *const p = f.partition;
    if (p->request->devices.count > 1 || !p->request->devices.of[0]->profile.item_walks) return WEFT_OK;
    for (int i = 0; i < (int)p->step_count; i++) {
        const wi_operand *const rows = p->steps[i]->kind == WI_STEP_LOOP ? picked_by(&f.loops->of[i]) : NULL;
        if (!rows || code->of[i].sliced) continue;
        int last = (int)p->step_count - 1;
        while (last > i && !(p->steps[last]->kind == WI_STEP_LOOP && picks(&f.loops->of[last], rows->pick)))
            last--;
        if (last > i) WI_TRY(slice(&f, code, i, last, rows));
    }
    return WEFT_OK;
}

/* ---- the schedule ---- */

/* Of a slice of so many numbers; a map that is merged into one dimension has spans of its only row. */
static void cut(const wi_schedule *schedule, wi_sliced *sliced, int number, int64_t numbers) {
    const wi_loop *const loop = &schedule->code->loops->of[sliced->steps[number]];
    const int last = loop->space.rank - 1;
    const int64_t columns = loop->space.reduced[last] ? 1 : loop->space.dims[last].actual;
    const int64_t kept = schedule->of[sliced->steps[number]].work[WI_WORK_RESULTS];
    int *const work = sliced->work[number];
    work[WI_WORK_RESULTS] = (int)kept;
    work[WI_WORK_ROWS] = last > 0 ? (int)(kept / columns / sliced->size.actual * numbers) : 1;
    work[WI_WORK_SPANS] = last > 0 ? 1 : sliced->slices * (int)sliced->items;
    work[WI_WORK_SPAN] = (int)(last > 0 ? columns : kept / sliced->size.actual * numbers);
    work[WI_WORK_SPLITS] = 1;
}

/* None has launches of another kind. */
static bool is_cut(const wi_schedule *schedule, const wi_sliced *sliced) {
    for (int i = 0; i < sliced->count; i++)
        if (schedule->of[sliced->steps[i]].work[WI_WORK_SPLITS] > 1 ||
            schedule->of[sliced->steps[i]].fixed_launches > 0)
            return false;
    return true;
}

void wi_cut_slices(wi_schedule *schedule) {
    for (wi_sliced *s = schedule->code->sliced; s; s = s->next) {
        if (!is_cut(schedule, s)) continue;
        const int64_t size = s->size.actual, items = (int64_t)schedule->of[s->steps[0]].items;
        const int64_t numbers =
            wi_max64(1, wi_min64(SLICE_BYTES / wi_max64(1, s->row_bytes), wi_divide_up(size, items)));
        const int64_t slices = wi_divide_up(size, numbers);
        s->slices = (int)wi_divide_up(slices, items);
        s->items = (size_t)wi_divide_up(slices, s->slices);
        for (int i = 0; i < s->count; i++) {
            cut(schedule, s, i, numbers);
            schedule->of[s->steps[i]].sliced = s;
            if (i > 0) schedule->of[s->steps[i]].launch_count = 0;
        }
    }
}

void wi_schedule_unslice(wi_schedule *schedule) {
    for (const wi_sliced *s = schedule->code->sliced; s; s = s->next)
        for (int i = 0; i < s->count; i++) {
            wi_step_schedule *const own = &schedule->of[s->steps[i]];
            if (own->sliced) own->launch_count = 1;
            own->sliced = NULL;
        }
}
