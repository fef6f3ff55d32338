/* Maps and reductions: finds the step that each of them joins. */
#include "plan/layout/loops.h"
#include <string.h>

/* The latest step that computes an input; -1: all inputs are inline, or in memory before the first step. */
static int latest_step(const wi_partition *p, const weft_tensor *node) {
    int latest = -1;
    for (int i = 0; i < node->input_count; i++) {
        const wi_value *input = &p->values[wi_value_index(p, node->inputs[i])];
        if (input->step > latest) latest = input->step;
    }
    return latest;
}

/* Are all inputs that this step computes in registers? Not an input that is a view of a stored member: other work-items write its
 * elements. */
static bool inputs_in_registers(const wi_partition *p, const weft_tensor *node, int step) {
    for (int i = 0; i < node->input_count; i++) {
        const wi_value *input = &p->values[wi_value_index(p, node->inputs[i])];
        if (input->state == WI_VALUE_MEMORY && input->step == step) return false;
    }
    return true;
}

static wi_shape row_shape(const wi_step *step) {
    wi_shape shape = step->shape;
    for (int i = 0; i < shape.rank; i++) {
        if (step->reduced >> i & 1) shape.dims[i] = 1;
    }
    return shape;
}

/* A member computed after a reduction needs another sweep over the row, by the item or group that has reduced the row. That is fast enough
 * for many rows or short rows. If a row is a column in memory, reading it again is fast only if the data still is in a near cache. */
static bool rows_may_be_read_twice(const wi_step *step) {
    int64_t rows = 1, row = 1;
    bool columns = false;
    for (int i = 0; i < step->shape.rank; i++) {
        const bool reduced = step->reduced >> i & 1;
        if (reduced)
            row *= step->extent.dims[i].general;
        else
            rows *= step->extent.dims[i].general;
        if (step->extent.dims[i].general > 1) columns = !reduced;
    }
    if (columns && row > 128 && row * rows > 65536) return false;
    return row <= 65536 && (rows >= 16 || row <= 4096);
}

/* How many reductions of the step must be computed one after the other before the inputs of the node are known? If there is one, and the
 * node has an element for each point of the space, the step needs another sweep to compute the node. */
static int chain_of(const wi_partition *p, const weft_tensor *node, int step) {
    int chain = 0;
    for (int i = 0; i < node->input_count; i++) {
        const wi_value *input = &p->values[wi_value_index(p, node->inputs[i])];
        if (wi_is_member_of(input, step) && input->member.chain > chain) chain = input->member.chain;
    }
    return chain;
}

bool wi_step_reads(const wi_partition *p, const wi_step *step, int value) {
    const weft_tensor *const node = p->values[value].node;
    /* The value is a copy, which is not an input of any node. */
    if (wi_value_index(p, node) != value) return false;
    for (int m = 0; m < step->member_count; m++) {
        const weft_tensor *member = p->values[step->members[m]].node;
        for (int i = 0; i < member->input_count; i++) {
            if (member->inputs[i] == node) return true;
        }
    }
    return false;
}

bool wi_step_assigns(const wi_partition *p, int step) {
    for (size_t i = 0; i < p->assignment_count; i++)
        if (p->values[p->assignments[i].value].step == step) return true;
    return false;
}

/* Each padded axis counts as one more operand, for its arguments. */
int wi_new_operands(const wi_partition *p, const weft_tensor *node, int step) {
    int count = 0;
    for (int i = 0; i < node->input_count; i++) {
        const int index = wi_value_index(p, node->inputs[i]);
        const wi_value *input = &p->values[index];
        const bool member = wi_is_member_of(input, step);
        if (member || wi_is_uniform_inline(input)) continue;
        if (step < 0 || !wi_step_reads(p, p->steps[step], index))
            count += wi_operands_of_reading(p, index, step);
    }
    for (int axis = 0; node->op->reads_padded && axis < node->shape.rank; axis++)
        count += node->attributes->padding.mode[axis] != WI_PADDING_NONE;
    return count;
}

static int times_read(const wi_partition *p, const weft_tensor *node, int value) {
    int count = 0;
    for (int i = 0; node && i < node->input_count; i++) count += wi_value_index(p, node->inputs[i]) == value;
    return count;
}

/* An upper bound of the step's outputs after the node (may be NULL) has joined the step. It counts each member that is stored or still has
 * readers outside of the step, for which it may have to be stored, and one output for the node. */
static int possible_outputs(const wi_partition *p, const wi_step *step, const weft_tensor *node) {
    int count = 1;
    for (int m = 0; m < step->member_count; m++) {
        const wi_value *value = &p->values[step->members[m]];
        count += value->storage >= 0 ||
                 (value->member.outside > 0 && value->member.outside > times_read(p, node, step->members[m]));
    }
    return count;
}

