/* See bench_networks.h. */
#include "bench_networks.h"
#include "base/platform.h"
#include "file_network.h"
#include <string.h>

/* ---- the networks ---- */

static weft_tensor *sigmoids(weft_tensor *x, const int64_t *units, size_t count) {
    for (size_t i = 0; i < count; i++) {
        x = weft_linear(x, units[i]);
        if (i + 1 < count) x = weft_sigmoid(x);
    }
    return x;
}

static weft_tensor *fcn_s(weft_tensor *x) {
    return sigmoids(x, (const int64_t[]){2048, 2048, 2048, 26752}, 4);
}

static weft_tensor *fcn_r(weft_tensor *x) {
    return sigmoids(x, (const int64_t[]){2048, 4096, 1024, 10}, 4);
}

static weft_tensor *alexnet_s(weft_tensor *x) {
    return weft_alexnet_s(x, 1000, NULL);
}

static weft_tensor *alexnet_r(weft_tensor *x) {
    return weft_alexnet_r(x, 10, NULL);
}

static weft_tensor *resnet50(weft_tensor *x) {
    return weft_resnet50(x, 1000, NULL);
}

static weft_tensor *resnet56(weft_tensor *x) {
    return weft_resnet56(x, 10, NULL);
}

static weft_tensor *language_model(weft_tensor *x) {
    const weft_recurrent_options two_layers = {WEFT_RECURRENT_OPTIONS_INIT, .layers = 2};
    const weft_recurrent h = weft_lstm(weft_embedding(x, 10000, 256), 256, &two_layers);
    return weft_reshape(weft_linear(h.y, 10000), WEFT_BATCH * 32, 10000);
}

static weft_tensor *vgg16(weft_tensor *x) {
    return weft_vgg16(x, 1000, NULL);
}

static weft_tensor *googlenet(weft_tensor *x) {
    return weft_googlenet(x, 1000, NULL);
}

static weft_tensor *mobilenet_v2(weft_tensor *x) {
    return weft_mobilenet_v2(x, 1000, NULL);
}

/* x + what the block makes of its norm, with dropout (A. Vaswani et al. 2017, with the norms first). */
static weft_tensor *transformer_block(weft_tensor *x) {
    enum { WIDTH = 256, HEADS = 8, INNER = 1024 };
    const weft_multi_head_options causal = {WEFT_MULTI_HEAD_OPTIONS_INIT, .causal = true};
    weft_tensor *h = weft_layer_norm(x);
    x = weft_add(x, weft_dropout(weft_multi_head_attention(h, h, h, HEADS, &causal), 0.1f));
    h = weft_linear(weft_gelu(weft_linear(weft_layer_norm(x), INNER)), WIDTH);
    return weft_add(x, weft_dropout(h, 0.1f));
}

static weft_tensor *transformer(weft_tensor *tokens) {
    weft_tensor *x = weft_embedding(tokens, 10000, 256);
    for (int i = 0; i < 12; i++) x = transformer_block(x);
    return weft_reshape(weft_linear(weft_layer_norm(x), 10000), WEFT_BATCH * 128, 10000);
}

/* Those of samples/05_train_digits.c. */
static weft_tensor *digits_mlp(weft_tensor *x) {
    return weft_linear(weft_relu(weft_linear(weft_flatten(x), 128)), 10);
}

static weft_tensor *same_convolution(weft_tensor *x, int64_t filters) {
    const weft_conv_layer_options same = {
        WEFT_CONV_LAYER_OPTIONS_INIT, .conv = {WEFT_CONV_OPTIONS_INIT, .mode = WEFT_PADDING_SAME}};
    return weft_relu(weft_conv_layer(x, filters, (const int64_t[]){3, 3}, &same));
}

static weft_tensor *digits_cnn(weft_tensor *x) {
    return digits_mlp(weft_max_pool2d(same_convolution(same_convolution(x, 32), 64), 2));
}

