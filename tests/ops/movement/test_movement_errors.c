/* Wrong axes, sizes, steps, pads, equations: each is one line that names the op, what is wrong and what is
 * right. */
#include "support/fixture.h"

#include <math.h>
#include <string.h>

/* The tensors that the bad uses below are made of. */
typedef struct things {
    weft_graph *graph;
    weft_tensor *x;      /* f32 (batch, 3, 4) */
    weft_tensor *row;    /* f32 (5) */
    weft_tensor *number; /* f32 () */
    weft_tensor *matrix; /* f32 (3, 4) */
    weft_tensor *twos;   /* f32 (6 * batch, batch) */
    weft_tensor *rank8;  /* f32 (1, 1, 1, 1, 1, 1, 1, 2) */
    weft_tensor *labels; /* i32 (batch) */
    weft_tensor *mask;   /* bool (3, 4) */
    weft_tensor *bytes;  /* u8 (3, 4) */
} things;

#define MAKE(name, dtype, ...)                                                                               \
    weft_input_shape(                                                                                        \
        g, name, dtype, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (const int64_t[]){__VA_ARGS__})

static things make_things(void) {
    weft_graph *const g = test_graph();
    const things t = {g, MAKE("x", WEFT_F32, WEFT_BATCH, 3, 4), MAKE("row", WEFT_F32, 5),
        weft_input_shape(g, "number", WEFT_F32, 0, NULL), MAKE("matrix", WEFT_F32, 3, 4),
        MAKE("twos", WEFT_F32, WEFT_BATCH * 6, WEFT_BATCH), MAKE("rank8", WEFT_F32, 1, 1, 1, 1, 1, 1, 1, 2),
        MAKE("labels", WEFT_I32, WEFT_BATCH), MAKE("mask", WEFT_BOOL, 3, 4), MAKE("bytes", WEFT_U8, 3, 4)};
    assert_weft_ok(weft_graph_status(g));
    return t;
}

#define L(...)                      ((const int64_t[]){__VA_ARGS__})
#define AXES(...)                   ((const int64_t[]){__VA_ARGS__, WEFT_END})
#define PAD(x, mode, before, after) weft_pad(x, before, after, WEFT_PAD_##mode, 0)
#define MANY                        INT64_MAX

/* ROW(name, expression over t, status, texts of the line...): each is a test. */
#define PARTS(ROW)                                                                                           \
    ROW(step_zero, weft_slice_step(t.row, 0, 0, 5, 0), ARGUMENT, "slice", "step 0")                          \
    ROW(step_negative, weft_slice_step(t.row, 0, 4, 0, -1), ARGUMENT, "slice", "step -1", "weft_flip")       \
    ROW(step_empty, weft_slice_step(t.row, 0, 3, 3, 2), SHAPE, "slice", "(5)")                               \
    ROW(step_outside, weft_slice_step(t.row, 0, 0, MANY, 2), SHAPE, "slice", "(5)")                          \
    ROW(step_before, weft_slice_step(t.row, 0, INT64_MIN, WEFT_END, 1), SHAPE, "slice", "(5)")               \
    ROW(step_axis, weft_slice_step(t.row, 1, 0, 1, 1), SHAPE, "slice", "axis 1")                             \
    ROW(flip_axis, weft_flip(t.row, 1), SHAPE, "flip", "axis 1", "(5)")                                      \
    ROW(flip_twice, weft_flip(t.x, 1, -2), SHAPE, "flip", "axis 1", "twice")                                 \
    ROW(diagonal_rank, weft_diagonal(t.row, 0, 0, 1), SHAPE, "diagonal", "axis 1", "(5)")                    \
    ROW(diagonal_same, weft_diagonal(t.x, 0, 1, -2), SHAPE, "diagonal", "twice")                             \
    ROW(diagonal_above, weft_diagonal(t.matrix, 4, 0, 1), SHAPE, "diagonal", "(3, 4)", "4")                  \
    ROW(diagonal_below, weft_diagonal(t.matrix, -3, 0, 1), SHAPE, "diagonal", "(3, 4)", "-3")                \
    ROW(diagonal_far, weft_diagonal(t.matrix, INT64_MIN, 0, 1), SHAPE, "diagonal")                           \
    ROW(diagonal_batch, weft_diagonal(t.x, 0, 0, 1), SHAPE, "diagonal", "batch")                             \
    ROW(diagonal_batches, weft_diagonal(t.twos, 0, 0, 1), SHAPE, "diagonal", "6*batch")

