/* What number formats promise beside the values of single ops (the cases of the families, run with
 * $WEFT_TEST_FORMAT): which dtype a result has, that a value is the same stored or not, parameters of 16 bits, and
 * the errors of ops that do not take a format. */
#include "support/fixture.h"

#include "cl/context.h"
#include "oracle/dtype_values.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <weft/weft.h>

static weft_tensor *make_input(weft_graph *graph, weft_dtype dtype, int rank, const int64_t *dims) {
    return weft_input_shape(graph, "x", dtype, rank, dims);
}
#define LIST_(...)                                                                                           \
    (const int64_t[]) {                                                                                      \
        __VA_ARGS__                                                                                          \
    }
#define INPUT(graph, dtype, ...)    make_input(graph, dtype, sizeof(LIST_(__VA_ARGS__)) / 8, LIST_(__VA_ARGS__))
#define assert_dtype(tensor, dtype) assert_string_equal(weft_dtype_name(weft_tensor_dtype(tensor)), #dtype)

/* ---- dtypes of results ---- */

static void test_promotion(void **state) {
    (void)state;
    weft_graph *const g = test_graph();
    weft_tensor *const half = INPUT(g, WEFT_F16, 3), *const brain = INPUT(g, WEFT_BF16, 3);
    weft_tensor *const single = INPUT(g, WEFT_F32, 3), *const yes = INPUT(g, WEFT_BOOL, 3);
    weft_tensor *const number = weft_scalar(g, "n", 0.1f), *const zero = weft_constant(g, WEFT_F16, 0);
    assert_dtype(weft_add(half, half), f16);
    assert_dtype(weft_mul(half, brain), f32);
    assert_dtype(weft_maximum(brain, single), f32);
    assert_dtype(weft_where(yes, half, single), f32);
    assert_dtype(weft_less(half, single), bool);
    assert_dtype(weft_mul(half, number), f16); /* rank 0 widens nothing */
    assert_dtype(weft_mul(zero, number), f32); /* unless all are */
    assert_dtype(weft_mul_number(half, 0.1), f16);
    assert_dtype(weft_mul_number(zero, 0.1), f16);
    assert_dtype(weft_less_number(half, 0.1), bool);
    assert_dtype(weft_softmax(half, 0), f16);
    assert_dtype(weft_mean(brain), bf16);
    assert_dtype(weft_argmax(half), i32);
    assert_dtype(weft_mse(half, brain), f32); /* losses are not narrower */
    assert_dtype(weft_matmul(INPUT(g, WEFT_F16, 2, 3), INPUT(g, WEFT_F16, 3, 4)), f16);
    assert_dtype(weft_matmul(INPUT(g, WEFT_BF16, 2, 3), INPUT(g, WEFT_F32, 3, 4)), f32);
    assert_dtype(weft_layer_norm_with(half, 1, single, single, 1e-5f), f16);
    assert_dtype(weft_gradient(weft_mse(half, single), half), f16);
    assert_ptr_equal(weft_cast(weft_cast(half, WEFT_F32), WEFT_F16), half);
    assert_ptr_not_equal(weft_cast(weft_cast(single, WEFT_F16), WEFT_F32), single);
    assert_weft_ok(weft_graph_status(g));
    weft_graph_release(g);
}

/* ---- a value is the same in a register and in memory ---- */

enum { COUNT = 67 };

static weft_tensor *chain(weft_tensor *x, weft_tensor **middle) {
    middle[0] = weft_mul(x, x);
    middle[1] = weft_add(middle[0], weft_exp(x));
    middle[2] = weft_sum(middle[1], 1);
    return weft_div(weft_tanh(middle[1]), weft_unsqueeze(middle[2], 1));
}

static void run_chain(weft_dtype dtype, bool stores, const uint16_t *input, uint16_t *output) {
    weft_graph *const g = test_graph();
    weft_tensor *const x = INPUT(g, dtype, 3, COUNT), *all[4];
    all[3] = chain(x, all);
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, stores ? all : all + 3, stores ? 4 : 1, NULL));
    assert_weft_ok(weft_plan_write(plan, x, input, 3 * COUNT * sizeof *input));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, all[3], output, 3 * COUNT * sizeof *output));
    weft_plan_release(plan);
    weft_graph_release(g);
}