bool wi_may_store(const wi_partition *p, int index) {
    const wi_value *value = &p->values[index];
    const wi_step *step = p->steps[value->step];
    return value->member.outside > 0 ||
           step->input_count + possible_outputs(p, step, NULL) <= WI_MAX_OPERANDS;
}

/* Can the node join within WI_MAX_OPERANDS, even if all members that have readers outside are stored later? *operands: inputs that the
 * node adds. */
static bool has_room_for(const wi_partition *p, const wi_step *step, const weft_tensor *node, int *operands) {
    if (step->device != p->device || step->member_count >= WI_MAX_MEMBERS - 2) return false;
    *operands = wi_new_operands(p, node, step->index);
    const int inputs = step->input_count + *operands;
    return inputs <= WI_MAX_INPUTS && inputs + possible_outputs(p, step, node) <= WI_MAX_OPERANDS;
}

bool wi_has_room(const wi_partition *p, const wi_step *step, const weft_tensor *node) {
    int operands;
    return has_room_for(p, step, node, &operands);
}

/* Can the step's epilogue read the value, or compute it if it is inline? */
static bool product_reads(const wi_partition *p, const wi_step *step, const wi_value *input) {
    wi_layout merged;
    if (wi_is_uniform_inline(input)) return true;
    if (input->state != WI_VALUE_INLINE)
        return wi_product_layout(step, input->extent, input->layout, &merged);
    const weft_tensor *const expression = input->inlined.expression;
    if (expression->op->reads_padded) return false;
    if (expression->input_count == 0) return wi_product_generates(p, step, expression);
    for (int i = 0; i < expression->input_count; i++) {
        if (!product_reads(p, step, &p->values[wi_value_index(p, expression->inputs[i])])) return false;
    }
    return true;
}

static bool product_takes(const wi_partition *p, const wi_step *step, const weft_tensor *node, int index) {
    if (wi_step_is_library(step) || node->op->reads_padded) return false;
    for (int i = 0; i < node->input_count; i++) {
        const int value = wi_value_index(p, node->inputs[i]);
        const wi_value *input = &p->values[value];
        const bool member = wi_is_member_of(input, index);
        if (!member && !wi_becomes_inline(p, value, index) && !product_reads(p, step, input)) return false;
    }
    return true;
}

/* Can the map join the step? *in_row: it has one element for each row of the reduction. *operands: inputs that the map adds. */
static bool map_joins(
    const wi_partition *p, int index, const weft_tensor *node, bool *in_row, int *operands) {
    if (index < 0 || p->request->plain) return false;
    const wi_step *step = p->steps[index];
    if (step->kind == WI_STEP_KERNEL || step->kind == WI_STEP_TRANSFER) return false;
    if (!inputs_in_registers(p, node, index) || !has_room_for(p, step, node, operands)) return false;
    const wi_shape row = row_shape(step);
    *in_row = false;
    if (wi_shape_equal(&node->shape, &step->shape)) {
        if (step->kind == WI_STEP_PRODUCT) return product_takes(p, step, node, index);
        return chain_of(p, node, index) == 0 || rows_may_be_read_twice(step);
    }
    *in_row = true;
    return step->reduced != 0 && wi_shape_equal(&node->shape, &row);
}

/* Stores inputs that other steps compute, or lets this step compute them again. An input that is a member of this step has one reader fewer
 * outside of the step. */
static weft_status read_inputs(wi_partition *p, const weft_tensor *node, int step, int operands) {
    p->steps[step]->input_count += operands;
    for (int i = 0; i < node->input_count; i++) {
        const int index = wi_value_index(p, node->inputs[i]);
        const wi_value *input = &p->values[index];
        if (input->state == WI_VALUE_MEMBER && input->step != step) WI_TRY(wi_read_from(p, index, step));
        if (wi_is_member_of(input, step)) p->values[index].member.outside--;
    }
    return WEFT_OK;
}

/* ---- maps ---- */

/* Looks ahead in the order: does a chain of maps that begins with this node end in a map that also reads a member of the step? Then the
 * node joins this step rather than a new one. at: the node's place in the order. */
static bool leads_into(const wi_partition *p, size_t at, int step) {
    enum { LOOK_AHEAD = 4 };
    for (size_t i = at; i + 1 < p->order->count && i < at + LOOK_AHEAD; i++) {
        const weft_tensor *next = p->order->nodes[i + 1];
        bool follows = false, meets = false;
        if (next->op->kind != WI_MAP || !wi_shape_equal(&next->shape, &p->steps[step]->shape)) return false;
        for (int k = 0; k < next->input_count; k++) {
            const weft_tensor *input = next->inputs[k];
            const wi_value *value = wi_value_of_node(p, input);
            follows = follows || input == p->order->nodes[i];
            meets = meets || (value && wi_is_member_of(value, step) && !value->member.in_row);
        }
        if (!follows || meets) return follows;
    }
    return false;
}

