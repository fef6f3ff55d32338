/* Invariants of the order and of the partition. */
#include "kernels/candidates.h"
#include "plan/verify/verify.h"

/* ---- the order ---- */

/* Checks a node, and marks it in `met`, which has all nodes before it. */
static weft_status check_node(const wi_node_order *order, size_t at, bool *met) {
    const weft_tensor *node = order->nodes[at];
    WI_REQUIRE(node->id < order->id_count, WI_PASS_ORDER, "node", at,
        "its number is larger than the table of nodes");
    WI_REQUIRE(!met[node->id], WI_PASS_ORDER, "node", at, "it is in the order twice");
    WI_REQUIRE(
        node->op->kind != WI_COMPOSITE, WI_PASS_ORDER, "node", at, "a composite node was not replaced");
    for (int i = 0; i < node->input_count; i++) {
        const weft_tensor *input = node->inputs[i];
        WI_REQUIRE(input->id < order->id_count && met[input->id], WI_PASS_ORDER, "node", at,
            "it comes before one of its inputs");
        WI_REQUIRE(wi_is_ordered(order, input) && order->readers[wi_place_of(order, input)] > 0,
            WI_PASS_ORDER, "node", at, "it is missing in the list of readers of one of its inputs");
    }
    WI_REQUIRE(
        wi_node_device(order, node) >= 0 && wi_node_device(order, node) < order->request->devices.count,
        WI_PASS_ORDER, "node", at, "its device does not exist");
    WI_REQUIRE(wi_is_ordered(order, node) && wi_place_of(order, node) == at, WI_PASS_ORDER, "node", at,
        "its position in the order is recorded wrongly");
    met[node->id] = true;
    return WEFT_OK;
}

weft_status wi_verify_order(const wi_node_order *order) {
    bool *met = wi_arena_take(order->request->arena, order->id_count * sizeof *met);
    if (!met) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < order->count; i++) WI_TRY(check_node(order, i, met));
    for (size_t i = 0; i < order->output_count; i++) {
        const weft_tensor *output = order->roots[i];
        WI_REQUIRE(output->id < order->id_count && met[output->id], WI_PASS_ORDER, "output", i,
            "its node is not in the order");
    }
    return WEFT_OK;
}

/* ---- storages ---- */

static bool is_storage(const wi_partition *p, int storage) {
    return storage >= 0 && (size_t)storage < p->storage_count;
}

static weft_status check_storage(const wi_partition *p, size_t index) {
    size_t hops = 0;
    for (int at = (int)index; p->storages[at].alias >= 0; at = p->storages[at].alias) {
        WI_REQUIRE(is_storage(p, p->storages[at].alias), WI_PASS_PARTITION, "storage", index,
            "the storage that contains it does not exist");
        WI_REQUIRE(++hops < p->storage_count, WI_PASS_PARTITION, "storage", index, "it contains itself");
    }
    const wi_storage *own = &p->storages[index];
    WI_REQUIRE(own->device >= 0 && own->device < p->request->devices.count, WI_PASS_PARTITION, "storage",
        index, "its device does not exist");
    const wi_storage *whole = own->alias >= 0 ? &p->storages[own->alias] : own;
    const size_t offset = own->alias >= 0 ? own->alias_offset : 0;
    WI_REQUIRE(offset <= whole->bytes && own->bytes <= whole->bytes - offset, WI_PASS_PARTITION, "storage",
        index, "it does not fit into the storage that contains it");
    WI_REQUIRE(own->device == whole->device, WI_PASS_PARTITION, "storage", index,
        "the storage that contains it is on another device");
    return WEFT_OK;
}

/* ---- values ---- */

static weft_status check_member(const wi_partition *p, size_t index) {
    const wi_value *value = &p->values[index];
    WI_REQUIRE(value->step >= 0 && (size_t)value->step < p->step_count, WI_PASS_PARTITION, "value", index,
        "it is a member of a step that does not exist");
    const wi_step *step = p->steps[value->step];
    const int place = value->member.place;
    WI_REQUIRE(place >= 0 && place < step->member_count && step->members[place] == (int)index,
        WI_PASS_PARTITION, "value", index, "it is missing in the list of its step's members");
    return WEFT_OK;
}

