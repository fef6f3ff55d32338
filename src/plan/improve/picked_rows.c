/* Rows of a table, such as those of an embedding, that loops gather themselves, instead of reading rows that a kernel has gathered and
 * stored.
 *
 *     table[index] ──▶ loop            with stored rows, a launch writes the rows and each loop reads them;
 *               ╲────▶ loop            a loop that gathers rows reads the table and the index, and nothing is written
 *
 * The pass removes the step that gathers. The value of its rows, and all views of it, become views of the table that are addressed through
 * the index (wi_pick; loop_operands.c, picked_read.c). The pass does this only if all readers are loops that read each row once, before the
 * plan changes the table. With more than MOST_READERS loops it is faster to store the rows, because rows of a large table are not in a
 * cache, and each loop would read them from memory. */
#include "ops/index/index.h"
#include "ops/op_descriptors.h"
#include "plan/improve/improve.h"
#include "plan/layout/loops.h"

/* LEAST_WIDTH: elements of a row. With shorter rows, reading the index takes longer than reading the row. */
enum { MOST_READERS = 2, LEAST_WIDTH = 16 };

/* A step that gathers rows, and the steps that read them. */
typedef struct picker {
    wi_partition *p;
    const wi_step *step;
    int rows;             /* number of the value of the gathered rows */
    wi_size width;        /* elements of a row of the table */
    wi_operand *operands; /* room for the operands of one step */
    int readers[MOST_READERS], reader_count;
} picker;

/* ---- rows and columns of a view ---- */

/* Does the view contain each row exactly once, and do its columns stay inside the row? The readers report indices out of range, so every row must be
 * read. */
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

/* Is the value the gathered rows, or a view of them? */
static bool is_of(const picker *c, int value) {
    return value >= 0 && wi_base_of(c->p, value) == c->rows;
}

/* Are neighbouring elements of the loop's space in the same row, and is no row read twice? */
static bool walks_along_rows(const picker *c, const wi_step *loop, const wi_operand *operand) {
    int last = loop->extent.rank - 1;
    while (last > 0 && loop->extent.dims[last].general == 1) last--;
    const wi_size stride = operand->layout.strides[last];
    return (wi_size_is(stride, 0) || !wi_size_divides(stride, c->width)) &&
           wi_extent_count(&loop->extent).general <= wi_extent_count(c->p->values[c->rows].extent).general;
}

/* Can the step do without the stored rows? If it reads the rows, it is added to the readers. A loop with an assignment must read stored
 * rows, because assign.c may let the loop's result overwrite an operand in place. */
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

/* Finds the loops that read the rows. *all: all readers, outputs of the plan and assignments included, can do without the stored rows. */
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

/* Is the table unchanged until its last reader has read the rows? */
static bool table_stays_unchanged(const picker *c) {
    const wi_partition *const p = c->p;
    const int last = c->readers[c->reader_count - 1];
    for (size_t i = 0; i < p->assignment_count; i++)
        if (p->values[p->assignments[i].value].step <= last &&
            wi_values_overlap(p, p->assignments[i].variable, c->step->sources[0]))
            return false;
    return true;
}

/* ---- which steps ---- */

/* Does the step gather whole rows of a contiguous table, and could loops do so instead? */
static bool picks_rows(const wi_partition *p, const wi_step *step) {
    if (step->kind != WI_STEP_KERNEL) return false;
    const wi_value *const rows = &p->values[step->members[0]];
    const weft_tensor *const node = rows->node;
    if (node->op != &wi_op_embedding && node->op != &wi_op_index_select) return false;
    if (p->storages[rows->storage].alias >= 0) return false; /* a part of a concatenation */
    const wi_value *const table = &p->values[step->sources[0]], *const index = &p->values[step->sources[1]];
    return node->attributes->index.axis == 0 && table->extent->rank == 2 && rows->extent->rank == 2 &&
           table->extent->dims[1].general >= LEAST_WIDTH &&
           wi_layout_is_contiguous(table->layout, table->extent) &&
           wi_layout_is_contiguous(index->layout, index->extent) && table->format == rows->format;
}

/* Turns the rows and their views into gathered views of the table, and empties the step that gathered them. */
static weft_status pick_where_read(picker *c) {
    wi_partition *const p = c->p;
    const wi_value *const own = &p->values[c->rows];
    const int table = c->step->sources[0];
    wi_pick *const pick = wi_arena_take(p->request->arena, sizeof *pick);
    if (!pick) return WEFT_ERROR_MEMORY;
    *pick = (wi_pick){.table = table,
        .index = c->step->sources[1],
        .width = c->width,
        .skipped = own->node->attributes->index.skipped,
        .fault = own->fault};
    p->storages[own->storage].bytes = 0;
    for (int i = 0; i < (int)p->value_count; i++) {
        if (!is_of(c, i)) continue;
        wi_make_view(p, i, table);
        p->values[i].memory.pick = pick;
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
        if (!all || c.reader_count == 0 || !table_stays_unchanged(&c)) continue;
        WI_TRY(pick_where_read(&c));
        any = true;
    }
    return any ? wi_drop_unread(p) : WEFT_OK;
}
