/* Limits of memory are met by computing again what is not stored, and no bit of a result changes. */
/* test once slow */
#include "support/fixture.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 3, BATCH = 32, SIDE = 16, MOST_OUTPUTS = 8 };

/* ---- networks ---- */

static weft_tensor *same_convolution(weft_tensor *x, int64_t filters) {
    const weft_conv_layer_options same = {
        WEFT_CONV_LAYER_OPTIONS_INIT, .conv = {WEFT_CONV_OPTIONS_INIT, .mode = WEFT_PADDING_SAME}};
    return weft_conv_layer(x, filters, (const int64_t[]){3, 3}, &same);
}

/* A residual chain of convolutions with batch norm. */
static weft_tensor *tower(weft_tensor *x) {
    x = weft_relu(weft_batch_norm(same_convolution(weft_reshape(x, WEFT_BATCH, 1, SIDE, SIDE), 8)));
    for (int i = 0; i < 6; i++)
        x = weft_relu(weft_add(x, weft_batch_norm(same_convolution(weft_relu(x), 8))));
    return weft_linear(weft_flatten(weft_max_pool2d(x, 2)), 10);
}

static weft_tensor *perceptron(weft_tensor *x) {
    for (int i = 0; i < 40; i++) x = weft_tanh(weft_linear(x, 16));
    return weft_linear(x, 10);
}

/* Matrices so large that SGD updates them in the kernels of their gradients: what reads one is not run again
 * after that. */
static weft_tensor *wide(weft_tensor *x) {
    for (int i = 0; i < 2; i++) {
        x = weft_tanh(weft_linear(x, 4096));
        x = weft_tanh(weft_linear(weft_tanh(x), 256));
    }
    return weft_linear(x, 10);
}

/* Blocks with attention, layer norm, gelu and dropout over rows of 16 tokens. */
static weft_tensor *transformer(weft_tensor *x) {
    x = weft_reshape(x, WEFT_BATCH, 16, 16);
    x = weft_linear(x, 16);
    for (int i = 0; i < 4; i++) {
        weft_tensor *h = weft_layer_norm(x);
        x = weft_add(x, weft_dropout(weft_multi_head_attention(h, h, h, 2, NULL), 0.2f));
        h = weft_gelu(weft_linear(weft_layer_norm(x), 64));
        x = weft_add(x, weft_dropout(weft_linear(h, 16), 0.2f));
    }
    return weft_linear(weft_flatten(x), 10);
}

/* Two layers over 16 steps of time, whose kernels are launched again and again. */
static weft_tensor *recurrent(weft_tensor *x) {
    const weft_recurrent_options two_layers = {WEFT_RECURRENT_OPTIONS_INIT, .layers = 2};
    x = weft_reshape(x, WEFT_BATCH, 16, 16);
    x = weft_layer_norm(weft_lstm(weft_tanh(weft_linear(x, 32)), 32, &two_layers).y);
    return weft_linear(weft_flatten(weft_gelu(weft_linear(x, 32))), 10);
}

/* ---- training ---- */

typedef struct results {
    size_t bytes; /* of all that follows, per step: outputs, then all parameters and states */
    unsigned char *data;
    weft_plan_info info;
} results;

typedef struct training {
    weft_graph *graph;
    weft_tensor *x, *label, *outputs[MOST_OUTPUTS];
    size_t read_count, output_count; /* the first are read, the others assignments */
    size_t bytes[MOST_OUTPUTS];
    weft_plan *plan;
} training;

static size_t bytes_of(const weft_tensor *tensor) {
    size_t bytes = sizeof(float);
    for (int i = 0; i < weft_tensor_rank(tensor); i++) bytes *= (size_t)weft_tensor_dimension(tensor, i);
    return bytes;
}

typedef struct subject {
    const char *name;
    weft_tensor *(*network)(weft_tensor *);
    bool adam;           /* else SGD */
    double most_percent; /* of the memory without a limit, that the least may be */
} subject;