static void test_stored_or_not(void **state) {
    (void)state;
    const weft_dtype dtypes[] = {WEFT_F16, WEFT_BF16};
    for (int i = 0; i < 2; i++) {
        uint16_t input[3 * COUNT], fused[3 * COUNT], stored[3 * COUNT];
        test_random random = test_random_named("stored", (uint64_t)i);
        for (int k = 0; k < 3 * COUNT; k++) {
            const double x = test_random_between(&random, -3, 3);
            f64_to_dtype(dtypes[i], &x, 1, &input[k]);
        }
        run_chain(dtypes[i], false, input, fused);
        run_chain(dtypes[i], true, input, stored);
        assert_memory_equal(fused, stored, sizeof fused);
    }
}

/* ---- constants and numbers ---- */

static void test_numbers(void **state) {
    (void)state;
    weft_graph *const g = test_graph();
    weft_tensor *const x = INPUT(g, WEFT_BF16, 1);
    /* 1000 · bf16(0.1) = 1000 · 0.10009765625, and 1000 · 0.1f: different numbers of bf16's spacing 0.5. */
    weft_tensor *const outputs[] = {weft_mul(x, weft_number(x, 0.1)), weft_mul_number(x, 0.1)};
    const uint16_t thousand = f64_bfloat_of(1000);
    uint16_t got[2];
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, outputs, 2, NULL));
    assert_weft_ok(weft_plan_write(plan, x, &thousand, sizeof thousand));
    assert_weft_ok(weft_plan_run(plan));
    for (int i = 0; i < 2; i++) assert_weft_ok(weft_plan_read(plan, outputs[i], &got[i], sizeof got[i]));
    assert_int_equal(got[0], f64_bfloat_of(1000 * f64_bfloat_value(f64_bfloat_of(0.1))));
    assert_int_equal(got[1], f64_bfloat_of(1000 * (double)0.1f));
    weft_plan_release(plan);
    weft_graph_release(g);
}

/* A sum of many is accumulated in f32: in f16 it would stay at 2048. */
static void test_long_sum(void **state) {
    (void)state;
    enum { MANY = 5000 };
    static uint16_t ones[MANY];
    weft_graph *const g = test_graph();
    weft_tensor *const x = INPUT(g, WEFT_F16, MANY), *const sum = weft_sum(x);
    uint16_t got = 0;
    for (int i = 0; i < MANY; i++) ones[i] = f64_half_of(1);
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, &sum, 1, NULL));
    assert_weft_ok(weft_plan_write(plan, x, ones, sizeof ones));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, sum, &got, sizeof got));
    assert_int_equal(got, f64_half_of(MANY));
    weft_plan_release(plan);
    weft_graph_release(g);
}

/* ---- parameters ---- */

static const weft_initialiser third = {.kind = WEFT_INIT_CONSTANT, .a = 1.0f / 3};

/* One step of gradient descent, written down by hand. */
static void train(weft_dtype dtype) {
    weft_graph *const g = test_graph();
    weft_tensor *const w = weft_parameter_dtype(g, "w", dtype, third, 1, (const int64_t[]){5});
    weft_tensor *const v = weft_parameter_dtype(g, "v", WEFT_F32, third, 1, (const int64_t[]){3});
    weft_tensor *const loss = weft_add(weft_sum(weft_square(w)), weft_sum(v));
    weft_tensor *const step = weft_assign(w, weft_sub(w, weft_mul_number(weft_gradient(loss, w), 0.25)));
    weft_plan *plan = NULL;
    double begin = (double)(1.0f / 3), memory[5], got[5];
    assert_weft_ok(weft_plan_create(&plan, &step, 1, NULL));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_tensor_read(w, memory, 5 * weft_dtype_size(dtype)));
    f64_from_dtype(dtype, memory, 5, got);
    f64_to_dtype(dtype, &begin, 1, memory);
    f64_from_dtype(dtype, memory, 1, &begin);
    for (int i = 0; i < 5; i++) assert_true(got[i] == begin / 2); /* exact in every format */
    float floats[3];
    assert_weft_ok(weft_tensor_read(v, floats, sizeof floats));
    assert_true(floats[2] == 1.0f / 3);
    weft_plan_release(plan);
    weft_graph_release(g);
}

