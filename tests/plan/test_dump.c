/* WEFT_DUMP: which passes are written out, where to, and that the text is the same every time. */
#include "support/fixture.h"

#include "base/platform.h"
#include "support/scratch.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const passes[] = {"rewrites", "order", "partition", "select", "loops", "code", "schedule",
    "materialise", "memory", "launches"};
enum { PASSES = sizeof passes / sizeof *passes };

/* In each pass's text. */
static const char *const expected[PASSES] = {"     1  form   softmax                  lowered", "readers",
    "members", "chosen", "space", "__kernel", "flop", "ran before", "bytes of arena", "arguments"};

static void set(const char *dump, const char *folder) {
    assert_int_equal(setenv("WEFT_DUMP", dump, 1), 0);
    assert_int_equal(setenv("WEFT_DUMP_DIR", folder, 1), 0);
}

static void unset(void) {
    unsetenv("WEFT_DUMP");
    unsetenv("WEFT_DUMP_DIR");
}

static weft_tensor *network(weft_graph *graph) {
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 12);
    return weft_softmax(weft_relu(weft_linear(x, 5)), 1);
}

/* A plan in a context of its own, so that its number is 0. */
static weft_status plan_once(bool compile_late) {
    weft_context *const context = test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT});
    weft_graph *graph = NULL;
    weft_plan *plan = NULL;
    assert_weft_ok(weft_graph_create(&graph, context));
    weft_tensor *const output = network(graph);
    const weft_status status = weft_plan_create(&plan, &output, 1,
        &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .batch = 4, .compile_late = compile_late});
    weft_plan_release(plan);
    weft_graph_release(graph);
    weft_context_release(context);
    return status;
}

static char *read_dump(const char *folder, int plan, const char *pass) {
    char name[64], *text = NULL;
    size_t length = 0;
    snprintf(name, sizeof name, "plan-%d-%s.txt", plan, pass);
    assert_weft_ok(wi_file_read(NULL, scratch_path(folder, name), &text, &length));
    return text;
}

static void test_all(void **state) {
    (void)state;
    char *const first = scratch_make(), *const second = scratch_make();
    set("all", first);
    assert_weft_ok(plan_once(false));
    set("all", second);
    assert_weft_ok(plan_once(false));
    unset();
    assert_int_equal(scratch_count(first, "plan-0-", NULL), PASSES);
    for (int i = 0; i < PASSES; i++) {
        char *const text = read_dump(first, 0, passes[i]), *const again = read_dump(second, 0, passes[i]);
        assert_string_equal(text, again);
        assert_non_null(strstr(text, expected[i]));
        assert_true(strncmp(text, passes[i], strlen(passes[i])) == 0);
        free(text);
        free(again);
    }
    scratch_remove(first);
    scratch_remove(second);
}

static void test_chosen_passes(void **state) {
    (void)state;
    char *const folder = scratch_make();
    set("partition,memory", folder);
    assert_weft_ok(plan_once(true));
    assert_int_equal(scratch_count(folder, ".txt", NULL), 2);
    set("launches", folder); /* there is none before the first run */
    assert_weft_ok(plan_once(true));
    assert_int_equal(scratch_count(folder, ".txt", NULL), 2);
    set("", folder);
    assert_weft_ok(plan_once(false));
    assert_int_equal(scratch_count(folder, ".txt", NULL), 2);
    unset();
    scratch_remove(folder);
}

static void test_numbers(void **state) {
    (void)state;
    char *const folder = scratch_make();
    weft_context *const context = test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT});
    weft_graph *graph = NULL;
    assert_weft_ok(weft_graph_create(&graph, context));
    weft_tensor *const output = network(graph);
    set("schedule", folder);
    for (int64_t batch = 1; batch <= 2; batch++) {
        weft_plan *plan = NULL;
        const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = batch, .compile_late = true};
        assert_weft_ok(weft_plan_create(&plan, &output, 1, &options));
        weft_plan_release(plan);
    }
    unset();
    char *const text = read_dump(folder, 1, "schedule");
    assert_non_null(strstr(text, "schedule of plan 1: batch 2"));
    free(text);
    weft_graph_release(graph);
    weft_context_release(context);
    scratch_remove(folder);
}

/* Operands that are padded and drawn, and a step with scratch memory. */
static void test_operands(void **state) {
    static const struct {
        const char *pass, *part;
    } wanted[] = {{"loops", "  padded - constant"}, {"loops", " generator %"}, {"memory", ", kept"},
        {"memory", "scratch in place"}};
    char *const folder = scratch_make();
    weft_context *const context = test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT});
    weft_graph *graph = NULL;
    weft_plan *plan = NULL;
    (void)state;
    assert_weft_ok(weft_graph_create(&graph, context));
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 12), *const index =
                                                                     weft_input(graph, "index", WEFT_I32);
    weft_tensor *const table = weft_parameter(graph, "table", weft_init_normal(0, 1), 7, 12);
    weft_tensor *const sum = weft_add(x, weft_index_select(table, 0, index));
    weft_tensor *const padded =
        weft_pad(sum, (const int64_t[]){0, 1}, (const int64_t[]){0, 2}, WEFT_PAD_CONSTANT, 0.5);
    weft_tensor *const noise = weft_uniform(graph, 0, 1, 2, (const int64_t[]){WEFT_BATCH, 15});
    weft_tensor *const outputs[] = {weft_tanh(weft_mul(padded, noise)), weft_argsort(padded, 1, false)};
    assert_weft_ok(weft_graph_status(graph));
    set("all", folder);
    assert_weft_ok(weft_plan_create(
        &plan, outputs, 2, &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .batch = 4, .compile_late = true}));
    unset();
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        char *const text = read_dump(folder, 0, wanted[i].pass);
        if (!strstr(text, wanted[i].part)) fail_msg("no '%s' in\n%s", wanted[i].part, text);
        free(text);
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
    weft_context_release(context);
    scratch_remove(folder);
}

static void test_bad_settings(void **state) {
    (void)state;
    char *const folder = scratch_make();
    set("partition,memmory", folder);
    assert_weft_fails(WEFT_ERROR_ARGUMENT, plan_once(true), "WEFT_DUMP", "'memmory'", "memory", "launches");
    set("partition,", folder);
    assert_weft_ok(plan_once(true));
    set("al", folder);
    assert_weft_fails(WEFT_ERROR_ARGUMENT, plan_once(true), "'al'");
    set("order", scratch_path(folder, "nothing"));
    assert_weft_fails(WEFT_ERROR_FILE, plan_once(true), "nothing/plan-0-order.txt");
    unset();
    scratch_remove(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all), cmocka_unit_test(test_chosen_passes),
        cmocka_unit_test(test_numbers), cmocka_unit_test(test_operands), cmocka_unit_test(test_bad_settings)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
