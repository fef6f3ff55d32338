/* Members that no one reads, once it is known which readers compute them for themselves (materialise_inline.c):
 * they leave their steps, and steps without members leave the plan. */
#include "plan/partition.h"

static bool reads(const wi_partition *p, const wi_value *member, int index) {
    if (member->copy_of >= 0 || member->stores_inline) return member->copy_of == index;
    for (int i = 0; i < member->node->input_count; i++) {
        if (wi_value_index(p, member->node->inputs[i]) == index) return true;
    }
    return false;
}

/* Members behind it in the step have been looked at. */
static bool is_needed(const wi_partition *p, const wi_step *step, int place, const bool *needed) {
    const int index = step->members[place];
    if (p->values[index].storage >= 0 || (step->kind != WI_STEP_LOOP && place == 0)) return true;
    for (int m = place + 1; m < step->member_count; m++) {
        if (needed[m] && reads(p, &p->values[step->members[m]], index)) return true;
    }
    return false;
}

static void drop_members(wi_partition *p, wi_step *step) {
    bool needed[WI_MAX_MEMBERS];
    int count = 0;
    for (int m = step->member_count - 1; m >= 0; m--) needed[m] = is_needed(p, step, m, needed);
    for (int m = 0; m < step->member_count; m++) {
        const int index = step->members[m];
        if (needed[m]) {
            p->values[index].place = count;
            step->members[count++] = index;
        } else {
            wi_make_inline(p, index, p->values[index].node, 0);
            p->values[index].step = -1;
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
