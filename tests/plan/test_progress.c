/* What the callback of a context's options learns while a plan's kernels are prepared: as they are compiled, and in the first run. */
#include "support/checks.h"
#include "support/scratch.h"

#include <stdlib.h>
#include <string.h>
#include <weft/weft.h>

enum { ROWS = 4, COLUMNS = 8, SIZE = ROWS * COLUMNS };

/* Of operations whose items are kernels. */
typedef struct heard {
    size_t begun, ended; /* operations */
    size_t calls;        /* of the operation in progress, or of the last one */
    size_t done, total;
    bool open;
} heard;

static void hear(void *user, size_t done, size_t total, const char *what) {
    heard *const h = user;
    assert_true(done <= total && total > 0);
    if (strcmp(what, "kernels") != 0) return;
    if (!h->open) {
        assert_int_equal(done, 0);
        h->begun++;
        h->calls = 0;
        h->total = total;
    } else {
        assert_int_equal(total, h->total);
        assert_true(done > h->done);
    }
    h->calls++;
    h->done = done;
    h->open = done < total;
    h->ended += !h->open;
}

static weft_context *open_with(const char *folder, weft_progress_function progress, heard *h) {
    weft_context *context = NULL;
    assert_ok(
        weft_context_create(&context, &(weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .cache_dir = folder,
                                          .progress = progress, .progress_user = h}));
    return context;
}

/* Several kernels, since what reads rows stands between them. */
static weft_tensor *build(weft_graph *graph, weft_tensor **x) {
    *x = weft_input(graph, "x", WEFT_F32, COLUMNS);
    weft_tensor *const rows = weft_cumsum(weft_softmax(*x, 1), 1);
    return weft_matmul(weft_sort(rows, 1, false), weft_transpose(rows));
}

/* NULL: its kernels do not compile. */
static weft_plan *plan_for(weft_graph *graph) {
    static const float values[SIZE] = {1, 2, 3};
    weft_plan *plan = NULL;
    weft_tensor *x = NULL, *const y = build(graph, &x);
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = ROWS};
    (void)weft_plan_create(&plan, &y, 1, &options);
    if (plan) assert_ok(weft_plan_write(plan, x, values, sizeof values));
    return plan;
}

static void kernels_are_counted_twice(void **state) {
    heard h = {0};
    weft_context *const context = open_with(*state, hear, &h);
    weft_plan *const plan = plan_for(weft_context_graph(context));
    assert_non_null(plan);
    assert_int_equal(h.begun, 1);
    assert_int_equal(h.ended, 1);
    assert_true(h.total >= 3);
    const size_t compiled = h.total;
    assert_ok(weft_plan_run(plan));
    assert_int_equal(h.begun, 2);
    assert_int_equal(h.ended, 2);
    assert_int_equal(h.total, compiled);
    assert_int_equal(h.calls, compiled + 1); /* 0 of them, 1, ... all */
    assert_ok(weft_plan_run(plan));
    assert_int_equal(h.begun, 2);
    weft_plan_release(plan);
    weft_plan_release(plan_for(weft_context_graph(context))); /* they are there */
    assert_int_equal(h.begun, 2);
    weft_context_release(context);
}

/* Nothing stays open where a compiler refuses its options: drivers do so by different errors, some in a kernel's self-test, before the plan's kernels are
 * compiled. */
static void an_operation_ends_after_an_error(void **state) {
    heard h = {0};
    weft_context *const context = open_with(*state, hear, &h);
    const char *const before = getenv("WEFT_BUILD_OPTIONS");
    char *const kept = before ? strdup(before) : NULL;
    assert_int_equal(setenv("WEFT_BUILD_OPTIONS", "-no-such-option", 1), 0);
    weft_plan *const plan = plan_for(weft_context_graph(context));
    assert_int_equal(kept ? setenv("WEFT_BUILD_OPTIONS", kept, 1) : unsetenv("WEFT_BUILD_OPTIONS"), 0);
    free(kept);
    assert_null(plan);
    assert_int_equal(h.begun, h.ended);
    weft_context_release(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(kernels_are_counted_twice),
        SCRATCH_TEST(an_operation_ends_after_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
