/* What a plan makes of the graph before it cuts it into steps: nothing is computed twice because of it, and
 * what the caller reads, too, keeps its value. */
#include "support/fixture.h"

#include "ops/op_table.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 3 };

static weft_plan *plan_of(weft_tensor *const *outputs, size_t count) {
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(
        &plan, outputs, count, &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .batch = BATCH}));
    return plan;
}

/* How often an op stands among those of the plan's steps. */
static int count_op(const weft_plan *plan, const char *name) {
    size_t length = 0;
    assert_weft_ok(weft_plan_describe(plan, WEFT_FORMAT_TEXT, NULL, 0, &length));
    char *const text = malloc(length + 1);
    assert_non_null(text);
    assert_weft_ok(weft_plan_describe(plan, WEFT_FORMAT_TEXT, text, length + 1, NULL));
    char *const steps = strstr(text, "states\n"); /* the end of the heading */
    assert_non_null(steps);
    int count = 0;
    for (char *word = strtok(steps, " +\n"); word; word = strtok(NULL, " +\n"))
        count += strcmp(word, name) == 0;
    free(text);
    return count;
}

static int count_in_plan_of(weft_tensor *const *outputs, size_t count, const char *name) {
    weft_plan *const plan = plan_of(outputs, count);
    const int found = count_op(plan, name);
    weft_plan_release(plan);
    return found;
}

static weft_plan_info info_of(weft_tensor *const *outputs, size_t count) {
    weft_plan *const plan = plan_of(outputs, count);
    weft_plan_info info;
    assert_weft_ok(weft_plan_get_info(plan, &info));
    weft_plan_release(plan);
    return info;
}

static weft_tensor *fixed_input(weft_graph *graph, const char *name, int64_t rows, int64_t columns) {
    return weft_input_shape(graph, name, WEFT_F32, 2, (const int64_t[]){rows, columns});
}

static void write_ramp(weft_plan *plan, weft_tensor *input, float *values, int count, float step) {
    for (int i = 0; i < count; i++) values[i] = (float)(i % 13 - 6) * step;
    assert_weft_ok(weft_plan_write(plan, input, values, (size_t)count * sizeof *values));
}

/* ---- products ---- */

/* A product that only its transpose reads is computed transposed: one step and no copy. One that is read as
 * it is, too, by the caller or by another node, is computed once, and the transpose is a view of it. */
static void test_transposed_product(void **state) {
    (void)state;
    enum { M = 4, K = 3, N = 5 };
    weft_graph *const graph = test_graph();
    weft_tensor *const a = fixed_input(graph, "a", M, K), *const b = fixed_input(graph, "b", K, N);
    weft_tensor *const product = weft_matmul(a, b), *const transposed = weft_transpose(product);
    weft_tensor *const both[] = {product, transposed};
    assert_int_equal(info_of(&transposed, 1).steps, 1);
    assert_int_equal(count_in_plan_of(both, 2, "matmul"), 1);
    weft_tensor *const two_readers[] = {weft_exp(product), weft_tanh(transposed)};
    assert_int_equal(count_in_plan_of(two_readers, 2, "matmul"), 1);
    weft_plan *const plan = plan_of(both, 2);
    float x[M * K], y[K * N], straight[M * N], permuted[M * N];
    write_ramp(plan, a, x, M * K, 0.5f);
    write_ramp(plan, b, y, K * N, 0.25f);
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, product, straight, sizeof straight));
    assert_weft_ok(weft_plan_read(plan, transposed, permuted, sizeof permuted));
    for (int i = 0; i < M * N; i++) {
        float sum = 0;
        for (int k = 0; k < K; k++) sum += x[i / N * K + k] * y[k * N + i % N];
        assert_float_equal(straight[i], sum, 1e-6);
        assert_true(permuted[i % N * M + i / N] == straight[i]);
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* Behind a layer over (batch, time, n) an activation is the product's epilogue, though the caller reads both as they are. */
static void test_activation_of_reshaped_layer(void **state) {
    (void)state;
    enum { T = 2, IN = 5, OUT = 3 };
    float x_values[BATCH * T * IN], got[BATCH * T * OUT], before[BATCH * T * OUT];
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, T, IN);
    weft_tensor *const layer = weft_linear(x, OUT);
    weft_tensor *const outputs[] = {weft_relu(layer), layer};
    assert_weft_ok(weft_graph_status(graph));
    assert_int_equal(info_of(outputs, 1).steps, 1);
    weft_plan *const plan = plan_of(outputs, 2);
    write_ramp(plan, x, x_values, BATCH * T * IN, 0.25f);
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, outputs[0], got, sizeof got));
    assert_weft_ok(weft_plan_read(plan, outputs[1], before, sizeof before));
    for (int i = 0; i < BATCH * T * OUT; i++) assert_true(got[i] == (before[i] > 0 ? before[i] : 0));
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* The gradient of a linear map's weight is a transposed product, as the caller wants it. */
static void test_gradient_of_linear(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 6);
    weft_tensor *const w = weft_parameter(graph, "w", weft_fill(0.5f), 4, 6);
    weft_tensor *const y = weft_linear_with(x, w, NULL);
    weft_tensor *const loss = weft_sum_axes(weft_square(y), NULL, false);
    weft_tensor *const outputs[] = {weft_gradient(loss, w)};
    assert_int_equal(count_in_plan_of(outputs, 1, "matmul"), 2);
    assert_int_equal(count_in_plan_of(outputs, 1, "copy"), 0);
    weft_graph_release(graph);
}

