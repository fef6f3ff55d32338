/* The tuner: what it chooses serves the next context, is right, and is never slower than the built-in choice by its own
 * measurement; what is wrong at the site is remembered; a choice that cannot serve is ignored with one line of the log. */
/* test slow */
#include "support/checks.h"
#include "support/scratch.h"

#include "cl/choices.h"
#include "cl/context.h"
#include "kernels/product/gemm.h"
#include "kernels/product/gemm_shared.h"
#include "kernels/site_name.h"
#include "ops/op_table.h"
#include "support/fixture.h"
#include "tuner/site_operands.h"
#include "tuner/tune_plan.h"
#include "tuner/tuner.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const wi_gemm_shape shape = {1, 96, 80, 72, 0, 72, 1, 0, 80, 1, NULL};

static wi_kernel_site site_of(weft_context *context) {
    return (wi_kernel_site){.device = &wi_context_device(context)->profile, .product = &shape};
}

static wi_selection choose(weft_context *context) {
    const wi_kernel_site site = site_of(context);
    wi_selection selection;
    assert_ok(wi_select(&selection, wi_context_device(context), &wi_op_matmul, &site));
    return selection;
}

static wi_verdict verdict_of(const wi_selection *selection) {
    for (int i = 0; i < selection->count; i++) {
        const wi_candidate *const candidate = &selection->candidates[i];
        if (candidate->implementation == selection->chosen && candidate->variant == selection->variant)
            return candidate->verdict;
    }
    fail_msg("what was chosen is no candidate");
    return WI_VERDICT_REFUSED;
}

typedef struct said {
    int begun, ended;
} said;

static void count(void *user, const char *site, const char *kernel) {
    said *const counts = user;
    assert_int_equal(site != NULL, kernel != NULL);
    if (site)
        counts->begun++;
    else
        counts->ended++;
}

static void tuned_choices_serve_the_next_context(void **state) {
    char name[WI_SITE_NAME], kernel[WI_KERNEL_NAME];
    scratch_log log = {0};
    said counts = {0};
    weft_context *context = scratch_context(*state, &log);
    wi_kernel_site site = site_of(context);
    kernel_tuner tuner = {.device = wi_context_device(context),
        .deadline = HUGE_VAL,
        .gain = TUNER_GAIN,
        .trying = count,
        .user = &counts};
    wi_choices_use(tuner.device, false);
    assert_ok(tune_site(&tuner, &wi_op_matmul, &site));
    assert_true(tuner.sites == 1 && tuner.tried > 1 && tuner.changed <= 1);
    assert_in_range(
        counts.begun, tuner.tried, tuner.tried + 1); /* the best one once more, in turn with the usual one */
    assert_int_equal(counts.ended, counts.begun);
    weft_context_release(context);
    context = scratch_context(*state, &log);
    site = site_of(context);
    wi_site_name(name, &wi_op_matmul, &site);
    const wi_choice *const choice = wi_choices_find(wi_context_device(context), name);
    assert_non_null(choice);
    assert_true(choice->seconds <= choice->usual);
    const wi_selection selection = choose(context);
    wi_kernel_name(kernel, selection.chosen, selection.variant);
    assert_string_equal(kernel, choice->kernel);
    assert_int_equal(verdict_of(&selection), WI_VERDICT_TUNED);
    assert_int_equal(log.warnings, 0);
    weft_context_release(context);
}

static void without_time_nothing_is_kept(void **state) {
    scratch_log log = {0};
    size_t kept;
    weft_context *const context = scratch_context(*state, &log);
    const wi_kernel_site site = site_of(context);
    kernel_tuner tuner = {.device = wi_context_device(context), .deadline = 0.0, .gain = TUNER_GAIN};
    wi_choices_use(tuner.device, false);
    assert_ok(tune_site(&tuner, &wi_op_matmul, &site));
    (void)wi_choices_all(tuner.device, &kept);
    assert_true(kept == 0 && tuner.sites == 0 && tuner.tried == 0);
    weft_context_release(context);
}

