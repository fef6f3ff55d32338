/* Micro-batches: a node that is too large for one buffer is computed for one range of examples after another.
 *
 * Before this pass, a dimension that is a multiple of the batch size is the axis of the examples. This pass creates all nodes again
 * with the plan's batch size as a number (graph/sizes.h). A large node becomes one node for each micro-batch; the shape of such a node has
 * the number of examples of the micro-batch. Its inputs are the parts of divided inputs, slices of undivided inputs, and whole inputs if
 * these have no examples. A node that sums over all examples becomes the sum of the results of the micro-batches, in their order.
 *
 * Maps and views of divided nodes are divided, too, so that they are fused as usual. Results of reductions, contractions and kernel ops
 * that fit in a buffer are joined; each part is computed directly in the joined memory. */
#include "plan/rewrite/order_micro_batches.h"
#include "ops/op_descriptors.h"
#include "ops/op_table.h"
#include <stdio.h>

/* ---- whole nodes and parts ---- */

/* Splits the axis into two axes: the first has size `outer`, the second has the examples. */
static weft_tensor *split_axis(weft_tensor *x, int axis, int64_t outer) {
    wi_shape shape = {.rank = x->shape.rank + 1};
    for (int i = 0; i < shape.rank; i++) shape.dims[i] = x->shape.dims[i <= axis ? i : i - 1];
    shape.dims[axis] = outer;
    shape.dims[axis + 1] = x->shape.dims[axis] / outer;
    return weft_reshape_shape(x, shape.rank, shape.dims);
}

static weft_tensor *in_one(weft_tensor *x, int axis) {
    wi_shape shape = {.rank = x ? x->shape.rank - 1 : 0};
    for (int i = 0; i < shape.rank; i++) shape.dims[i] = x->shape.dims[i <= axis ? i : i + 1];
    if (x) shape.dims[axis] = x->shape.dims[axis] * x->shape.dims[axis + 1];
    return x ? weft_reshape_shape(x, shape.rank, shape.dims) : NULL;
}

/* A slice is stored by itself if another device reads it: otherwise the memory behind the view would be copied there (order_devices.c). */
static weft_tensor *store(const wi_batching *c, weft_tensor *slice, int64_t part) {
    if (!slice || !c->request->devices.share_batch || part == 0) return slice;
    return wi_node(slice->graph, &wi_op_in_memory, &slice, 1, slice->dtype, &slice->shape, NULL);
}

static weft_tensor *slice_examples(const wi_batching *c, const wi_batched_image *from, int64_t part) {
    weft_tensor *const x = from->whole;
    const int64_t inner = x->shape.dims[from->axis] / c->request->batch / from->outer;
    const int64_t begin = wi_micro_batch_begin(c, part) * inner,
                  length = wi_micro_batch_examples(c, part) * inner;
    if (from->outer == 1) return store(c, wi_slice_dims(x, from->axis, begin, length, 1), part);
    return in_one(
        wi_slice_dims(split_axis(x, from->axis, from->outer), from->axis + 1, begin, length, 1), from->axis);
}

static weft_tensor *part_of(const wi_batching *c, const weft_tensor *node, int64_t part) {
    const wi_batched_image *const own = wi_batched_image_of(c, node);
    if (own->parts) return own->parts[part];
    return own->axis >= 0 ? slice_examples(c, own, part) : own->whole;
}

static weft_tensor *join(const wi_batching *c, const wi_batched_image *own) {
    const size_t count = (size_t)c->count;
    if (own->outer == 1) return weft_concat(own->parts, count, own->axis);
    weft_tensor **const parts = wi_arena_take(c->request->arena, count * sizeof *parts);
    if (!parts) return wi_graph_fail_recorded(c->request->graph, WEFT_ERROR_MEMORY);
    for (size_t i = 0; i < count; i++) parts[i] = split_axis(own->parts[i], own->axis, own->outer);
    return in_one(weft_concat(parts, count, own->axis + 1), own->axis);
}

static weft_tensor *whole_of(const wi_batching *c, const weft_tensor *node) {
    wi_batched_image *const own = wi_batched_image_of(c, node);
    if (!own->whole) own->whole = join(c, own);
    return own->whole;
}

/* ---- nodes ---- */

/* Fails if the divided node is needed undivided and does not fit in a buffer, or is a packed result: joining the packed results of
 * micro-batches does not give the packed result of all examples. */
static weft_status check_whole(const wi_batching *c, const weft_tensor *node, const char *reader) {
    const wi_batched_image *const own = wi_batched_image_of(c, node);
    char what[WI_NODE_TEXT + 64], text[WI_NODE_TEXT];
    if (own->whole) return WEFT_OK;
    snprintf(what, sizeof what, "plan: %s, which %s needs in one buffer,", wi_node_print(node, text), reader);
    if (own->outer == 0 || own->flat == node)
        WI_FAIL(WEFT_ERROR_DEVICE_MEMORY,
            "%s is divided into micro-batches; use a smaller batch, or set the option large_buffers of "
            "weft_context_options",
            what);
    return wi_buffer_check_largest(c->request->devices.of[0], (size_t)wi_batched_bytes(c, node), what);
}

