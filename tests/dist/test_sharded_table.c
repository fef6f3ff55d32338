/* A sharded table of one process beside sums on the host; its initial values; bad input. Several processes: check_table_together.sh. */
/* test once */
#include "support/fixture.h"
#include <math.h>
#include <weft/sharded_table.h>

enum { ROWS = 11, WIDTH = 3 };
#define OPTIONS(...) (&(weft_sharded_table_options){WEFT_SHARDED_TABLE_OPTIONS_INIT, __VA_ARGS__})

static void read_all(weft_sharded_table *table, float values[ROWS][WIDTH]) {
    int32_t rows[ROWS];
    for (int i = 0; i < ROWS; i++) rows[i] = i;
    assert_weft_ok(weft_sharded_table_gather(table, rows, ROWS, values[0]));
}

/* SGD subtracts rate times the sum of the gradients of each row; no other row changes. */
static void test_updates(void **state) {
    (void)state;
    static const int32_t rows[] = {4, 0, 4, 10, 4};
    enum { COUNT = sizeof rows / sizeof *rows };
    weft_sharded_table *table = NULL;
    float before[ROWS][WIDTH], after[ROWS][WIDTH], gradients[COUNT][WIDTH];
    assert_weft_ok(
        weft_sharded_table_create(&table, test_context(), ROWS, WIDTH, OPTIONS(.optimizer = weft_sgd(0.5f))));
    for (int i = 0; i < COUNT; i++)
        for (int k = 0; k < WIDTH; k++) gradients[i][k] = (float)(i + 1) - (float)k / 4;
    read_all(table, before);
    assert_weft_ok(weft_sharded_table_update(table, rows, COUNT, gradients[0]));
    read_all(table, after);
    for (int row = 0; row < ROWS; row++)
        for (int k = 0; k < WIDTH; k++) {
            float wanted = before[row][k], sum = 0;
            for (int i = 0; i < COUNT; i++) sum += rows[i] == row ? gradients[i][k] : 0;
            wanted -= 0.5f * sum;
            assert_true(fabsf(after[row][k] - wanted) <= 1e-6f);
            if (sum == 0) assert_true(after[row][k] == before[row][k]);
        }
    assert_weft_ok(weft_sharded_table_update(table, NULL, 0, NULL));
    read_all(table, before);
    assert_memory_equal(before, after, sizeof after);
    weft_sharded_table_release(table);
}

/* More rows than the smallest plan takes, in any order. */
static void test_many_rows(void **state) {
    (void)state;
    enum { MANY = 1000 };
    static int32_t rows[MANY];
    static float values[MANY][WIDTH];
    float all[ROWS][WIDTH];
    weft_sharded_table *table = NULL;
    assert_weft_ok(weft_sharded_table_create(&table, test_context(), ROWS, WIDTH, NULL));
    read_all(table, all);
    for (int i = 0; i < MANY; i++) rows[i] = i * 7 % ROWS;
    assert_weft_ok(weft_sharded_table_gather(table, rows, MANY, values[0]));
    for (int i = 0; i < MANY; i++) assert_memory_equal(values[i], all[rows[i]], sizeof all[0]);
    weft_sharded_table_release(table);
}

