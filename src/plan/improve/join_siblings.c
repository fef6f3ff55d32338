/* Loops over one space that need nothing of one another become one, once all nodes are in steps: for devices on which a launch is
 * dear (wi_loop_profile.joins).
 *
 * Such are the sums of two norms whose results meet, and maps that read the same gradient for two branches. A later loop goes
 * to the earlier one where all that it reads is there by then; otherwise the earlier one waits for the later, unless it is read
 * before. */
#include "plan/group/partition.h"
#include "plan/improve/improve.h"

enum { LOOK_BACK = 4 };

/* ---- what a step needs ---- */

static bool contains(wi_step_range r, int step) {
    return step >= r.first && step <= r.last;
}

static bool node_meets(const wi_partition *p, const weft_tensor *node, int step, wi_step_range r);

/* Does the value, read in the step, come from a step of the range? */
static bool value_meets(const wi_partition *p, int index, int step, wi_step_range r) {
    const wi_value *const value = &p->values[index];
    if (value->stored_as >= 0 && value->stored_as != index && value_meets(p, value->stored_as, step, r))
        return true;
    if (value->state == WI_VALUE_INLINE) return node_meets(p, wi_inline_node(value), step, r);
    if (value->step == step && value->state == WI_VALUE_MEMBER) return false;
    if (contains(r, value->step)) return true;
    if (value->node->op->kind == WI_JOIN)
        return node_meets(p, value->node, step, r); /* its step is its last input's */
    if (value->state == WI_VALUE_MEMORY && value->base != index) return value_meets(p, value->base, step, r);
    return value->state == WI_VALUE_MEMBER && value->storage < 0 && node_meets(p, value->node, step, r);
}

static bool node_meets(const wi_partition *p, const weft_tensor *node, int step, wi_step_range r) {
    for (int i = 0; i < node->input_count; i++)
        if (value_meets(p, wi_value_index(p, node->inputs[i]), step, r)) return true;
    return false;
}

bool wi_step_meets(const wi_partition *p, int index, wi_step_range r) {
    const wi_step *const step = p->steps[index];
    for (int m = 0; m < step->member_count; m++) {
        const wi_value *const member = &p->values[step->members[m]];
        if (member->copy_of >= 0 && value_meets(p, member->copy_of, index, r)) return true;
        const weft_tensor *const node = member->stores_inline ? member->expression : member->node;
        if (node_meets(p, node, index, r)) return true;
    }
    for (int i = 0; i < WI_KERNEL_INPUTS && step->kind != WI_STEP_LOOP; i++)
        if (step->sources[i] >= 0 && value_meets(p, step->sources[i], index, r)) return true;
    return false;
}

/* ---- which loops ---- */

int wi_count_stored(const wi_partition *p, const wi_step *step) {
    int count = 0;
    for (int m = 0; m < step->member_count; m++) count += p->values[step->members[m]].storage >= 0;
    return count;
}

bool wi_is_simple_loop(const wi_partition *p, const wi_step *step) {
    if (step->kind != WI_STEP_LOOP || step->member_count == 0 || step->only_moves) return false;
    for (int m = 0; m < step->member_count; m++) {
        const wi_value *const member = &p->values[step->members[m]];
        if (member->copy_of >= 0 || member->stores_inline || member->after_reduction || member->chain > 1)
            return false;
    }
    return true;
}

/* Is the value among those that the node is made of? */
static bool node_reads(const wi_partition *p, const weft_tensor *node, int value) {
    for (int i = 0; i < node->input_count; i++) {
        const int index = wi_value_index(p, node->inputs[i]);
        if (index == value) return true;
        const wi_value *const input = &p->values[index];
        if (input->state == WI_VALUE_INLINE && node_reads(p, wi_inline_node(input), value)) return true;
    }
    return false;
}

static bool step_reads(const wi_partition *p, const wi_step *step, int value) {
    for (int m = 0; m < step->member_count; m++)
        if (node_reads(p, p->values[step->members[m]].node, value)) return true;
    return false;
}

/* Does the step read an element of its space that the node is made of? */
static bool node_shares(const wi_partition *p, const weft_tensor *node, const wi_step *step) {
    for (int i = 0; i < node->input_count; i++) {
        const int index = wi_value_index(p, node->inputs[i]);
        const wi_value *const input = &p->values[index];
        if (input->state == WI_VALUE_INLINE) {
            if (node_shares(p, wi_inline_node(input), step)) return true;
        } else if (wi_shape_equal(&node->inputs[i]->shape, &step->shape) && step_reads(p, step, index)) {
            return true;
        }
    }
    return false;
}

/* Do both read an element of the space? */
static bool share_an_input(const wi_partition *p, const wi_step *a, const wi_step *b) {
    for (int m = 0; m < a->member_count; m++)
        if (node_shares(p, p->values[a->members[m]].node, b)) return true;
    return false;
}

static bool are_siblings(const wi_partition *p, const wi_step *a, const wi_step *b) {
    if (!wi_is_simple_loop(p, a) || !wi_is_simple_loop(p, b) || a->device != b->device ||
        a->reduced != b->reduced || !wi_shape_equal(&a->shape, &b->shape))
        return false;
    const int inputs = a->input_count + b->input_count;
    return a->member_count + b->member_count < WI_MAX_MEMBERS && inputs <= WI_MAX_INPUTS &&
           inputs + wi_count_stored(p, a) + wi_count_stored(p, b) <= WI_MAX_OPERANDS &&
           (a->reduced != 0 || share_an_input(p, a, b));
}

/* ---- joining them ---- */

/* Views of what it makes, too, are there after the other step. */
void wi_move_members(wi_partition *p, int from, int to) {
    wi_step *const left = p->steps[from];
    for (int m = 0; m < left->member_count; m++) wi_add_member(p, to, left->members[m]);
    for (size_t i = 0; i < p->value_count; i++)
        if (p->values[i].step == from) p->values[i].step = to;
    p->steps[to]->input_count += left->input_count;
    left->member_count = left->input_count = 0;
}

/* Is the earlier step read by none after it, up to the later one? */
static bool may_wait(const wi_partition *p, int earlier, int later) {
    for (int step = earlier + 1; step <= later; step++)
        if (wi_step_meets(p, step, (wi_step_range){earlier, earlier})) return false;
    return true;
}

static bool join_earlier(wi_partition *p, int step) {
    for (int other = step - 1; other >= 0 && other >= step - LOOK_BACK; other--) {
        if (!are_siblings(p, p->steps[other], p->steps[step])) continue;
        if (!wi_step_meets(p, step, (wi_step_range){other, step - 1})) {
            wi_move_members(p, step, other);
            return true;
        }
        if (may_wait(p, other, step)) {
            wi_move_members(p, other, step);
            return true;
        }
    }
    return false;
}

weft_status wi_join_siblings(wi_partition *p) {
    bool any = false;
    for (size_t i = 1; i < p->step_count; i++)
        any |= wi_step_device(p, p->steps[i])->profile.loops.joins && join_earlier(p, (int)i);
    return any ? wi_drop_unread(p) : WEFT_OK;
}
