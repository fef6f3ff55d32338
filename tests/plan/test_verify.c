/* The verifier of plans: every invariant is broken by hand, once, and the line must say which it was. */
#include "support/fixture.h"

#include "plan/compiled_plan.h"
#include "plan/verify.h"
#include <stdlib.h>
#include <string.h>

/* ---- a plan with everything in it: products, kernel ops, reductions that are cut, assignments, scalars ---- */

enum { OUTPUTS = 9 };

static weft_plan *make_plan(weft_graph *graph) {
    weft_plan *plan = NULL;
    weft_tensor *outputs[OUTPUTS];
    size_t updates = 0;
    weft_tensor *const image = weft_input(graph, "image", WEFT_F32, 3, 40, 40);
    weft_tensor *const maps = weft_relu(weft_conv2d(image, 8, 3));
    weft_tensor *const hidden = weft_relu(weft_linear(weft_flatten(weft_max_pool2d(maps, 2)), 24));
    weft_tensor *const scores = weft_linear(hidden, 10);
    const weft_optimizer adam = weft_adam(1e-3f);
    outputs[0] = weft_cross_entropy(scores, weft_input(graph, "label", WEFT_I32));
    outputs[1] = weft_softmax(scores, 1);
    outputs[2] = weft_sum(image);
    assert_weft_ok(weft_minimize(outputs[0], &adam, outputs + 3, OUTPUTS - 3, &updates));
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = 16};
    assert_weft_ok(weft_plan_create(&plan, outputs, 3 + updates, &options));
    return plan;
}

/* ---- finding something to break ---- */

static wi_step *step_of_kind(weft_plan *plan, wi_step_kind kind) {
    for (size_t i = 0; i < plan->partition.step_count; i++)
        if (plan->partition.steps[i]->kind == kind) return plan->partition.steps[i];
    fail_msg("no step of kind %d", (int)kind);
    return NULL;
}

/* A loop that reads memory, writes it, and has several members. */
static wi_step *some_loop(weft_plan *plan) {
    for (size_t i = 0; i < plan->partition.step_count; i++) {
        wi_step *const step = plan->partition.steps[i];
        const wi_loop *const loop = &plan->loops.of[i];
        const wi_operand *const last = &loop->operands[loop->operand_count - 1];
        if (step->kind == WI_STEP_LOOP && step->member_count > 2 && !loop->operands[0].is_output &&
            loop->operands[0].value >= 0 && last->is_output)
            return step;
    }
    fail_msg("no loop of several members");
    return NULL;
}

static wi_loop *loop_of(weft_plan *plan) {
    return &plan->loops.of[some_loop(plan)->index];
}

/* A member of the loop that has no memory. */
static int member_in_registers(weft_plan *plan) {
    const wi_step *const step = some_loop(plan);
    for (int m = 0; m < step->member_count; m++)
        if (plan->partition.values[step->members[m]].storage < 0) return step->members[m];
    fail_msg("all members are stored");
    return -1;
}

/* A source of a product that is no member of any step. */
static wi_value *source_in_memory(weft_plan *plan) {
    for (size_t i = 0; i < plan->partition.step_count; i++) {
        const wi_step *const step = plan->partition.steps[i];
        wi_value *const source = &plan->partition.values[step->sources[0]];
        if (step->kind == WI_STEP_PRODUCT && source->state == WI_VALUE_MEMORY) return source;
    }
    fail_msg("no product of what lies in memory");
    return NULL;
}

static size_t cut_step(weft_plan *plan) {
    for (size_t i = 0; i < plan->partition.step_count; i++)
        if (wi_is_cut(plan->partition.steps[i], &plan->schedule.of[i])) return i;
    fail_msg("no step is cut");
    return 0;
}

/* The first place for which the test holds. */
static size_t find_place(const weft_plan *plan, bool (*test)(const wi_place *place, const wi_place *other),
    const wi_place *other) {
    for (size_t i = 0; i < plan->placement.place_count; i++)
        if (test(&plan->placement.places[i], other)) return i;
    fail_msg("no such place");
    return 0;
}