static void note_naive(void *user, const char *site, const char *kernel) {
    (void)site;
    *(bool *)user |= kernel && strncmp(kernel, "naive", 5) == 0;
}

/* The portable product would take tenths of a second at this size, and minutes at that of a network. */
static void hopeless_kernels_are_not_run(void **state) {
    enum { LARGE = 500 };
    static const wi_gemm_shape sizes[] = {
        {1, LARGE, LARGE, LARGE, 0, LARGE, 1, 0, LARGE, 1, NULL}, {1, 96, 80, 72, 0, 72, 1, 0, 80, 1, NULL}};
    scratch_log log = {0};
    weft_context *const context = scratch_context(*state, &log);
    for (int i = 0; i < 2; i++) {
        bool naive = false;
        const wi_kernel_site site = {.device = &wi_context_device(context)->profile, .product = &sizes[i]};
        kernel_tuner tuner = {.device = wi_context_device(context),
            .deadline = HUGE_VAL,
            .gain = TUNER_GAIN,
            .trying = note_naive,
            .user = &naive};
        wi_choices_use(tuner.device, false);
        assert_ok(tune_site(&tuner, &wi_op_matmul, &site));
        assert_int_equal(tuner.sites, 1);
        assert_int_equal(naive, i == 1);
    }
    weft_context_release(context);
}

/* ---- noise ---- */

/* Times as a busy machine gives them: each candidate takes what its name says, up to 1.3 times as much as the built-in choice, which no other
 * is faster than; a measurement is off by up to a fifth, and one in five takes thrice the time. */
enum { MOST_TRIED = 64 };
static struct {
    test_random random;
    double now, seconds[2]; /* of what runs next, and of what runs in turn with it */
    int looks;
    bool measures;
    char tried[MOST_TRIED][WI_KERNEL_NAME];
    int tried_count;
} noise;

static double true_time(const char *kernel, const char *usual) {
    test_random own = test_random_named(kernel, 0);
    return strcmp(kernel, usual) == 0 ? 1.0 : 1.0 + test_random_between(&own, 0.0, 0.3);
}

/* Every second look ends a measurement. */
static double noisy_clock(void) {
    if (!noise.measures || noise.looks++ % 2 == 0) return noise.now;
    const double seconds = noise.seconds[noise.looks / 2 % 2 == 0];
    const double spike = test_random_below(&noise.random, 5) == 0 ? 3.0 : 1.0;
    return noise.now += seconds * spike * test_random_between(&noise.random, 0.8, 1.2);
}

static void measure_begins(double first, double second) {
    noise.seconds[0] = first;
    noise.seconds[1] = second;
    noise.looks = 0;
    noise.measures = true;
}

/* A kernel that is tried for the second time is compared with the built-in choice, in turn. */
static void time_the_tried(void *user, const char *site, const char *kernel) {
    (void)site;
    noise.measures = false;
    if (!kernel) return;
    if (!*(char *)user) snprintf(user, WI_KERNEL_NAME, "%s", kernel); /* the built-in choice is the first */
    const double own = true_time(kernel, user);
    bool again = false;
    for (int i = 0; i < noise.tried_count; i++) again = again || strcmp(noise.tried[i], kernel) == 0;
    measure_begins(again ? 1.0 : own, own);
    if (!again && noise.tried_count < MOST_TRIED)
        snprintf(noise.tried[noise.tried_count++], WI_KERNEL_NAME, "%s", kernel);
}

