/* Tuning between the runs of a plan: its share of the time is kept, by a clock that the test moves; the plan's results keep
 * their bits; and what was found serves plans that are made later, in this context and in others. */
/* test once slow */
#include "support/fixture.h"

#include "cl/choices.h"
#include "cl/context.h"
#include "kernels/site_name.h"
#include "plan/compiled_plan.h"
#include "support/checks.h"
#include "support/scratch.h"
#include "support/tuned_training.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STEPS = 600 };

/* ---- the account ---- */

static void measurements_keep_their_share(void **state) {
    static const double shares[] = {0.01, 0.05, 0.5};
    test_random random = test_random_named("share", 0);
    (void)state;
    for (int s = 0; s < 3; s++) {
        wi_share share = {.share = shares[s]};
        double now = 1000.0, began = now, spent = 0.0, longest = 0.0;
        int pieces = 0;
        for (int run = 0; run < 5000; run++) {
            now += test_random_between(&random, 0.0, 0.1);
            assert_true(spent <= shares[s] * (now - began - spent) + longest);
            if (!wi_share_run(&share, now)) continue;
            const double piece = test_random_between(&random, 0.0, 1.0);
            wi_share_measured(&share, now, now + piece);
            now += piece;
            spent += piece;
            longest = piece > longest ? piece : longest;
            pieces++;
        }
        assert_true(spent >= 0.9 * shares[s] * (now - began - spent));
        assert_true(pieces >= 4);
    }
}

/* A program that pauses for a day has not earned an hour of measurements. */
static void pauses_do_not_count(void **state) {
    wi_share share = {.share = 0.1};
    (void)state;
    assert_false(wi_share_run(&share, 0.0));
    assert_true(wi_share_run(&share, 86400.0));
    wi_share_measured(&share, 86400.0, 86400.0 + 0.1 * wi_share_longest);
    assert_false(wi_share_run(&share, 86400.0 + 0.1 * wi_share_longest));
    assert_true(wi_share_run(&share, 86400.0 + 0.2 * wi_share_longest));
}

/* ---- a plan at work ---- */

static tuned_training begin(const char *folder, double share) {
    return tuned_training_begin(
        (weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .cache_dir = folder, .tuning_share = share});
}

/* The first site that is tuned. */
static const wi_step *tuned_step(const weft_plan *plan, char name[WI_SITE_NAME]) {
    for (size_t i = 0; i < plan->partition.step_count; i++) {
        const wi_step *const step = plan->partition.steps[i];
        if (step->kind != WI_STEP_PRODUCT) continue;
        const wi_kernel_site site = wi_step_site(&plan->partition, step);
        wi_site_name(name, site.node->op, &site);
        return step;
    }
    fail_msg("the plan has no product");
    return NULL;
}

/* That is what both a plan made now and one made in a later process should use. */
static void assert_served(const tuned_training *t, const weft_plan *plan) {
    char name[WI_SITE_NAME], kernel[WI_KERNEL_NAME];
    const wi_step *const step = tuned_step(plan, name);
    const wi_choice *const choice = wi_choices_find(wi_context_device(t->context), name);
    assert_non_null(choice);
    wi_kernel_name(kernel, step->selection->chosen, step->selection->variant);
    assert_string_equal(kernel, choice->kernel);
}

