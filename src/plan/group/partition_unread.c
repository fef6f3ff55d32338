/* Removes members that nothing reads because all readers compute them again (materialise_inline.c), and then removes steps without
 * members. */
#include "plan/group/partition.h"

/* Marks the value as needed if it is one of the step's first `count` members. */
static void need(const wi_partition *p, const wi_step *step, int count, int value, bool *needed) {
    if (value < 0 || !wi_is_member_of(&p->values[value], step->index)) return;
    const int place = p->values[value].member.place;
    if (place < count) needed[place] = true;
}

/* Marks the earlier members that the member at `place` reads. */
static void need_inputs(const wi_partition *p, const wi_step *step, int place, bool *needed) {
    const wi_value *const value = &p->values[step->members[place]];
    if (!wi_computes_node(value)) {
        need(p, step, place, value->member.copy_of, needed);
        return;
    }
    for (int i = 0; i < value->node->input_count; i++)
        need(p, step, place, wi_value_index(p, value->node->inputs[i]), needed);
}

static void drop_members(wi_partition *p, wi_step *step) {
    bool needed[WI_MAX_MEMBERS] = {step->kind != WI_STEP_LOOP};
    int count = 0;
    for (int m = step->member_count - 1; m >= 0; m--) {
        needed[m] = needed[m] || p->values[step->members[m]].storage >= 0;
        if (needed[m]) need_inputs(p, step, m, needed);
    }
    for (int m = 0; m < step->member_count; m++) {
        const int index = step->members[m];
        if (needed[m]) {
            p->values[index].member.place = count;
            step->members[count++] = index;
        } else {
            wi_make_inline(p, index, p->values[index].node, 0);
        }
    }
    step->member_count = count;
}

weft_status wi_drop_unread(wi_partition *p) {
    int *const moved = wi_arena_take(p->request->arena, (p->step_count + 1) * sizeof *moved);
    size_t count = 0;
    if (!moved) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < p->step_count; i++) {
        drop_members(p, p->steps[i]);
        moved[i] = (int)count;
        if (p->steps[i]->member_count == 0) continue;
        p->steps[i]->index = (int)count;
        p->steps[count++] = p->steps[i];
    }
    for (size_t i = 0; i < p->value_count; i++) {
        if (p->values[i].step >= 0) p->values[i].step = moved[p->values[i].step];
    }
    p->step_count = count;
    return WEFT_OK;
}