static bool is_placed(const wi_place *place, const wi_place *other) {
    return place != other && place->kind == WI_STORAGE_ARENA && place->alias < 0 && place->first >= 0;
}

static bool is_alive_with(const wi_place *place, const wi_place *other) {
    return is_placed(place, other) && place->first <= other->last && other->first <= place->last;
}

/* Larger, and read after the other is written. */
static bool is_read_after(const wi_place *place, const wi_place *other) {
    return is_placed(place, other) && place->bytes >= other->bytes && place->last > other->first;
}

static wi_plan_launch *launch_that_changes(weft_plan *plan) {
    for (size_t i = 0; i < plan->launches.count; i++)
        if (plan->launches.launches[i].changing_count > 0) return &plan->launches.launches[i];
    fail_msg("no argument changes");
    return NULL;
}

static wi_plan_launch *launch_of_input(weft_plan *plan) {
    for (size_t i = 0; i < plan->launches.count; i++)
        if (plan->launches.launches[i].bound_count > 0) return &plan->launches.launches[i];
    fail_msg("no launch reads an input");
    return NULL;
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
    memset(plan->order.readers, 0, plan->order.id_count * sizeof *plan->order.readers);
}
static void cut_order(weft_plan *plan) {
    plan->order.count = 1;
}
static void cut_table(weft_plan *plan) {
    plan->order.id_count = 0;
}
static void keep_composite(weft_plan *plan) {
    for (size_t i = 0; i < plan->order.count; i++) {
        for (int k = 0; k < plan->order.nodes[i]->input_count; k++) {
            weft_tensor *const input = plan->order.nodes[i]->inputs[k];
            if (input->op->kind == WI_COMPOSITE && input->id < plan->order.id_count)
                plan->order.nodes[0] = input;
        }
    }
    assert_true(plan->order.nodes[0]->op->kind == WI_COMPOSITE);
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
    plan->partition.values[some_loop(plan)->members[0]].step = -1;
}
static void give_wrong_place(weft_plan *plan) {
    plan->partition.values[some_loop(plan)->members[0]].place++;
}
static void view_nothing(weft_plan *plan) {
    plan->partition.values[0].base = 1 << 20;
}
static void store_nowhere(weft_plan *plan) {
    plan->partition.values[0].storage = 1 << 20;
}
static void stretch_layout(weft_plan *plan) {
    const wi_loop *const loop = loop_of(plan);
    plan->partition.values[loop->operands[loop->operand_count - 1].value].layout.offset.actual = 1 << 28;
}
static void renumber_step(weft_plan *plan) {
    plan->partition.steps[0]->index = 1;
}
static void remove_members(weft_plan *plan) {
    wi_step *const step = step_of_kind(plan, WI_STEP_KERNEL);
    plan->partition.values[step->members[0]].state = WI_VALUE_MEMORY;
    step->member_count = 0;
}
static void name_no_member(weft_plan *plan) {
    wi_step *const step = some_loop(plan);
    step->members[step->member_count++] = 1 << 20;
}
static void repeat_member(weft_plan *plan) {
    wi_step *const step = some_loop(plan);
    step->members[step->member_count++] = step->members[0];
}
static void reverse_members(weft_plan *plan) {
    wi_step *const step = some_loop(plan);
    for (int i = 0, k = step->member_count - 1; i < k; i++, k--) {
        const int member = step->members[i];
        step->members[i] = step->members[k];
        step->members[k] = member;
    }
    for (int i = 0; i < step->member_count; i++) plan->partition.values[step->members[i]].place = i;
}
static void read_nothing(weft_plan *plan) {
    step_of_kind(plan, WI_STEP_PRODUCT)->sources[0] = 1 << 20;
}
static void read_the_future(weft_plan *plan) {
    source_in_memory(plan)->step = 1 << 20;
}
static void read_registers(weft_plan *plan) {
    const wi_loop *const loop = loop_of(plan);
    wi_value *const read = &plan->partition.values[loop->operands[0].value];
    plan->partition.values[read->base].storage = -1;
}
static void drop_selection(weft_plan *plan) {
    step_of_kind(plan, WI_STEP_PRODUCT)->selection = NULL;
}
static void choose_nothing(weft_plan *plan) {
    static const wi_selection nothing;
    step_of_kind(plan, WI_STEP_PRODUCT)->selection = &nothing;
}
static void compute_source(weft_plan *plan) {
    source_in_memory(plan)->state = WI_VALUE_LEAF;
}
static void invent_fault(weft_plan *plan) {
    plan->partition.steps[0]->fault = 1 << 20;
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
static void drop_pass(weft_plan *plan) {
    loop_of(plan)->passes = 0;
}
static void drop_space(weft_plan *plan) {
    loop_of(plan)->space.rank = 0;
}
static void grow_space(weft_plan *plan) {
    loop_of(plan)->space.dims[0].actual++;
}
static void spill_nowhere(weft_plan *plan) {
    loop_of(plan)->spilled = some_loop(plan)->members[0];
    loop_of(plan)->spill = -1;
}

/* ---- code ---- */

static void drop_kernel(weft_plan *plan) {
    plan->code.of[some_loop(plan)->index].whole.piece = -1;
}
static void drop_part(weft_plan *plan) {
    plan->code.of[cut_step(plan)].part.piece = -1;
}
static void add_arguments(weft_plan *plan) {
    plan->code.of[some_loop(plan)->index].whole.argument_count = WI_MAX_ARGUMENTS + 1;
}
static void bind_nothing(weft_plan *plan) {
    wi_kernel_text *const kernel = &plan->code.of[some_loop(plan)->index].whole;
    for (int i = 0; i < kernel->argument_count; i++)
        if (kernel->arguments[i].kind == WI_ARGUMENT_BUFFER) kernel->arguments[i].a = WI_MAX_OPERANDS;
}
static void drop_launches(weft_plan *plan) {
    plan->code.of[step_of_kind(plan, WI_STEP_KERNEL)->index].kernel->count = 0;
}
static void repeat_name(weft_plan *plan) {
    memcpy(plan->code.pieces[1].name, plan->code.pieces[0].name, sizeof plan->code.pieces[0].name);
}

/* ---- the schedule ---- */

static void launch_never(weft_plan *plan) {
    plan->schedule.of[0].launch_count = 0;
}
static void cut_whole(weft_plan *plan) {
    const int step = some_loop(plan)->index;
    plan->loops.of[step].splits = false;
    plan->schedule.of[step].work[4] = 2;
}
static void drop_items(weft_plan *plan) {
    plan->schedule.of[some_loop(plan)->index].items = 0;
}
static void drop_scratch(weft_plan *plan) {
    plan->schedule.of[cut_step(plan)].scratch_bytes = 0;
}
static void ask_for_scratch(weft_plan *plan) {
    plan->code.of[step_of_kind(plan, WI_STEP_KERNEL)->index].kernel->scratch_bytes = (size_t)1 << 40;
}

/* ---- memory ---- */

static void place_nowhere(weft_plan *plan) {
    plan->placement.places[0].alias = 1 << 20;
}
static void place_in_itself(weft_plan *plan) {
    plan->placement.places[0].alias = 0;
}
static void place_outside(weft_plan *plan) {
    const size_t place = find_place(plan, is_placed, NULL);
    plan->placement.places[place].alias = place == 0;
    plan->placement.places[place].alias_offset = (size_t)1 << 40;
}
static void cut_chunk(weft_plan *plan) {
    plan->placement.chunk_bytes[0] = 1;
}
static void reuse_early(weft_plan *plan) {
    for (size_t i = 0; i < plan->placement.place_count; i++) {
        wi_place *const place = &plan->placement.places[i];
        if (!is_placed(place, NULL)) continue;
        for (size_t k = 0; k < plan->placement.place_count; k++) {
            if (!is_read_after(&plan->placement.places[k], place)) continue;
            place->alias = (int)k;
            return;
        }
    }
    fail_msg("no such pair of places");
}
static void overlap_places(weft_plan *plan) {
    wi_place *const places = plan->placement.places;
    const size_t a = find_place(plan, is_placed, NULL), b = find_place(plan, is_alive_with, &places[a]);
    places[b].chunk = places[a].chunk;
    places[b].offset = places[a].offset;
    plan->placement.chunk_bytes[places[a].chunk] = (size_t)1 << 40;
}
static void lose_scratch(weft_plan *plan) {
    plan->placement.scratch[cut_step(plan)] = -1;
}
static void shrink_scratch(weft_plan *plan) {
    plan->placement.places[plan->placement.scratch[cut_step(plan)]].bytes--;
}

/* ---- launches ---- */

static cl_kernel kept; /* of the first launch, while it is away */

static void lose_kernel(weft_plan *plan) {
    kept = plan->launches.launches[0].launch.kernel;
    plan->launches.launches[0].launch.kernel = NULL;
}
static void forget_argument(weft_plan *plan) {
    launch_of_input(plan)->argument_count--;
}
static void change_nothing(weft_plan *plan) {
    launch_that_changes(plan)->changing[0].index = 1 << 20;
}
static void bind_to_arena(weft_plan *plan) {
    launch_of_input(plan)->bound[0].which = (int)find_place(plan, is_placed, NULL);
}
static void split_group(weft_plan *plan) {
    plan->launches.launches[0].launch.global[0] = 10;
    plan->launches.launches[0].launch.local[0] = 3;
}
static void swap_launches(weft_plan *plan) {
    const wi_plan_launch first = plan->launches.launches[0];
    const size_t last = plan->launches.count - 1;
    plan->launches.launches[0] = plan->launches.launches[last];
    plan->launches.launches[last] = first;
}

/* ---- all of them ---- */

static const struct breakage {
    wi_plan_pass pass;
    void (*damage)(weft_plan *plan);
    const char *line;
} breakages[] = {
    {WI_PASS_ORDER, repeat_node, "it stands in the order twice"},
    {WI_PASS_ORDER, reverse_nodes, "it comes before one of its inputs"},
    {WI_PASS_ORDER, forget_readers, "it is not counted among the readers of an input"},
    {WI_PASS_ORDER, cut_order, "its node is not in the order"},
    {WI_PASS_ORDER, cut_table, "its number is beyond the table's end"},
    {WI_PASS_ORDER, keep_composite, "a composite is not replaced"},
    {WI_PASS_PARTITION, lay_storage_nowhere, "it lies in one that does not exist"},
    {WI_PASS_PARTITION, lay_storage_in_itself, "it lies in itself"},
    {WI_PASS_PARTITION, lay_storage_beyond, "it does not fit into the one that it lies in"},
    {WI_PASS_PARTITION, give_no_step, "it is a member of a step that does not exist"},
    {WI_PASS_PARTITION, give_wrong_place, "its step does not have it among its members"},
    {WI_PASS_PARTITION, view_nothing, "it is a view of a value that does not exist"},
    {WI_PASS_PARTITION, store_nowhere, "it lies in a storage that does not exist"},
    {WI_PASS_PARTITION, stretch_layout, "its layout reaches beyond its storage"},
    {WI_PASS_PARTITION, renumber_step, "it has another number"},
    {WI_PASS_PARTITION, remove_members, "it has no members, or more than fit"},
    {WI_PASS_PARTITION, name_no_member, "a member does not exist"},
    {WI_PASS_PARTITION, repeat_member, "a member belongs to another step, or stands in it twice"},
    {WI_PASS_PARTITION, reverse_members, "a member is computed before its inputs"},
    {WI_PASS_PARTITION, read_nothing, "it reads a value that does not exist"},
    {WI_PASS_PARTITION, read_the_future, "it reads what neither it nor an earlier step has made"},
    {WI_PASS_PARTITION, read_registers, "it reads what another step has in registers"},
    {WI_PASS_SELECTION, drop_selection, "it has no selection, or needs none"},
    {WI_PASS_SELECTION, choose_nothing, "no implementation is chosen"},
    {WI_PASS_PARTITION, compute_source, "a source does not lie in memory"},
    {WI_PASS_PARTITION, invent_fault, "its fault slot does not exist"},
    {WI_PASS_PARTITION, lose_output, "it has no memory"},
    {WI_PASS_PARTITION, assign_to_input, "it writes to what is no variable"},
    {WI_PASS_PARTITION, assign_registers, "the new value has no memory"},
    {WI_PASS_LOOPS, swap_loops, "its loop is that of another"},
    {WI_PASS_LOOPS, add_operands, "it has more operands than fit"},
    {WI_PASS_LOOPS, lose_operand, "an operand is neither memory nor a leaf"},
    {WI_PASS_LOOPS, address_registers, "an operand has no memory"},
    {WI_PASS_LOOPS, write_input, "an operand is read before it is made, or written by another step"},
    {WI_PASS_LOOPS, move_operand, "an operand reaches beyond its storage"},
    {WI_PASS_LOOPS, drop_result, "a member with memory is not written"},
    {WI_PASS_LOOPS, drop_pass, "a member is written after the last pass"},
    {WI_PASS_LOOPS, drop_space, "its space has no dimensions, or too many"},
    {WI_PASS_LOOPS, grow_space, "merging its dimensions has changed the number of points"},
    {WI_PASS_LOOPS, spill_nowhere, "what a pass keeps for the next has no memory"},
    {WI_PASS_CODE, drop_kernel, "it has no kernel"},
    {WI_PASS_CODE, drop_part, "it has no kernel"},
    {WI_PASS_CODE, add_arguments, "its kernel has more arguments than fit"},
    {WI_PASS_CODE, bind_nothing, "an argument is of no operand or dimension"},
    {WI_PASS_CODE, drop_launches, "its template has no launches"},
    {WI_PASS_CODE, repeat_name, "another has its name"},
    {WI_PASS_SCHEDULE, launch_never, "it has no launches"},
    {WI_PASS_SCHEDULE, cut_whole, "it is cut into parts, and has no kernel for them"},
    {WI_PASS_SCHEDULE, drop_items, "its work-items do not reach every result"},
    {WI_PASS_SCHEDULE, drop_scratch, "its parts do not fit into the scratch memory"},
    {WI_PASS_SCHEDULE, ask_for_scratch, "it has less scratch memory than its launches ask for"},
    {WI_PASS_MEMORY, place_nowhere, "it lies in one that does not exist"},
    {WI_PASS_MEMORY, place_in_itself, "it lies in itself"},
    {WI_PASS_MEMORY, place_outside, "it does not fit into the one that it lies in"},
    {WI_PASS_MEMORY, cut_chunk, "it reaches beyond its chunk"},
    {WI_PASS_MEMORY, reuse_early, "it is written over what is still to be read"},
    {WI_PASS_MEMORY, overlap_places, "it overlaps another that is in use at the same time"},
    {WI_PASS_MEMORY, lose_scratch, "its scratch memory has no place"},
    {WI_PASS_MEMORY, shrink_scratch, "its scratch memory is too small"},
    {WI_PASS_LAUNCHES, lose_kernel, "a launch has no kernel, or a library's product has one"},
    {WI_PASS_LAUNCHES, forget_argument, "not every argument of a kernel is bound"},
    {WI_PASS_LAUNCHES, change_nothing, "an argument that changes does not exist"},
    {WI_PASS_LAUNCHES, bind_to_arena, "an argument is bound to what is no input"},
    {WI_PASS_LAUNCHES, split_group, "a launch's work is not whole groups"},
    {WI_PASS_LAUNCHES, swap_launches, "its launches are not those of the schedule, in order"},
};

static void check(const struct breakage *breakage) {
    weft_graph *const graph = test_graph();
    weft_plan *const plan = make_plan(graph);
    for (int pass = 0; pass < WI_PASSES; pass++) assert_weft_ok(wi_verify_pass(plan, (wi_plan_pass)pass));
    breakage->damage(plan);
    assert_weft_fails(WEFT_ERROR_INTERNAL, wi_verify_pass(plan, breakage->pass),
        "plan verifier: ", breakage->line, wi_pass_name(breakage->pass));
    if (kept) plan->launches.launches[0].launch.kernel = kept;
    kept = NULL;
    weft_plan_release(plan);
    weft_graph_release(graph);
}

static void test_invariants(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof breakages / sizeof *breakages; i++) check(&breakages[i]);
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