/* Replaces *made, a part of y, by a node whose values depend on the number of the micro-batch's first example. */
static weft_status begin_at(const wi_batching *c, const weft_tensor *y, int64_t part, weft_tensor **made) {
    wi_attributes attributes = wi_attributes_of(*made);
    y->op->begin_at(y, wi_micro_batch_begin(c, part), &attributes);
    *made = wi_node(
        y->graph, y->op, (*made)->inputs, (*made)->input_count, (*made)->dtype, &(*made)->shape, &attributes);
    return weft_graph_status(y->graph);
}

/* Creates the part of y over the parts of its inputs; part -1: all of y over whole inputs. */
static weft_status make(const wi_batching *c, weft_tensor *y, int64_t part, weft_tensor **made) {
    const int64_t batch = c->request->batch;
    const wi_given given = {.examples = part < 0 ? batch : wi_micro_batch_examples(c, part), .batch = batch};
    weft_tensor **const inputs =
        wi_arena_take(c->request->arena, ((size_t)y->input_count + 1) * sizeof *inputs);
    if (!inputs) return WEFT_ERROR_MEMORY;
    bool changed = false;
    for (int i = 0; i < y->input_count; i++) {
        if (part < 0) WI_TRY(check_whole(c, y->inputs[i], y->op->name));
        inputs[i] = part < 0 ? whole_of(c, y->inputs[i]) : part_of(c, y->inputs[i], part);
        WI_TRY(weft_graph_status(y->graph));
        changed = changed || inputs[i] != y->inputs[i];
    }
    if (!wi_sizes_follow(y, inputs, &given)) {
        *made = changed ? wi_node_over(y, inputs, &y->shape) : y;
        return weft_graph_status(y->graph);
    }
    WI_TRY(wi_make_at_sizes(y, inputs, &given, made));
    return part > 0 && y->op->begin_at ? begin_at(c, y, part, made) : WEFT_OK;
}

/* Creates a separate plan input for each micro-batch. */
static weft_status make_input_part(
    const wi_batching *c, const weft_tensor *y, int64_t part, weft_tensor **made) {
    wi_attributes attributes = wi_attributes_of(y);
    wi_shape shape = y->shape;
    attributes.source.part = (uint32_t)part + 1;
    shape.dims[0] *= -wi_micro_batch_examples(c, part);
    *made = wi_node(y->graph, y->op, NULL, 0, y->dtype, &shape, &attributes);
    if (*made && !(*made)->name) (*made)->name = y->name;
    return weft_graph_status(y->graph);
}

static weft_status make_parts(const wi_batching *c, weft_tensor *y, weft_tensor ***parts) {
    *parts = wi_arena_take(c->request->arena, (size_t)c->count * sizeof **parts);
    if (!*parts) return WEFT_ERROR_MEMORY;
    for (int64_t i = 0; i < c->count; i++) {
        const bool is_input = y->op == &wi_op_input;
        WI_TRY(is_input ? make_input_part(c, y, i, &(*parts)[i]) : make(c, y, i, &(*parts)[i]));
        if (c->request->devices.share_batch) wi_wish(c->wishes, (*parts)[i]->id, (int)i);
    }
    return WEFT_OK;
}

static weft_tensor *combine(const wi_batching *c, const wi_op *op, weft_tensor *const *parts) {
    weft_tensor *all = parts[0];
    for (int64_t i = 1; i < c->count; i++) all = wi_combiner_of(op)(all, parts[i]);
    return all;
}

static weft_tensor *slice_within(const wi_batching *c, const weft_tensor *y) {
    const wi_slice_attributes *const a = &y->attributes->slice;
    const int64_t part = wi_micro_batch_of_slice(c, y), inner = -y->inputs[0]->shape.dims[a->axis];
    return wi_slice_dims(part_of(c, y->inputs[0], part), a->axis,
        a->start - wi_micro_batch_begin(c, part) * inner, y->shape.dims[a->axis], a->step);
}

/* Is the packed result divided? If y reads a packed result, y is divided like it; otherwise if an input is divided or all operands
 * together are too large. */
static bool is_cut_in_sections(const wi_batching *c, const weft_tensor *y) {
    double bytes = wi_batched_bytes(c, y);
    for (int i = 0; i < y->input_count; i++) {
        const wi_batched_image *const x = wi_batched_image_of(c, y->inputs[i]);
        if (x->flat == y->inputs[i]) return x->parts != NULL;
        if (x->parts) return true;
        bytes += wi_batched_bytes(c, y->inputs[i]);
    }
    return bytes > (double)c->largest;
}

