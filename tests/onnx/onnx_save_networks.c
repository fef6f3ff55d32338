/* Networks for tests of saved files (contract in onnx_save_networks.h). */
#include "onnx/onnx_save_networks.h"

static weft_tensor *image(weft_graph *g) {
    return weft_input(g, "x0", WEFT_F32, 4, 9, 11);
}
static weft_tensor *numbers(weft_graph *g, const char *name, int rank, const int64_t *dims) {
    return weft_input_shape(g, name, WEFT_F32, rank, dims);
}
/* (batch, length, 6) */
static weft_tensor *text(weft_graph *g) {
    return numbers(g, "x0", 3, (const int64_t[]){WEFT_BATCH, WEFT_LENGTH, 6});
}
static weft_tensor *sequence(weft_graph *g) {
    return weft_input(g, "x0", WEFT_F32, 5, 6);
}

/* ---- images ---- */

static weft_tensor *conv_plain(weft_graph *g) {
    return weft_relu(weft_batch_norm(weft_conv2d(image(g), 6, 3, .padding = 1)));
}
static weft_tensor *conv_strided(weft_graph *g) {
    weft_tensor *const x =
        weft_conv2d(image(g), 8, 3, .stride = 2, .padding = 2, .dilation = 2, .groups = 2, .no_bias = true);
    return weft_add(x, weft_sigmoid(x));
}
static weft_tensor *conv_same(weft_graph *g) {
    return weft_conv2d(image(g), 5, 4, .stride = 2, .same = true);
}
static weft_tensor *conv_line(weft_graph *g) {
    return weft_conv1d(weft_permute(text(g), 0, 2, 1), 5, 3, .padding = 1);
}
static weft_tensor *conv_valid_line(weft_graph *g) {
    return weft_mean(weft_conv1d(weft_permute(text(g), 0, 2, 1), 5, 3), 2);
}
static weft_tensor *conv_volume(weft_graph *g) {
    return weft_max_pool(weft_conv3d(weft_input(g, "x0", WEFT_F32, 2, 6, 7, 8), 3, 3),
        &(weft_pool_options){WEFT_POOL_OPTIONS_INIT, .window = 2});
}
static weft_tensor *conv_twice_read(weft_graph *g) {
    weft_tensor *const x = weft_conv2d(image(g), 4, 1);
    return weft_concat((weft_tensor *const[]){weft_relu(x), weft_batch_norm(x)}, 2, 1);
}
static weft_tensor *transposed(weft_graph *g) {
    return weft_conv_transpose2d(image(g), 6, 3, 2, 1, .output_padding = 1, .groups = 2);
}
static weft_tensor *transposed_dilated(weft_graph *g) {
    return weft_conv_transpose2d(image(g), 3, 3, 2, 0, .dilation = 2);
}
static weft_tensor *max_ceil(weft_graph *g) {
    return weft_max_pool2d(image(g), 3, .stride = 2, .padding = 1, .ceil_mode = true, .dilation = 2);
}
static weft_tensor *average_plain(weft_graph *g) {
    return weft_avg_pool2d(image(g), 3, .stride = 2, .padding = 1);
}
static weft_tensor *average_ceil(weft_graph *g) {
    return weft_avg_pool2d(image(g), 4, .stride = 3, .padding = 1, .ceil_mode = true);
}
static weft_tensor *average_excluded(weft_graph *g) {
    return weft_avg_pool2d(
        image(g), 4, .stride = 3, .padding = 1, .ceil_mode = true, .exclude_padding = true);
}
static weft_tensor *average_divided(weft_graph *g) {
    return weft_avg_pool2d(image(g), 4, .stride = 3, .padding = 1, .ceil_mode = true, .divisor = 5);
}
static weft_tensor *average_dilated(weft_graph *g) {
    return weft_avg_pool2d(image(g), 3, .stride = 1, .dilation = 2);
}
static weft_tensor *adaptive_average(weft_graph *g) {
    return weft_adaptive_avg_pool(image(g), (const int64_t[]){4, 3});
}
static weft_tensor *adaptive_largest(weft_graph *g) {
    return weft_adaptive_max_pool(image(g), (const int64_t[]){3, 5});
}
static weft_tensor *global(weft_graph *g) {
    weft_tensor *const x = image(g);
    return weft_flatten(weft_add(weft_global_avg_pool(x), weft_global_max_pool(x)));
}
static weft_tensor *resample(weft_graph *g, weft_resample_options options) {
    return weft_resample(image(g), &options);
}
static weft_tensor *nearest_whole(weft_graph *g) {
    return resample(g, (weft_resample_options){WEFT_RESAMPLE_OPTIONS_INIT, .sizes = {18, 33}});
}
static weft_tensor *nearest_odd(weft_graph *g) {
    return resample(g, (weft_resample_options){WEFT_RESAMPLE_OPTIONS_INIT, .sizes = {13, 7}});
}
static weft_tensor *nearest_factor(weft_graph *g) {
    return resample(g, (weft_resample_options){WEFT_RESAMPLE_OPTIONS_INIT, .factor = 1.7});
}
static weft_tensor *linear_sizes(weft_graph *g) {
    return resample(g,
        (weft_resample_options){WEFT_RESAMPLE_OPTIONS_INIT, .mode = WEFT_RESAMPLE_LINEAR, .sizes = {13, 7}});
}
static weft_tensor *linear_factor(weft_graph *g) {
    return resample(
        g, (weft_resample_options){WEFT_RESAMPLE_OPTIONS_INIT, .mode = WEFT_RESAMPLE_LINEAR, .factor = 1.7});
}
static weft_tensor *linear_corners(weft_graph *g) {
    return resample(g, (weft_resample_options){WEFT_RESAMPLE_OPTIONS_INIT, .mode = WEFT_RESAMPLE_LINEAR,
                           .sizes = {13, 7}, .align_corners = true});
}
static weft_tensor *linear_line(weft_graph *g) {
    const weft_resample_options o = {WEFT_RESAMPLE_OPTIONS_INIT, .mode = WEFT_RESAMPLE_LINEAR, .size = 9};
    return weft_resample(weft_permute(sequence(g), 0, 2, 1), &o);
}
static weft_tensor *response_odd(weft_graph *g) {
    return weft_local_response_norm(image(g), 3, 0.1, 0.75, 1);
}
static weft_tensor *response_even(weft_graph *g) {
    return weft_local_response_norm(image(g), 2, 0.1, 0.6, 2);
}
static weft_tensor *shuffle(weft_graph *g) {
    return weft_pixel_shuffle(weft_conv2d(image(g), 8, 1), 2);
}
static weft_tensor *dropped(weft_graph *g) {
    return weft_linear(weft_dropout(weft_relu(weft_linear(weft_flatten(image(g)), 12)), 0.5f), 3);
}

