/* The rows of public_calls.c: one for each function, or several for a function with several kinds of calls. */
#ifndef PUBLIC_CALL_ROWS_H
#define PUBLIC_CALL_ROWS_H

/* ROW(function), for functions of one tensor, of two tensors, and of a tensor and axes. */
/* clang-format off */
#define UNARY(ROW) \
    ROW(neg) ROW(square) ROW(abs) ROW(sign) ROW(floor) ROW(ceil) ROW(round) ROW(trunc) ROW(sqrt) ROW(rsqrt) \
    ROW(reciprocal) ROW(exp) ROW(exp2) ROW(expm1) ROW(log) ROW(log2) ROW(log1p) ROW(sin) ROW(cos) ROW(tan) \
    ROW(asin) ROW(acos) ROW(atan) ROW(sinh) ROW(cosh) ROW(asinh) ROW(acosh) ROW(atanh) ROW(logsigmoid) ROW(erf) ROW(relu) ROW(tanh) ROW(sigmoid) ROW(gelu) ROW(gelu_tanh) \
    ROW(silu) ROW(mish) ROW(softplus) ROW(softsign) ROW(selu) ROW(relu6) ROW(hardsigmoid) ROW(hardswish) \
    ROW(isnan) ROW(isinf) ROW(isfinite) ROW(transpose) ROW(flatten) ROW(stop_gradient)
#define BINARY(ROW) \
    ROW(add) ROW(sub) ROW(mul) ROW(div) ROW(maximum) ROW(minimum) ROW(remainder) ROW(fmod) ROW(floor_divide) ROW(trunc_divide) ROW(pow) ROW(atan2) \
    ROW(equal) ROW(not_equal) ROW(less) ROW(less_equal) ROW(greater) ROW(greater_equal) ROW(mse) ROW(l1) \
    ROW(bce) ROW(bce_with_logits) ROW(kl_div) ROW(poisson_nll) ROW(hinge) ROW(soft_margin)
#define REDUCTIONS(ROW) \
    ROW(sum) ROW(mean) ROW(min) ROW(max) ROW(prod) ROW(var) ROW(std) ROW(norm) ROW(logsumexp) ROW(argmax) \
    ROW(argmin)
/* clang-format on */
/* ROW(name, call): the name of the function without its prefix; two underscores and another word distinguish several rows of one
 * function. */
