/* A launch that a driver drops in the middle of a step, and tells whoever waits next: whichever call that is, it fails, and then the
 * program goes on. */
#include "support/two_devices.h"

#include "support/lost_launches.h"
#include "support/scratch.h"
#include "support/small_training.h"

enum { STEPS = 3 };

static small_training begin(const char *folder) {
    return small_training_begin((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .cache_dir = folder});
}

static weft_status read_loss(small_training *t) {
    float loss;
    return weft_plan_read(t->plan, t->outputs[0], &loss, sizeof loss);
}

static weft_status wait(small_training *t) {
    return weft_plan_wait(t->plan);
}

static weft_status read_parameter(small_training *t) {
    static float parameter[40 * 40];
    return weft_tensor_read(weft_graph_parameter(t->graph, 0), parameter, sizeof parameter);
}

static weft_status write_input(small_training *t) {
    static const float x[24 * 40] = {0};
    return weft_plan_write(t->plan, t->x, x, sizeof x);
}

static weft_status (*const calls[])(small_training *) = {read_loss, wait, read_parameter, write_input};

/* Launches of kernels in a run. What others find their numbers by comes early, so that late ones are lost. */
static long count_kernels(const weft_plan *plan) {
    long count = 0;
    for (size_t i = 0; i < plan->launches.count; i++)
        count += plan->launches.launches[i].launch.kernel != NULL;
    return count;
}

/* In the first run, and in a later one. */
static void the_next_wait_fails(void **state) {
    float losses[STEPS];
    for (int i = 0; i < 8; i++) {
        small_training t = begin(*state);
        if (i >> 2) small_training_run(&t, STEPS, losses);
        lost_launches_lose(count_kernels(t.plan) - i % 3);
        assert_weft_ok(weft_plan_run(t.plan));
        assert_true(fault_layer_hit());
        assert_weft_fails(WEFT_ERROR_OPENCL, calls[i & 3](&t), "CL_OUT_OF_RESOURCES");
        lost_launches_lose(0);
        small_training_run(&t, STEPS, losses);
        small_training_end(&t);
        lost_launches_assert_nothing_left();
    }
}

/* A plan that ends with it leaves nothing for others. */
static void a_plan_may_end(void **state) {
    float losses[STEPS];
    small_training t = begin(*state);
    weft_plan *const other = small_training_plan(&t);
    lost_launches_lose(count_kernels(other));
    assert_weft_ok(weft_plan_run(other));
    weft_plan_release(other);
    lost_launches_lose(0);
    small_training_run(&t, STEPS, losses);
    small_training_end(&t);
    lost_launches_assert_nothing_left();
}

static void a_wait_for_several_devices_fails(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        weft_plan *plan = NULL;
        weft_context *const context = two_devices_open(i, 0, 0);
        two_halves n = two_halves_make(context);
        assert_weft_ok(two_halves_plan(&plan, &n, 2));
        two_halves_write(plan, &n, 0);
        lost_launches_lose(count_kernels(plan));
        weft_status status = weft_plan_run(plan);
        assert_true(fault_layer_hit());
        if (status == WEFT_OK) status = weft_plan_wait(plan);
        assert_weft_fails(WEFT_ERROR_OPENCL, status, "CL_OUT_OF_RESOURCES");
        lost_launches_lose(0);
        assert_weft_ok(weft_plan_run(plan));
        assert_weft_ok(weft_plan_wait(plan));
        two_halves_end(&n, plan);
        weft_context_release(context);
        lost_launches_assert_nothing_left();
    }
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {SCRATCH_TEST(the_next_wait_fails), SCRATCH_TEST(a_plan_may_end),
        cmocka_unit_test(a_wait_for_several_devices_fails)};
    (void)argc;
    lost_launches_open(argv);
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
