/* Kernels that do not end in a run of a plan, where the program has a longest_wait: the wait is an error that names the step and the kernel,
 * later starts know the kernel, what needs the device fails, and all is released. What is slow, many, or stopped is waited for. Launches hang by
 * the layer of faults; in a process of its own a kernel loops for ever at its fourth run. */
/* test slow */
#include "support/fixture.h"

#include "cl/choices.h"
#include "cl/context.h"
#include "cl/quirks.h"
#include "kernels/site_name.h"
#include "plan/compiled_plan.h"
#include "plan/tune_plan.h"
#include "support/broken_kernel.h"
#include "support/child_test.h"
#include "support/hangs.h"
#include "support/scratch.h"
#include "support/tuned_training.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STEPS = 3 };

static const double limit = 0.4;

static tuned_training begin(const char *folder, double longest) {
    return tuned_training_begin((weft_context_options){
        WEFT_CONTEXT_OPTIONS_INIT, .cache_dir = folder, .tuning_share = -1, .longest_wait = longest});
}

/* The number of the run's first launch, from 1, that is or is not one of a contraction's. */
static long launch_of(const weft_plan *plan, bool contraction) {
    for (size_t i = 0; i < plan->launches.count; i++) {
        const wi_step *const step = plan->launches.launches[i].run->step;
        if (wi_step_may_be_tuned(&plan->partition, step) == contraction) return (long)i + 1;
    }
    fail_msg("the plan has no such launch");
    return 0;
}

/* Does the driver say how far it is in a run? */
static bool tells(const tuned_training *t) {
    return !(wi_context_device(t->context)->caps.quirks & WI_QUIRK_HELD_EVENTS);
}

/* The launch of a later run hangs. What the wait for it says is checked. */
static void hang_at(tuned_training *t, long launch) {
    const wi_step *const step = t->plan->launches.launches[tells(t) ? launch - 1 : 0].run->step;
    float losses[STEPS];
    char within[64], first[32];
    tuned_training_run(t, STEPS, losses);
    hangs_arm(launch, false);
    assert_weft_ok(weft_plan_run(t->plan));
    assert_true(fault_layer_hit());
    snprintf(within, sizeof within, "did not finish within %g seconds", limit);
    snprintf(first, sizeof first, "plan: step %d (", step->index);
    assert_weft_fails(WEFT_ERROR_OPENCL, weft_plan_read(t->plan, t->outputs[0], losses, sizeof *losses),
        first, wi_step_implementation_name(t->plan, step), within, "can no longer be used");
}

static void assert_nothing_works(tuned_training *t) {
    static const char *const said = "can no longer be used";
    weft_plan *plan = NULL;
    float loss;
    assert_weft_fails(WEFT_ERROR_OPENCL, weft_plan_run(t->plan), said);
    assert_weft_fails(WEFT_ERROR_OPENCL, weft_plan_wait(t->plan), said);
    assert_weft_fails(WEFT_ERROR_OPENCL, weft_plan_read(t->plan, t->outputs[0], &loss, sizeof loss), said);
    assert_weft_fails(WEFT_ERROR_OPENCL, weft_plan_create(&plan, t->outputs, 1 + t->count, NULL), said);
}

/* The first contraction's site, and another kernel than the one that it has. */
static void find_other(const weft_plan *plan, char *site, char *kernel) {
    const wi_step *const step = plan->launches.launches[launch_of(plan, true) - 1].run->step;
    const wi_kernel_site at = wi_step_site(&plan->partition, step);
    const wi_selection *const selection = step->selection;
    wi_site_name(site, at.node->op, &at);
    for (int i = 0; i < selection->count; i++) {
        const wi_candidate *const one = &selection->candidates[i];
        const bool serves = one->verdict == WI_VERDICT_SLOWER || one->verdict == WI_VERDICT_MARGIN;
        if (serves) wi_kernel_name(kernel, one->implementation, one->variant);
        if (serves) return;
    }
    fail_msg("there is one kernel alone for %s", site);
}

static void get_kernel(const weft_plan *plan, char *kernel) {
    const wi_step *const step = plan->launches.launches[launch_of(plan, true) - 1].run->step;
    wi_kernel_name(kernel, step->selection->chosen, step->selection->variant);
}

static size_t count_faults(const tuned_training *t) {
    size_t count, faults = 0;
    const wi_choice *const all = wi_choices_all(wi_context_device(t->context), &count);
    for (size_t i = 0; i < count; i++) faults += all[i].fault != NULL;
    return faults;
}

