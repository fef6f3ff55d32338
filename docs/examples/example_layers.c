/* Layers, norms, convolutions, pooling, attention, recurrent layers and whole networks, each once. */
#include <stdio.h>
#include <weft/weft.h>

static void dense(weft_tensor *x, weft_tensor *tokens) { /* (batch, 8), i32 (batch) */
    const weft_initialiser wide = weft_init_truncated_normal(0, 0.02f, -2, 2), other = weft_lecun_uniform();
    weft_tensor *h = weft_linear_layer(x, 16,
        &(weft_linear_options){WEFT_LINEAR_OPTIONS_INIT, .weight_initialiser = &wide, .no_bias = true});
    h = weft_add(weft_bilinear(h, h, 4), weft_linear(x, 4)); /* (batch, 4) */
    const weft_embedding_options rows = {WEFT_EMBEDDING_OPTIONS_INIT, .initialiser = &other, .padded = true,
        .padding = 0, .sparse = true, .max_norm = 2, .by_frequency = true};
    (void)weft_add(h, weft_add(weft_embedding(tokens, 100, 4), weft_embedding_layer(tokens, 100, 4, &rows)));
    weft_tensor *bags = weft_input(weft_tensor_graph(x), "bags", WEFT_I32, 6); /* (batch, 6) */
    const weft_bag_options largest = {WEFT_BAG_OPTIONS_INIT, .mode = WEFT_BAG_MAX};
    (void)weft_add(h, weft_embedding_bag(bags, 100, 4, &largest, &rows)); /* (batch, 4) */
    const int64_t cutoffs[] = {20, 60};
    weft_adaptive_softmax *many = weft_adaptive_softmax_layer(weft_tensor_graph(x), 8, 100, cutoffs, 2,
        &(weft_adaptive_softmax_options){WEFT_ADAPTIVE_SOFTMAX_OPTIONS_INIT, .divisor = 2});
    (void)weft_adaptive_softmax_loss(many, x, tokens), (void)weft_adaptive_softmax_log_prob(many, x);
    weft_graph *const g = weft_tensor_graph(x);
    weft_mach *hashed = weft_mach_layer(g, 8, 100, 4, 20, NULL); /* docs/extreme-classes.md */
    (void)weft_mach_loss(hashed, x, tokens), (void)weft_mach_probabilities(hashed, x);
    printf("class 7 is in bucket %d\n", (int)weft_mach_bucket(hashed, 0, 7));
    weft_tensor *const project = weft_parameter(g, "project", weft_glorot_uniform(), 4, 8);
    weft_tensor *const rare = weft_parameter(g, "rare", weft_glorot_uniform(), 80, 4);
    const weft_adaptive_softmax_weights given = {.projections = &project,
        .tail_weights = &rare,
        .head_weight = weft_parameter(g, "head", weft_glorot_uniform(), 21, 8)};
    (void)weft_adaptive_softmax_loss(weft_adaptive_softmax_with(100, cutoffs, 1, &given, NULL), x, tokens);
}

static void norms(weft_graph *graph, weft_tensor *image) { /* (batch, 4, 8, 8) */
    weft_tensor *w = weft_parameter(graph, "w", weft_fill(1), 4),
                *b = weft_parameter(graph, "b", weft_zeros(), 4),
                *row = weft_parameter(graph, "row", weft_fill(1), 8),
                *shift = weft_parameter(graph, "shift", weft_zeros(), 8);
    const int64_t four = 4;
    const weft_running running = {.mean = weft_state_shape(graph, "mean", WEFT_F32, weft_zeros(), 1, &four),
        .var = weft_state_shape(graph, "var", WEFT_F32, weft_fill(1), 1, &four),
        .momentum = 0.1f};
    weft_tensor *y = weft_instance_norm(weft_batch_norm(image));
    y = weft_batch_norm_layer(y, &(weft_batch_norm_options){WEFT_BATCH_NORM_OPTIONS_INIT, .momentum = 0.01f});
    y = weft_instance_norm_layer(
        y, &(weft_instance_norm_options){WEFT_INSTANCE_NORM_OPTIONS_INIT, .affine = true});
    y = weft_group_norm_layer(
        weft_group_norm(y, 2), 2, &(weft_norm_options){WEFT_NORM_OPTIONS_INIT, .no_affine = true});
    y = weft_layer_norm_layer(weft_layer_norm(y), &(weft_norm_options){WEFT_NORM_OPTIONS_INIT, .axes = 3});
    y = weft_rms_norm_layer(weft_rms_norm(y), &(weft_norm_options){WEFT_NORM_OPTIONS_INIT, .axes = 2});
    y = weft_instance_norm_with(weft_batch_norm_with(y, w, b, &running, 1e-5f), w, b, NULL, 1e-5f);
    y = weft_layer_norm_with(weft_group_norm_with(y, 2, w, b, 1e-5f), 1, row, shift, 1e-5f);
    (void)weft_local_response_norm(weft_rms_norm_with(y, 1, row, 1e-6f), 3, 1e-4, 0.75, 2);
}