static const subject tower_subject = {"tower", tower, false, 50},
                     perceptron_subject = {"perceptron", perceptron, false, 50},
                     wide_subject = {"wide", wide, false, 95},
                     transformer_subject = {"transformer", transformer, true, 60},
                     recurrent_subject = {"recurrent", recurrent, true, 80};

/* The loss, the gradients of the first and of a middle parameter, and the update of all. */
static training training_of(const subject *s) {
    training t = {.graph = test_graph(), .read_count = 3};
    t.x = weft_input(t.graph, "x", WEFT_F32, SIDE * SIDE);
    t.label = weft_input(t.graph, "label", WEFT_I32);
    t.outputs[0] = weft_cross_entropy(s->network(t.x), t.label);
    weft_tensor *const wrt[] = {weft_graph_parameter(t.graph, 0),
        weft_graph_parameter(t.graph, weft_graph_parameter_count(t.graph) / 2)};
    assert_weft_ok(weft_gradients(t.outputs[0], wrt, 2, t.outputs + 1));
    t.bytes[0] = sizeof(float);
    for (int i = 0; i < 2; i++) t.bytes[1 + i] = bytes_of(wrt[i]);
    const weft_optimizer optimizer = s->adam ? weft_adam(0.01f) : weft_sgd(0.01f);
    size_t count;
    assert_weft_ok(weft_minimize(t.outputs[0], &optimizer, t.outputs + 3, MOST_OUTPUTS - 3, &count));
    t.output_count = 3 + count;
    return t;
}

static void training_end(training *t) {
    weft_plan_release(t->plan);
    weft_graph_release(t->graph);
}

static weft_status plan_training(training *t, size_t limit) {
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH, .memory_limit = limit};
    return weft_plan_create(&t->plan, t->outputs, t->output_count, &options);
}

static void write_batch(const training *t, uint64_t step) {
    test_random random = test_random_named("materialise", step);
    float x[BATCH * SIDE * SIDE];
    int32_t labels[BATCH];
    for (size_t i = 0; i < sizeof x / sizeof *x; i++) x[i] = (float)test_random_between(&random, -1, 1);
    for (size_t i = 0; i < BATCH; i++) labels[i] = (int32_t)test_random_below(&random, 10);
    assert_weft_ok(weft_plan_write(t->plan, t->x, x, sizeof x));
    assert_weft_ok(weft_plan_write(t->plan, t->label, labels, sizeof labels));
}

static size_t variable_count(const training *t) {
    return weft_graph_parameter_count(t->graph) + weft_graph_state_count(t->graph);
}

static weft_tensor *variable(const training *t, size_t i) {
    const size_t parameters = weft_graph_parameter_count(t->graph);
    return i < parameters ? weft_graph_parameter(t->graph, i) : weft_graph_state(t->graph, i - parameters);
}

static size_t result_bytes(const training *t) {
    size_t bytes = 0;
    for (size_t i = 0; i < t->read_count; i++) bytes += t->bytes[i];
    for (size_t i = 0; i < variable_count(t); i++) bytes += bytes_of(variable(t, i));
    return bytes;
}

static void read_results(const training *t, unsigned char *to) {
    for (size_t i = 0; i < t->read_count; i++) {
        assert_weft_ok(weft_plan_read(t->plan, t->outputs[i], to, t->bytes[i]));
        to += t->bytes[i];
    }
    for (size_t i = 0; i < variable_count(t); i++) {
        const size_t bytes = bytes_of(variable(t, i));
        assert_weft_ok(weft_tensor_read(variable(t, i), to, bytes));
        to += bytes;
    }
}

/* A few steps under a limit (0: none). */
static results train(const subject *s, size_t limit) {
    training t = training_of(s);
    results r = {0};
    assert_weft_ok(plan_training(&t, limit));
    assert_weft_ok(weft_plan_get_info(t.plan, &r.info));
    r.bytes = result_bytes(&t);
    r.data = malloc(STEPS * r.bytes);
    assert_non_null(r.data);
    for (size_t step = 0; step < STEPS; step++) {
        write_batch(&t, step);
        assert_weft_ok(weft_plan_run(t.plan));
        read_results(&t, r.data + step * r.bytes);
    }
    training_end(&t);
    return r;
}

