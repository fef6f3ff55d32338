/* A step's index space and its operands.
 *
 * Operands are stretched to the space (stride 0 where they are broadcast); axes of size 1 are dropped, and
 * neighbours that every operand walks through as one are merged, so that most maps end as a single dimension.
 * A leaf that depends on the index (a coordinate, random numbers) is an operand too: its "address" is its
 * value. */
#include "plan/accumulators.h"

/* ---- operands ---- */

static weft_status add_operand(wi_step *step, wi_operand operand) {
    for (int i = 0; i < step->operand_count; i++) {
        const wi_operand *known = &step->operands[i];
        if (known->value == operand.value && known->leaf == operand.leaf && known->fold == operand.fold &&
            known->is_output == operand.is_output)
            return WEFT_OK;
    }
    if (step->operand_count == WI_MAX_OPERANDS)
        WI_FAIL(WEFT_ERROR_INTERNAL, "a fused step has more than %d operands", WI_MAX_OPERANDS);
    step->operands[step->operand_count++] = operand;
    return WEFT_OK;
}

static weft_status stretch(
    const wi_step *step, const wi_extent *extent, const wi_layout *layout, wi_layout *wide) {
    if (step->kind == WI_STEP_LOOP) {
        *wide = wi_broadcast_layout(extent, layout, &step->extent);
        return WEFT_OK;
    }
    if (!wi_product_layout(step, extent, layout, wide))
        WI_FAIL(WEFT_ERROR_INTERNAL, "an epilogue operand does not fit");
    return WEFT_OK;
}

static weft_status add_memory(weft_plan *plan, wi_step *step, int index, bool is_output) {
    const wi_value *value = &plan->values[index];
    wi_operand operand = {.value = index, .is_output = is_output, .dtype = value->node->dtype};
    WI_TRY(stretch(step, &value->extent, &value->layout, &operand.layout));
    return add_operand(step, operand);
}

/* The memory behind a folding node. Folded axes are never of size 1, so that stretching leaves them alone. */
static weft_status add_fold(weft_plan *plan, wi_step *step, const weft_tensor *node) {
    const wi_value *input = wi_plan_value(plan, node->inputs[0]);
    const wi_extent extent = wi_extent_of(&node->shape, plan->batch);
    wi_operand operand = {.value = (int)(input - plan->values), .dtype = node->dtype, .fold = node};
    WI_TRY(stretch(step, &extent, &input->layout, &operand.layout));
    operand.folds = wi_arena_take(&plan->arena, WEFT_MAX_RANK * sizeof *operand.folds);
    if (!operand.folds) return WEFT_ERROR_MEMORY;
    for (int axis = 0; axis < extent.rank; axis++) {
        wi_fold *fold = &operand.folds[step->extent.rank - extent.rank + axis];
        const int64_t start = node->attributes.before[axis];
        fold->mode = (wi_fold_mode)node->attributes.fold[axis];
        fold->size = input->extent.dims[axis];
        fold->step = node->attributes.step;
        fold->before = wi_size_of(start);
        if (fold->mode == WI_FOLD_WRAP)
            fold->before.actual = (start % fold->size.actual + fold->size.actual) % fold->size.actual;
        else if (start < 0)
            fold->before = (wi_size){-start * WI_GENERAL_BATCH, -start * plan->batch};
    }
    return add_operand(step, operand);
}

/* Leaves behind leaves, down to those with an address of their own. */
static weft_status add_leaf(weft_plan *plan, wi_step *step, const weft_tensor *leaf) {
    if (leaf->op == &wi_op_constant || leaf->op == &wi_op_scalar) return WEFT_OK;
    if (leaf->op->folds) return add_fold(plan, step, leaf);
    for (int i = 0; i < leaf->input_count; i++) {
        const wi_value *input = wi_plan_value(plan, leaf->inputs[i]);
        if (input->state == WI_VALUE_LEAF)
            WI_TRY(add_leaf(plan, step, input->leaf));
        else
            WI_TRY(add_memory(plan, step, (int)(input - plan->values), false));
    }
    if (leaf->input_count > 0) return WEFT_OK;
    const wi_extent extent = wi_extent_of(&leaf->shape, plan->batch);
    wi_layout layout = wi_layout_contiguous(&extent);
    if (leaf->op == &wi_op_coordinate) {
        layout = (wi_layout){0};
        layout.strides[leaf->attributes.axis] = wi_size_of(1);
    }
    wi_operand operand = {.value = -1, .leaf = leaf, .dtype = leaf->dtype};
    WI_TRY(stretch(step, &extent, &layout, &operand.layout));
    return add_operand(step, operand);
}