/* Returns what the kernel that is chosen takes, of the built-in choice's time. */
static double tune_in_noise(wi_device *device, const wi_kernel_site *site) {
    char usual[WI_KERNEL_NAME] = "", name[WI_SITE_NAME];
    kernel_tuner tuner = {.device = device,
        .clock = noisy_clock,
        .deadline = HUGE_VAL,
        .gain = TUNER_GAIN,
        .trying = time_the_tried,
        .user = usual};
    noise.tried_count = 0;
    wi_choices_use(device, false);
    assert_ok(tune_site(&tuner, &wi_op_matmul, site));
    wi_choices_use(device, true);
    wi_site_name(name, &wi_op_matmul, site);
    return true_time(wi_choices_find(device, name)->kernel, usual);
}

/* The luckiest of so many measurements is far below what it should be: both in turn decide. */
static void noise_chooses_nothing_slower(void **state) {
    enum { TIMES = 60 };
    scratch_log log = {0};
    weft_context *const context = scratch_context(*state, &log);
    const wi_kernel_site site = site_of(context);
    noise.random = test_random_named("noise", 0);
    for (int i = 0; i < TIMES; i++) {
        const double taken = tune_in_noise(wi_context_device(context), &site);
        if (taken > 1.1) fail_msg("a kernel that takes %.2f of the built-in choice's time was chosen", taken);
    }
    weft_context_release(context);
}

/* A kernel that the built-in choice is not, and that accepts the site: by the name of its record and variant. */
static void other_kernel(weft_context *context, char kernel[WI_KERNEL_NAME]) {
    const wi_selection selection = choose(context);
    for (int i = 0; i < selection.count; i++) {
        const wi_candidate *const candidate = &selection.candidates[i];
        if (candidate->verdict != WI_VERDICT_SLOWER && candidate->verdict != WI_VERDICT_MARGIN) continue;
        if (!candidate->implementation->file) continue;
        wi_kernel_name(kernel, candidate->implementation, candidate->variant);
        return;
    }
    fail_msg("there is no other kernel");
}

static void a_choice_has_the_first_word(void **state) {
    char name[WI_SITE_NAME], kernel[WI_KERNEL_NAME], chosen[WI_KERNEL_NAME], fault[] = "it hangs";
    scratch_log log = {0};
    weft_context *const context = scratch_context(*state, &log);
    wi_device *const device = wi_context_device(context);
    const wi_kernel_site site = site_of(context);
    other_kernel(context, kernel);
    wi_site_name(name, &wi_op_matmul, &site);
    assert_ok(wi_choices_set(device, &(wi_choice){.site = name, .kernel = kernel, .seconds = 1, .usual = 2}));
    const wi_selection tuned = choose(context);
    wi_kernel_name(chosen, tuned.chosen, tuned.variant);
    assert_string_equal(chosen, kernel);
    assert_int_equal(verdict_of(&tuned), WI_VERDICT_TUNED);
    assert_int_equal(log.warnings, 0);
    assert_ok(wi_choices_set(device, &(wi_choice){.site = name, .kernel = kernel, .fault = fault}));
    for (int i = 0; i < 2; i++) {
        const wi_selection again = choose(context);
        wi_kernel_name(chosen, again.chosen, again.variant);
        assert_string_not_equal(chosen, kernel);
    }
    assert_int_equal(log.warnings, 1);
    weft_context_release(context);
}

static void choices_of_nothing_are_ignored(void **state) {
    char name[WI_SITE_NAME], gone[] = "gone/forever";
    scratch_log log = {0};
    weft_context *const context = scratch_context(*state, &log);
    const wi_kernel_site site = site_of(context);
    const wi_selection usual = choose(context);
    wi_site_name(name, &wi_op_matmul, &site);
    assert_ok(wi_choices_set(
        wi_context_device(context), &(wi_choice){.site = name, .kernel = gone, .seconds = 1, .usual = 2}));
    for (int i = 0; i < 2; i++) {
        const wi_selection selection = choose(context);
        assert_true(selection.chosen == usual.chosen && selection.variant == usual.variant);
    }
    assert_int_equal(log.warnings, 1);
    assert_non_null(strstr(log.text, "tuning file: kernel gone/forever cannot compute matmul 1,96,80,72 nn"));
    weft_context_release(context);
}

