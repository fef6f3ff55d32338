/* Networks some of whose tensors are larger than the device's largest buffer are computed in micro-batches: what they learn is what
 * they learn on a device without this limit. */
#include "pretended.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STEPS = 3, MOST_NUMBERS = 1 << 19 };

typedef struct network {
    const char *name;
    weft_tensor *(*loss)(weft_tensor *x, weft_tensor *label);
    int64_t batch, dims[4]; /* of an example; ended by 0 */
    float tolerance;        /* of losses and parameters, beside the largest of them */
    weft_dtype dtype;       /* of x */
} network;

/* ---- networks ---- */

static weft_tensor *convolutions(weft_tensor *x, weft_tensor *label) {
    weft_tensor *h = weft_relu(weft_batch_norm(weft_conv2d_strided(x, 48, 3, 1, 1)));
    h = weft_max_pool2d(weft_relu(weft_add(h, weft_conv2d_strided(h, 48, 3, 1, 1))), 2);
    h = weft_global_avg_pool(weft_relu(weft_conv2d(h, 20, 3)));
    return weft_cross_entropy(weft_linear(weft_flatten(h), 10), label);
}

static weft_tensor *perceptron(weft_tensor *x, weft_tensor *label) {
    weft_tensor *h = weft_tanh(weft_linear(x, 400));
    h = weft_dropout(weft_layer_norm(weft_sigmoid(weft_linear(h, 350))), 0.25f);
    return weft_cross_entropy(weft_linear(h, 300), label);
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
    h = weft_add(h, weft_multi_head_attention(h, h, h, 4, NULL));
    h = weft_add(h, weft_linear(weft_gelu(weft_linear(weft_layer_norm(h), 192)), 48));
    return weft_cross_entropy(weft_linear(weft_mean(h, 1), 10), label);
}

/* One head, whose batch is the only leading dimension. */
static weft_tensor *one_head(weft_tensor *x, weft_tensor *label) {
    weft_tensor *h = weft_linear(x, 48);
    h = weft_attention(h, weft_tanh(h), weft_linear(h, 32), WEFT_WITH(attention, .causal = true));
    return weft_cross_entropy(weft_linear(weft_mean(h, 1), 10), label);
}

static const network networks[] = {
    {"convolutions", convolutions, 37, {3, 16, 16}, 2e-5f, WEFT_F32},
    {"perceptron", perceptron, 1000, {300}, 2e-5f, WEFT_F32},
    {"images", images, 40, {4, 16, 16}, 2e-5f, WEFT_F32},
    {"language", language, 64, {12}, 2e-5f, WEFT_I32},
    {"gates", gates, 150, {11, 40}, 2e-5f, WEFT_F32},
    {"attention", attention, 100, {24, 32}, 2e-5f, WEFT_F32},
    {"one head", one_head, 300, {24, 32}, 2e-5f, WEFT_F32},
};

/* ---- training ---- */

typedef struct outcome {
    float losses[STEPS], *parameters;
    size_t count; /* of the parameters' numbers */
    pretend_record record;
    weft_plan_info info;
} outcome;

static void fill(const network *n, weft_plan *plan, weft_tensor *x) {
    static union {
        float f[MOST_NUMBERS];
        int32_t i[MOST_NUMBERS];
    } values;
    const bool labels = weft_tensor_dtype(x) == WEFT_I32;
    size_t count = (size_t)n->batch;
    for (int i = 1; i < weft_tensor_rank(x); i++) count *= (size_t)weft_tensor_dimension(x, i);
    assert_true(count <= MOST_NUMBERS);
    for (size_t i = 0; i < count; i++) {
        const uint32_t hash = (uint32_t)i * 2654435761u >> 8;
        if (labels)
            values.i[i] = (int32_t)(hash % 10);
        else
            values.f[i] = (float)(hash % 1000) / 500.0f - 1.0f;
    }
    assert_ok(weft_plan_write(plan, x, values.f, count * 4));
}

static void read_parameters(weft_graph *graph, outcome *o) {
    for (size_t i = 0; i < weft_graph_parameter_count(graph); i++) {
        weft_tensor *const p = weft_graph_parameter(graph, i);
        size_t count = 1;
        for (int k = 0; k < weft_tensor_rank(p); k++) count *= (size_t)weft_tensor_dimension(p, k);
        o->parameters = realloc(o->parameters, (o->count + count) * sizeof(float));
        assert_non_null(o->parameters);
        assert_ok(weft_tensor_read(p, o->parameters + o->count, count * sizeof(float)));
        o->count += count;
    }
}

