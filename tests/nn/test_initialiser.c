/* Initialisers that test_layer.c does not have: LeCun's, truncated normal, orthogonal, custom, from a file.
 */
#include "cl/context.h"
#include "support/checks.h"
#include "support/fixture.h"
#include "support/scratch.h"

#include "base/philox.h"
#include "graph/weft_graph.h"
#include <math.h>
#include <stdio.h>
#include <weft/weft.h>

enum { COUNT = 40000 };

static weft_graph *make_graph(void) {
    weft_graph *graph = NULL;
    assert_ok(weft_graph_create(&graph, test_context()));
    return graph;
}

typedef struct statistics {
    double mean, deviation, low, high;
} statistics;

static statistics measure(const float *values, size_t count) {
    statistics s = {0, 0, (double)values[0], (double)values[0]};
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

static void draw(weft_initialiser initialiser, int64_t rows, int64_t columns, float *values) {
    weft_graph *const graph = make_graph();
    weft_tensor *const p = weft_parameter(graph, "p", initialiser, rows, columns);
    assert_ok(weft_graph_status(graph));
    assert_ok(weft_tensor_read(p, values, (size_t)(rows * columns) * sizeof *values));
    weft_graph_release(graph);
}

static void lecun_has_the_variance_of_one_input(void **state) {
    (void)state;
    static float values[COUNT];
    draw(weft_lecun_normal(), 400, 100, values);
    statistics s = measure(values, COUNT);
    assert_true(fabs(s.mean) < 5 * 0.1 / sqrt(COUNT) && fabs(s.deviation / 0.1 - 1) < 0.02 && s.high > 0.35);
    draw(weft_lecun_uniform(), 400, 100, values);
    s = measure(values, COUNT);
    assert_true(fabs(s.mean) < 5 * 0.1 / sqrt(COUNT) && fabs(s.deviation / 0.1 - 1) < 0.02);
    assert_true(s.high <= sqrt(0.03) * 1.000001 && s.high > sqrt(0.03) * 0.999);
}

/* ---- every number ---- */

/* The formulas that have always been used: a change of one bit would change the networks that seeds stand for. */
static void numbers_follow_from_seed_stream_and_index(void **state) {
    (void)state;
    enum { ROWS = 7, COLUMNS = 181 }; /* whole blocks and a rest */
    static float got[2][ROWS * COLUMNS];
    weft_graph *const graph = make_graph();
    weft_tensor *const tensors[] = {
        weft_parameter(graph, "normal", weft_init_normal(0.25f, 0.02f), ROWS, COLUMNS),
        weft_parameter(graph, "uniform", weft_init_uniform(-0.3f, 0.1f), ROWS, COLUMNS)};
    assert_ok(weft_graph_status(graph));
    for (int k = 0; k < 2; k++) assert_ok(weft_tensor_read(tensors[k], got[k], sizeof got[k]));
    for (uint32_t i = 0; i < ROWS * COLUMNS; i++) {
        uint32_t normal[4] = {i, 0, tensors[0]->variable->stream, UINT32_MAX},
                 uniform[4] = {i, 0, tensors[1]->variable->stream, UINT32_MAX};
        wi_philox(normal, graph->context->seed);
        wi_philox(uniform, graph->context->seed);
        assert_true(got[0][i] == wi_fmaf(wi_normal_of(normal[0], normal[1]), 0.02f, 0.25f));
        assert_true(got[1][i] == wi_fmaf(wi_uniform_of(uniform[0]), 0.1f - -0.3f, -0.3f));
    }
    weft_graph_release(graph);
}

/* ---- truncated normal ---- */

static double density(double z) {
    return exp(-z * z / 2) / sqrt(2 * acos(-1.0));
}

static void truncated_normal_has_its_moments(void **state) {
    (void)state;
    static float values[COUNT], plain[COUNT];
    const struct {
        float mean, deviation, low, high;
    } rows[] = {{0, 0.02f, -0.04f, 0.04f}, {1, 2, -2, 2}, {0, 1, 3, 100}, {0, 1, 0.5f, 0.75f}, {0, 1, -6, -5},
        {5, 0.5f, -1e6f, 1e6f}, {2, 1, 2, 2.5f}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const double mean = (double)rows[i].mean, deviation = (double)rows[i].deviation;
        const double a = ((double)rows[i].low - mean) / deviation,
                     b = ((double)rows[i].high - mean) / deviation;
        const double whole = a > 0 ? (erfc(a / sqrt(2)) - erfc(b / sqrt(2))) / 2
                                   : (erfc(-b / sqrt(2)) - erfc(-a / sqrt(2))) / 2;
        const double first = (density(a) - density(b)) / whole;
        const double end_a = fabs(a) > 40 ? 0 : a * density(a), end_b = fabs(b) > 40 ? 0 : b * density(b);
        const double variance = 1 + (end_a - end_b) / whole - first * first;
        const double wanted_mean = mean + deviation * first, wanted_deviation = deviation * sqrt(variance);
        draw(weft_init_truncated_normal(rows[i].mean, rows[i].deviation, rows[i].low, rows[i].high), 400, 100,
            values);
        const statistics s = measure(values, COUNT);
        if (fabs(s.mean - wanted_mean) > 5 * wanted_deviation / sqrt(COUNT) ||
            fabs(s.deviation / wanted_deviation - 1) > 0.03)
            fail_msg("row %zu: mean %g, not %g; deviation %g, not %g", i, s.mean, wanted_mean, s.deviation,
                wanted_deviation);
        assert_true(s.low >= (double)rows[i].low && s.high <= (double)rows[i].high);
    }
    draw(weft_init_truncated_normal(0, 1, -2, 2), 400, 100, values);
    draw(weft_init_normal(0, 1), 400, 100, plain);
    size_t same = 0; /* what lies within the bounds is the normal number of the same place */
    for (size_t i = 0; i < COUNT; i++) same += values[i] == plain[i];
    assert_true((double)same > COUNT * 0.94 && (double)same < COUNT * 0.97);
}

/* ---- orthogonal ---- */

/* The rows, or the columns when there are fewer, are orthogonal and of length gain; and Q is the Q of the
 * normal matrix A that is drawn at that place: QᵀA is triangular with a positive diagonal. */
static void orthogonal_matrices_are_orthogonal(void **state) {
    (void)state;
    static float q[80 * 90], a[80 * 90];
    const int64_t shapes[][2] = {{1, 1}, {7, 7}, {80, 13}, {13, 80}, {1, 5}, {5, 1}, {64, 64}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        const int64_t rows = shapes[s][0], columns = shapes[s][1];
        const bool wide = rows < columns;
        const int64_t count = wide ? rows : columns, length = wide ? columns : rows;
        const int64_t next = wide ? columns : 1, along = wide ? 1 : columns;
        draw(weft_init_orthogonal(1.5f), rows, columns, q);
        draw(weft_init_normal(0, 1), rows, columns, a);
        for (int64_t i = 0; i < count; i++) {
            for (int64_t j = 0; j < count; j++) {
                double product = 0, r = 0;
                for (int64_t k = 0; k < length; k++) {
                    product += (double)q[i * next + k * along] * (double)q[j * next + k * along];
                    r += (double)q[i * next + k * along] * (double)a[j * next + k * along];
                }
                assert_true(fabs(product - (i == j ? 2.25 : 0)) < 1e-6);
                assert_true(i < j || (i == j ? r > 0 : fabs(r) < 1e-5));
            }
        }
    }
    weft_graph *const graph = make_graph(); /* (out, in, k, k) is (out, in·k·k) */
    weft_tensor *const kernel = weft_parameter(graph, "k", weft_init_orthogonal(1.5f), 13, 2, 8, 5);
    assert_ok(weft_tensor_read(kernel, q, 13 * 80 * sizeof *q));
    draw(weft_init_orthogonal(1.5f), 13, 80, a);
    assert_memory_equal(q, a, 13 * 80 * sizeof *q);
    weft_graph_release(graph);
}

/* ---- custom ---- */

static weft_status count_up(const weft_initialiser *self, const weft_tensor *variable, float *values) {
    const int64_t count = weft_tensor_dimension(variable, 0) * weft_tensor_dimension(variable, 1);
    ++*(int *)self->user;
    for (int64_t i = 0; i < count; i++) values[i] = self->a + (float)i;
    return WEFT_OK;
}

static weft_status refuse(const weft_initialiser *self, const weft_tensor *variable, float *values) {
    (void)self, (void)variable, (void)values;
    return WEFT_ERROR_CANCELLED;
}

static weft_status refuse_with_line(
    const weft_initialiser *self, const weft_tensor *variable, float *values) {
    (void)self, (void)variable, (void)values;
    return weft_plan_run(NULL);
}

static void a_function_may_write_the_values(void **state) {
    (void)state;
    int calls = 0;
    float values[6];
    const weft_initialiser up = {.kind = WEFT_INIT_CUSTOM, .a = 10, .fill = count_up, .user = &calls};
    draw(up, 2, 3, values);
    assert_int_equal(calls, 1);
    for (size_t i = 0; i < 6; i++) assert_true(values[i] == 10 + (float)i);
    weft_graph *graph = make_graph();
    assert_null(
        weft_parameter(graph, "p", ((weft_initialiser){.kind = WEFT_INIT_CUSTOM, .fill = refuse}), 3));
    assert_fails(weft_graph_status(graph), WEFT_ERROR_CANCELLED,
        "initialiser of 'p': its function returned WEFT_ERROR_CANCELLED");
    weft_graph_release(graph);
    graph = make_graph();
    assert_null(weft_parameter(
        graph, "q", ((weft_initialiser){.kind = WEFT_INIT_CUSTOM, .fill = refuse_with_line}), 3));
    assert_fails(
        weft_graph_status(graph), WEFT_ERROR_ARGUMENT, "initialiser of 'q': weft_plan_run: plan is NULL");
    weft_graph_release(graph);
    graph = make_graph(); /* a state takes one, too */
    const int64_t dims[] = {2, 3};
    weft_tensor *const table = weft_state_shape(graph, "s", WEFT_F32, up, 2, dims);
    assert_ok(weft_tensor_read(table, values, sizeof values));
    assert_true(values[5] == 15);
    weft_graph_release(graph);
}

static void a_whole_state_takes_numbers_of_its_range(void **state) {
    static const float wrong[] = {INFINITY, -INFINITY, NAN, 0x1p31f, -0x1.1p31f};
    const int64_t dims[] = {2};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        weft_graph *const graph = make_graph();
        assert_null(weft_state_shape(graph, "s", WEFT_I32, weft_fill(wrong[i]), 1, dims));
        assert_fails(weft_graph_status(graph), WEFT_ERROR_ARGUMENT, "initialiser of 's'");
        weft_graph_release(graph);
    }
}