/* Can a map that would begin a step join the newest step instead? That must be a loop of maps over the same space that reads an input of
 * the map (as Adam's two moments both read the gradients), or the map must lead into it. */
static bool joins_sibling(const wi_partition *p, const weft_tensor *node, size_t at, int *operands) {
    const int index = (int)p->step_count - 1;
    const wi_step *step = index < 0 ? NULL : p->steps[index];
    if (!step || step->kind != WI_STEP_LOOP || step->reduced != 0) return false;
    bool in_row = false, shared = false;
    for (int i = 0; i < node->input_count; i++) {
        const int input = wi_value_index(p, node->inputs[i]);
        const bool memory = p->values[input].state == WI_VALUE_MEMORY;
        shared = shared || (memory && wi_step_reads(p, step, input));
    }
    return (shared || leads_into(p, at, index)) && map_joins(p, index, node, &in_row, operands) && !in_row;
}

weft_status wi_group_map(wi_partition *p, int index, size_t at) {
    const weft_tensor *node = p->values[index].node;
    if (node->op->fail_label) /* the label may be computed inline, and so checked, on any device */
        WI_TRY(wi_reserve_fault(p, index, 0, p->request->devices.count));
    if (wi_is_inline(p, index)) {
        wi_make_inline(p, index, node, wi_new_operands(p, node, -1));
        return WEFT_OK;
    }
    int step = latest_step(p, node), operands;
    bool in_row = false;
    if (!map_joins(p, step, node, &in_row, &operands)) {
        in_row = false;
        step = (int)p->step_count - 1;
        if (!joins_sibling(p, node, at, &operands)) {
            WI_TRY(wi_new_step(p, WI_STEP_LOOP, &node->shape, &step));
            operands = wi_new_operands(p, node, step);
        }
    }
    WI_TRY(read_inputs(p, node, step, operands));
    wi_add_member(p, step, index);
    wi_member_state *const member = &p->values[index].member;
    member->chain = chain_of(p, node, step);
    member->in_row = in_row;
    return WEFT_OK;
}

/* ---- reductions ---- */

/* step->reduced does not show this, because an argmax over axes of size 1 reduces no axis. */
static bool has_reductions(const wi_partition *p, const wi_step *step) {
    for (int m = 0; m < step->member_count; m++)
        if (p->values[step->members[m]].node->op->kind == WI_REDUCE) return true;
    return false;
}

static bool reduce_joins(const wi_partition *p, int index, const weft_tensor *node) {
    if (index < 0 || p->request->plain) return false;
    const wi_step *step = p->steps[index];
    const wi_value *input = &p->values[wi_value_index(p, node->inputs[0])];
    if (step->kind != WI_STEP_LOOP || input->state != WI_VALUE_MEMBER || input->member.in_row) return false;
    if (step->reduced != node->attributes->over.axes && has_reductions(p, step)) return false;
    if (input->member.chain >= WI_MAX_CHAIN) return false;
    if (!wi_has_room(p, step, node)) return false;
    wi_step probe = *step;
    probe.reduced = node->attributes->over.axes;
    return input->member.chain == 0 || rows_may_be_read_twice(&probe);
}

/* A reduction that would begin a step can join one of the last steps instead, if that step comes after all its inputs and reduces the
 * same axes of the same space (such as the loss and the accuracy). Returns -1 if there is none. */
static int sibling_reduction(const wi_partition *p, const weft_tensor *node, const weft_tensor *x) {
    enum { LOOK_BACK = 8 };
    const int count = p->request->plain ? 0 : (int)p->step_count, first = latest_step(p, node) + 1;
    for (int index = first > count - LOOK_BACK ? first : count - LOOK_BACK; index < count; index++) {
        const wi_step *step = index < 0 ? NULL : p->steps[index];
        if (!step || step->kind != WI_STEP_LOOP || step->reduced != node->attributes->over.axes) continue;
        if (wi_shape_equal(&step->shape, &x->shape) && wi_has_room(p, step, node)) return index;
    }
    return -1;
}

weft_status wi_group_reduce(wi_partition *p, int index) {
    const weft_tensor *node = p->values[index].node;
    const weft_tensor *x = node->inputs[0];
    int step = latest_step(p, node);
    if (!reduce_joins(p, step, node)) {
        step = sibling_reduction(p, node, x);
        if (step < 0) WI_TRY(wi_new_step(p, WI_STEP_LOOP, &x->shape, &step));
    }
    p->steps[step]->reduced = node->attributes->over.axes;
    WI_TRY(read_inputs(p, node, step, wi_new_operands(p, node, step)));
    wi_add_member(p, step, index);
    p->values[index].member.chain = chain_of(p, node, step) + 1;
    p->values[index].member.in_row = true;
    return WEFT_OK;
}
