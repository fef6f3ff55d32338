/* Assignments: computed in place if no later step needs the old value, otherwise copied to the variable by a further step. */
#include "plan/layout/loops.h"
#include <stdlib.h>

static bool same_layout(const wi_loop *loop, const wi_layout *a, const wi_layout *b) {
    for (int d = 0; d < loop->space.rank; d++) {
        if (!wi_size_equal(a->strides[d], b->strides[d])) return false;
    }
    return true;
}

/* Does the step read elements of the variable? Its storage may hold other variables, too. */
static bool reads_variable(const wi_partition *p, const wi_loop *loop, int variable) {
    const wi_step *step = loop->step;
    if (step->kind == WI_STEP_PRODUCT && (wi_values_overlap(p, variable, step->sources[0]) ||
                                             wi_values_overlap(p, variable, step->sources[1])))
        return true;
    for (int i = 0; i < loop->operand_count; i++)
        if (wi_values_overlap(p, variable, loop->operands[i].value)) return true;
    return false;
}

static const wi_operand *find_output(const wi_loop *loop, int value) {
    const wi_operand *output = NULL;
    for (int i = 0; i < loop->operand_count; i++) {
        if (loop->operands[i].is_output && loop->operands[i].value == value) output = &loop->operands[i];
    }
    return output;
}

/* May the output overwrite the storage although the step reads this operand? Yes if the operand is not in `storage`, or if it has exactly
 * the elements that the output overwrites, with the same strides. */
static bool reads_in_step(const wi_partition *p, const wi_loop *loop, const wi_operand *operand,
    const wi_operand *output, int storage, wi_size start) {
    if (operand->value < 0 || operand->is_output || wi_base_storage(p, operand->value) != storage)
        return true;
    return !operand->padded && !operand->pick && wi_size_equal(operand->layout.offset, start) &&
           same_layout(loop, &operand->layout, &output->layout);
}

/* Does a kernel op replace some elements of the variable (wi_op.replaces), which it reads by no other input? Its kernel leaves the other
 * elements unchanged. */
static bool replaces_parts(const wi_partition *p, const wi_step *step, int variable) {
    const wi_value *const own = &p->values[variable];
    if (step->kind != WI_STEP_KERNEL) return false;
    const weft_tensor *const node = p->values[step->members[0]].node;
    if (!node->op->replaces) return false;
    const wi_value *const x = &p->values[step->sources[0]];
    const int storage = wi_base_storage(p, variable);
    for (int i = 1; i < node->input_count; i++)
        if (wi_values_overlap(p, variable, step->sources[i])) return false;
    return wi_base_storage(p, step->sources[0]) == storage &&
           wi_size_equal(x->layout->offset, own->layout->offset) &&
           wi_layout_is_contiguous(own->layout, own->extent);
}

/* Can the step write the new value over the old one? Only if each old element is read by no other work-item than the one that
 * overwrites the element, and is read before it is overwritten. */
static bool writes_over(
    const wi_partition *p, const wi_loop *loop, const wi_assignment *assignment, int storage) {
    const wi_step *step = loop->step;
    const wi_operand *output = find_output(loop, wi_base_of(p, assignment->value));
    if (!output || (step->reduced && loop->sweeps > 1)) return false;
    if (replaces_parts(p, step, assignment->variable)) return true;
    if ((step->kind == WI_STEP_KERNEL || step->kind == WI_STEP_TRANSFER) &&
        reads_variable(p, loop, assignment->variable))
        return false;
    if (step->kind == WI_STEP_PRODUCT &&
        (wi_base_storage(p, step->sources[0]) == storage || wi_base_storage(p, step->sources[1]) == storage))
        return false;
    const wi_size start = p->values[assignment->variable].layout->offset;
    for (int i = 0; i < loop->operand_count; i++) {
        if (!reads_in_step(p, loop, &loop->operands[i], output, storage, start)) return false;
    }
    return true;
}

/* Kernels are selected before this pass, and some require operands aligned to 16 bytes. Does such a kernel read the value, and would its
 * address, if the value is stored in the variable, have another remainder modulo 16? */