static bool is_cut(const wi_batching *c, const weft_tensor *y) {
    if (y->op->section_row) return is_cut_in_sections(c, y);
    if (y->op == &wi_op_input) return wi_exceeds_buffer(c, y);
    bool cut = wi_is_large(c, y);
    for (int i = 0; i < y->input_count && !cut; i++)
        cut = wi_batched_image_of(c, y->inputs[i])->parts != NULL;
    return cut;
}

static weft_status cut_node(const wi_batching *c, weft_tensor *y) {
    wi_batched_image *const own = wi_batched_image_of(c, y);
    wi_find_examples(c, y, own);
    const wi_way chosen = is_cut(c, y) ? wi_way_of(c, y, own) : WI_WHOLE;
    if (chosen == WI_WHOLE) return make(c, y, -1, &own->whole);
    if (chosen == WI_WITHIN) {
        own->whole = slice_within(c, y);
        return weft_graph_status(y->graph);
    }
    WI_TRY(make_parts(c, y, &own->parts));
    const bool goes_on = y->op->kind == WI_MAP || y->op->kind == WI_VIEW || own->flat || wi_is_large(c, y);
    if (chosen == WI_APART && goes_on) return WEFT_OK;
    own->whole = chosen == WI_COMBINED ? combine(c, y->op, own->parts) : join(c, own);
    own->parts = NULL;
    return weft_graph_status(y->graph);
}

/* ---- inputs and outputs of the plan ---- */

static bool is_cut_input(const wi_batching *c, const weft_tensor *node) {
    return node->op == &wi_op_input && wi_batched_image_of(c, node)->parts;
}

static weft_status note_inputs(const wi_batching *c) {
    wi_node_order *const order = c->order;
    size_t most = order->input_count;
    for (size_t i = 0; i < order->count; i++) most += is_cut_input(c, order->nodes[i]) ? (size_t)c->count : 1;
    wi_size_input *const inputs = wi_arena_take(c->request->arena, most * sizeof *inputs);
    if (!inputs) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < order->input_count; i++) inputs[i] = order->inputs[i];
    for (size_t i = 0; i < order->count; i++) {
        weft_tensor *const node = order->nodes[i], *const whole = c->images[i].whole;
        for (int64_t k = 0; is_cut_input(c, node) && k < c->count; k++)
            inputs[order->input_count++] = (wi_size_input){node, c->images[i].parts[k]};
        if (node->op == &wi_op_input && whole && whole != node)
            inputs[order->input_count++] = (wi_size_input){node, whole};
    }
    order->inputs = inputs;
    return WEFT_OK;
}

/* Does the output remain divided into micro-batches, which follow one another in the caller's copy? */
static bool is_cut_output(const wi_batching *c, size_t root) {
    const weft_tensor *const node = c->order->roots[root];
    const wi_batched_image *const own = wi_batched_image_of(c, node);
    return root < c->order->output_count && own->parts && own->outer == 1 && wi_exceeds_buffer(c, node) &&
           wi_elements_before(&node->shape, own->axis) == 1;
}

static weft_status take_roots(const wi_batching *c) {
    wi_node_order *const order = c->order;
    wi_root_parts *const roots = wi_arena_take(c->request->arena, order->root_count * sizeof *roots);
    if (!roots) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < order->root_count; i++) {
        weft_tensor *const node = order->roots[i];
        if (is_cut_output(c, i)) {
            roots[i] = (wi_root_parts){wi_batched_image_of(c, node)->parts, (size_t)c->count};
            continue;
        }
        WI_TRY(check_whole(c, node, "the caller"));
        (void)whole_of(c, node);
        WI_TRY(weft_graph_status(c->request->graph));
        roots[i] = (wi_root_parts){&wi_batched_image_of(c, node)->whole, 1};
    }
    return wi_replace_roots(order, roots);
}

weft_status wi_order_micro_batches(wi_node_order *order, wi_wishes *wishes) {
    const wi_request *const request = order->request;
    wi_batching c = {.order = order, .request = request, .wishes = wishes, .count = request->micro_batches};
    c.buffer = wi_buffer_largest(request->devices.of[0]);
    c.largest = c.buffer / (size_t)c.count;
    if (request->most_undivided && request->most_undivided < c.largest) c.largest = request->most_undivided;
    if (request->devices.share_batch) c.largest = 0;
    c.images = wi_arena_take(request->arena, order->count * sizeof *c.images);
    if (!c.images) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < order->count; i++) WI_TRY(cut_node(&c, order->nodes[i]));
    WI_TRY(note_inputs(&c));
    return take_roots(&c);
}
