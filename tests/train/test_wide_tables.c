/* CSV tables of very many columns: what they cost, and how many there may be. */
#include "support/checks.h"
#include "support/fixture.h"
#include "support/table_dataset.h"
#include <stdio.h>
#include <time.h>

/* 20,000 columns of numbers, texts and both, then like another table of as many: a moment each. */
static void many_columns_take_a_moment(void **state) {
    (void)state;
    enum { COLUMNS = 20000, ROOM = 16 };
    char *const text = malloc(3 * COLUMNS * ROOM);
    size_t used = 0;
    for (int i = 0; i < COLUMNS; i++) used += (size_t)sprintf(text + used, "%sc%d", i ? "," : "", i);
    for (int row = 0; row < 2; row++)
        for (int i = 0; i < COLUMNS; i++)
            used += (size_t)sprintf(text + used, i % 3 == row ? "%s%d" : "%sx%d", i ? "," : "\n", i);
    const clock_t begin = clock(); /* of the processor: the machine may have other work */
    weft_dataset *const data = table_open_csv(text, (weft_csv_options){0});
    weft_dataset *const other = table_open_csv(text, (weft_csv_options){.like = data});
    assert_true(clock() - begin < 5 * CLOCKS_PER_SEC);
    assert_int_equal(weft_dataset_column_count(data), COLUMNS);
    assert_int_equal(weft_dataset_category_count(other, 0), 2);
    assert_int_equal(table_i32(other, 0, 0), 0); /* "0" comes before "x0" */
    assert_int_equal(table_i32(other, 0, 1), 1);
    weft_dataset_release(data);
    weft_dataset_release(other);
    weft_dataset *none = NULL;
    memset(text, ',', 70000);
    text[70000] = '\0';
    const weft_csv_options plain = {WEFT_CSV_OPTIONS_INIT, .no_header = true};
    assert_fails(weft_dataset_open_csv(&none, test_context(), table_write("wide.csv", text), &plain),
        WEFT_ERROR_FORMAT, "70001 fields, but only up to 65536 can become one column each");
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_columns_take_a_moment),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