static void a_plan_is_tuned_between_its_runs(void **state) {
    static float usual[STEPS], tuned[STEPS];
    const double share = 0.1;
    (void)state;
    char *const folder = scratch_make();
    tuned_training t = begin(folder, -1);
    assert_null(t.plan->background);
    tuned_training_run(&t, STEPS, usual);
    tuned_training_end(&t);
    t = begin(folder, share);
    wi_background *const b = t.plan->background;
    assert_non_null(b);
    int runs = 0;
    for (; runs < STEPS && !b->ended; runs++) {
        tuned_training_run(&t, 1, &tuned[runs]);
        assert_true(b->pieces * tuned_look <= share * (1.0 + 2 * tuned_look) * runs + tuned_look);
    }
    assert_true(b->ended && b->tuner.sites >= 1 && b->tuner.tried > b->tuner.sites);
    assert_true(b->pieces >= b->tuner.tried); /* one at a time */
    tuned_training_run(&t, STEPS - runs, tuned + runs);
    assert_memory_equal(tuned, usual, sizeof usual);
    weft_plan *const next = tuned_training_plan(&t);
    assert_served(&t, next);
    weft_plan_release(next);
    tuned_training_end(&t);
    t = begin(folder, share);
    assert_served(&t, t.plan);
    tuned_training_run(&t, 20, tuned);
    assert_true(t.plan->background->ended && t.plan->background->pieces == 0); /* all is known */
    size_t kept;
    const wi_choice *const choices = wi_choices_all(wi_context_device(t.context), &kept);
    for (size_t i = 0; i < kept; i++) assert_null(choices[i].fault); /* no trial is left over */
    tuned_training_end(&t);
    scratch_remove(folder);
}

/* ---- a process that ends ---- */

static struct {
    void (*trying)(void *user, const char *site, const char *kernel);
    int begun, deadly;
    const char *missed; /* not tried: site and kernel */
} watch;

/* Passes on what the tuner says, and ends the process amid the candidate whose turn it is, or, where that is negative, after it. */
static void end_amid(void *user, const char *site, const char *kernel) {
    watch.trying(user, site, kernel);
    if (site ? ++watch.begun == watch.deadly : watch.begun == -watch.deadly) raise(SIGKILL);
    if (!site) return;
    char both[WI_SITE_NAME + WI_KERNEL_NAME];
    snprintf(both, sizeof both, "%s %s", site, kernel);
    if (watch.missed) assert_string_not_equal(both, watch.missed);
}

static void tune_watched(tuned_training *t, int deadly, const char *missed) {
    static float losses[STEPS];
    wi_background *const b = t->plan->background;
    watch.trying = b->tuner.trying;
    watch.begun = 0;
    watch.deadly = deadly;
    watch.missed = missed;
    b->tuner.trying = end_amid;
    for (int i = 0; i < STEPS && !b->ended; i++) tuned_training_run(t, 1, losses);
    assert_true(b->ended && watch.begun == b->tuner.tried);
}

/* What ends a process that tunes: amid the built-in choice, after another candidate, amid it. */
enum { AMID_USUAL, AFTER_OTHER, AMID_OTHER, WAYS };
static char *folders[WAYS];

