/* Finds the operands of a step: memory, padded reads, and generators that depend on the index. */
#include "ops/index/index.h"
#include "plan/layout/loops.h"

/* Adds operands to a loop. */
typedef struct finder {
    const wi_partition *p;
    wi_loop *loop;
    bool of_source; /* operands of the rows that a sum by segments adds up, not of the epilogue */
} finder;

static weft_status add_operand(const finder *f, wi_operand operand) {
    wi_loop *const loop = f->loop;
    operand.of_source = f->of_source;
    for (int i = 0; i < loop->operand_count; i++) {
        const wi_operand *known = &loop->operands[i];
        if (known->value == operand.value && known->generator == operand.generator &&
            known->padded == operand.padded && known->is_output == operand.is_output &&
            known->of_source == operand.of_source && known->pick == operand.pick &&
            known->viewed == operand.viewed && known->is_index == operand.is_index)
            return WEFT_OK;
    }
    if (loop->operand_count == WI_MAX_OPERANDS)
        WI_FAIL(WEFT_ERROR_INTERNAL, "plan: a fused step has more than %d operands", WI_MAX_OPERANDS);
    loop->operands[loop->operand_count++] = operand;
    return WEFT_OK;
}

/* The layout over the space of a sum by segments: table row, segment, then the dimensions of the source. The last dimension is the
 * columns of table, segment and source. */
static wi_layout among_segments(const wi_step *step, bool of_source, const wi_layout *layout) {
    const int last = step->source_extent.rank + 1;
    wi_layout wide = {.offset = layout->offset};
    for (int d = 0; of_source && d < step->source_extent.rank; d++) wide.strides[2 + d] = layout->strides[d];
    if (of_source) return wide;
    for (int d = 0; d < 2; d++) wide.strides[d] = layout->strides[d];
    wide.strides[last] = layout->strides[2];
    return wide;
}

static weft_status stretch(
    const finder *f, const wi_extent *extent, const wi_layout *layout, wi_layout *wide) {
    const wi_step *const step = f->loop->step;
    if (step->kind == WI_STEP_LOOP)
        *wide = wi_broadcast_layout(extent, layout, &step->extent);
    else if (f->of_source)
        *wide = wi_broadcast_layout(extent, layout, &step->source_extent);
    else if (!wi_product_layout(step, extent, layout, wide))
        WI_FAIL(WEFT_ERROR_INTERNAL, "%s: an operand of the epilogue does not fit",
            f->p->values[step->members[0]].node->op->name);
    if (step->by_segments) *wide = among_segments(step, f->of_source, wide);
    return WEFT_OK;
}

/* Adds two operands for a gathered view: the index tensor, which varies along the dimensions that select a row, and the table, which varies
 * along the dimensions inside a row. */
static weft_status add_pick(const finder *f, int index) {
    const wi_value *const value = &f->p->values[index];
    const wi_pick *const pick = value->memory.pick;
    const wi_value *const from[] = {&f->p->values[pick->index], &f->p->values[pick->table]};
    wi_layout views[2];
    wi_split_rows(value->layout, value->extent->rank, pick->width, &views[0], &views[1]);
    for (int i = 0; i < 2; i++) {
        wi_operand operand = {.value = i == 0 ? pick->index : pick->table,
            .dtype = from[i]->format,
            .pick = pick,
            .viewed = index,
            .is_index = i == 0};
        views[i].offset = from[i]->layout->offset;
        WI_TRY(stretch(f, value->extent, &views[i], &operand.layout));
        WI_TRY(add_operand(f, operand));
    }
    return WEFT_OK;
}

/* A step that sums rows by segments has the space (rows of the table, segments, columns), in which the table varies along the first
 * dimension. A table has the shape (rows, columns), so its row stride is first found at the second dimension, and is then moved to the
 * first. */
static weft_status add_memory(const finder *f, int index, bool is_output) {
    const wi_value *value = &f->p->values[index];
    wi_operand operand = {.value = index, .is_output = is_output, .dtype = value->format};
    if (wi_pick_of(value)) return add_pick(f, index);
    WI_TRY(stretch(f, value->extent, value->layout, &operand.layout));
    if (!f->of_source && wi_is_table_of(f->p, f->loop->step, index, is_output)) {
        operand.layout.strides[0] = operand.layout.strides[1];
        operand.layout.strides[1] = wi_size_of(0);
    }
    return add_operand(f, operand);
}