static weft_status check_value(const wi_partition *p, size_t index) {
    const wi_value *value = &p->values[index];
    if (value->state == WI_VALUE_MEMBER) WI_TRY(check_member(p, index));
    const int base = wi_base_of(p, (int)index);
    WI_REQUIRE(base >= 0 && (size_t)base < p->value_count, WI_PASS_PARTITION, "value", index,
        "it is a view of a value that does not exist");
    WI_REQUIRE(value->storage < 0 || is_storage(p, value->storage), WI_PASS_PARTITION, "value", index,
        "it is in a storage that does not exist");
    WI_REQUIRE(
        value->fault < p->fault_count, WI_PASS_PARTITION, "value", index, "its fault slot does not exist");
    const int storage = wi_base_storage(p, (int)index);
    if (storage < 0 || wi_pick_of(value)) return WEFT_OK;
    int64_t first, end;
    wi_verify_reach(value->layout, value->extent->dims, value->extent->rank, weft_dtype_size(value->format),
        &first, &end);
    WI_REQUIRE(first >= 0 && (size_t)end <= wi_verify_room(p, storage), WI_PASS_PARTITION, "value", index,
        "its layout reaches beyond its storage");
    return WEFT_OK;
}

/* ---- steps ---- */

static weft_status check_index(const wi_partition *p, const wi_step *step, int value) {
    WI_REQUIRE(value >= 0 && (size_t)value < p->value_count, WI_PASS_PARTITION, "step", step->index,
        "it reads a value that does not exist");
    return WEFT_OK;
}

static weft_status check_read(const wi_partition *p, const wi_step *step, int place, int index);

/* Checks the inputs of an inline value at the step that reads the value. */
static weft_status check_inline(
    const wi_partition *p, const wi_step *step, int place, const wi_value *value) {
    const weft_tensor *node = wi_inline_node(value);
    WI_REQUIRE(node && (node->op->kind == WI_MAP || node->input_count == 0), WI_PASS_PARTITION, "step",
        step->index, "it reads a value that another step does not store");
    for (int i = 0; i < node->input_count && !wi_is_uniform_inline(value); i++)
        WI_TRY(check_read(p, step, place, wi_value_index(p, node->inputs[i])));
    return WEFT_OK;
}

/* Checks that the step's member number `place` can read the value. */
static weft_status check_read(const wi_partition *p, const wi_step *step, int place, int index) {
    WI_TRY(check_index(p, step, index));
    const wi_value *value = &p->values[index];
    if (wi_is_inline_in(value, step->index)) return check_inline(p, step, place, value);
    if (wi_is_member_of(value, step->index)) {
        WI_REQUIRE(value->member.place < place, WI_PASS_PARTITION, "step", step->index,
            "a member is computed before its inputs");
        return WEFT_OK;
    }
    WI_REQUIRE(value->step < step->index, WI_PASS_PARTITION, "step", step->index,
        "it reads a value that neither it nor an earlier step computes");
    const int storage = wi_base_storage(p, index);
    WI_REQUIRE(storage >= 0, WI_PASS_PARTITION, "step", step->index, "it reads a value without memory");
    WI_REQUIRE(step->kind == WI_STEP_TRANSFER || p->storages[storage].device == step->device,
        WI_PASS_PARTITION, "step", step->index, "it reads a value on another device");
    return WEFT_OK;
}

static weft_status check_sources(const wi_partition *p, const wi_step *step) {
    const int count = p->values[step->members[0]].node->input_count;
    for (int i = 0; i < count; i++) {
        WI_TRY(check_index(p, step, step->sources[i]));
        WI_REQUIRE(!wi_is_inline_in(&p->values[step->sources[i]], step->index), WI_PASS_PARTITION, "step",
            step->index, "a source has no memory");
        WI_TRY(check_read(p, step, 0, step->sources[i]));
    }
    return WEFT_OK;
}

static weft_status check_inputs(const wi_partition *p, const wi_step *step, int place) {
    const wi_value *value = &p->values[step->members[place]];
    if (value->member.copy_of >= 0) return check_read(p, step, place, value->member.copy_of);
    if (value->member.expression) return WEFT_OK;
    if (place == 0 && step->kind != WI_STEP_LOOP) return check_sources(p, step);
    for (int i = 0; i < value->node->input_count; i++)
        WI_TRY(check_read(p, step, place, wi_value_index(p, value->node->inputs[i])));
    return WEFT_OK;
}

