/* A second plan of a graph, with another batch or other layouts, takes no kernel of the first one that does not fit: its numbers are
 * right at its own sizes. */
#include "support/fixture.h"

enum { INPUTS = 3 };

static weft_plan *plan_of(weft_tensor *const *outputs, size_t count, int64_t batch, int64_t length) {
    weft_plan *plan;
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = batch, .length = length};
    assert_weft_ok(weft_plan_create(&plan, outputs, count, &options));
    return plan;
}

/* The mean divides by the batch, which is an argument that follows from it. */
static void a_number_follows_the_batch(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, INPUTS), *const mean = weft_mean(x);
    for (int batch = 1; batch <= 9; batch += 4) {
        float values[9 * INPUTS], got;
        for (int i = 0; i < batch * INPUTS; i++) values[i] = 2;
        weft_plan *const plan = plan_of(&mean, 1, batch, 0);
        assert_weft_ok(weft_plan_write(plan, x, values, (size_t)(batch * INPUTS) * sizeof *values));
        assert_weft_ok(weft_plan_run(plan));
        assert_weft_ok(weft_plan_read(plan, mean, &got, sizeof got));
        assert_float_equal(got, 2, 1e-6);
        weft_plan_release(plan);
    }
    weft_graph_release(graph);
}

/* The second plan adds numbers that lie apart, where the first one added the same ones to all rows. */
static void strides_tell_code_apart(void **state) {
    enum { BATCH = 2, ROWS = 8, COLUMNS = 32, COUNT = BATCH * ROWS * COLUMNS };
    (void)state;
    static float values[COUNT], got[COUNT];
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, ROWS, COLUMNS),
                       *const row = weft_input(graph, "row", WEFT_F32, 1, COLUMNS),
                       *const turned = weft_input(graph, "turned", WEFT_F32, COLUMNS, ROWS);
    weft_tensor *const first = weft_add(x, row), *const second = weft_add(x, weft_permute(turned, 0, 2, 1));
    weft_plan_release(plan_of(&first, 1, BATCH, 0));
    weft_plan *const plan = plan_of(&second, 1, BATCH, 0);
    for (int i = 0; i < COUNT; i++) values[i] = (float)i;
    assert_weft_ok(weft_plan_write(plan, x, values, sizeof values));
    assert_weft_ok(weft_plan_write(plan, turned, values, sizeof values));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, second, got, sizeof got));
    for (int i = 0; i < COUNT; i++) {
        const int image = i / (ROWS * COLUMNS), r = i / COLUMNS % ROWS, c = i % COLUMNS;
        assert_float_equal(got[i], (float)(i + (image * COLUMNS + c) * ROWS + r), 0);
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_follows_the_batch), cmocka_unit_test(strides_tell_code_apart)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