static outcome train_on(const char *device, const network *n) {
    outcome o = {0};
    weft_tensor *outputs[1 + WEFT_MAX_UPDATES];
    weft_plan *plan = NULL;
    size_t count = 0;
    weft_context *const context = pretended_open(device);
    weft_graph *const graph = weft_context_graph(context);
    const weft_optimizer sgd = weft_sgd_momentum(0.1f, 0.9f, 0);
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = n->batch};
    int64_t dims[5] = {WEFT_BATCH};
    int rank = 1;
    for (; n->dims[rank - 1]; rank++) dims[rank] = n->dims[rank - 1];
    weft_tensor *const x = weft_input_shape(graph, "x", n->dtype, rank, dims), *const label = weft_input(
                                                                                   graph, "label", WEFT_I32);
    outputs[0] = n->loss(x, label);
    assert_ok(weft_graph_status(graph));
    assert_ok(weft_minimize(outputs[0], &sgd, outputs + 1, WEFT_MAX_UPDATES, &count));
    assert_ok(weft_plan_create(&plan, outputs, 1 + count, &options));
    assert_ok(weft_plan_get_info(plan, &o.info));
    fill(n, plan, x);
    if (n->loss != language) fill(n, plan, label);
    for (int i = 0; i < STEPS; i++) {
        assert_ok(weft_plan_run(plan));
        assert_ok(weft_plan_read(plan, outputs[0], &o.losses[i], sizeof *o.losses));
    }
    read_parameters(graph, &o);
    weft_plan_release(plan);
    o.record = pretend_layer_record();
    weft_context_release(context);
    return o;
}

/* ---- beside training without a limit ---- */

static float largest_of(const float *a, size_t count) {
    float largest = 0;
    for (size_t i = 0; i < count; i++) largest = fmaxf(largest, fabsf(a[i]));
    return largest;
}

static void assert_near(const char *what, const float *a, const float *b, size_t count, float tolerance) {
    const float allowed = tolerance * largest_of(b, count);
    for (size_t i = 0; i < count; i++)
        if (!(fabsf(a[i] - b[i]) <= allowed))
            fail_msg("%s, number %zu: %g, whole %g; %g is allowed", what, i, (double)a[i], (double)b[i],
                (double)allowed);
}

static void assert_same_training(const char *limited, const char *unlimited, const network *n) {
    outcome cut = train_on(limited, n), whole = train_on(unlimited, n);
    printf("%s on %s: %ld launches, whole %ld; buffers of %zu bytes, whole %zu\n", n->name, limited,
        cut.record.launches, whole.record.launches, cut.record.largest, whole.record.largest);
    assert_int_equal(cut.record.above, 0);
    assert_true(cut.info.micro_batches > 1 && whole.info.micro_batches == 1);
    assert_int_equal(cut.info.io_bytes, whole.info.io_bytes);
    assert_int_equal(cut.info.variable_bytes, whole.info.variable_bytes);
    assert_int_equal(cut.info.total_bytes, cut.info.arena_bytes + cut.info.io_bytes);
    assert_true(cut.record.largest <= 1 << 20 && whole.record.largest > 1 << 20);
    assert_near(n->name, cut.losses, whole.losses, STEPS, n->tolerance);
    assert_int_equal(cut.count, whole.count);
    assert_near(n->name, cut.parameters, whole.parameters, cut.count, n->tolerance);
    free(cut.parameters);
    free(whole.parameters);
}

/* ---- inputs and outputs ---- */

enum { ROWS = 1001, COLUMNS = 300 };

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
        "weft_plan_memory: softmax '' is in several buffers");
    assert_fails(weft_plan_bind(p->plan, p->input, NULL, 0), WEFT_ERROR_UNSUPPORTED,
        "input 'x' is in several buffers");
    assert_fails(weft_plan_write(p->plan, p->input, &offset, 1200000), WEFT_ERROR_ARGUMENT,
        "has 1201200 bytes at batch 1001, 1200000 were given");
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

/* Of class gpu. */
static void same_on_a_gpu(void **state) {
    assert_same_training("tiny", "largest256", *state);
}

static void same_on_a_processor(void **state) {
    assert_same_training("tiny_processor", "processor", *state);
}

int main(int argc, char **argv) {
    enum { NETWORKS = sizeof networks / sizeof *networks };
    static const char *gpus[] = {"tiny", "largest256"}, *processors[] = {"tiny_processor", "processor"};
    struct CMUnitTest tests[2 * NETWORKS + 2] = {cmocka_unit_test_prestate(inputs_and_outputs_are_cut, gpus),
        cmocka_unit_test_prestate(inputs_and_outputs_are_cut, processors)};
    for (size_t i = 0; i < NETWORKS; i++) {
        tests[2 * i + 2] =
            (struct CMUnitTest){networks[i].name, same_on_a_gpu, NULL, NULL, (void *)&networks[i]};
        tests[2 * i + 3] =
            (struct CMUnitTest){networks[i].name, same_on_a_processor, NULL, NULL, (void *)&networks[i]};
    }
    (void)argc;
    pretended_start(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