static void convolutions(weft_graph *graph, weft_tensor *image) { /* (batch, 4, 8, 8) */
    const weft_conv_options same = {WEFT_CONV_OPTIONS_INIT, .mode = WEFT_PADDING_SAME},
                            twice = {WEFT_CONV_OPTIONS_INIT, .stride = 2};
    weft_tensor *kernel = weft_parameter(graph, "kernel", weft_he_uniform(), 4, 4, 3, 3),
                *back = weft_parameter(graph, "back", weft_lecun_normal(), 4, 4, 2, 2);
    weft_tensor *line = weft_conv1d(weft_flatten_axes(image, 2, 3), 6, 3); /* (batch, 6, 62) */
    weft_tensor *room =
        weft_conv3d(weft_unsqueeze(weft_concat(&image, 1, 1), 1), 2, 3);            /* (batch, 2, 2, 6, 6) */
    weft_tensor *y = weft_conv_with(weft_conv2d(image, 4, 3), kernel, NULL, &same); /* (batch, 4, 6, 6) */
    y = weft_conv_transpose_with(y, back, NULL, &twice);                            /* (batch, 4, 12, 12) */
    const int64_t three[] = {3, 3};
    (void)weft_conv_layer(
        y, 8, three, &(weft_conv_layer_options){WEFT_CONV_LAYER_OPTIONS_INIT, .conv = same});
    (void)weft_dropout_channels(line, 0.1f), (void)weft_dropout_channels(room, 0.1f);
}

static void pooling(weft_tensor *image) { /* (batch, 4, 8, 8) */
    const weft_pool_options three = {WEFT_POOL_OPTIONS_INIT, .window = 3, .stride = 2, .padding = 1};
    const int64_t sizes[] = {2, 2};
    weft_tensor *halves = weft_add(
        weft_max_pool(image, &three), weft_add(weft_avg_pool(image, &three), weft_lp_pool(image, 2, &three)));
    halves = weft_add(
        halves, weft_add(weft_max_pool2d(image, 2), weft_avg_pool2d(image, 2))); /* (batch, 4, 4, 4) */
    weft_tensor *small =
        weft_add(weft_adaptive_max_pool(halves, sizes), weft_adaptive_avg_pool(halves, sizes));
    (void)weft_add(weft_global_max_pool(small), weft_global_avg_pool(small)); /* (batch, 4, 1, 1) */
    weft_tensor *large = weft_add(weft_upsample_nearest(halves, 2), weft_upsample_linear(halves, 2, false));
    (void)weft_resample(large, &(weft_resample_options){WEFT_RESAMPLE_OPTIONS_INIT, .sizes = {5, 7}});
    (void)weft_pixel_unshuffle(weft_pixel_shuffle(large, 2), 2);
    weft_tensor *flow = weft_tanh(weft_channels_last(weft_conv2d(large, 2, 1))); /* (batch, 8, 8, 2) */
    (void)weft_grid_sample(
        large, flow, &(weft_grid_sample_options){WEFT_GRID_SAMPLE_OPTIONS_INIT, .border = true});
}

static void attention(weft_graph *graph, weft_tensor *x) { /* (batch, 5, 8) */
    const weft_initialiser start = weft_glorot_uniform();
    weft_tensor *y = weft_multi_head_attention(
        x, x, x, 2, &(weft_multi_head_options){WEFT_MULTI_HEAD_OPTIONS_INIT, .causal = true});
    const weft_multi_head_weights own = {.in_proj_weight = weft_parameter(graph, "in", start, 24, 8),
        .in_proj_bias = weft_parameter(graph, "in_bias", weft_zeros(), 24),
        .out_proj_weight = weft_parameter(graph, "out", weft_init_orthogonal(1), 8, 8)};
    y = weft_multi_head_attention_with(y, y, y, 2, &own, NULL); /* the same weights may serve a second time */
    (void)weft_attention(y, x, x, NULL);
    const int64_t cached[] = {1, 64, 8}, one[] = {1, 1, 8};
    weft_tensor *keys = weft_transient_state(graph, "keys", WEFT_F32, weft_zeros(), 3, cached), *update,
                *values = weft_transient_state(graph, "values", WEFT_F32, weft_zeros(), 3, cached),
                *token = weft_input_shape(graph, "new", WEFT_F32, 3, one),
                *position = weft_input_shape(graph, "position", WEFT_I32, 0, NULL);
    (void)weft_attention_cached(
        token, token, token, keys, values, position, &update); /* update: an output of the plan */
}