/* Adds the memory that a padded read reads. Its padded axes are never of size 1, so broadcasting to the space keeps their strides. */
static weft_status add_padded(const finder *f, const weft_tensor *node) {
    const wi_value *input = wi_value_of_node(f->p, node->inputs[0]);
    const wi_extent extent = wi_extent_of(&node->shape, f->p->request->batch);
    wi_operand operand = {.value = (int)(input - f->p->values), .dtype = input->format, .padded = node};
    WI_TRY(stretch(f, &extent, input->layout, &operand.layout));
    operand.padding = wi_arena_take(f->p->request->arena, WEFT_MAX_RANK * sizeof *operand.padding);
    if (!operand.padding) return WEFT_ERROR_MEMORY;
    for (int axis = 0; axis < extent.rank; axis++) {
        wi_padding *padding = &operand.padding[f->loop->step->extent.rank - extent.rank + axis];
        const int64_t start = node->attributes->padding.before[axis];
        padding->mode = (wi_padding_mode)node->attributes->padding.mode[axis];
        padding->size = input->extent->dims[axis];
        padding->step = node->attributes->padding.step;
        padding->before = wi_size_of(start);
        if (padding->mode == WI_PADDING_WRAP)
            padding->before.actual =
                (start % padding->size.actual + padding->size.actual) % padding->size.actual;
        else if (start < 0)
            padding->before = (wi_size){-start * WI_GENERAL_BATCH, -start * f->p->request->batch};
    }
    return add_operand(f, operand);
}

static weft_status add_input(const finder *f, const wi_value *input);

/* Follows inline values to the memory and generators that they read. An inline value has at most WI_MAX_INLINE_OPERANDS
 * operands, so this takes little time. */
static weft_status add_generator(const finder *f, const weft_tensor *expression) {
    if (expression->op == &wi_op_constant || expression->op == &wi_op_scalar) return WEFT_OK;
    if (expression->op->reads_padded) return add_padded(f, expression);
    for (int i = 0; i < expression->input_count; i++) {
        const wi_value *input = wi_value_of_node(f->p, expression->inputs[i]);
        if (!wi_is_uniform_inline(input)) WI_TRY(add_input(f, input));
    }
    if (expression->input_count > 0) return WEFT_OK;
    const wi_extent extent = wi_extent_of(&expression->shape, f->p->request->batch);
    const wi_layout layout = wi_generator_layout(expression, &extent);
    wi_operand operand = {.value = -1, .generator = expression, .dtype = expression->dtype};
    WI_TRY(stretch(f, &extent, &layout, &operand.layout));
    return add_operand(f, operand);
}

static weft_status add_input(const finder *f, const wi_value *input) {
    if (wi_is_inline_in(input, f->loop->step->index)) return add_generator(f, wi_inline_node(input));
    if (wi_is_member_of(input, f->loop->step->index)) return WEFT_OK;
    return add_memory(f, (int)(input - f->p->values), false);
}

static weft_status add_member_operands(const finder *f, int index) {
    const wi_value *value = &f->p->values[index];
    if (value->member.copy_of >= 0) {
        WI_TRY(add_memory(f, value->member.copy_of, false));
    } else if (value->member.expression) {
        WI_TRY(add_generator(f, value->member.expression));
    } else if (value->node->op->reads_padded) {
        WI_TRY(add_padded(f, value->node));
    } else if (value->node->op == &wi_op_segment_select) {
        WI_TRY(add_memory(f, wi_value_index(f->p, value->node->inputs[0]), false));
    } else if (value->node->op->kind == WI_MAP || value->node->op->kind == WI_REDUCE) {
        for (int i = 0; i < value->node->input_count; i++)
            WI_TRY(add_input(f, wi_value_of_node(f->p, value->node->inputs[i])));
    }
    return WEFT_OK;
}

