/* Loops of a program's own in a context of several devices: a plan that trains divides its batch among the devices, with the results of one device
 * but for rounding, the same bits each time, and all calls of plans. */
#include "cl/context.h"
#include "graph/weft_graph.h"
#include "plan/compiled_plan.h"
#include "support/checks.h"
#include "support/fixture.h"
#include "support/scratch.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    BATCH = 7,
    STEPS = 4,
    SIDE = 6,
    TOKENS = 5,
    WORDS = 20,
    WIDTH = 8,
    CLASSES = 3,
    IGNORED = -1,
    NUMBERS = 8192
};

typedef weft_tensor *network_function(weft_graph *graph);

static weft_tensor *conv(weft_graph *graph) {
    weft_tensor *x = weft_input(graph, "image", WEFT_F32, 1, SIDE, SIDE);
    x = weft_relu(weft_batch_norm(weft_conv2d(x, 6, 3, .padding = 1)));
    x = weft_dropout(weft_max_pool2d(x, 2), 0.2f);
    return weft_linear(weft_flatten(x), CLASSES);
}

static weft_tensor *text(weft_graph *graph) {
    weft_tensor *x = weft_embedding_layer(weft_input(graph, "words", WEFT_I32, TOKENS), WORDS, WIDTH, NULL);
    weft_tensor *const h = weft_layer_norm(x);
    x = weft_add(x, weft_multi_head_attention(h, h, h, 2, NULL));
    x = weft_add(x, weft_linear(weft_gelu(weft_linear(x, 2 * WIDTH)), WIDTH));
    return weft_linear(weft_flatten(x), CLASSES);
}

static weft_tensor *rows_of_text(weft_graph *graph) {
    weft_tensor *const x = text(graph);
    if (x) assert_ok(weft_sparse_updates(graph, "embedding*", true));
    return x;
}

static weft_tensor *recurrent(weft_graph *graph) {
    weft_tensor *const x =
        weft_embedding_layer(weft_input(graph, "words", WEFT_I32, TOKENS), WORDS, WIDTH, NULL);
    return weft_linear(weft_flatten(weft_lstm(x, WIDTH, NULL).y), CLASSES);
}

/* ---- a training ---- */

typedef struct training {
    network_function *network;
    weft_optimizer rule;
    weft_precision precision;
    int64_t batch;
} training;

typedef struct result {
    float numbers[NUMBERS]; /* losses and logits of each step, then all parameters and states */
    size_t count, transfers, transfer_bytes;
} result;

static void add_variable(result *it, weft_tensor *variable) {
    const size_t bytes = variable->variable->bytes;
    if (variable->dtype != WEFT_F32) return;
    assert_true(it->count + bytes / sizeof(float) < NUMBERS);
    assert_ok(weft_tensor_read(variable, it->numbers + it->count, bytes));
    it->count += bytes / sizeof(float);
}

static void write_input(
    weft_plan *plan, weft_graph *graph, const char *name, test_random *random, size_t count) {
    float numbers[BATCH * SIDE * SIDE];
    int32_t words[BATCH * TOKENS];
    weft_tensor *const input = weft_graph_find_input(graph, name);
    for (size_t i = 0; i < count && i < BATCH * SIDE * SIDE; i++)
        numbers[i] = (float)test_random_between(random, -1, 1);
    for (size_t i = 0; i < count && i < BATCH * TOKENS; i++)
        words[i] = (int32_t)test_random_below(random, *name == 'l' ? CLASSES : WORDS);
    if (*name == 'l' && count > 2) words[2] = IGNORED;
    if (!input) return;
    assert_ok(input->dtype == WEFT_F32 ? weft_plan_write(plan, input, numbers, count * sizeof *numbers)
                                       : weft_plan_write(plan, input, words, count * sizeof *words));
}

static void step(weft_plan *plan, weft_graph *graph, weft_tensor *const *outputs, size_t number, result *it) {
    test_random random = test_random_named("own loops", number);
    const size_t batch = (size_t)plan->info.batch, logits = batch * CLASSES;
    write_input(plan, graph, "image", &random, batch * SIDE * SIDE);
    write_input(plan, graph, "words", &random, batch * TOKENS);
    write_input(plan, graph, "label", &random, batch);
    assert_ok(weft_plan_run(plan));
    assert_ok(weft_plan_read(plan, outputs[0], it->numbers + it->count, sizeof(float)));
    assert_ok(weft_plan_read(plan, outputs[1], it->numbers + it->count + 1, logits * sizeof(float)));
    it->count += 1 + logits;
}