#define AXIS(ROW)                                                                                            \
    ROW(flatten_order, weft_flatten_axes(t.x, 2, 1), SHAPE, "flatten", "(batch, 3, 4)")                      \
    ROW(flatten_axis, weft_flatten_axes(t.x, 0, 3), SHAPE, "flatten", "axis 3")                              \
    ROW(flatten_batches, weft_flatten_axes(t.twos, 0, 1), SHAPE, "flatten", "batch^2")                       \
    ROW(squeeze_size, weft_squeeze(t.x, 1), SHAPE, "squeeze", "axis 1", "not of size 1")                     \
    ROW(squeeze_batch, weft_squeeze(t.x, 0), SHAPE, "squeeze", "axis 0")                                     \
    ROW(squeeze_twice, weft_squeeze(t.rank8, 0, -8), SHAPE, "squeeze", "twice")                              \
    ROW(squeeze_axis, weft_squeeze(t.x, 3), SHAPE, "squeeze", "axis 3")                                      \
    ROW(unsqueeze_axis, weft_unsqueeze(t.row, 2), SHAPE, "unsqueeze", "(5)", "2")                            \
    ROW(unsqueeze_before, weft_unsqueeze(t.row, -3), SHAPE, "unsqueeze", "(5)", "-3")                        \
    ROW(unsqueeze_rank, weft_unsqueeze(t.rank8, 0), SHAPE, "unsqueeze", "8")                                 \
    ROW(swap_axis, weft_swap_axes(t.row, 0, 1), SHAPE, "swap_axes", "axis 1")                                \
    ROW(move_axis, weft_move_axis(t.row, -2, 0), SHAPE, "move_axis", "axis -2")                              \
    ROW(stack_shapes, weft_stack(((weft_tensor *const[]){t.x, t.row}), 2, 0), SHAPE, "stack", "(5)")         \
    ROW(stack_axis, weft_stack(((weft_tensor *const[]){t.row, t.row}), 2, 3), SHAPE, "(5)", "3")             \
    ROW(stack_null, weft_stack(((weft_tensor *const[]){t.row, NULL}), 2, 0), ARGUMENT, "stack", "NULL")

#define LONGER(ROW)                                                                                          \
    ROW(pad_negative, PAD(t.row, CONSTANT, L(-1), L(2)), ARGUMENT, "pad", "-1", "weft_slice")                \
    ROW(pad_batch, PAD(t.x, EDGE, L(-1, 0, 0), L(0, 0, 0)), ARGUMENT, "pad", "axis 0", "weft_slice")         \
    ROW(pad_reflect, PAD(t.row, REFLECT, L(0), L(5)), SHAPE, "pad", "5", "more than 4")                      \
    ROW(pad_wrap, PAD(t.row, WRAP, L(6), L(0)), SHAPE, "pad", "6", "more than 5")                            \
    ROW(pad_huge, PAD(t.row, EDGE, L(MANY), L(MANY)), SHAPE, "pad", "more than")                             \
    ROW(pad_null, weft_pad(t.row, NULL, L(1), WEFT_PAD_EDGE, 0), ARGUMENT, "pad", "NULL")                    \
    ROW(pad_mode, weft_pad(t.row, L(1), L(1), (weft_pad_mode)9, 0), ARGUMENT, "pad", "9")                    \
    ROW(pad_dtype, weft_pad(t.bytes, L(1, 1), L(1, 1), WEFT_PAD_CONSTANT, 0.5), DTYPE, "pad", "u8")          \
    ROW(roll_axis, weft_roll(t.row, 1, 1), SHAPE, "roll", "axis 1")                                          \
    ROW(roll_shift, weft_roll(t.row, 0, MANY), ARGUMENT, "roll", "2^31")                                     \
    ROW(tile_zero, weft_tile(t.row, 1, L(0)), ARGUMENT, "tile", "0 repeats")                                 \
    ROW(tile_negative, weft_tile(t.x, 2, L(2, -1)), ARGUMENT, "tile", "-1 repeats", "axis 2")                \
    ROW(tile_huge, weft_tile(t.row, 1, L(MANY)), ARGUMENT, "tile", "repeats")                                \
    ROW(tile_rank, weft_tile(t.row, 9, L(1)), SHAPE, "tile", "9")                                            \
    ROW(tile_null, weft_tile(t.row, 1, NULL), SHAPE, "tile")

