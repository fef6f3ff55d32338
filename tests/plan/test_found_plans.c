/* Plans that were once wrong, or never made, and need more than an expression to show it: memory limits, sizes of their own. Each was found
 * by random programs (`weft check --random`) and made smaller. Others are in test_found_programs.c. */
#include "support/fixture.h"

#include <stdio.h>

static weft_tensor *input(weft_graph *graph, const char *name, int rank, const int64_t *dims) {
    return weft_input_shape(graph, name, WEFT_F32, rank, dims);
}

/* ---- memory limits ---- */

static const int64_t two[] = {2};

/* Two outputs of one step were laid over one input, as the first of them is computed again before it is read. */
static void test_outputs_over_one_input(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = input(graph, "x", 1, two), *const w = input(graph, "w", 0, NULL),
                       *const u = input(graph, "u", 1, two);
    weft_tensor *const y = weft_logsumexp(x), *const z = weft_logsumexp(y);
    weft_tensor *const gradient = weft_gradient(weft_mul(z, w), x);
    weft_tensor *const second = weft_gradient(weft_sum(weft_mul(gradient, u)), x);
    weft_tensor *const outputs[] = {weft_argmax(y), z, gradient, second};
    weft_plan *plan = NULL;
    size_t least = 0;
    weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .memory_limit = 1};
    assert_weft_fails(WEFT_ERROR_MEMORY_LIMIT, weft_plan_create(&plan, outputs, 4, &options), "at least");
    assert_int_equal(sscanf(weft_last_error(), "plan: needs at least %zu bytes", &least), 1);
    options.memory_limit = least;
    assert_weft_ok(weft_plan_create(&plan, outputs, 4, &options));
    const float xs[] = {1, 2}, ws = 0.7f, us[] = {1, 0.5f};
    float got[2];
    assert_weft_ok(weft_plan_write(plan, x, xs, sizeof xs));
    assert_weft_ok(weft_plan_write(plan, w, &ws, sizeof ws));
    assert_weft_ok(weft_plan_write(plan, u, us, sizeof us));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, gradient, got, sizeof got));
    assert_float_equal(got[0], 0.188259f, 1e-5f);
    assert_float_equal(got[1], 0.511741f, 1e-5f);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* Where nothing is stored, the search for the least memory did not end. */
static void test_least_memory_of_views(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = input(graph, "x", 2, (const int64_t[]){16, 16}), *const w = input(graph, "w", 1,
                                                                                (const int64_t[]){256});
    weft_tensor *const y = weft_flatten_axes(x, 0, 1);
    weft_tensor *const outputs[] = {y, weft_gradient(weft_sum(weft_mul(y, w)), x)};
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .memory_limit = 1};
    weft_plan *plan = NULL;
    assert_weft_fails(WEFT_ERROR_MEMORY_LIMIT, weft_plan_create(&plan, outputs, 2, &options), "at least");
    weft_graph_release(graph);
}

/* ---- the length, where no value had it before ---- */

typedef weft_tensor *sized(weft_graph *graph, weft_tensor *x, weft_tensor *index);
static weft_tensor *full(weft_graph *graph, weft_tensor *x, weft_tensor *index) {
    (void)x, (void)index;
    return weft_full(graph, WEFT_F32, 2, 1, (const int64_t[]){WEFT_LENGTH});
}
static weft_tensor *expanded(weft_graph *graph, weft_tensor *x, weft_tensor *index) {
    (void)graph, (void)index;
    return weft_expand(weft_slice(x, 0, 0, 1), 1, (const int64_t[]){WEFT_LENGTH});
}
static weft_tensor *scattered(weft_graph *graph, weft_tensor *x, weft_tensor *index) {
    (void)graph;
    return weft_scatter_sum(x, 0, index, WEFT_LENGTH);
}
static weft_tensor *summed(weft_graph *graph, weft_tensor *x, weft_tensor *index) {
    (void)graph;
    return weft_index_sum(x, 0, index, WEFT_LENGTH);
}
static weft_tensor *padded(weft_graph *graph, weft_tensor *x, weft_tensor *index) {
    (void)graph, (void)index;
    return weft_pad(
        weft_slice(x, 0, 0, 1), (const int64_t[]){0}, (const int64_t[]){WEFT_LENGTH - 1}, WEFT_PAD_EDGE, 0);
}
static weft_tensor *sliced(weft_graph *graph, weft_tensor *x, weft_tensor *index) {
    (void)graph, (void)index;
    return weft_slice(weft_concat(WEFT_TENSORS(x, x), 0), 0, 0, WEFT_LENGTH);
}