/* ---- from a file ---- */

static const char *write_file(const char *folder, const char *header, const void *data, size_t bytes) {
    const char *const path = scratch_path(folder, "some.safetensors");
    FILE *const file = fopen(path, "wb");
    assert_non_null(file);
    const uint64_t length = strlen(header);
    for (int i = 0; i < 8; i++) fputc((int)(length >> 8 * i & 255u), file);
    fputs(header, file);
    fwrite(data, 1, bytes, file);
    fclose(file);
    return path;
}

static void parameters_begin_as_a_file_says(void **state) {
    (void)state;
    static const unsigned char data[] = {0, 0x3c, 0, 0xc0, /* f16: 1, -2 */
        0, 0, 0x20, 0x41, 0, 0, 0xa0, 0xc1,                /* f32: 10, -20 */
        7, 0, 0, 0, 8, 0, 0, 0};                           /* i32 */
    char *const folder = scratch_make();
    char path[4096];
    snprintf(path, sizeof path, "%s",
        write_file(folder,
            "{\"half\":{\"dtype\":\"F16\",\"shape\":[2,1],\"data_offsets\":[0,4]},"
            "\"p\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[4,12]},"
            "\"whole\":{\"dtype\":\"I32\",\"shape\":[2,1],\"data_offsets\":[12,20]}}",
            data, sizeof data));
    float values[2];
    draw(weft_init_from_file(path, "half"), 2, 1, values);
    assert_true(values[0] == 1 && values[1] == -2);
    draw(weft_init_from_file(path, NULL), 2, 1, values); /* the parameter's own name, p */
    assert_true(values[0] == 10 && values[1] == -20);
    const struct {
        const char *path, *entry;
        int64_t rows;
        weft_status status;
        const char *part;
    } bad[] = {
        {path, "none", 2, WEFT_ERROR_FORMAT, "there is no tensor 'none' in the file"},
        {path, "half", 3, WEFT_ERROR_SHAPE, "tensor 'half' is (2, 1) in the file, 'p' is (3, 1)"},
        {path, "whole", 2, WEFT_ERROR_DTYPE, "tensor 'whole' is I32, not f32"},
        {"/nowhere/at/all", "half", 2, WEFT_ERROR_FILE, "/nowhere/at/all"},
        {folder, "half", 2, WEFT_ERROR_FILE, folder},
        {NULL, "half", 2, WEFT_ERROR_ARGUMENT, "path must not be NULL"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        weft_graph *const graph = make_graph();
        assert_null(
            weft_parameter(graph, "p", weft_init_from_file(bad[i].path, bad[i].entry), bad[i].rows, 1));
        assert_fails(weft_graph_status(graph), bad[i].status, bad[i].part);
        weft_graph_release(graph);
    }
    snprintf(path, sizeof path, "%s", write_file(folder, "no json", data, sizeof data));
    weft_graph *const graph = make_graph();
    assert_null(weft_parameter(graph, "p", weft_init_from_file(path, "half"), 2, 1));
    assert_fails(weft_graph_status(graph), WEFT_ERROR_FORMAT, path);
    weft_graph_release(graph);
    scratch_remove(folder);
}

static void bad_values_are_refused(void **state) {
    (void)state;
    const struct {
        weft_initialiser initialiser;
        int rank;
        weft_status status;
        const char *part;
    } rows[] = {
        {weft_init_truncated_normal(0, 0, -1, 1), 2, WEFT_ERROR_ARGUMENT, "deviation 0"},
        {weft_init_truncated_normal(0, -1, -1, 1), 2, WEFT_ERROR_ARGUMENT, "deviation -1"},
        {weft_init_truncated_normal(0, 1, 1, 1), 2, WEFT_ERROR_ARGUMENT, "in [1, 1]"},
        {weft_init_truncated_normal(0, 1, 2, 1), 2, WEFT_ERROR_ARGUMENT, "in order"},
        {weft_init_truncated_normal(NAN, 1, -1, 1), 2, WEFT_ERROR_ARGUMENT, "initialiser of 'p'"},
        {weft_init_truncated_normal(0, 1, -INFINITY, 1), 2, WEFT_ERROR_ARGUMENT, "finite"},
        {weft_init_uniform(1, -1), 2, WEFT_ERROR_ARGUMENT, "initialiser of 'p': uniform from 1 to -1"},
        {weft_init_uniform(0, NAN), 2, WEFT_ERROR_ARGUMENT, "finite and in order"},
        {weft_init_uniform(-3e38f, 3e38f), 2, WEFT_ERROR_ARGUMENT, "finite and in order"},
        {weft_init_normal(0, -1), 2, WEFT_ERROR_ARGUMENT,
            "initialiser of 'p': normal of mean 0 and deviation -1"},
        {weft_init_normal(0, INFINITY), 2, WEFT_ERROR_ARGUMENT, "deviation inf"},
        {weft_init_normal(NAN, 1), 2, WEFT_ERROR_ARGUMENT, "mean nan"},
        {{.kind = WEFT_INIT_GLOROT_UNIFORM}, 2, WEFT_ERROR_ARGUMENT, "gain 0"},
        {{.kind = WEFT_INIT_GLOROT_NORMAL, .a = NAN}, 2, WEFT_ERROR_ARGUMENT, "gain nan"},
        {{.kind = WEFT_INIT_HE_UNIFORM}, 2, WEFT_ERROR_ARGUMENT, "gain 0"},
        {{.kind = WEFT_INIT_HE_NORMAL, .a = INFINITY}, 2, WEFT_ERROR_ARGUMENT, "gain inf"},
        {weft_init_orthogonal(0), 2, WEFT_ERROR_ARGUMENT, "gain 0"},
        {weft_init_orthogonal(NAN), 2, WEFT_ERROR_ARGUMENT, "gain nan"},
        {weft_init_orthogonal(1), 1, WEFT_ERROR_SHAPE, "rank 2 or more, not 1"},
        {{.kind = WEFT_INIT_CUSTOM}, 2, WEFT_ERROR_ARGUMENT, "has no function"},
    };
    const int64_t dims[] = {3, 3};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        weft_graph *const graph = make_graph();
        assert_null(weft_parameter_shape(graph, "p", rows[i].initialiser, rows[i].rank, dims));
        assert_fails(weft_graph_status(graph), rows[i].status, rows[i].part);
        weft_graph_release(graph);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lecun_has_the_variance_of_one_input),
        cmocka_unit_test(numbers_follow_from_seed_stream_and_index),
        cmocka_unit_test(truncated_normal_has_its_moments),
        cmocka_unit_test(orthogonal_matrices_are_orthogonal),
        cmocka_unit_test(a_function_may_write_the_values),
        cmocka_unit_test(a_whole_state_takes_numbers_of_its_range),
        cmocka_unit_test(parameters_begin_as_a_file_says),
        cmocka_unit_test(bad_values_are_refused),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
