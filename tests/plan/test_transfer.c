/* Plans on two devices. The second is the first once more, with a queue of its own: in the same OpenCL context, where
 * devices copy by themselves, and in another, where the host does. */
#include "support/broken_plan.h"
#include "support/fixture.h"

#include "cl/buffer.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 12, SIDE = 10, HIDDEN = 24, CLASSES = 7, STEPS = 3, MOST = 16, LIMIT = 1 << 24 };

/* ---- two devices ---- */

/* same: in one OpenCL context. limits: bytes of each device, 0: none. */
static weft_context *two_devices(bool same, size_t first_limit, size_t second_limit) {
    weft_context *const context =
        test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .memory_limit = first_limit});
    const wi_device *const first = wi_context_device(context);
    weft_context_options options = {WEFT_CONTEXT_OPTIONS_INIT, .memory_limit = second_limit};
    if (same) {
        options.cl_context = first->cl;
        options.cl_device = first->id;
    } else {
        options.device = first->info.selector;
    }
    assert_weft_ok(wi_context_open_device(context, &options));
    assert_int_equal(context->device_count, 2);
    assert_true((context->devices[1]->cl == first->cl) == same);
    assert_ptr_not_equal(context->devices[1]->queue, first->queue);
    return context;
}

/* ---- a network in two halves ---- */

typedef struct net {
    weft_graph *graph;
    weft_tensor *x, *label, *middle, *outputs[MOST];
    size_t output_count, read_count; /* the first are read, the others update the parameters */
    int *wanted;                     /* by node id */
    size_t wanted_count;
} net;

static void want(net *n, uint32_t first, uint32_t end, int device) {
    for (uint32_t id = first; id < end; id++) n->wanted[id] = device;
}

/* The first half convolves, the second has a layer norm, and a loss that reads labels. Gradients of the second half
 * are made before those of the first, and are computed there. */
static net make_net(weft_context *context, bool trains) {
    net n = {.read_count = 3};
    assert_weft_ok(weft_graph_create(&n.graph, context));
    weft_graph *const g = n.graph;
    n.x = weft_input(g, "x", WEFT_F32, 1, SIDE, SIDE);
    n.label = weft_input(g, "label", WEFT_I32);
    weft_tensor *const maps = weft_max_pool2d(weft_relu(weft_conv2d(n.x, 8, 3)), 2);
    n.middle = weft_tanh(weft_linear(weft_flatten(maps), HIDDEN));
    const uint32_t half = g->node_count;
    weft_tensor *const scores = weft_linear(weft_layer_norm(weft_linear(n.middle, HIDDEN)), CLASSES);
    n.outputs[0] = weft_cross_entropy(scores, n.label);
    weft_tensor *const late[] = {weft_graph_parameter(g, weft_graph_parameter_count(g) - 2), n.middle},
                       *const early[] = {weft_graph_parameter(g, 0)};
    weft_tensor *gradients[2];
    assert_weft_ok(weft_gradients(n.outputs[0], late, 2, gradients));
    const uint32_t second = g->node_count;
    n.outputs[1] = gradients[0];
    assert_weft_ok(weft_gradients(n.outputs[0], early, 1, &n.outputs[2]));
    size_t updates = 0;
    const weft_optimizer adam = weft_adam(0.01f);
    if (trains) assert_weft_ok(weft_minimize(n.outputs[0], &adam, n.outputs + 3, MOST - 3, &updates));
    n.output_count = n.read_count + updates;
    n.wanted_count = g->node_count;
    n.wanted = calloc(n.wanted_count, sizeof *n.wanted);
    assert_non_null(n.wanted);
    want(&n, half, second, 1);
    return n;
}

static void end_net(net *n, weft_plan *plan) {
    weft_plan_release(plan);
    weft_graph_release(n->graph);
    free(n->wanted);
}

static weft_status plan_net(weft_plan **plan, const net *n, int devices) {
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH};
    const wi_plan_devices on = {.of = n->graph->context->devices,
        .count = devices,
        .wanted = n->wanted,
        .wanted_count = n->wanted_count};
    return wi_plan_create_on(plan, n->outputs, n->output_count, &options, &on);
}

/* ---- results ---- */

typedef struct results {
    float loss[STEPS], late[STEPS][CLASSES * HIDDEN], early[STEPS][8 * 9];
    float parameter[8 * 9];
} results;

