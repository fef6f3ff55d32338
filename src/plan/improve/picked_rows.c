/* Rows of a table that are picked where they are read, instead of by a launch that stores them.
 *
 *     table[index] ──▶ loop            an embedding's rows in memory are written once and read as often as there are loops;
 *          ▲    ╲────▶ loop            a loop that picks them itself reads the index beside, and nothing is written
 *
 * The step that would pick them leaves the plan, and its value, with all views of it, becomes memory of the table that is
 * addressed through the index (wi_pick; loop_operands.c, picked_read.c). Only loops read so, each row once, and not after the
 * plan has begun to change the table. Where more than MOST_READERS do, it takes less time to store the rows: those of a large
 * table come from memory each time. */
#include "ops/index/index.h"
#include "plan/improve/improve.h"
#include "plan/layout/loops.h"

/* LEAST_WIDTH: elements of a row, below which reading an index for each row costs more than the row. */
enum { MOST_READERS = 2, LEAST_WIDTH = 16 };

/* A step that picks rows, and those that read them. */
typedef struct picker {
    wi_partition *p;
    const wi_step *step;
    int rows;             /* the value */
    wi_size width;        /* of the table's rows, in memory */
    wi_operand *operands; /* room for those of a step */
    int readers[MOST_READERS], reader_count;
} picker;

/* ---- rows and columns of a view ---- */

/* Does the view walk through all rows, each once, and stay inside of each? What is out of range in the index is noted by
 * its readers. */
static bool covers_rows(const picker *c, const wi_value *view) {
    const int64_t count = c->p->values[c->rows].extent->dims[0].general;
    wi_layout rows, columns;
    int64_t numbers = 1, last_row = 0, last_column = 0;
    wi_split_rows(view->layout, view->extent->rank, c->width, &rows, &columns);
    for (int d = 0; d < view->extent->rank; d++) {
        const int64_t row = rows.strides[d].general, column = columns.strides[d].general,
                      size = view->extent->dims[d].general;
        if (row < 0 || column < 0) return false;
        last_row += (size - 1) * row;
        last_column += (size - 1) * column;
        numbers *= row > 0 ? size : 1;
    }
    return wi_size_is(view->layout->offset, 0) && numbers == count && last_row == count - 1 &&
           last_column < c->width.general;
}

/* ---- who reads ---- */

static bool is_of(const picker *c, int value) {
    return value >= 0 && c->p->values[value].base == c->rows;
}

/* Are neighbouring elements of the loop's space in one row, and is no row read twice? */
static bool walks_along_rows(const picker *c, const wi_step *loop, const wi_operand *operand) {
    int last = loop->extent.rank - 1;
    while (last > 0 && loop->extent.dims[last].general == 1) last--;
    const wi_size stride = operand->layout.strides[last];
    return (wi_size_is(stride, 0) || !wi_size_divides(stride, c->width)) &&
           wi_extent_count(&loop->extent).general <= wi_extent_count(c->p->values[c->rows].extent).general;
}

/* May the step do without the stored rows? Notes it if it reads any. What a loop assigns may lie over what it reads (assign.c), which
 * rows that are picked would not allow. */
static bool takes_step(picker *c, const wi_step *step, const wi_loop *loop) {
    const wi_partition *const p = c->p;
    int picks = 0;
    for (int i = 0; step->kind != WI_STEP_LOOP && i < WI_KERNEL_INPUTS; i++)
        if (is_of(c, step->sources[i])) return false;
    for (int o = 0; o < loop->operand_count; o++) {
        const wi_operand *const operand = &loop->operands[o];
        if (!is_of(c, operand->value)) continue;
        if (step->kind != WI_STEP_LOOP || step->device != c->step->device || operand->padded ||
            !covers_rows(c, &p->values[operand->value]) || !walks_along_rows(c, step, operand))
            return false;
        picks++;
    }
    if (picks == 0) return true;
    if (c->reader_count == MOST_READERS || wi_step_assigns(p, step->index)) return false;
    c->readers[c->reader_count++] = step->index;
    return loop->operand_count + picks <= WI_MAX_OPERANDS && step->input_count < WI_MAX_INPUTS;
}

