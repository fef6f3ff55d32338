/* The tuner: what it chooses serves the next context, is right, and is never slower than the built-in choice by its own
 * measurement; what is wrong at the site is remembered; a choice that cannot serve is ignored with one line of the log. */
#include "support/checks.h"
#include "support/scratch.h"

#include "cl/choices.h"
#include "cl/context.h"
#include "kernels/product/gemm.h"
#include "kernels/product/gemm_list.h"
#include "kernels/site_name.h"
#include "kernels/site_operands.h"
#include "kernels/tuner.h"
#include "ops/op_table.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const wi_gemm_shape shape = {1, 96, 80, 72, 0, 72, 1, 0, 80, 1, NULL};

static weft_context *open_context(const char *folder, scratch_log *log) {
    weft_context *context = NULL;
    assert_ok(
        weft_context_create(&context, &(weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .cache_dir = folder,
                                          .log = scratch_log_line, .log_user = log}));
    return context;
}

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

static int make_scratch(void **state) {
    *state = scratch_make();
    return 0;
}

static int remove_scratch(void **state) {
    scratch_remove(*state);
    return 0;
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
    weft_context *context = open_context(*state, &log);
    wi_kernel_site site = site_of(context);
    wi_tuner tuner = {.device = wi_context_device(context),
        .deadline = HUGE_VAL,
        .gain = WI_TUNER_GAIN,
        .trying = count,
        .user = &counts};
    wi_choices_use(tuner.device, false);
    assert_ok(wi_tune_site(&tuner, &wi_op_matmul, &site));
    assert_true(tuner.sites == 1 && tuner.tried > 1 && tuner.changed <= 1);
    assert_true(counts.begun == tuner.tried && counts.ended == counts.begun);
    weft_context_release(context);
    context = open_context(*state, &log);
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
    weft_context *const context = open_context(*state, &log);
    const wi_kernel_site site = site_of(context);
    wi_tuner tuner = {.device = wi_context_device(context), .deadline = 0.0, .gain = WI_TUNER_GAIN};
    wi_choices_use(tuner.device, false);
    assert_ok(wi_tune_site(&tuner, &wi_op_matmul, &site));
    (void)wi_choices_all(tuner.device, &kept);
    assert_true(kept == 0 && tuner.sites == 0 && tuner.tried == 0);
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
    weft_context *const context = open_context(*state, &log);
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
    weft_context *const context = open_context(*state, &log);
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
    assert_non_null(strstr(log.text, "tuning file: gone/forever cannot serve matmul 1,96,80,72 nn"));
    weft_context_release(context);
}

/* What the tuner compares: windows of the result, which a kernel that leaves some out, or changes one, does not pass. */
static void wrong_results_are_seen(void **state) {
    scratch_log log = {0};
    float wrong = 1e6f;
    bool right = true;
    wi_site_operands operands;
    weft_context *const context = open_context(*state, &log);
    wi_device *const device = wi_context_device(context);
    const wi_kernel_site site = site_of(context);
    assert_ok(wi_site_operands_make(&operands, device, &site));
    assert_ok(wi_site_operands_spoil(&operands, device));
    assert_ok(wi_site_operands_check(&operands, device, &right));
    assert_false(right); /* nothing was written */
    float *const zeros = calloc(operands.counts[2], sizeof *zeros);
    assert_ok(
        wi_buffer_write(device, operands.buffers[2].memory, 0, zeros, operands.counts[2] * sizeof *zeros));
    free(zeros);
    assert_ok(wi_site_operands_check(&operands, device, &right));
    assert_true(right);
    assert_ok(wi_site_operands_take(&operands, device));
    assert_ok(wi_site_operands_check(&operands, device, &right));
    assert_true(right);
    assert_ok(wi_buffer_write(
        device, operands.buffers[2].memory, (operands.counts[2] - 1) * sizeof wrong, &wrong, sizeof wrong));
    assert_ok(wi_site_operands_check(&operands, device, &right));
    assert_false(right);
    wi_site_operands_clear(&operands, device);
    weft_context_release(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(tuned_choices_serve_the_next_context, make_scratch, remove_scratch),
        cmocka_unit_test_setup_teardown(without_time_nothing_is_kept, make_scratch, remove_scratch),
        cmocka_unit_test_setup_teardown(a_choice_has_the_first_word, make_scratch, remove_scratch),
        cmocka_unit_test_setup_teardown(choices_of_nothing_are_ignored, make_scratch, remove_scratch),
        cmocka_unit_test_setup_teardown(wrong_results_are_seen, make_scratch, remove_scratch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
