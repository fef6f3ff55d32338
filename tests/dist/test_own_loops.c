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

/* ---- what else a plan can do ---- */

typedef struct loop {
    weft_graph *graph;
    weft_tensor *words, *label, *logits, *loss;
    weft_plan *plan;
} loop;

static weft_status begin_loop(loop *l, weft_context *context) {
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH};
    *l = (loop){0};
    const weft_status status = weft_graph_create(&l->graph, context);
    if (status != WEFT_OK) return status;
    l->words = weft_input(l->graph, "words", WEFT_I32, TOKENS);
    l->label = weft_input(l->graph, "label", WEFT_I32);
    l->logits = weft_linear(weft_flatten(weft_embedding_layer(l->words, WORDS, WIDTH, NULL)), CLASSES);
    l->loss = weft_cross_entropy(l->logits, l->label);
    weft_tensor *const outputs[] = {
        l->loss, l->logits, l->words, weft_train_step(l->loss, weft_sgd(0.1f), NULL)};
    return weft_plan_create(&l->plan, outputs, 4, &options);
}

static void end_loop(loop *l) {
    weft_plan_release(l->plan);
    weft_graph_release(l->graph);
}

/* A label of the second device's examples is out of range. */
static void faults_of_all_devices_are_reported(void **state) {
    int32_t words[BATCH * TOKENS] = {0}, labels[BATCH] = {0};
    weft_context *const context = open_devices(2);
    loop l;
    (void)state;
    assert_ok(begin_loop(&l, context));
    assert_true(l.plan->transfers > 0);
    assert_ok(weft_plan_write(l.plan, l.words, words, sizeof words));
    labels[BATCH - 1] = CLASSES;
    assert_ok(weft_plan_write(l.plan, l.label, labels, sizeof labels));
    assert_ok(weft_plan_run(l.plan));
    assert_fails(weft_plan_wait(l.plan), WEFT_ERROR_ARGUMENT, "label");
    labels[BATCH - 1] = 0;
    assert_ok(weft_plan_write(l.plan, l.label, labels, sizeof labels));
    assert_ok(weft_plan_run(l.plan));
    assert_ok(weft_plan_wait(l.plan));
    end_loop(&l);
    weft_context_release(context);
}

/* Memory of the program, of an output, and of another plan. */
static void memory_is_shared_with_programs(void **state) {
    int32_t words[BATCH * TOKENS], labels[BATCH] = {0};
    float bound[BATCH * CLASSES], written[BATCH * CLASSES];
    weft_context *const context = open_devices(2);
    loop one, other;
    cl_mem memory = NULL;
    size_t offset = 1, length = 0;
    (void)state;
    for (size_t i = 0; i < BATCH * TOKENS; i++) words[i] = (int32_t)(i % WORDS);
    assert_ok(begin_loop(&one, context));
    assert_ok(begin_loop(&other, context));
    assert_ok(weft_plan_step(one.plan, WEFT_VALUES(WEFT_VALUE(one.words, words),
                                           WEFT_VALUE(one.label, labels), WEFT_VALUE(one.logits, written))));
    assert_ok(weft_plan_memory(one.plan, one.words, &memory, &offset));
    assert_ok(weft_plan_bind(other.plan, other.words, memory, offset));
    assert_ok(weft_plan_write(other.plan, other.label, labels, sizeof labels));
    assert_ok(weft_plan_run(other.plan));
    assert_ok(weft_plan_read(other.plan, other.logits, bound, sizeof bound));
    assert_memory_equal(bound, written, sizeof bound);
    assert_ok(weft_plan_bind(other.plan, other.words, NULL, 0));
    assert_ok(weft_plan_feed(other.plan, other.words, one.plan, one.words));
    assert_ok(weft_plan_run(other.plan));
    assert_ok(weft_plan_memory(other.plan, other.logits, &memory, &offset));
    assert_ok(weft_plan_describe(other.plan, WEFT_FORMAT_TEXT, NULL, 0, &length));
    end_loop(&one);
    end_loop(&other);
    weft_context_release(context);
}

/* Every allocation fails once: the plan runs on one device, or its creation fails, and nothing stays behind. */
static void lack_of_memory_leaves_nothing_behind(void **state) {
    (void)state;
    for (long after = 0, step = 5;; after += step, step += 1 + after / 2) {
        scratch_allocator memory;
        loop l = {0};
        weft_context *context = NULL;
        scratch_allocator_init(&memory, after);
        char list[64];
        snprintf(list, sizeof list, "%s,%s", weft_context_device(test_context())->selector,
            weft_context_device(test_context())->selector);
        const weft_context_options options = {
            WEFT_CONTEXT_OPTIONS_INIT, .devices = list, .allocator = &memory.hooks};
        weft_status status = weft_context_create(&context, &options);
        if (status == WEFT_OK) status = begin_loop(&l, context);
        end_loop(&l);
        weft_context_release(context);
        assert_int_equal(memory.live, 0);
        if (status == WEFT_OK) break;
        assert_int_equal(status, WEFT_ERROR_MEMORY);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(devices_share_the_batch),
        cmocka_unit_test(updates_of_all_gradients_too), cmocka_unit_test(few_examples_stay_on_one_device),
        cmocka_unit_test(faults_of_all_devices_are_reported),
        cmocka_unit_test(memory_is_shared_with_programs),
        cmocka_unit_test(lack_of_memory_leaves_nothing_behind)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
