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
#define REDUCE_KIND_OPS(X)                                                                                   \
    X(min, min_cases)                                                                                        \
    X(argmin, argmin_cases)                                                                                  \
    X(prod, prod_cases)                                                                                      \
    X(any, any_cases)                                                                                        \
    X(all, all_cases)                                                                                        \
    X(count_nonzero, count_nonzero_cases)                                                                    \
    X(masked_mean, masked_mean_cases)
#define MOMENT_OPS(X)                                                                                        \
    X(var, var_cases)                                                                                        \
    X(std, std_cases)
#define NORM_OPS(X)                                                                                          \
    X(norm, norm_cases)                                                                                      \
    X(logsumexp, logsumexp_cases)                                                                            \
    X(normalize, normalize_cases)
#define NORMALIZATION_OPS(X)                                                                                 \
    X(batch_norm, batch_norm_cases)                                                                          \
    X(instance_norm, instance_norm_cases)                                                                    \
    X(group_norm, group_norm_cases)                                                                          \
    X(layer_norm, layer_norm_cases)                                                                          \
    X(rms_norm, rms_norm_cases)
#define MATMUL_OPS(X)                                                                                        \
    X(matmul, matmul_cases)                                                                                  \
    X(linear_with, linear_cases)                                                                             \
    X(outer, outer_cases)                                                                                    \
    X(dot, dot_cases)                                                                                        \
    X(mv, mv_cases)                                                                                          \
    X(bilinear_with, bilinear_cases)
#define CONV_OPS(X)                                                                                          \
    X(conv_with, conv_cases)                                                                                 \
    X(conv_transpose_with, conv_transpose_cases)
#define SOFTMAX_OPS(X)                                                                                       \
    X(softmax, softmax_cases)                                                                                \
    X(log_softmax, log_softmax_cases)
#define LOSS_CLASS_OPS(X)                                                                                    \
    X(cross_entropy, cross_entropy_cases)                                                                    \
    X(sequence_cross_entropy, sequence_cross_entropy_cases)                                                  \
    X(nll, nll_cases)                                                                                        \
    X(multi_margin, multi_margin_cases)
#define LOSS_REGRESSION_OPS(X)                                                                               \
    X(mse, mse_cases)                                                                                        \
    X(l1, l1_cases)                                                                                          \
    X(huber, huber_cases)                                                                                    \
    X(smooth_l1, smooth_l1_cases)                                                                            \
    X(poisson_nll, poisson_nll_cases)                                                                        \
    X(gaussian_nll, gaussian_nll_cases)                                                                      \
    X(bce, bce_cases)                                                                                        \
    X(bce_with_logits, bce_with_logits_cases)                                                                \
    X(kl_div, kl_div_cases)
#define LOSS_VECTOR_OPS(X)                                                                                   \
    X(hinge, hinge_cases)                                                                                    \
    X(soft_margin, soft_margin_cases)                                                                        \
    X(hinge_embedding, hinge_embedding_cases)                                                                \
    X(margin_ranking, margin_ranking_cases)                                                                  \
    X(cosine_similarity, cosine_similarity_cases)                                                            \
    X(cosine_embedding, cosine_embedding_cases)                                                              \
    X(triplet_margin, triplet_margin_cases)
#define LOSS_CTC_OPS(X) X(ctc, ctc_cases)
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
#define CHANNELS_OPS(X)                                                                                      \
    X(channels_last, channels_last_cases)                                                                    \
    X(channels_first, channels_first_cases)
#define INDEX_OPS(X)                                                                                         \
    X(gather, gather_cases)                                                                                  \
    X(index_select, index_select_cases)                                                                      \
    X(scatter_add, scatter_add_cases)                                                                        \
    X(scatter_sum, scatter_sum_cases)                                                                        \
    X(index_add, index_add_cases)                                                                            \
    X(index_sum, index_sum_cases)                                                                            \
    X(scatter_reduce, scatter_reduce_cases)                                                                  \
    X(index_reduce, index_reduce_cases)                                                                      \
    X(index_copy, index_copy_cases)
#define SPARSE_OPS(X) X(sparse_matmul, sparse_matmul_cases) X(sparse_rows, sparse_rows_cases)
#define EMBEDDING_OPS(X)                                                                                     \
    X(embedding, embedding_cases)                                                                            \
    X(embedding_bag_with, embedding_bag_with_cases)
