/* Networks whose parameters and optimizer states are larger than the memory limit: a plan keeps them in host memory and loads what each step
 * accesses. No bit of a result changes. */
/* test slow */
#include "support/fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 3, TOKENS = 8, WIDTH = 32, LAYERS = 4, CLASSES = 10, WORDS = 48, STEPS = 3 };

/* ---- a transformer ---- */

typedef struct network {
    weft_context *context;
    weft_graph *graph;
    weft_tensor *x, *label, *logits, *loss;
} network;

static weft_tensor *block(weft_tensor *x) {
    weft_tensor *h = weft_layer_norm(x);
    x = weft_add(x, weft_multi_head_attention(h, h, h, 2, NULL));
    h = weft_gelu(weft_linear(weft_layer_norm(x), 4 * WIDTH));
    return weft_add(x, weft_dropout(weft_linear(h, WIDTH), 0.1f));
}

static bool sparse; /* the table of the embedding is updated by rows */

static network network_in(size_t limit) {
    network n = {.context = test_context_open(
                     (weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .memory_limit = limit})};
    assert_weft_ok(weft_graph_create(&n.graph, n.context));
    n.x = weft_input(n.graph, "x", WEFT_I32, TOKENS);
    n.label = weft_input(n.graph, "label", WEFT_I32);
    weft_tensor *h = weft_embedding_layer(n.x, WORDS, WIDTH, NULL);
    if (sparse) assert_weft_ok(weft_sparse_updates(n.graph, "*", true));
    for (int i = 0; i < LAYERS; i++) h = block(h);
    n.logits = weft_linear(weft_flatten(h), CLASSES);
    n.loss = weft_cross_entropy(n.logits, n.label);
    assert_weft_ok(weft_graph_status(n.graph));
    return n;
}

static void network_end(network *n) {
    weft_graph_release(n->graph);
    weft_context_release(n->context);
}

/* ---- training ---- */

typedef struct training {
    weft_tensor *outputs[8];
    size_t count;
    weft_plan *plan;
} training;

static weft_status training_begin(training *t, const network *n, const weft_optimizer *rule) {
    size_t updates;
    *t = (training){.outputs = {n->loss}};
    assert_weft_ok(weft_minimize(n->loss, rule, t->outputs + 1, 7, &updates));
    t->count = 1 + updates;
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH};
    return weft_plan_create(&t->plan, t->outputs, t->count, &options);
}

static float train_step(const training *t, const network *n, uint64_t step) {
    test_random random = test_random_named("host variables", step);
    int32_t x[BATCH * TOKENS], label[BATCH];
    float loss = 0;
    for (size_t i = 0; i < BATCH * TOKENS; i++) x[i] = (int32_t)test_random_below(&random, WORDS);
    for (size_t i = 0; i < BATCH; i++) label[i] = (int32_t)test_random_below(&random, CLASSES);
    assert_weft_ok(weft_plan_step(
        t->plan, WEFT_VALUES(WEFT_VALUE(n->x, x), WEFT_VALUE(n->label, label), WEFT_VALUE(n->loss, loss))));
    return loss;
}

static size_t bytes_of(const weft_tensor *tensor) {
    size_t bytes = sizeof(float);
    for (int i = 0; i < weft_tensor_rank(tensor); i++) bytes *= (size_t)weft_tensor_dimension(tensor, i);
    return bytes;
}

/* All parameters, then all states. */
static char *read_variables(const network *n, size_t *bytes) {
    const size_t parameters = weft_graph_parameter_count(n->graph),
                 all = parameters + weft_graph_state_count(n->graph);
    char *data = NULL;
    *bytes = 0;
    for (size_t i = 0; i < all; i++) {
        weft_tensor *const variable =
            i < parameters ? weft_graph_parameter(n->graph, i) : weft_graph_state(n->graph, i - parameters);
        const size_t own = bytes_of(variable);
        data = realloc(data, *bytes + own);
        assert_non_null(data);
        assert_weft_ok(weft_tensor_read(variable, data + *bytes, own));
        *bytes += own;
    }
    return data;
}

typedef struct results {
    float losses[STEPS];
    char *variables;
    size_t bytes, peak;
    weft_plan_info info;
} results;

static void results_end(results *r) {
    free(r->variables);
}

static results train(const weft_optimizer *rule, size_t limit) {
    results r = {0};
    network n = network_in(limit);
    training t;
    assert_weft_ok(training_begin(&t, &n, rule));
    assert_weft_ok(weft_plan_get_info(t.plan, &r.info));
    for (uint64_t i = 0; i < STEPS; i++) r.losses[i] = train_step(&t, &n, i);
    r.variables = read_variables(&n, &r.bytes);
    weft_context_memory(n.context, NULL, &r.peak);
    weft_plan_release(t.plan);
    network_end(&n);
    return r;
}

static void assert_same(const results *one, const results *other) {
    assert_memory_equal(one->losses, other->losses, sizeof one->losses);
    assert_int_equal(one->bytes, other->bytes);
    assert_memory_equal(one->variables, other->variables, one->bytes);
}

