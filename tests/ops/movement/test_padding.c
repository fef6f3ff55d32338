/* Pad, roll and tile: indices that are mapped back, alone, in chains of maps, in reductions, on both sides of
 * products; and how few launches they take. */
/* test slow */
/* test.{formats} format={} reduced */
#include "support/op_case.h"

#include "ops/covered_ops.h"
#include "oracle/reference_padding.h"
#include "support/small_program.h"
#include <math.h>
#include <string.h>

#define X(...)   F32(-2, 2, __VA_ARGS__)
#define X_T(...) F32_VIEW(OP_TRANSPOSED, -2, 2, __VA_ARGS__)

/* ---- pad ---- */

typedef struct padding {
    int64_t before[WEFT_MAX_RANK], after[WEFT_MAX_RANK];
    weft_pad_mode mode;
    double value;
} padding;
#define PADDING(...)                                                                                         \
    .row = &(const padding) {                                                                                \
        __VA_ARGS__                                                                                          \
    }
#define B(...)  .before = {__VA_ARGS__}
#define A(...)  .after = {__VA_ARGS__}
#define REFLECT .mode = WEFT_PAD_REFLECT
#define EDGE    .mode = WEFT_PAD_EDGE
#define WRAP    .mode = WEFT_PAD_WRAP

static f64_array *pad_array(const op_case *c, const f64_array *x) {
    const padding *const p = c->row;
    return f64_pad(x, p->before, p->after, p->mode, p->value);
}
static weft_tensor *pad_tensor(const op_case *c, weft_tensor *x) {
    const padding *const p = c->row;
    return weft_pad(x, p->before, p->after, p->mode, p->value);
}

static weft_tensor *build_pad(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return pad_tensor(c, inputs[0]);
}
static f64_array *reference_pad(const op_case *c, const f64_array *const *inputs) {
    return pad_array(c, inputs[0]);
}
/* After maps that must be written down, and before maps that need not. */
static weft_tensor *build_pad_chain(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return weft_exp(weft_mul(pad_tensor(c, weft_tanh(inputs[0])), pad_tensor(c, inputs[0])));
}
static f64_array *reference_pad_chain(const op_case *c, const f64_array *const *inputs) {
    return f64_exp(f64_mul(pad_array(c, f64_tanh(inputs[0])), pad_array(c, inputs[0])));
}
static weft_tensor *build_pad_sum(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return weft_sum_axes(weft_square(pad_tensor(c, inputs[0])), c->list, c->keep);
}
static f64_array *reference_pad_sum(const op_case *c, const f64_array *const *inputs) {
    return f64_sum(f64_square(pad_array(c, inputs[0])), c->list, c->keep);
}
/* A row beside a reduction: sum over columns of x, times the padded row. */
static weft_tensor *build_pad_row(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return weft_mul(weft_sum_axes(inputs[1], c->list, true), pad_tensor(c, inputs[0]));
}
static f64_array *reference_pad_row(const op_case *c, const f64_array *const *inputs) {
    return f64_mul(f64_sum(inputs[1], c->list, true), pad_array(c, inputs[0]));
}
/* As an operand of a product, and as an addend in its epilogue. */
static weft_tensor *build_pad_matmul(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    weft_tensor *const x = pad_tensor(c, inputs[0]);
    return weft_add(weft_matmul(x, inputs[1]), pad_tensor(c, inputs[2]));
}
static f64_array *reference_pad_matmul(const op_case *c, const f64_array *const *inputs) {
    return f64_add(f64_matmul(pad_array(c, inputs[0]), inputs[1]), pad_array(c, inputs[2]));
}
/* A number everywhere is told by coordinates. */
static weft_tensor *build_pad_number(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    return weft_mul(pad_tensor(c, weft_full(graph, WEFT_F32, 3, 2, (const int64_t[]){4, 5})), inputs[0]);
}
static f64_array *reference_pad_number(const op_case *c, const f64_array *const *inputs) {
    f64_array *const threes = f64_zeros(2, (const int64_t[]){4, 5});
    for (size_t i = 0; i < threes->count; i++) threes->value[i] = 3;
    return f64_mul(pad_array(c, threes), inputs[0]);
}