static void test_initial_values(void **state) {
    (void)state;
    const weft_initialiser constant = weft_fill(3), normal = weft_init_normal(10, 0.1f);
    float values[ROWS][WIDTH], again[ROWS][WIDTH];
    weft_sharded_table *table = NULL;
    assert_weft_ok(
        weft_sharded_table_create(&table, test_context(), ROWS, WIDTH, OPTIONS(.initialiser = &constant)));
    read_all(table, values);
    for (int i = 0; i < ROWS * WIDTH; i++) assert_true(values[i / WIDTH][i % WIDTH] == 3);
    weft_sharded_table_release(table);
    assert_weft_ok(
        weft_sharded_table_create(&table, test_context(), ROWS, WIDTH, OPTIONS(.initialiser = &normal)));
    read_all(table, values);
    for (int i = 0; i < ROWS * WIDTH; i++) assert_true(fabsf(values[i / WIDTH][i % WIDTH] - 10) < 0.6f);
    weft_sharded_table_release(table);
    for (int repeat = 0; repeat < 2; repeat++) {
        assert_weft_ok(weft_sharded_table_create(&table, test_context(), ROWS, WIDTH, NULL));
        read_all(table, repeat ? again : values);
        weft_sharded_table_release(table);
    }
    assert_memory_equal(values, again, sizeof values);
    assert_memory_not_equal(values[0], values[1], sizeof values[0]);
    for (int i = 0; i < ROWS * WIDTH; i++) assert_true(fabsf(values[i / WIDTH][i % WIDTH]) <= 0.5774f);
}

static void assert_refused(
    weft_status status, const char *line, int64_t rows, int64_t width, weft_sharded_table_options options) {
    weft_sharded_table *table = (weft_sharded_table *)&options;
    assert_weft_fails(status, weft_sharded_table_create(&table, test_context(), rows, width, &options), line);
    assert_null(table);
}

static void test_bad_input(void **state) {
    (void)state;
    const weft_initialiser he = weft_he_normal(), backwards = weft_init_uniform(2, 1);
    const weft_status argument = WEFT_ERROR_ARGUMENT, unsupported = WEFT_ERROR_UNSUPPORTED;
    weft_optimizer clipped = weft_sgd(1);
    clipped.clip_norm = 1;
    assert_refused(argument, "rows is 0 and width is 3", 0, 3, *OPTIONS(0));
    assert_refused(argument, "rows is 2147483648", INT64_C(1) << 31, 3, *OPTIONS(0));
    assert_refused(argument, "must be constant, uniform or normal", 4, 3, *OPTIONS(.initialiser = &he));
    assert_refused(argument, "the numbers 2 and 1 of the initialiser do not define a distribution", 4, 3,
        *OPTIONS(.initialiser = &backwards));
    assert_weft_fails(argument, weft_sharded_table_create(NULL, test_context(), 4, 3, NULL),
        "table and context must not be NULL");
    assert_refused(unsupported, "the optimizer has clip_norm", 4, 3, *OPTIONS(.optimizer = clipped));
    assert_refused(unsupported, "LAMB does not support", 4, 3, *OPTIONS(.optimizer = weft_lamb(1, 0)));
    assert_refused(
        argument, "the options have struct_size 1", 4, 3, (weft_sharded_table_options){.struct_size = 1});
    weft_sharded_table *table = NULL;
    float values[4][WIDTH];
    assert_weft_ok(weft_sharded_table_create(&table, test_context(), 4, WIDTH, NULL));
    assert_non_null(weft_graph_find(weft_sharded_table_graph(table), "table"));
    assert_weft_fails(argument, weft_sharded_table_gather(table, (const int32_t[]){0, 4}, 2, values[0]),
        "weft_sharded_table_gather: row 1 of the list is 4, not in 0..3");
    assert_weft_fails(argument, weft_sharded_table_update(table, (const int32_t[]){-1}, 1, values[0]),
        "row 0 of the list is -1, not in 0..3");
    assert_weft_fails(argument, weft_sharded_table_gather(table, NULL, 2, values[0]), "must not be NULL");
    assert_weft_ok(weft_sharded_table_gather(table, (const int32_t[]){3}, 1, values[0]));
    weft_sharded_table_release(table);
    weft_sharded_table_release(NULL);
    assert_null(weft_sharded_table_graph(NULL));
    assert_weft_fails(argument, weft_sharded_table_gather(NULL, NULL, 0, NULL), "table must not be NULL");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_updates),
        cmocka_unit_test(test_many_rows),
        cmocka_unit_test(test_initial_values),
        cmocka_unit_test(test_bad_input),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