static bool breaks_alignment(const wi_partition *p, const wi_assignment *assignment, int own) {
    enum { QUAD_BYTES = 16 };
    const int64_t size = (int64_t)weft_dtype_size(p->values[assignment->value].format);
    if (p->values[assignment->variable].layout->offset.actual * size % QUAD_BYTES == 0) return false;
    for (size_t i = 0; i < p->step_count; i++) {
        const wi_step *const step = p->steps[i];
        if (step->kind != WI_STEP_PRODUCT && step->kind != WI_STEP_KERNEL) continue;
        const int count = p->values[step->members[0]].node->input_count;
        for (int source = 0; source < count; source++) {
            if (wi_base_storage(p, step->sources[source]) == own) return true;
        }
    }
    return false;
}

/* ---- readers of assigned variables ---- */

/* The range of a storage that a step reads or writes. */
typedef struct reading {
    int storage, step;
    wi_span span;
    int64_t
        reach; /* the largest end among this range and the ranges before it in the list that are in the same storage */
} reading;

/* Ranges sorted by storage, then by first element. */
typedef struct readings {
    reading *of;
    size_t count, capacity;
    bool *is_output; /* by storage: an output of the plan, which the program reads after a run */
} readings;

static weft_status add_reading(
    readings *r, const wi_partition *p, const bool *assigned, int step, int value) {
    const int storage = value >= 0 ? wi_base_storage(p, value) : -1;
    if (storage < 0 || !assigned[storage]) return WEFT_OK;
    WI_TRY(wi_grow(p->request->allocator, (void **)&r->of, &r->capacity, r->count + 1, sizeof *r->of));
    reading *const own = &r->of[r->count++];
    *own = (reading){.storage = storage, .step = step, .span = wi_span_of(&p->values[value])};
    return WEFT_OK;
}

static weft_status add_step(readings *r, const wi_loops *loops, const bool *assigned, int step) {
    const wi_loop *const loop = &loops->of[step];
    for (int i = 0; i < 2 && loop->step->kind == WI_STEP_PRODUCT; i++)
        WI_TRY(add_reading(r, loops->partition, assigned, step, loop->step->sources[i]));
    for (int i = 0; i < loop->operand_count; i++)
        WI_TRY(add_reading(r, loops->partition, assigned, step, loop->operands[i].value));
    return WEFT_OK;
}

static int by_place(const void *a, const void *b) {
    const reading *const x = a, *const y = b;
    if (x->storage != y->storage) return x->storage < y->storage ? -1 : 1;
    return (x->span.first > y->span.first) - (x->span.first < y->span.first);
}

static weft_status find_readings(readings *r, const wi_loops *loops, size_t step_count) {
    const wi_partition *const p = loops->partition;
    bool *const assigned = wi_arena_take(p->request->arena, p->storage_count * sizeof *assigned);
    r->is_output = wi_arena_take(p->request->arena, p->storage_count * sizeof *r->is_output);
    if (!assigned || !r->is_output) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < p->order->output_count; i++)
        if (p->output_values[i] >= 0) r->is_output[wi_base_storage(p, p->output_values[i])] = true;
    for (size_t i = 0; i < p->assignment_count; i++)
        assigned[wi_base_storage(p, p->assignments[i].variable)] = true;
    for (size_t i = 0; i < step_count; i++) WI_TRY(add_step(r, loops, assigned, (int)i));
    if (r->count > 1) qsort(r->of, r->count, sizeof *r->of, by_place);
    for (size_t i = 0; i < r->count; i++) {
        const bool follows = i > 0 && r->of[i - 1].storage == r->of[i].storage;
        r->of[i].reach =
            follows && r->of[i - 1].reach > r->of[i].span.end ? r->of[i - 1].reach : r->of[i].span.end;
    }
    return WEFT_OK;
}