static void write_batch(weft_plan *plan, const net *n, uint64_t step) {
    test_random random = test_random_named("transfer", step);
    float x[BATCH * SIDE * SIDE];
    int32_t labels[BATCH];
    for (int i = 0; i < BATCH * SIDE * SIDE; i++) x[i] = (float)test_random_between(&random, -1, 1);
    for (int i = 0; i < BATCH; i++) labels[i] = (int32_t)test_random_below(&random, CLASSES);
    assert_weft_ok(weft_plan_write(plan, n->x, x, sizeof x));
    assert_weft_ok(weft_plan_write(plan, n->label, labels, sizeof labels));
}

static void run_net(weft_plan *plan, const net *n, results *r) {
    memset(r, 0, sizeof *r);
    for (int step = 0; step < STEPS; step++) {
        write_batch(plan, n, (uint64_t)step);
        assert_weft_ok(weft_plan_run(plan));
        assert_weft_ok(weft_plan_read(plan, n->outputs[0], &r->loss[step], sizeof r->loss[step]));
        assert_weft_ok(weft_plan_read(plan, n->outputs[1], r->late[step], sizeof r->late[step]));
        assert_weft_ok(weft_plan_read(plan, n->outputs[2], r->early[step], sizeof r->early[step]));
    }
    assert_weft_ok(weft_tensor_read(weft_graph_parameter(n->graph, 0), r->parameter, sizeof r->parameter));
}

static bool has_number(const float *numbers, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (numbers[i] != 0) return true;
    return false;
}

/* ---- what the plan is made of ---- */

typedef struct counts {
    int steps[2], transfers[2]; /* by device; to it */
    size_t bytes;               /* of transfers */
    bool middle;                /* the half's result is transferred, forward */
} counts;

static counts count_steps(const weft_plan *plan) {
    counts c = {0};
    const wi_partition *const p = &plan->partition;
    for (size_t i = 0; i < plan->runs.run_count; i++) {
        const wi_step *const step = plan->runs.runs[i].step;
        const wi_value *const value = &p->values[step->members[0]];
        c.steps[step->device]++;
        if (value->node->op != &wi_op_transfer) continue;
        assert_int_equal(step->kind, WI_STEP_TRANSFER);
        assert_int_equal(wi_transfer_from(p, step), 1 - step->device);
        assert_true(plan->schedule.of[i].seconds > wi_step_device(p, step)->profile.transfer_seconds);
        size_t bytes = weft_dtype_size(value->node->dtype);
        for (int d = 0; d < value->node->shape.rank; d++)
            bytes *= (size_t)(value->node->shape.dims[d] < 0 ? BATCH : value->node->shape.dims[d]);
        c.transfers[step->device]++;
        c.bytes += bytes;
        c.middle = c.middle || (step->device == 1 && bytes == BATCH * HIDDEN * sizeof(float));
    }
    return c;
}

static void assert_described(const weft_plan *plan, const char *part) {
    static char text[1 << 16];
    assert_weft_ok(weft_plan_describe(plan, WEFT_FORMAT_TEXT, text, sizeof text, NULL));
    if (!strstr(text, part)) fail_msg("no '%s' in\n%s", part, text);
}

static void check_two(const weft_plan *plan) {
    const counts c = count_steps(plan);
    char line[96];
    assert_true(c.steps[0] > 4 && c.steps[1] > 4);
    assert_true(c.transfers[0] > 0 && c.transfers[1] > 0);
    assert_true(c.middle);
    assert_int_equal(plan->transfers, c.transfers[0] + c.transfers[1]);
    assert_int_equal(plan->transfer_bytes, c.bytes);
    snprintf(line, sizeof line, "%d transfers between devices, %zu bytes", c.transfers[0] + c.transfers[1],
        c.bytes);
    assert_described(plan, line);
    snprintf(line, sizeof line, "[device 0 -> device 1, %zu bytes", BATCH * HIDDEN * sizeof(float));
    assert_described(plan, line);
}

/* ---- the same bits ---- */