static void test_parameters(void **state) {
    (void)state;
    train(WEFT_F32);
    train(WEFT_F16);
    train(WEFT_BF16);
    if (wi_context_device(test_context())->caps.fp64) train(WEFT_F64);
}

static weft_status fill_steps(const weft_initialiser *self, const weft_tensor *variable, float *values) {
    (void)self;
    for (int64_t i = 0; i < weft_tensor_dimension(variable, 0); i++) values[i] = 0.5f * (float)i;
    return WEFT_OK;
}

static void test_initial_content(void **state) {
    (void)state;
    const weft_initialiser custom = {.kind = WEFT_INIT_CUSTOM, .fill = fill_steps};
    const weft_dtype dtypes[] = {WEFT_F16, WEFT_BF16, WEFT_F64};
    const int count = wi_context_device(test_context())->caps.fp64 ? 3 : 2;
    for (int i = 0; i < count; i++) {
        weft_graph *const g = test_graph();
        weft_tensor *const w = weft_parameter_dtype(g, "w", dtypes[i], custom, 1, (const int64_t[]){9});
        double memory[9], got[9];
        assert_weft_ok(weft_tensor_read(w, memory, 9 * weft_dtype_size(dtypes[i])));
        f64_from_dtype(dtypes[i], memory, 9, got);
        for (int k = 0; k < 9; k++) assert_true(got[k] == 0.5 * k);
        weft_graph_release(g);
    }
}

static void test_flat_parameters(void **state) {
    (void)state;
    weft_graph *const g = test_graph();
    weft_tensor *const w = weft_parameter_dtype(g, "small", WEFT_F16, third, 1, (const int64_t[]){5});
    const weft_optimizer sgd = weft_sgd(0.1f);
    weft_tensor *updates[WEFT_MAX_UPDATES];
    size_t count = 0;
    assert_weft_fails(WEFT_ERROR_DTYPE,
        weft_minimize(weft_sum(weft_square(w)), &sgd, updates, WEFT_MAX_UPDATES, &count), "'small'", "f16",
        "f32");
    weft_graph_release(g);
}

/* ---- ops that do not take a format say so ---- */

typedef weft_tensor *refused(weft_graph *g);
#define HALF(...) INPUT(g, WEFT_F16, __VA_ARGS__)
static weft_tensor *rnn_cell(weft_graph *g) {
    const weft_recurrent_weights weights = {.weight_ih = HALF(4, 3), .weight_hh = HALF(4, 4)};
    return weft_rnn_cell(HALF(2, 3), HALF(2, 4), &weights, false).h;
}
#define REFUSALS(ROW)                                                                                        \
    ROW(conv, weft_conv_with(HALF(2, 3, 5, 5), HALF(4, 3, 3, 3), NULL, NULL))                                \
    ROW(conv_transpose, weft_conv_transpose_with(HALF(2, 3, 5, 5), HALF(3, 4, 3, 3), NULL, NULL))            \
    ROW(max_pool, weft_max_pool2d(HALF(2, 3, 4, 4), 2))                                                      \
    ROW(avg_pool, weft_avg_pool2d(HALF(2, 3, 4, 4), 2))                                                      \
    ROW(attention, weft_attention(HALF(2, 1, 4, 8), HALF(2, 1, 4, 8), HALF(2, 1, 4, 8), NULL))               \
    ROW(upsample, weft_upsample_nearest(HALF(2, 3, 4, 4), 2))                                                \
    ROW(local_response_norm, weft_local_response_norm(HALF(2, 3, 4, 4), 3, 1, 0.5, 1))                       \
    ROW(rnn_cell, rnn_cell(g))
#define REFUSE(name, expression)                                                                             \
    static weft_tensor *build_##name(weft_graph *g) {                                                        \
        return expression;                                                                                   \
    }
REFUSALS(REFUSE)
#define ROW_OF(name, expression) {#name, build_##name},
static const struct {
    const char *name;
    refused *build;
} refusals[] = {REFUSALS(ROW_OF)};

static void test_refusals(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        weft_graph *const g = test_graph();
        if (refusals[i].build(g)) fail_msg("%s takes f16", refusals[i].name);
        assert_weft_fails(WEFT_ERROR_DTYPE, weft_graph_status(g), "f32", "f16");
        weft_graph_release(g);
    }
}

