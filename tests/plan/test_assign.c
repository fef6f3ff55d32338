/* Assigned values that lie in their state's memory, and those that may not: a sum that replaces a state, beside readers of the old value in
 * the same step; and a sum that is an output, too. */
#include "support/fixture.h"

#include <stdlib.h>

enum { ROWS = 7, RUNS = 3 };

/* x (ROWS, columns), or its transpose: each run replaces the state by the sum of each column. */
typedef struct sums {
    weft_graph *graph;
    weft_plan *plan;
    weft_tensor *x, *last, *sum, *change, *product;
    int64_t columns;
    bool transposed;
} sums;

/* shows: the sum is an output, too. */
static sums sums_of(int64_t columns, bool transposed, bool shows) {
    sums s = {.graph = test_graph(), .columns = columns, .transposed = transposed};
    const int64_t wide[] = {ROWS, columns}, high[] = {columns, ROWS};
    const int64_t row[] = {1, columns}, column[] = {columns, 1}, axis[] = {transposed, WEFT_END};
    s.x = weft_input_shape(s.graph, "x", WEFT_F32, 2, transposed ? high : wide);
    s.last = weft_state_shape(s.graph, "last", WEFT_F32, (weft_initialiser){.kind = WEFT_INIT_CONSTANT}, 2,
        transposed ? column : row);
    s.sum = weft_sum_axes(s.x, axis, true);
    s.change = weft_sub(s.sum, s.last);
    s.product = weft_mul(s.last, s.sum);
    weft_tensor *const outputs[] = {s.change, s.product, weft_assign(s.last, s.sum), s.sum};
    assert_weft_ok(weft_plan_create(&s.plan, outputs, shows ? 4 : 3, NULL));
    return s;
}

static float element(int run, int row, int64_t column) {
    return (float)(row * (run + 1) - (int)(column % 11));
}

static float sum_in(int run, int64_t column) {
    float sum = 0;
    for (int row = 0; row < ROWS && run >= 0; row++) sum += element(run, row, column);
    return sum;
}

static void run_once(const sums *s, int run) {
    const size_t count = (size_t)(ROWS * s->columns);
    float *const x = calloc(count, sizeof *x);
    assert_non_null(x);
    for (int64_t column = 0; column < s->columns; column++)
        for (int row = 0; row < ROWS; row++)
            x[s->transposed ? column * ROWS + row : row * s->columns + column] = element(run, row, column);
    assert_weft_ok(weft_plan_write(s->plan, s->x, x, count * sizeof *x));
    assert_weft_ok(weft_plan_run(s->plan));
    free(x);
}

static void assert_old_value_was_read(const sums *s, int run) {
    const size_t bytes = (size_t)s->columns * sizeof(float);
    float *const change = malloc(bytes), *const product = malloc(bytes), *const last = malloc(bytes);
    assert_true(change && product && last);
    assert_weft_ok(weft_plan_read(s->plan, s->change, change, bytes));
    assert_weft_ok(weft_plan_read(s->plan, s->product, product, bytes));
    assert_weft_ok(weft_tensor_read(s->last, last, bytes));
    for (int64_t i = 0; i < s->columns; i++) {
        const float now = sum_in(run, i), before = sum_in(run - 1, i);
        if (last[i] != now || change[i] != now - before || product[i] != now * before)
            fail_msg("%d columns, run %d, column %d: %g, %g and %g instead of %g, %g and %g", (int)s->columns,
                run, (int)i, (double)last[i], (double)change[i], (double)product[i], (double)now,
                (double)(now - before), (double)(now * before));
    }
    free(last);
    free(product);
    free(change);
}

static void test_readers_of_a_replaced_sum(void **state) {
    (void)state;
    static const int64_t sizes[] = {1, 15, 16, 40, 300};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int transposed = 0; transposed < 2; transposed++) {
            const sums s = sums_of(sizes[i], transposed, false);
            for (int run = 0; run < RUNS; run++) {
                run_once(&s, run);
                assert_old_value_was_read(&s, run);
            }
            weft_plan_release(s.plan);
            weft_graph_release(s.graph);
        }
}

/* An output that is assigned to a state, too, stays as the run left it when another plan, or the program, changes the state. */
static void test_output_stays(void **state) {
    (void)state;
    enum { COLUMNS = 16 };
    const sums s = sums_of(COLUMNS, false, true);
    weft_plan *other = NULL;
    weft_tensor *const changes[] = {weft_assign(s.last, weft_add_number(s.last, 1))};
    float wanted[COLUMNS], got[COLUMNS];
    assert_weft_ok(weft_plan_create(&other, changes, 1, NULL));
    run_once(&s, 0);
    assert_weft_ok(weft_plan_run(other));
    assert_weft_ok(weft_plan_read(s.plan, s.sum, got, sizeof got));
    for (int i = 0; i < COLUMNS; i++) assert_true(got[i] == sum_in(0, i));
    assert_weft_ok(weft_tensor_read(s.last, got, sizeof got));
    for (int i = 0; i < COLUMNS; i++) assert_true(got[i] == sum_in(0, i) + 1);
    for (int i = 0; i < COLUMNS; i++) wanted[i] = -1;
    assert_weft_ok(weft_tensor_write(s.last, wanted, sizeof wanted));
    assert_weft_ok(weft_plan_read(s.plan, s.sum, got, sizeof got));
    for (int i = 0; i < COLUMNS; i++) assert_true(got[i] == sum_in(0, i));
    weft_plan_release(other);
    weft_plan_release(s.plan);
    weft_graph_release(s.graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_readers_of_a_replaced_sum), cmocka_unit_test(test_output_stays)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