/* Trains under a limit of so many percent of the parameters' and states' bytes. */
static void check_percent(const weft_optimizer *rule, size_t percent) {
    results whole = train(rule, 0);
    const size_t limit = whole.info.variable_bytes * percent / 100;
    results limited = train(rule, limit);
    assert_int_equal(whole.info.host_bytes + whole.info.loaded_bytes, 0);
    assert_true(limited.info.host_bytes > 0 && limited.info.loaded_bytes > limited.info.host_bytes);
    assert_int_equal(limited.info.micro_batches, 1);
    assert_true(limited.peak <= limit);
    assert_same(&limited, &whole);
    results_end(&whole);
    results_end(&limited);
}

static void a_quarter_suffices_for_adam(void **state) {
    const weft_optimizer rule = weft_adam(0.01f);
    (void)state;
    check_percent(&rule, 25);
}

/* All gradients are stored until their norm is known. */
static void a_norm_of_all_gradients(void **state) {
    weft_optimizer rule = weft_adamw(0.01f, 0.1f);
    (void)state;
    rule.clip_norm = 0.5f;
    check_percent(&rule, 60);
}

static void groups_and_averages(void **state) {
    static const weft_parameter_group groups[] = {
        {.parameters = "*bias", .rate_factor = 2, .weight_decay = 0}};
    weft_optimizer rule = weft_sgd_momentum(0.05f, 0.9f, 0.01f);
    (void)state;
    rule.groups = groups;
    rule.group_count = 1;
    rule.average_decay = 0.9f;
    rule.accumulate = 2;
    check_percent(&rule, 35);
}

/* Only the rows that occur are updated, in a table of which most is in host memory. */
static void rows_of_a_table(void **state) {
    const weft_optimizer rule = weft_adam(0.01f);
    (void)state;
    sparse = true;
    check_percent(&rule, 35);
    sparse = false;
}

/* ---- errors ---- */

static weft_status try_limit(const weft_optimizer *rule, size_t limit, size_t *peak) {
    network n = network_in(limit);
    training t;
    const weft_status status = training_begin(&t, &n, rule);
    if (status == WEFT_OK) (void)train_step(&t, &n, 0);
    weft_context_memory(n.context, NULL, peak);
    weft_plan_release(t.plan);
    network_end(&n);
    return status;
}

static void an_error_names_a_limit_that_suffices(void **state) {
    const weft_optimizer rule = weft_adam(0.01f);
    size_t peak, least = 0;
    (void)state;
    assert_weft_fails(WEFT_ERROR_MEMORY_LIMIT, try_limit(&rule, 20000, &peak), "host memory", "20000");
    assert_int_equal(peak, 0);
    const char *const words = strstr(weft_last_error(), "at least ");
    assert_true(words && sscanf(words, "at least %zu bytes", &least) == 1);
    assert_true(least > 20000);
    assert_weft_ok(try_limit(&rule, least, &peak));
    assert_true(peak <= least);
}

/* ---- files, predictions, snapshots ---- */

static void predict(const network *n, float *logits) {
    weft_plan *plan = NULL;
    int32_t x[BATCH * TOKENS];
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH, .inference = true};
    for (int i = 0; i < BATCH * TOKENS; i++) x[i] = i * i % WORDS;
    assert_weft_ok(weft_plan_create(&plan, &n->logits, 1, &options));
    for (int run = 0; run < 2; run++)
        assert_weft_ok(weft_plan_step(plan,
            (weft_value[]){{n->x, x, sizeof x}, {n->logits, logits, sizeof(float) * BATCH * CLASSES}}, 2));
    weft_plan_release(plan);
}

/* Trains, saves a checkpoint after the first step, and predicts. */
static void train_and_save(size_t limit, const char *path, float *logits, results *r) {
    const weft_optimizer rule = weft_adam(0.01f);
    network n = network_in(limit);
    training t;
    assert_weft_ok(training_begin(&t, &n, &rule));
    for (uint64_t i = 0; i < STEPS; i++) {
        r->losses[i] = train_step(&t, &n, i);
        if (i == 0) assert_weft_ok(weft_checkpoint_save(n.graph, path, NULL, 0));
    }
    weft_plan_release(t.plan); /* plans that live together share the limit */
    predict(&n, logits);
    r->variables = read_variables(&n, &r->bytes);
    network_end(&n);
}

/* Continues after the first step. The checkpoint is loaded before the plan exists, the parameters wherever they have room. */
static void resume(size_t limit, const char *path, float *logits, results *r) {
    const weft_optimizer rule = weft_adam(0.01f);
    network n = network_in(limit);
    weft_tensor *updates[8];
    size_t count;
    training t = {.count = 1};
    weft_snapshot *snapshot = NULL;
    assert_weft_ok(weft_minimize(n.loss, &rule, updates, 7, &count));
    assert_weft_ok(weft_checkpoint_load(n.graph, path, NULL, 0));
    t.outputs[0] = n.loss;
    for (size_t i = 0; i < count; i++) t.outputs[t.count++] = updates[i];
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH};
    assert_weft_ok(weft_plan_create(&t.plan, t.outputs, t.count, &options));
    assert_weft_ok(weft_snapshot_create(&snapshot, n.graph));
    for (uint64_t i = 1; i < STEPS; i++) {
        if (i == 1) assert_weft_ok(weft_snapshot_take(snapshot));
        r->losses[i] = train_step(&t, &n, i);
        if (i != 1) continue;
        assert_weft_ok(weft_snapshot_restore(snapshot));
        assert_true(train_step(&t, &n, i) == r->losses[i]);
    }
    weft_snapshot_release(snapshot);
    weft_plan_release(t.plan);
    predict(&n, logits);
    r->variables = read_variables(&n, &r->bytes);
    network_end(&n);
}