/* A weight that is written in several portions. */
static weft_tensor *large_weight(weft_graph *g) {
    return weft_linear(weft_input(g, "x0", WEFT_F32, 4500), 1000);
}

/* ---- norms ---- */

static weft_tensor *norm_groups(weft_graph *g) {
    return weft_group_norm(image(g), 2);
}
static weft_tensor *norm_groups_plain(weft_graph *g) {
    return weft_group_norm_with(image(g), 4, NULL, NULL, 1e-3f);
}
static weft_tensor *norm_instance(weft_graph *g) {
    return weft_instance_norm(image(g));
}
static weft_tensor *norm_batch_of_batch(weft_graph *g) {
    return weft_batch_norm_with(image(g), NULL, NULL, NULL, 1e-3f);
}
static weft_tensor *norm_batch_flat(weft_graph *g) {
    return weft_batch_norm(weft_flatten(image(g)));
}
static weft_tensor *norm_layer(weft_graph *g) {
    return weft_layer_norm(text(g));
}
static weft_tensor *norm_layer_plain(weft_graph *g) {
    return weft_layer_norm_with(image(g), 2, NULL, NULL, 1e-4f);
}
static weft_tensor *norm_rms(weft_graph *g) {
    return weft_rms_norm(text(g));
}

/* ---- sequences ---- */