/* A tuned one, which others that are not tuned follow. */
static void a_contraction_may_hang(void **state) {
    char site[WI_SITE_NAME], tuned[WI_KERNEL_NAME], kernel[WI_KERNEL_NAME];
    tuned_training t = begin(*state, limit);
    wi_device *device = wi_context_device(t.context);
    find_other(t.plan, site, tuned);
    assert_int_equal(
        wi_choices_set(device, &(wi_choice){.site = site, .kernel = tuned, .seconds = 1e-3, .usual = 2e-3}),
        WEFT_OK);
    assert_int_equal(wi_choices_save(device, NULL), WEFT_OK);
    tuned_training_end(&t);

    t = begin(*state, limit);
    get_kernel(t.plan, kernel);
    assert_string_equal(kernel, tuned);
    hang_at(&t, launch_of(t.plan, true));
    assert_nothing_works(&t);
    tuned_training_end(&t);
    hangs_assert_nothing_left();

    t = begin(*state, limit);
    const char *const fault = wi_choices_fault(wi_context_device(t.context), site, tuned);
    assert_non_null(fault);
    assert_string_equal(fault, "it did not finish within 0.4 seconds of a run");
    assert_int_equal(count_faults(&t), 1);
    get_kernel(t.plan, kernel);
    assert_string_not_equal(kernel, tuned);
    tuned_training_end(&t);
}

/* Nobody has tuned what may be it. */
static void another_kernel_may_hang(void **state) {
    tuned_training t = begin(*state, limit);
    hang_at(&t, launch_of(t.plan, false));
    assert_int_equal(count_faults(&t), 0);
    tuned_training_end(&t);
    hangs_assert_nothing_left();
}

/* A write waits for memory that the launch reads. */
static void a_write_may_wait(void **state) {
    static const float x[24 * 40] = {0};
    float losses[STEPS];
    setenv("WEFT_UPLOAD_QUEUE", "1", 1);
    tuned_training t = begin(*state, limit);
    unsetenv("WEFT_UPLOAD_QUEUE");
    tuned_training_run(&t, STEPS, losses);
    hangs_arm(launch_of(t.plan, true), false);
    assert_weft_ok(weft_plan_run(t.plan));
    weft_status status = WEFT_OK;
    for (int i = 0; status == WEFT_OK && i < 3; i++) status = weft_plan_write(t.plan, t.x, x, sizeof x);
    assert_int_equal(status, WEFT_ERROR_OPENCL);
    if (!strstr(weft_last_error(), "did not finish within 0.4 seconds")) fail_msg("%s", weft_last_error());
    tuned_training_end(&t);
    hangs_assert_nothing_left();
}

/* The waits that a plan's end makes are as long at most, and so is a run that has no room for its launches. */
static void a_release_ends(void **state) {
    float losses[STEPS];
    tuned_training t = begin(*state, limit);
    tuned_training_run(&t, STEPS, losses);
    hangs_arm(1, false);
    weft_status status = WEFT_OK;
    for (int run = 0; status == WEFT_OK && run < 5000; run++) status = weft_plan_run(t.plan);
    assert_int_equal(status, WEFT_ERROR_OPENCL);
    if (!strstr(weft_last_error(), "did not finish within 0.4 seconds")) fail_msg("%s", weft_last_error());
    tuned_training_end(&t);
    hangs_assert_nothing_left();

    t = begin(*state, limit);
    tuned_training_run(&t, STEPS, losses);
    hangs_arm(1, false);
    assert_weft_ok(weft_plan_run(t.plan));
    tuned_training_end(&t);
    hangs_assert_nothing_left();
}

/* More launches than are noted at once, in runs that take a multiple of the limit together. */
static void many_runs_are_waited_for(void **state) {
    const double begun = wi_clock_seconds();
    float loss;
    tuned_training t = begin(*state, limit);
    for (size_t enqueued = 0; enqueued < 5000 || wi_clock_seconds() - begun < 2 * limit;
         enqueued += t.plan->launches.count)
        assert_weft_ok(weft_plan_run(t.plan));
    assert_weft_ok(weft_plan_read(t.plan, t.outputs[0], &loss, sizeof loss));
    tuned_training_end(&t);
}

/* ---- what hangs, and goes on ---- */

static void *go_on(void *seconds) {
    wi_clock_sleep(*(const double *)seconds);
    fault_layer_end_hung();
    return NULL;
}

