/* Keys of steps (contract in step_key.h). */
#include "plan/step_key.h"

#include "kernels/convolution/conv_product.h"
#include "ops/op_table.h"

/* ---- sites ---- */

static void add_sizes(wi_key_map *map, const wi_size *sizes, int count) {
    for (int i = 0; i < count; i++) {
        wi_key_add(map, (uint64_t)sizes[i].general);
        wi_key_add(map, (uint64_t)sizes[i].actual);
    }
}

static void add_extent(wi_key_map *map, const wi_extent *extent) {
    wi_key_add(map, (uint64_t)extent->rank);
    add_sizes(map, extent->dims, extent->rank);
}

static void add_shape(wi_key_map *map, const weft_tensor *node) {
    wi_key_add(map, (uint64_t)node->dtype << 32 | (uint64_t)node->shape.rank);
    for (int i = 0; i < node->shape.rank; i++) wi_key_add(map, (uint64_t)node->shape.dims[i]);
}

static void add_attributes(wi_key_map *map, const weft_tensor *node) {
    if (node->op->attribute_bytes > 0) wi_key_add_bytes(map, node->attributes, node->op->attribute_bytes);
}

/* site->product follows from the node and the layouts of its inputs. */
void wi_key_add_site(wi_key_map *map, const wi_device *device, const wi_kernel_site *site) {
    const weft_tensor *const node = site->node;
    wi_key_add_address(map, device);
    wi_key_add_address(map, node->op);
    add_attributes(map, node);
    add_shape(map, node);
    add_extent(map, &site->result);
    wi_key_add(map, (uint64_t)site->result_format << 48 | (uint64_t)site->precision << 32 | site->fixed);
    for (int i = 0; i < node->input_count; i++) {
        add_shape(map, node->inputs[i]);
        add_extent(map, &site->inputs[i]);
        add_sizes(map, &site->layouts[i].offset, 1);
        add_sizes(map, site->layouts[i].strides, site->inputs[i].rank);
        wi_key_add(map, (uint64_t)site->formats[i]);
    }
}

/* ---- code ---- */

enum { MOST_EXPRESSIONS = 256 };

typedef enum origin { INLINE_NEW, INLINE_KNOWN, OF_STEP, OF_MEMORY } origin;

/* A walk over all that a step computes, in the order in which its code is written. */
typedef struct walk {
    wi_key_map *map;
    const wi_loops *loops;
    const wi_step *step;
    const wi_loop *loop;
    int elements;                             /* of an item (wi_step_elements) */
    bool of_source;                           /* in what a sum by segments adds up */
    const weft_tensor *met[MOST_EXPRESSIONS]; /* nodes computed inline */
    int met_count;
} walk;

static void add_expression(walk *w, const weft_tensor *node);

static void add_input(walk *w, weft_tensor *node) {
    const wi_partition *const p = w->loops->partition;
    const wi_value *const input = wi_value_of_node(p, node);
    if (wi_is_inline_in(input, w->step->index)) {
        add_expression(w, wi_inline_node(input));
    } else if (input->state == WI_VALUE_MEMBER && input->step == w->step->index) {
        wi_key_add(w->map, OF_STEP << 16 | (uint64_t)input->place);
    } else {
        const int index = (int)(input - p->values), o = w->of_source ? wi_source_operand(w->loop, index)
                                                                     : wi_loop_operand(w->loop, index, false);
        wi_key_add(w->map, OF_MEMORY << 16 | (uint64_t)o);
    }
}

/* The operand that a generator or a padded read is. */
static void add_operand_of(walk *w, const weft_tensor *node) {
    int o = 0;
    while (o < w->loop->operand_count && w->loop->operands[o].generator != node &&
           w->loop->operands[o].padded != node)
        o++;
    wi_key_add(w->map, (uint64_t)o);
}

/* A node and what its code is made of. A label that is out of range is noted in a slot of the value. */
static void add_map(walk *w, const weft_tensor *node) {
    wi_key_add_address(w->map, node->op);
    wi_key_add(w->map, (uint64_t)node->dtype);
    add_attributes(w->map, node);
    if (node->op == &wi_op_constant && node->attributes->constant.batch_power != 0)
        wi_key_add(w->map, (uint64_t)w->loops->partition->request->batch);
    if (node->op->fail_label)
        wi_key_add(w->map, (uint64_t)wi_value_of_node(w->loops->partition, node)->fault);
    if (node->op->reads_padded || node->op->kind == WI_GENERATOR) {
        add_operand_of(w, node);
        return;
    }
    for (int i = 0; i < node->input_count; i++) {
        wi_key_add(w->map, (uint64_t)node->inputs[i]->dtype);
        add_input(w, node->inputs[i]);
    }
}

static void add_expression(walk *w, const weft_tensor *node) {
    for (int i = 0; i < w->met_count; i++) {
        if (w->met[i] != node) continue;
        wi_key_add(w->map, INLINE_KNOWN << 16 | (uint64_t)i);
        return;
    }
    if (w->met_count == MOST_EXPRESSIONS) { /* alike to no other of this plan, nor of others */
        wi_key_add_address(w->map, node);
        wi_key_add(w->map, node->graph->rewrite_passes);
        return;
    }
    w->met[w->met_count++] = node;
    wi_key_add(w->map, INLINE_NEW << 16);
    add_map(w, node);
}