#define SLICE_OPS(X)                                                                                         \
    X(slice, slice_cases)                                                                                    \
    X(slice_step, slice_step_cases)                                                                          \
    X(split, split_cases)                                                                                    \
    X(split_sizes, split_sizes_cases)                                                                        \
    X(flip, flip_cases)                                                                                      \
    X(diagonal, diagonal_cases)                                                                              \
    X(unfold, unfold_cases)
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
    X(eye, eye_cases)                                                                                        \
    X(size, size_cases)
#define EINSUM_OPS(X) X(einsum, einsum_cases)
#define SCAN_OPS(X)                                                                                          \
    X(cumsum, cumsum_cases)                                                                                  \
    X(cumprod, cumprod_cases)                                                                                \
    X(linear_scan, linear_scan_cases)
#define SORT_OPS(X)                                                                                          \
    X(argsort, argsort_cases)                                                                                \
    X(sort, sort_cases)                                                                                      \
    X(topk_indices, topk_indices_cases)                                                                      \
    X(topk, topk_cases)
#define ACTIVATION_OPS(X)                                                                                    \
    X(clamp, clamp_cases)                                                                                    \
    X(hardtanh, hardtanh_cases)                                                                              \
    X(leaky_relu, leaky_relu_cases)                                                                          \
    X(prelu, prelu_cases)                                                                                    \
    X(elu, elu_cases)                                                                                        \
    X(glu, glu_cases)
#define NUMBER_FORM_OPS(X)                                                                                   \
    X(add_number, add_number_cases)                                                                          \
    X(sub_number, sub_number_cases)                                                                          \
    X(mul_number, mul_number_cases)                                                                          \
    X(div_number, div_number_cases)                                                                          \
    X(pow_number, pow_number_cases)                                                                          \
    X(number_sub, number_sub_cases)                                                                          \
    X(number_div, number_div_cases)                                                                          \
    X(number_remainder, number_remainder_cases)                                                              \
    X(number_pow, number_pow_cases)                                                                          \
    X(remainder_number, remainder_number_cases)                                                              \
    X(floor_divide_number, floor_divide_number_cases)                                                        \
    X(maximum_number, maximum_number_cases)                                                                  \
    X(minimum_number, minimum_number_cases)                                                                  \
    X(equal_number, equal_number_cases)                                                                      \
    X(not_equal_number, not_equal_number_cases)                                                              \
    X(less_number, less_number_cases)                                                                        \
    X(less_equal_number, less_equal_number_cases)                                                            \
    X(greater_number, greater_number_cases)                                                                  \
    X(greater_equal_number, greater_equal_number_cases)
#define RECURRENT_OPS(X)                                                                                     \
    X(lstm, lstm_cases)                                                                                      \
    X(gru, gru_cases)                                                                                        \
    X(rnn, rnn_cases)                                                                                        \
    X(lstm_cell, lstm_cell_cases)                                                                            \
    X(gru_cell, gru_cell_cases)                                                                              \
    X(rnn_cell, rnn_cell_cases)
#define ATTENTION_OPS(X) X(attention, attention_cases)
#define POOL_OPS(X)                                                                                          \
    X(max_pool, max_pool_cases)                                                                              \
    X(avg_pool, avg_pool_cases)                                                                              \
    X(lp_pool, lp_pool_cases)                                                                                \
    X(max_pool2d, max_pool2d_cases)                                                                          \
    X(avg_pool2d, avg_pool2d_cases)                                                                          \
    X(adaptive_max_pool, adaptive_max_pool_cases)                                                            \
    X(adaptive_avg_pool, adaptive_avg_pool_cases)                                                            \
    X(global_max_pool, global_max_pool_cases)                                                                \
    X(global_avg_pool, global_avg_pool_cases)
#define RESAMPLE_OPS(X)                                                                                      \
    X(resample, resample_cases)                                                                              \
    X(upsample_nearest, upsample_nearest_cases)                                                              \
    X(upsample_linear, upsample_linear_cases)                                                                \
    X(pixel_shuffle, pixel_shuffle_cases)                                                                    \
    X(pixel_unshuffle, pixel_unshuffle_cases)                                                                \
    X(local_response_norm, local_response_norm_cases)

/* Ops whose tests are written by hand: a name of the op table and a test function. */
#define RANDOM_OPS(X)                                                                                        \
    X(uniform, test_uniform)                                                                                 \
    X(normal, test_normal)                                                                                   \
    X(dropout, test_dropout)                                                                                 \
    X(dropout_channels, test_dropout_channels)
#define CAST_OPS(X) X(cast, test_all_pairs)

/* How a family's file turns its list into the table for op_suite_run, or into cmocka tests. */
#define COVERED_CASES(op, cases) OP_CASES(op, cases),
#define COVERED_TEST(op, test)   {#op, test, NULL, NULL, NULL},

#endif