static void files_and_predictions(void **state) {
    float whole_logits[BATCH * CLASSES], logits[BATCH * CLASSES];
    results whole = {0};
    (void)state;
    train_and_save(0, test_path("whole"), whole_logits, &whole);
    results saved = {0}, resumed = {0};
    train_and_save(whole.bytes / 4, test_path("limited"), logits, &saved);
    assert_memory_equal(logits, whole_logits, sizeof logits);
    assert_same(&saved, &whole);
    /* With this limit the parameters have room on the device, until the plan moves them. */
    resume(whole.bytes / 2, test_path("limited"), logits, &resumed);
    assert_memory_equal(logits, whole_logits, sizeof logits);
    resumed.losses[0] = whole.losses[0];
    assert_same(&resumed, &whole);
    results_end(&saved);
    results_end(&resumed);
    results_end(&whole);
}

/* ---- a network of large values and few parameters ---- */

enum { EXAMPLES = 64, SIDE = 16 };

static weft_tensor *tower_loss(weft_graph *graph) {
    weft_tensor *const label = weft_input(graph, "label", WEFT_I32);
    weft_tensor *h = weft_reshape(weft_input(graph, "x", WEFT_F32, SIDE * SIDE), WEFT_BATCH, 1, SIDE, SIDE);
    for (int i = 0; i < 4; i++) h = weft_relu(weft_conv2d(h, 8, 3));
    return weft_cross_entropy(weft_linear(weft_flatten(h), CLASSES), label);
}

static void train_tower(const weft_graph *graph, weft_plan *plan, weft_tensor *loss, results *r) {
    static float x[EXAMPLES * SIDE * SIDE];
    int32_t label[EXAMPLES];
    for (uint64_t step = 0; step < STEPS; step++) {
        test_random random = test_random_named("tower", step);
        for (size_t i = 0; i < sizeof x / sizeof *x; i++) x[i] = (float)test_random_between(&random, -1, 1);
        for (size_t i = 0; i < EXAMPLES; i++) label[i] = (int32_t)test_random_below(&random, CLASSES);
        assert_weft_ok(weft_plan_step(plan, WEFT_VALUES(WEFT_VALUE(weft_graph_find_input(graph, "x"), x),
                                                WEFT_VALUE(weft_graph_find_input(graph, "label"), label),
                                                WEFT_VALUE(loss, r->losses[step]))));
    }
}

static results tower(size_t limit) {
    results r = {0};
    weft_graph *graph;
    weft_plan *plan = NULL;
    size_t updates;
    weft_context *const context =
        test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .memory_limit = limit});
    assert_weft_ok(weft_graph_create(&graph, context));
    weft_tensor *outputs[4] = {tower_loss(graph)};
    const weft_optimizer rule = weft_sgd(0.1f);
    assert_weft_ok(weft_minimize(outputs[0], &rule, outputs + 1, 3, &updates));
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = EXAMPLES};
    assert_weft_ok(weft_plan_create(&plan, outputs, 1 + updates, &options));
    train_tower(graph, plan, outputs[0], &r);
    assert_weft_ok(weft_plan_get_info(plan, &r.info));
    weft_context_memory(context, NULL, &r.peak);
    weft_plan_release(plan);
    weft_graph_release(graph);
    weft_context_release(context);
    return r;
}

static void micro_batches_follow_recomputation(void **state) {
    (void)state;
    const results whole = tower(0), light = tower(whole.info.total_bytes * 85 / 100);
    assert_int_equal(light.info.micro_batches, 1);
    assert_memory_equal(light.losses, whole.losses, sizeof whole.losses);
    const size_t limit = whole.info.total_bytes * 45 / 100;
    const results divided = tower(limit);
    assert_true(divided.info.micro_batches > 1 && divided.info.host_bytes == 0);
    assert_true(divided.peak <= limit);
    for (int i = 0; i < STEPS; i++)
        assert_true(fabsf(divided.losses[i] - whole.losses[i]) <= 1e-5f * whole.losses[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quarter_suffices_for_adam),
        cmocka_unit_test(a_norm_of_all_gradients),
        cmocka_unit_test(groups_and_averages),
        cmocka_unit_test(rows_of_a_table),
        cmocka_unit_test(an_error_names_a_limit_that_suffices),
        cmocka_unit_test(files_and_predictions),
        cmocka_unit_test(micro_batches_follow_recomputation),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
