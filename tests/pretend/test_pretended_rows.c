/* Products of few rows, as decoding has them: a matrix is read once, so that what counts is that all units of a GPU read at once. */
#include "cl/context.h"
#include "kernels/candidates.h"
#include "plan/compiled_plan.h"
#include "pretended.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 4096 };

static weft_plan *plan_product(weft_context *context, int64_t rows) {
    weft_graph *const graph = weft_context_graph(context);
    weft_plan *plan = NULL;
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, WIDTH);
    weft_tensor *const w = weft_input_shape(graph, "w", WEFT_F32, 2, (const int64_t[]){WIDTH, WIDTH});
    weft_tensor *const y = weft_matmul(x, w);
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = rows};
    assert_ok(weft_plan_create(&plan, &y, 1, &options));
    return plan;
}

/* What the chosen kernel expects. */
static double seconds_of(const wi_selection *selection) {
    for (int i = 0; i < selection->count; i++) {
        const wi_candidate *const candidate = &selection->candidates[i];
        if (candidate->implementation == selection->chosen && candidate->variant == selection->variant)
            return candidate->seconds;
    }
    return 0.0;
}

/* Of the launch that multiplies: what adds splits up follows it. If the driver chooses
 * the size of groups, each item counts as a group. */
static int64_t groups_of(const weft_plan *plan) {
    const wi_launch *const launch = &plan->launches.launches[0].launch;
    int64_t groups = 1;
    for (cl_uint k = 0; k < launch->dimensions; k++)
        groups *= (int64_t)(launch->global[k] / (launch->local[k] ? launch->local[k] : 1));
    return groups;
}

/* What nothing is faster than: reading all numbers and writing them, or multiplying them at the device's peak. */
static double floor_of(const wi_device_profile *device, int64_t rows) {
    const double numbers = (double)WIDTH * WIDTH + 2.0 * WIDTH * (double)rows;
    return fmax((double)sizeof(float) * numbers / device->bandwidth,
        2.0 * WIDTH * WIDTH * (double)rows / wi_device_peak(device, sizeof(float)));
}

/* So much longer than that may the product be expected to take, and a launch more. On an A100 multiplying 32 rows takes longer than
 * reading, which is what fewer rows are compared with. */
static double most_ratio(const char *name, int64_t rows) {
    return strcmp(name, "A100") == 0 && rows > 24 && rows < 30 ? 1.75 : 1.5;
}

/* What compiling takes is no part of a product's time. */
#define RUNS 1e12

static void expect_all_units(const char *name, int64_t rows) {
    weft_context *const context = pretended_open(name);
    wi_context_device(context)->profile.runs = RUNS;
    pretend_layer_skip(true);
    weft_plan *const plan = plan_product(context, rows);
    const wi_device_profile *const device = &wi_context_device(context)->profile;
    const wi_selection *const selection = plan->partition.steps[0]->selection;
    const double least = floor_of(device, rows), seconds = seconds_of(selection) - device->launch_seconds;
    const int64_t groups = groups_of(plan);
    printf("%-9s %2lld rows: %s/%s, %lld groups for %lld units, %.1f us, %.2f of %.1f\n", name,
        (long long)rows, selection->chosen->name, selection->variant->name, (long long)groups,
        (long long)device->units, 1e6 * seconds, seconds / least, 1e6 * least);
    assert_true(groups >= device->units);
    assert_true(seconds > 0.0 && seconds <= most_ratio(name, rows) * least);
    weft_plan_release(plan);
    weft_context_release(context);
    pretend_layer_skip(false);
}

static void few_rows_take_all_units(void **state) {
    static const char *const devices[] = {
        "units48", "units108", "units132", "units512", "A100", "H100-SXM", "RX-7900", "A770"};
    /* the first and the last of each tile, and of the exception */
    static const int64_t rows[] = {1, 2, 4, 8, 16, 17, 24, 25, 29, 30, 32};
    (void)state;
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) expect_all_units(devices[i], rows[k]);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(few_rows_take_all_units)};
    (void)argc;
    pretended_start(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