#define PLACES(ROW)                                                                                          \
    ROW(tril_rank, weft_tril(t.row, 0), SHAPE, "tril", "(5)")                                                \
    ROW(triu_dtype, weft_triu(t.bytes, 0), DTYPE, "triu", "u8")                                              \
    ROW(fill_shape, weft_masked_fill(t.row, t.mask, 0), SHAPE, "masked_fill", "(3, 4)", "(5)")               \
    ROW(fill_grows, weft_masked_fill(t.number, t.mask, 0), SHAPE, "masked_fill", "(3, 4)", "()")             \
    ROW(fill_dtype, weft_masked_fill(t.matrix, t.matrix, 0), DTYPE, "masked_fill", "f32")                    \
    ROW(hot_dtype, weft_one_hot(t.row, 3, WEFT_F32), DTYPE, "one_hot", "f32")                                \
    ROW(hot_classes, weft_one_hot(t.labels, 0, WEFT_F32), SHAPE, "one_hot", "classes is 0")                  \
    ROW(hot_result, weft_one_hot(t.labels, 3, (weft_dtype)77), DTYPE, "77")                                  \
    ROW(arange_empty, weft_arange(t.graph, WEFT_F32, 3, 3, 1), ARGUMENT, "arange", "3")                      \
    ROW(arange_step, weft_arange(t.graph, WEFT_F32, 0, 3, 0), ARGUMENT, "arange", "0")                       \
    ROW(arange_way, weft_arange(t.graph, WEFT_F32, 0, 3, -1), ARGUMENT, "arange", "-1")                      \
    ROW(arange_batch, weft_arange(t.graph, WEFT_F32, 1, WEFT_BATCH, 1), ARGUMENT, "arange", "WEFT_BATCH")    \
    ROW(arange_nan, weft_arange(t.graph, WEFT_F32, 0, NAN, 1), ARGUMENT, "arange")                           \
    ROW(arange_whole, weft_arange(t.graph, WEFT_I32, 0.5, 3, 1), ARGUMENT, "arange", "0.5", "whole")         \
    ROW(arange_dtype, weft_arange(t.graph, WEFT_U8, 0, 3, 1), DTYPE, "arange", "u8")                         \
    ROW(full_dtype, weft_full(t.graph, WEFT_U8, 0, 1, L(3)), DTYPE, "u8")                                    \
    ROW(full_zero, weft_full(t.graph, WEFT_F32, 0, 1, L(0)), SHAPE, "zero")                                  \
    ROW(eye_zero, weft_eye(t.graph, WEFT_F32, 3, 0), SHAPE, "zero")

#define PRODUCTS(ROW)                                                                                        \
    ROW(outer_rank, weft_outer(t.row, t.matrix), SHAPE, "outer", "(5)", "(3, 4)")                            \
    ROW(dot_sizes, weft_dot(t.row, weft_slice(t.row, 0, 0, 4)), SHAPE, "dot", "(5)", "(4)")                  \
    ROW(mv_sizes, weft_mv(t.matrix, t.row), SHAPE, "mv", "(3, 4)", "(5)")                                    \
    ROW(mv_rank, weft_mv(t.row, t.row), SHAPE, "mv", "(5)")                                                  \
    ROW(bilinear_rank, weft_bilinear_with(t.x, t.row, t.x, NULL), SHAPE, "bilinear", "(5)")                  \
    ROW(bilinear_rows, weft_bilinear_with(t.matrix, weft_swap_axes(t.matrix, 0, 1), t.x, NULL), SHAPE,       \
        "bilinear", "leading")                                                                               \
    ROW(bilinear_weight, weft_bilinear_with(t.row, t.row, t.x, NULL), SHAPE, "bilinear", "(out, in1, in2)")