static void recurrent(weft_graph *graph, weft_tensor *x) { /* (batch, 5, 8) */
    const weft_initialiser start = weft_init_uniform(-0.5f, 0.5f);
    const weft_recurrent_weights four = {weft_parameter(graph, "i4", start, 24, 8),
                                     weft_parameter(graph, "h4", start, 24, 6), NULL, NULL, NULL},
                                 three = {weft_parameter(graph, "i3", start, 18, 8),
                                     weft_parameter(graph, "h3", start, 18, 6), NULL, NULL, NULL},
                                 one = {weft_parameter(graph, "i1", start, 6, 8),
                                     weft_parameter(graph, "h1", start, 6, 6), NULL, NULL, NULL};
    const weft_recurrent lstm = weft_lstm_with(x, &four, NULL), gru = weft_gru_with(x, &three, NULL),
                         rnn = weft_rnn_with(x, &one, NULL);
    weft_tensor *last = weft_squeeze(weft_slice(x, 1, 4, WEFT_END), 1); /* (batch, 8) */
    (void)weft_lstm_cell(last, lstm.h, lstm.c, &four), (void)weft_gru_cell(last, gru.h, &three, false),
        (void)weft_rnn_cell(last, rnn.h, &one, false);
    (void)weft_concat(
        (weft_tensor *[]){weft_lstm(x, 6, NULL).y, weft_gru(x, 6, NULL).y, weft_rnn(x, 6, NULL).y}, 3, 2);
}

static void networks(
    weft_tensor *image) { /* (batch, 3, 227, 227): logits of 10 classes; 0: the features before them */
    (void)weft_lenet5(weft_resample(image, &(weft_resample_options){WEFT_RESAMPLE_OPTIONS_INIT, .size = 32}),
        10, "lenet5.");
    (void)weft_alexnet_s(image, 10, "alexnet_s."), (void)weft_alexnet_r(image, 10, "alexnet_r.");
    (void)weft_vgg11(image, 10, "vgg11."), (void)weft_vgg16(image, 10, "vgg16.");
    (void)weft_googlenet(image, 10, "googlenet."), (void)weft_inception_v3(image, 0, "inception_v3.");
    (void)weft_resnet18(image, 10, "resnet18."), (void)weft_resnet50(image, 0, "resnet50.");
    (void)weft_resnet20(image, 10, "resnet20."), (void)weft_resnet56(image, 10, "resnet56.");
    (void)weft_resnet34(image, 10, "resnet34."), (void)weft_resnet101(image, 10, "resnet101.");
    (void)weft_mobilenet_v2(image, 10, "mobilenet_v2.");
    (void)weft_mobilenet_v3_large(image, 10, "large."), (void)weft_mobilenet_v3_small(image, 10, "small.");
    (void)weft_efficientnet_b0(image, 10, "efficientnet_b0.");
    (void)weft_vit_b_16(
        weft_resample(image, &(weft_resample_options){WEFT_RESAMPLE_OPTIONS_INIT, .size = 224}), 10,
        "vit_b_16.");
    for (size_t i = 0; weft_model_name(i); i++) printf("%s\n", weft_model_name(i));
    (void)weft_model(
        image, "resnet18", 10, &(weft_model_options){WEFT_MODEL_OPTIONS_INIT, .prefix = "again."});
}

/* The states of each token and of the whole text, of a small BERT. */
static void text_encoder(weft_graph *graph) {
    weft_tensor *tokens = weft_input(graph, "text", WEFT_I32, WEFT_LENGTH),
                *mask = weft_input(graph, "mask", WEFT_BOOL, WEFT_LENGTH), *pooled;
    (void)weft_bert(tokens,
        &(weft_bert_options){
            WEFT_BERT_OPTIONS_INIT, .prefix = "bert.", .layers = 2, .width = 64, .heads = 2, .mask = mask},
        &pooled);
}

/* A network of images whose height and width each plan chooses. */
static void any_size(weft_graph *graph) {
    const int64_t any[] = {WEFT_BATCH, 3, weft_symbol(graph, "height"), weft_symbol(graph, "width")};
    weft_tensor *const picture = weft_input_shape(graph, "picture", WEFT_F32, 4, any);
    weft_tensor *const features = weft_relu(weft_conv2d(picture, 16, 3, .stride = 2, .padding = 1));
    (void)weft_linear(weft_flatten(weft_global_avg_pool(features)), 10);
}

int main(void) {
    weft_context *context = NULL;
    weft_status status = weft_context_create(&context, NULL);
    if (!status) {
        weft_graph *graph = weft_context_graph(context);
        weft_tensor *image = weft_input(graph, "image", WEFT_F32, 4, 8, 8),
                    *x = weft_input(graph, "x", WEFT_F32, 5, 8);
        dense(weft_input(graph, "row", WEFT_F32, 8), weft_input(graph, "tokens", WEFT_I32)),
            norms(graph, image);
        convolutions(graph, image), pooling(image), attention(graph, x), recurrent(graph, x);
        networks(weft_input(graph, "photo", WEFT_F32, 3, 227, 227));
        text_encoder(graph);
        any_size(graph);
        status = weft_graph_status(graph);
    }
    if (status) fprintf(stderr, "layers: %s\n", weft_last_error());
    weft_context_release(context);
    return status != WEFT_OK;
}