static weft_status add_input(weft_plan *plan, wi_step *step, const wi_value *member, const wi_value *input) {
    if (input->state == WI_VALUE_LEAF) return add_leaf(plan, step, input->leaf);
    if (input->state == WI_VALUE_MEMBER && input->step == member->step) return WEFT_OK;
    return add_memory(plan, step, (int)(input - plan->values), false);
}

static weft_status add_member_operands(weft_plan *plan, wi_step *step, int index) {
    const wi_value *member = &plan->values[index];
    if (member->copy_of >= 0) {
        WI_TRY(add_memory(plan, step, member->copy_of, false));
    } else if (member->is_leaf_member) {
        WI_TRY(add_leaf(plan, step, member->leaf));
    } else if (member->node->op->folds) {
        WI_TRY(add_fold(plan, step, member->node));
    } else if (member->node->op->kind != WI_PRODUCT) {
        for (int i = 0; i < member->node->input_count; i++)
            WI_TRY(add_input(plan, step, member, wi_plan_value(plan, member->node->inputs[i])));
    }
    return WEFT_OK;
}

/* ---- merging dimensions ---- */

static bool merges(const wi_step *step, int outer, int inner) {
    if (step->space.reduced[outer] != step->space.reduced[inner]) return false;
    for (int i = 0; i < step->operand_count; i++) {
        const wi_size *strides = step->operands[i].layout.strides;
        const wi_fold *folds = step->operands[i].folds;
        if (folds && (folds[outer].mode || folds[inner].mode)) return false;
        if (!wi_size_equal(strides[outer], wi_size_mul(strides[inner], step->space.dims[inner])))
            return false;
    }
    return true;
}

static void move_dimension(wi_step *step, int to, int from) {
    step->space.dims[to] = step->space.dims[from];
    step->space.reduced[to] = step->space.reduced[from];
    for (int i = 0; i < step->operand_count; i++) {
        wi_operand *operand = &step->operands[i];
        operand->layout.strides[to] = operand->layout.strides[from];
        if (operand->folds) operand->folds[to] = operand->folds[from];
    }
}

static void merge_space(wi_step *step) {
    wi_space *space = &step->space;
    int count = 0;
    for (int i = 0; i < space->rank; i++) {
        if (wi_size_is(space->dims[i], 1)) continue;
        if (count > 0 && merges(step, count - 1, i)) {
            const wi_size outer = space->dims[count - 1];
            move_dimension(step, count - 1, i);
            space->dims[count - 1] = wi_size_mul(outer, space->dims[count - 1]);
        } else {
            move_dimension(step, count++, i);
        }
    }
    if (count == 0) { /* a single element */
        space->dims[0] = wi_size_of(1);
        space->reduced[0] = false;
        for (int i = 0; i < step->operand_count; i++) step->operands[i].layout.strides[0] = wi_size_of(0);
        count = 1;
    }
    space->rank = count;
}

/* Turned code is longer, and so is its compilation: worth it for many rows, not for a row or a few an
 * example. */
static bool has_many_rows(const wi_space *space) {
    enum { MANY = 4096, MANY_AN_EXAMPLE = 16 };
    int64_t rows = 1;
    bool batch = false;
    for (int i = 0; i < space->rank; i++) {
        if (space->reduced[i]) continue;
        rows *= space->dims[i].general;
        batch = batch || space->dims[i].general % WI_GENERAL_BATCH == 0;
    }
    return batch ? rows / WI_GENERAL_BATCH >= MANY_AN_EXAMPLE : rows >= MANY;
}

/* Short rows: lanes that are neighbouring rows have more to do than lanes within a row. The innermost kept
 * dimension becomes the last. */