/* Sorting and scans have kernels of f32 and i32, which 16-bit floats go through. */
static void test_refused_doubles(void **state) {
    (void)state;
    if (!wi_context_device(test_context())->caps.fp64) return;
    weft_graph *const g = test_graph();
    assert_null(weft_sort(INPUT(g, WEFT_F64, 3), 0, false));
    assert_weft_fails(WEFT_ERROR_DTYPE, weft_graph_status(g), "sort", "bf16", "f64");
    weft_graph_release(g);
}

/* ---- rows that begin anywhere ---- */

/* Rows of an odd length begin at addresses of which a vector of 16 bits knows nothing, and a driver knows the numbers of a padding. */
static void pad_odd_rows(weft_dtype dtype) {
    enum { WIDTH = 127, ROWS = 3 };
    weft_graph *const g = test_graph();
    weft_tensor *const x = INPUT(g, dtype, 1, WIDTH);
    weft_tensor *const y =
        weft_pad(x, (const int64_t[]){1, 0}, (const int64_t[]){1, 0}, WEFT_PAD_CONSTANT, 0);
    weft_plan *plan = NULL;
    uint16_t row[WIDTH], padded[ROWS * WIDTH];
    for (int i = 0; i < WIDTH; i++) row[i] = (uint16_t)(1 + i);
    memset(padded, 0xff, sizeof padded);
    assert_weft_ok(weft_plan_create(&plan, (weft_tensor *const[]){y}, 1, NULL));
    assert_weft_ok(weft_plan_write(plan, x, row, sizeof row));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, y, padded, sizeof padded));
    for (int i = 0; i < ROWS * WIDTH; i++) assert_int_equal(padded[i], i / WIDTH == 1 ? row[i % WIDTH] : 0);
    weft_plan_release(plan);
    weft_graph_release(g);
}

/* The second operand is read one element at a time, so that a driver separates the loads of the first from their conversions. */
static void add_transposed(weft_dtype dtype, uint16_t one, uint16_t two) {
    enum { ROWS = 5, WIDTH = 37 };
    weft_graph *const g = test_graph();
    weft_tensor *const x = INPUT(g, dtype, ROWS, WIDTH), *const z = INPUT(g, dtype, WIDTH, ROWS);
    weft_tensor *const y = weft_add(x, weft_transpose(z));
    weft_plan *plan = NULL;
    uint16_t numbers[ROWS * WIDTH], sums[ROWS * WIDTH];
    for (int i = 0; i < ROWS * WIDTH; i++) numbers[i] = one;
    assert_weft_ok(weft_plan_create(&plan, (weft_tensor *const[]){y}, 1, NULL));
    assert_weft_ok(weft_plan_write(plan, x, numbers, sizeof numbers));
    assert_weft_ok(weft_plan_write(plan, z, numbers, sizeof numbers));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, y, sums, sizeof sums));
    for (int i = 0; i < ROWS * WIDTH; i++) assert_int_equal(sums[i], two);
    weft_plan_release(plan);
    weft_graph_release(g);
}

static void test_odd_rows(void **state) {
    (void)state;
    add_transposed(WEFT_F16, 0x3c00, 0x4000);
    add_transposed(WEFT_BF16, 0x3f80, 0x4000);
    pad_odd_rows(WEFT_F16);
    pad_odd_rows(WEFT_BF16);
}

/* Where the device has no f64 the first node of it says so. */
static void test_doubles(void **state) {
    (void)state;
    wi_device *const device = wi_context_device(test_context());
    const bool fp64 = device->caps.fp64;
    weft_graph *const g = test_graph();
    device->caps.fp64 = false;
    weft_tensor *const x = INPUT(g, WEFT_F64, 3);
    device->caps.fp64 = fp64;
    assert_null(x);
    assert_weft_fails(WEFT_ERROR_UNSUPPORTED, weft_graph_status(g), "f64", "cl_khr_fp64", device->info.name);
    weft_graph_release(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_promotion),
        cmocka_unit_test(test_stored_or_not),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_long_sum),
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_initial_content),
        cmocka_unit_test(test_flat_parameters),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_refused_doubles),
        cmocka_unit_test(test_doubles),
        cmocka_unit_test(test_odd_rows),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
