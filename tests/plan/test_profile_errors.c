/* Profiles that cannot be: wrong calls, runs that are refused, lack of memory. */
/* test once */
#include "support/fixture.h"

#include "cl/context.h"
#include "support/profiled_net.h"
#include "support/scratch.h"
#include <string.h>

static void test_errors(void **state) {
    (void)state;
    const weft_roofline none = {0, 1};
    profiled_net n = profiled_net_in(test_context());
    weft_profile *profile = NULL, *other = (weft_profile *)&n;
    weft_profile_info info;
    weft_profile_row row;
    char text[8];
    assert_weft_fails(
        WEFT_ERROR_ARGUMENT, weft_profile_run(NULL, n.plan), "weft_profile_run: profile is NULL");
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_profile_run(&other, NULL), "weft_profile_run: plan is NULL");
    assert_null(other);
    assert_weft_ok(weft_profile_run(&profile, n.plan));
    assert_weft_ok(weft_profile_get_info(profile, &info));
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_profile_get_info(NULL, &info), "weft_profile_get_info");
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_profile_get_info(profile, NULL), "weft_profile_get_info");
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_profile_get_row(NULL, 0, &row), "weft_profile_get_row");
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_profile_get_row(profile, 0, NULL), "weft_profile_get_row");
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_profile_get_row(profile, info.rows, &row), "rows");
    assert_weft_fails(WEFT_ERROR_ARGUMENT,
        weft_profile_describe(NULL, WEFT_FORMAT_TEXT, NULL, text, sizeof text, NULL), "is NULL");
    assert_weft_fails(WEFT_ERROR_ARGUMENT,
        weft_profile_describe(profile, WEFT_FORMAT_TEXT, NULL, NULL, 8, NULL), "is NULL");
    assert_weft_fails(WEFT_ERROR_ARGUMENT,
        weft_profile_describe(profile, (weft_format)7, NULL, text, sizeof text, NULL),
        "format is 7, which is not a weft_format");
    assert_weft_fails(WEFT_ERROR_ARGUMENT,
        weft_profile_describe(profile, WEFT_FORMAT_TEXT, &none, text, sizeof text, NULL),
        "the roofline is 0");
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_profile_trace(NULL, "x"), "weft_profile_trace");
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_profile_trace(profile, NULL), "weft_profile_trace");
    assert_weft_fails(
        WEFT_ERROR_FILE, weft_profile_trace(profile, test_path("no/such/trace.json")), "no/such");
    assert_ptr_equal(weft_profile_retain(profile), profile);
    weft_profile_release(profile);
    weft_profile_release(profile);
    weft_profile_release(NULL);
    profiled_net_clear(&n);
}

/* What a run refuses a profile refuses, and the context's own queue is back. */
static void test_refused_run(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const w =
        weft_parameter(graph, "w", ((weft_initialiser){.kind = WEFT_INIT_CONSTANT, .a = 1}), 4);
    weft_optimizer sgd = weft_sgd(0.1f);
    weft_tensor *updates[WEFT_MAX_UPDATES];
    weft_plan *plan = NULL;
    weft_profile *profile = NULL;
    size_t count;
    sgd.average_decay = 0.5f;
    assert_weft_ok(weft_minimize(weft_sum(weft_square(w)), &sgd, updates, WEFT_MAX_UPDATES, &count));
    assert_weft_ok(weft_plan_create(&plan, updates, count, NULL));
    for (int i = 0; i < 2; i++) assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_average_swap(graph));
    cl_command_queue const queue = wi_context_device(test_context())->queue;
    assert_weft_fails(WEFT_ERROR_STATE, weft_profile_run(&profile, plan), "average");
    assert_null(profile);
    assert_ptr_equal(wi_context_device(test_context())->queue, queue);
    assert_weft_ok(weft_average_swap(graph));
    assert_weft_ok(weft_profile_run(&profile, plan));
    weft_profile_release(profile);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* Whatever allocation fails, nothing is lost and the plan still runs. */
static void test_no_memory(void **state) {
    (void)state;
    scratch_allocator allocator;
    scratch_allocator_init(&allocator, -1);
    weft_context *const context =
        test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .allocator = &allocator.hooks});
    profiled_net n = profiled_net_in(context);
    const long live = atomic_load(&allocator.live);
    weft_profile *profile = NULL;
    int failures = 0;
    for (bool done = false; !done; failures += !done) {
        atomic_store(&allocator.fail_after, atomic_load(&allocator.made) + failures);
        const weft_status status = weft_profile_run(&profile, n.plan);
        atomic_store(&allocator.fail_after, -1);
        done = status == WEFT_OK;
        if (done) break;
        assert_int_equal(status, WEFT_ERROR_MEMORY);
        assert_null(profile);
        assert_int_equal(atomic_load(&allocator.live), live);
        assert_weft_ok(weft_plan_run(n.plan));
        assert_weft_ok(weft_plan_wait(n.plan));
        assert_true(failures < 1000);
    }
    assert_true(failures > 2);
    weft_profile_release(profile);
    assert_int_equal(atomic_load(&allocator.live), live);
    profiled_net_clear(&n);
    weft_context_release(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_refused_run),
        cmocka_unit_test(test_no_memory),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