#define EINSUM(text) weft_einsum(text, t.matrix, t.row)
#define EQUATIONS(ROW)                                                                                       \
    ROW(einsum_letter, EINSUM("ij,j$->i"), ARGUMENT, "einsum", "character 5", "letter")                      \
    ROW(einsum_digit, EINSUM("i1,j"), ARGUMENT, "einsum", "character 2")                                     \
    ROW(einsum_dots, EINSUM("i..,j"), ARGUMENT, "einsum", "character 2")                                     \
    ROW(einsum_two_dots, EINSUM("...i...,j"), ARGUMENT, "einsum", "character 5", "second ellipsis")          \
    ROW(einsum_three, EINSUM("ij,j,k->i"), ARGUMENT, "einsum", "character 5", "two operands")                \
    ROW(einsum_arrow, EINSUM("ij,k-i"), ARGUMENT, "einsum", "character 5")                                   \
    ROW(einsum_end, EINSUM("ij,k->i,k"), ARGUMENT, "einsum", "character 8")                                  \
    ROW(einsum_arrows, EINSUM("ij,k->i->k"), ARGUMENT, "einsum", "character 8")                              \
    ROW(einsum_unknown, EINSUM("ij,k->ix"), ARGUMENT, "einsum", "character 8", "no operand")                 \
    ROW(einsum_twice, EINSUM("ij,k->iki"), ARGUMENT, "einsum", "character 9", "already")                     \
    ROW(einsum_labels, EINSUM("ijk,k->i"), SHAPE, "einsum", "3 labels", "operand 0", "(3, 4)")               \
    ROW(einsum_few, EINSUM("i,k->i"), SHAPE, "einsum", "1 labels", "(3, 4)")                                 \
    ROW(einsum_sizes, EINSUM("ij,j->i"), SHAPE, "einsum", "character 4", "operand 1", "(5)", "(4)", "'j'")   \
    ROW(einsum_diagonal, EINSUM("ii,j->i"), SHAPE, "einsum", "character 2", "operand 0", "'i'")              \
    ROW(einsum_operands, EINSUM("ij->i"), ARGUMENT, "einsum", "1 operand,", "2 given")                       \
    ROW(einsum_operand, weft_einsum("ij,j", t.matrix, NULL), ARGUMENT, "einsum", "2 operands", "1 given")    \
    ROW(einsum_equation, weft_einsum(NULL, t.matrix, NULL), ARGUMENT, "einsum", "NULL")                      \
    ROW(einsum_dtype, weft_einsum("b,b", t.labels, t.labels), DTYPE, "einsum", "i32")                        \
    ROW(einsum_nine, EINSUM("abcdefghi,j"), ARGUMENT, "einsum", "character 9", "rank")                       \
    ROW(einsum_rank, weft_einsum("abcdefgh,z", t.rank8, t.row), SHAPE, "einsum", "rank")                     \
    ROW(einsum_merge, weft_einsum("abi,ic->abc", MERGED, t.matrix), SHAPE, "einsum", "batch^2")
#define MERGED weft_input_shape(t.graph, "m", WEFT_F32, 3, L(WEFT_BATCH, WEFT_BATCH, 3))

#define TEST(name, expression, status, ...)                                                                  \
    static void test_##name(void **state) {                                                                  \
        (void)state;                                                                                         \
        const things t = make_things();                                                                      \
        const char *const texts[] = {__VA_ARGS__, NULL};                                                     \
        assert_null(expression);                                                                             \
        test_assert_fails(                                                                                   \
            weft_graph_status(t.graph), WEFT_ERROR_##status, #expression, __FILE__, __LINE__, texts);        \
        assert_null(strchr(weft_last_error(), '\n'));                                                        \
        weft_graph_release(t.graph);                                                                         \
    }
PARTS(TEST)
AXIS(TEST)
LONGER(TEST)
PLACES(TEST)
PRODUCTS(TEST)
EQUATIONS(TEST)

/* ---- split returns a status and leaves no part ---- */

static void check_split(weft_status status, weft_tensor *const *parts, const char *text) {
    assert_int_not_equal(status, WEFT_OK);
    assert_non_null(strstr(weft_last_error(), "split"));
    assert_non_null(strstr(weft_last_error(), text));
    for (int i = 0; i < 2; i++) assert_null(parts[i]);
}