/* What the tuner compares: windows of the result, which a kernel that leaves some out, or changes one, does not pass. */
static void wrong_results_are_seen(void **state) {
    scratch_log log = {0};
    float wrong = 1e6f;
    bool right = true;
    site_operands operands;
    weft_context *const context = scratch_context(*state, &log);
    wi_device *const device = wi_context_device(context);
    const wi_kernel_site site = site_of(context);
    assert_ok(site_operands_make(&operands, device, &site));
    assert_ok(site_operands_spoil(&operands, device));
    assert_ok(site_operands_check(&operands, device, &right));
    assert_false(right); /* nothing was written */
    float *const zeros = calloc(operands.counts[2], sizeof *zeros);
    assert_ok(
        wi_buffer_write(device, operands.buffers[2].memory, 0, zeros, operands.counts[2] * sizeof *zeros));
    free(zeros);
    assert_ok(site_operands_check(&operands, device, &right));
    assert_true(right);
    assert_ok(site_operands_take(&operands, device));
    assert_ok(site_operands_check(&operands, device, &right));
    assert_true(right);
    assert_ok(wi_buffer_write(
        device, operands.buffers[2].memory, (operands.counts[2] - 1) * sizeof wrong, &wrong, sizeof wrong));
    assert_ok(site_operands_check(&operands, device, &right));
    assert_false(right);
    site_operands_clear(&operands, device);
    weft_context_release(context);
}

/* ---- a network ---- */

enum { BATCH = 24, WIDTH = 40, MOST_SITES = 8 };

typedef struct network {
    weft_tensor *outputs[1 + WEFT_MAX_UPDATES];
    size_t count;
    weft_plan *plan;
} network;

static void plan_network(network *n, weft_context *context) {
    weft_graph *const graph = weft_context_graph(context);
    const weft_optimizer sgd = weft_sgd(0.01f);
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, WIDTH);
    n->outputs[0] = weft_mean(weft_square(weft_linear(weft_tanh(weft_linear(x, 2 * WIDTH)), WIDTH)));
    assert_ok(weft_minimize(n->outputs[0], &sgd, n->outputs + 1, WEFT_MAX_UPDATES, &n->count));
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH};
    assert_ok(weft_plan_create(&n->plan, n->outputs, 1 + n->count, &options));
}

typedef struct tried_sites {
    char names[MOST_SITES][WI_SITE_NAME];
    int count;
} tried_sites;

static void note_site(void *user, const char *site, const char *kernel) {
    tried_sites *const sites = user;
    (void)kernel;
    for (int i = 0; site && i < sites->count; i++)
        if (strcmp(sites->names[i], site) == 0) return;
    if (!site) return;
    assert_true(sites->count < MOST_SITES);
    snprintf(sites->names[sites->count++], WI_SITE_NAME, "%s", site);
}

static tried_sites tune_network(network *n, weft_context *context) {
    tried_sites sites = {.count = 0};
    kernel_tuner tuner = {.device = wi_context_device(context),
        .deadline = HUGE_VAL,
        .gain = TUNER_GAIN,
        .trying = note_site,
        .user = &sites};
    wi_choices_use(tuner.device, false);
    assert_ok(tune_plan(n->plan, &tuner));
    wi_choices_use(tuner.device, true);
    assert_int_equal(tuner.sites, sites.count);
    return sites;
}

static void take_built_in(wi_device *device, const char *site) {
    wi_text text;
    wi_text_init(&text, NULL);
    wi_text_append(&text, "weft tuning 1\ndevice\t%s\t\t\t\t%s\nchoice\t%s\tof/library\t1e-3\t2e-3\n",
        device->info.name, device->profile.name, site);
    wi_choices_take_built_in(device, text.data);
    wi_text_clear(&text);
}

