/* The calls of weft/distributed.h in a job of one process, and their errors; check_together.sh has jobs of several. */
/* test once */
#include "dist/group.h"
#include "support/checks.h"
#include "support/fixture.h"
#include <string.h>

static weft_distributed alone(void) {
    weft_distributed job = {.context = test_context(), .allocator = test_context()->allocator, .size = 1};
    assert_weft_ok(wi_group_reserve(&job));
    return job;
}

static void leave(weft_distributed *job) {
    wi_release(job->allocator, job->lists);
    wi_release(job->allocator, job->messages);
}

static void a_process_that_is_alone_keeps_its_numbers(void **state) {
    (void)state;
    weft_distributed job = alone();
    float values[] = {1, -2, 3.5f}, all[3] = {0};
    assert_int_equal(weft_distributed_rank(&job), 0);
    assert_int_equal(weft_distributed_size(&job), 1);
    assert_int_equal(weft_distributed_size(NULL), 1);
    assert_weft_ok(weft_distributed_wait(&job));
    assert_weft_ok(weft_distributed_broadcast(&job, values, sizeof values, 0));
    assert_weft_ok(weft_distributed_sum(&job, values, 3));
    assert_weft_ok(weft_distributed_gather(&job, values, sizeof values, all));
    assert_memory_equal(all, ((float[]){1, -2, 3.5f}), sizeof all);
    leave(&job);
}

static void missing_arguments_are_named(void **state) {
    (void)state;
    weft_distributed job = alone(), *opened = NULL;
    const weft_distributed_options early = {WEFT_DISTRIBUTED_OPTIONS_INIT, .timeout = -1};
    float value = 1;
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_distributed_wait(NULL), "weft_distributed_wait: job is NULL");
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_distributed_sum(&job, NULL, 1), "sum: the data is NULL");
    assert_weft_fails(
        WEFT_ERROR_ARGUMENT, weft_distributed_gather(&job, &value, 4, NULL), "gather: the data is NULL");
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_distributed_broadcast(&job, &value, 4, 1),
        "there is no rank 1 among 1 processes");
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_distributed_open(&opened, NULL, NULL), "context");
    assert_weft_fails(
        WEFT_ERROR_ARGUMENT, weft_distributed_synchronise(&job, NULL), "job and graph must not be NULL");
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_distributed_open(&opened, test_context(), &early),
        "timeout is -1 seconds, expected 0 or more");
    assert_null(opened);
    leave(&job);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_process_that_is_alone_keeps_its_numbers),
        cmocka_unit_test(missing_arguments_are_named)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