static const op_case pad_cases[] = {
    CASE("zeros around 5", pad, INPUTS(X(5)), PADDING(B(2), A(3))),
    CASE("number around 1", pad, INPUTS(X(1)), PADDING(B(1), A(1), .value = 1.5)),
    CASE("after only", pad, INPUTS(X(3, 17)), PADDING(B(0, 0), A(0, 15), .value = -2)),
    CASE("both axes, long rows", pad, INPUTS(X(3, 50)), PADDING(B(1, 2), A(2, 17))),
    CASE(
        "infinity", pad, INPUTS(X(2, 3)), PADDING(B(1, 1), A(1, 1), .value = -INFINITY), .no_gradient = true),
    CASE("NaN", pad, INPUTS(X(2, 3)), PADDING(B(1, 0), A(0, 20), .value = NAN), .no_gradient = true),
    CASE("images", pad, INPUTS(X(WEFT_BATCH, 2, 5, 4)), PADDING(B(0, 0, 1, 1), A(0, 0, 1, 1))),
    CASE("images, edge", pad, INPUTS(X(WEFT_BATCH, 2, 5, 18)), PADDING(B(0, 0, 1, 2), A(0, 0, 3, 1), EDGE)),
    CASE("images, reflect", pad, INPUTS(X(WEFT_BATCH, 2, 3, 19)),
        PADDING(B(0, 0, 2, 2), A(0, 0, 1, 5), REFLECT)),
    CASE("images, wrap", pad, INPUTS(X(WEFT_BATCH, 2, 3, 17)), PADDING(B(0, 0, 3, 2), A(0, 0, 1, 17), WRAP)),
    CASE("whole vectors outside", pad, INPUTS(X(3, 37)), PADDING(B(1, 40), A(2, 53), .value = 1.5)),
    CASE("a row inside a vector", pad, INPUTS(X(2, 5)), PADDING(B(0, 20), A(0, 23), .value = -1)),
    CASE("rows outside, edge", pad, INPUTS(X(2, 40)), PADDING(B(2, 3), A(1, 20), EDGE)),
    CASE("edge of 1", pad, INPUTS(X(1, 3)), PADDING(B(2, 0), A(1, 0), EDGE)),
    CASE("reflect, most", pad, INPUTS(X(4)), PADDING(B(3), A(3), REFLECT)),
    CASE("wrap, most", pad, INPUTS(X(4)), PADDING(B(4), A(4), WRAP)),
    CASE("edge, before the rows", pad, INPUTS(X(3, 2)), PADDING(B(2, 0), A(0, 0), EDGE)),
    CASE("of a transposed", pad, INPUTS(X_T(20, 3)), PADDING(B(1, 1), A(1, 2), REFLECT)),
    CASE("of a sliced", pad, INPUTS(F32_VIEW(OP_SLICED, -2, 2, 3, 33)), PADDING(B(0, 2), A(1, 1))),
    CASE("nothing", pad_chain, INPUTS(X(2, 3)), PADDING(B(0, 0), A(0, 0))),
    CASE("in a chain", pad_chain, INPUTS(X(WEFT_BATCH, 21)), PADDING(B(0, 3), A(0, 14), .value = 0.5)),
    CASE("in a chain, edge", pad_chain, INPUTS(X(3, 21)), PADDING(B(2, 3), A(0, 14), EDGE)),
    CASE("summed over rows", pad_sum, INPUTS(X(19, 20)), PADDING(B(2, 1), A(1, 2), .value = 3), LIST(0)),
    CASE("summed over columns", pad_sum, INPUTS(X(5, 37)), PADDING(B(1, 1), A(1, 2), .value = 3), LIST(1)),
    CASE("summed, reflect", pad_sum, INPUTS(X(WEFT_BATCH, 4, 20)), PADDING(B(0, 2, 3), A(0, 3, 1), REFLECT),
        LIST(2)),
    CASE("summed over all", pad_sum, INPUTS(X(5, 37)), PADDING(B(1, 1), A(1, 2), .value = 3), LIST(0, 1)),
    CASE("row beside a sum", pad_row, INPUTS(X(5, 1), X(9, 20)), PADDING(B(2, 0), A(2, 0), .value = 2),
        LIST(1)),
    CASE("column beside a sum", pad_row, INPUTS(X(1, 17), X(9, 20)), PADDING(B(0, 2), A(0, 1)), LIST(0)),
    CASE("in a product", pad_matmul, INPUTS(X(4, 5), X(8, 6), X(4, 3)), PADDING(B(1, 1), A(0, 2), .value = 2),
        .roundings = 2),
    CASE("of a number", pad_number, INPUTS(X(7, 9)), PADDING(B(2, 0), A(1, 4), .value = -1)),
    CASE("of a number, edge", pad_number, INPUTS(X(7, 9)), PADDING(B(2, 0), A(1, 4), EDGE)),
    CASE("i32", pad, INPUTS(I32(-9, 9, 3, 20)), PADDING(B(1, 2), A(0, 3), .value = 7), .no_gradient = true),
    CASE("rank 8", pad, INPUTS(X(1, 2, 1, 3, 1, 2, 1, 2)),
        PADDING(B(1, 0, 1, 0, 0, 1, 0, 1), A(0, 1, 0, 0, 1, 0, 0, 0))),
};

