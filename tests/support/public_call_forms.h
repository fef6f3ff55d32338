/* Further rows of public_calls.c: other forms of the functions in public_call_rows.h, such as those with options, and functions that are
 * composed of others. */
#ifndef PUBLIC_CALL_FORMS_H
#define PUBLIC_CALL_FORMS_H

#define LOSS_OPTIONS  (&(const weft_loss_options[]){loss_of(s)}[0])
#define CLASS_OPTIONS (&(const weft_class_loss_options[]){classes_of(s)}[0])
/* One weight per row. */
#define PER_ROW tensor(s, WEFT_F32, 1, 2, 0, 0, 0)

/* clang-format off */
#define WITH_NUMBER(ROW) \
    ROW(sub) ROW(mul) ROW(div) ROW(remainder) ROW(floor_divide) ROW(maximum) ROW(minimum) ROW(equal) ROW(not_equal) ROW(less) \
    ROW(less_equal) ROW(greater) ROW(greater_equal)
#define NUMBER_FIRST(ROW) ROW(sub) ROW(div) ROW(remainder) ROW(pow)
/* clang-format on */

/* ROW(name, call) */
#define FORMS(ROW)                                                                                           \
    ROW(transient_state, weft_transient_state(G, name(s), (weft_dtype)number_in(s, 0, -1, 8), weft_zeros(),  \
                             small(s, 1), AXES(4, END, END, END)))                                           \
    ROW(number, weft_number(ROWS, number(s, 2)))                                                             \
    ROW(size, weft_size(ROWS, small(s, 1)))                                                                  \
    ROW(scope_copy, scope_copied(s))                                                                         \
    ROW(assign_after, assigned_after(s))                                                                     \
    ROW(keep_f32, weft_keep_f32(ROWS))                                                                       \
    ROW(gradient_vector, gradient_vector(s))                                                                 \
    ROW(optimizer_minimize, minimized(s))                                                                    \
    ROW(train_step, trained(s))                                                                              \
    ROW(max_pool2d_with, weft_max_pool2d(IMAGE, whole(s, 2), .stride = whole(s, 1)))                         \
    ROW(avg_pool2d_with, weft_avg_pool2d(IMAGE, whole(s, 2), .padding = whole(s, 1)))                        \
    ROW(scatter_reduce, weft_scatter_reduce(ROWS, small(s, 1), INDEX, ROWS,                                  \
                            (weft_scatter_kind)number_in(s, WEFT_SCATTER_MEAN, -1, 4), flag(s, true)))       \
    ROW(index_reduce, weft_index_reduce(ROWS, small(s, 0), NAMES, ROWS,                                      \
                          (weft_scatter_kind)number_in(s, WEFT_SCATTER_MAX, -1, 4), flag(s, true)))          \
    ROW(sparse_matmul, weft_sparse_matmul(NAMES, NAMES, PER_ROW, whole(s, 3), ROWS))                         \
    ROW(sparse_rows, weft_sparse_rows(NAMES, tensor(s, WEFT_I32, 1, 5, 0, 0, 0)))                            \
    ROW(embedding_bag_with,                                                                                  \
        weft_embedding_bag_with(ROWS, INDEX, &(const weft_bag_options[]){bags_of(s)}[0]))                    \
    ROW(embedding_bag, weft_embedding_bag(INDEX, whole(s, 5), whole(s, 3),                                   \
                           &(const weft_bag_options[]){bags_of(s)}[0], NULL))                                \
    ROW(masked_mean, weft_masked_mean_axes(CUBE, CUBE, AXES(1, END, END, END), flag(s, false)))              \
    ROW(l1_loss, weft_l1_loss(ROWS, ROWS, LOSS_OPTIONS))                                                     \
    ROW(huber_loss, weft_huber_loss(ROWS, ROWS, single(s, 1), LOSS_OPTIONS))                                 \
    ROW(smooth_l1_loss, weft_smooth_l1_loss(ROWS, ROWS, single(s, 1), LOSS_OPTIONS))                         \
    ROW(poisson_nll_loss, weft_poisson_nll_loss(ROWS, ROWS, flag(s, true), flag(s, true), LOSS_OPTIONS))     \
    ROW(gaussian_nll_loss, weft_gaussian_nll_loss(ROWS, ROWS, ROWS, flag(s, true), LOSS_OPTIONS))            \
    ROW(bce_loss, weft_bce_loss(ROWS, ROWS, LOSS_OPTIONS))                                                   \
    ROW(bce_with_logits_loss, weft_bce_with_logits_loss(ROWS, ROWS, LINE, LOSS_OPTIONS))                     \
    ROW(kl_div_loss, weft_kl_div_loss(ROWS, ROWS, flag(s, true), LOSS_OPTIONS))                              \
    ROW(hinge_loss, weft_hinge_loss(ROWS, ROWS, LOSS_OPTIONS))                                               \
    ROW(soft_margin_loss, weft_soft_margin_loss(ROWS, ROWS, LOSS_OPTIONS))                                   \
    ROW(hinge_embedding, weft_hinge_embedding(ROWS, ROWS, single(s, 1)))                                     \
    ROW(hinge_embedding_loss, weft_hinge_embedding_loss(ROWS, ROWS, single(s, 1), LOSS_OPTIONS))             \
    ROW(margin_ranking_loss, weft_margin_ranking_loss(ROWS, ROWS, ROWS, single(s, 0), LOSS_OPTIONS))         \
    ROW(cosine_embedding_loss, weft_cosine_embedding_loss(ROWS, ROWS, PER_ROW, single(s, 0), LOSS_OPTIONS))  \
    ROW(triplet_margin, weft_triplet_margin(ROWS, ROWS, ROWS, single(s, 1)))                                 \
    ROW(cross_entropy, weft_cross_entropy(ROWS, NAMES))                                                      \
    ROW(nll, weft_nll(ROWS, NAMES))                                                                          \
    ROW(multi_margin, weft_multi_margin(ROWS, NAMES, single(s, 1)))                                          \
    ROW(sequence_cross_entropy, weft_sequence_cross_entropy(CUBE, INDEX, NULL))                              \
    ROW(sequence_cross_entropy__lengths, weft_sequence_cross_entropy(CUBE, INDEX, NAMES))                    \
    ROW(ctc, weft_ctc(CUBE, tensor(s, WEFT_I32, 2, 4, 1, 0, 0), tensor(s, WEFT_I32, 1, 4, 0, 0, 0),          \
                 tensor(s, WEFT_I32, 1, 4, 0, 0, 0)))                                                        \
    ROW(linear_layer, weft_linear(ROWS, whole(s, 3), .no_bias = flag(s, true)))                              \
    ROW(bilinear_layer, weft_bilinear(ROWS, ROWS, whole(s, 3), .no_bias = flag(s, true)))                    \
    ROW(conv2d_strided, weft_conv2d_strided(IMAGE, whole(s, 4), whole(s, 3), whole(s, 2), whole(s, 1)))      \
    ROW(conv_transpose2d, weft_conv_transpose2d(IMAGE, whole(s, 4), whole(s, 3), whole(s, 2), whole(s, 1)))  \
    ROW(conv3d, weft_conv3d(tensor5(s), whole(s, 4), whole(s, 3)))                                           \
    ROW(conv1d_layer, weft_conv1d(CUBE, whole(s, 4), whole(s, 3), .stride = whole(s, 2)))                    \
    ROW(conv2d_layer, weft_conv2d(IMAGE, whole(s, 4), whole(s, 3), .padding = whole(s, 1)))                  \
    ROW(conv3d_layer, weft_conv3d(tensor5(s), whole(s, 4), whole(s, 2), .dilation = whole(s, 2)))            \
    ROW(conv_transpose2d_layer, weft_conv_transpose2d(IMAGE, whole(s, 4), whole(s, 3), whole(s, 2),          \
                                    whole(s, 1), .output_padding = whole(s, 1)))                             \
    ROW(adaptive_softmax_log_prob, adaptive_log_prob(s))                                                     \
    ROW(batch_norm, weft_batch_norm(IMAGE))                                                                  \
    ROW(instance_norm, weft_instance_norm(IMAGE))                                                            \
    ROW(group_norm, weft_group_norm(IMAGE, whole(s, 2)))                                                     \
    ROW(layer_norm, weft_layer_norm(ROWS))                                                                   \
    ROW(rms_norm, weft_rms_norm(ROWS))                                                                       \
    ROW(batch_norm_with, running_norm(s, true))                                                              \
    ROW(instance_norm_with, running_norm(s, false))                                                          \
    ROW(leaky_relu, weft_leaky_relu(ROWS, number(s, 0.1)))                                                   \
    ROW(hardtanh, weft_hardtanh(ROWS, number(s, -1), number(s, 1)))                                          \
    ROW(logical_or, weft_logical_or(MASK, MASK))                                                             \
    ROW(logical_xor, weft_logical_xor(MASK, MASK))                                                           \
    ROW(cumsum, weft_cumsum(ROWS, small(s, 1)))                                                              \
    ROW(cumprod, weft_cumprod(ROWS, small(s, 1)))                                                            \
    ROW(bilinear_with, weft_bilinear_with(ROWS, ROWS, tensor(s, WEFT_F32, 3, 5, 4, 4, 0), NULL))             \
    ROW(attention_cached, attended_from_cache(s))                                                            \
    ROW(grid_sample, weft_grid_sample(IMAGE, tensor(s, WEFT_F32, 4, 2, 3, 3, 2), NULL))                      \
    ROW(categorical_with, weft_categorical_with(ROWS, &(const weft_categorical_options[]){drawn_of(s)}[0]))  \
    ROW(carried_state, carried_state(s))                                                                     \
    ROW(squeeze, weft_squeeze(tensor(s, WEFT_F32, 3, 2, 1, 4, 0), whole(s, 1)))                              \
    ROW(flip, weft_flip(ROWS, whole(s, 1)))                                                                  \
    ROW(gru_cell, cell(s, 3))                                                                                \
    ROW(rnn_cell, cell(s, 1))                                                                                \
    ROW(lstm_cell_layer, cell_layer(s, 4))                                                                   \
    ROW(gru_cell_layer, cell_layer(s, 3))                                                                    \
    ROW(rnn_cell_layer, cell_layer(s, 1))

#endif
