/* Threads of one process that meet OpenCL for the first time at the same moment. Drivers start up only once in a
 * process, so every round is a process of its own; the parent opens no device. */
/* test threads */
#include "support/checks.h"
#include "support/small_program.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/device.h>

enum { THREADS = 4, ROUNDS = 6, LONGEST_SECONDS = 120 };

typedef weft_status (*first_call)(void);

static pthread_barrier_t together;

static weft_status create_and_use(void) {
    weft_context *context = NULL;
    WI_TRY(
        weft_context_create(&context, &(weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .cache_dir = ""}));
    const weft_status status = small_program_use(context, NULL);
    weft_context_release(context);
    return status;
}

static weft_status describe_all(void) {
    size_t count = 0;
    weft_device_info info;
    WI_TRY(weft_device_count(&count));
    for (size_t i = 0; i < count; i++) WI_TRY(weft_device_get(i, &info));
    return WEFT_OK;
}

static void *begin_together(void *argument) {
    const first_call call = *(const first_call *)argument;
    pthread_barrier_wait(&together);
    const weft_status status = call();
    if (status != WEFT_OK) fprintf(stderr, "%s\n", weft_last_error());
    return status == WEFT_OK ? NULL : argument;
}

/* The exit status of the child: 0 when every thread succeeded. */
static int run_threads(const first_call *calls) {
    pthread_t threads[THREADS];
    bool failed = false;
    pthread_barrier_init(&together, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, begin_together, (void *)&calls[i]) != 0) return 2;
    }
    for (int i = 0; i < THREADS; i++) {
        void *result = NULL;
        pthread_join(threads[i], &result);
        failed = failed || result;
    }
    return failed;
}

static void assert_each_round_succeeds(const first_call *calls) {
    for (int i = 0; i < ROUNDS; i++) {
        int status = -1;
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            alarm(LONGEST_SECONDS); /* a deadlock ends in a signal, too */
            _exit(run_threads(calls));
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        if (WIFSIGNALED(status)) print_error("round %d ended by signal %d\n", i, WTERMSIG(status));
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

static void contexts_are_created_at_once(void **state) {
    static const first_call calls[THREADS] = {create_and_use, create_and_use, create_and_use, create_and_use};
    (void)state;
    assert_each_round_succeeds(calls);
}

static void devices_are_listed_while_contexts_are_created(void **state) {
    static const first_call calls[THREADS] = {create_and_use, describe_all, create_and_use, describe_all};
    (void)state;
    assert_each_round_succeeds(calls);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contexts_are_created_at_once),
        cmocka_unit_test(devices_are_listed_while_contexts_are_created),
    };
    /* ocl-icd otherwise sorts platforms by their devices, and so starts the drivers in a lock of its own */
    setenv("OCL_ICD_PLATFORM_SORT", "none", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