/* ---- roll: the list has pairs of axis and shift ---- */

static weft_tensor *build_roll(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    weft_tensor *y = inputs[0];
    for (const int64_t *pairs = c->list; *pairs != WEFT_END; pairs += 2)
        y = weft_roll(y, (int)pairs[0], pairs[1]);
    return y;
}
static f64_array *reference_roll(const op_case *c, const f64_array *const *inputs) {
    f64_array *y = f64_copy(inputs[0]);
    for (const int64_t *pairs = c->list; *pairs != WEFT_END; pairs += 2) y = f64_roll(y, pairs[0], pairs[1]);
    return y;
}
static const op_case roll_cases[] = {
    CASE("5 by 2", roll, INPUTS(X(5)), LIST(0, 2)),
    CASE("50 by 17", roll, INPUTS(X(2, 50)), LIST(-1, 17)),
    CASE("back", roll, INPUTS(X(3, 20)), LIST(1, -3)),
    CASE("more than the axis", roll, INPUTS(X(3, 5)), LIST(1, 13)),
    CASE("both axes", roll, INPUTS(X(4, 18)), LIST(0, 1, 1, 5)),
    CASE("an axis twice", roll, INPUTS(X(4, 18)), LIST(1, 4, 1, 3)),
    CASE("there and back", roll, INPUTS(X(4, 3)), LIST(1, 2, 1, -2)),
    CASE("batch", roll, INPUTS(X(WEFT_BATCH, 3)), LIST(0, 1)),
    CASE("batch, back, and columns", roll, INPUTS(X(WEFT_BATCH, 3)), LIST(0, -2, 1, 1)),
    CASE("of a transposed", roll, INPUTS(X_T(5, 17)), LIST(1, 3)),
};

/* ---- tile ---- */

static weft_tensor *build_tile(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return weft_tile(inputs[0], f64_list_length(c->list), c->list);
}
static f64_array *reference_tile(const op_case *c, const f64_array *const *inputs) {
    return f64_tile(inputs[0], f64_list_length(c->list), c->list);
}
static const op_case tile_cases[] = {
    CASE("5 three times", tile, INPUTS(X(5)), LIST(3)),
    CASE("17 twice, two rows", tile, INPUTS(X(17)), LIST(2, 2)),
    CASE("both axes", tile, INPUTS(X(2, 18)), LIST(3, 2)),
    CASE("fewer repeats than axes", tile, INPUTS(X(2, 3, 4)), LIST(2)),
    CASE("axes of 1", tile, INPUTS(X(1, 3, 1)), LIST(4, 2, 5)),
    CASE("only axes of 1", tile, INPUTS(X(1, 3)), LIST(4, 1)),
    CASE("once", tile, INPUTS(X(2, 3)), LIST(1, 1)),
    CASE("number", tile, INPUTS(F32_NUMBER(-2, 2)), LIST(2, 3)),
    CASE("batch", tile, INPUTS(X(WEFT_BATCH, 3)), LIST(2, 2)),
    CASE("of a transposed", tile, INPUTS(X_T(3, 5)), LIST(2, 3)),
    CASE("rank 8", tile, INPUTS(X(1, 2, 1, 3, 1, 2, 1, 2)), LIST(2, 2, 1, 2, 1, 2, 1, 2)),
};

/* ---- launches ---- */

static size_t count_launches(weft_tensor *output) {
    weft_plan *plan = NULL;
    weft_plan_info info;
    assert_non_null(output);
    assert_weft_ok(weft_plan_create(&plan, &output, 1, NULL));
    assert_weft_ok(weft_plan_get_info(plan, &info));
    weft_plan_release(plan);
    return info.launches;
}

