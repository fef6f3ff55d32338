/* Initialisers and layers: what numbers parameters begin with, what they are called, what a layer computes.
 */
#include "support/checks.h"
#include "support/fixture.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <weft/weft.h>

enum { OUT = 200, IN = 300, COUNT = OUT * IN };

typedef struct statistics {
    double mean, deviation, low, high;
} statistics;

static statistics measure(const float *values, size_t count) {
    statistics s = {0.0, 0.0, INFINITY, -INFINITY};
    for (size_t i = 0; i < count; i++) {
        s.mean += (double)values[i] / (double)count;
        s.low = fmin(s.low, (double)values[i]);
        s.high = fmax(s.high, (double)values[i]);
    }
    for (size_t i = 0; i < count; i++)
        s.deviation += ((double)values[i] - s.mean) * ((double)values[i] - s.mean) / (double)count;
    s.deviation = sqrt(s.deviation);
    return s;
}

/* 60,000 numbers: a mean is within 5 standard errors, a deviation within 2 %, and a uniform's ends are nearly
 * reached and never passed. */
static void initialisers_draw_what_they_say(void **state) {
    (void)state;
    const double glorot = sqrt(6.0 / (OUT + IN)), he = sqrt(6.0 / IN);
    const struct {
        weft_initialiser initialiser;
        double mean, deviation, bound; /* bound 0: none */
    } rows[] = {
        {weft_init_uniform(-0.25f, 0.75f), 0.25, 1.0 / sqrt(12.0), 0.5},
        {weft_init_normal(1.5f, 0.5f), 1.5, 0.5, 0.0},
        {weft_glorot_uniform(), 0.0, glorot / sqrt(3.0), glorot},
        {weft_glorot_normal(), 0.0, sqrt(2.0 / (OUT + IN)), 0.0},
        {weft_he_uniform(), 0.0, he / sqrt(3.0), he},
        {weft_he_normal(), 0.0, sqrt(2.0 / IN), 0.0},
    };
    static float values[sizeof rows / sizeof *rows][COUNT];
    weft_graph *const graph = test_graph();
    weft_tensor *parameters[sizeof rows / sizeof *rows];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char name[8];
        snprintf(name, sizeof name, "p%zu", i);
        parameters[i] = weft_parameter(graph, name, rows[i].initialiser, OUT, IN);
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_ok(weft_tensor_read(parameters[i], values[i], sizeof values[i]));
        const statistics s = measure(values[i], COUNT);
        assert_true(fabs(s.mean - rows[i].mean) < 5.0 * rows[i].deviation / sqrt(COUNT));
        assert_true(fabs(s.deviation / rows[i].deviation - 1.0) < 0.02);
        if (rows[i].bound == 0.0) {
            assert_true(s.high > rows[i].mean + 3.5 * rows[i].deviation);
            continue;
        }
        const double slack = 1e-6 * rows[i].bound;
        assert_true(s.low >= rows[i].mean - rows[i].bound - slack);
        assert_true(s.high <= rows[i].mean + rows[i].bound + slack);
        assert_true(s.high > rows[i].mean + 0.99 * rows[i].bound);
    }
    assert_memory_not_equal(values[2], values[4], sizeof values[2]);
    weft_graph_release(graph);
}

static void constants_are_constant(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    float values[6];
    weft_tensor *const zeros = weft_parameter(graph, "z", weft_zeros(), 2, 3);
    weft_tensor *const filled = weft_parameter(graph, "f", weft_fill(-2.5f), 6);
    assert_ok(weft_tensor_read(zeros, values, sizeof values));
    for (int i = 0; i < 6; i++) assert_true(values[i] == 0.0f);
    assert_ok(weft_tensor_read(filled, values, sizeof values));
    for (int i = 0; i < 6; i++) assert_true(values[i] == -2.5f);
    weft_graph_release(graph);
}

static void linear_layers_are_named_and_begin_as_pytorchs(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    static float weights[50 * 25], biases[50];
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 4, 25);
    weft_tensor *const y = weft_linear(weft_linear(x, 50), 7);
    assert_int_equal(weft_tensor_rank(y), 3);
    assert_int_equal(weft_tensor_dimension(y, 0), WEFT_BATCH);
    assert_int_equal(weft_tensor_dimension(y, 1), 4);
    assert_int_equal(weft_tensor_dimension(y, 2), 7);
    static const char *const names[] = {"linear1.weight", "linear1.bias", "linear2.weight", "linear2.bias"};
    assert_int_equal(weft_graph_parameter_count(graph), 4);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(weft_tensor_name(weft_graph_parameter(graph, i)), names[i]);
    assert_int_equal(weft_tensor_dimension(weft_graph_find(graph, "linear1.weight"), 0), 50);
    assert_int_equal(weft_tensor_dimension(weft_graph_find(graph, "linear1.weight"), 1), 25);
    assert_ok(weft_tensor_read(weft_graph_find(graph, "linear1.weight"), weights, sizeof weights));
    assert_ok(weft_tensor_read(weft_graph_find(graph, "linear1.bias"), biases, sizeof biases));
    const statistics w = measure(weights, 50 * 25), b = measure(biases, 50);
    assert_true(w.low >= -0.2000001 && w.low < -0.19 && w.high <= 0.2000001 && w.high > 0.19);
    assert_true(b.low >= -0.2000001 && b.low < -0.1 && b.high <= 0.2000001 && b.high > 0.1);
    weft_graph_release(graph);
}