static void turn_short_rows(wi_step *step) {
    enum { SHORT = 32 };
    wi_space *space = &step->space;
    const int last = space->rank - 1;
    if (!space->reduced[last] || space->dims[last].general > SHORT || !has_many_rows(space)) return;
    int kept = last;
    while (kept >= 0 && space->reduced[kept]) kept--;
    if (kept < 0 || space->dims[kept].general < 16) return;
    const wi_size dim = space->dims[kept];
    wi_size strides[WI_MAX_OPERANDS];
    for (int i = 0; i < step->operand_count; i++) strides[i] = step->operands[i].layout.strides[kept];
    for (int d = kept; d < last; d++) move_dimension(step, d, d + 1);
    space->dims[last] = dim;
    space->reduced[last] = false;
    for (int i = 0; i < step->operand_count; i++) step->operands[i].layout.strides[last] = strides[i];
}

static weft_status make_space(wi_step *step) {
    wi_space *space = &step->space;
    if (step->kind == WI_STEP_PRODUCT) {
        const int rank = step->extent.rank;
        space->rank = 3;
        space->dims[0] = (wi_size){step->gemm.batch, step->gemm.batch};
        space->dims[1] = step->extent.dims[rank - 2];
        space->dims[2] = step->extent.dims[rank - 1];
        return WEFT_OK;
    }
    space->rank = step->extent.rank;
    for (int i = 0; i < space->rank; i++) {
        space->dims[i] = step->extent.dims[i];
        space->reduced[i] = step->reduced >> i & 1;
    }
    merge_space(step);
    turn_short_rows(step);
    for (int i = 0; i < space->rank; i++) {
        if (space->dims[i].actual > INT32_MAX / 2)
            WI_FAIL(WEFT_ERROR_UNSUPPORTED, "a dimension of %lld elements is more than a kernel counts",
                (long long)space->dims[i].actual);
    }
    return WEFT_OK;
}

/* ---- passes over the space ---- */

static int max_int(int a, int b) {
    return a > b ? a : b;
}

static int member_pass(weft_plan *plan, const wi_value *member) {
    int pass = 0;
    if (member->copy_of >= 0 || member->is_leaf_member || member->node->op->kind == WI_PRODUCT) return 0;
    for (int i = 0; i < member->node->input_count; i++) {
        const wi_value *input = wi_plan_value(plan, member->node->inputs[i]);
        if (input->state != WI_VALUE_MEMBER || input->step != member->step) continue;
        pass = max_int(pass, input->pass + (input->in_row && !member->in_row));
    }
    return pass;
}

/* Many elements a row and few rows: the reduction is worth cutting into parts that are added up afterwards.
 */
static bool worth_splitting(const wi_step *step) {
    int64_t rows = 1, row = 1;
    for (int i = 0; i < step->space.rank; i++) {
        if (step->space.reduced[i])
            row *= step->space.dims[i].general;
        else
            rows *= step->space.dims[i].general;
    }
    return row >= 8192 && rows <= 65536;
}

static void count_passes(weft_plan *plan, wi_step *step) {
    step->passes = 1;
    for (int i = 0; i < step->member_count; i++) {
        wi_value *member = &plan->values[step->members[i]];
        member->pass = member_pass(plan, member);
        if (wi_is_reduction(member) || (!member->in_row && member->storage >= 0))
            step->passes = max_int(step->passes, member->pass + 1);
    }
    step->splits = step->reduced && step->passes == 1 && worth_splitting(step);
}

/* ---- what a pass spills for the next ---- */

/* Does the input of a member lie in memory that differs along a row? Leaves are computed from what lies there
 * for the whole plan, or read by folds, and neither is ever written over. */
static bool is_read_along(const wi_step *step, int value) {
    const int o = wi_step_operand(step, value, false);
    return o >= 0 && wi_operand_in_loop(step, &step->operands[o]);
}

/* Is the input of a member a member of the same step that is computed for every element? */
static bool is_element_of(const weft_plan *plan, const wi_step *step, const wi_value *input) {
    return input->state == WI_VALUE_MEMBER && plan->steps[input->step] == step && !input->in_row;
}

/* Does computing the member for every element compute `wanted`? */
static bool computes(weft_plan *plan, const wi_step *step, int index, int wanted) {
    const wi_value *value = &plan->values[index];
    if (index == wanted) return true;
    if (value->copy_of >= 0 || value->is_leaf_member) return false;
    for (int i = 0; i < value->node->input_count; i++) {
        const wi_value *input = wi_plan_value(plan, value->node->inputs[i]);
        if (is_element_of(plan, step, input) && computes(plan, step, (int)(input - plan->values), wanted))
            return true;
    }
    return false;
}

