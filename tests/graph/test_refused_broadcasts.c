/* What docs/from-pytorch.md says that Weft refuses where PyTorch broadcasts, and what it says to write instead. */
/* test once */
#include "support/fixture.h"

/* Of a row of the table: where its tensors are made, the refused expression, and the one that is written for it. */
typedef struct things {
    weft_graph *graph;
    weft_tensor *x;              /* f32 (batch, 4) */
    weft_tensor *each;           /* f32 (batch) */
    weft_tensor *column;         /* f32 (batch, 1) */
    weft_tensor *row;            /* f32 (4) */
    weft_tensor *block;          /* f32 (32, 4) */
    weft_tensor *mask, *whole;   /* bool and i32 (batch, 4) */
    weft_tensor *state;          /* f32 (32, 4) */
    weft_tensor *index, *square; /* i32 (2); f32 (4, 4) */
    weft_tensor *one;            /* f32 (1) */
} things;

static things make_things(void) {
    weft_graph *const g = test_graph();
    const int32_t places[] = {3, 5};
    return (things){g, weft_input(g, "x", WEFT_F32, 4),
        weft_input_shape(g, "each", WEFT_F32, 1, (const int64_t[]){WEFT_BATCH}),
        weft_input(g, "column", WEFT_F32, 1), weft_parameter(g, "row", weft_zeros(), 4),
        weft_parameter(g, "block", weft_zeros(), 32, 4), weft_input(g, "mask", WEFT_BOOL, 4),
        weft_input(g, "whole", WEFT_I32, 4),
        weft_state_shape(g, "state", WEFT_F32, weft_zeros(), 2, (const int64_t[]){32, 4}),
        weft_array(g, WEFT_I32, places, 1, (const int64_t[]){2}),
        weft_parameter(g, "square", weft_zeros(), 4, 4), weft_parameter(g, "one", weft_zeros(), 1)};
}

static weft_tensor *rows(weft_tensor *x, int64_t count) {
    return weft_expand(x, 2, (const int64_t[]){count, 4});
}

/* ROW(name, refused, status, written). */
#define ROWS(ROW)                                                                                            \
    ROW(loss_of_a_row, weft_mse(t.x, t.row), SHAPE, weft_mse(t.x, rows(t.row, WEFT_BATCH)))                  \
    ROW(loss_of_a_column, weft_l1(t.x, t.column), SHAPE, weft_l1(t.x, rows(t.column, WEFT_BATCH)))           \
    ROW(loss_of_one_each, weft_huber(t.x, t.each, 1), SHAPE, weft_huber(t.column, t.each, 1))                \
    ROW(batch_and_number, weft_add(t.x, t.block), SHAPE, weft_add(t.state, t.block))                         \
    ROW(batch_at_the_right, weft_add(t.x, t.each), SHAPE, weft_add(t.x, weft_unsqueeze(t.each, 1)))          \
    ROW(factor_mask, weft_mul(t.x, t.mask), DTYPE, weft_where(t.mask, t.x, weft_number(t.x, 0)))             \
    ROW(float_and_index, weft_add(t.x, t.whole), DTYPE, weft_add(t.x, weft_cast(t.whole, WEFT_F32)))         \
    ROW(condition, weft_where(t.whole, t.x, t.x), DTYPE,                                                     \
        weft_where(weft_not_equal_number(t.whole, 0), t.x, t.x))                                             \
    ROW(filled_numbers, weft_masked_fill(t.x, t.whole, 0), DTYPE, weft_masked_fill(t.x, t.mask, 0))          \
    ROW(larger_mask, weft_masked_fill(t.row, t.mask, 0), SHAPE,                                              \
        weft_where(t.mask, weft_number(t.row, 0), t.row))                                                    \
    ROW(assigned_row, weft_assign(t.state, t.row), SHAPE, weft_assign(t.state, rows(t.row, 32)))             \
    ROW(copied_row, weft_index_copy(t.state, 0, t.index, t.row), SHAPE,                                      \
        weft_index_copy(t.state, 0, t.index, rows(t.row, 2)))                                                \
    ROW(added_row, weft_index_add(t.state, 0, t.index, rows(t.row, 1)), SHAPE,                               \
        weft_index_add(t.state, 0, t.index, rows(t.row, 2)))                                                 \
    ROW(matrix_and_vector, weft_matmul(t.square, t.row), SHAPE, weft_mv(t.square, t.row))                    \
    ROW(two_vectors, weft_matmul(t.row, t.row), SHAPE, weft_dot(t.row, t.row))                               \
    ROW(bias_number, weft_linear_with(t.x, t.square, t.one), SHAPE,                                          \
        weft_add(weft_linear_with(t.x, t.square, NULL), t.one))                                              \
    ROW(norm_number, weft_layer_norm_with(t.x, 1, t.one, NULL, 1e-5f), SHAPE,                                \
        weft_mul(weft_layer_norm_with(t.x, 1, NULL, NULL, 1e-5f), t.one))

#define TEST(name, refused, status, written)                                                                 \
    static void name(void **unused) {                                                                        \
        (void)unused;                                                                                        \
        things t = make_things();                                                                            \
        assert_non_null(written);                                                                            \
        assert_weft_ok(weft_graph_status(t.graph));                                                          \
        assert_null(refused);                                                                                \
        assert_weft_fails(WEFT_ERROR_##status, weft_graph_status(t.graph), "");                              \
        weft_graph_release(t.graph);                                                                         \
    }
ROWS(TEST)

/* Elementwise ops make every pair of a column and one number each, as PyTorch does. */
static void pairs_are_not_refused(void **unused) {
    (void)unused;
    things t = make_things();
    weft_tensor *const pairs = weft_sub(t.column, t.each);
    assert_int_equal(weft_tensor_rank(pairs), 2);
    assert_true(
        weft_tensor_dimension(pairs, 0) == WEFT_BATCH && weft_tensor_dimension(pairs, 1) == WEFT_BATCH);
    weft_graph_release(t.graph);
}

#define UNIT(name, refused, status, written) cmocka_unit_test(name),
int main(void) {
    const struct CMUnitTest tests[] = {ROWS(UNIT) cmocka_unit_test(pairs_are_not_refused)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