const bench_network bench_networks[] = {
    {"FCN-S", 64, BENCH_SEVEN, 1, {26752}, 0, 26752, false, fcn_s, NULL},
    {"AlexNet-S", 16, BENCH_SEVEN | BENCH_INFERENCE, 3, {3, 227, 227}, 0, 1000, false, alexnet_s, NULL},
    {"ResNet-50", 16, BENCH_SEVEN | BENCH_INFERENCE, 3, {3, 224, 224}, 0, 1000, false, resnet50, NULL},
    {"FCN-R", 1024, BENCH_SEVEN | BENCH_SHORT, 1, {784}, 0, 10, false, fcn_r, NULL},
    {"AlexNet-R", 1024, BENCH_SEVEN | BENCH_SHORT, 3, {3, 32, 32}, 0, 10, false, alexnet_r, NULL},
    {"ResNet-56", 128, BENCH_SEVEN, 3, {3, 32, 32}, 0, 10, false, resnet56, NULL},
    {"LSTM", 128, BENCH_SEVEN | BENCH_INFERENCE | BENCH_SHORT, 1, {32}, 10000, 10000, false, language_model,
        NULL},
    {"VGG-16", 16, 0, 3, {3, 224, 224}, 0, 1000, false, vgg16, NULL},
    {"GoogLeNet", 16, 0, 3, {3, 224, 224}, 0, 1000, false, googlenet, NULL},
    {"MobileNet-v2", 16, 0, 3, {3, 224, 224}, 0, 1000, false, mobilenet_v2, NULL},
    {"Transformer", 16, 0, 1, {128}, 10000, 10000, true, transformer, NULL},
    {"digits-MLP", 32, 0, 3, {1, 8, 8}, 0, 10, true, digits_mlp, NULL},
    {"digits-CNN", 32, 0, 3, {1, 8, 8}, 0, 10, true, digits_cnn, NULL},
};
const size_t bench_network_count = sizeof bench_networks / sizeof *bench_networks;

const bench_network *bench_network_find(const char *name) {
    for (size_t i = 0; i < bench_network_count; i++)
        if (strcmp(bench_networks[i].name, name) == 0) return &bench_networks[i];
    return NULL;
}

/* ---- random inputs ---- */

/* Numbers are uniform with the deviation 1, whole ones uniform below `bound`. */
static weft_status fill(weft_plan *plan, const bench_source *source) {
    const bool whole = weft_tensor_dtype(source->tensor) == WEFT_I32;
    uint32_t *const values = wi_allocate_array(NULL, (size_t)source->count, sizeof *values);
    if (!values) return WEFT_ERROR_MEMORY;
    uint64_t bits = 12345;
    for (int64_t i = 0; i < source->count; i++) {
        bits = bits * 6364136223846793005u + 1442695040888963407u;
        const uint32_t high = (uint32_t)(bits >> 40);
        const float real = ((float)high * 0x1p-23f - 1.0f) * 1.7320508f;
        values[i] = (uint32_t)(high % (source->bound > 0 ? source->bound : 1));
        if (!whole) memcpy(&values[i], &real, sizeof real);
    }
    const weft_status status =
        weft_plan_write(plan, source->tensor, values, (size_t)source->count * sizeof *values);
    wi_release(NULL, values);
    return status;
}

/* ---- models ---- */

/* Images lie channels-last, as ops of images have them. */
static weft_tensor *input_of(weft_graph *graph, const bench_network *network) {
    const int64_t *const dims = network->dims;
    if (network->rank == 3) return weft_input(graph, "x", WEFT_F32, dims[1], dims[2], dims[0]);
    return weft_input(graph, "x", network->vocabulary ? WEFT_I32 : WEFT_F32, dims[0]);
}

int64_t bench_network_labels(const bench_network *network) {
    return network->vocabulary ? network->dims[0] : 1;
}

weft_optimizer bench_network_optimizer(const bench_network *network) {
    return network->adam ? weft_adam(1e-3f) : weft_sgd(1e-3f);
}

static weft_optimizer optimizer_of(const bench_network *network, const bench_setting *setting) {
    if (setting->momentum > 0) return weft_sgd_momentum(setting->rate, setting->momentum, 0);
    if (setting->rate > 0) return weft_sgd(setting->rate);
    return bench_network_optimizer(network);
}

static int64_t numbers_of(const bench_model *model) {
    int64_t count = model->batch;
    for (int i = 0; i < model->network->rank; i++) count *= model->network->dims[i];
    return count;
}

static weft_tensor *logits_of(const bench_network *network, weft_tensor *x) {
    return network->build(network->rank == 3 ? weft_channels_first(x) : x);
}

/* Images lie channels-last, as in input_of. */
void bench_network_columns(const bench_network *network, weft_column columns[2]) {
    const int64_t *const dims = network->dims, labels = bench_network_labels(network);
    columns[0] = (weft_column){.name = "x",
        .dtype = network->vocabulary ? WEFT_I32 : WEFT_F32,
        .rank = network->rank,
        .dims = {dims[0]}};
    for (int i = 0; i < network->rank; i++) columns[0].dims[i] = dims[(i + 1) % network->rank];
    columns[1] = (weft_column){.name = "label", .dtype = WEFT_I32, .rank = labels > 1, .dims = {labels}};
}