/* Does it read memory along a row, when `ready` need not be computed? */
static bool reads_along(weft_plan *plan, const wi_step *step, int index, int ready) {
    const wi_value *value = &plan->values[index];
    if (index == ready || value->is_leaf_member) return false;
    if (value->copy_of >= 0) return is_read_along(step, value->copy_of);
    for (int i = 0; i < value->node->input_count; i++) {
        const wi_value *input = wi_plan_value(plan, value->node->inputs[i]);
        const int at = (int)(input - plan->values);
        if (is_element_of(plan, step, input) ? reads_along(plan, step, at, ready) : is_read_along(step, at))
            return true;
    }
    return false;
}

/* Is it what a pass does with every element: taken by a reduction, or stored? */
static bool is_elements_work(const wi_value *value) {
    return wi_is_reduction(value) || (!value->in_row && value->storage >= 0);
}

/* A pass needs the member, a later one too, and none of the later ones reads memory along a row otherwise. */
static bool is_worth_spilling(weft_plan *plan, const wi_step *step, int index) {
    const wi_value *value = &plan->values[index];
    if (value->in_row || value->storage >= 0 || value->copy_of >= 0 || value->is_leaf_member ||
        value->node->op->kind != WI_MAP || value->node->dtype != WEFT_F32 ||
        !wi_code_calls(value->node->op->float_code))
        return false;
    bool now = false, later = false;
    for (int i = 0; i < step->member_count; i++) {
        const wi_value *other = &plan->values[step->members[i]];
        if (!is_elements_work(other) || other->pass < value->pass) continue;
        const bool used = computes(plan, step, step->members[i], index);
        if (other->pass == value->pass) {
            now = now || (used && wi_is_reduction(other));
        } else {
            later = later || used;
            if (reads_along(plan, step, step->members[i], index)) return false;
        }
    }
    return now && later;
}

bool wi_step_writes_last(const weft_plan *plan, const wi_step *step, const wi_operand *output) {
    for (int d = 0; d < step->space.rank && step->reduced; d++) {
        if (output->layout.strides[d].actual == 0) return false;
    }
    return !step->reduced || plan->values[output->value].pass == step->passes - 1;
}

/* An exponential is computed once, and lies where the last pass writes until that pass reads it (softmax).
 * Other processors compute it sooner than they read it. */
static void find_spilled(weft_plan *plan, wi_step *step) {
    step->spilled = step->spill = -1;
    if (!step->reduced || step->passes < 2 ||
        wi_context_device(plan->context)->caps.device_class != WEFT_CLASS_CPU)
        return;
    for (int o = 0; o < step->operand_count && step->spill < 0; o++) {
        const wi_operand *output = &step->operands[o];
        if (output->is_output && output->dtype == WEFT_F32 && wi_step_writes_last(plan, step, output))
            step->spill = o;
    }
    for (int i = 0; i < step->member_count && step->spill >= 0 && step->spilled < 0; i++) {
        if (is_worth_spilling(plan, step, step->members[i])) step->spilled = step->members[i];
    }
}

static weft_status prepare_step(weft_plan *plan, wi_step *step) {
    if (step->kind == WI_STEP_KERNEL) return wi_kernel_step_operands(plan, step);
    for (int i = 0; i < step->member_count; i++) WI_TRY(add_member_operands(plan, step, step->members[i]));
    for (int i = 0; i < step->member_count; i++) {
        if (plan->values[step->members[i]].storage >= 0)
            WI_TRY(add_memory(plan, step, step->members[i], true));
    }
    WI_TRY(make_space(step));
    count_passes(plan, step);
    find_spilled(plan, step);
    return WEFT_OK;
}

/* ---- assignments ---- */

static bool same_layout(const wi_step *step, const wi_layout *a, const wi_layout *b) {
    for (int d = 0; d < step->space.rank; d++) {
        if (!wi_size_equal(a->strides[d], b->strides[d])) return false;
    }
    return true;
}

