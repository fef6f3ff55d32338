/* Values and steps: which node is computed where.
 *
 * Nodes are taken in order. A map joins the latest of the steps that its inputs come from, when its shape is
 * that step's space and those inputs are still in that step's registers; every other input then comes from an
 * earlier step, so no cycle can arise. A reduction joins the step that computes its input. What cannot join
 * begins a new step. A value gets memory only when something outside its step reads it.
 *
 * All decisions look at general sizes (graph/shape.h), never at the actual batch. */
#include "kernels/convolution/conv_product.h"
#include "plan/steps.h"
#include <string.h>

/* ---- sources, leaves, views ---- */

static weft_status block_storage(weft_plan *plan, size_t block, int *index) {
    for (size_t i = 0; i < plan->storage_count; i++) {
        if (plan->storages[i].kind == WI_STORAGE_BLOCK && plan->storages[i].block == block) {
            *index = (int)i;
            return WEFT_OK;
        }
    }
    WI_TRY(wi_plan_new_storage(plan, WI_STORAGE_BLOCK, plan->graph->blocks[block].bytes, index));
    plan->storages[*index].block = block;
    return WEFT_OK;
}

static weft_status take_source(weft_plan *plan, int index) {
    wi_value *value = &plan->values[index];
    const weft_tensor *node = value->node;
    value->state = WI_VALUE_MEMORY;
    int storage;
    if (node->op == &wi_op_input) {
        WI_TRY(wi_plan_new_storage(
            plan, WI_STORAGE_INPUT, wi_plan_extent_bytes(&value->extent, node->dtype), &storage));
    } else {
        const wi_variable *variable = node->variable;
        WI_TRY(block_storage(plan, variable ? variable->block : 0, &storage));
        if (variable)
            plan->values[index].layout.offset =
                wi_size_of((int64_t)(variable->offset / weft_dtype_size(node->dtype)));
        else if (wi_flat_rows(plan->graph) != node->shape.dims[0])
            WI_FAIL(WEFT_ERROR_STATE, "parameters were added to the graph after its optimizer was made");
    }
    plan->values[index].storage = storage;
    return WEFT_OK;
}

static weft_status take_leaf(weft_plan *plan, int index) {
    wi_value *value = &plan->values[index];
    value->state = WI_VALUE_LEAF;
    value->leaf = value->node;
    value->weight = 1;
    const wi_op *op = value->node->op;
    if (op == &wi_op_uniform || op == &wi_op_normal) plan->draws = true;
    if (op == &wi_op_scalar) {
        const wi_scalar *scalar = &plan->graph->scalars[value->node->attributes.stream];
        if (scalar->rule) plan->clocks |= (uint64_t)1 << scalar->clock;
    }
    return WEFT_OK;
}

/* Computed by a loop, and no one has asked for its memory yet: it may lie in any order. */
static bool may_be_turned(const weft_plan *plan, int index) {
    const wi_value *value = &plan->values[index];
    if (value->state == WI_VALUE_LEAF) return value->written < 0;
    return value->state == WI_VALUE_MEMBER && value->storage < 0 && !value->in_row &&
           plan->steps[value->step]->kind == WI_STEP_LOOP;
}

/* Lays the input of a permute so that the permuted view is contiguous. */
static void turn_for(weft_plan *plan, const weft_tensor *permute, int from, const wi_extent *view) {
    const wi_layout wanted = wi_layout_contiguous(view);
    wi_value *value = &plan->values[from];
    for (int i = 0; i < view->rank; i++)
        value->layout.strides[permute->attributes.order[i]] = wanted.strides[i];
    value->turned = true;
}

static weft_status take_view(weft_plan *plan, int index) {
    const weft_tensor *node = plan->values[index].node;
    int from = wi_plan_value_index(plan, node->inputs[0]);
    const wi_value *x = &plan->values[from];
    if (x->state == WI_VALUE_LEAF && node->op != &wi_op_in_memory && wi_plan_is_uniform(plan, x->leaf)) {
        plan->values[index].state = WI_VALUE_LEAF;
        plan->values[index].leaf = x->leaf;
        return WEFT_OK;
    }
    const bool turns =
        node->op == &wi_op_permute && node->attributes.flags == WI_TO_MEMORY && may_be_turned(plan, from);
    WI_TRY(wi_plan_in_memory(plan, &from));
    if (turns) turn_for(plan, node, from, &plan->values[index].extent);
    wi_layout layout;
    wi_value *value = &plan->values[index];
    x = &plan->values[from];
    if (!node->op->view(node, &x->extent, &x->layout, &value->extent, &layout)) {
        WI_TRY(wi_plan_contiguous(plan, &from));
        value = &plan->values[index];
        x = &plan->values[from];
        if (!node->op->view(node, &x->extent, &x->layout, &value->extent, &layout))
            WI_FAIL(WEFT_ERROR_INTERNAL, "%s: no view of contiguous memory", node->op->name);
    }
    value->state = WI_VALUE_MEMORY;
    value->base = x->base;
    value->step = x->step;
    value->layout = layout;
    return WEFT_OK;
}

