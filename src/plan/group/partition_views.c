/* Values that no step computes: sources, generators, and views. */
#include "graph/weft_graph.h"
#include "ops/movement/memory_order.h"
#include "ops/op_descriptors.h"
#include "plan/group/partition.h"

static weft_status block_storage(wi_partition *p, size_t block, int *index) {
    for (size_t i = 0; i < p->storage_count; i++) {
        if (p->storages[i].kind == WI_STORAGE_BLOCK && p->storages[i].block == block) {
            *index = (int)i;
            return WEFT_OK;
        }
    }
    WI_TRY(wi_new_storage(p, WI_STORAGE_BLOCK, p->request->graph->blocks[block].bytes, index));
    p->storages[*index].block = block;
    p->storages[*index].on_host = p->request->graph->blocks[block].buffer.on_host;
    return WEFT_OK;
}

/* Sets the offset of a variable: the number of its first element in the block. */
static weft_status begin_at(wi_partition *p, int index, size_t first) {
    wi_layout layout = *p->values[index].layout;
    layout.offset = wi_size_of((int64_t)first);
    return wi_set_layout(p, index, &layout);
}

weft_status wi_group_source(wi_partition *p, int index) {
    wi_value *value = &p->values[index];
    const weft_tensor *node = value->node;
    int storage;
    if (node->op == &wi_op_input) {
        WI_TRY(wi_new_storage(p, WI_STORAGE_INPUT, wi_value_bytes(value), &storage));
    } else {
        const wi_variable *variable = node->variable;
        WI_TRY(block_storage(p, wi_graph_block_of(node), &storage));
        if (variable) WI_TRY(begin_at(p, index, variable->offset / weft_dtype_size(node->dtype)));
    }
    wi_make_stored(p, index, storage);
    return WEFT_OK;
}

weft_status wi_group_generator(wi_partition *p, int index) {
    const weft_tensor *node = p->values[index].node;
    const wi_op *op = node->op;
    wi_make_inline(p, index, node, 1);
    if (op == &wi_op_uniform || op == &wi_op_normal) p->draws = true;
    if (op == &wi_op_scalar) {
        const wi_scalar *scalar = &p->request->graph->scalars[node->attributes->scalar.index];
        if (scalar->rule) p->clocks |= (uint64_t)1 << scalar->clock;
    }
    return WEFT_OK;
}

/* ---- views ---- */

bool wi_may_be_permuted(const wi_partition *p, int index) {
    const wi_value *value = &p->values[index];
    if (value->state == WI_VALUE_INLINE) return value->stored_as < 0;
    return value->state == WI_VALUE_MEMBER && value->storage < 0 && !value->member.in_row &&
           !value->member.keeps_layout && p->steps[value->step]->kind == WI_STEP_LOOP;
}

/* Lets the input of a permute be stored in the permuted order, so that the result is a contiguous view of it. */
static weft_status permute_for(wi_partition *p, const weft_tensor *permute, int from, const wi_extent *view) {
    const wi_layout wanted = wi_layout_contiguous(view);
    wi_layout layout = *p->values[from].layout;
    for (int i = 0; i < view->rank; i++)
        layout.strides[permute->attributes->permute.axes[i]] = wanted.strides[i];
    p->values[from].member.permuted = true;
    return wi_set_layout(p, from, &layout);
}

weft_status wi_group_view(wi_partition *p, int index) {
    const weft_tensor *node = p->values[index].node;
    int from = wi_value_index(p, node->inputs[0]);
    const wi_value *x = &p->values[from];
    if (node->op != &wi_op_in_memory && wi_is_uniform_inline(x)) {
        wi_make_inline(p, index, x->inlined.expression, 0);
        return WEFT_OK;
    }
    const bool permutes = !p->request->plain && node->op == &wi_op_permute &&
                          node->attributes->permute.direction == WI_TO_MEMORY_ORDER &&
                          wi_may_be_permuted(p, from);
    WI_TRY(wi_in_memory(p, &from));
    if (permutes) WI_TRY(permute_for(p, node, from, p->values[index].extent));
    wi_layout layout;
    wi_value *value = &p->values[index];
    x = &p->values[from];
    if (!node->op->view(node, x->extent, x->layout, value->extent, &layout)) {
        WI_TRY(wi_contiguous(p, &from));
        value = &p->values[index];
        x = &p->values[from];
        if (!node->op->view(node, x->extent, x->layout, value->extent, &layout))
            WI_FAIL(WEFT_ERROR_INTERNAL, "%s: no view of contiguous memory", node->op->name);
    }
    wi_make_view(p, index, from);
    return wi_set_layout(p, index, &layout);
}