/* Elements of its storage between which all of a value's lie. */
static void span_of(const wi_value *value, int64_t *first, int64_t *end) {
    *first = value->layout.offset.general;
    *end = *first + 1;
    for (int i = 0; i < value->extent.rank; i++) {
        const int64_t reach = (value->extent.dims[i].general - 1) * value->layout.strides[i].general;
        if (reach < 0)
            *first += reach;
        else
            *end += reach;
    }
}

static bool value_overlaps(const weft_plan *plan, int index, int storage, int64_t first, int64_t end) {
    if (index < 0 || wi_plan_base_storage(plan, index) != storage) return false;
    int64_t from, to;
    span_of(&plan->values[index], &from, &to);
    return from < end && first < to;
}

/* Does the step read any of the variable, whose storage may hold others? */
static bool reads_variable(const weft_plan *plan, const wi_step *step, int variable) {
    const int storage = wi_plan_base_storage(plan, variable);
    int64_t first, end;
    span_of(&plan->values[variable], &first, &end);
    if (step->kind == WI_STEP_PRODUCT && (value_overlaps(plan, step->sources[0], storage, first, end) ||
                                             value_overlaps(plan, step->sources[1], storage, first, end)))
        return true;
    for (int i = 0; i < step->operand_count; i++) {
        if (value_overlaps(plan, step->operands[i].value, storage, first, end)) return true;
    }
    return false;
}

/* May the step that computes the new value write it over the old one? Each element must be read, if at all,
 * by the work-item that writes it, just before. */
static bool writes_over(
    const weft_plan *plan, const wi_step *step, const wi_assignment *assignment, int storage) {
    const wi_operand *output = NULL;
    for (int i = 0; i < step->operand_count; i++) {
        if (step->operands[i].is_output && step->operands[i].value == plan->values[assignment->value].base)
            output = &step->operands[i];
    }
    if (!output || (step->reduced && step->passes > 1)) return false;
    if (step->kind == WI_STEP_KERNEL && reads_variable(plan, step, assignment->variable)) return false;
    if (step->kind == WI_STEP_PRODUCT && (wi_plan_base_storage(plan, step->sources[0]) == storage ||
                                             wi_plan_base_storage(plan, step->sources[1]) == storage))
        return false;
    const wi_size start = plan->values[assignment->variable].layout.offset;
    for (int i = 0; i < step->operand_count; i++) {
        const wi_operand *operand = &step->operands[i];
        if (operand->value < 0 || operand->is_output || wi_plan_base_storage(plan, operand->value) != storage)
            continue;
        if (operand->fold || !wi_size_equal(operand->layout.offset, start) ||
            !same_layout(step, &operand->layout, &output->layout))
            return false;
    }
    return true;
}

/* The new value is computed in the variable's memory where no one needs the old one afterwards; else it is
 * copied there after the last step. */
static weft_status settle_assignment(weft_plan *plan, const wi_assignment *assignment, size_t step_count) {
    const wi_value *variable = &plan->values[assignment->variable], *value = &plan->values[assignment->value];
    const int own = wi_plan_base_storage(plan, assignment->value),
              over = wi_plan_base_storage(plan, assignment->variable);
    bool in_place =
        plan->storages[own].alias < 0 && writes_over(plan, plan->steps[value->step], assignment, over);
    for (size_t i = (size_t)value->step + 1; in_place && i < step_count; i++)
        in_place = !reads_variable(plan, plan->steps[i], assignment->variable);
    if (in_place) {
        wi_storage *storage = &plan->storages[own];
        storage->alias = over;
        storage->alias_offset = (size_t)variable->layout.offset.actual * weft_dtype_size(value->node->dtype);
        return WEFT_OK;
    }
    const wi_layout layout = variable->layout; /* copying makes values, which moves them */
    int copy;
    WI_TRY(wi_plan_copy(plan, assignment->value, over, &layout, &copy));
    return prepare_step(plan, plan->steps[plan->step_count - 1]);
}

weft_status wi_plan_loops(weft_plan *plan) {
    const size_t step_count = plan->step_count;
    for (size_t i = 0; i < step_count; i++) WI_TRY(prepare_step(plan, plan->steps[i]));
    for (size_t i = 0; i < plan->assignment_count; i++)
        WI_TRY(settle_assignment(plan, &plan->assignments[i], step_count));
    return WEFT_OK;
}