static void test_length_begins(void **state) {
    (void)state;
    static sized *const makers[] = {full, expanded, scattered, summed, padded, sliced};
    static const float wanted[][4] = {
        {2, 2, 2, 2}, {1, 1, 1, 1}, {0, 5, 0, 1}, {0, 5, 0, 1}, {1, 1, 1, 1}, {1, 2, 3, 1}};
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
        weft_graph *const graph = test_graph();
        weft_tensor *const x = input(graph, "x", 1, (const int64_t[]){3});
        weft_tensor *const index = weft_input_shape(graph, "index", WEFT_I32, 1, (const int64_t[]){3});
        weft_tensor *const outputs[] = {makers[i](graph, x, index), x, index};
        const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .length = 4};
        weft_plan *plan = NULL;
        const float xs[] = {1, 2, 3};
        const int32_t places[] = {3, 1, 1};
        float got[4] = {0};
        assert_weft_ok(weft_plan_create(&plan, outputs, 3, &options));
        assert_weft_ok(weft_plan_write(plan, x, xs, sizeof xs));
        assert_weft_ok(weft_plan_write(plan, index, places, sizeof places));
        assert_weft_ok(weft_plan_run(plan));
        assert_weft_ok(weft_plan_read(plan, outputs[0], got, sizeof got));
        assert_memory_equal(got, wanted[i], sizeof got);
        weft_plan_release(plan);
        weft_graph_release(graph);
    }
}

/* An input of many times the length, in a graph that has the length, has it. */
static void test_many_lengths(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = input(graph, "x", 3, (const int64_t[]){2, WEFT_LENGTH, 65});
    weft_tensor *const y = weft_flatten(x), *const w =
                                                input(graph, "w", 2, (const int64_t[]){2, 65 * WEFT_LENGTH});
    weft_tensor *const outputs[] = {weft_gradient(weft_sum(weft_mul(y, w)), x), x};
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .length = 3};
    weft_plan *plan = NULL;
    static float xs[2 * 3 * 65], ws[2 * 3 * 65], got[2 * 3 * 65];
    for (int i = 0; i < 2 * 3 * 65; i++) ws[i] = (float)i;
    assert_weft_ok(weft_plan_create(&plan, outputs, 2, &options));
    assert_weft_ok(weft_plan_write(plan, x, xs, sizeof xs));
    assert_weft_ok(weft_plan_write(plan, w, ws, sizeof ws));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, outputs[0], got, sizeof got));
    assert_memory_equal(got, ws, sizeof got);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* ---- many arguments ---- */

/* A step that reads and writes many values of many axes, which no two values have in the same order, failed without a message: its kernel
 * takes more than 160 arguments. */
static void test_many_arguments(void **state) {
    enum { RANK = 8, ELEMENTS = 1 << RANK, INPUTS = 12 };
    static const int64_t dims[RANK] = {2, 2, 2, 2, 2, 2, 2, 2};
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *inputs[INPUTS], *sums[INPUTS];
    int axes[INPUTS][RANK];
    for (int k = 0; k < INPUTS; k++) {
        char name[16];
        snprintf(name, sizeof name, "x%d", k);
        inputs[k] = input(graph, name, RANK, dims);
        for (int i = 0; i < RANK; i++) axes[k][i] = (i * (2 * k + 1) + k) % RANK;
        weft_tensor *const turned = weft_permute_axes(inputs[k], RANK, axes[k]);
        sums[k] = k ? weft_add(weft_mul_number(sums[k - 1], 0.5), turned) : turned;
    }
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, sums, INPUTS, NULL));
    float values[ELEMENTS], expected[ELEMENTS] = {0}, got[ELEMENTS];
    for (int i = 0; i < ELEMENTS; i++) values[i] = (float)i;
    for (int k = 0; k < INPUTS; k++) assert_weft_ok(weft_plan_write(plan, inputs[k], values, sizeof values));
    assert_weft_ok(weft_plan_run(plan));
    for (int k = 0; k < INPUTS; k++) {
        assert_weft_ok(weft_plan_read(plan, sums[k], got, sizeof got));
        for (int at = 0; at < ELEMENTS; at++) {
            int from = 0;
            for (int i = 0; i < RANK; i++) from |= (at >> (RANK - 1 - i) & 1) << (RANK - 1 - axes[k][i]);
            expected[at] = 0.5f * expected[at] + (float)from;
            assert_true(got[at] == expected[at]);
        }
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outputs_over_one_input),
        cmocka_unit_test(test_least_memory_of_views),
        cmocka_unit_test(test_length_begins),
        cmocka_unit_test(test_many_lengths),
        cmocka_unit_test(test_many_arguments),
    };
    return test_finish(cmocka_run_group_tests_name("found plans", tests, NULL, NULL));
}