static void test_split(void **state) {
    (void)state;
    static const int64_t bad[][2] = {
        {2, 2}, {3, 3}, {5, 0}, {6, -1}, {INT64_MAX, INT64_MAX}, {WEFT_BATCH, 6}};
    for (int i = 0; i < 6; i++) {
        const things t = make_things();
        weft_tensor *parts[2] = {t.x, t.x};
        check_split(weft_split_sizes(t.row, 0, bad[i], 2, parts), parts, "(5)");
        weft_graph_release(t.graph);
    }
    for (int i = 0; i < 7; i++) {
        const things t = make_things();
        weft_tensor *parts[2] = {t.x, t.x};
        if (i == 0) check_split(weft_split(t.row, 0, 2, parts), parts, "2 equal parts");
        if (i == 1) check_split(weft_split(t.x, 0, 2, parts), parts, "(batch, 3, 4)");
        if (i == 2) check_split(weft_split(t.x, 3, 2, parts), parts, "axis 3");
        if (i == 3) check_split(weft_split(NULL, 0, 2, parts), parts, "NULL");
        if (i == 4) assert_int_equal(weft_split(t.row, 0, 5, NULL), WEFT_ERROR_ARGUMENT);
        if (i == 5) assert_int_equal(weft_split(t.row, 0, 0, parts), WEFT_ERROR_SHAPE);
        if (i == 6) check_split(weft_split_sizes(t.row, 0, NULL, 2, parts), parts, "NULL");
        weft_graph_release(t.graph);
    }
}

static void test_null_flows(void **state) {
    (void)state;
    assert_null(weft_slice_step(NULL, 0, 0, 1, 1));
    assert_null(weft_flip(NULL, 0));
    assert_null(weft_squeeze(NULL));
    assert_null(weft_unsqueeze(NULL, 0));
    assert_null(weft_diagonal(NULL, 0, 0, 1));
    assert_null(weft_pad(NULL, NULL, NULL, WEFT_PAD_EDGE, 0));
    assert_null(weft_roll(NULL, 0, 1));
    assert_null(weft_tile(NULL, 0, NULL));
    assert_null(weft_tril(NULL, 0));
    assert_null(weft_masked_fill(NULL, NULL, 0));
    assert_null(weft_one_hot(NULL, 3, WEFT_F32));
    assert_null(weft_arange(NULL, WEFT_F32, 0, 1, 1));
    assert_null(weft_full(NULL, WEFT_F32, 0, 0, NULL));
    assert_null(weft_eye(NULL, WEFT_F32, 1, 1));
    assert_null(weft_stack(NULL, 2, 0));
    assert_null(weft_outer(NULL, NULL));
    assert_null(weft_einsum("i", NULL, NULL));
    assert_null(weft_bilinear_with(NULL, NULL, NULL, NULL));
}

#define UNIT_TEST(name, ...) cmocka_unit_test(test_##name),

/* A shift along the length is taken modulo the length of each plan. */
static void test_large_shifts(void **state) {
    enum { LENGTH = 7 };
    static const int64_t shifts[] = {391924423, -391924423, INT32_MAX};
    (void)state;
    for (size_t i = 0; i < sizeof shifts / sizeof *shifts; i++) {
        weft_graph *const g = test_graph();
        weft_tensor *const x = weft_input_shape(g, "x", WEFT_F32, 1, (const int64_t[]){WEFT_LENGTH});
        weft_tensor *const y = weft_roll(x, 0, shifts[i]);
        float in[LENGTH], out[LENGTH];
        for (int k = 0; k < LENGTH; k++) in[k] = (float)k;
        weft_plan *plan;
        const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .length = LENGTH};
        assert_weft_ok(weft_plan_create(&plan, &(weft_tensor *){y}, 1, &options));
        assert_weft_ok(weft_plan_step(plan, (weft_value[]){{x, in, sizeof in}, {y, out, sizeof out}}, 2));
        for (int64_t k = 0; k < LENGTH; k++)
            assert_int_equal((int64_t)out[((k + shifts[i]) % LENGTH + LENGTH) % LENGTH], k);
        weft_plan_release(plan);
        weft_graph_release(g);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {PARTS(UNIT_TEST) AXIS(UNIT_TEST) LONGER(UNIT_TEST) PLACES(UNIT_TEST)
                                           PRODUCTS(UNIT_TEST) EQUATIONS(UNIT_TEST)
                                               cmocka_unit_test(test_split),
        cmocka_unit_test(test_large_shifts), cmocka_unit_test(test_null_flows)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
