/* Joins, which place several values side by side in one storage: concatenation and flat gradients. Also assignments. */
#include "graph/weft_graph.h"
#include "ops/op_descriptors.h"
#include "plan/group/partition.h"

/* *start: the offset of input i in the joined memory, in elements. False if the input is not one contiguous range there. */
static bool range_in_join(
    const wi_partition *p, const weft_tensor *join, int i, const wi_value *whole, wi_size *start) {
    *start = wi_size_of(0);
    if (join->op == &wi_op_flat_gradients) {
        const size_t first = (size_t)join->attributes->flat_gradients.first;
        const wi_variable *from = weft_graph_parameter(p->request->graph, first)->variable;
        const wi_variable *own = weft_graph_parameter(p->request->graph, first + (size_t)i)->variable;
        *start = wi_size_of((int64_t)((own->offset - from->offset) / weft_dtype_size(join->dtype)));
        return true;
    }
    const int axis = join->attributes->along.axis;
    for (int k = 0; k < i; k++) {
        const wi_value *before = &p->values[wi_value_index(p, join->inputs[k])];
        *start = wi_size_add(*start, wi_size_mul(before->extent->dims[axis], whole->layout->strides[axis]));
    }
    for (int k = 0; k < axis; k++) {
        if (!wi_size_is(whole->extent->dims[k], 1)) return false;
    }
    return true;
}

/* Can the value be computed directly in the joined memory or in the variable? Its storage must be in the arena, filled by this value,
 * and not already inside another storage. */
static bool may_be_placed(const wi_partition *p, int index) {
    const wi_value *value = &p->values[index];
    const wi_value *base = &p->values[wi_base_of(p, index)];
    if (base->state != WI_VALUE_MEMBER || base->storage < 0) return false;
    const wi_storage *storage = &p->storages[base->storage];
    return storage->kind == WI_STORAGE_ARENA && storage->alias < 0 && !storage->keep &&
           wi_size_is(value->layout->offset, 0) && wi_layout_is_contiguous(value->layout, value->extent) &&
           wi_layout_is_contiguous(base->layout, base->extent) && wi_size_is(base->layout->offset, 0) &&
           wi_size_equal(wi_extent_count(value->extent), wi_extent_count(base->extent));
}

/* Can the step that computes the input write it to the joined memory with strides? */
static bool may_be_strided(const wi_partition *p, int whole, int input) {
    const wi_value *value = &p->values[input];
    if (p->request->plain || value->state != WI_VALUE_MEMBER || value->storage >= 0 ||
        value->member.keeps_layout)
        return false;
    const wi_step *step = p->steps[value->step];
    wi_layout merged;
    return step->kind == WI_STEP_PRODUCT ? !wi_step_is_library(step) && wi_product_layout(step, value->extent,
                                                                            p->values[whole].layout, &merged)
                                         : wi_may_be_permuted(p, input);
}

/* Lets the step that computes the input write it to the joined memory with strides. */
static weft_status store_strided(wi_partition *p, int whole, int input, int storage, wi_size start) {
    int own;
    wi_value *value = &p->values[input];
    WI_TRY(wi_new_storage(p, WI_STORAGE_ARENA, wi_value_bytes(value), &own));
    p->storages[own].alias = storage;
    value->storage = own;
    wi_layout layout = *p->values[whole].layout;
    layout.offset = start;
    WI_TRY(wi_set_layout(p, input, &layout));
    if (value->step > p->values[whole].step) p->values[whole].step = value->step;
    return WEFT_OK;
}

static bool is_zero(const weft_tensor *node) {
    double number;
    int power;
    return wi_is_constant(node, &number, &power) && number == 0;
}

