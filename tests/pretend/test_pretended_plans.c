/* The networks of `weft bench seven` on devices that are not here, with nothing computed: no launch and no buffer is above
 * a limit, a plan makes as many launches as it says, and products have the kernels that they should.
 * WEFT_PRETEND=full: on all devices; =NAME: on that one. */
/* test.local16 WEFT_PRETEND=local16 */
#include "bench_networks.h"
#include "kernels/candidates.h"
#include "plan/compiled_plan.h"
#include "pretended.h"
#include <stdio.h>

/* The most launches of a step with kernels of class gpu. */
static const struct {
    const char *network;
    long launches;
} most[] = {{"FCN-S", 25}, {"AlexNet-S", 80}, {"ResNet-50", 586}, {"FCN-R", 24}, {"AlexNet-R", 39},
    {"ResNet-56", 769}, {"LSTM", 60}};

static long most_launches(const char *network) {
    for (size_t i = 0; i < sizeof most / sizeof *most; i++)
        if (strcmp(most[i].network, network) == 0) return most[i].launches;
    return 0;
}

/* Products of the plan, and those that a portable kernel computes. */
static void count_products(const weft_plan *plan, int *products, int *portable) {
    *products = *portable = 0;
    for (size_t i = 0; i < plan->partition.step_count; i++) {
        const wi_step *const step = plan->partition.steps[i];
        if (step->kind != WI_STEP_PRODUCT) continue;
        ++*products;
        *portable += strstr(step->selection->chosen->name, "naive") != NULL;
    }
}

/* A device of class gpu, whose kernels most_launches counts. */
static bool has_groups(const pretend_device *device) {
    return device->type && device->group >= WI_LEAST_GROUP;
}

/* Groups that tiles need, and no more units than products of these networks have tiles for. */
static bool has_tiles(const pretend_device *device) {
    return device->type && device->group >= 256 && device->units <= 132;
}

/* Are there more launches than the plan says? Those that would take long on a device of few units are cut. */
static bool has_more_launches(const weft_plan *plan) {
    for (size_t i = 0; i < plan->launches.count; i++)
        if (wi_launch_portions(&plan->launches.launches[i].launch) > 1) return true;
    return false;
}

static void assert_step(
    const pretend_device *device, const bench_model *model, const pretend_record *record) {
    const char *const network = model->network->name;
    weft_plan_info info;
    int products, portable;
    assert_ok(weft_plan_get_info(model->plan, &info));
    count_products(model->plan, &products, &portable);
    printf("%-11s %-10s %4ld launches, %ld copies, %3d products, %3d of them portable, groups up to %4zu, "
           "%5llu bytes of local memory, %4zu of arguments\n",
        device->name, network, record->launches, record->copies, products, portable, record->group,
        (unsigned long long)record->local, record->parameter);
    const bool whole = !has_more_launches(model->plan);
    if (whole) assert_int_equal(record->launches + record->copies, info.launches);
    if (whole && has_groups(device)) assert_true(record->launches <= most_launches(network));
    if (has_tiles(device)) assert_true(4 * portable <= products); /* those with ten columns may be */
    if (record->above) fail_msg("%s: %ld above a limit: %s", network, record->above, record->first);
}

static void run_step(weft_context *context, const pretend_device *device, const bench_network *network) {
    const bench_setting setting = {0};
    bench_model model;
    assert_ok(bench_model_create(&model, context, network, &setting));
    const long above = pretend_layer_record().above; /* as the plan was made */
    pretend_layer_begin();
    assert_ok(weft_plan_run(model.plan));
    pretend_record record = pretend_layer_record();
    record.above += above;
    assert_step(device, &model, &record);
    bench_model_clear(&model);
}

static void walk(const pretend_device *device) {
    weft_context *const context = pretended_open(device->name);
    pretend_layer_skip(true);
    for (size_t i = 0; i < bench_network_count; i++) {
        pretend_layer_begin();
        if (bench_networks[i].sets & BENCH_SEVEN) run_step(context, device, &bench_networks[i]);
    }
    weft_context_release(context);
    pretend_layer_skip(false);
}

/* Networks of so many bytes do not fit into the memory of a tiny one. */
static void no_launch_is_above_a_limit(void **state) {
    const char *const wanted = getenv("WEFT_PRETEND");
    const bool full = wanted && strcmp(wanted, "full") == 0;
    const pretend_device *device;
    (void)state;
    for (int i = 0; (device = pretend_layer_device(i)) != NULL; i++) {
        if (full ? device->global == 0 : strcmp(device->name, wanted ? wanted : "least") == 0) walk(device);
    }
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_launch_is_above_a_limit)};
    (void)argc;
    pretended_start(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