/* ---- simplification ---- */

/* x·1 + 0 and its gradient are what they are of; views of views meet. */
static void test_what_is_nothing(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 2, 3, 4);
    weft_tensor *const same = weft_add_number(weft_mul_number(x, 1), 0);
    const int64_t all[] = {0, 1, 2, 3, WEFT_END};
    weft_tensor *y = weft_flip_axes(weft_flip_axes(weft_exp(same), all), all);
    y = weft_roll(weft_roll(weft_roll(y, 1, 1), 2, 2), 1, 1);
    y = weft_reshape(weft_reshape(y, WEFT_BATCH, 4, 6), WEFT_BATCH, 2, 3, 4);
    y = weft_roll(weft_permute(weft_permute(y, 0, 3, 1, 2), 0, 2, 3, 1), 2, 1);
    weft_tensor *const plain = weft_exp(x), *const outputs[] = {plain, y};
    assert_int_equal(info_of(&plain, 1).steps, 1);
    assert_int_equal(info_of(outputs, 2).steps, 1);
    assert_int_equal(count_in_plan_of(outputs, 2, "exp"), 1);
    weft_tensor *const constants[] = {weft_mul(weft_number(x, 3), weft_neg(weft_number(x, 2)))};
    assert_int_equal(count_in_plan_of(constants, 1, "mul"), 0);
    weft_graph_release(graph);
}

/* ---- layout ---- */

/* A mask of computed labels that an image in another order reads is made in that order; but where the caller
 * reads it, too, it is computed once. */
