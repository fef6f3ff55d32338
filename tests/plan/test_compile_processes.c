/* Processes that compile the kernels of a plan: the driver's folder has them before this process launches one, and whatever goes wrong in
 * a process, the plan computes the same. */
#include "base/child.h"
#include "cl/compile_request.h"
#include "support/waited_processes.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { ROWS = 4, COLUMNS = 8, SIZE = ROWS * COLUMNS, MOST_PATH = 4096 };

/* ---- a plan of several kernels with whole numbers ---- */

/* Sums of the sorted rows, sorted by two ops, times sums of the rows. */
static weft_tensor *build(weft_graph *graph, weft_tensor **x) {
    *x = weft_input(graph, "x", WEFT_F32, COLUMNS);
    weft_tensor *const gathered = weft_gather(*x, 1, weft_argsort(*x, 1, false));
    weft_tensor *const sums = weft_transpose(weft_cumsum(*x, 1));
    return weft_add(weft_matmul(weft_cumsum(gathered, 1), sums),
        weft_matmul(weft_cumsum(weft_sort(*x, 1, false), 1), sums));
}

static void expect(const float *x, float *y) {
    float sums[SIZE], sorted[SIZE];
    for (int r = 0; r < ROWS; r++) {
        const float *const row = x + r * COLUMNS;
        float *const own = sorted + r * COLUMNS;
        for (int i = 0; i < COLUMNS; i++) {
            int k = i;
            for (; k > 0 && own[k - 1] > row[i]; k--) own[k] = own[k - 1];
            own[k] = row[i];
            sums[r * COLUMNS + i] = (i > 0 ? sums[r * COLUMNS + i - 1] : 0) + row[i];
        }
        for (int i = 1; i < COLUMNS; i++) own[i] += own[i - 1];
    }
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < ROWS; c++) {
            y[r * ROWS + c] = 0;
            for (int i = 0; i < COLUMNS; i++)
                y[r * ROWS + c] += 2 * sorted[r * COLUMNS + i] * sums[c * COLUMNS + i];
        }
}

static weft_plan *make_plan(weft_context *context, weft_tensor *tensors[2]) {
    weft_plan *plan = NULL;
    weft_tensor *const y = tensors[1] = build(weft_context_graph(context), &tensors[0]);
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = ROWS};
    assert_weft_ok(weft_plan_create(&plan, &y, 1, &options));
    return plan;
}

static void run_and_release(weft_plan *plan, weft_tensor *const tensors[2]) {
    float values[SIZE], wanted[ROWS * ROWS], got[ROWS * ROWS];
    for (int i = 0; i < SIZE; i++) values[i] = (float)(i * 7 % 13);
    expect(values, wanted);
    assert_weft_ok(weft_plan_write(plan, tensors[0], values, sizeof values));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, tensors[1], got, sizeof got));
    for (int i = 0; i < ROWS * ROWS; i++) assert_true(got[i] == wanted[i]);
    weft_plan_release(plan);
}

/* ---- what the driver has compiled ---- */

static int count_kernels(const char *folder) {
    char path[MOST_PATH];
    DIR *const open = opendir(folder);
    int count = 0;
    for (struct dirent *entry; open && (entry = readdir(open)) != NULL;) {
        const char *const end = strrchr(entry->d_name, '.');
        if (entry->d_name[0] == '.') continue;
        if (snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < (int)sizeof path)
            count += count_kernels(path);
        count += end && strcmp(end, ".so") == 0;
    }
    if (open) closedir(open);
    return count;
}

static int compiled(void) {
    return count_kernels(getenv("POCL_CACHE_DIR"));
}

/* ---- tests ---- */

static void assert_no_child(void) {
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

/* The first test: later ones find these kernels in the driver's folder. */
static void a_process_compiles_all_kernels(void **state) {
    scratch_log log = {0};
    weft_tensor *tensors[2];
    weft_context *const context = waited_processes_open(*state, &log);
    const int before = compiled();
    weft_plan *const plan = make_plan(context, tensors);
    waited_processes_wait(context, &log);
    assert_non_null(strstr(log.text, "weft-compile ended with result 0\n"));
    const int all = compiled();
    assert_true(all >= before + 4);
    run_and_release(plan, tensors);
    assert_int_equal(compiled(), all);
    weft_context_release(context);
}

static void the_cache_folder_remembers_a_process(void **state) {
    weft_tensor *tensors[2];
    for (int i = 0; i < 3; i++) {
        scratch_log log = {0};
        weft_context *const context = waited_processes_open(i < 2 ? *state : "", &log);
        weft_plan *const plan = make_plan(context, tensors);
        if (i == 1) assert_no_child();
        if (i != 1) waited_processes_wait(context, &log);
        run_and_release(plan, tensors);
        weft_context_release(context);
        assert_int_equal(strstr(log.text, "weft-compile ended with result 0") != NULL, i != 1);
    }
}

static void a_context_ends_its_processes(void **state) {
    scratch_log log = {0};
    weft_tensor *tensors[2];
    weft_context *const context = waited_processes_open(*state, &log);
    assert_int_equal(setenv("WEFT_COMPILE_PROGRAM", "/usr/bin/yes", 1), 0); /* prints without an end */
    weft_plan *const plan = make_plan(context, tensors);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), 0); /* there is one */
    run_and_release(plan, tensors);
    weft_context_release(context);
    assert_no_child();
    assert_int_equal(unsetenv("WEFT_COMPILE_PROGRAM"), 0);
}

