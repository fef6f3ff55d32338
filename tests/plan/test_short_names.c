/* The names without the prefix, beside the C library's and beside variables of the same names; lists, shapes, options and values
 * in place. */
/* test once */
#include "support/checks.h"
#include "support/fixture.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <weft/short_names.h>

enum { ROWS = 3 };

/* exp, floor and abs are C's; the variables mean and sum do not hide the calls. */
static void names_live_side_by_side(void **state) {
    (void)state;
    static float rows[ROWS][2] = {{1, 2}, {3, 4}, {5, -3}}, now, totals[2];
    graph *g = test_graph();
    tensor *x = input(g, "x", F32, 2), *mean = mul_number(x, exp(0) + floor(1.5)), *sum = sum(mean, 0);
    tensor *loss = mean(mean);
    plan *all = NULL;
    assert_ok(plan_create(&all, TENSORS(loss, sum), WITH(plan, .batch = ROWS)));
    assert_ok(plan_step(all, VALUES(VALUE(x, rows), VALUE(loss, now), VALUE(sum, totals))));
    assert_true(fabsf(now - 4) < 1e-6f && fabsf(totals[0] - 18) < 1e-6f && fabsf(totals[1] - 6) < 1e-6f);
    assert_int_equal(abs(-1), 1);
    plan_release(all);
    graph_release(g);
}

static int calls;

static weft_tensor *counted(weft_tensor *x) {
    calls++;
    return x;
}

static int64_t counted_size(int64_t size) {
    calls++;
    return size;
}

static void elements_are_evaluated_once(void **state) {
    (void)state;
    weft_graph *g = test_graph();
    weft_tensor *x = weft_input(g, "x", WEFT_F32, 2);
    weft_tensor *both = weft_concat(WEFT_TENSORS(counted(x), counted(weft_neg(x)), x), 1);
    assert_int_equal(calls, 2);
    assert_int_equal(weft_tensor_dimension(both, 1), 6);
    weft_tensor *drawn = weft_uniform(g, 0, 1, WEFT_SHAPE(counted_size(4), WEFT_BATCH, counted_size(5)));
    assert_int_equal(calls, 4);
    assert_int_equal(weft_tensor_rank(drawn), 3);
    assert_int_equal(weft_tensor_dimension(drawn, 2), 5);
    assert_non_null(weft_linear_layer(x, 1, WEFT_WITH(linear, .name = "head", .no_bias = true)));
    assert_int_equal(weft_graph_parameter_count(g), 1);
    assert_non_null(weft_graph_find(g, "head.weight"));
    weft_graph_release(g);
}

/* A list within a list, and a size that is not the tensor's. */
static void lists_nest_and_are_checked(void **state) {
    (void)state;
    double wide = 0;
    weft_graph *g = test_graph();
    weft_tensor *x = weft_input(g, "x", WEFT_F32, 2), *total = NULL;
    weft_plan *both = NULL;
    total = weft_sum(weft_concat(WEFT_TENSORS(weft_concat(WEFT_TENSORS(x, x), 1), x), 1));
    assert_ok(weft_plan_create(&both, WEFT_TENSORS(total), NULL));
    float row[2] = {1, 2}, now = 0;
    assert_ok(weft_plan_step(both, WEFT_VALUES(WEFT_VALUE(x, row), WEFT_VALUE(total, now))));
    assert_true(fabsf(now - 9) < 1e-6f);
    assert_status(weft_plan_step(both, WEFT_VALUES(WEFT_VALUE(total, wide))), WEFT_ERROR_ARGUMENT);
    weft_plan_release(both);
    weft_graph_release(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_live_side_by_side),
        cmocka_unit_test(elements_are_evaluated_once),
        cmocka_unit_test(lists_nest_and_are_checked),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