static void test_mask_of_caller(void **state) {
    (void)state;
    enum { C = 3, H = 4, W = 5, SIZE = BATCH * C * H * W };
    weft_graph *const graph = test_graph();
    weft_tensor *const lying = weft_input(graph, "x", WEFT_F32, H, W, C);
    weft_tensor *const x = weft_channels_first(lying);
    weft_tensor *const rows = weft_input(graph, "rows", WEFT_F32, H);
    weft_tensor *const top = weft_argmax_axes(rows, (const int64_t[]){1, WEFT_END}, false);
    const int64_t dims[] = {WEFT_BATCH, 1, 1, 1};
    weft_tensor *const wide = weft_expand(weft_reshape_shape(top, 4, dims), 4, x->shape.dims);
    weft_tensor *const c = wi_coordinate(graph, &x->shape, 1);
    weft_tensor *const mask = weft_less(c, wide), *const y = weft_where(mask, x, weft_number(x, 0));
    weft_tensor *const outputs[] = {mask, weft_channels_last(y)};
    assert_int_equal(info_of(outputs + 1, 1).layout_conversions, 0);
    assert_int_equal(info_of(outputs + 1, 1).conversions, 0);
    assert_int_equal(count_in_plan_of(outputs, 2, "less"), 1);
    weft_plan *const plan = plan_of(outputs, 2);
    float values[SIZE], got[SIZE];
    uint8_t marks[SIZE];
    write_ramp(plan, lying, values, SIZE, 1);
    const float peaks[BATCH * H] = {[2] = 1, [H + 1] = 1, [2 * H] = 1};
    const int top_of[BATCH] = {2, 1, 0};
    assert_weft_ok(weft_plan_write(plan, rows, peaks, sizeof peaks));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, mask, marks, sizeof marks));
    assert_weft_ok(weft_plan_read(plan, outputs[1], got, sizeof got));
    for (int i = 0; i < SIZE; i++) {
        const int channel = i % C, column = i / C % W, row = i / C / W % H, n = i / C / W / H;
        assert_int_equal(marks[((n * C + channel) * H + row) * W + column], channel < top_of[n]);
        assert_true(got[i] == (channel < top_of[n] ? values[i] : 0));
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* An intermediate that the caller reads, too, costs one copy into its order, and no computation. */
static void test_intermediate_of_caller(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_channels_first(weft_input(graph, "x", WEFT_F32, 8, 8, 3));
    weft_tensor *const w = weft_parameter(graph, "w", weft_fill(0.5f), 4, 3, 3, 3);
    weft_tensor *const v = weft_parameter(graph, "v", weft_fill(0.5f), 4, 4, 3, 3);
    weft_tensor *const y = weft_tanh(weft_conv_with(x, w, NULL, NULL));
    weft_tensor *const z = weft_tanh(weft_conv_with(y, v, NULL, NULL));
    weft_tensor *const loss = weft_mean_axes(weft_square(z), NULL, false);
    weft_tensor *const outputs[] = {loss, weft_gradient(loss, w), y};
    const weft_plan_info alone = info_of(outputs, 2), with = info_of(outputs, 3);
    assert_int_equal(with.steps, alone.steps + 1);
    assert_int_equal(with.conversions, alone.conversions + 1);
    assert_int_equal(count_in_plan_of(outputs, 3, "tanh"), count_in_plan_of(outputs, 2, "tanh"));
    weft_graph_release(graph);
}

/* Dropout drops the same elements forward and backward, whatever the orders of x and of its gradient are. */
static void test_dropout_of_images(void **state) {
    (void)state;
    enum { C = 6, H = 4, W = 5, SIZE = BATCH * C * H * W };
    for (int how = 0; how < 4; how++) {
        weft_graph *const graph = test_graph();
        weft_tensor *const input =
            how & 1 ? weft_input(graph, "x", WEFT_F32, H, W, C) : weft_input(graph, "x", WEFT_F32, C, H, W);
        weft_tensor *const x = how & 1 ? weft_channels_first(input) : input;
        weft_tensor *y = weft_dropout(x, 0.5f), *end = y;
        if (how & 2) end = wi_channels_first(weft_mul_number(wi_channels_last(y), 2));
        weft_tensor *const loss = weft_sum_axes(weft_flatten(end), NULL, false);
        weft_tensor *const outputs[] = {y, weft_gradient(loss, x)};
        weft_plan *const plan = plan_of(outputs, 2);
        static float values[SIZE], dropped[SIZE], slopes[SIZE];
        for (int i = 0; i < SIZE; i++) values[i] = 1;
        assert_weft_ok(weft_plan_write(plan, input, values, sizeof values));
        assert_weft_ok(weft_plan_run(plan));
        assert_weft_ok(weft_plan_read(plan, outputs[0], dropped, sizeof dropped));
        assert_weft_ok(weft_plan_read(plan, outputs[1], slopes, sizeof slopes));
        int kept = 0;
        for (int i = 0; i < SIZE; i++) {
            kept += dropped[i] != 0;
            assert_true(dropped[i] == 0 || dropped[i] == 2);
            assert_true(slopes[i] == (how & 2 ? 2 : 1) * dropped[i]);
        }
        assert_in_range(kept, SIZE / 4, 3 * SIZE / 4);
        weft_plan_release(plan);
        weft_graph_release(graph);
    }
}

/* ---- recurrent scans ---- */

/* The gradient's kernel reads the gradients of y, h and c themselves: nothing is put between zeros, added up
 * and taken apart. So it is when the caller reads them, too. */
static void test_slopes_of_scan(void **state) {
    (void)state;
    enum { T = 5, H = 4 };
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, T, 3);
    const weft_recurrent r = weft_lstm(x, H, NULL);
    const int64_t rows[] = {WEFT_BATCH, H};
    weft_tensor *const last =
        weft_mul(weft_reshape_shape(r.h, 2, rows), weft_tanh(weft_reshape_shape(r.c, 2, rows)));
    weft_tensor *const loss =
        weft_add(weft_sum_axes(weft_square(r.y), NULL, false), weft_sum_axes(last, NULL, false));
    weft_tensor *const outputs[] = {
        weft_gradient(loss, x), weft_gradient(loss, r.y), weft_gradient(loss, r.c)};
    for (size_t count = 1; count <= 3; count++) {
        weft_plan *const plan = plan_of(outputs, count);
        assert_int_equal(count_op(plan, "recurrent_gradient"), 1);
        assert_int_equal(count_op(plan, "dilate"), 0);
        assert_int_equal(count_op(plan, "recurrent"), 1);
        weft_plan_release(plan);
    }
    weft_graph_release(graph);
}

/* A dropout of probability 0 draws no numbers, in training, too. */
static void test_dropout_of_nothing(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = fixed_input(graph, "x", 3, 5);
    for (int i = 0; i < 2; i++) {
        weft_tensor *const outputs[] = {weft_dropout(x, 0.5f * (float)i)};
        assert_int_equal(count_in_plan_of(outputs, 1, "where"), i);
    }
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_transposed_product),
        cmocka_unit_test(test_gradient_of_linear), cmocka_unit_test(test_activation_of_reshaped_layer),
        cmocka_unit_test(test_what_is_nothing), cmocka_unit_test(test_mask_of_caller),
        cmocka_unit_test(test_intermediate_of_caller), cmocka_unit_test(test_dropout_of_images),
        cmocka_unit_test(test_dropout_of_nothing), cmocka_unit_test(test_slopes_of_scan)};
    return test_finish(cmocka_run_group_tests_name("rewrites", tests, NULL, NULL));
}
