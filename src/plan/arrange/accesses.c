/* Finds what a step reads and writes (contract in accesses.h). */
#include "plan/arrange/accesses.h"

wi_access wi_access_of(const wi_partition *p, int value, bool writes) {
    const wi_value *v = &p->values[value];
    const int64_t size = (int64_t)weft_dtype_size(v->format);
    wi_access a = {.storage = wi_base_storage(p, value), .writes = writes};
    a.first = v->layout->offset.actual * size;
    for (; p->storages[a.storage].alias >= 0; a.storage = p->storages[a.storage].alias)
        a.first += (int64_t)p->storages[a.storage].alias_offset;
    a.end = a.first + size;
    for (int i = 0; i < v->extent->rank; i++) {
        const int64_t reach = (v->extent->dims[i].actual - 1) * v->layout->strides[i].actual * size;
        if (reach < 0)
            a.first += reach;
        else
            a.end += reach;
    }
    return a;
}

bool wi_accesses_meet(const wi_access *a, const wi_access *b) {
    return a->storage == b->storage && a->first < b->end && b->first < a->end;
}

void wi_find_accesses(const wi_loops *loops, int index, wi_step_accesses *made) {
    const wi_partition *const p = loops->partition;
    const wi_loop *const loop = &loops->of[index];
    const wi_step *const step = p->steps[index];
    made->count = 0;
    for (int i = 0; i < loop->operand_count; i++) {
        const wi_operand *const operand = &loop->operands[i];
        if (operand->value >= 0)
            made->of[made->count++] = wi_access_of(p, operand->value, operand->is_output);
    }
    for (int i = 0; step->kind == WI_STEP_PRODUCT && i < 2; i++)
        made->of[made->count++] = wi_access_of(p, step->sources[i], false);
}