static void add_member(walk *w, int index) {
    const wi_value *const value = &w->loops->partition->values[index];
    const uint64_t flags =
        (uint64_t)(value->storage >= 0) << 2 | (uint64_t)value->in_row << 1 | (uint64_t)value->stores_inline;
    wi_key_add(w->map, (uint64_t)w->loops->sweep[index] << 32 | (uint64_t)value->node->dtype << 8 | flags);
    if (value->copy_of >= 0)
        wi_key_add(w->map, (uint64_t)wi_loop_operand(w->loop, value->copy_of, false));
    else if (value->stores_inline)
        add_expression(w, value->expression);
    else if (!wi_is_product_of(w->step, value))
        add_map(w, value->node);
    else
        wi_key_add_address(w->map, value->node->op);
}

static void add_padding(walk *w, const wi_padding *padding) {
    for (int d = 0; padding && d < w->loop->space.rank; d++) wi_key_add(w->map, (uint64_t)padding[d].mode);
}

/* Code tells strides apart by whether it needs them: all others are arguments. */
static uint64_t kind_of_stride(wi_size stride) {
    return wi_size_is(stride, 0) ? 0 : wi_size_is(stride, 1) ? 1 : wi_size_is(stride, -1) ? 2 : 3;
}

static void add_strides(walk *w, const wi_size *strides) {
    uint64_t kinds = 0;
    for (int d = 0; d < w->loop->space.rank; d++) kinds = kinds << 2 | kind_of_stride(strides[d]);
    wi_key_add(w->map, kinds);
}

/* Offsets are arguments; code depends on what they are multiples of at most. */
static void add_operand(walk *w, const wi_operand *operand) {
    const wi_value *const values = w->loops->partition->values;
    const weft_dtype computed = operand->value >= 0 ? values[operand->value].node->dtype : operand->dtype;
    const int member = operand->is_output ? values[operand->value].place : 0;
    wi_key_add(w->map, (uint64_t)member << 32 | (uint64_t)computed << 16 | (uint64_t)operand->dtype << 8 |
                           (uint64_t)operand->of_source << 3 | (uint64_t)(operand->value >= 0) << 2 |
                           (uint64_t)operand->is_output << 1 | (uint64_t)(operand->padding != NULL));
    if (w->elements > 1 && operand->value >= 0)
        wi_key_add(w->map, wi_has_aligned_quads(w->loops->partition, w->loop, operand, w->elements));
    add_strides(w, operand->layout.strides);
    if (operand->pick)
        wi_key_add(w->map, (uint64_t)operand->pick->fault << 2 | (uint64_t)operand->is_index << 1 | 1);
    add_padding(w, operand->padding);
}

/* Of the last dimension, whether there is a whole vector, and a tail. */
static void add_space(walk *w) {
    const wi_space *const space = &w->loop->space;
    const wi_device_profile *const device = &wi_step_device(w->loops->partition, w->step)->profile;
    const int lanes = device->item_walks ? device->lanes : w->elements;
    const int64_t last = space->dims[space->rank - 1].general;
    uint64_t reduced = 0;
    for (int d = 0; d < space->rank; d++) reduced |= (uint64_t)space->reduced[d] << d;
    wi_key_add(w->map, (uint64_t)space->rank << 32 | reduced);
    wi_key_add(
        w->map, (uint64_t)w->elements << 2 | (uint64_t)(last < lanes) << 1 | (uint64_t)(last % lanes == 0));
}

/* Of a convolution, whether the last channels of a group are few. */
static void add_groups(walk *w) {
    const wi_conv_geometry *const geometry = w->step->gemm.convolution;
    wi_key_add(w->map, geometry && geometry->groups > 1 ? (uint64_t)geometry->filters : 0);
}

/* How a sum by segments gets its source. */
static void add_source(walk *w) {
    const int computed = w->step->computed;
    wi_key_add(w->map, (uint64_t)(computed >= 0));
    w->of_source = true;
    if (computed >= 0) add_expression(w, wi_inline_node(&w->loops->partition->values[computed]));
    w->of_source = false;
    w->met_count = 0;
}

void wi_key_add_code(wi_key_map *map, const wi_loops *loops, const wi_step *step) {
    const wi_loop *const loop = &loops->of[step->index];
    walk w = {.map = map,
        .loops = loops,
        .step = step,
        .loop = loop,
        .elements = wi_step_elements(loops->partition, loop)};
    const int staged = loop->staged >= 0 ? loops->partition->values[loop->staged].place : -1;
    wi_key_add(map, (uint64_t)step->reduced << 32 | (uint64_t)step->sums << 1 | (uint64_t)step->by_segments);
    wi_key_add(map, (uint64_t)loop->sweeps << 32 |
                        (uint64_t)wi_has_narrow_indices(loops->partition, loop) << 1 |
                        (uint64_t)loop->may_split);
    wi_key_add(map, (uint64_t)(staged + 1) << 32 | (uint64_t)(loop->staging + 1));
    add_space(&w);
    add_groups(&w);
    wi_key_add(map, (uint64_t)loop->operand_count << 32 | (uint64_t)step->member_count);
    for (int o = 0; o < loop->operand_count; o++) add_operand(&w, &loop->operands[o]);
    if (step->by_segments) add_source(&w);
    for (int m = 0; m < step->member_count; m++) add_member(&w, step->members[m]);
}
