/* Kernels that do not end where drivers may compile, or where a plan does not know what is waited for: in a plan's first run, in a self-test,
 * in a question to the device, when a context is made, in a profile, and before copies. Where the program has a longest_wait, each is an
 * error within its limit, and all is released. Several devices and trainings are test_hung_devices's. */
/* test slow */
#include "support/fixture.h"

#include "cl/context.h"
#include "cl/findings.h"
#include "cl/probe.h"
#include "cl/quirks.h"
#include "cl/waiting.h"
#include "support/hangs.h"
#include "support/scratch.h"
#include "support/tuned_training.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/profile.h>
#include <weft/train.h>

enum { STEPS = 3 };

static const double limit = 0.4;
static double first_limit;  /* drivers compile in it */
static char first_said[64]; /* first_said */
static bool tells;          /* the driver says how far it is in a run */

static const char *const nothing_more = "can no longer be used";

static weft_context_options options_with(const char *folder, scratch_log *log) {
    return (weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .cache_dir = folder, .tuning_share = -1,
        .longest_wait = limit, .longest_first_wait = first_limit, .log = log ? scratch_log_line : NULL,
        .log_user = log};
}

/* So that the driver has compiled what a limit is too short for, once for all cases: PoCL keeps it. Mesa keeps nothing for another context. */
static void compile_first(const char *folder) {
    static bool plain, self_tested;
    float losses[STEPS];
    bool *const compiled = getenv("WEFT_SELF_TEST") ? &self_tested : &plain;
    if (*compiled || !tells) return;
    *compiled = true;
    tuned_training t = tuned_training_begin((weft_context_options){
        WEFT_CONTEXT_OPTIONS_INIT, .cache_dir = scratch_path(folder, "first"), .tuning_share = -1});
    tuned_training_run(&t, STEPS, losses);
    tuned_training_end(&t);
}

static tuned_training begin(const char *folder, scratch_log *log) {
    compile_first(folder);
    return tuned_training_begin(options_with(scratch_path(folder, "cache"), log));
}

/* The limit counts only what the process waits for; a machine that is busy takes longer. */
static void assert_soon(double begun) {
    assert_true(wi_clock_seconds() - begun < first_limit + 20.0);
}

/* ---- a plan's first run ---- */

static void a_first_run_may_hang(void **state) {
    static float parameter[40 * 40], loss;
    tuned_training t = begin(*state, NULL);
    weft_tensor *const weights = weft_graph_parameter(t.graph, 0);
    hangs_arm(1, false);
    assert_weft_ok(weft_plan_run(t.plan));
    const double begun = wi_clock_seconds();
    assert_weft_fails(WEFT_ERROR_OPENCL, weft_plan_read(t.plan, t.outputs[0], &loss, sizeof loss),
        "plan: step ", "the kernel ", first_said, nothing_more);
    assert_soon(begun);
    assert_weft_fails(WEFT_ERROR_OPENCL, weft_tensor_read(weights, parameter, sizeof parameter), nothing_more,
        "the kernel ");
    assert_weft_fails(
        WEFT_ERROR_OPENCL, weft_tensor_write(weights, parameter, sizeof parameter), nothing_more);
    tuned_training_end(&t);
    assert_soon(begun);
    hangs_assert_nothing_left();
}

/* ---- copies behind what hangs ---- */

static weft_status read_parameter(tuned_training *t) {
    static float parameter[40 * 40];
    return weft_tensor_read(weft_graph_parameter(t->graph, 0), parameter, sizeof parameter);
}

static weft_status write_parameter(tuned_training *t) {
    static const float parameter[40 * 40] = {0};
    return weft_tensor_write(weft_graph_parameter(t->graph, 0), parameter, sizeof parameter);
}

static weft_status write_input(tuned_training *t) {
    static const float x[24 * 40] = {0};
    return weft_plan_write(t->plan, t->x, x, sizeof x);
}

static weft_status make_plan(tuned_training *t) {
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = 12};
    weft_plan *plan = NULL;
    const weft_status status = weft_plan_create(&plan, t->outputs, 1 + t->count, &options);
    const weft_status run = status == WEFT_OK ? weft_plan_wait(t->plan) : status;
    weft_plan_release(plan);
    return run;
}

static weft_status profile(tuned_training *t) {
    weft_profile *made = NULL;
    const weft_status status = weft_profile_run(&made, t->plan);
    weft_profile_release(made);
    return status;
}

static weft_status predict(tuned_training *t) {
    static const float x[40] = {0};
    const weft_column column = {.name = "x", .dtype = WEFT_F32, .rank = 1, .dims = {40}, .data = x};
    float loss;
    return weft_predict(t->outputs[0], 1, &column, 1, &loss, sizeof loss);
}