static results run_on(bool same, int devices, bool trains) {
    weft_context *const context = two_devices(same, 0, 0);
    net n = make_net(context, trains);
    weft_plan *plan = NULL;
    results r;
    assert_weft_ok(plan_net(&plan, &n, devices));
    if (devices == 2) check_two(plan);
    if (devices == 1) assert_int_equal(plan->transfers, 0);
    run_net(plan, &n, &r);
    end_net(&n, plan);
    weft_context_release(context);
    return r;
}

static void check_same_bits(bool trains) {
    const results one = run_on(true, 1, trains);
    assert_true(has_number(one.late[0], CLASSES * HIDDEN) && has_number(one.early[0], 8 * 9));
    for (int same = 0; same < 2; same++) {
        const results two = run_on(same, 2, trains);
        assert_memory_equal(&one, &two, sizeof one);
    }
}

static void test_gradients(void **state) {
    (void)state;
    check_same_bits(false);
}

static void test_training(void **state) {
    (void)state;
    check_same_bits(true);
}

/* Nothing waits between the runs: what a run writes, no earlier one may still be reading. */
static void test_many_runs(void **state) {
    (void)state;
    for (int same = 0; same < 2; same++) {
        weft_context *const context = two_devices(same, 0, 0);
        net n = make_net(context, true);
        weft_plan *plan = NULL;
        float loss = 0, first = 0;
        assert_weft_ok(plan_net(&plan, &n, 2));
        write_batch(plan, &n, 0);
        assert_weft_ok(weft_plan_run(plan));
        assert_weft_ok(weft_plan_read(plan, n.outputs[0], &first, sizeof first));
        for (int i = 0; i < 60; i++) assert_weft_ok(weft_plan_run(plan));
        assert_weft_ok(weft_plan_read(plan, n.outputs[0], &loss, sizeof loss));
        assert_true(loss < first / 2);
        end_net(&n, plan);
        weft_context_release(context);
    }
}

/* ---- memory ---- */

static void test_memory(void **state) {
    (void)state;
    weft_context *const context = two_devices(true, LIMIT, LIMIT);
    wi_device *const *const devices = context->devices;
    net n = make_net(context, true);
    weft_plan *plan = NULL;
    assert_weft_ok(plan_net(&plan, &n, 2));
    const size_t *const bytes = plan->placement.device_bytes;
    assert_int_equal(bytes[0] + bytes[1], plan->info.total_bytes);
    assert_int_equal(LIMIT - wi_buffer_available(devices[0]), bytes[0] + plan->info.variable_bytes);
    assert_int_equal(LIMIT - wi_buffer_available(devices[1]), bytes[1]);
    assert_true(bytes[1] >= BATCH * HIDDEN * sizeof(float));
    const size_t needed = bytes[1];
    end_net(&n, plan);
    assert_int_equal(wi_buffer_available(devices[1]), LIMIT);
    weft_context_release(context);

    weft_context *const small = two_devices(true, 0, needed - 1);
    n = make_net(small, true);
    char line[64];
    snprintf(line, sizeof line, "plan, on device 1, needs %zu bytes", needed);
    assert_weft_fails(WEFT_ERROR_MEMORY_LIMIT, plan_net(&plan, &n, 2), line);
    assert_null(plan);
    assert_weft_ok(plan_net(&plan, &n, 1));
    end_net(&n, plan);
    weft_context_release(small);
}

/* ---- errors ---- */

static void test_errors(void **state) {
    (void)state;
    weft_context *const context = two_devices(true, 0, 0);
    net n = make_net(context, false);
    weft_plan *plan = NULL;
    char line[64];
    n.wanted[0] = 2;
    assert_weft_fails(WEFT_ERROR_ARGUMENT, plan_net(&plan, &n, 2), "node 0 is for device 2 of 2");
    n.wanted[0] = 0;
    assert_weft_ok(plan_net(&plan, &n, 2));
    size_t bad = 0;
    while (!plan->launches.launches[bad].launch.kernel ||
           plan->launches.launches[bad].device != context->devices[1])
        bad++;
    plan->launches.launches[bad].launch.local[0] = context->devices[1]->caps.max_work_group_size + 1;
    write_batch(plan, &n, 0);
    snprintf(line, sizeof line, "plan: step %d (", plan->launches.launches[bad].run->step->index);
    assert_weft_fails(WEFT_ERROR_OPENCL, weft_plan_run(plan), line, ") on device 1: launching ");
    end_net(&n, plan);
    weft_context_release(context);
}