static weft_status add_kernel_operands(const wi_partition *p, wi_loop *loop) {
    const wi_step *step = loop->step;
    const weft_tensor *node = p->values[step->members[0]].node;
    for (int i = 0; i <= node->input_count; i++) {
        const bool is_output = i == node->input_count;
        const int value = is_output ? step->members[0] : step->sources[i];
        loop->operands[loop->operand_count++] = (wi_operand){.value = value,
            .is_output = is_output,
            .dtype = p->values[value].format,
            .layout = *p->values[value].layout};
    }
    return WEFT_OK;
}

/* The value and its copy may have different strides. */
static weft_status add_transfer_operands(const wi_partition *p, wi_loop *loop) {
    const int copy = loop->step->members[0], values[] = {p->values[copy].member.copy_of, copy};
    for (int i = 0; i < 2; i++)
        loop->operands[loop->operand_count++] = (wi_operand){.value = values[i],
            .is_output = i == 1,
            .dtype = p->values[copy].format,
            .layout = *p->values[values[i]].layout};
    return WEFT_OK;
}

/* Adds the operands from which a sum by segments gets its rows: the stored rows, or what the step reads to compute the rows. */
static weft_status add_source(const wi_partition *p, wi_loop *loop) {
    const finder f = {p, loop, true};
    const wi_step *const step = loop->step;
    return step->computed < 0 ? add_memory(&f, step->sources[0], false)
                              : add_input(&f, &p->values[step->computed]);
}

weft_status wi_find_operands(const wi_partition *p, wi_loop *loop) {
    const wi_step *step = loop->step;
    const finder f = {p, loop, false};
    if (step->kind == WI_STEP_KERNEL) return add_kernel_operands(p, loop);
    if (step->kind == WI_STEP_TRANSFER) return add_transfer_operands(p, loop);
    if (step->by_segments) WI_TRY(add_source(p, loop));
    for (int i = 0; i < step->member_count; i++) WI_TRY(add_member_operands(&f, step->members[i]));
    for (int i = 0; i < step->member_count; i++) {
        if (p->values[step->members[i]].storage >= 0) WI_TRY(add_memory(&f, step->members[i], true));
    }
    return WEFT_OK;
}

/* ---- gathered rows ---- */

static wi_size quotient(wi_size size, wi_size by) {
    return (wi_size){size.general / by.general, size.actual / by.actual};
}

void wi_split_rows(const wi_layout *view, int rank, wi_size width, wi_layout *rows, wi_layout *columns) {
    *rows = *columns = (wi_layout){0};
    for (int d = 0; d < rank; d++) {
        if (wi_size_divides(view->strides[d], width))
            rows->strides[d] = quotient(view->strides[d], width);
        else
            columns->strides[d] = view->strides[d];
    }
}

bool wi_pick_in_loop(const wi_loop *loop, const wi_operand *operand) {
    if (!operand->pick || operand->is_index) return false;
    const wi_operand *const index = operand - 1;
    for (int d = 0; d < loop->space.rank; d++)
        if (loop->space.reduced[d] && wi_operand_varies(index, d)) return true;
    return false;
}

/* ---- for later passes ---- */

bool wi_operand_varies(const wi_operand *operand, int dimension) {
    return !wi_size_is(operand->layout.strides[dimension], 0) ||
           (operand->padding && operand->padding[dimension].mode);
}

bool wi_operand_in_loop(const wi_loop *loop, const wi_operand *operand) {
    for (int d = 0; d < loop->space.rank; d++) {
        if (loop->space.reduced[d] && wi_operand_varies(operand, d)) return true;
    }
    return wi_pick_in_loop(loop, operand);
}

static int find_operand(const wi_loop *loop, int value, bool is_output, bool of_source) {
    for (int i = 0; i < loop->operand_count; i++) {
        const wi_operand *const own = &loop->operands[i];
        const int read = own->pick ? own->viewed : own->value;
        if (read == value && !own->is_index && own->is_output == is_output && own->of_source == of_source &&
            !own->padded)
            return i;
    }
    return -1;
}

int wi_loop_operand(const wi_loop *loop, int value, bool is_output) {
    return find_operand(loop, value, is_output, false);
}

int wi_source_operand(const wi_loop *loop, int value) {
    return find_operand(loop, value, false, true);
}