static weft_tensor *all_of(weft_recurrent r) {
    weft_tensor *const h = weft_mean(r.h, 0), *const y = weft_sum(r.y, 1);
    return r.c ? weft_concat((weft_tensor *const[]){y, h, weft_mean(r.c, 0)}, 3, 1)
               : weft_concat((weft_tensor *const[]){y, h}, 2, 1);
}
static weft_tensor *lstm_layers(weft_graph *g) {
    const weft_recurrent_options o = {WEFT_RECURRENT_OPTIONS_INIT, .layers = 2, .bidirectional = true};
    return weft_lstm(sequence(g), 4, &o).y;
}
static weft_tensor *lstm_states(weft_graph *g) {
    return all_of(weft_lstm(sequence(g), 4, NULL));
}
static weft_tensor *lstm_open(weft_graph *g) {
    return weft_lstm(text(g), 4, NULL).y;
}
static weft_tensor *gru_lengths(weft_graph *g) {
    weft_tensor *const lengths = weft_input_shape(g, "x1", WEFT_I32, 1, (const int64_t[]){WEFT_BATCH});
    const weft_recurrent_options o = {WEFT_RECURRENT_OPTIONS_INIT, .lengths = lengths, .bidirectional = true};
    return weft_gru(sequence(g), 4, &o).y;
}
static weft_tensor *gru_states(weft_graph *g) {
    return all_of(weft_gru(sequence(g), 4, NULL));
}
static weft_tensor *gru_reset_first(weft_graph *g) {
    return weft_gru(
        sequence(g), 4, &(weft_recurrent_options){WEFT_RECURRENT_OPTIONS_INIT, .reset_first = true})
        .y;
}
/* Weights and biases that are computed; a sum is one bias. */
static weft_tensor *scan_computed(weft_graph *g, bool hidden, bool gru) {
    const int64_t lines = gru ? 12 : 16;
    const weft_initialiser init = weft_init_uniform(-1, 1);
    weft_tensor *const a = weft_parameter(g, "a", init, lines), *const b =
                                                                    weft_parameter(g, "b", init, lines);
    const weft_recurrent_weights w = {.weight_ih = weft_tanh(weft_parameter(g, "w", init, lines, 6)),
        .weight_hh = weft_tanh(weft_parameter(g, "r", init, lines, 4)),
        .bias_ih = weft_add(a, b),
        .bias_hh = hidden ? weft_mul(a, b) : NULL};
    const weft_recurrent r =
        gru ? weft_gru_with(sequence(g), &w, NULL) : weft_lstm_with(sequence(g), &w, NULL);
    return r.y;
}
static weft_tensor *gru_one_bias(weft_graph *g) {
    return scan_computed(g, false, true);
}
static weft_tensor *gru_computed(weft_graph *g) {
    return scan_computed(g, true, true);
}
static weft_tensor *lstm_computed(weft_graph *g) {
    return scan_computed(g, true, false);
}
static weft_tensor *rnn_relu(weft_graph *g) {
    return weft_rnn(
        sequence(g), 4, &(weft_recurrent_options){WEFT_RECURRENT_OPTIONS_INIT, .relu = true, .no_bias = true})
        .y;
}
static weft_tensor *rnn_time_major(weft_graph *g) {
    weft_tensor *const x = numbers(g, "x0", 3, (const int64_t[]){5, WEFT_BATCH, 6});
    return weft_rnn(x, 4, &(weft_recurrent_options){WEFT_RECURRENT_OPTIONS_INIT, .time_major = true}).y;
}

/* ---- text ---- */