static weft_status join_input(wi_partition *p, int whole, int i, int storage) {
    const weft_tensor *join = p->values[whole].node;
    const int input = wi_value_index(p, join->inputs[i]);
    wi_size start;
    if (join->op == &wi_op_flat_gradients && is_zero(join->inputs[i]))
        return WEFT_OK; /* the gradient is zero, and the memory is zeroed already */
    const bool is_one_range = range_in_join(p, join, i, &p->values[whole], &start);
    if (join->op == &wi_op_concat && !is_one_range && may_be_strided(p, whole, input))
        return store_strided(p, whole, input, storage, start);
    if (p->values[input].state == WI_VALUE_MEMBER) WI_TRY(wi_store_member(p, input));
    if (is_one_range && may_be_placed(p, input)) {
        wi_storage *own = &p->storages[wi_base_storage(p, input)];
        own->alias = storage;
        own->alias_offset = (size_t)start.actual * weft_dtype_size(p->values[whole].format);
    } else {
        wi_layout layout = *p->values[whole].layout;
        if (join->op == &wi_op_flat_gradients) layout = wi_layout_contiguous(p->values[input].extent);
        layout.offset = start;
        int copy;
        WI_TRY(wi_copy_value(p, input, storage, &layout, &copy));
        if (p->values[copy].step > p->values[whole].step) p->values[whole].step = p->values[copy].step;
    }
    if (p->values[input].step > p->values[whole].step) p->values[whole].step = p->values[input].step;
    return WEFT_OK;
}

/* Are there bytes of the joined memory that no gradient is written to? They must be zero in every run. */
static bool has_gaps(const weft_tensor *join) {
    int64_t written = 0, whole;
    int power;
    wi_shape_count(join->graph, &join->shape, &whole, &power);
    for (int i = 0; i < join->input_count; i++) {
        int64_t count;
        wi_shape_count(join->inputs[i]->graph, &join->inputs[i]->shape, &count, &power);
        if (!is_zero(join->inputs[i])) written += count;
    }
    return written < whole;
}

weft_status wi_group_join(wi_partition *p, int index) {
    const weft_tensor *node = p->values[index].node;
    int storage;
    WI_TRY(wi_new_storage(p, WI_STORAGE_ARENA, wi_value_bytes(&p->values[index]), &storage));
    p->storages[storage].keep = node->op == &wi_op_flat_gradients && has_gaps(node);
    wi_make_stored(p, index, storage);
    for (int i = 0; i < node->input_count; i++) WI_TRY(join_input(p, index, i, storage));
    return WEFT_OK;
}

/* ---- assignments ---- */

/* Is the node a flat tensor of parameters? The pieces of a state are flat tensors, too. */
static bool is_of_parameters(const wi_partition *p, const weft_tensor *node) {
    const weft_graph *const graph = p->request->graph;
    if (node->op != &wi_op_flat) return false;
    const size_t block = graph->blocks[node->attributes->flat.block].first;
    for (size_t i = 0; i < weft_graph_parameter_count(graph); i++)
        if (weft_graph_parameter(graph, i)->variable->block == block) return true;
    return false;
}

weft_status wi_group_assign(wi_partition *p, int index) {
    const weft_tensor *node = p->values[index].node;
    wi_make_stored(p, index, -1);
    /* Assigns nothing: groups assignments, which are its inputs. */
    if (node->op == &wi_op_assign_all) return WEFT_OK;
    const int variable = wi_value_index(p, node->inputs[0]);
    int value = wi_value_index(p, node->inputs[1]);
    if (p->values[value].state == WI_VALUE_MEMBER) WI_TRY(wi_store_member(p, value));
    if (!may_be_placed(p, value)) WI_TRY(wi_copy_value(p, value, -1, NULL, &value));
    WI_TRY(wi_grow(p->request->allocator, (void **)&p->assignments, &p->assignment_capacity,
        p->assignment_count + 1, sizeof *p->assignments));
    p->assignments[p->assignment_count++] = (wi_assignment){variable, value};
    p->values[index].step = p->values[value].step;
    p->trains = p->trains || is_of_parameters(p, p->values[wi_base_of(p, variable)].node);
    return WEFT_OK;
}