static void tune_and_die(const char *folder, int deadly) {
    int status = -1;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        tuned_training t = begin(folder, 0.5);
        tune_watched(&t, deadly, NULL);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* Before a device is opened: drivers do not survive a fork. */
static int end_processes(void **state) {
    static const int deadly[WAYS] = {1, -2, 2};
    (void)state;
    for (int i = 0; i < WAYS; i++) {
        folders[i] = scratch_make();
        tune_and_die(folders[i], deadly[i]);
    }
    return 0;
}

static int remove_folders(void **state) {
    (void)state;
    for (int i = 0; i < WAYS; i++) scratch_remove(folders[i]);
    return 0;
}

/* The site and the kernel that the tuning file knows to have ended a process; "": none. */
static void find_deadly(weft_context *context, char both[WI_SITE_NAME + WI_KERNEL_NAME]) {
    size_t count;
    const wi_choice *const all = wi_choices_all(wi_context_device(context), &count);
    *both = '\0';
    for (size_t i = 0; i < count; i++) {
        if (!all[i].fault || strcmp(all[i].fault, "the process ended while it was tried") != 0) continue;
        assert_string_equal(both, "");
        snprintf(both, WI_SITE_NAME + WI_KERNEL_NAME, "%s %s", all[i].site, all[i].kernel);
    }
}

/* The built-in choice has served in runs before. */
static void nothing_else_is_blamed(void **state) {
    (void)state;
    for (int i = 0; i < AMID_OTHER; i++) {
        char blamed[WI_SITE_NAME + WI_KERNEL_NAME];
        tuned_training t = begin(folders[i], 0.5);
        find_deadly(t.context, blamed);
        assert_string_equal(blamed, "");
        tuned_training_end(&t);
    }
}

/* It is not tried again: by whatever starts next, and after that; the others are. */
static void what_ends_the_process_is_remembered(void **state) {
    const char *const folder = folders[AMID_OTHER];
    char deadly[WI_SITE_NAME + WI_KERNEL_NAME], again[sizeof deadly];
    (void)state;
    tuned_training t = begin(folder, 0.5);
    find_deadly(t.context, deadly);
    assert_string_not_equal(deadly, "");
    tune_watched(&t, 0, deadly);
    tuned_training_end(&t);
    t = begin(folder, 0.5);
    find_deadly(t.context, again);
    assert_string_equal(again, deadly);
    assert_served(&t, t.plan);
    tuned_training_end(&t);
}

/* ---- other ends ---- */

/* Without a cache folder choices are for plans of the same context. */
static void no_folder_is_needed(void **state) {
    static float losses[STEPS];
    (void)state;
    tuned_training t = begin("", 0.5);
    for (int i = 0; i < STEPS && !t.plan->background->ended; i++) tuned_training_run(&t, 1, losses);
    assert_true(t.plan->background->ended && t.plan->background->tuner.sites >= 1);
    weft_plan *const next = tuned_training_plan(&t);
    assert_served(&t, next);
    weft_plan_release(next);
    tuned_training_end(&t);
}

/* A plan may go in the middle of a site, and what a limit of memory has no room for is passed over. */
static void a_plan_may_end_at_any_time(void **state) {
    static float losses[STEPS];
    (void)state;
    for (int runs = 3; runs < 12; runs += 4) {
        tuned_training t = begin("", 0.5);
        tuned_training_run(&t, runs, losses);
        tuned_training_end(&t);
    }
    tuned_training t = begin("", 0.5);
    size_t held;
    weft_context_memory(t.context, &held, NULL);
    tuned_training_end(&t);
    t = tuned_training_begin((weft_context_options){
        WEFT_CONTEXT_OPTIONS_INIT, .cache_dir = "", .tuning_share = 0.5, .memory_limit = held + 64});
    tuned_training_run(&t, 40, losses);
    assert_true(t.plan->background->ended && t.plan->background->tuner.sites == 0);
    tuned_training_end(&t);
}

static void wrong_shares_are_refused(void **state) {
    weft_context *context = NULL;
    weft_context_options options = {WEFT_CONTEXT_OPTIONS_INIT, .tuning_share = 0.6};
    (void)state;
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_context_create(&context, &options), "tuning_share", "0.5");
    assert_int_equal(setenv("WEFT_TUNING_SHARE", "much", 1), 0);
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_context_create(&context, NULL), "WEFT_TUNING_SHARE", "much");
    assert_int_equal(setenv("WEFT_TUNING_SHARE", "0.25", 1), 0);
    context = test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT});
    assert_true(wi_context_device(context)->tuning_share == 0.25);
    weft_context_release(context);
    context = test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .tuning_share = -1});
    assert_true(wi_context_device(context)->tuning_share <= 0);
    weft_context_release(context);
    assert_int_equal(unsetenv("WEFT_TUNING_SHARE"), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measurements_keep_their_share),
        cmocka_unit_test(pauses_do_not_count),
        cmocka_unit_test(a_plan_is_tuned_between_its_runs),
        cmocka_unit_test(nothing_else_is_blamed),
        cmocka_unit_test(what_ends_the_process_is_remembered),
        cmocka_unit_test(no_folder_is_needed),
        cmocka_unit_test(a_plan_may_end_at_any_time),
        cmocka_unit_test(wrong_shares_are_refused),
    };
    return test_finish(cmocka_run_group_tests(tests, end_processes, remove_folders));
}