/* Creates a plan of other kernels than make_plan. */
static void make_another_plan(weft_context *context) {
    weft_plan *plan = NULL;
    weft_tensor *const x = weft_input(weft_context_graph(context), "other", WEFT_F32, COLUMNS);
    weft_tensor *const outputs[] = {weft_softmax(x, 1), weft_sort(x, 1, true), weft_cumprod(x, 1),
        weft_linear(x, COLUMNS), weft_argmax(x, 1), weft_softmax(weft_cumprod(weft_sort(x, 0, true), 0), 0)};
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = ROWS};
    assert_weft_ok(weft_plan_create(&plan, outputs, sizeof outputs / sizeof *outputs, &options));
    weft_plan_release(plan);
}

/* program: what is started instead of weft-compile. line: what the log says once; for plans later, the context does not try again if the
 * program cannot be started. */
static void run_beside(const char *folder, const char *program, const char *line) {
    scratch_log log = {0};
    weft_tensor *tensors[2];
    weft_context *const context = waited_processes_open(folder, &log);
    assert_int_equal(setenv("WEFT_COMPILE_PROGRAM", program, 1), 0);
    weft_plan *const plan = make_plan(context, tensors);
    if (strstr(line, "ended"))
        waited_processes_wait(context, &log);
    else
        make_another_plan(context);
    run_and_release(plan, tensors);
    weft_context_release(context);
    assert_int_equal(unsetenv("WEFT_COMPILE_PROGRAM"), 0);
    const char *const said = strstr(log.text, line);
    assert_non_null(said);
    assert_null(strstr(said + 1, line));
    assert_int_equal(log.warnings, 0);
    assert_no_child();
}

static void a_missing_program_is_named_once(void **state) {
    run_beside(*state, "/no/such/program", "compile_processes: '/no/such/program' cannot be started");
    run_beside(*state, *state, "cannot be started"); /* a folder */
}

static void a_program_that_fails_is_named(void **state) {
    run_beside(*state, "/bin/false", "weft-compile ended with result 1; this process compiles");
}

static void two_contexts_have_their_own_processes(void **state) {
    scratch_log logs[2] = {0};
    weft_context *contexts[2];
    weft_plan *plans[2];
    weft_tensor *tensors[2][2];
    for (int i = 0; i < 2; i++) contexts[i] = waited_processes_open(i == 0 ? *state : "", &logs[i]);
    for (int i = 0; i < 2; i++) plans[i] = make_plan(contexts[i], tensors[i]);
    for (int i = 0; i < 2; i++) waited_processes_wait(contexts[i], &logs[i]);
    for (int i = 0; i < 2; i++) {
        assert_non_null(strstr(logs[i].text, "weft-compile ended with result 0"));
        run_and_release(plans[i], tensors[i]);
        weft_context_release(contexts[i]);
    }
}

static void the_variable_has_priority(void **state) {
    scratch_log log = {0};
    weft_tensor *tensors[2];
    assert_int_equal(setenv("WEFT_COMPILE_PROCESSES", "0", 1), 0);
    weft_context *const context = test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT,
        .cache_dir = *state, .log = scratch_log_line, .log_user = &log, .compile_processes = 1});
    weft_plan *const plan = make_plan(context, tensors);
    assert_no_child();
    run_and_release(plan, tensors);
    weft_context_release(context);
    assert_int_equal(unsetenv("WEFT_COMPILE_PROCESSES"), 0);
    assert_null(strstr(log.text, "weft-compile"));
}

/* The result of weft-compile for a request that libweft does not write. */
static int result_for(const void *request, size_t bytes) {
    char path[MOST_PATH];
    wi_child child;
    int status = 0;
    static const char *const arguments[] = {WI_COMPILE_PROGRAM, "0", "1", NULL};
    assert_true(wi_find_beside(path, sizeof path, WI_COMPILE_PROGRAM));
    assert_true(wi_child_start(&child, path, arguments, request, bytes));
    assert_int_equal(waitpid((pid_t)child.process, &status, 0), child.process);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int result_of(const wi_compile_head *head, uint64_t kind, uint64_t first) {
    const wi_compile_record record = {.kind = kind, .first = first};
    char request[sizeof *head + sizeof record];
    memcpy(request, head, sizeof *head);
    memcpy(request + sizeof *head, &record, sizeof record);
    return result_for(request, sizeof request);
}

static void a_damaged_request_is_refused(void **state) {
    (void)state;
    const weft_device_info *const device = weft_context_device(test_context());
    wi_compile_head head = {.magic = WI_COMPILE_MAGIC};
    assert_int_equal(sscanf(device->selector, "%u:%u", &head.platform, &head.device), 2);
    memcpy(head.name, device->name, sizeof head.name);
    assert_int_equal(result_for("", 0), 1);
    assert_int_equal(result_for("text", 4), 1);
    assert_int_equal(result_for(&head, sizeof head), 0); /* nothing is to be compiled */
    assert_int_equal(result_of(&head, WI_COMPILE_SOURCE, 1 << 20), 1);
    assert_int_equal(result_of(&head, WI_COMPILE_KERNEL, 0), 1);
    assert_int_equal(result_of(&head, 99, 0), 1);
    head.name[0] ^= 1;
    assert_int_equal(result_for(&head, sizeof head), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(a_process_compiles_all_kernels),
        SCRATCH_TEST(the_cache_folder_remembers_a_process),
        SCRATCH_TEST(a_context_ends_its_processes),
        SCRATCH_TEST(a_missing_program_is_named_once),
        SCRATCH_TEST(a_program_that_fails_is_named),
        SCRATCH_TEST(two_contexts_have_their_own_processes),
        SCRATCH_TEST(the_variable_has_priority),
        cmocka_unit_test(a_damaged_request_is_refused),
    };
    if (setenv("POCL_CACHE_DIR", test_folder(), 1) != 0 || unsetenv("WEFT_COMPILE_PROCESSES") != 0) return 1;
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