static void linear_options_are_used(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    const weft_initialiser two = weft_fill(2.0f), three = weft_fill(3.0f);
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 2);
    const weft_linear_options named = {
        WEFT_LINEAR_OPTIONS_INIT, .name = "head", .weight_initialiser = &two, .bias_initialiser = &three};
    const weft_linear_options bare = {WEFT_LINEAR_OPTIONS_INIT, .weight_initialiser = &two, .no_bias = true};
    weft_tensor *const outputs[] = {weft_linear_layer(x, 1, &named), weft_linear_layer(x, 1, &bare)};
    assert_non_null(weft_graph_find(graph, "head.weight"));
    assert_non_null(weft_graph_find(graph, "head.bias"));
    assert_non_null(weft_graph_find(graph, "linear1.weight"));
    assert_null(weft_graph_find(graph, "linear1.bias"));
    const float xs[] = {1.0f, 10.0f, -1.0f, 0.5f};
    float got[2];
    const weft_column column = {.name = "x", .dtype = WEFT_F32, .rank = 1, .dims = {2}, .data = xs};
    assert_ok(weft_predict(outputs[0], 2, &column, 1, got, sizeof got));
    assert_true(got[0] == 25.0f && got[1] == 2.0f);
    assert_ok(weft_predict(outputs[1], 2, &column, 1, got, sizeof got));
    assert_true(got[0] == 22.0f && got[1] == -1.0f);
    weft_graph_release(graph);
}

static void bad_layers_are_refused(void **state) {
    (void)state;
    const struct {
        int64_t units;
        bool flat; /* x is (batch) */
        weft_linear_options options;
        weft_status status;
        const char *part;
    } rows[] = {
        {0, false, {WEFT_LINEAR_OPTIONS_INIT}, WEFT_ERROR_ARGUMENT, "linear: units is 0"},
        {-3, false, {WEFT_LINEAR_OPTIONS_INIT}, WEFT_ERROR_ARGUMENT, "linear: units is -3"},
        {3, true, {WEFT_LINEAR_OPTIONS_INIT}, WEFT_ERROR_SHAPE, "linear"},
        {3, false, {.struct_size = 3}, WEFT_ERROR_ARGUMENT, "_INIT"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        weft_graph *const graph = test_graph();
        weft_tensor *const x =
            rows[i].flat ? weft_input(graph, "x", WEFT_F32) : weft_input(graph, "x", WEFT_F32, 2);
        assert_null(weft_linear_layer(x, rows[i].units, &rows[i].options));
        assert_fails(weft_graph_status(graph), rows[i].status, rows[i].part);
        weft_graph_release(graph);
    }
    assert_null(weft_linear(NULL, 3));
}

/* The numbers of its product are proved with the op; here the names, the shapes and what they begin with. */
static void bilinear_makes_its_parameters(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const a = weft_input(graph, "a", WEFT_F32, 4), *const b =
                                                                    weft_input(graph, "b", WEFT_F32, 9);
    assert_non_null(weft_bilinear(a, b, 50));
    weft_tensor *const y = weft_bilinear(a, b, 3);
    assert_int_equal(weft_tensor_rank(y), 2);
    assert_int_equal(weft_tensor_dimension(y, 0), WEFT_BATCH);
    assert_int_equal(weft_tensor_dimension(y, 1), 3);
    weft_tensor *const weight = weft_graph_find(graph, "bilinear1.weight");
    const int64_t dims[] = {50, 4, 9};
    for (int i = 0; i < 3; i++) assert_int_equal(weft_tensor_dimension(weight, i), dims[i]);
    assert_int_equal(weft_tensor_dimension(weft_graph_find(graph, "bilinear1.bias"), 0), 50);
    assert_non_null(weft_graph_find(graph, "bilinear2.weight"));
    static float values[50 * 4 * 9];
    assert_ok(weft_tensor_read(weight, values, sizeof values));
    const statistics s = measure(values, 50 * 4 * 9);
    assert_true(s.low >= -0.5 && s.low < -0.49 && s.high <= 0.5 && s.high > 0.49);
    assert_null(weft_bilinear(a, b, 0));
    assert_int_equal(weft_graph_status(graph), WEFT_ERROR_ARGUMENT);
    assert_non_null(strstr(weft_last_error(), "bilinear"));
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(initialisers_draw_what_they_say),
        cmocka_unit_test(constants_are_constant),
        cmocka_unit_test(linear_layers_are_named_and_begin_as_pytorchs),
        cmocka_unit_test(linear_options_are_used),
        cmocka_unit_test(bilinear_makes_its_parameters),
        cmocka_unit_test(bad_layers_are_refused),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