/* The first range that may end after `place`: binary search by `reach`. */
static size_t first_reaching(const readings *r, int storage, int64_t place) {
    size_t low = 0, high = r->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const reading *const own = &r->of[middle];
        if (own->storage < storage || (own->storage == storage && own->reach <= place))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_read_after(const wi_partition *p, const readings *r, int variable, int step) {
    const int storage = wi_base_storage(p, variable);
    const wi_span own = wi_span_of(&p->values[variable]);
    for (size_t i = first_reaching(r, storage, own.first);
         i < r->count && r->of[i].storage == storage && r->of[i].span.first < own.end; i++) {
        if (r->of[i].step > step && r->of[i].span.end > own.first) return true;
    }
    return false;
}

/* ---- assignments ---- */

/* Can the new value be computed in the variable's memory, because no later step reads the old value? An output of the plan cannot: a
 * later change of the variable must not change the output. */
static bool may_be_in_place(const wi_loops *loops, const wi_assignment *assignment, const readings *r) {
    const wi_partition *p = loops->partition;
    const size_t step = (size_t)p->values[assignment->value].step;
    const int own = wi_base_storage(p, assignment->value), over = wi_base_storage(p, assignment->variable);
    if (p->storages[own].alias >= 0 || r->is_output[own] ||
        !writes_over(p, &loops->of[step], assignment, over))
        return false;
    if (breaks_alignment(p, assignment, own)) return false;
    return !is_read_after(p, r, assignment->variable, (int)step);
}

/* Assigns in place if possible. Otherwise a copy step is appended that writes the value to its variable at the end of the plan. */
static weft_status plan_assignment(
    wi_partition *p, wi_loops *loops, const wi_assignment *assignment, const readings *r) {
    const wi_value *variable = &p->values[assignment->variable];
    const int over = wi_base_storage(p, assignment->variable);
    if (may_be_in_place(loops, assignment, r)) {
        wi_storage *storage = &p->storages[wi_base_storage(p, assignment->value)];
        storage->alias = over;
        storage->alias_offset =
            (size_t)variable->layout->offset.actual * weft_dtype_size(p->values[assignment->value].format);
        return WEFT_OK;
    }
    int copy;
    WI_TRY(wi_copy_value(p, assignment->value, over, variable->layout, &copy));
    return wi_make_loop(loops, p->steps[p->step_count - 1]);
}

/* ---- tables of which a step writes some rows ---- */

/* Moves the plan's last step to number `to`; the steps from `to` on get the next higher numbers. */
static void move_last(wi_partition *p, wi_loops *loops, int to) {
    const int from = (int)p->step_count - 1;
    wi_step *const step = p->steps[from];
    const wi_loop loop = loops->of[from];
    for (int i = from; i > to; i--) {
        p->steps[i] = p->steps[i - 1];
        p->steps[i]->index = i;
        loops->of[i] = loops->of[i - 1];
    }
    p->steps[to] = step;
    step->index = to;
    loops->of[to] = loop;
    for (size_t i = 0; i < p->value_count; i++) {
        int *const own = &p->values[i].step;
        if (*own >= to) *own = *own == from ? to : *own + 1;
    }
}

/* For a step that writes some rows of a table: if the table is not updated in place, inserts a step that first copies all rows to the new
 * memory. */
static weft_status copy_other_rows(wi_partition *p, wi_loops *loops, int value) {
    const int step = p->values[value].step, storage = p->values[value].storage;
    if (step < 0 || storage < 0 || p->storages[storage].alias >= 0 ||
        !wi_is_table_of(p, p->steps[step], value, true))
        return WEFT_OK;
    int copy;
    p->device = p->steps[step]->device;
    WI_TRY(wi_copy_value(
        p, wi_value_index(p, p->values[value].node->inputs[0]), storage, p->values[value].layout, &copy));
    WI_TRY(wi_make_loop(loops, p->steps[p->step_count - 1]));
    move_last(p, loops, step);
    return WEFT_OK;
}

weft_status wi_plan_assignments(wi_partition *p, wi_loops *loops) {
    readings r = {0};
    weft_status status = p->assignment_count > 0 ? find_readings(&r, loops, p->step_count) : WEFT_OK;
    for (size_t i = 0; i < p->assignment_count && status == WEFT_OK; i++)
        status = plan_assignment(p, loops, &p->assignments[i], &r);
    wi_release(p->request->allocator, r.of);
    for (size_t i = 0; i < p->assignment_count && status == WEFT_OK; i++)
        status = copy_other_rows(p, loops, p->assignments[i].value);
    return status;
}