/* ---- maps and reductions ---- */

/* The latest step that an input comes from; -1 when all were there before. */
static int latest_step(const weft_plan *plan, const weft_tensor *node) {
    int latest = -1;
    for (int i = 0; i < node->input_count; i++) {
        const wi_value *input = &plan->values[wi_plan_value_index(plan, node->inputs[i])];
        if (input->state != WI_VALUE_LEAF && input->step > latest) latest = input->step;
    }
    return latest;
}

/* Is every input that this step makes still in its registers? */
static bool inputs_in_registers(const weft_plan *plan, const weft_tensor *node, int step) {
    for (int i = 0; i < node->input_count; i++) {
        const wi_value *input = &plan->values[wi_plan_value_index(plan, node->inputs[i])];
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

/* Reading all elements of a row again after a reduction keeps one worker on the row: good for many or short
 * rows. Where rows are columns of memory, only what lies in a near cache is quick to read again. */
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

/* Is the node computed from a result of this step's reductions, so that the space must be passed over again?
 */
static bool after_reduction(const weft_plan *plan, const weft_tensor *node, int step) {
    for (int i = 0; i < node->input_count; i++) {
        const wi_value *input = &plan->values[wi_plan_value_index(plan, node->inputs[i])];
        if (input->state == WI_VALUE_MEMBER && input->step == step &&
            (input->in_row || input->after_reduction))
            return true;
    }
    return false;
}

/* Does a member of the step read that value, too? */
static bool step_reads(const weft_plan *plan, const wi_step *step, int value) {
    for (int m = 0; m < step->member_count; m++) {
        const weft_tensor *member = plan->values[step->members[m]].node;
        for (int i = 0; i < member->input_count; i++) {
            if (wi_plan_value_index(plan, member->inputs[i]) == value) return true;
        }
    }
    return false;
}

/* Operands that the node brings with it into the step (-1: into none). Every folded axis counts as one more,
 * for its arguments. */
static int new_inputs(const weft_plan *plan, const weft_tensor *node, int step) {
    int count = 0;
    for (int i = 0; i < node->input_count; i++) {
        const int index = wi_plan_value_index(plan, node->inputs[i]);
        const wi_value *input = &plan->values[index];
        const bool member = input->state == WI_VALUE_MEMBER && input->step == step;
        const bool leaf = input->state == WI_VALUE_LEAF;
        if (member || (leaf && wi_plan_is_uniform(plan, input->leaf))) continue;
        if (step < 0 || !step_reads(plan, plan->steps[step], index)) count += leaf ? input->weight : 1;
    }
    for (int axis = 0; node->op->folds && axis < node->shape.rank; axis++)
        count += node->attributes.fold[axis] != WI_FOLD_NONE;
    return count;
}

static int times_read(const weft_plan *plan, const weft_tensor *node, int value) {
    int count = 0;
    for (int i = 0; i < node->input_count; i++) count += wi_plan_value_index(plan, node->inputs[i]) == value;
    return count;
}

/* Members that others may still ask to be written down, once the node has joined. */
static int possible_outputs(const weft_plan *plan, const wi_step *step, const weft_tensor *node) {
    int count = 1;
    for (int m = 0; m < step->member_count; m++) {
        const int outside = plan->values[step->members[m]].outside;
        count += outside > 0 && outside > times_read(plan, node, step->members[m]);
    }
    return count;
}

/* Inputs and outputs stay within WI_MAX_OPERANDS whatever follows: what reads a member later is outside
 * already. */
static bool has_room(const weft_plan *plan, const wi_step *step, const weft_tensor *node, int index) {
    const int inputs = step->input_count + new_inputs(plan, node, index);
    return step->member_count < WI_MAX_MEMBERS - 2 && inputs <= WI_MAX_INPUTS &&
           inputs + possible_outputs(plan, step, node) <= WI_MAX_OPERANDS;
}

static bool product_reads(const weft_plan *plan, const wi_step *step, const wi_value *input) {
    const weft_tensor *leaf = input->state == WI_VALUE_LEAF ? input->leaf : NULL;
    if (leaf && wi_plan_is_uniform(plan, leaf)) return true;
    if (leaf && leaf->op->folds) return false;
    for (int i = 0; leaf && i < leaf->input_count; i++) {
        if (!product_reads(plan, step, &plan->values[wi_plan_value_index(plan, leaf->inputs[i])]))
            return false;
    }
    wi_layout merged;
    return (leaf && leaf->input_count > 0) ||
           wi_product_layout(step, &input->extent, &input->layout, &merged);
}

static bool product_takes(const weft_plan *plan, const wi_step *step, const weft_tensor *node, int index) {
    if (!step->implementation->file || node->op->folds) return false;
    for (int i = 0; i < node->input_count; i++) {
        const wi_value *input = &plan->values[wi_plan_value_index(plan, node->inputs[i])];
        const bool member = input->state == WI_VALUE_MEMBER && input->step == index;
        if (!member && !product_reads(plan, step, input)) return false;
    }
    return true;
}

/* Does the map fit into the step, and at which level? */
static bool map_joins(const weft_plan *plan, int index, const weft_tensor *node, bool *in_row) {
    if (index < 0) return false;
    const wi_step *step = plan->steps[index];
    if (step->kind == WI_STEP_KERNEL) return false;
    if (!inputs_in_registers(plan, node, index) || !has_room(plan, step, node, index)) return false;
    const wi_shape row = row_shape(step);
    *in_row = false;
    if (wi_shape_equal(&node->shape, &step->shape)) {
        if (step->kind == WI_STEP_PRODUCT) return product_takes(plan, step, node, index);
        return !after_reduction(plan, node, index) || rows_may_be_read_twice(step);
    }
    *in_row = true;
    return step->reduced != 0 && wi_shape_equal(&node->shape, &row);
}

/* Inputs made by other steps are read from memory. */
static weft_status read_inputs(weft_plan *plan, const weft_tensor *node, int step) {
    plan->steps[step]->input_count += new_inputs(plan, node, step);
    for (int i = 0; i < node->input_count; i++) {
        const int index = wi_plan_value_index(plan, node->inputs[i]);
        const wi_value *input = &plan->values[index];
        if (input->state == WI_VALUE_MEMBER && input->step != step) WI_TRY(wi_plan_give_memory(plan, index));
        if (input->state == WI_VALUE_MEMBER && input->step == step) plan->values[index].outside--;
    }
    return WEFT_OK;
}

/* Cheap enough to be computed again wherever it is used: no function of elementwise.clh, division or root. */
static bool is_cheap(const wi_op *op) {
    return !op->float_code ||
           !(wi_code_calls(op->float_code) || strchr(op->float_code, '/') || strstr(op->float_code, "sqrt"));
}

enum { MOST_LEAF_OPERANDS = 6 };

/* A map of leaves, and of memory that is there before the first step, need not be stored: it becomes a leaf.
 */
static bool is_leaf_map(const weft_plan *plan, const weft_tensor *node) {
    bool reads = false;
    for (int i = 0; i < node->input_count; i++) {
        const wi_value *input = &plan->values[wi_plan_value_index(plan, node->inputs[i])];
        const bool source = input->state == WI_VALUE_MEMORY && input->step < 0;
        if (input->state != WI_VALUE_LEAF && !source) return false;
        reads = reads || source || !wi_plan_is_uniform(plan, input->leaf);
    }
    return !reads || (is_cheap(node->op) && new_inputs(plan, node, -1) <= MOST_LEAF_OPERANDS);
}

/* Do the maps that follow in order, each made of the one before, lead to one that also reads a member of the
 * step? Then the node is better computed there than in a step of its own. at: the node's place in the order.
 */
static bool leads_into(const weft_plan *plan, size_t at, int step) {
    enum { LOOK_AHEAD = 4 };
    for (size_t i = at; i + 1 < plan->order_count && i < at + LOOK_AHEAD; i++) {
        const weft_tensor *next = plan->order[i + 1];
        bool follows = false, meets = false;
        if (next->op->kind != WI_MAP || !wi_shape_equal(&next->shape, &plan->steps[step]->shape))
            return false;
        for (int k = 0; k < next->input_count; k++) {
            const weft_tensor *input = next->inputs[k];
            const int index = plan->value_of[input->id] - 1;
            const wi_value *value = index < 0 ? NULL : &plan->values[index];
            follows = follows || input == plan->order[i];
            meets =
                meets || (value && value->state == WI_VALUE_MEMBER && value->step == step && !value->in_row);
        }
        if (!follows || meets) return follows;
    }
    return false;
}

/* A map that would begin a step may go into the newest one instead, when that is a map over the same space
 * and reads some of the same memory (Adam's two moments both begin with the gradients), or meets it soon. */
static bool joins_sibling(const weft_plan *plan, const weft_tensor *node, size_t at) {
    const int index = (int)plan->step_count - 1;
    const wi_step *step = index < 0 ? NULL : plan->steps[index];
    if (!step || step->kind != WI_STEP_LOOP || step->reduced != 0) return false;
    bool in_row = false, shared = false;
    for (int i = 0; i < node->input_count; i++) {
        const int input = wi_plan_value_index(plan, node->inputs[i]);
        const bool memory = plan->values[input].state == WI_VALUE_MEMORY;
        shared = shared || (memory && step_reads(plan, step, input));
    }
    return (shared || leads_into(plan, at, index)) && map_joins(plan, index, node, &in_row) && !in_row;
}

static weft_status take_map(weft_plan *plan, int index, size_t at) {
    const weft_tensor *node = plan->values[index].node;
    if (is_leaf_map(plan, node)) {
        plan->values[index].state = WI_VALUE_LEAF;
        plan->values[index].leaf = node;
        plan->values[index].weight = new_inputs(plan, node, -1);
        return WEFT_OK;
    }
    int step = latest_step(plan, node);
    bool in_row = false;
    if (!map_joins(plan, step, node, &in_row)) {
        in_row = false;
        step = (int)plan->step_count - 1;
        if (!joins_sibling(plan, node, at)) WI_TRY(wi_plan_new_step(plan, WI_STEP_LOOP, &node->shape, &step));
    }
    WI_TRY(read_inputs(plan, node, step));
    plan->values[index].after_reduction = !in_row && after_reduction(plan, node, step);
    wi_plan_add_member(plan, step, index);
    plan->values[index].in_row = in_row;
    return WEFT_OK;
}

static bool reduce_joins(const weft_plan *plan, int index, const weft_tensor *node) {
    if (index < 0) return false;
    const wi_step *step = plan->steps[index];
    const wi_value *input = &plan->values[wi_plan_value_index(plan, node->inputs[0])];
    if (step->kind != WI_STEP_LOOP || input->state != WI_VALUE_MEMBER || input->in_row) return false;
    if (step->reduced && step->reduced != node->attributes.axes) return false;
    if (!has_room(plan, step, node, index)) return false;
    wi_step probe = *step;
    probe.reduced = node->attributes.axes;
    return !input->after_reduction || rows_may_be_read_twice(&probe);
}

/* A reduction that would begin a step may go into a late one that reduces the same space and comes after all
 * its inputs (the loss and the count of right answers). -1: there is none. */
static int sibling_reduction(const weft_plan *plan, const weft_tensor *node, const weft_tensor *x) {
    enum { LOOK_BACK = 8 };
    const int count = (int)plan->step_count, first = latest_step(plan, node) + 1;
    for (int index = first > count - LOOK_BACK ? first : count - LOOK_BACK; index < count; index++) {
        const wi_step *step = index < 0 ? NULL : plan->steps[index];
        if (!step || step->kind != WI_STEP_LOOP || step->reduced != node->attributes.axes) continue;
        if (wi_shape_equal(&step->shape, &x->shape) && has_room(plan, step, node, index)) return index;
    }
    return -1;
}

static weft_status take_reduce(weft_plan *plan, int index) {
    const weft_tensor *node = plan->values[index].node;
    const weft_tensor *x = node->inputs[0];
    int step = latest_step(plan, node);
    if (!reduce_joins(plan, step, node)) {
        step = sibling_reduction(plan, node, x);
        if (step < 0) WI_TRY(wi_plan_new_step(plan, WI_STEP_LOOP, &x->shape, &step));
    }
    plan->steps[step]->reduced = node->attributes.axes;
    WI_TRY(read_inputs(plan, node, step));
    wi_plan_add_member(plan, step, index);
    plan->values[index].in_row = true;
    return WEFT_OK;
}

/* ---- products ---- */

/* Leading dimensions as one: possible when the strides say so, or there is at most one. */
static bool merge_batch(const wi_extent *extent, const wi_layout *layout, int lead, wi_size *stride) {
    int last = -1;
    *stride = wi_size_of(0);
    for (int i = lead - 1; i >= 0; i--) {
        if (wi_size_is(extent->dims[i], 1)) continue;
        if (last < 0)
            *stride = layout->strides[i];
        else if (!wi_size_equal(layout->strides[i], wi_size_mul(layout->strides[last], extent->dims[last])))
            return false;
        last = i;
    }
    return true;
}

wi_layout wi_broadcast_layout(const wi_extent *from, const wi_layout *layout, const wi_extent *to) {
    wi_layout wide = {.offset = layout->offset};
    for (int i = 1; i <= from->rank; i++) {
        if (!wi_size_is(from->dims[from->rank - i], 1))
            wide.strides[to->rank - i] = layout->strides[from->rank - i];
    }
    return wide;
}

bool wi_product_layout(
    const wi_step *step, const wi_extent *extent, const wi_layout *layout, wi_layout *merged) {
    const int rank = step->extent.rank;
    const wi_layout wide = wi_broadcast_layout(extent, layout, &step->extent);
    *merged = (wi_layout){.offset = wide.offset};
    merged->strides[1] = wide.strides[rank - 2];
    merged->strides[2] = wide.strides[rank - 1];
    return merge_batch(&step->extent, &wide, rank - 2, &merged->strides[0]);
}

/* The operand's layout over the product's leading dimensions and its own two; false: no single batch stride.
 */
static bool operand_layout(const wi_extent *product, const wi_value *value, wi_layout *wide, wi_size *batch) {
    const int rank = product->rank, own = value->extent.rank;
    wi_extent full = *product;
    full.dims[rank - 2] = value->extent.dims[own - 2];
    full.dims[rank - 1] = value->extent.dims[own - 1];
    *wide = wi_broadcast_layout(&value->extent, &value->layout, &full);
    return merge_batch(&full, wide, rank - 2, batch);
}

/* Stretched in some leading dimensions and not in others: the stretched tensor is written down. */
static weft_status write_stretched(
    weft_plan *plan, const weft_tensor *product, weft_tensor *node, int *index) {
    wi_shape shape = product->shape;
    shape.dims[shape.rank - 2] = node->shape.dims[node->shape.rank - 2];
    shape.dims[shape.rank - 1] = node->shape.dims[node->shape.rank - 1];
    weft_tensor *stretched = weft_expand(node, shape.rank, shape.dims);
    if (!stretched) return weft_graph_status(plan->graph);
    const int from = *index;
    int view;
    WI_TRY(wi_plan_new_value(plan, stretched, &view));
    const wi_value *x = &plan->values[from];
    wi_value *value = &plan->values[view];
    value->state = WI_VALUE_MEMORY;
    value->base = x->base;
    value->step = x->step;
    value->layout = wi_broadcast_layout(&x->extent, &x->layout, &value->extent);
    return wi_plan_copy(plan, view, -1, NULL, index);
}

/* An operand of the product: in memory, with one batch stride (in strides[0] where there are leading
 * dimensions). */
static weft_status product_operand(weft_plan *plan, int product, int input, int *index, wi_layout *wide) {
    weft_tensor *result = plan->values[product].node;
    const wi_extent extent = plan->values[product].extent;
    *index = wi_plan_value_index(plan, result->inputs[input]);
    WI_TRY(wi_plan_in_memory(plan, index));
    wi_size batch;
    if (!operand_layout(&extent, &plan->values[*index], wide, &batch)) {
        WI_TRY(write_stretched(plan, result, result->inputs[input], index));
        (void)operand_layout(&extent, &plan->values[*index], wide, &batch);
    }
    if (extent.rank > 2) wide->strides[0] = batch;
    return WEFT_OK;
}

static weft_status take_product(weft_plan *plan, int index) {
    weft_tensor *node = plan->values[index].node;
    const wi_extent extent = plan->values[index].extent;
    const int rank = extent.rank;
    wi_layout layout_a, layout_b;
    int a, b, step;
    WI_TRY(product_operand(plan, index, 0, &a, &layout_a));
    WI_TRY(product_operand(plan, index, 1, &b, &layout_b));
    WI_TRY(wi_plan_new_step(plan, WI_STEP_PRODUCT, &node->shape, &step));
    wi_step *s = plan->steps[step];
    s->sources[0] = a;
    s->sources[1] = b;
    const wi_extent *extent_a = &plan->values[a].extent;
    s->gemm = (wi_gemm_shape){.batch = 1,
        .m = extent.dims[rank - 2].actual,
        .n = extent.dims[rank - 1].actual,
        .k = extent_a->dims[extent_a->rank - 1].actual,
        .a_row = layout_a.strides[rank - 2].actual,
        .a_column = layout_a.strides[rank - 1].actual,
        .b_row = layout_b.strides[rank - 2].actual,
        .b_column = layout_b.strides[rank - 1].actual};
    for (int i = 0; i < rank - 2; i++) s->gemm.batch *= extent.dims[i].actual;
    if (rank > 2) {
        s->gemm.a_batch = layout_a.strides[0].actual;
        s->gemm.b_batch = layout_b.strides[0].actual;
    }
    s->flops = 2.0 * (double)s->gemm.batch * (double)s->gemm.m * (double)s->gemm.n * (double)s->gemm.k;
    wi_plan_add_member(plan, step, index);
    return wi_step_select(plan, s);
}

/* A convolution: the product of windows of its image with the weight, for the epilogue (images · outer axes,
 * last axis, channels). */
static weft_status take_windows(weft_plan *plan, int index) {
    const weft_tensor *node = plan->values[index].node;
    const wi_extent extent = plan->values[index].extent;
    int image = wi_plan_value_index(plan, node->inputs[0]),
        weight = wi_plan_value_index(plan, node->inputs[1]), step;
    wi_windows *windows = wi_arena_take(&plan->arena, sizeof *windows);
    if (!windows) return WEFT_ERROR_MEMORY;
    WI_TRY(wi_plan_in_memory(plan, &image));
    WI_TRY(wi_plan_in_memory(plan, &weight));
    for (int tries = 0; tries < 2; tries++) {
        const wi_value *x = &plan->values[image], *w = &plan->values[weight];
        if (wi_windows_of(windows, node, &x->extent, &x->layout, &w->extent, &w->layout, &extent)) break;
        WI_TRY(wi_plan_contiguous(plan, &image));
    }
    WI_TRY(wi_plan_new_step(plan, WI_STEP_PRODUCT, &node->shape, &step));
    wi_step *s = plan->steps[step];
    s->sources[0] = image;
    s->sources[1] = weight;
    s->gemm = (wi_gemm_shape){.batch = windows->images * windows->made[0] * windows->made[1],
        .m = windows->made[2],
        .n = windows->filters * windows->groups,
        .k = windows->channels * windows->taps[0] * windows->taps[1] * windows->taps[2],
        .windows = windows};
    s->flops = windows->flops;
    wi_plan_add_member(plan, step, index);
    return wi_step_select(plan, s);
}

/* ---- joins ---- */

/* Where input i begins in the joined memory, in elements; false when it is not one piece of it. */
static bool piece_of_join(
    const weft_plan *plan, const weft_tensor *join, int i, const wi_value *whole, wi_size *start) {
    *start = wi_size_of(0);
    if (join->op == &wi_op_flat_gradients) {
        const size_t first = (size_t)join->attributes.start;
        const wi_variable *from = weft_graph_parameter(plan->graph, first)->variable;
        const wi_variable *own = weft_graph_parameter(plan->graph, first + (size_t)i)->variable;
        *start = wi_size_of((int64_t)((own->offset - from->offset) / sizeof(float)));
        return true;
    }
    const int axis = join->attributes.axis;
    for (int k = 0; k < i; k++) {
        const wi_value *before = &plan->values[wi_plan_value_index(plan, join->inputs[k])];
        *start = wi_size_add(*start, wi_size_mul(before->extent.dims[axis], whole->layout.strides[axis]));
    }
    for (int k = 0; k < axis; k++) {
        if (!wi_size_is(whole->extent.dims[k], 1)) return false;
    }
    return true;
}

/* A value that fills memory of its own, which no one has laid elsewhere yet, may be computed in place. */
static bool may_be_placed(const weft_plan *plan, int index) {
    const wi_value *value = &plan->values[index];
    const wi_value *base = &plan->values[value->base];
    if (base->state != WI_VALUE_MEMBER || base->storage < 0) return false;
    const wi_storage *storage = &plan->storages[base->storage];
    return storage->kind == WI_STORAGE_ARENA && storage->alias < 0 && !storage->keep &&
           wi_size_is(value->layout.offset, 0) && wi_layout_is_contiguous(&value->layout, &value->extent) &&
           wi_layout_is_contiguous(&base->layout, &base->extent) && wi_size_is(base->layout.offset, 0) &&
           wi_size_equal(wi_extent_count(&value->extent), wi_extent_count(&base->extent));
}

/* Can what computes it write it to its place among the others? */
static bool may_be_apart(const weft_plan *plan, int whole, int piece) {
    const wi_value *value = &plan->values[piece];
    if (value->state != WI_VALUE_MEMBER || value->storage >= 0) return false;
    const wi_step *step = plan->steps[value->step];
    wi_layout merged;
    return step->kind == WI_STEP_PRODUCT
               ? step->implementation->file &&
                     wi_product_layout(step, &value->extent, &plan->values[whole].layout, &merged)
               : may_be_turned(plan, piece);
}

/* A piece that is not one run of the joined memory is written there by the step that computes it. */
static weft_status place_apart(weft_plan *plan, int whole, int piece, int storage, wi_size start) {
    int own;
    wi_value *value = &plan->values[piece];
    const weft_dtype dtype = value->node->dtype;
    WI_TRY(wi_plan_new_storage(plan, WI_STORAGE_ARENA, wi_plan_extent_bytes(&value->extent, dtype), &own));
    plan->storages[own].alias = storage;
    value->storage = own;
    value->layout = plan->values[whole].layout;
    value->layout.offset = start;
    if (value->step > plan->values[whole].step) plan->values[whole].step = value->step;
    return WEFT_OK;
}

static weft_status join_piece(weft_plan *plan, int whole, int i, int storage) {
    const weft_tensor *join = plan->values[whole].node;
    const int piece = wi_plan_value_index(plan, join->inputs[i]);
    wi_size start;
    double number;
    int power;
    if (join->op == &wi_op_flat_gradients && wi_is_constant(join->inputs[i], &number, &power) && number == 0)
        return WEFT_OK; /* of a frozen or unused parameter: the memory is zero already */
    const bool one_piece = piece_of_join(plan, join, i, &plan->values[whole], &start);
    if (join->op == &wi_op_concat && !one_piece && may_be_apart(plan, whole, piece))
        return place_apart(plan, whole, piece, storage, start);
    if (plan->values[piece].state == WI_VALUE_MEMBER) WI_TRY(wi_plan_give_memory(plan, piece));
    if (one_piece && may_be_placed(plan, piece)) {
        wi_storage *own = &plan->storages[wi_plan_base_storage(plan, piece)];
        own->alias = storage;
        own->alias_offset = (size_t)start.actual * weft_dtype_size(join->dtype);
    } else {
        wi_layout layout = plan->values[whole].layout;
        if (join->op == &wi_op_flat_gradients) layout = wi_layout_contiguous(&plan->values[piece].extent);
        layout.offset = start;
        int copy;
        WI_TRY(wi_plan_copy(plan, piece, storage, &layout, &copy));
        if (plan->values[copy].step > plan->values[whole].step)
            plan->values[whole].step = plan->values[copy].step;
    }
    if (plan->values[piece].step > plan->values[whole].step)
        plan->values[whole].step = plan->values[piece].step;
    return WEFT_OK;
}

static weft_status take_join(weft_plan *plan, int index) {
    const weft_tensor *node = plan->values[index].node;
    int storage;
    WI_TRY(wi_plan_new_storage(
        plan, WI_STORAGE_ARENA, wi_plan_extent_bytes(&plan->values[index].extent, node->dtype), &storage));
    plan->storages[storage].keep = node->op == &wi_op_flat_gradients; /* gaps between the pieces stay zero */
    plan->values[index].state = WI_VALUE_MEMORY;
    plan->values[index].storage = storage;
    for (int i = 0; i < node->input_count; i++) WI_TRY(join_piece(plan, index, i, storage));
    return WEFT_OK;
}

/* ---- assignments and outputs ---- */

static weft_status take_assign(weft_plan *plan, int index) {
    const weft_tensor *node = plan->values[index].node;
    plan->values[index].state = WI_VALUE_MEMORY;
    if (node->op == &wi_op_assign_parts) return WEFT_OK; /* its inputs have been taken */
    const int variable = wi_plan_value_index(plan, node->inputs[0]);
    int value = wi_plan_value_index(plan, node->inputs[1]);
    for (size_t i = 0; i < plan->assignment_count; i++) {
        if (plan->values[plan->assignments[i].variable].node == plan->values[variable].node)
            WI_FAIL(WEFT_ERROR_ARGUMENT, "assign: '%s' is assigned twice in one plan",
                weft_tensor_name(plan->values[variable].node));
    }
    if (plan->values[value].state == WI_VALUE_MEMBER) WI_TRY(wi_plan_give_memory(plan, value));
    if (!may_be_placed(plan, value)) WI_TRY(wi_plan_copy(plan, value, -1, NULL, &value));
    WI_TRY(wi_grow(plan->context->allocator, (void **)&plan->assignments, &plan->assignment_capacity,
        plan->assignment_count + 1, sizeof *plan->assignments));
    plan->assignments[plan->assignment_count++] = (wi_assignment){variable, value};
    plan->values[index].step = plan->values[value].step;
    plan->trains = plan->trains || plan->values[plan->values[variable].base].node->op == &wi_op_flat;
    return WEFT_OK;
}

static weft_status take_output(weft_plan *plan, size_t output) {
    plan->output_values[output] = -1;
    weft_tensor *node = plan->roots[output];
    if (node->op->kind == WI_ASSIGN) return WEFT_OK;
    int index = wi_plan_value_index(plan, node);
    WI_TRY(wi_plan_in_memory(plan, &index));
    const wi_value *value = &plan->values[index];
    const wi_storage *storage = &plan->storages[wi_plan_base_storage(plan, index)];
    if (storage->kind == WI_STORAGE_BLOCK || !wi_layout_is_contiguous(&value->layout, &value->extent))
        WI_TRY(wi_plan_copy(plan, index, -1, NULL, &index));
    plan->output_values[output] = index;
    return WEFT_OK;
}

/* at: its place in the order. */
static weft_status take_node(weft_plan *plan, weft_tensor *node, size_t at) {
    int index;
    WI_TRY(wi_plan_new_value(plan, node, &index));
    plan->value_of[node->id] = index + 1;
    switch (node->op->kind) {
    case WI_SOURCE: return take_source(plan, index);
    case WI_LEAF: return take_leaf(plan, index);
    case WI_VIEW: return take_view(plan, index);
    case WI_MAP: return take_map(plan, index, at);
    case WI_REDUCE: return take_reduce(plan, index);
    case WI_PRODUCT: return node->op == &wi_op_matmul ? take_product(plan, index) : take_windows(plan, index);
    case WI_KERNEL: return wi_kernel_step_take(plan, index);
    case WI_JOIN: return take_join(plan, index);
    case WI_ASSIGN: return take_assign(plan, index);
    case WI_COMPOSITE:
    case WI_FUNCTION: break;
    }
    WI_FAIL(WEFT_ERROR_INTERNAL, "%s: a plan cannot hold this node", node->op->name);
}

/* Nodes that nothing reads, and readers of a composite that is replaced, may count too: more is on the safe
 * side. */
static weft_status count_readers(weft_plan *plan) {
    plan->readers = wi_arena_take(&plan->arena, plan->value_of_capacity * sizeof *plan->readers);
    if (!plan->readers) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < plan->order_count; i++) {
        for (int k = 0; k < plan->order[i]->input_count; k++) plan->readers[plan->order[i]->inputs[k]->id]++;
    }
    for (size_t i = 0; i < plan->output_count; i++) plan->readers[plan->roots[i]->id]++;
    return WEFT_OK;
}

weft_status wi_plan_fuse(weft_plan *plan) {
    WI_TRY(count_readers(plan));
    for (size_t i = 0; i < plan->order_count; i++) WI_TRY(take_node(plan, plan->order[i], i));
    for (size_t i = 0; i < plan->output_count; i++) WI_TRY(take_output(plan, i));
    return WEFT_OK;
}