/* Steps after it, outputs and assignments. */
static weft_status find_readers(picker *c, bool *all) {
    const wi_partition *const p = c->p;
    *all = true;
    for (size_t i = (size_t)c->step->index + 1; i < p->step_count && *all; i++) {
        wi_loop loop = {.step = p->steps[i], .operands = c->operands};
        WI_TRY(wi_find_operands(p, &loop));
        *all = takes_step(c, p->steps[i], &loop);
    }
    for (size_t i = 0; i < p->order->output_count; i++) *all &= !is_of(c, p->output_values[i]);
    for (size_t i = 0; i < p->assignment_count; i++)
        *all &= !is_of(c, p->assignments[i].value) && !is_of(c, p->assignments[i].variable);
    return WEFT_OK;
}

/* Is the table as it was when the last of them reads it? */
static bool table_stays(const picker *c) {
    const wi_partition *const p = c->p;
    const int last = c->readers[c->reader_count - 1];
    for (size_t i = 0; i < p->assignment_count; i++)
        if (p->values[p->assignments[i].value].step <= last &&
            wi_values_overlap(p, p->assignments[i].variable, c->step->sources[0]))
            return false;
    return true;
}

/* ---- which steps ---- */

static bool picks_rows(const wi_partition *p, const wi_step *step) {
    if (step->kind != WI_STEP_KERNEL) return false;
    const wi_value *const rows = &p->values[step->members[0]];
    const weft_tensor *const node = rows->node;
    if (node->op != &wi_op_embedding && node->op != &wi_op_index_select) return false;
    if (p->storages[rows->storage].alias >= 0) return false; /* a part of what was joined */
    const wi_value *const table = &p->values[step->sources[0]], *const index = &p->values[step->sources[1]];
    return node->attributes->index.axis == 0 && table->extent->rank == 2 && rows->extent->rank == 2 &&
           table->extent->dims[1].general >= LEAST_WIDTH &&
           wi_layout_is_contiguous(table->layout, table->extent) &&
           wi_layout_is_contiguous(index->layout, index->extent) && table->format == rows->format;
}

/* Views of the rows are views of the table from now on. */
static weft_status pick_where_read(picker *c) {
    wi_partition *const p = c->p;
    wi_value *const table = &p->values[c->step->sources[0]], *const own = &p->values[c->rows];
    wi_pick *const pick = wi_arena_take(p->request->arena, sizeof *pick);
    if (!pick) return WEFT_ERROR_MEMORY;
    *pick = (wi_pick){.table = c->step->sources[0],
        .index = c->step->sources[1],
        .width = c->width,
        .skipped = own->node->attributes->index.skipped,
        .fault = own->fault};
    p->storages[own->storage].bytes = 0;
    own->storage = -1;
    own->state = WI_VALUE_MEMORY;
    for (size_t i = 0; i < p->value_count; i++) {
        wi_value *const value = &p->values[i];
        if (value->base != c->rows) continue;
        value->base = table->base;
        value->step = table->step;
        value->pick = pick;
    }
    for (int i = 0; i < c->reader_count; i++) p->steps[c->readers[i]]->input_count++;
    p->steps[c->step->index]->member_count = 0;
    return WEFT_OK;
}

weft_status wi_pick_rows(wi_partition *p) {
    wi_operand room[WI_MAX_OPERANDS];
    bool any = false, all;
    for (size_t i = 0; i < p->step_count; i++) {
        if (!picks_rows(p, p->steps[i])) continue;
        picker c = {.p = p, .step = p->steps[i], .rows = p->steps[i]->members[0], .operands = room};
        c.width = p->values[c.rows].extent->dims[1];
        WI_TRY(find_readers(&c, &all));
        if (!all || c.reader_count == 0 || !table_stays(&c)) continue;
        WI_TRY(pick_where_read(&c));
        any = true;
    }
    return any ? wi_drop_unread(p) : WEFT_OK;
}
