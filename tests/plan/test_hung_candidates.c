/* Kernels that do not end while a plan is tuned between its runs: the program goes on, the kernel is remembered, the program
 * tunes no more, and nothing is left behind. Launches hang by the layer of faults; in a process of its own a kernel loops for ever. */
/* test slow */
#include "support/fixture.h"

#include "cl/choices.h"
#include "cl/context.h"
#include "plan/compiled_plan.h"
#include "support/broken_kernel.h"
#include "support/checks.h"
#include "support/hangs.h"
#include "support/scratch.h"
#include "support/tuned_training.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STEPS = 600, AFTERWARDS = 8 };

static const double limit = 0.4;

static tuned_training begin(const char *folder, double share, scratch_log *log) {
    tuned_training t = tuned_training_begin((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT,
        .cache_dir = folder, .tuning_share = share, .log = log ? scratch_log_line : NULL, .log_user = log});
    if (t.plan->background) t.plan->background->limit = limit;
    return t;
}

static struct {
    void (*trying)(void *user, const char *site, const char *kernel);
    int begun, hangs; /* hangs: number of the candidate whose first launch does; 0: none */
    bool all;         /* and each launch after it */
    char site[WI_SITE_NAME], kernel[WI_KERNEL_NAME];
    const char *missed; /* a kernel that must not be tried at the site */
} watch;

static void hang_amid(void *user, const char *site, const char *kernel) {
    watch.trying(user, site, kernel);
    if (!site) return;
    if (watch.missed) assert_false(strcmp(site, watch.site) == 0 && strcmp(kernel, watch.missed) == 0);
    if (++watch.begun != watch.hangs) return;
    snprintf(watch.site, sizeof watch.site, "%s", site);
    snprintf(watch.kernel, sizeof watch.kernel, "%s", kernel);
    hangs_arm(1, watch.all);
}

/* Until tuning has ended. Returns the number of steps; a run that fails is the last. */
static int tune(tuned_training *t, int hangs, weft_status *status, float *losses) {
    wi_background *const b = t->plan->background;
    int steps = 0;
    watch.trying = b->tuner.trying;
    watch.begun = 0;
    watch.hangs = hangs;
    b->tuner.trying = hang_amid;
    for (*status = WEFT_OK; steps < STEPS && !b->ended; steps++) {
        (void)tuned_clock();
        for (int i = 0; i < 16; i++) (void)tuned_clock(); /* a second */
        *status = weft_plan_run(t->plan);
        if (*status != WEFT_OK) return steps;
        assert_weft_ok(weft_plan_read(t->plan, t->outputs[0], &losses[steps], sizeof *losses));
    }
    assert_true(b->ended);
    return steps;
}

static void compute_usual(float *losses) {
    tuned_training t = begin("", -1, NULL);
    tuned_training_run(&t, STEPS, losses);
    tuned_training_end(&t);
}

/* The second candidate is the first that does not serve already. */
static void hang_and_go_on(const char *folder, const char *said) {
    static float usual[STEPS + AFTERWARDS], losses[STEPS + AFTERWARDS];
    scratch_log log = {0};
    weft_status status;
    compute_usual(usual);
    size_t before, after;
    tuned_training t = begin(folder, 0.5, &log);
    weft_context_memory(t.context, &before, NULL);
    const int steps = tune(&t, 2, &status, losses);
    weft_context_memory(t.context, &after, NULL);
    assert_true(after <= before); /* what the kernel may still write to is nobody's */
    assert_weft_ok(status);
    assert_true(fault_layer_hit());
    assert_int_equal(t.plan->background->tuner.tried, 2);
    tuned_training_run(&t, AFTERWARDS, losses + steps);
    assert_memory_equal(losses, usual, (size_t)(steps + AFTERWARDS) * sizeof *losses);
    assert_non_null(strstr(log.text, said));
    assert_non_null(strstr(log.text, "tuning between runs has stopped"));
    weft_plan *const next = tuned_training_plan(&t);
    assert_null(next->background);
    weft_plan_release(next);
    tuned_training_end(&t);
    hangs_assert_nothing_left();
}

/* Whatever starts next measures the others. missed: what is known to hang at the site; NULL: nothing is, or its self-test says so. */
static void tune_others(const char *folder, const char *missed) {
    static float losses[STEPS];
    weft_status status;
    tuned_training t = begin(folder, 0.5, NULL);
    watch.missed = missed;
    const int steps = tune(&t, 0, &status, losses);
    watch.missed = NULL;
    assert_true(status == WEFT_OK && steps > 0 && t.plan->background->tuner.sites > 0);
    tuned_training_end(&t);
}

static void a_kernel_may_hang_in_its_self_test(void **state) {
    hang_and_go_on(*state, "quarantine");
    tune_others(*state, NULL);
}