/* The least that planning under no memory at all names. */
static size_t least_of(const subject *s) {
    training t = training_of(s);
    size_t before, after, peak_before, peak_after, least = 0;
    weft_context_memory(test_context(), &before, &peak_before);
    assert_weft_fails(WEFT_ERROR_MEMORY_LIMIT, plan_training(&t, 1), "at least", "memory_limit is 1");
    weft_context_memory(test_context(), &after, &peak_after);
    assert_int_equal(after, before);
    assert_int_equal(peak_after, peak_before);
    assert_null(t.plan);
    assert_int_equal(sscanf(weft_last_error(), "plan: needs at least %zu bytes", &least), 1);
    training_end(&t);
    return least;
}

static void check_limits(const subject *s) {
    static const size_t percents[] = {90, 70, 50, 35, 0};
    const results whole = train(s, 0);
    assert_int_equal(whole.info.rematerialised_steps, 0);
    assert_int_equal(whole.info.rematerialised_bytes, 0);
    const size_t total = whole.info.total_bytes, least = least_of(s);
    size_t last = 0;
    print_message("%s: %zu bytes, at least %zu\n", s->name, total, least);
    assert_true((double)least < s->most_percent / 100 * (double)total);
    for (size_t i = 0; i < sizeof percents / sizeof *percents; i++) {
        const size_t asked = total * percents[i] / 100, limit = asked > least ? asked : least;
        if (limit == last) continue;
        last = limit;
        const results r = train(s, limit);
        print_message("  %zu: %zu bytes, %zu steps again, %.3f of the floating-point operations\n", limit,
            r.info.total_bytes, r.info.rematerialised_steps, r.info.flops / whole.info.flops);
        assert_true(r.info.total_bytes <= limit);
        assert_int_equal(r.info.total_bytes + r.info.rematerialised_bytes, total);
        assert_int_equal(r.info.steps, whole.info.steps + r.info.rematerialised_steps);
        assert_true(r.info.rematerialised_flops == r.info.flops - whole.info.flops);
        assert_int_equal(r.bytes, whole.bytes);
        assert_memory_equal(r.data, whole.data, STEPS * r.bytes);
        free(r.data);
    }
    free(whole.data);
}

static void test_tower(void **state) {
    (void)state;
    check_limits(&tower_subject);
}

static void test_perceptron(void **state) {
    (void)state;
    check_limits(&perceptron_subject);
}

static void test_wide(void **state) {
    (void)state;
    check_limits(&wide_subject);
}

static void test_transformer(void **state) {
    (void)state;
    check_limits(&transformer_subject);
}

static void test_recurrent(void **state) {
    (void)state;
    check_limits(&recurrent_subject);
}

/* ---- refusals and descriptions ---- */

/* A byte less than the least is refused with both figures. */
static void test_below_least(void **state) {
    (void)state;
    const size_t least = least_of(&tower_subject);
    training t = training_of(&tower_subject);
    char needed[32], given[32];
    snprintf(needed, sizeof needed, "least %zu bytes", least);
    snprintf(given, sizeof given, "is %zu", least / 2);
    size_t before, after, peak_before, peak_after;
    weft_context_memory(test_context(), &before, &peak_before);
    assert_weft_fails(WEFT_ERROR_MEMORY_LIMIT, plan_training(&t, least / 2), needed, given);
    weft_context_memory(test_context(), &after, &peak_after);
    assert_int_equal(after, before); /* nothing was allocated */
    assert_int_equal(peak_after, peak_before);
    assert_weft_ok(plan_training(&t, least));
    training_end(&t);
}

static char *described(const weft_plan *plan, weft_format format) {
    size_t length;
    assert_weft_ok(weft_plan_describe(plan, format, NULL, 0, &length));
    char *const text = malloc(length + 1);
    assert_non_null(text);
    assert_weft_ok(weft_plan_describe(plan, format, text, length + 1, NULL));
    return text;
}

static size_t count_of(const char *text, const char *word) {
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at += strlen(word)) count++;
    return count;
}

