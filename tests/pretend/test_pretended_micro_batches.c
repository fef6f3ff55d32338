/* Networks some of whose tensors are larger than the device's largest buffer are computed in micro-batches: what they learn is what
 * they learn on a device without this limit. */
#include "support/fixture.h"
#include "support/pretended_training.h"
#include <stdio.h>

/* ---- networks ---- */

static weft_tensor *convolutions(weft_tensor *x, weft_tensor *label) {
    weft_tensor *h = weft_relu(weft_batch_norm(weft_conv2d_strided(x, 24, 3, 1, 1)));
    h = weft_max_pool2d(weft_relu(weft_add(h, weft_conv2d_strided(h, 24, 3, 1, 1))), 2);
    h = weft_global_avg_pool(weft_relu(weft_conv2d(h, 20, 3)));
    return weft_cross_entropy(weft_linear(weft_flatten(h), 10), label);
}

static weft_tensor *perceptron(weft_tensor *x, weft_tensor *label) {
    weft_tensor *h = weft_tanh(weft_linear(x, 100));
    h = weft_dropout(weft_layer_norm(weft_sigmoid(weft_linear(h, 90))), 0.25f);
    return weft_cross_entropy(weft_linear(h, 70), label);
}

/* Images of other sizes on the way, with norms of each example. */
static weft_tensor *images(weft_tensor *x, weft_tensor *label) {
    weft_tensor *h = weft_relu(weft_conv_transpose2d(x, 16, 4, 2, 1));
    h = weft_upsample_nearest(weft_avg_pool2d(weft_group_norm(h, 4), 2), 2);
    h = weft_dropout_channels(
        weft_conv2d_strided(weft_concat(WEFT_TENSORS(h, weft_neg(h)), 1), 24, 3, 2, 1), 0.1f);
    h = weft_instance_norm(
        weft_pad(h, (const int64_t[]){0, 0, 1, 2}, (const int64_t[]){0, 0, 2, 1}, WEFT_PAD_REFLECT, 0));
    return weft_cross_entropy(weft_linear(weft_flatten(weft_max_pool2d(h, 3)), 10), label);
}

/* Each step's next token, from the steps before it. */
static weft_tensor *language(weft_tensor *x, weft_tensor *label) {
    weft_tensor *h = weft_lstm(weft_embedding(x, 10, 24), 32, NULL).y;
    (void)label;
    return weft_cross_entropy(weft_flatten_axes(weft_linear(h, 500), 0, 1), weft_flatten_axes(x, 0, 1));
}

/* Both directions, whose results have other sections than those of an LSTM. */
static weft_tensor *gates(weft_tensor *x, weft_tensor *label) {
    const weft_recurrent_options options = {WEFT_RECURRENT_OPTIONS_INIT, .bidirectional = true};
    weft_recurrent r = weft_gru(x, 48, &options);
    weft_tensor *const last = weft_flatten_axes(weft_permute(r.h, 1, 0, 2), 1, 2);
    return weft_cross_entropy(weft_linear(weft_add(last, weft_mean(r.y, 1)), 10), label);
}

static weft_tensor *attention(weft_tensor *x, weft_tensor *label) {
    weft_tensor *h = weft_layer_norm(weft_linear(x, 48));
    h = weft_add(h, weft_multi_head_attention(h, h, h, 4, WEFT_WITH(multi_head, .dropout = 0.2f)));
    h = weft_add(h, weft_linear(weft_gelu(weft_linear(weft_layer_norm(h), 192)), 48));
    return weft_cross_entropy(weft_linear(weft_mean(h, 1), 10), label);
}

/* One head, whose batch is the only leading dimension. */
static weft_tensor *one_head(weft_tensor *x, weft_tensor *label) {
    weft_tensor *h = weft_linear(x, 48);
    h = weft_attention(
        h, weft_tanh(h), weft_linear(h, 32), WEFT_WITH(attention, .causal = true, .dropout = 0.1f));
    return weft_cross_entropy(weft_linear(weft_mean(h, 1), 10), label);
}

/* Elements picked by index, scans and sorts, along other axes than that of the examples; and sums by index along that one. */
static weft_tensor *indices(weft_tensor *x, weft_tensor *label) {
    weft_tensor *h = weft_embedding(x, 10, 400);
    h = weft_add(weft_mul_number(weft_cumsum(h, 1), 0.1), weft_sort(h, 2, true));
    h = weft_mul(h, weft_tanh(weft_gather(h, 1, weft_argsort(h, 1, true))));
    weft_tensor *const rows = weft_flatten(h), *const classes = weft_unsqueeze(label, 1);
    weft_tensor *const sums =
        weft_scatter_sum(rows, 0, weft_expand(classes, 2, (const int64_t[]){WEFT_BATCH, 12 * 400}), 10);
    weft_tensor *const logits = weft_linear(weft_mean(weft_topk(h, 50, 2, true), 1), 10);
    return weft_add(
        weft_cross_entropy(logits, label), weft_mul_number(weft_mean(weft_square(sums), 0, 1), 1e-3));
}

/* Steps before examples. */
static weft_tensor *sequences(weft_tensor *x, weft_tensor *label) {
    weft_tensor *const h = weft_permute(weft_linear(x, 200), 1, 0, 2);
    weft_tensor *const zeros = weft_mul_number(label, 0);
    weft_tensor *const targets = weft_unsqueeze(weft_add_number(label, 1), 1);
    return weft_ctc(weft_log_softmax(h, 2), targets, weft_add_number(zeros, 24), weft_add_number(zeros, 1));
}