static result train(weft_context *context, const training *how) {
    static result it;
    weft_graph *graph = NULL;
    weft_plan *plan = NULL;
    it = (result){0};
    assert_ok(weft_graph_create(&graph, context));
    assert_ok(weft_graph_set_precision(graph, how->precision));
    weft_tensor *const logits = how->network(graph);
    const weft_class_loss_options counted = {
        WEFT_CLASS_LOSS_OPTIONS_INIT, .ignore = true, .ignored_label = IGNORED};
    weft_tensor *const loss = weft_cross_entropy_loss(logits, weft_input(graph, "label", WEFT_I32), &counted);
    weft_tensor *const outputs[] = {loss, logits, weft_train_step(loss, how->rule, NULL)};
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = how->batch ? how->batch : BATCH};
    assert_ok(weft_graph_status(graph));
    assert_ok(weft_plan_create(&plan, outputs, 3, &options));
    for (size_t i = 0; i < STEPS; i++) step(plan, graph, outputs, i, &it);
    it.transfers = plan->transfers;
    it.transfer_bytes = plan->transfer_bytes;
    weft_plan_release(plan);
    for (size_t i = 0; i < weft_graph_parameter_count(graph); i++)
        add_variable(&it, weft_graph_parameter(graph, i));
    for (size_t i = 0; i < weft_graph_state_count(graph); i++) add_variable(&it, weft_graph_state(graph, i));
    weft_graph_release(graph);
    return it;
}

static weft_context *open_devices(size_t count) {
    char list[128] = "";
    for (size_t i = 0; i < count; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? "," : "",
            weft_context_device(test_context())->selector);
    return test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .devices = list, .seed = 3});
}

static result train_on(size_t devices, const training *how) {
    weft_context *const context = open_devices(devices);
    const result it = train(context, how);
    weft_context_release(context);
    return it;
}

static void assert_close(const result *one, const result *other, double tolerance, const char *what) {
    assert_int_equal(one->count, other->count);
    for (size_t i = 0; i < one->count; i++) {
        const double a = (double)one->numbers[i], b = (double)other->numbers[i];
        if (!(fabs(a - b) <= tolerance * fmax(1, fabs(a))))
            fail_msg("%s: number %zu is %.9g, not %.9g", what, i, b, a);
    }
}

static void check(const char *name, const training *how, size_t devices, double tolerance) {
    char what[64];
    snprintf(what, sizeof what, "%s on %zu devices", name, devices);
    const result one = train_on(1, how), more = train_on(devices, how), again = train_on(devices, how);
    assert_int_equal(one.transfers, 0);
    assert_true(more.transfers > 0);
    print_message("%s: %zu copies of %zu bytes between devices\n", what, more.transfers, more.transfer_bytes);
    assert_close(&one, &more, tolerance, what);
    assert_close(&more, &again, 0, what);
}

static void devices_share_the_batch(void **state) {
    const struct {
        const char *name;
        network_function *network;
        size_t devices;
    } networks[] = {
        {"conv", conv, 3}, {"text", text, 2}, {"rows of text", rows_of_text, 2}, {"recurrent", recurrent, 2}};
    (void)state;
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        const training how = {.network = networks[i].network, .rule = weft_sgd_momentum(0.05f, 0.9f, 0.01f)};
        check(networks[i].name, &how, networks[i].devices, 5e-6);
    }
}

static void updates_of_all_gradients_too(void **state) {
    training how = {.network = text, .rule = weft_sgd(0.05f), .precision = WEFT_PRECISION_F16};
    (void)state;
    how.rule.clip_norm = 0.5f;
    how.rule.accumulate = 2;
    check("clipped gradients in f16", &how, 2, 5e-3);
}

/* A batch of fewer examples than devices is computed by the first device. */
static void few_examples_stay_on_one_device(void **state) {
    const training how = {.network = conv, .rule = weft_sgd(0.05f), .batch = 2};
    (void)state;
    const result one = train_on(1, &how), three = train_on(3, &how);
    assert_int_equal(three.transfers, 0);
    assert_close(&one, &three, 0, "two examples");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(devices_share_the_batch),
        cmocka_unit_test(updates_of_all_gradients_too), cmocka_unit_test(few_examples_stay_on_one_device)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
