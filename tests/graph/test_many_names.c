/* Graphs of very many variables and nodes: found by name or as they were made, named automatically, and built in linear time. */
#include "support/fixture.h"

#include "base/platform.h"
#include <stdio.h>
#include <string.h>

enum { MANY = 20000 };

static void thousands_of_parameters(void **state) {
    const int count = test_reduced() ? 200 : MANY;
    weft_graph *const graph = test_graph();
    char name[32];
    (void)state;
    const double begin = wi_clock_seconds();
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "p%d", i);
        assert_non_null(weft_parameter(graph, name, weft_zeros(), 2));
    }
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "p%d", i);
        assert_ptr_equal(weft_graph_find(graph, name), weft_graph_parameter(graph, (size_t)i));
    }
    assert_true(wi_clock_seconds() - begin < 5); /* quadratic search: 20 s and more */
    assert_int_equal(weft_graph_parameter_count(graph), count);
    assert_null(weft_graph_find(graph, "p"));
    assert_null(weft_graph_parameter(graph, (size_t)count));
    assert_null(weft_parameter(graph, "p7", weft_zeros(), 2));
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_graph_status(graph), "'p7'");
    weft_graph_release(graph);
}

static void thousands_of_layers(void **state) {
    const int count = test_reduced() ? 100 : MANY / 2;
    weft_graph *const graph = test_graph();
    weft_tensor *x = weft_input(graph, "x", WEFT_F32, 2);
    char name[32];
    (void)state;
    assert_non_null(weft_parameter(graph, "linear3.anything", weft_zeros(), 2));
    const double begin = wi_clock_seconds();
    for (int i = 0; i < count; i++) x = weft_linear(x, 2);
    assert_true(wi_clock_seconds() - begin < 5);
    assert_weft_ok(weft_graph_status(graph));
    snprintf(name, sizeof name, "linear%d.bias", count + 1); /* "linear3" was taken */
    assert_non_null(weft_graph_find(graph, name));
    assert_null(weft_graph_find(graph, "linear3.bias"));
    weft_graph_release(graph);
}

/* Equal nodes are one, however many read the same input, or a chain of them. */
static void thousands_of_readers(void **state) {
    enum { READERS = MANY };
    static weft_tensor *first[READERS];
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, READERS);
    weft_tensor *end = x;
    (void)state;
    const double begin = wi_clock_seconds();
    for (int i = 0; i < READERS; i++) first[i] = weft_slice(x, 1, i, i + 1);
    for (int i = 0; i < READERS; i++) end = weft_exp(end);
    for (int i = 0; i < READERS; i++) assert_ptr_equal(weft_slice(x, 1, i, i + 1), first[i]);
    weft_tensor *again = x;
    for (int i = 0; i < READERS; i++) again = weft_exp(again);
    assert_ptr_equal(again, end);
    assert_ptr_not_equal(first[0], first[1]);
    assert_true(wi_clock_seconds() - begin < 5);
    assert_weft_ok(weft_graph_status(graph));
    weft_graph_release(graph);
}

/* The first of equal names is found, as states may share one. */
static void the_first_of_equal_names(void **state) {
    weft_graph *const graph = test_graph();
    const int64_t dims[] = {2};
    weft_tensor *const first = weft_state_shape(graph, "s", WEFT_F32, weft_zeros(), 1, dims);
    weft_tensor *const second = weft_state_shape(graph, "s", WEFT_F32, weft_zeros(), 1, dims);
    (void)state;
    assert_non_null(first);
    assert_ptr_not_equal(first, second);
    assert_ptr_equal(weft_graph_find(graph, "s"), first);
    assert_ptr_equal(weft_graph_state(graph, 1), second);
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thousands_of_parameters),
        cmocka_unit_test(thousands_of_layers),
        cmocka_unit_test(thousands_of_readers),
        cmocka_unit_test(the_first_of_equal_names),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