#define NETWORK(network)                                                                                     \
    .name = #network, .loss = (network), .tolerance = 2e-5f, .buffer = 256 << 10, .micro_batches = true
/* What the pass does is the same in both classes; the networks before `off_processors` have what kernels of class cpu add to it. */
static const trained_network networks[] = {
    {NETWORK(convolutions), .batch = 19, .dims = {3, 16, 16}, .dtype = WEFT_F32},
    {NETWORK(language), .batch = 17, .dims = {12}, .dtype = WEFT_I32, .unlabelled = true},
    {NETWORK(attention), .batch = 17, .dims = {24, 32}, .dtype = WEFT_F32},
    {NETWORK(indices), .batch = 17, .dims = {12}, .dtype = WEFT_I32},
    {NETWORK(perceptron), .batch = 1000, .dims = {75}, .dtype = WEFT_F32},
    {NETWORK(images), .batch = 5, .dims = {4, 16, 16}, .dtype = WEFT_F32},
    {NETWORK(gates), .batch = 39, .dims = {11, 40}, .dtype = WEFT_F32},
    {NETWORK(sequences), .batch = 17, .dims = {24, 32}, .dtype = WEFT_F32},
    {NETWORK(one_head), .batch = 61, .dims = {24, 32}, .dtype = WEFT_F32},
};
static const trained_network *const off_processors = &networks[4];

/* ---- inputs and outputs ---- */

enum { ROWS = 251, COLUMNS = 300 };

typedef struct prediction {
    weft_context *context;
    weft_tensor *input, *output;
    weft_plan *plan;
} prediction;

static prediction predict(const char *device, const float *x, float *y) {
    prediction p = {.context = pretended_open(device)};
    p.input = weft_input(weft_context_graph(p.context), "x", WEFT_F32, COLUMNS);
    p.output = weft_softmax(weft_linear(p.input, COLUMNS), 1);
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = ROWS, .inference = true};
    assert_ok(weft_plan_create(&p.plan, &p.output, 1, &options));
    assert_ok(weft_plan_write(p.plan, p.input, x, ROWS * COLUMNS * sizeof(float)));
    assert_ok(weft_plan_run(p.plan));
    assert_ok(weft_plan_read(p.plan, p.output, y, ROWS * COLUMNS * sizeof(float)));
    return p;
}

static void release(prediction *p) {
    weft_plan_release(p->plan);
    weft_context_release(p->context);
}

/* What takes or gives the one memory of a tensor says that there is none. */
static void assert_some_calls_refuse(const prediction *p) {
    struct _cl_mem *memory;
    size_t offset;
    assert_fails(weft_plan_memory(p->plan, p->output, &memory, &offset), WEFT_ERROR_UNSUPPORTED,
        "weft_plan_memory: softmax (batch, 300) is stored in several buffers");
    assert_fails(weft_plan_bind(p->plan, p->input, NULL, 0), WEFT_ERROR_UNSUPPORTED,
        "input 'x' is stored in several buffers");
    assert_fails(weft_plan_write(p->plan, p->input, &offset, 300000), WEFT_ERROR_ARGUMENT,
        "has 301200 bytes at batch 251, but 300000 were given");
}

/* One row is computed in one order of sums, however many there are. */
static void inputs_and_outputs_are_cut(void **state) {
    static float x[ROWS * COLUMNS], cut[ROWS * COLUMNS], whole[ROWS * COLUMNS];
    const char **const devices = *state;
    for (int i = 0; i < ROWS * COLUMNS; i++) x[i] = (float)((uint32_t)i * 2654435761u >> 8) / 16777216.0f;
    prediction p = predict(devices[1], x, whole);
    release(&p);
    p = predict(devices[0], x, cut);
    assert_int_equal(pretend_layer_record().above, 0);
    assert_memory_equal(cut, whole, sizeof cut);
    assert_some_calls_refuse(&p);
    release(&p);
}

static void same_in_micro_batches(void **state) {
    static const char *const devices[] = {"narrow", "narrow_processor"};
    const trained_network *const n = *state;
    assert_same_training(n, devices, n < off_processors && !test_reduced() ? 2 : 1);
}

int main(int argc, char **argv) {
    enum { NETWORKS = sizeof networks / sizeof *networks };
    static const char *gpus[] = {"narrow", "largest256"}, *processors[] = {"narrow_processor", "processor"};
    struct CMUnitTest tests[NETWORKS + 2] = {cmocka_unit_test_prestate(inputs_and_outputs_are_cut, gpus),
        cmocka_unit_test_prestate(inputs_and_outputs_are_cut, processors)};
    size_t count = 2;
    if (test_reduced()) printf("class cpu is left out: WEFT_TEST_REDUCED asks for the host's code\n");
    for (const trained_network *n = networks; n < networks + NETWORKS; n++)
        tests[count++] = (struct CMUnitTest){n->name, same_in_micro_batches, NULL, NULL, (void *)n};
    (void)argc;
    pretended_start(argv);
    return _cmocka_run_group_tests("micro-batches", tests, count, NULL, NULL);
}