static weft_tensor *heads(weft_graph *g) {
    weft_tensor *const x = text(g);
    return weft_multi_head_attention(x, x, x, 2, NULL);
}
static weft_tensor *heads_masked(weft_graph *g) {
    weft_tensor *const x = sequence(g);
    weft_tensor *const mask = weft_greater(weft_input(g, "x1", WEFT_F32, 5), weft_number(x, 0));
    return weft_multi_head_attention(
        x, x, x, 2, &(weft_multi_head_options){WEFT_MULTI_HEAD_OPTIONS_INIT, .key_mask = mask});
}
static weft_tensor *gpt(weft_graph *g) {
    weft_tensor *const tokens =
        weft_input_shape(g, "x0", WEFT_I32, 2, (const int64_t[]){WEFT_BATCH, WEFT_LENGTH});
    weft_tensor *x = weft_embedding(tokens, 7, 8);
    x = weft_add(x, weft_embedding(weft_arange(g, WEFT_I32, 0, (double)WEFT_LENGTH, 1), 16, 8));
    for (int i = 0; i < 2; i++) {
        weft_tensor *const n = weft_layer_norm(x);
        x = weft_add(x, weft_multi_head_attention(n, n, n, 2,
                            &(weft_multi_head_options){WEFT_MULTI_HEAD_OPTIONS_INIT, .causal = true}));
        x = weft_add(x, weft_linear(weft_gelu(weft_linear(weft_layer_norm(x), 16)), 8));
    }
    return weft_log_softmax(weft_linear(weft_layer_norm(x), 7), -1);
}
static weft_tensor *split_heads(weft_graph *g) {
    weft_tensor *const x = weft_reshape(text(g), WEFT_BATCH, WEFT_LENGTH, 2, 3);
    return weft_reshape(weft_permute(x, 2, 0, 1, 3), 2, WEFT_BATCH, 3 * WEFT_LENGTH);
}
static weft_tensor *shifted(weft_graph *g) {
    weft_tensor *const x = text(g);
    return weft_sub(weft_slice(x, 1, 1, WEFT_END), weft_slice(x, 1, 0, WEFT_LENGTH - 1));
}
static weft_tensor *open_means(weft_graph *g) {
    weft_tensor *const x = text(g);
    return weft_add(weft_mean(x, 0, 1),
        weft_mul(weft_var(x, 0, 1),
            weft_sqrt(weft_mean_axes(weft_square(x), (const int64_t[]){1, 2, WEFT_END}, true))));
}
static weft_tensor *open_padding(weft_graph *g) {
    return weft_pad(text(g), (const int64_t[]){0, 2, 0}, (const int64_t[]){0, 1, 1}, WEFT_PAD_CONSTANT, 0.5);
}
static weft_tensor *open_sorting(weft_graph *g) {
    return weft_sort(text(g), 1, true);
}
/* A convolution with kernels for each example, and windows of an open axis. */
static weft_tensor *open_windows(weft_graph *g) {
    weft_tensor *const x = text(g), *const image = weft_permute(x, 0, 2, 1);
    weft_tensor *const kernels = weft_reshape(weft_sum(x, 1), WEFT_BATCH, 1, 6, 1);
    weft_tensor *const found = weft_conv_with(image, weft_normalize(kernels, 2, 2, 0.1), NULL, NULL);
    return weft_add(weft_mean(weft_unfold(found, 2, 2, 1), 3), weft_glu(weft_sum_keep(image, 2), 1));
}
static weft_tensor *open_scan(weft_graph *g) {
    return weft_cumsum_with(text(g), 1, true, true);
}
static weft_tensor *open_batch_slice(weft_graph *g) {
    weft_tensor *const x = image(g);
    return weft_concat((weft_tensor *const[]){weft_slice(x, 0, 1, WEFT_END), weft_slice(x, 0, 0, 1)}, 2, 0);
}
static weft_tensor *numbers_of_sizes(weft_graph *g) {
    weft_tensor *const x = text(g);
    return weft_mul(x, weft_cast(weft_add(weft_size(x, 0), weft_size(x, 1)), WEFT_F32));
}
static weft_tensor *split_batch(weft_graph *g) {
    weft_tensor *const x = weft_reshape(sequence(g), WEFT_BATCH * 5, 6);
    return weft_add(weft_slice_step(x, 0, 0, WEFT_END, 5), weft_slice_step(x, 0, 2, WEFT_END, 5));
}
static weft_tensor *tied(weft_graph *g) {
    weft_tensor *const tokens = weft_input_shape(g, "x0", WEFT_I32, 2, (const int64_t[]){WEFT_BATCH, 4});
    weft_tensor *const x = weft_embedding(tokens, 7, 8);
    return weft_linear_with(x, weft_graph_find(g, "embedding1.weight"), NULL);
}

/* ---- models ---- */

static weft_tensor *resnet20(weft_graph *g) {
    return weft_resnet20(weft_input(g, "x0", WEFT_F32, 3, 32, 32), 10, NULL);
}
static weft_tensor *resnet18(weft_graph *g) {
    return weft_resnet18(weft_input(g, "x0", WEFT_F32, 3, 64, 64), 10, NULL);
}
static weft_tensor *mobilenet(weft_graph *g) {
    return weft_mobilenet_v2(weft_input(g, "x0", WEFT_F32, 3, 64, 64), 10, NULL);
}
static weft_tensor *googlenet(weft_graph *g) {
    return weft_googlenet(weft_input(g, "x0", WEFT_F32, 3, 64, 64), 10, NULL);
}
static weft_tensor *lenet(weft_graph *g) {
    return weft_lenet5(weft_input(g, "x0", WEFT_F32, 1, 28, 28), 10, NULL);
}

