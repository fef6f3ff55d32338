/* The verifier of plans, on what is decided from the graph: every invariant is broken by hand, once, and the line must
 * say which it was. */
/* test once */
#include "kernels/candidates.h"
#include "ops/op_descriptors.h"
#include "support/broken_plan.h"

#include <stdlib.h>
#include <string.h>

/* ---- finding something to break ---- */

static wi_loop *loop_of(weft_plan *plan) {
    return &plan->loops.of[broken_plan_loop(plan)->index];
}

/* A member of the loop that has no memory. */
static int member_in_registers(weft_plan *plan) {
    const wi_step *const step = broken_plan_loop(plan);
    for (int m = 0; m < step->member_count; m++)
        if (plan->partition.values[step->members[m]].storage < 0) return step->members[m];
    fail_msg("all members are stored");
    return -1;
}

/* A source of a product that is no member of any step. */
static int source_in_memory(weft_plan *plan) {
    for (size_t i = 0; i < plan->partition.step_count; i++) {
        const wi_step *const step = plan->partition.steps[i];
        const int source = step->sources[0];
        if (step->kind == WI_STEP_PRODUCT && plan->partition.values[source].state == WI_VALUE_MEMORY)
            return source;
    }
    fail_msg("no product of what lies in memory");
    return -1;
}

/* ---- the order ---- */

static void repeat_node(weft_plan *plan) {
    plan->order.nodes[1] = plan->order.nodes[0];
}
static void reverse_nodes(weft_plan *plan) {
    weft_tensor **const nodes = plan->order.nodes;
    for (size_t i = 0, k = plan->order.count - 1; i < k; i++, k--) {
        weft_tensor *const node = nodes[i];
        nodes[i] = nodes[k];
        nodes[k] = node;
    }
}
static void forget_readers(weft_plan *plan) {
    memset(plan->order.readers, 0, plan->order.count * sizeof *plan->order.readers);
}
static void swap_places(weft_plan *plan) {
    const wi_node_order *const order = &plan->order;
    uint32_t *const first = wi_noted_place(order, order->nodes[0]), *const last = wi_noted_place(order,
                                                                        order->nodes[order->count - 1]);
    const uint32_t kept = *first;
    *first = *last;
    *last = kept;
}
static void cut_order(weft_plan *plan) {
    plan->order.count = 1;
}
static void cut_table(weft_plan *plan) {
    plan->order.id_count = 0;
}
static void keep_composite(weft_plan *plan) {
    static weft_tensor composite;
    composite = *plan->order.nodes[0];
    composite.op = &wi_op_lstm;
    assert_true(composite.op->kind == WI_COMPOSITE);
    plan->order.nodes[0] = &composite;
}

/* ---- the partition ---- */