/* Padding any axes is a part of the kernel that reads it, and so are its gradient and that of a slice. */
static void test_launches(void **state) {
    (void)state;
    weft_graph *const g = test_graph();
    const int64_t before[] = {0, 1, 2}, after[] = {0, 2, 1};
    weft_tensor *const x = weft_input(g, "x", WEFT_F32, 6, 20), *const y =
                                                                    weft_input(g, "y", WEFT_F32, 9, 23);
    weft_tensor *const z = weft_input(g, "z", WEFT_F32, 6, 20);
    for (int mode = WEFT_PAD_CONSTANT; mode <= WEFT_PAD_WRAP; mode++) {
        weft_tensor *const padded = weft_pad(x, before, after, (weft_pad_mode)mode, 0);
        assert_int_equal(count_launches(weft_relu(weft_mul(padded, y))), 1);
        assert_int_equal(count_launches(weft_sum(weft_mul(padded, y), 1)), 1);
        weft_tensor *const gradient = weft_gradient(weft_sum(weft_mul(padded, y)), x);
        const size_t most[] = {1, 3, 7, 3}; /* g; each axis: its ends (edge: their sums), then their place */
        assert_in_range(count_launches(gradient), 1, most[mode]);
    }
    assert_int_equal(count_launches(weft_mul(weft_roll(weft_roll(x, 1, 2), 2, 5), z)), 1);
    assert_int_equal(count_launches(weft_sum(weft_tile(x, 3, (const int64_t[]){1, 2, 2}), 2)), 1);
    weft_tensor *const odd = weft_slice_step(x, 2, 1, WEFT_END, 2), *const other = weft_slice(z, 2, 0, 10);
    assert_int_equal(count_launches(weft_mul(odd, other)), 1);
    assert_int_equal(count_launches(weft_mul(weft_flip(x, 0, 1, 2), z)), 1);
    assert_int_equal(count_launches(weft_mul(weft_gradient(weft_sum(weft_mul(odd, other)), x), z)), 1);
    assert_int_equal(
        count_launches(weft_gradient(
            weft_sum(weft_mul(weft_diagonal(x, 1, 1, 2), weft_slice(weft_sum(z, 1), 1, 0, 6))), x)),
        2);
    weft_graph_release(g);
}

/* ---- dtypes that are only stored ---- */

static void test_stored_dtypes(void **state) {
    (void)state;
    weft_graph *const g = test_graph();
    static const weft_dtype dtypes[] = {WEFT_F16, WEFT_BF16, WEFT_I64, WEFT_U8, WEFT_BOOL};
    enum { COUNT = sizeof dtypes / sizeof dtypes[0], N = 19 };
    weft_tensor *inputs[COUNT], *outputs[2 * COUNT];
    for (int i = 0; i < COUNT; i++) {
        inputs[i] = weft_input_shape(g, "x", dtypes[i], 1, (const int64_t[]){N});
        outputs[2 * i] =
            weft_pad(weft_flip(inputs[i]), (const int64_t[]){2}, (const int64_t[]){3}, WEFT_PAD_CONSTANT, 0);
        outputs[2 * i + 1] = weft_slice_step(inputs[i], 0, 1, WEFT_END, 2);
    }
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, outputs, 2 * COUNT, NULL));
    double values[COUNT][N], got[N + 5];
    uint64_t memory[N + 5];
    for (int i = 0; i < COUNT; i++) {
        for (int k = 0; k < N; k++) values[i][k] = dtypes[i] == WEFT_BOOL ? k % 3 == 0 : k + 1;
        f64_to_dtype(dtypes[i], values[i], N, memory);
        assert_weft_ok(weft_plan_write(plan, inputs[i], memory, N * weft_dtype_size(dtypes[i])));
    }
    assert_weft_ok(weft_plan_run(plan));
    for (int i = 0; i < COUNT; i++) {
        assert_weft_ok(weft_plan_read(plan, outputs[2 * i], memory, (N + 5) * weft_dtype_size(dtypes[i])));
        f64_from_dtype(dtypes[i], memory, N + 5, got);
        for (int k = 0; k < N + 5; k++)
            assert_true(got[k] == (k < 2 || k >= N + 2 ? 0 : values[i][N - 1 - (k - 2)]));
        assert_weft_ok(weft_plan_read(plan, outputs[2 * i + 1], memory, N / 2 * weft_dtype_size(dtypes[i])));
        f64_from_dtype(dtypes[i], memory, N / 2, got);
        for (int k = 0; k < N / 2; k++) assert_true(got[k] == values[i][2 * k + 1]);
    }
    weft_plan_release(plan);
    weft_graph_release(g);
}

int main(void) {
    static const op_cases ops[] = {PADDING_OPS(COVERED_CASES)};
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_launches), cmocka_unit_test(test_stored_dtypes)};
    int failed = op_suite_run("padding", ops, sizeof ops / sizeof ops[0]);
    failed += cmocka_run_group_tests(tests, NULL, NULL);
    return test_finish(failed);
}
