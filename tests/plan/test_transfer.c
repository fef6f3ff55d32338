/* Plans on two devices: the same bits as on one, transfers with exact bytes, memory of each device, errors. */
/* test once slow */
#include "cl/context.h"
#include "graph/weft_graph.h"
#include "support/two_devices.h"

#include "cl/buffer.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 3, LIMIT = 1 << 24 };

/* ---- results ---- */

typedef struct results {
    float loss[STEPS], late[STEPS][CLASSES * HIDDEN], early[STEPS][FILTERS * 9];
    float parameter[FILTERS * 9];
} results;

static void run_net(weft_plan *plan, const two_halves *n, results *r) {
    memset(r, 0, sizeof *r);
    for (int step = 0; step < STEPS; step++) {
        two_halves_write(plan, n, (uint64_t)step);
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

static void assert_dumped(const weft_plan *plan) {
    wi_text text;
    wi_text_init(&text, NULL);
    wi_dump_partition(&plan->partition, &text);
    wi_dump_launches(&plan->launches, &text);
    assert_false(text.failed);
    assert_non_null(strstr(text.data, ", on device 1 from device 0"));
    assert_non_null(strstr(text.data, "a transfer on device 1"));
    wi_text_clear(&text);
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
    assert_dumped(plan);
}

/* ---- the same bits ---- */

static results run_on(bool same, int devices) {
    weft_context *const context = two_devices_open(same, 0, 0);
    two_halves n = two_halves_make(context);
    weft_plan *plan = NULL;
    results r;
    assert_weft_ok(two_halves_plan(&plan, &n, devices));
    if (devices == 2) check_two(plan);
    if (devices == 1) assert_int_equal(plan->transfers, 0);
    run_net(plan, &n, &r);
    two_halves_end(&n, plan);
    weft_context_release(context);
    return r;
}

/* The loss, gradients of both halves, and a parameter after its updates. */
static void test_same_bits(void **state) {
    (void)state;
    const results one = run_on(true, 1);
    assert_true(has_number(one.late[0], CLASSES * HIDDEN) && has_number(one.early[0], FILTERS * 9));
    for (int same = 0; same < 2; same++) {
        const results two = run_on(same, 2);
        assert_memory_equal(&one, &two, sizeof one);
    }
}

/* Nothing waits between the runs: what a run writes, no earlier one may still be reading. */
static void test_many_runs(void **state) {
    (void)state;
    for (int same = 0; same < 2; same++) {
        weft_context *const context = two_devices_open(same, 0, 0);
        two_halves n = two_halves_make(context);
        weft_plan *plan = NULL;
        float loss = 0, first = 0;
        assert_weft_ok(two_halves_plan(&plan, &n, 2));
        two_halves_write(plan, &n, 0);
        assert_weft_ok(weft_plan_run(plan));
        assert_weft_ok(weft_plan_read(plan, n.outputs[0], &first, sizeof first));
        for (int i = 0; i < 60; i++) assert_weft_ok(weft_plan_run(plan));
        assert_weft_ok(weft_plan_read(plan, n.outputs[0], &loss, sizeof loss));
        assert_true(loss < first / 2);
        two_halves_end(&n, plan);
        weft_context_release(context);
    }
}

/* Each device has its own clock. */
static void test_profile(void **state) {
    (void)state;
    for (int same = 0; same < 2; same++) {
        weft_context *const context = two_devices_open(same, 0, 0);
        two_halves n = two_halves_make(context);
        weft_plan *plan = NULL;
        weft_profile *profile = NULL;
        assert_weft_ok(two_halves_plan(&plan, &n, 2));
        two_halves_write(plan, &n, 0);
        const cl_command_queue queue = context->devices[1]->queue;
        assert_weft_ok(weft_profile_run(&profile, plan));
        assert_ptr_equal(context->devices[1]->queue, queue);
        size_t transfers = 0;
        for (size_t i = 0; i < plan->info.steps; i++) {
            weft_profile_row row;
            assert_weft_ok(weft_profile_get_row(profile, i, &row));
            assert_true(row.launches > 0 && row.seconds >= 0);
            transfers += strcmp(row.kind, "transfer") == 0;
        }
        assert_true(transfers >= plan->transfers && plan->transfers > 0);
        weft_profile_release(profile);
        two_halves_end(&n, plan);
        weft_context_release(context);
    }
}

/* ---- memory ---- */

static void test_memory(void **state) {
    (void)state;
    weft_context *const context = two_devices_open(true, LIMIT, LIMIT);
    wi_device *const *const devices = context->devices;
    two_halves n = two_halves_make(context);
    weft_plan *plan = NULL;
    assert_weft_ok(two_halves_plan(&plan, &n, 2));
    const size_t *const bytes = plan->placement.device_bytes;
    assert_int_equal(bytes[0] + bytes[1], plan->info.total_bytes);
    assert_int_equal(LIMIT - wi_buffer_available(devices[0]), bytes[0] + plan->info.variable_bytes);
    assert_int_equal(LIMIT - wi_buffer_available(devices[1]), bytes[1]);
    assert_true(bytes[1] >= BATCH * HIDDEN * sizeof(float));
    const size_t needed = bytes[1];
    two_halves_end(&n, plan);
    assert_int_equal(wi_buffer_available(devices[1]), LIMIT);
    weft_context_release(context);

    weft_context *const small = two_devices_open(true, 0, needed - 1);
    n = two_halves_make(small);
    char line[64];
    snprintf(line, sizeof line, "plan, on device 1, needs %zu bytes", needed);
    assert_weft_fails(WEFT_ERROR_MEMORY_LIMIT, two_halves_plan(&plan, &n, 2), line);
    assert_null(plan);
    assert_weft_ok(two_halves_plan(&plan, &n, 1));
    two_halves_end(&n, plan);
    weft_context_release(small);
}

/* ---- errors ---- */

static void test_errors(void **state) {
    (void)state;
    weft_context *const context = two_devices_open(true, 0, 0);
    two_halves n = two_halves_make(context);
    weft_plan *plan = NULL;
    char line[64];
    n.wanted[0] = 2;
    assert_weft_fails(WEFT_ERROR_ARGUMENT, two_halves_plan(&plan, &n, 2),
        "node 0 is assigned to device 2, but the plan has 2 devices");
    n.wanted[0] = 0;
    assert_weft_ok(two_halves_plan(&plan, &n, 2));
    size_t bad = 0;
    while (!plan->launches.launches[bad].launch.kernel ||
           plan->launches.launches[bad].device != context->devices[1])
        bad++;
    plan->launches.launches[bad].launch.local[0] = context->devices[1]->caps.max_work_group_size + 1;
    two_halves_write(plan, &n, 0);
    snprintf(line, sizeof line, "plan: step %d (", plan->launches.launches[bad].run->step->index);
    assert_weft_fails(WEFT_ERROR_OPENCL, weft_plan_run(plan), line, ") on device 1: launching ");
    two_halves_end(&n, plan);
    weft_context_release(context);
}

/* A kernel on the second device meets an index out of range. */
static void test_fault(void **state) {
    (void)state;
    weft_context *const context = two_devices_open(false, 0, 0);
    two_halves n = {0};
    weft_plan *plan = NULL;
    assert_weft_ok(weft_graph_create(&n.graph, context));
    n.x = weft_input(n.graph, "tokens", WEFT_I32, 3);
    n.outputs[0] = weft_tanh(weft_embedding(n.x, 5, 4));
    n.output_count = 1;
    n.wanted_count = n.graph->node_count;
    n.wanted = calloc(n.wanted_count, sizeof *n.wanted);
    assert_non_null(n.wanted);
    two_halves_want(&n, 0, n.graph->node_count, 1);
    assert_weft_ok(two_halves_plan(&plan, &n, 2));
    assert_true(plan->partition.faults[0] < 0 && plan->partition.faults[1] >= 0);
    int32_t tokens[BATCH * 3] = {[20] = 5};
    assert_weft_ok(weft_plan_write(plan, n.x, tokens, sizeof tokens));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_plan_wait(plan), "embedding", "first at position 20");
    tokens[20] = 4;
    assert_weft_ok(weft_plan_write(plan, n.x, tokens, sizeof tokens));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_wait(plan));
    two_halves_end(&n, plan);
    weft_context_release(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_bits), cmocka_unit_test(test_many_runs),
        cmocka_unit_test(test_profile), cmocka_unit_test(test_memory), cmocka_unit_test(test_errors),
        cmocka_unit_test(test_fault)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
