/* Launches that do not end on one of several devices, whichever is waited for, and in trainings, whose batches and losses are in host memory that
 * the device may use late: an error within the limit of a longest_wait, and all is released. */
/* test slow */
#include "support/two_devices.h"

#include "cl/launch.h"
#include "cl/quirks.h"
#include "support/hangs.h"
#include "support/own_training.h"
#include "support/scratch.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 3 };

static bool tells;    /* the driver says how far it is in a run */
static double limit;  /* of a launch, or of a run where it does not */
static char said[64]; /* "did not end in 0.4 seconds" */

static const char *const nothing_more = "can no longer be used";

/* The limit counts only what the process waits for; a machine that is busy takes longer. */
static void assert_soon(double begun) {
    assert_true(wi_clock_seconds() - begun < limit + 20.0);
}

/* ---- several devices ---- */

/* The number of a run's first launch of the device, from 1. */
static long launch_on(const weft_plan *plan, int device) {
    long number = 0;
    for (size_t i = 0; i < plan->launches.count; i++) {
        const wi_plan_launch *const launch = &plan->launches.launches[i];
        if (!launch->launch.kernel || launch->is_fixed) continue;
        number++;
        if (launch->device->index == device) return number;
    }
    fail_msg("the plan has no launch on device %d", device);
    return 0;
}

static void run_two(const two_halves *n, weft_plan *plan) {
    float loss;
    for (uint64_t step = 0; step < STEPS; step++) {
        two_halves_write(plan, n, step);
        assert_weft_ok(weft_plan_run(plan));
        assert_weft_ok(weft_plan_read(plan, n->outputs[0], &loss, sizeof loss));
    }
}

/* The line is of the device whose launch hangs, whichever is waited for. */
static void hang_on(bool same, int device, int waited) {
    char on[32] = ") on device ";
    weft_plan *plan = NULL;
    weft_context *const context = two_devices_open(same, 0, 0);
    two_halves n = two_halves_make(context);
    assert_weft_ok(two_halves_plan(&plan, &n, 2));
    run_two(&n, plan);
    hangs_arm(launch_on(plan, device), false);
    const double begun = wi_clock_seconds();
    weft_status status = weft_plan_run(plan);
    assert_true(fault_layer_hit());
    if (status == WEFT_OK) status = wi_queue_finish(context->devices[waited]);
    if (tells)
        snprintf(
            on, sizeof on, ") on device %d: the ", device); /* else the first launch of the run is named */
    const char *const line = weft_last_error();
    if (status != WEFT_ERROR_OPENCL || !strstr(line, on) || !strstr(line, said))
        fail_msg("device %d, waiting for %d: %s", device, waited, status == WEFT_OK ? "no error" : line);
    assert_weft_fails(WEFT_ERROR_OPENCL, weft_plan_run(plan), nothing_more);
    two_halves_end(&n, plan);
    weft_context_release(context);
    assert_soon(begun);
    hangs_assert_nothing_left();
}

static void limit_two_devices(void) {
    setenv("WEFT_LONGEST_WAIT", tells ? "0.4" : "4", 1);
    setenv("WEFT_LONGEST_FIRST_WAIT", "60", 1);
}

static void limit_none(void) {
    unsetenv("WEFT_LONGEST_WAIT");
    unsetenv("WEFT_LONGEST_FIRST_WAIT");
}

static void several_devices_may_hang(void **state) {
    (void)state;
    limit_two_devices();
    const bool few = test_reduced() &&
                     !tells; /* of a slow driver one of each kind of context, waiting for the other device */
    for (int i = 0; i < 8; i++)
        if (!few || i == 2 || i == 5) hang_on(i & 1, i >> 1 & 1, i >> 2);
    limit_none();
}

/* Launches of one that wait for those of the other are no sign of a hang, however many there are. */
static void several_devices_are_waited_for(void **state) {
    const double begun = wi_clock_seconds();
    weft_plan *plan = NULL;
    float loss;
    (void)state;
    limit_two_devices();
    weft_context *const context = two_devices_open(true, 0, 0);
    two_halves n = two_halves_make(context);
    assert_weft_ok(two_halves_plan(&plan, &n, 2));
    run_two(&n, plan);
    for (int run = 0; run < 100 || wi_clock_seconds() - begun < 2 * limit; run++)
        assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, n.outputs[0], &loss, sizeof loss));
    two_halves_end(&n, plan);
    weft_context_release(context);
    limit_none();
}

/* ---- trainings ---- */

static int steps;

static bool hang_later(void *user, const weft_epoch *epoch) {
    (void)user;
    (void)epoch;
    if (++steps == 3) hangs_arm(1, false);
    return true;
}

/* Batches, and numbers that are read without waiting, are in host memory that the device may use late. */
static void a_training_may_hang(void **state) {
    (void)state;
    for (int queue = 0; queue < 2; queue++) {
        own_training t = {.epochs = 3};
        scratch_allocator allocator;
        scratch_allocator_init(&allocator, -1);
        setenv("WEFT_UPLOAD_QUEUE", queue ? "1" : "0", 1);
        /* So that PoCL has compiled the kernels; Mesa keeps nothing for another context. */
        if (tells && own_training_run(&t) != WEFT_OK) fail_msg("%s", weft_last_error());
        limit_two_devices();
        t.on_step = hang_later;
        t.allocator = &allocator.hooks;
        steps = 0;
        const double begun = wi_clock_seconds();
        const weft_status status = own_training_run(&t);
        assert_soon(begun);
        assert_true(fault_layer_hit());
        if (status != WEFT_ERROR_OPENCL || !strstr(weft_last_error(), said))
            fail_msg("%s", status == WEFT_OK ? "no error" : weft_last_error());
        assert_true(atomic_load(&allocator.live) > 0); /* what copies may use */
        hangs_assert_nothing_left();
        wi_clock_sleep(0.2); /* what hung goes on, and copies */
        limit_none();
        unsetenv("WEFT_UPLOAD_QUEUE");
    }
}

static int find_driver(void **state) {
    (void)state;
    weft_context *const context = test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT});
    tells = !(wi_context_device(context)->caps.quirks & WI_QUIRK_HELD_EVENTS);
    weft_context_release(context);
    limit = tells ? 0.4 : 4.0;
    snprintf(said, sizeof said, "did not finish within %g seconds", limit);
    return 0;
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(several_devices_may_hang),
        cmocka_unit_test(several_devices_are_waited_for), cmocka_unit_test(a_training_may_hang)};
    (void)argc;
    hangs_open(argv);
    return test_finish(cmocka_run_group_tests(tests, find_driver, NULL));
}
