/* Scans whose work-items share the units of a step (recurrent_cpu.cl, `helped`), over and over while other
 * threads take the cores away, so that helpers come late, in between, or not at all: the same bits each time,
 * and the numbers of the scan that shares out the rows. */
/* test slow gpu:optimised */
#include "support/fixture.h"

#include "base/platform.h"
#include "cl/context.h"
#include "cl/quirks.h"
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

enum { STEPS = 40, UNITS = 200, MANY = 30, BUSY = 3 };

/* ---- threads that work and rest by turns ---- */

static atomic_bool over;

static void *keep_busy(void *argument) {
    test_random random = test_random_named("busy", *(const uint64_t *)argument);
    while (!atomic_load(&over)) {
        const double until = wi_clock_seconds() + test_random_between(&random, 1e-5, 3e-3);
        while (wi_clock_seconds() < until && !atomic_load(&over)) {}
        const struct timespec rest = {0, (long)test_random_between(&random, 1e4, 1e6)};
        nanosleep(&rest, NULL);
    }
    return NULL;
}

/* ---- scans ---- */

typedef enum cell { LSTM, GRU, RNN, CELLS } cell;
typedef struct network {
    weft_graph *graph;
    weft_tensor *few, *many; /* the inputs: some rows, and MANY with these in front */
    weft_tensor *outputs[4]; /* of few: y, h, and where training the gradient; of many: y */
    size_t count;
    weft_plan *plan;
} network;

static weft_recurrent sequence(
    cell kind, weft_tensor *x, const weft_recurrent_weights *w, const weft_sequence_options *o) {
    return kind == LSTM  ? weft_lstm_with(x, w, o)
           : kind == GRU ? weft_gru_with(x, w, o)
                         : weft_rnn_with(x, w, o);
}

static weft_tensor *input(weft_graph *graph, const char *name, int64_t rows) {
    return weft_input_shape(graph, name, WEFT_F32, 3, (const int64_t[]){rows, STEPS, 2});
}

static void build(network *n, cell kind, int64_t rows, bool training, bool reverse) {
    static const int64_t gates[] = {4, 3, 1};
    weft_graph *const graph = n->graph = test_graph();
    const weft_initialiser uniform = weft_init_uniform(-0.1f, 0.1f);
    const weft_recurrent_weights w = {
        .weight_ih = weft_parameter_shape(graph, "ih", uniform, 2, (const int64_t[]){gates[kind] * UNITS, 2}),
        .weight_hh =
            weft_parameter_shape(graph, "hh", uniform, 2, (const int64_t[]){gates[kind] * UNITS, UNITS})};
    const weft_sequence_options options = {WEFT_SEQUENCE_OPTIONS_INIT, .reverse = reverse};
    n->few = input(graph, "few", rows);
    n->many = input(graph, "many", MANY);
    const weft_recurrent few = sequence(kind, n->few, &w, &options),
                         many = sequence(kind, n->many, &w, &options);
    n->count = 0;
    n->outputs[n->count++] = many.y;
    n->outputs[n->count++] = few.y;
    n->outputs[n->count++] = kind == LSTM ? few.c : few.h;
    if (training) n->outputs[n->count++] = weft_gradient(weft_sum(weft_square(few.y)), w.weight_hh);
    assert_weft_ok(weft_plan_create(&n->plan, n->outputs, n->count,
        &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .inference = !training}));
}

static void write_inputs(network *n, int64_t rows) {
    static float values[MANY * STEPS * 2];
    test_random random = test_random_named("helped", (uint64_t)rows);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        values[i] = (float)test_random_between(&random, -1, 1);
    assert_weft_ok(weft_plan_write(n->plan, n->many, values, sizeof values));
    assert_weft_ok(weft_plan_write(n->plan, n->few, values, (size_t)(rows * STEPS * 2) * sizeof *values));
}

static float *read_output(const network *n, size_t which, size_t *bytes) {
    size_t count = 1;
    for (int i = 0; i < weft_tensor_rank(n->outputs[which]); i++)
        count *= (size_t)weft_tensor_dimension(n->outputs[which], i);
    *bytes = count * sizeof(float);
    float *const values = malloc(*bytes);
    assert_non_null(values);
    assert_weft_ok(weft_plan_read(n->plan, n->outputs[which], values, *bytes));
    return values;
}

static void check_runs(network *n, int runs) {
    float *first[4];
    size_t bytes;
    assert_weft_ok(weft_plan_run(n->plan));
    for (size_t k = 0; k < n->count; k++) first[k] = read_output(n, k, &bytes);
    for (int run = 0; run < runs; run++) {
        assert_weft_ok(weft_plan_run(n->plan));
        for (size_t k = 0; k < n->count; k++) {
            float *const again = read_output(n, k, &bytes);
            assert_memory_equal(again, first[k], bytes);
            free(again);
        }
    }
    float *const few = read_output(n, 1, &bytes);
    for (size_t i = 0; i < bytes / sizeof *few; i++) assert_true(fabsf(few[i] - first[0][i]) < 1e-5f);
    free(few);
    for (size_t k = 0; k < n->count; k++) free(first[k]);
}

static bool is_cpu(void) {
    return weft_context_device(test_context())->device_class == WEFT_CLASS_CPU;
}

static void check_cell(cell kind) {
    /* Vectors that are unrolled take seconds a run. */
    const bool slow = wi_context_device(test_context())->caps.quirks & WI_QUIRK_SCALAR_COMPILER;
    const int runs = !is_cpu() || test_reduced() ? 1 : slow ? 2 : 20;
    static const int64_t rows[] = {1, 3};
    for (int i = 0; i < 4; i++) {
        network n;
        build(&n, kind, rows[i % 2], i >= 2, i % 2 == 1);
        write_inputs(&n, rows[i % 2]);
        check_runs(&n, runs);
        weft_plan_release(n.plan);
        weft_graph_release(n.graph);
    }
}

static void under_load(void **state) {
    (void)state;
    if (!is_cpu()) {
        print_message("skipped: work-items help each other on class cpu alone\n");
        skip();
    }
    wi_thread threads[BUSY] = {0};
    static const uint64_t numbers[BUSY] = {0, 1, 2};
    atomic_store(&over, false);
    for (int i = 0; i < BUSY; i++)
        assert_weft_ok(wi_thread_start(&threads[i], keep_busy, (void *)&numbers[i]));
    for (int kind = LSTM; kind < CELLS; kind++) check_cell((cell)kind);
    atomic_store(&over, true);
    for (int i = 0; i < BUSY; i++) wi_thread_join(&threads[i]);
}

static void alone(void **state) {
    (void)state;
    for (int kind = LSTM; kind < CELLS; kind++) check_cell((cell)kind);
}

/* That several cores do share: with a launch a step there would be two more. (One core alone takes one launch
 * anyway.) */
static void one_launch(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input_shape(graph, "x", WEFT_F32, 3, (const int64_t[]){1, 3, 2});
    weft_tensor *const y = weft_lstm(x, 512, NULL).y;
    weft_plan *plan = NULL;
    weft_plan_info info;
    assert_weft_ok(
        weft_plan_create(&plan, &y, 1, &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .inference = true}));
    assert_weft_ok(weft_plan_get_info(plan, &info));
    if (is_cpu()) assert_int_equal(info.launches, 3); /* the inputs' product, the packing, the scan */
    weft_plan_release(plan);
    weft_graph_release(graph);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(alone), cmocka_unit_test(under_load), cmocka_unit_test(one_launch)};
    return test_finish(cmocka_run_group_tests_name("recurrent_helped", tests, NULL, NULL));
}
