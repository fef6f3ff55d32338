/* Updates of table rows, such as the rows of an embedding. A sum of rows by segments is a product step over the segments (n, width), and
 * the maps that follow are its epilogue, as after any product. The same step reads rows of tables that belong to the segments
 * (segment_select), and writes the results back to the tables (segment_copy):
 *
 *     sums (n, width) ──▶ rule ──▶ rows (n, width)        one launch: row s of the sums, with row token[s]
 *                       ▲     ╲                           of the parameter and of each of its states
 *     table[token] ─────┘      ╲──▶ table[token]
 *
 * The kernel passes token[s] to the epilogue as the batch index. Only operands that are tables vary along the batch dimension. A
 * segment_select or segment_copy that cannot join such a step is a kernel op. */
#include "plan/group/partition.h"

#include "ops/index/index.h"

bool wi_is_product_of(const wi_step *step, const wi_value *value) {
    return step->kind == WI_STEP_PRODUCT && value->member.place == 0;
}

bool wi_is_table_of(const wi_partition *p, const wi_step *step, int value, bool is_output) {
    if (!step->by_segments) return false;
    for (int m = 1; m < step->member_count; m++) {
        const wi_value *const member = &p->values[step->members[m]];
        const wi_op *const op = member->node->op;
        if (is_output && op == &wi_op_segment_copy && step->members[m] == value) return true;
        if (!is_output && op == &wi_op_segment_select && wi_value_index(p, member->node->inputs[0]) == value)
            return true;
    }
    return false;
}

/* The step with the sum by segments whose members compute input 2 and whose segments the node uses; NULL: there is none. */
static wi_step *step_of(const wi_partition *p, const weft_tensor *node) {
    const wi_value *const rows = wi_value_of_node(p, node->inputs[2]);
    if (rows->state != WI_VALUE_MEMBER) return NULL;
    wi_step *const step = p->steps[rows->step];
    if (!step->by_segments || step->device != p->device) return NULL;
    return p->values[step->members[0]].node->inputs[1] == node->inputs[1] ? step : NULL;
}

/* Is the table a contiguous variable, and does the step have room for one more operand and output? */
static bool takes_table(const wi_partition *p, const wi_step *step, const weft_tensor *node) {
    const int table = wi_value_index(p, node->inputs[0]);
    const wi_value *const own = &p->values[table];
    return own->state == WI_VALUE_MEMORY && wi_layout_is_contiguous(own->layout, own->extent) &&
           p->storages[wi_base_storage(p, table)].kind == WI_STORAGE_BLOCK &&
           step->member_count < WI_MAX_MEMBERS - 2 && wi_has_room(p, step, node);
}

bool wi_is_of_segments(const wi_partition *p, int value) {
    const weft_tensor *const node = p->values[value].node;
    if (node->op == &wi_op_segment_sum) return true;
    if (node->op != &wi_op_segment_select && node->op != &wi_op_segment_copy) return false;
    const wi_step *const step = step_of(p, node);
    return step && takes_table(p, step, node);
}

static weft_status group_sum(wi_partition *p, int index) {
    const weft_tensor *const node = p->values[index].node;
    int sources[2], step;
    for (int i = 0; i < 2; i++) {
        sources[i] = wi_value_index(p, node->inputs[i]);
        WI_TRY(wi_in_memory(p, &sources[i]));
        WI_TRY(wi_contiguous(p, &sources[i]));
    }
    WI_TRY(wi_new_step(p, WI_STEP_PRODUCT, &node->shape, &step));
    wi_step *const s = p->steps[step];
    const wi_extent *const extent = p->values[index].extent;
    s->by_segments = true;
    s->source_extent = *extent;
    s->computed = -1;
    s->input_count = 1;
    s->gemm = (wi_gemm_shape){.batch = 1, .m = extent->dims[0].actual, .n = extent->dims[1].actual, .k = 1};
    for (int i = 0; i < 2; i++) s->sources[i] = sources[i];
    wi_add_member(p, step, index);
    return wi_select_for(p, s);
}

weft_status wi_group_segment_rows(wi_partition *p, int index) {
    const weft_tensor *const node = p->values[index].node;
    if (node->op == &wi_op_segment_sum) return group_sum(p, index);
    wi_step *const step = step_of(p, node);
    step->input_count += wi_new_operands(p, node, step->index);
    p->values[wi_value_index(p, node->inputs[2])].member.outside--;
    wi_add_member(p, step->index, index);
    return node->op == &wi_op_segment_copy ? wi_store_member(p, index) : WEFT_OK;
}