weft_tensor *bench_network_loss(weft_graph *graph, const bench_network *network) {
    const int64_t labels = bench_network_labels(network);
    weft_tensor *const logits = logits_of(network, input_of(graph, network));
    if (labels == 1) return weft_cross_entropy(logits, weft_input(graph, "label", WEFT_I32));
    weft_tensor *const input = weft_input(graph, "label", WEFT_I32, labels);
    return weft_cross_entropy(logits, weft_reshape(input, WEFT_BATCH * labels));
}

double bench_parameter_bytes(const weft_graph *graph) {
    double bytes = 0;
    for (size_t i = 0; i < weft_graph_parameter_count(graph); i++) {
        const weft_tensor *const parameter = weft_graph_parameter(graph, i);
        int64_t count = 1;
        for (int d = 0; d < weft_tensor_rank(parameter); d++) count *= weft_tensor_dimension(parameter, d);
        bytes += (double)count * sizeof(float);
    }
    return bytes;
}

/* Inputs, and logits. */
static weft_tensor *build_forward(bench_model *model) {
    const bench_network *const network = model->network;
    weft_tensor *const x = input_of(model->graph, network);
    model->sources[model->source_count++] = (bench_source){x, numbers_of(model), network->vocabulary};
    return logits_of(network, x);
}

static weft_tensor *build_loss(bench_model *model, weft_tensor *logits) {
    const int64_t labels[] = {WEFT_BATCH * bench_network_labels(model->network)};
    weft_tensor *const input = weft_input_shape(model->graph, "label", WEFT_I32, 1, labels);
    model->sources[model->source_count++] =
        (bench_source){input, model->batch * bench_network_labels(model->network), model->network->classes};
    return weft_cross_entropy(logits, input);
}

static weft_status build(
    bench_model *model, const bench_setting *setting, weft_tensor **outputs, size_t *output_count) {
    const bench_network *const network = model->network;
    *output_count = 1;
    if (network->file) {
        WI_TRY(file_network_build(model));
    } else {
        outputs[0] = build_forward(model);
        if (model->inference) return weft_graph_status(model->graph);
        model->loss = build_loss(model, outputs[0]);
    }
    outputs[0] = model->loss;
    WI_TRY(weft_graph_status(model->graph));
    if (model->inference) return WEFT_OK;
    const weft_optimizer optimizer = optimizer_of(network, setting);
    WI_TRY(weft_minimize(outputs[0], &optimizer, outputs + 1, WEFT_MAX_UPDATES, output_count));
    ++*output_count;
    return WEFT_OK;
}

static weft_status fill_all(const bench_model *model) {
    for (size_t i = 0; i < model->source_count; i++) WI_TRY(fill(model->plan, &model->sources[i]));
    return WEFT_OK;
}

/* Of a plan without a limit, which is made for it. */
static weft_status bytes_without_limit(
    size_t *bytes, weft_tensor *const *outputs, size_t count, const weft_plan_options *options) {
    weft_plan *plan;
    weft_plan_info info;
    WI_TRY(weft_plan_create(&plan, outputs, count, options));
    const weft_status status = weft_plan_get_info(plan, &info);
    if (status == WEFT_OK) *bytes = info.total_bytes;
    weft_plan_release(plan);
    return status;
}

weft_status bench_model_create(
    bench_model *model, weft_context *context, const bench_network *network, const bench_setting *setting) {
    weft_tensor *outputs[1 + WEFT_MAX_UPDATES];
    size_t output_count, whole = 0;
    *model = (bench_model){.network = network,
        .batch = setting->batch > 0 ? setting->batch : network->batch,
        .inference = setting->inference};
    WI_TRY(weft_graph_create(&model->graph, context));
    WI_TRY(weft_graph_set_precision(model->graph, setting->precision));
    WI_TRY(build(model, setting, outputs, &output_count));
    weft_plan_options options = {
        WEFT_PLAN_OPTIONS_INIT, .batch = model->batch, .inference = model->inference, .compile_late = true};
    if (setting->memory_percent > 0) WI_TRY(bytes_without_limit(&whole, outputs, output_count, &options));
    options.memory_limit =
        setting->memory_percent > 0 ? whole / 100 * (size_t)setting->memory_percent : setting->memory_limit;
    const double begin = wi_clock_seconds();
    WI_TRY(weft_plan_create(&model->plan, outputs, output_count, &options));
    model->plan_seconds = wi_clock_seconds() - begin;
    return fill_all(model);
}

void bench_model_clear(bench_model *model) {
    weft_plan_release(model->plan);
    weft_graph_release(model->graph);
    *model = (bench_model){0};
}