static void calls_behind_a_launch_have_a_limit(void **state) {
    static weft_status (*const calls[])(tuned_training *) = {
        read_parameter, write_parameter, write_input, make_plan, profile, predict};
    const size_t step = test_reduced() && !tells ? 2 : 1; /* of a slow driver some calls; PoCL has all */
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i += step) {
        float losses[STEPS];
        tuned_training t = begin(*state, NULL);
        tuned_training_run(&t, STEPS, losses);
        hangs_arm(1, false);
        assert_weft_ok(weft_plan_run(t.plan));
        const double begun = wi_clock_seconds();
        const weft_status status = calls[i](&t);
        if (status != WEFT_ERROR_OPENCL || !strstr(weft_last_error(), nothing_more))
            fail_msg("call %zu: %s", i, status == WEFT_OK ? "no error" : weft_last_error());
        tuned_training_end(&t);
        assert_soon(begun);
        hangs_assert_nothing_left();
    }
}

/* A launch that is not the plan's own, but of a run that is profiled. */
static void a_profiled_run_may_hang(void **state) {
    float losses[STEPS];
    tuned_training t = begin(*state, NULL);
    tuned_training_run(&t, STEPS, losses);
    hangs_arm(1, false);
    const double begun = wi_clock_seconds();
    weft_profile *made = NULL;
    assert_weft_fails(WEFT_ERROR_OPENCL, weft_profile_run(&made, t.plan), first_said, nothing_more);
    assert_null(made);
    tuned_training_end(&t);
    assert_soon(begun);
    hangs_assert_nothing_left();
}

/* Nobody has waited before. */
static void releases_end(void **state) {
    tuned_training t = begin(*state, NULL);
    hangs_arm(1, false);
    assert_weft_ok(weft_plan_run(t.plan));
    const double begun = wi_clock_seconds();
    tuned_training_end(&t);
    assert_soon(begun);
    hangs_assert_nothing_left();
}

/* ---- before a kernel is used ---- */

static bool is_left_out(const char *test) {
    if (!tells)
        print_message("%s left out: Mesa's compiler takes longer for a kernel than the test's limit\n", test);
    return !tells;
}

static size_t count_faults(const tuned_training *t) {
    size_t count, faults = 0;
    const wi_finding *const all = wi_findings_all(wi_context_device(t->context), &count);
    for (size_t i = 0; i < count; i++) faults += all[i].fault != NULL;
    return faults;
}

/* The first launch is of the self-test of the first kernel that is chosen; another serves, in the same program and in the next. */
static void a_self_test_may_hang(void **state) {
    scratch_log log = {0};
    float losses[STEPS];
    if (is_left_out(__func__)) return;
    compile_first(*state);
    tuned_training t = {.context = test_context_open(options_with(scratch_path(*state, "cache"), &log))};
    weft_context_release(t.context); /* what is asked of the device has its answers */
    hangs_arm(1, false);
    const double begun = wi_clock_seconds();
    t = tuned_training_begin(options_with(scratch_path(*state, "cache"), &log));
    assert_soon(begun);
    assert_true(fault_layer_hit());
    tuned_training_run(&t, STEPS, losses);
    if (!strstr(log.text, "it fails: it did not finish") || !strstr(log.text, first_said))
        fail_msg("%s", log.text);
    assert_int_equal(count_faults(&t), 1);
    tuned_training_end(&t);
    hangs_assert_nothing_left();
    t = tuned_training_begin(options_with(scratch_path(*state, "cache"), NULL));
    tuned_training_run(&t, STEPS, losses);
    assert_int_equal(count_faults(&t), 1);
    tuned_training_end(&t);
}

/* Nothing computes beside it: that one is remembered, and no other is taken for wrong. */
static void a_self_test_may_occupy_the_device(void **state) {
    char folder[4096];
    weft_tensor *outputs[1];
    weft_graph *graph;
    weft_plan *plan = NULL;
    float losses[STEPS];
    if (is_left_out(__func__)) return;
    compile_first(*state);
    snprintf(folder, sizeof folder, "%s", scratch_path(*state, "cache"));
    weft_context_release(test_context_open(options_with(folder, NULL)));
    weft_context *const context = test_context_open(options_with(folder, NULL));
    assert_weft_ok(weft_graph_create(&graph, context));
    outputs[0] = weft_linear(weft_tanh(weft_linear(weft_input(graph, "x", WEFT_F32, 40), 40)), 7);
    hangs_arm(1, true);
    const double begun = wi_clock_seconds();
    assert_weft_fails(
        WEFT_ERROR_OPENCL, weft_plan_create(&plan, outputs, 1, NULL), nothing_more, " by ", "did not finish");
    assert_null(plan);
    weft_graph_release(graph);
    weft_context_release(context);
    assert_soon(begun);
    hangs_arm(0, false);
    hangs_assert_nothing_left();
    tuned_training t = tuned_training_begin(options_with(folder, NULL));
    tuned_training_run(&t, STEPS, losses);
    assert_int_equal(count_faults(&t), 1);
    tuned_training_end(&t);
}

