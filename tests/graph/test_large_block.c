/* Parameters of 64 MB and more in one block are written one by one, with the values that their initialisers give. */
#include "support/fixture.h"
#include <stdlib.h>

static weft_status count_up(const weft_initialiser *self, const weft_tensor *variable, float *values) {
    (void)self;
    const int64_t count = weft_tensor_dimension(variable, 0);
    for (int64_t i = 0; i < count; i++) values[i] = (float)(i % 1000);
    return WEFT_OK;
}

static void test_values(void **state) {
    enum { LARGE = (16 << 20) + 5, SMALL = 7 };
    weft_graph *const graph = test_graph();
    const weft_initialiser up = {.kind = WEFT_INIT_CUSTOM, .fill = count_up};
    weft_tensor *const first =
        weft_parameter_shape(graph, "first", weft_fill(2), 1, (const int64_t[]){SMALL});
    weft_tensor *const large = weft_parameter_shape(graph, "large", up, 1, (const int64_t[]){LARGE});
    weft_tensor *const last = weft_parameter_shape(graph, "last", up, 1, (const int64_t[]){SMALL});
    float *const values = malloc(LARGE * sizeof *values);
    (void)state;
    assert_non_null(values);
    assert_weft_ok(weft_tensor_read(large, values, LARGE * sizeof *values));
    for (int64_t i = 0; i < LARGE; i += 997) assert_float_equal(values[i], (float)(i % 1000), 0);
    assert_float_equal(values[LARGE - 1], (float)((LARGE - 1) % 1000), 0);
    assert_weft_ok(weft_tensor_read(first, values, SMALL * sizeof *values));
    for (int i = 0; i < SMALL; i++) assert_float_equal(values[i], 2, 0);
    assert_weft_ok(weft_tensor_read(last, values, SMALL * sizeof *values));
    for (int i = 0; i < SMALL; i++) assert_float_equal(values[i], (float)i, 0);
    free(values);
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