const save_network save_networks[] = {{"conv_plain", conv_plain, 0, 0, false},
    {"conv_strided", conv_strided, 0, 0, false}, {"conv_same", conv_same, 0, 0, false},
    {"conv_line", conv_line, 0, 0, false}, {"conv_valid_line", conv_valid_line, 0, 0, false},
    {"conv_volume", conv_volume, 0, 0, false}, {"conv_twice_read", conv_twice_read, 0, 0, false},
    {"transposed", transposed, 0, 0, false}, {"transposed_dilated", transposed_dilated, 0, 0, false},
    {"max_ceil", max_ceil, 0, 0, false}, {"average_plain", average_plain, 0, 0, false},
    {"average_ceil", average_ceil, 0, 0, false}, {"average_excluded", average_excluded, 0, 0, false},
    {"average_divided", average_divided, 0, 0, false}, {"average_dilated", average_dilated, 19, 0, false},
    {"adaptive_average", adaptive_average, 0, 0, false}, {"adaptive_largest", adaptive_largest, 0, 0, false},
    {"global", global, 0, 0, false}, {"nearest_whole", nearest_whole, 0, 0, false},
    {"nearest_odd", nearest_odd, 0, 0, false}, {"nearest_factor", nearest_factor, 0, 0, false},
    {"linear_sizes", linear_sizes, 0, 0, false}, {"linear_factor", linear_factor, 0, 0, false},
    {"linear_corners", linear_corners, 0, 0, false}, {"linear_line", linear_line, 0, 0, false},
    {"response_odd", response_odd, 0, 0, false}, {"response_even", response_even, 0, 0, false},
    {"shuffle", shuffle, 0, 0, false}, {"dropped", dropped, 0, 0, false},
    {"large_weight", large_weight, 0, 0, false}, {"norm_groups", norm_groups, 0, 0, false},
    {"norm_groups_plain", norm_groups_plain, 0, 0, false}, {"norm_instance", norm_instance, 0, 0, false},
    {"norm_batch_of_batch", norm_batch_of_batch, 0, 0, false},
    {"norm_batch_flat", norm_batch_flat, 0, 0, false}, {"norm_layer", norm_layer, 0, 0, false},
    {"norm_layer_plain", norm_layer_plain, 0, 0, false}, {"norm_rms", norm_rms, 0, 0, false},
    {"lstm_layers", lstm_layers, 0, 0, false}, {"lstm_states", lstm_states, 0, 0, false},
    {"lstm_open", lstm_open, 0, 0, false}, {"gru_lengths", gru_lengths, 0, 0, false},
    {"gru_states", gru_states, 0, 0, false}, {"gru_reset_first", gru_reset_first, 0, 0, false},
    {"rnn_relu", rnn_relu, 0, 0, false}, {"gru_one_bias", gru_one_bias, 0, 0, false},
    {"gru_computed", gru_computed, 0, 0, false}, {"lstm_computed", lstm_computed, 0, 0, false},
    {"rnn_time_major", rnn_time_major, 0, 0, true}, {"heads", heads, 0, 0, false},
    {"heads_masked", heads_masked, 0, 0, false}, {"gpt", gpt, 0, 0, false},
    {"split_heads", split_heads, 0, 0, false}, {"shifted", shifted, 0, 0, false},
    {"open_means", open_means, 0, 0, false}, {"open_padding", open_padding, 0, 0, false},
    {"open_sorting", open_sorting, 0, 0, false}, {"open_windows", open_windows, 0, 0, false},
    {"open_scan", open_scan, 0, 0, false}, {"open_batch_slice", open_batch_slice, 0, 0, false},
    {"numbers_of_sizes", numbers_of_sizes, 0, 0, false}, {"split_batch", split_batch, 0, 0, false},
    {"tied", tied, 0, 0, false}, {"lenet", lenet, 0, 1e-4, false}, {"resnet20", resnet20, 0, 1e-4, false},
    {"resnet18", resnet18, 0, 1e-4, false}, {"mobilenet", mobilenet, 0, 1e-4, false},
    {"googlenet", googlenet, 0, 1e-4, false}, {0}};