/* ---- questions to a device ---- */

static const char twice[] =
    "__kernel void weft_probe(__global const int *in, __global int *out) { *out = 2 * *in; }\n";

static weft_status ask_twice(bool *right, wi_device *device, const void *user) {
    const int in = 21;
    int out = 0;
    wi_program *program = NULL;
    (void)user;
    assert_weft_ok(wi_probe_program(&program, device, "the test's probe", NULL, twice));
    const weft_status status = wi_probe_run(&(wi_probe){.kernel = "weft_probe",
                                                .inputs = &in,
                                                .input_bytes = sizeof in,
                                                .results = &out,
                                                .result_bytes = sizeof out,
                                                .items = 1,
                                                .group = 1},
        device, program);
    *right = status == WEFT_OK && out == 42;
    return status;
}

static bool ask(weft_context *context) {
    const wi_question question = {.name = "the test's question",
        .unused = "what is asked for is not used",
        .fault = "it is wrong",
        .text = twice,
        .answer = ask_twice};
    bool right = true;
    assert_weft_ok(wi_probe_ask(&right, wi_context_device(context), &question));
    return right;
}

/* The program goes on without what was asked for, and so does the next start. */
static void a_question_may_hang(void **state) {
    scratch_log log = {0};
    if (is_left_out(__func__)) return;
    compile_first(*state);
    weft_context *context = test_context_open(options_with(*state, &log));
    hangs_arm(1, false);
    assert_false(ask(context));
    assert_true(fault_layer_hit());
    if (!strstr(log.text, "what is asked for is not used: it did not finish")) fail_msg("%s", log.text);
    assert_weft_ok(wi_check_computing(wi_context_device(context)));
    weft_context_release(context);
    hangs_assert_nothing_left();
    context = test_context_open(options_with(*state, NULL));
    assert_false(ask(context));
    weft_context_release(context);
    context = test_context_open(options_with(scratch_path(*state, "other"), NULL));
    assert_true(ask(context));
    weft_context_release(context);
}

/* Devices whose formats are probed are passed over; processors of class cpu are believed. */
static void a_context_may_hang(void **state) {
    weft_context *context = NULL;
    if (is_left_out(__func__)) return;
    compile_first(*state);
    const weft_context_options options = options_with(scratch_path(*state, "cache"), NULL);
    hangs_arm(1, true);
    const double begun = wi_clock_seconds();
    const weft_status status = weft_context_create(&context, &options);
    if (fault_layer_hit() && (status == WEFT_OK || !strstr(weft_last_error(), first_said)))
        fail_msg("%s", status == WEFT_OK ? "no error" : weft_last_error());
    if (!fault_layer_hit()) assert_weft_ok(status);
    assert_soon(begun);
    weft_context_release(context);
    hangs_arm(0, false);
    hangs_assert_nothing_left();
}

/* Mesa's compiler takes seconds for a kernel, and keeps none for another context. */
static int choose_limit(void **state) {
    (void)state;
    weft_context *const context = test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT});
    tells = !(wi_context_device(context)->caps.quirks & WI_QUIRK_HELD_EVENTS);
    weft_context_release(context);
    first_limit = tells ? 2.0 : 10.0;
    snprintf(first_said, sizeof first_said, "did not finish within %g seconds", first_limit);
    return 0;
}

static int setup(void **state) {
    setenv("WEFT_SELF_TEST", "1", 1);
    return scratch_setup(state);
}

static int teardown(void **state) {
    unsetenv("WEFT_SELF_TEST");
    return scratch_teardown(state);
}

#define SELF_TESTED(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {SCRATCH_TEST(a_first_run_may_hang),
        SCRATCH_TEST(calls_behind_a_launch_have_a_limit), SCRATCH_TEST(a_profiled_run_may_hang),
        SCRATCH_TEST(releases_end), SELF_TESTED(a_self_test_may_hang),
        SELF_TESTED(a_self_test_may_occupy_the_device), SCRATCH_TEST(a_question_may_hang),
        SCRATCH_TEST(a_context_may_hang)};
    (void)argc;
    hangs_open(argv);
    return test_finish(cmocka_run_group_tests(tests, choose_limit, NULL));
}
