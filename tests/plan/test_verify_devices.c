/* The verifier of plans, on devices: every invariant is broken by hand, once, as in test_verify.c. */
/* test once */
#include "support/broken_plan.h"
#include "support/two_devices.h"

static wi_step *step_on(weft_plan *plan, wi_step_kind kind, int device) {
    for (size_t i = 0; i < plan->partition.step_count; i++) {
        wi_step *const step = plan->partition.steps[i];
        const bool within = kind == WI_STEP_TRANSFER && !wi_changes_device(&plan->partition, step);
        if (step->kind == kind && step->device == device && !within) return step;
    }
    fail_msg("no such step");
    return NULL;
}

static wi_value *copy_of(weft_plan *plan) {
    return &plan->partition.values[step_on(plan, WI_STEP_TRANSFER, 1)->members[0]];
}

static size_t place_on(const weft_plan *plan, int device) {
    for (size_t i = 0; i < plan->placement.place_count; i++) {
        const wi_place *const place = &plan->placement.places[i];
        if (place->kind == WI_STORAGE_ARENA && place->alias < 0 && place->device == device) return i;
    }
    fail_msg("no such place");
    return 0;
}

static void order_nowhere(weft_plan *plan) {
    plan->order.device[plan->order.nodes[0]->id] = 2;
}
static void store_nowhere(weft_plan *plan) {
    plan->partition.storages[0].device = -1;
}
static void lay_over_other(weft_plan *plan) {
    const int at = wi_base_storage(&plan->partition, (int)(copy_of(plan) - plan->partition.values));
    plan->partition.storages[at].bytes = plan->partition.storages[at].alias_offset = 0;
    plan->partition.storages[at].alias = 0;
    plan->partition.storages[0].device = 0;
}
static void read_other(weft_plan *plan) {
    step_on(plan, WI_STEP_PRODUCT, 1)->device = 0;
}
static void write_other(weft_plan *plan) {
    step_on(plan, WI_STEP_TRANSFER, 1)->device = 0;
}
static void copy_nothing(weft_plan *plan) {
    wi_value *const copy = copy_of(plan);
    copy->member.copy_of = -1;
    copy->member.expression = copy->node; /* so that its inputs are not looked at */
}
static void copy_strided(weft_plan *plan) {
    const int copy = step_on(plan, WI_STEP_TRANSFER, 0)->members[0];
    assert_weft_ok(wi_set_layout(&plan->partition, copy, &(wi_layout){0}));
}
/* What is transferred, in place of an operand that a later step reads. */
static void address_other(weft_plan *plan) {
    const wi_value *const copy = copy_of(plan);
    for (size_t i = (size_t)copy->step + 1; i < plan->partition.step_count; i++) {
        wi_operand *const first = &plan->loops.of[i].operands[0];
        const wi_step *const step = plan->partition.steps[i];
        if (step->kind == WI_STEP_TRANSFER || step->device != 1 || first->is_output || first->value < 0)
            continue;
        first->value = copy->member.copy_of;
        return;
    }
    fail_msg("no such operand");
}
static void place_on_other(weft_plan *plan) {
    plan->placement.places[place_on(plan, 0)].alias = (int)place_on(plan, 1);
}
static void move_chunk(weft_plan *plan) {
    plan->placement.chunk_device[plan->placement.places[place_on(plan, 1)].chunk] = 0;
}
static void launch_on_other(weft_plan *plan) {
    wi_plan_launch *launch = plan->launches.launches;
    while (launch->device == plan->request.devices.of[1]) launch++;
    launch->device = plan->request.devices.of[1];
}

static const breakage breakages[] = {
    {WI_PASS_ORDER, order_nowhere, "its device does not exist"},
    {WI_PASS_PARTITION, store_nowhere, "its device does not exist"},
    {WI_PASS_PARTITION, lay_over_other, "the storage that contains it is on another device"},
    {WI_PASS_PARTITION, read_other, "it reads a value on another device"},
    {WI_PASS_PARTITION, write_other, "it writes to another device"},
    {WI_PASS_PARTITION, copy_nothing, "a transfer copies no value, or more than one"},
    {WI_PASS_PARTITION, copy_strided,
        "a transfer copies a value that is not contiguous, or only a part of it"},
    {WI_PASS_LOOPS, address_other, "an operand is on another device"},
    {WI_PASS_MEMORY, place_on_other, "the place that contains it is on another device"},
    {WI_PASS_MEMORY, move_chunk, "its chunk is on another device"},
    {WI_PASS_LAUNCHES, launch_on_other, "it is launched on another device"},
};

static void test_invariants(void **state) {
    (void)state;
    weft_context *const context = two_devices_open(true, 0, 0);
    for (size_t i = 0; i < sizeof breakages / sizeof *breakages; i++) {
        two_halves n = two_halves_make(context);
        weft_plan *plan = NULL;
        assert_weft_ok(two_halves_plan(&plan, &n, 2));
        for (int pass = 0; pass < WI_PASSES; pass++) assert_weft_ok(wi_verify_pass(plan, (wi_plan_pass)pass));
        breakages[i].damage(plan);
        assert_weft_fails(WEFT_ERROR_INTERNAL, wi_verify_pass(plan, breakages[i].pass), breakages[i].line);
        two_halves_end(&n, plan);
    }
    weft_context_release(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_invariants)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