/* A kernel on the second device meets an index out of range. */
static void test_fault(void **state) {
    (void)state;
    weft_context *const context = two_devices(false, 0, 0);
    net n = {0};
    weft_plan *plan = NULL;
    assert_weft_ok(weft_graph_create(&n.graph, context));
    n.x = weft_input(n.graph, "tokens", WEFT_I32, 3);
    n.outputs[0] = weft_tanh(weft_embedding(n.x, 5, 4));
    n.output_count = 1;
    n.wanted_count = n.graph->node_count;
    n.wanted = calloc(n.wanted_count, sizeof *n.wanted);
    assert_non_null(n.wanted);
    want(&n, 0, n.graph->node_count, 1);
    assert_weft_ok(plan_net(&plan, &n, 2));
    assert_true(plan->partition.faults[0] < 0 && plan->partition.faults[1] >= 0);
    int32_t tokens[BATCH * 3] = {[20] = 5};
    assert_weft_ok(weft_plan_write(plan, n.x, tokens, sizeof tokens));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_plan_wait(plan), "embedding", "first at position 20");
    tokens[20] = 4;
    assert_weft_ok(weft_plan_write(plan, n.x, tokens, sizeof tokens));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_wait(plan));
    end_net(&n, plan);
    weft_context_release(context);
}

/* ---- what the verifier finds ---- */

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
    copy->copy_of = -1;
    copy->is_leaf_member = true; /* so that its inputs are not looked at */
}
static void copy_strided(weft_plan *plan) {
    wi_value *const copy = &plan->partition.values[step_on(plan, WI_STEP_TRANSFER, 0)->members[0]];
    for (int i = 0; i < copy->extent.rank; i++) copy->layout.strides[i] = wi_size_of(0);
}
/* What is transferred, in place of an operand that a later step reads. */
static void address_other(weft_plan *plan) {
    const wi_value *const copy = copy_of(plan);
    for (size_t i = (size_t)copy->step + 1; i < plan->partition.step_count; i++) {
        wi_operand *const first = &plan->loops.of[i].operands[0];
        const wi_step *const step = plan->partition.steps[i];
        if (step->kind == WI_STEP_TRANSFER || step->device != 1 || first->is_output || first->value < 0)
            continue;
        first->value = copy->copy_of;
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
    plan->launches.launches[0].device = plan->request.devices.of[1];
}

static const breakage breakages[] = {
    {WI_PASS_ORDER, order_nowhere, "its device does not exist"},
    {WI_PASS_PARTITION, store_nowhere, "its device does not exist"},
    {WI_PASS_PARTITION, lay_over_other, "it lies in one on another device"},
    {WI_PASS_PARTITION, read_other, "it reads what is on another device"},
    {WI_PASS_PARTITION, write_other, "it writes to another device"},
    {WI_PASS_PARTITION, copy_nothing, "a transfer copies no value, or more than one"},
    {WI_PASS_PARTITION, copy_strided, "what a transfer copies is not whole"},
    {WI_PASS_LOOPS, address_other, "an operand is on another device"},
    {WI_PASS_MEMORY, place_on_other, "it lies in one on another device"},
    {WI_PASS_MEMORY, move_chunk, "its chunk is on another device"},
    {WI_PASS_LAUNCHES, launch_on_other, "it is launched on another device"},
};

static void test_invariants(void **state) {
    (void)state;
    weft_context *const context = two_devices(true, 0, 0);
    for (size_t i = 0; i < sizeof breakages / sizeof *breakages; i++) {
        net n = make_net(context, false);
        weft_plan *plan = NULL;
        assert_weft_ok(plan_net(&plan, &n, 2));
        for (int pass = 0; pass < WI_PASSES; pass++) assert_weft_ok(wi_verify_pass(plan, (wi_plan_pass)pass));
        breakages[i].damage(plan);
        assert_weft_fails(WEFT_ERROR_INTERNAL, wi_verify_pass(plan, breakages[i].pass), breakages[i].line);
        end_net(&n, plan);
    }
    weft_context_release(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gradients), cmocka_unit_test(test_training),
        cmocka_unit_test(test_many_runs), cmocka_unit_test(test_memory), cmocka_unit_test(test_errors),
        cmocka_unit_test(test_fault), cmocka_unit_test(test_invariants)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
