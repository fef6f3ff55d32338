/* Which ops have tests, and which: test_op_table.c compares this with the library's table.
 *
 * A row's second column is what proves the op: the family's file does not compile without it. Elementwise ops
 * stand in elementwise_rows.h, which test_op_table.c reads too. */
#ifndef TEST_COVERED_OPS_H
#define TEST_COVERED_OPS_H

/* A name of the op table and the table of its op cases in the family's file. */
#define REDUCE_OPS(X)                                                                                        \
    X(sum, sum_cases)                                                                                        \
    X(mean, mean_cases)                                                                                      \
    X(max, max_cases)                                                                                        \
    X(argmax, argmax_cases)
#define MATMUL_OPS(X)                                                                                        \
    X(matmul, matmul_cases)                                                                                  \
    X(linear_with, linear_cases)                                                                             \
    X(outer, outer_cases)                                                                                    \
    X(dot, dot_cases)                                                                                        \
    X(mv, mv_cases)                                                                                          \
    X(bilinear_with, bilinear_cases)
#define SOFTMAX_OPS(X)                                                                                       \
    X(softmax, softmax_cases)                                                                                \
    X(log_softmax, log_softmax_cases)                                                                        \
    X(cross_entropy, cross_entropy_cases)                                                                    \
    X(mse, mse_cases)
#define MOVEMENT_OPS(X)                                                                                      \
    X(reshape, reshape_cases)                                                                                \
    X(permute, permute_cases)                                                                                \
    X(transpose, transpose_cases)                                                                            \
    X(flatten, flatten_cases)                                                                                \
    X(expand, expand_cases)                                                                                  \
    X(concat, concat_cases)                                                                                  \
    X(flatten_axes, flatten_axes_cases)                                                                      \
    X(squeeze, squeeze_cases)                                                                                \
    X(unsqueeze, unsqueeze_cases)                                                                            \
    X(swap_axes, swap_axes_cases)                                                                            \
    X(move_axis, move_axis_cases)                                                                            \
    X(stack, stack_cases)
#define SLICE_OPS(X)                                                                                         \
    X(slice, slice_cases)                                                                                    \
    X(slice_step, slice_step_cases)                                                                          \
    X(split, split_cases)                                                                                    \
    X(split_sizes, split_sizes_cases)                                                                        \
    X(flip, flip_cases)                                                                                      \
    X(diagonal, diagonal_cases)
#define PADDING_OPS(X)                                                                                       \
    X(pad, pad_cases)                                                                                        \
    X(roll, roll_cases)                                                                                      \
    X(tile, tile_cases)
#define MASK_OPS(X)                                                                                          \
    X(tril, tril_cases)                                                                                      \
    X(triu, triu_cases)                                                                                      \
    X(masked_fill, masked_fill_cases)                                                                        \
    X(one_hot, one_hot_cases)                                                                                \
    X(arange, arange_cases)                                                                                  \
    X(full, full_cases)                                                                                      \
    X(eye, eye_cases)
#define EINSUM_OPS(X) X(einsum, einsum_cases)

/* Ops whose tests are written by hand: a name of the op table and a test function. */
#define RANDOM_OPS(X)                                                                                        \
    X(uniform, test_uniform)                                                                                 \
    X(normal, test_normal)                                                                                   \
    X(dropout, test_dropout)
#define CAST_OPS(X) X(cast, test_all_pairs)

/* How a family's file turns its list into the table for op_suite_run, or into cmocka tests. */
#define COVERED_CASES(op, cases) OP_CASES(op, cases),
#define COVERED_TEST(op, test)   {#op, test, NULL, NULL, NULL},

#endif
