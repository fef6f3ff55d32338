/* Maps of which an item has a quad of neighbouring elements, where the device's profile says so: quads that begin anywhere, that
 * are cut off, and rows that quads do not fit. The results are the same where items have one element each. */
#include "support/fixture.h"

#include "cl/context.h"
#include "plan/compiled_plan.h"
#include <stdio.h>

enum { MOST = 64 };

/* Exact in f32. */
static float expected(float x) {
    return (x * x - 3) * x;
}

static weft_tensor *map_of(weft_tensor *x) {
    return weft_mul(weft_sub(weft_square(x), weft_number(x, 3)), x);
}

/* Does the first step's kernel have a quad an item? */
static bool has_quads(const weft_plan *plan) {
    return wi_step_elements(&plan->partition, &plan->loops.of[0]) > 1;
}

static bool device_has_quads(void) {
    return wi_context_device(test_context())->profile.loops.map_elements > 1;
}

static weft_plan *plan_for(weft_tensor *output, int64_t batch) {
    weft_plan *plan = NULL;
    assert_weft_ok(
        weft_plan_create(&plan, &output, 1, &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .batch = batch}));
    return plan;
}

static void fill(float *x, int count) {
    for (int i = 0; i < count; i++) x[i] = (float)(i % 37 - 18);
}

/* All lengths up to several quads, of which most end within one. */
static void test_tails(void **state) {
    (void)state;
    float x[MOST], got[MOST];
    fill(x, MOST);
    for (int length = 1; length <= 19; length++) {
        weft_graph *const graph = test_graph();
        weft_tensor *const input = weft_input(graph, "x", WEFT_F32, length);
        weft_tensor *const output = map_of(input);
        weft_plan *const plan = plan_for(output, 3);
        assert_true(!device_has_quads() || length < 4 || has_quads(plan));
        assert_weft_ok(weft_plan_write(plan, input, x, 3 * (size_t)length * sizeof *x));
        assert_weft_ok(weft_plan_run(plan));
        assert_weft_ok(weft_plan_read(plan, output, got, 3 * (size_t)length * sizeof *got));
        for (int i = 0; i < 3 * length; i++) assert_true(got[i] == expected(x[i]));
        weft_plan_release(plan);
        weft_graph_release(graph);
    }
}

/* A program's own memory begins at any element. */
static void test_bound_anywhere(void **state) {
    enum { LENGTH = 24 };
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const holder = weft_input(graph, "holder", WEFT_F32, MOST);
    weft_tensor *const input = weft_input(graph, "x", WEFT_F32, LENGTH), *const output = map_of(input);
    weft_tensor *const kept = weft_neg(holder);
    weft_plan *const other = plan_for(kept, 1), *const plan = plan_for(output, 1);
    struct _cl_mem *memory = NULL;
    size_t offset = 0;
    float x[MOST], got[MOST];
    fill(x, MOST);
    assert_weft_ok(weft_plan_write(other, holder, x, sizeof x));
    assert_weft_ok(weft_plan_run(other));
    assert_weft_ok(weft_plan_memory(other, kept, &memory, &offset));
    for (size_t start = 0; start < 9; start++) {
        assert_weft_ok(weft_plan_bind(plan, input, memory, offset + start * sizeof *x));
        assert_weft_ok(weft_plan_run(plan));
        assert_weft_ok(weft_plan_read(plan, output, got, LENGTH * sizeof *got));
        for (size_t i = 0; i < LENGTH; i++) assert_true(got[i] == expected(-x[start + i]));
    }
    weft_plan_release(plan);
    weft_plan_release(other);
    weft_graph_release(graph);
}

/* Slices of rows: quads begin between multiples of their size, or rows are no multiple of them. */
static void test_slices(void **state) {
    enum { ROWS = 3, ROW = 20 };
    (void)state;
    float x[ROWS * ROW], got[ROWS * ROW];
    fill(x, ROWS * ROW);
    for (int start = 0; start < 6; start++) {
        for (int end = start + 4; end <= ROW; end += 4 + start % 2) {
            weft_graph *const graph = test_graph();
            weft_tensor *const input = weft_input(graph, "x", WEFT_F32, ROW);
            weft_tensor *const stored = weft_state_shape(graph, "stored", WEFT_F32,
                (weft_initialiser){.kind = WEFT_INIT_CONSTANT, .a = 2}, 1, (const int64_t[]){ROW});
            weft_tensor *const output =
                weft_add(map_of(weft_slice(input, 1, start, end)), weft_slice(stored, 0, start, end));
            weft_plan *const plan = plan_for(output, ROWS);
            const int width = end - start;
            assert_true(!device_has_quads() || has_quads(plan) == (width % 4 == 0));
            assert_weft_ok(weft_plan_write(plan, input, x, sizeof x));
            assert_weft_ok(weft_plan_run(plan));
            assert_weft_ok(weft_plan_read(plan, output, got, (size_t)(ROWS * width) * sizeof *got));
            for (int i = 0; i < ROWS * width; i++)
                assert_true(got[i] == expected(x[i / width * ROW + start + i % width]) + 2);
            weft_plan_release(plan);
            weft_graph_release(graph);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tails),
        cmocka_unit_test(test_bound_anywhere),
        cmocka_unit_test(test_slices),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
