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
    X(linear_with, linear_cases)
#define ATTENTION_OPS(X) X(attention, attention_cases)
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
    X(slice, slice_cases)                                                                                    \
    X(concat, concat_cases)
#define INDEX_OPS(X)                                                                                         \
    X(gather, gather_cases)                                                                                  \
    X(index_select, index_select_cases)                                                                      \
    X(scatter_add, scatter_add_cases)                                                                        \
    X(scatter_sum, scatter_sum_cases)                                                                        \
    X(index_add, index_add_cases)                                                                            \
    X(index_sum, index_sum_cases)

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