static void lay_storage_nowhere(weft_plan *plan) {
    plan->partition.storages[0].alias = 1 << 20;
}
static void lay_storage_in_itself(weft_plan *plan) {
    plan->partition.storages[0].alias = 0;
}
static void lay_storage_beyond(weft_plan *plan) {
    plan->partition.storages[0].alias = 1;
    plan->partition.storages[0].alias_offset = plan->partition.storages[1].bytes + 1;
}
static void give_no_step(weft_plan *plan) {
    plan->partition.values[broken_plan_loop(plan)->members[0]].step = -1;
}
static void give_wrong_place(weft_plan *plan) {
    plan->partition.values[broken_plan_loop(plan)->members[0]].member.place++;
}
static void view_nothing(weft_plan *plan) {
    plan->partition.values[source_in_memory(plan)].memory.base = 1 << 20;
}
static void store_nowhere(weft_plan *plan) {
    plan->partition.values[0].storage = 1 << 20;
}
static void stretch_layout(weft_plan *plan) {
    const wi_loop *const loop = loop_of(plan);
    const int value = loop->operands[loop->operand_count - 1].value;
    wi_layout layout = *plan->partition.values[value].layout;
    layout.offset.actual = 1 << 28;
    assert_weft_ok(wi_set_layout(&plan->partition, value, &layout));
}
static void renumber_step(weft_plan *plan) {
    plan->partition.steps[0]->index = 1;
}
static void remove_members(weft_plan *plan) {
    wi_step *const step = broken_plan_step(plan, WI_STEP_KERNEL);
    wi_make_stored(&plan->partition, step->members[0], plan->partition.values[step->members[0]].storage);
    step->member_count = 0;
}
static void name_no_member(weft_plan *plan) {
    wi_step *const step = broken_plan_loop(plan);
    step->members[step->member_count++] = 1 << 20;
}
static void repeat_member(weft_plan *plan) {
    wi_step *const step = broken_plan_loop(plan);
    step->members[step->member_count++] = step->members[0];
}
static void reverse_members(weft_plan *plan) {
    wi_step *const step = broken_plan_loop(plan);
    for (int i = 0, k = step->member_count - 1; i < k; i++, k--) {
        const int member = step->members[i];
        step->members[i] = step->members[k];
        step->members[k] = member;
    }
    for (int i = 0; i < step->member_count; i++) plan->partition.values[step->members[i]].member.place = i;
}
static void read_nothing(weft_plan *plan) {
    broken_plan_step(plan, WI_STEP_PRODUCT)->sources[0] = 1 << 20;
}
static void read_the_future(weft_plan *plan) {
    plan->partition.values[source_in_memory(plan)].step = 1 << 20;
}
static void read_registers(weft_plan *plan) {
    const wi_loop *const loop = loop_of(plan);
    plan->partition.values[wi_base_of(&plan->partition, loop->operands[0].value)].storage = -1;
}
static void drop_selection(weft_plan *plan) {
    broken_plan_step(plan, WI_STEP_PRODUCT)->selection = NULL;
}
static void choose_nothing(weft_plan *plan) {
    static const wi_selection nothing;
    broken_plan_step(plan, WI_STEP_PRODUCT)->selection = &nothing;
}
static void compute_source(weft_plan *plan) {
    const int source = source_in_memory(plan);
    wi_make_inline(&plan->partition, source, plan->partition.values[source].node, 0);
}
static void invent_fault(weft_plan *plan) {
    plan->partition.values[plan->partition.steps[0]->members[0]].fault = 1 << 20;
}
static void lose_output(weft_plan *plan) {
    plan->partition.output_values[0] = -1;
}
static void assign_to_input(weft_plan *plan) {
    plan->partition.assignments[0].variable = loop_of(plan)->operands[0].value;
    assert_true(plan->partition.assignment_count > 0);
}
static void assign_registers(weft_plan *plan) {
    plan->partition.assignments[0].value = member_in_registers(plan);
}

/* ---- loops ---- */

static void swap_loops(weft_plan *plan) {
    plan->loops.of[0].step = plan->partition.steps[1];
}
static void add_operands(weft_plan *plan) {
    loop_of(plan)->operand_count = WI_MAX_OPERANDS + 1;
}
static void lose_operand(weft_plan *plan) {
    loop_of(plan)->operands[0].value = -1;
}
static void address_registers(weft_plan *plan) {
    loop_of(plan)->operands[0].value = member_in_registers(plan);
}
static void write_input(weft_plan *plan) {
    loop_of(plan)->operands[0].is_output = true;
}
static void move_operand(weft_plan *plan) {
    loop_of(plan)->operands[0].layout.offset.actual = -1;
}
static void drop_result(weft_plan *plan) {
    loop_of(plan)->operand_count--;
}
static void drop_sweep(weft_plan *plan) {
    loop_of(plan)->sweeps = 0;
}
static void drop_space(weft_plan *plan) {
    loop_of(plan)->space.rank = 0;
}
static void grow_space(weft_plan *plan) {
    loop_of(plan)->space.dims[0].actual++;
}
static void spill_nowhere(weft_plan *plan) {
    loop_of(plan)->staged = broken_plan_loop(plan)->members[0];
    loop_of(plan)->staging = -1;
}

/* ---- all of them ---- */