#define OTHERS(ROW)                                                                                          \
    ROW(input_shape,                                                                                         \
        weft_input_shape(G, name(s), (weft_dtype)number_in(s, 0, -1, 8), small(s, 3), AXES(2, 4, 6, END)))   \
    ROW(input_shape__batch, weft_input_shape(G, name(s), WEFT_F32, 2, AXES(WEFT_BATCH, 4, END, END)))        \
    ROW(input, weft_input(G, name(s), WEFT_F32, whole(s, 4), whole(s, 6)))                                   \
    ROW(image_input, weft_image_input(G, name(s), whole(s, 3), whole(s, 4), whole(s, 5)))                    \
    ROW(parameter_shape,                                                                                     \
        weft_parameter_shape(G, name(s), initialiser_of(s), small(s, 2), AXES(4, 4, END, END)))              \
    ROW(parameter_dtype, weft_parameter_dtype(G, name(s), (weft_dtype)number_in(s, WEFT_F16, -1, 8),         \
                             weft_zeros(), 2, AXES(4, 4, END, END)))                                         \
    ROW(parameter, weft_parameter(G, name(s), weft_zeros(), whole(s, 4), whole(s, 4)))                       \
    ROW(state_shape, weft_state_shape(G, name(s), (weft_dtype)number_in(s, WEFT_I32, -1, 8),                 \
                         weft_fill(single(s, 1)), small(s, 1), AXES(4, 4, END, END)))                        \
    ROW(array, array(s))                                                                                     \
    ROW(constant, weft_constant(G, (weft_dtype)number_in(s, 0, -1, 8), number(s, 2)))                        \
    ROW(scalar, weft_scalar(G, name(s), single(s, 2)))                                                       \
    ROW(gradient, gradient(s))                                                                               \
    ROW(categorical, weft_categorical(ROWS, number(s, 1), whole(s, 2), number(s, 0.5)))                      \
    ROW(index_copy, weft_index_copy(ROWS, small(s, 0), NAMES, ROWS))                                         \
    ROW(assign, assigned(s))                                                                                 \
    ROW(optimizer_step, stepped(s))                                                                          \
    ROW(linear__shared, shared(s))                                                                           \
    ROW(multi_head_attention_with, attended_with(s))                                                         \
    ROW(cast, weft_cast(ROWS, (weft_dtype)number_in(s, WEFT_I32, -1, 8)))                                    \
    ROW(clamp, weft_clamp(ROWS, number(s, -1), number(s, 1)))                                                \
    ROW(add_number, weft_add_number(INDEX, number(s, 3)))                                                    \
    ROW(pow_number, weft_pow_number(ROWS, number(s, 3)))                                                     \
    ROW(elu, weft_elu(ROWS, number(s, 1)))                                                                   \
    ROW(where, weft_where(MASK, ROWS, ROWS))                                                                 \
    ROW(logical_and, weft_logical_and(MASK, MASK))                                                           \
    ROW(logical_not, weft_logical_not(MASK))                                                                 \
    ROW(prelu, weft_prelu(ROWS, LINE))                                                                       \
    ROW(var_with, weft_var_with(CUBE, small(s, 1), AXES(1, 2, END, END), flag(s, true)))                     \
    ROW(std_with, weft_std_with(CUBE, small(s, 1), AXES(1, END, END, END), flag(s, false)))                  \
    ROW(norm_with, weft_norm_with(CUBE, number(s, 1), AXES(1, END, END, END), flag(s, false)))               \
    ROW(any_axes, weft_any_axes(MASK, AXES(1, END, END, END), flag(s, false)))                               \
    ROW(all_axes, weft_all_axes(MASK, AXES(0, END, END, END), flag(s, false)))                               \
    ROW(count_nonzero_axes, weft_count_nonzero_axes(ROWS, AXES(0, 1, END, END), flag(s, false)))             \
    ROW(cumsum_with, weft_cumsum_with(ROWS, small(s, 1), flag(s, false), flag(s, true)))                     \
    ROW(cumprod_with, weft_cumprod_with(ROWS, small(s, 1), flag(s, false), flag(s, true)))                   \
    ROW(linear_scan, weft_linear_scan(ROWS, ROWS, small(s, 1), flag(s, false)))                              \
    ROW(sort, weft_sort(ROWS, small(s, 1), flag(s, false)))                                                  \
    ROW(argsort, weft_argsort(ROWS, small(s, 1), flag(s, false)))                                            \
    ROW(topk, weft_topk(ROWS, whole(s, 2), small(s, 1), flag(s, true)))                                      \
    ROW(topk_indices, weft_topk_indices(ROWS, whole(s, 2), small(s, 1), flag(s, true)))                      \
    ROW(matmul, weft_matmul(ROWS, tensor(s, WEFT_F32, 2, 4, 5, 0, 0)))                                       \
    ROW(linear_with, weft_linear_with(ROWS, tensor(s, WEFT_F32, 2, 5, 4, 0, 0), NULL))                       \
    ROW(outer, weft_outer(LINE, LINE))                                                                       \
    ROW(dot, weft_dot(LINE, LINE))                                                                           \
    ROW(mv, weft_mv(ROWS, LINE))                                                                             \
    ROW(einsum, einsum(s))                                                                                   \
    ROW(attention, attention(s))                                                                             \
    ROW(glu, weft_glu(ROWS, small(s, 1)))                                                                    \
    ROW(normalize, weft_normalize(ROWS, number(s, 2), small(s, 1), number(s, 0.5)))                          \
    ROW(unfold, weft_unfold(ROWS, small(s, 1), whole(s, 2), whole(s, 1)))                                    \
    ROW(softmax, weft_softmax(ROWS, small(s, 1)))                                                            \
    ROW(log_softmax, weft_log_softmax(ROWS, small(s, 1)))                                                    \
    ROW(reshape_shape, weft_reshape_shape(ROWS, small(s, 2), AXES(4, 2, END, END)))                          \
    ROW(reshape, weft_reshape(ROWS, whole(s, 4), whole(s, 2)))                                               \
    ROW(permute_axes, weft_permute_axes(CUBE, small(s, 3), axes_of(s, 2, 0, 1).of))                          \
    ROW(permute, weft_permute(ROWS, whole(s, 1), whole(s, 0)))                                               \
    ROW(channels_last, weft_channels_last(IMAGE))                                                            \
    ROW(channels_first, weft_channels_first(IMAGE))                                                          \
    ROW(expand, weft_expand(LINE, small(s, 2), AXES(3, 4, END, END)))                                        \
    ROW(flatten_axes, weft_flatten_axes(IMAGE, small(s, 1), small(s, -1)))                                   \
    ROW(squeeze_axes, weft_squeeze_axes(tensor(s, WEFT_F32, 3, 2, 1, 4, 0), AXES(1, END, END, END)))         \
    ROW(unsqueeze, weft_unsqueeze(ROWS, small(s, 1)))                                                        \
    ROW(swap_axes, weft_swap_axes(CUBE, small(s, 1), small(s, 2)))                                           \
    ROW(move_axis, weft_move_axis(CUBE, small(s, 0), small(s, -1)))                                          \
    ROW(slice, weft_slice(ROWS, small(s, 1), whole(s, 1), whole(s, 3)))                                      \
    ROW(slice_step, weft_slice_step(ROWS, small(s, 1), whole(s, 0), whole(s, 4), whole(s, 2)))               \
    ROW(split, split(s))                                                                                     \
    ROW(split_sizes, split_sizes(s))                                                                         \
    ROW(flip_axes, weft_flip_axes(ROWS, AXES(0, 1, END, END)))                                               \
    ROW(diagonal, weft_diagonal(ROWS, whole(s, 1), small(s, 0), small(s, 1)))                                \
    ROW(concat, joined(s, false))                                                                            \
    ROW(stack, joined(s, true))                                                                              \
    ROW(pad, padded(s))                                                                                      \
    ROW(roll, weft_roll(ROWS, small(s, 1), whole(s, 1)))                                                     \
    ROW(tile, weft_tile(ROWS, small(s, 2), AXES(2, 3, END, END)))                                            \
    ROW(tril, weft_tril(ROWS, whole(s, 1)))                                                                  \
    ROW(triu, weft_triu(ROWS, whole(s, -1)))                                                                 \
    ROW(masked_fill, weft_masked_fill(ROWS, MASK, number(s, 2)))                                             \
    ROW(one_hot, weft_one_hot(NAMES, whole(s, 5), (weft_dtype)number_in(s, 0, -1, 8)))                       \
    ROW(arange,                                                                                              \
        weft_arange(G, (weft_dtype)number_in(s, 0, -1, 8), number(s, 0), number(s, 5), number(s, 1)))        \
    ROW(full, weft_full(G, WEFT_F32, number(s, 1), small(s, 2), AXES(2, 3, END, END)))                       \
    ROW(eye, weft_eye(G, WEFT_F32, whole(s, 3), whole(s, 4)))                                                \
    ROW(gather, weft_gather(ROWS, small(s, 1), INDEX))                                                       \
    ROW(index_select, weft_index_select(ROWS, small(s, 1), NAMES))                                           \
    ROW(scatter_add, weft_scatter_add(ROWS, small(s, 1), INDEX, ROWS))                                       \
    ROW(index_add, weft_index_add(ROWS, small(s, 0), NAMES, ROWS))                                           \
    ROW(scatter_sum, weft_scatter_sum(ROWS, small(s, 1), INDEX, whole(s, 5)))                                \
    ROW(index_sum, weft_index_sum(ROWS, small(s, 0), NAMES, whole(s, 5)))                                    \
    ROW(embedding_with, weft_embedding_with(ROWS, NAMES))                                                    \
    ROW(embedding_padded_with, weft_embedding_padded_with(ROWS, NAMES, whole(s, 1)))                         \
    ROW(uniform, weft_uniform(G, single(s, 0), single(s, 1), small(s, 2), AXES(2, 3, END, END)))             \
    ROW(normal, weft_normal(G, single(s, 0), single(s, 1), small(s, 2), AXES(2, 3, END, END)))               \
    ROW(dropout, weft_dropout(ROWS, single(s, 0.5)))                                                         \
    ROW(max_pool, pool(s, 0))                                                                                \
    ROW(avg_pool, pool(s, 1))                                                                                \
    ROW(lp_pool, pool(s, 2))                                                                                 \
    ROW(max_pool2d, weft_max_pool2d(IMAGE, whole(s, 2)))                                                     \
    ROW(avg_pool2d, weft_avg_pool2d(IMAGE, whole(s, 2)))                                                     \
    ROW(adaptive_max_pool, adaptive_pool(s, true))                                                           \
    ROW(adaptive_avg_pool, adaptive_pool(s, false))                                                          \
    ROW(global_max_pool, weft_global_max_pool(IMAGE))                                                        \
    ROW(global_avg_pool, weft_global_avg_pool(IMAGE))                                                        \
    ROW(resample, resampled(s))                                                                              \
    ROW(upsample_nearest, weft_upsample_nearest(IMAGE, whole(s, 2)))                                         \
    ROW(upsample_linear, weft_upsample_linear(IMAGE, whole(s, 2), flag(s, true)))                            \
    ROW(pixel_shuffle, weft_pixel_shuffle(IMAGE, whole(s, 2)))                                               \
    ROW(pixel_unshuffle, weft_pixel_unshuffle(IMAGE, whole(s, 2)))                                           \
    ROW(local_response_norm,                                                                                 \
        weft_local_response_norm(IMAGE, whole(s, 5), number(s, 1), number(s, 1), number(s, 1)))              \
    ROW(dropout_channels, weft_dropout_channels(IMAGE, single(s, 0.5)))                                      \
    ROW(conv_with, conv(s, false))                                                                           \
    ROW(conv_transpose_with, conv(s, true))                                                                  \
    ROW(conv_layer, conv_layer(s, false))                                                                    \
    ROW(conv_layer__transposed, conv_layer(s, true))                                                         \
    ROW(conv2d, weft_conv2d(IMAGE, whole(s, 4), whole(s, 3)))                                                \
    ROW(conv1d, weft_conv1d(CUBE, whole(s, 4), whole(s, 3)))                                                 \
    ROW(linear, weft_linear(ROWS, whole(s, 3)))                                                              \
    ROW(bilinear, weft_bilinear(ROWS, ROWS, whole(s, 3)))                                                    \
    ROW(multi_head_attention, multi_head(s))                                                                 \
    ROW(embedding, weft_embedding(NAMES, whole(s, 5), whole(s, 3)))                                          \
    ROW(embedding_layer, embedding_layer(s))                                                                 \
    ROW(adaptive_softmax_loss, adaptive(s))                                                                  \
    ROW(sampled_softmax_loss, sampled(s, true))                                                              \
    ROW(sampled_softmax_logits, sampled(s, false))                                                           \
    ROW(mach_loss, hashed(s, true))                                                                          \
    ROW(mach_probabilities, hashed(s, false))                                                                \
    ROW(batch_norm_layer, batch_norm(s, true))                                                               \
    ROW(instance_norm_layer, batch_norm(s, false))                                                           \
    ROW(group_norm_layer, norm(s, 0))                                                                        \
    ROW(layer_norm_layer, norm(s, 1))                                                                        \
    ROW(rms_norm_layer, norm(s, 2))                                                                          \
    ROW(group_norm_with, weft_group_norm_with(IMAGE, whole(s, 2), LINE, LINE, single(s, 1e-5)))              \
    ROW(layer_norm_with, weft_layer_norm_with(ROWS, small(s, 1), LINE, LINE, single(s, 1e-5)))               \
    ROW(rms_norm_with, weft_rms_norm_with(ROWS, small(s, 1), LINE, single(s, 1e-5)))                         \
    ROW(lstm_cell, lstm_cell(s))                                                                             \
    ROW(lstm_with, sequence(s, 4))                                                                           \
    ROW(gru_with, sequence(s, 3))                                                                            \
    ROW(rnn_with, sequence(s, 1))                                                                            \
    ROW(lstm, recurrent(s, 0))                                                                               \
    ROW(gru, recurrent(s, 1))                                                                                \
    ROW(rnn, recurrent(s, 2))                                                                                \
    ROW(huber, weft_huber(ROWS, ROWS, single(s, 1)))                                                         \
    ROW(smooth_l1, weft_smooth_l1(ROWS, ROWS, single(s, 1)))                                                 \
    ROW(gaussian_nll, weft_gaussian_nll(ROWS, ROWS, ROWS))                                                   \
    ROW(mse_loss, weft_mse_loss(ROWS, ROWS, &(const weft_loss_options[]){loss_of(s)}[0]))                    \
    ROW(cross_entropy_loss, class_loss(s, 0))                                                                \
    ROW(nll_loss, class_loss(s, 1))                                                                          \
    ROW(sequence_cross_entropy_loss, class_loss(s, 2))                                                       \
    ROW(multi_margin_loss, weft_multi_margin_loss(ROWS, NAMES, single(s, 1), small(s, 1), NULL))             \
    ROW(triplet_margin_loss,                                                                                 \
        weft_triplet_margin_loss(ROWS, ROWS, ROWS, single(s, 1), small(s, 2), flag(s, true), NULL))          \
    ROW(cosine_similarity, weft_cosine_similarity(ROWS, ROWS, small(s, 1), single(s, 1e-8)))                 \
    ROW(cosine_embedding,                                                                                    \
        weft_cosine_embedding(ROWS, ROWS, tensor(s, WEFT_F32, 1, 2, 0, 0, 0), single(s, 0)))                 \
    ROW(margin_ranking, weft_margin_ranking(ROWS, ROWS, ROWS, single(s, 0)))                                 \
    ROW(ctc_loss, ctc(s))                                                                                    \
    ROW(carry_start, carried(s))                                                                             \
    ROW(model, model(s))                                                                                     \
    ROW(bert, bert(s))

#endif