/* The tuning file of the folder without the site's line. */
static void remove_line(const char *folder, const char *site) {
    static char lines[64][512];
    int count = 0;
    FILE *file = fopen(scratch_path(folder, "tuning.txt"), "r");
    assert_non_null(file);
    while (count < 64 && fgets(lines[count], sizeof lines[count], file)) count += !strstr(lines[count], site);
    fclose(file);
    file = fopen(scratch_path(folder, "tuning.txt"), "w");
    assert_non_null(file);
    for (int i = 0; i < count; i++) fputs(lines[i], file);
    assert_int_equal(fclose(file), 0);
}

/* All products of a network, also those that the library's list knows: another driver may have made it wrong. What the user's file has
 * is not measured again, but for a site that lost its line. */
static void sites_without_a_choice_are_measured(void **state) {
    scratch_log log = {0};
    network n = {0};
    weft_context *context = scratch_context(*state, &log);
    plan_network(&n, context);
    const tried_sites all = tune_network(&n, context);
    assert_true(all.count >= 3);
    assert_int_equal(tune_network(&n, context).count, 0);
    weft_plan_release(n.plan);
    weft_context_release(context);
    remove_line(*state, all.names[1]);
    context = scratch_context(*state, &log);
    n = (network){0};
    plan_network(&n, context);
    const tried_sites lost = tune_network(&n, context);
    assert_int_equal(lost.count, 1);
    assert_string_equal(lost.names[0], all.names[1]);
    weft_plan_release(n.plan);
    weft_context_release(context);
    context = scratch_context(scratch_path(*state, "other"), &log);
    n = (network){0};
    size_t known;
    (void)wi_choices_all(wi_context_device(context), &known);
    for (int i = 0; i < all.count - 1; i++) take_built_in(wi_context_device(context), all.names[i]);
    plan_network(&n, context);
    assert_int_equal(tune_network(&n, context).count, all.count);
    weft_plan_release(n.plan);
    weft_context_release(context);
}

static weft_status take_size(void *user, const char *site, double seconds) {
    assert_true(seconds > 0);
    note_site(user, site, NULL);
    return WEFT_OK;
}

/* Those without a choice are listed, and one of them can be measured alone. */
static void one_size_is_measured(void **state) {
    scratch_log log = {0};
    network n = {0};
    tried_sites listed = {.count = 0}, left = {.count = 0}, tried = {.count = 0};
    weft_context *const context = scratch_context(*state, &log);
    kernel_tuner tuner = {.device = wi_context_device(context),
        .deadline = HUGE_VAL,
        .gain = TUNER_GAIN,
        .trying = note_site,
        .user = &tried};
    wi_choices_use(tuner.device, false);
    plan_network(&n, context);
    assert_ok(tune_visit_untuned(n.plan, &tuner, take_size, &listed));
    assert_true(listed.count >= 3);
    tuner.only = listed.names[1];
    assert_ok(tune_plan(n.plan, &tuner));
    assert_true(tuner.sites == 1 && tried.count == 1);
    assert_string_equal(tried.names[0], listed.names[1]);
    assert_true(tuner_has_choice(&tuner, listed.names[1]));
    assert_false(tuner_has_choice(&tuner, listed.names[0]));
    assert_ok(tune_visit_untuned(n.plan, &tuner, take_size, &left));
    assert_int_equal(left.count, listed.count - 1);
    weft_plan_release(n.plan);
    weft_context_release(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(tuned_choices_serve_the_next_context),
        SCRATCH_TEST(without_time_nothing_is_kept),
        SCRATCH_TEST(hopeless_kernels_are_not_run),
        SCRATCH_TEST(a_choice_has_the_first_word),
        SCRATCH_TEST(choices_of_nothing_are_ignored),
        SCRATCH_TEST(wrong_results_are_seen),
        SCRATCH_TEST(noise_chooses_nothing_slower),
        SCRATCH_TEST(sites_without_a_choice_are_measured),
        SCRATCH_TEST(one_size_is_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