static const breakage breakages[] = {
    {WI_PASS_ORDER, repeat_node, "it is in the order twice"},
    {WI_PASS_ORDER, reverse_nodes, "it comes before one of its inputs"},
    {WI_PASS_ORDER, forget_readers, "it is missing in the list of readers of one of its inputs"},
    {WI_PASS_ORDER, swap_places, "its position in the order is recorded wrongly"},
    {WI_PASS_ORDER, cut_order, "its node is not in the order"},
    {WI_PASS_ORDER, cut_table, "its number is larger than the table of nodes"},
    {WI_PASS_ORDER, keep_composite, "a composite node was not replaced"},
    {WI_PASS_PARTITION, lay_storage_nowhere, "the storage that contains it does not exist"},
    {WI_PASS_PARTITION, lay_storage_in_itself, "it contains itself"},
    {WI_PASS_PARTITION, lay_storage_beyond, "it does not fit into the storage that contains it"},
    {WI_PASS_PARTITION, give_no_step, "it is a member of a step that does not exist"},
    {WI_PASS_PARTITION, give_wrong_place, "it is missing in the list of its step's members"},
    {WI_PASS_PARTITION, view_nothing, "it is a view of a value that does not exist"},
    {WI_PASS_PARTITION, store_nowhere, "it is in a storage that does not exist"},
    {WI_PASS_PARTITION, stretch_layout, "its layout reaches beyond its storage"},
    {WI_PASS_PARTITION, renumber_step, "its number differs from its index"},
    {WI_PASS_PARTITION, remove_members, "it has no members, or more than fit"},
    {WI_PASS_PARTITION, name_no_member, "a member does not exist"},
    {WI_PASS_PARTITION, repeat_member, "a member belongs to another step, or is in it twice"},
    {WI_PASS_PARTITION, reverse_members, "a member is computed before its inputs"},
    {WI_PASS_PARTITION, read_nothing, "it reads a value that does not exist"},
    {WI_PASS_PARTITION, read_the_future, "it reads a value that neither it nor an earlier step computes"},
    {WI_PASS_PARTITION, read_registers, "it reads a value that another step does not store"},
    {WI_PASS_SELECT, drop_selection, "it lacks a selection, or has one that it does not need"},
    {WI_PASS_SELECT, choose_nothing, "no implementation is chosen"},
    {WI_PASS_PARTITION, compute_source, "a source has no memory"},
    {WI_PASS_PARTITION, invent_fault, "its fault slot does not exist"},
    {WI_PASS_PARTITION, lose_output, "it has no memory"},
    {WI_PASS_PARTITION, assign_to_input, "it writes to a value that is not a variable"},
    {WI_PASS_PARTITION, assign_registers, "the new value has no memory"},
    {WI_PASS_LOOPS, swap_loops, "its loop belongs to another step"},
    {WI_PASS_LOOPS, add_operands, "it has more operands than fit"},
    {WI_PASS_LOOPS, lose_operand, "an operand is neither stored nor a generator"},
    {WI_PASS_LOOPS, address_registers, "an operand has no memory"},
    {WI_PASS_LOOPS, write_input, "an operand is read before it is computed, or is written by another step"},
    {WI_PASS_LOOPS, move_operand, "an operand reaches beyond its storage"},
    {WI_PASS_LOOPS, drop_result, "a member with memory is not stored"},
    {WI_PASS_LOOPS, drop_sweep, "a member is stored after the last sweep"},
    {WI_PASS_LOOPS, drop_space, "its space has no dimensions, or too many"},
    {WI_PASS_LOOPS, grow_space, "merging its dimensions has changed the number of points"},
    {WI_PASS_LOOPS, spill_nowhere, "a value that a sweep stores for a later sweep has no memory"},
};

static void test_invariants(void **state) {
    (void)state;
    broken_plan_check(breakages, sizeof breakages / sizeof *breakages, NULL);
}

/* A plan is not made when a pass breaks what must hold; WEFT_VERIFY decides whether anyone looks. */
static void test_switch(void **state) {
    (void)state;
    assert_int_equal(setenv("WEFT_VERIFY", "1", 1), 0);
    assert_true(wi_verify_is_on());
    assert_int_equal(setenv("WEFT_VERIFY", "0", 1), 0);
    assert_false(wi_verify_is_on());
    assert_int_equal(setenv("WEFT_VERIFY", "1", 1), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_invariants), cmocka_unit_test(test_switch)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