static void test_description(void **state) {
    (void)state;
    for (int limited = 0; limited < 2; limited++) {
        training t = training_of(&tower_subject);
        weft_plan_info info;
        assert_weft_ok(plan_training(&t, limited ? 1 + least_of(&tower_subject) : 0));
        assert_weft_ok(weft_plan_get_info(t.plan, &info));
        char *const text = described(t.plan, WEFT_FORMAT_TEXT), *const json =
                                                                    described(t.plan, WEFT_FORMAT_JSON);
        assert_int_equal(info.rematerialised_steps > 0, limited);
        assert_int_equal(count_of(text, "[rematerialised]"), info.rematerialised_steps);
        assert_int_equal(count_of(text, "rematerialisation saves"), limited);
        cJSON *const root = cJSON_Parse(json), *const steps = cJSON_GetObjectItem(root, "steps"), *step;
        size_t again = 0;
        cJSON_ArrayForEach(step, steps) again +=
            cJSON_IsTrue(cJSON_GetObjectItem(step, "rematerialised")) != 0;
        assert_int_equal(again, info.rematerialised_steps);
        assert_int_equal(cJSON_GetArraySize(steps), info.steps);
        assert_true(cJSON_GetObjectItem(root, "rematerialised_bytes")->valuedouble ==
                    (double)info.rematerialised_bytes);
        cJSON_Delete(root);
        free(text);
        free(json);
        training_end(&t);
    }
}

/* The limit of a context is met as well; below the least of all means it refuses. */
static void test_limit_of_the_context(void **state) {
    (void)state;
    training t = training_of(&perceptron_subject);
    weft_plan_info info;
    assert_weft_ok(plan_training(&t, 0));
    assert_weft_ok(weft_plan_get_info(t.plan, &info));
    training_end(&t);
    const size_t limit = info.total_bytes * 6 / 10 + info.variable_bytes;
    for (int fits = 0; fits < 2; fits++) {
        weft_context *const context = test_context_open(
            (weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .memory_limit = fits ? limit : 1024});
        weft_graph *graph;
        weft_tensor *outputs[MOST_OUTPUTS];
        weft_plan *plan = NULL;
        size_t count, peak;
        assert_weft_ok(weft_graph_create(&graph, context));
        weft_tensor *const x = weft_input(graph, "x", WEFT_F32, SIDE * SIDE);
        weft_tensor *const label = weft_input(graph, "label", WEFT_I32);
        static const float numbers[BATCH * SIDE * SIDE];
        static const int32_t labels[BATCH];
        outputs[0] = weft_cross_entropy(perceptron(x), label);
        const weft_optimizer sgd = weft_sgd(0.01f);
        assert_weft_ok(weft_minimize(outputs[0], &sgd, outputs + 1, MOST_OUTPUTS - 1, &count));
        const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH};
        const weft_status status = weft_plan_create(&plan, outputs, count + 1, &options);
        weft_context_memory(context, NULL, &peak);
        assert_int_equal(status, fits ? WEFT_OK : WEFT_ERROR_MEMORY_LIMIT);
        if (fits) {
            assert_weft_ok(weft_plan_write(plan, x, numbers, sizeof numbers));
            assert_weft_ok(weft_plan_write(plan, label, labels, sizeof labels));
            assert_weft_ok(weft_plan_run(plan));
            assert_weft_ok(weft_plan_wait(plan));
            assert_weft_ok(weft_plan_get_info(plan, &info));
            assert_true(info.rematerialised_bytes > 0);
            assert_true(peak <= limit);
        } else {
            assert_non_null(strstr(weft_last_error(), "with as few stored values as possible"));
            assert_int_equal(peak, 0);
        }
        weft_plan_release(plan);
        weft_graph_release(graph);
        weft_context_release(context);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tower), cmocka_unit_test(test_perceptron),
        cmocka_unit_test(test_wide), cmocka_unit_test(test_transformer), cmocka_unit_test(test_recurrent),
        cmocka_unit_test(test_below_least), cmocka_unit_test(test_description),
        cmocka_unit_test(test_limit_of_the_context)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