/* The first launch of the next run goes on after so many seconds, in which the wait for it goes on, too. */
static void wait_for_launch(tuned_training *t, double seconds) {
    wi_thread thread = {0};
    float loss;
    hangs_arm(1, false);
    assert_weft_ok(weft_plan_run(t->plan));
    assert_true(fault_layer_hit());
    assert_int_equal(wi_thread_start(&thread, go_on, &seconds), WEFT_OK);
    const weft_status status = weft_plan_read(t->plan, t->outputs[0], &loss, sizeof loss);
    wi_thread_join(&thread);
    assert_weft_ok(status);
}

/* A driver may compile in it. */
static void a_first_run_has_a_longer_limit(void **state) {
    tuned_training t = begin(*state, limit);
    wait_for_launch(&t, 3 * limit);
    tuned_training_end(&t);
}

static bool has_limit(const char *folder, double longest) {
    tuned_training t = begin(folder, longest);
    const bool has = wi_context_device(t.context)->pending != NULL;
    tuned_training_end(&t);
    return has;
}

static void a_limit_is_asked_for(void **state) {
    assert_false(has_limit(*state, 0));
    setenv("WEFT_LONGEST_WAIT", "60", 1);
    assert_true(has_limit(*state, 0));
    assert_false(has_limit(*state, -1));
    unsetenv("WEFT_LONGEST_WAIT");
}

static void stop_for(double seconds) {
    const pid_t parent = getpid(), child = fork();
    assert_true(child >= 0);
    if (child > 0) return;
    wi_clock_sleep(0.1);
    kill(parent, SIGSTOP);
    wi_clock_sleep(seconds);
    kill(parent, SIGCONT);
    _exit(0);
}

/* The time counts in which the process runs. */
static void a_stopped_process_does_not_wait(void **state) {
    float losses[STEPS];
    int status;
    tuned_training t = begin(*state, 1.0);
    tuned_training_run(&t, STEPS, losses);
    stop_for(2.0);
    wait_for_launch(&t, 2.4);
    assert_true(wait(&status) > 0);
    tuned_training_end(&t);
}

/* ---- a kernel that loops for ever ---- */

static int loops_status;

/* A driver that says which launch runs leaves no other suspect, so that the kernel is remembered though nobody has tuned it. */
static bool is_right(const tuned_training *t, weft_status status) {
    const char *const said = weft_last_error();
    const bool alone = strstr(said, "launches after it") == NULL;
    return status == WEFT_ERROR_OPENCL && strstr(said, "plan: step") && strstr(said, "the kernel naive (") &&
           strstr(said, "did not finish within 0.4 seconds") && alone == tells(t) && count_faults(t) == alone;
}

/* The simplest product, by what the input's first number is in a later run. */
static int loop_in_a_run(const char *folder) {
    static float x[24 * 40];
    float losses[STEPS];
    setenv("WEFT_GEMM", "naive", 1);
    break_kernel_by_loop(folder, "WEFT_OF_A(WEFT_GET_)(a, 0) == 77.0f");
    tuned_training t = begin(scratch_path(folder, "cache"), limit);
    tuned_training_run(&t, STEPS, losses);
    x[0] = 77.0f;
    weft_status status = weft_plan_write(t.plan, t.x, x, sizeof x);
    if (status == WEFT_OK) status = weft_plan_run(t.plan);
    if (status == WEFT_OK) status = weft_plan_read(t.plan, t.outputs[0], losses, sizeof *losses);
    printf("a kernel that loops in a run: %s\n", weft_last_error());
    fflush(stdout);
    const bool right = is_right(&t, status);
    tuned_training_end(&t);
    return right ? 0 : 1;
}

static int loop_in_a_process(void **state) {
    (void)state;
    loops_status = child_test(loop_in_a_run, 240);
    return 0;
}

static void a_kernel_may_loop_for_ever(void **state) {
    (void)state;
    assert_int_equal(loops_status, 0);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_kernel_may_loop_for_ever),
        SCRATCH_TEST(a_contraction_may_hang), SCRATCH_TEST(another_kernel_may_hang),
        SCRATCH_TEST(a_write_may_wait), SCRATCH_TEST(a_release_ends), SCRATCH_TEST(many_runs_are_waited_for),
        SCRATCH_TEST(a_first_run_has_a_longer_limit), SCRATCH_TEST(a_limit_is_asked_for),
        SCRATCH_TEST(a_stopped_process_does_not_wait)};
    (void)argc;
    hangs_open(argv);
    return test_finish(cmocka_run_group_tests(tests, loop_in_a_process, NULL));
}
