/* A launch that a driver drops in the middle of a step: where the program has a longest_wait its event is known, and an error of that event is
 * an error of the next wait, which names the step, though nothing else of the driver's says so. Then the program goes on. */
#include "support/two_devices.h"

#include "support/hangs.h"
#include "support/scratch.h"
#include "support/tuned_training.h"
#include <stdlib.h>

enum { STEPS = 3 };

static const cl_int errors[] = {CL_DEVICE_NOT_AVAILABLE, CL_OUT_OF_RESOURCES};
static const char *const names[] = {"CL_DEVICE_NOT_AVAILABLE", "CL_OUT_OF_RESOURCES"};

static tuned_training begin(const char *folder) {
    return tuned_training_begin((weft_context_options){
        WEFT_CONTEXT_OPTIONS_INIT, .cache_dir = folder, .tuning_share = -1, .longest_wait = 60});
}

static weft_status read_loss(tuned_training *t) {
    float loss;
    return weft_plan_read(t->plan, t->outputs[0], &loss, sizeof loss);
}

static weft_status wait(tuned_training *t) {
    return weft_plan_wait(t->plan);
}

static weft_status read_parameter(tuned_training *t) {
    static float parameter[40 * 40];
    return weft_tensor_read(weft_graph_parameter(t->graph, 0), parameter, sizeof parameter);
}

static weft_status write_input(tuned_training *t) {
    static const float x[24 * 40] = {0};
    return weft_plan_write(t->plan, t->x, x, sizeof x);
}

static weft_status (*const calls[])(tuned_training *) = {read_loss, wait, read_parameter, write_input};

/* Launches of kernels in a run. What others find their numbers by comes early, so that late ones are lost. */
static long count_kernels(const weft_plan *plan) {
    long count = 0;
    for (size_t i = 0; i < plan->launches.count; i++)
        count += plan->launches.launches[i].launch.kernel != NULL;
    return count;
}

/* In the first run, and in a later one. */
static void events_tell(void **state) {
    float losses[STEPS];
    for (int i = 0; i < 16; i++) {
        tuned_training t = begin(*state);
        if (i >> 3) tuned_training_run(&t, STEPS, losses);
        hangs_lose(count_kernels(t.plan) - i % 3, errors[i & 1]);
        assert_weft_ok(weft_plan_run(t.plan));
        assert_true(fault_layer_hit());
        assert_weft_fails(
            WEFT_ERROR_OPENCL, calls[i >> 1 & 3](&t), "plan: step ", "the kernel ", names[i & 1]);
        hangs_arm(0, false);
        tuned_training_run(&t, STEPS, losses);
        tuned_training_end(&t);
        hangs_assert_nothing_left();
    }
}

/* A plan that ends with it leaves nothing for others. */
static void a_plan_may_end(void **state) {
    float losses[STEPS];
    tuned_training t = begin(*state);
    weft_plan *const other = tuned_training_plan(&t);
    hangs_lose(count_kernels(other), CL_OUT_OF_RESOURCES);
    assert_weft_ok(weft_plan_run(other));
    weft_plan_release(other);
    hangs_arm(0, false);
    tuned_training_run(&t, STEPS, losses);
    tuned_training_end(&t);
    hangs_assert_nothing_left();
}

static void several_devices_tell(void **state) {
    (void)state;
    setenv("WEFT_LONGEST_WAIT", "60", 1);
    for (int i = 0; i < 4; i++) {
        weft_plan *plan = NULL;
        weft_context *const context = two_devices_open(i >> 1, 0, 0);
        two_halves n = two_halves_make(context);
        assert_weft_ok(two_halves_plan(&plan, &n, 2));
        two_halves_write(plan, &n, 0);
        hangs_lose(count_kernels(plan), errors[i & 1]);
        weft_status status = weft_plan_run(plan);
        assert_true(fault_layer_hit());
        if (status == WEFT_OK) status = weft_plan_wait(plan);
        assert_weft_fails(WEFT_ERROR_OPENCL, status, "plan: step ", "the kernel ", names[i & 1]);
        hangs_arm(0, false);
        assert_weft_ok(weft_plan_run(plan));
        assert_weft_ok(weft_plan_wait(plan));
        two_halves_end(&n, plan);
        weft_context_release(context);
        hangs_assert_nothing_left();
    }
    unsetenv("WEFT_LONGEST_WAIT");
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(events_tell), SCRATCH_TEST(a_plan_may_end), cmocka_unit_test(several_devices_tell)};
    (void)argc;
    hangs_open(argv);
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