/* What has been tuned once has passed its self-test; without the choices it is tried at the site alone. */
static void a_kernel_may_hang_at_its_site(void **state) {
    char path[4096];
    tune_others(*state, NULL);
    assert_int_equal(scratch_count(*state, "tuning.txt", path), 1);
    assert_int_equal(unlink(path), 0);
    hang_and_go_on(*state, "did not finish within 0.4 seconds");
    scratch_log log = {0};
    tuned_training t = begin(*state, -1, &log);
    const char *const fault = wi_choices_fault(wi_context_device(t.context), watch.site, watch.kernel);
    assert_non_null(fault);
    assert_string_equal(fault, "it did not finish within 0.4 seconds");
    tuned_training_end(&t);
    tune_others(*state, watch.kernel);
}

/* Nor is anything enqueued that uses the caller's memory, which would have to stay. */
static void assert_nothing_works(tuned_training *t) {
    static const char *const said = "can no longer be used";
    static float x[24 * 40], parameter[40 * 40];
    weft_tensor *const weights = weft_graph_parameter(t->graph, 0);
    weft_plan *plan = NULL;
    float loss;
    assert_weft_fails(WEFT_ERROR_OPENCL, weft_plan_read(t->plan, t->outputs[0], &loss, sizeof loss), said);
    assert_weft_fails(
        WEFT_ERROR_OPENCL, weft_plan_read_async(t->plan, t->outputs[0], &loss, sizeof loss), said);
    assert_weft_fails(WEFT_ERROR_OPENCL, weft_plan_write(t->plan, t->x, x, sizeof x), said);
    assert_weft_fails(WEFT_ERROR_OPENCL, weft_plan_write_async(t->plan, t->x, x, sizeof x), said);
    assert_weft_fails(WEFT_ERROR_OPENCL, weft_tensor_read(weights, parameter, sizeof parameter), said);
    assert_weft_fails(WEFT_ERROR_OPENCL, weft_plan_wait(t->plan), said);
    assert_weft_fails(WEFT_ERROR_OPENCL, weft_plan_create(&plan, t->outputs, 1, NULL), said);
}

/* A device on which nothing else ends is an error of the run and of what follows, and not a wait for ever. */
static void a_kernel_may_occupy_the_device(void **state) {
    static float losses[STEPS];
    weft_status status;
    scratch_log log = {0};
    tuned_training t = begin(*state, 0.5, &log);
    watch.all = true;
    const int steps = tune(&t, 2, &status, losses);
    watch.all = false;
    assert_int_equal(status, WEFT_ERROR_OPENCL);
    if (!strstr(weft_last_error(), "can no longer be used")) fail_msg("%s", weft_last_error());
    assert_true(steps > 0);
    assert_nothing_works(&t);
    tuned_training_end(&t);
    hangs_arm(0, false);
    hangs_assert_nothing_left();
    tune_others(*state, NULL);
}

/* ---- a kernel that loops for ever ---- */

static int loops_status; /* of the process */

/* So that no candidate takes longer than the limit to compile where the driver keeps what it has compiled: it would pass for one that hangs. */
static void compile_candidates(const char *folder) {
    static float losses[STEPS];
    weft_status status;
    tuned_training t = begin(folder, 0.5, NULL);
    t.plan->background->limit = 60.0;
    tune(&t, 0, &status, losses);
    tuned_training_end(&t);
}

/* One that the driver has divided leaves the others of its threads; else the device computes nothing any more. Either is an answer. */
static int tune_beside_a_loop(const char *folder) {
    static float losses[STEPS];
    weft_status status;
    scratch_log log = {0};
    setenv("WEFT_SELF_TEST", "1", 1);
    compile_candidates(scratch_path(folder, "first"));
    break_kernel_by_loop(folder);
    tuned_training t = begin(scratch_path(folder, "cache"), 0.5, &log);
    const int steps = tune(&t, 0, &status, losses);
    if (status == WEFT_OK) status = weft_plan_run(t.plan);
    const bool answered = status == WEFT_OK || strstr(weft_last_error(), "can no longer be used") != NULL;
    printf("beside a kernel that loops, %d steps: %s\n", steps,
        status == WEFT_OK ? "the program goes on" : weft_last_error());
    const bool known = strstr(log.text, "naive") && strstr(log.text, "did not finish within 0.4 seconds");
    if (!known) printf("the log has no line of that kernel:\n%s\n", log.text);
    tuned_training_end(&t);
    fflush(stdout);
    return answered && known ? 0 : 1;
}

/* Before this process opens a device: drivers do not survive a fork. */
static int loop_in_a_process(void **state) {
    char *const folder = scratch_make();
    int status = -1;
    (void)state;
    const pid_t child = fork();
    if (child == 0) {
        alarm(600);
        _exit(tune_beside_a_loop(folder));
    }
    loops_status = child > 0 && waitpid(child, &status, 0) == child ? status : -1;
    scratch_remove(folder);
    return 0;
}

static void a_kernel_may_loop_for_ever(void **state) {
    (void)state;
    assert_int_equal(loops_status, 0);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_kernel_may_loop_for_ever),
        SCRATCH_TEST(a_kernel_may_hang_in_its_self_test), SCRATCH_TEST(a_kernel_may_hang_at_its_site),
        SCRATCH_TEST(a_kernel_may_occupy_the_device)};
    (void)argc;
    hangs_open(argv);
    return test_finish(cmocka_run_group_tests(tests, loop_in_a_process, NULL));
}