static weft_status check_transfer(const wi_partition *p, const wi_step *step) {
    const wi_value *copy = &p->values[step->members[0]];
    WI_REQUIRE(step->member_count == 1 && copy->member.copy_of >= 0, WI_PASS_PARTITION, "step", step->index,
        "a transfer copies no value, or more than one");
    const wi_value *from = &p->values[copy->member.copy_of];
    WI_REQUIRE(wi_layout_is_contiguous(from->layout, from->extent) &&
                   wi_layout_is_contiguous(copy->layout, copy->extent) &&
                   wi_value_bytes(from) == wi_value_bytes(copy),
        WI_PASS_PARTITION, "step", step->index,
        "a transfer copies a value that is not contiguous, or only a part of it");
    return WEFT_OK;
}

static weft_status check_place_of(const wi_partition *p, const wi_step *step, const wi_value *member) {
    WI_REQUIRE(member->storage < 0 || p->storages[member->storage].device == step->device, WI_PASS_PARTITION,
        "step", step->index, "it writes to another device");
    return WEFT_OK;
}

/* All reductions of a loop must reduce the loop's axes; other steps have no reductions. */
static weft_status check_axes(const wi_step *step, const wi_value *value) {
    const bool reduces = value->node->op->kind == WI_REDUCE && value->member.copy_of < 0;
    WI_REQUIRE(!reduces || value->node->attributes->over.axes == step->reduced, WI_PASS_PARTITION, "step",
        step->index, "a member reduces other axes than the step");
    return WEFT_OK;
}

static weft_status check_step(const wi_partition *p, size_t index) {
    const wi_step *step = p->steps[index];
    WI_REQUIRE(
        step->index == (int)index, WI_PASS_PARTITION, "step", index, "its number differs from its index");
    WI_REQUIRE(step->member_count > 0 && step->member_count <= WI_MAX_MEMBERS, WI_PASS_PARTITION, "step",
        index, "it has no members, or more than fit");
    for (int m = 0; m < step->member_count; m++) {
        const int number = step->members[m];
        WI_REQUIRE(number >= 0 && (size_t)number < p->value_count, WI_PASS_PARTITION, "step", index,
            "a member does not exist");
        const wi_value *value = &p->values[number];
        WI_REQUIRE(wi_is_member_of(value, (int)index) && value->member.place == m, WI_PASS_PARTITION, "step",
            index, "a member belongs to another step, or is in it twice");
        WI_TRY(check_axes(step, value));
        WI_TRY(check_inputs(p, step, m));
        WI_TRY(check_place_of(p, step, value));
    }
    return step->kind == WI_STEP_TRANSFER ? check_transfer(p, step) : WEFT_OK;
}

/* ---- outputs and assignments ---- */

static weft_status check_outputs(const wi_partition *p) {
    for (size_t i = 0; i < p->order->output_count; i++) {
        const bool assigns = p->order->roots[i]->op->kind == WI_ASSIGN;
        const int value = p->output_values[i];
        WI_REQUIRE(assigns ? value == -1 : value >= 0 && wi_base_storage(p, value) >= 0, WI_PASS_PARTITION,
            "output", i, "it has no memory");
    }
    for (size_t i = 0; i < p->assignment_count; i++) {
        const int variable = wi_base_storage(p, p->assignments[i].variable);
        WI_REQUIRE(is_storage(p, variable) && p->storages[variable].kind == WI_STORAGE_BLOCK,
            WI_PASS_PARTITION, "assignment", i, "it writes to a value that is not a variable");
        WI_REQUIRE(wi_base_storage(p, p->assignments[i].value) >= 0, WI_PASS_PARTITION, "assignment", i,
            "the new value has no memory");
    }
    return WEFT_OK;
}

weft_status wi_verify_partition(const wi_partition *p) {
    for (size_t i = 0; i < p->storage_count; i++) WI_TRY(check_storage(p, i));
    for (size_t i = 0; i < p->value_count; i++) WI_TRY(check_value(p, i));
    for (size_t i = 0; i < p->step_count; i++) WI_TRY(check_step(p, i));
    return check_outputs(p);
}

/* ---- the selection ---- */

weft_status wi_verify_selection(const wi_partition *p) {
    for (size_t i = 0; i < p->step_count; i++) {
        const wi_selection *selection = p->steps[i]->selection;
        const wi_step_kind kind = p->steps[i]->kind;
        const bool selects = kind == WI_STEP_PRODUCT || kind == WI_STEP_KERNEL;
        WI_REQUIRE(selects == (selection != NULL), WI_PASS_SELECT, "step", i,
            "it lacks a selection, or has one that it does not need");
        WI_REQUIRE(!selection || selection->chosen, WI_PASS_SELECT, "step", i, "no implementation is chosen");
    }
    return WEFT_OK;
}
