/* Networks whose parameters and optimizer states are larger than the memory limit: a plan keeps them in host memory and loads what each step
 * accesses. No bit of a result changes. */
#include "support/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 3, TOKENS = 8, WIDTH = 32, LAYERS = 4, CLASSES = 10, WORDS = 48, STEPS = 4 };

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

static network network_in(size_t limit) {
    network n = {.context = test_context_open(
                     (weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .memory_limit = limit})};
    assert_weft_ok(weft_graph_create(&n.graph, n.context));
    n.x = weft_input(n.graph, "x", WEFT_I32, TOKENS);
    n.label = weft_input(n.graph, "label", WEFT_I32);
    weft_tensor *h = weft_embedding_layer(n.x, WORDS, WIDTH, NULL);
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

static void check_limit(const weft_optimizer *rule, size_t part) {
    results whole = train(rule, 0);
    const size_t limit = whole.info.variable_bytes / part;
    results limited = train(rule, limit);
    printf("  limit %zu of %zu, peak %zu, host %zu, loaded %zu, whole plan %zu, steps %zu, again %zu\n",
        limit, whole.info.variable_bytes, limited.peak, limited.info.host_bytes, limited.info.loaded_bytes,
        whole.info.total_bytes, limited.info.steps, limited.info.rematerialised_steps);
    assert_true(limited.peak <= limit);
    assert_memory_equal(limited.losses, whole.losses, sizeof whole.losses);
    assert_int_equal(limited.bytes, whole.bytes);
    assert_memory_equal(limited.variables, whole.variables, whole.bytes);
    free(whole.variables);
    free(limited.variables);
}

static void a_quarter_of_the_variables_suffices(void **state) {
    const weft_optimizer rule = weft_adam(0.01f);
    (void)state;
    check_limit(&rule, 4);
}

static void clipping(void **state) {
    weft_optimizer rule = weft_adamw(0.01f, 0.1f);
    rule.clip_norm = 0.5f;
    (void)state;
    check_limit(&rule, 2);
}

/* ---- a network of large values and few parameters ---- */

enum { EXAMPLES = 64, SIDE = 16 };

static weft_tensor *tower_loss(weft_graph *graph) {
    weft_tensor *const label = weft_input(graph, "label", WEFT_I32);
    weft_tensor *h = weft_reshape(weft_input(graph, "x", WEFT_F32, SIDE * SIDE), WEFT_BATCH, 1, SIDE, SIDE);
    for (int i = 0; i < 4; i++) h = weft_relu(weft_conv2d(h, 8, 3));
    return weft_cross_entropy(weft_linear(weft_flatten(h), CLASSES), label);
}

typedef struct tower_results {
    float losses[STEPS];
    size_t peak, least;
    weft_plan_info info;
} tower_results;

static tower_results train_tower(size_t limit) {
    tower_results r = {0};
    weft_graph *graph;
    weft_context *const context =
        test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .memory_limit = limit});
    assert_weft_ok(weft_graph_create(&graph, context));
    weft_tensor *outputs[4] = {tower_loss(graph)};
    size_t updates;
    const weft_optimizer rule = weft_sgd(0.1f);
    assert_weft_ok(weft_minimize(outputs[0], &rule, outputs + 1, 3, &updates));
    weft_plan *plan = NULL;
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = EXAMPLES};
    const weft_status status = weft_plan_create(&plan, outputs, 1 + updates, &options);
    if (status != WEFT_OK) {
        printf("%s\n", weft_last_error());
    }
    for (uint64_t step = 0; plan && step < STEPS; step++) {
        static float x[EXAMPLES * SIDE * SIDE];
        int32_t label[EXAMPLES];
        test_random random = test_random_named("tower", step);
        for (size_t i = 0; i < sizeof x / sizeof *x; i++) x[i] = (float)test_random_between(&random, -1, 1);
        for (size_t i = 0; i < EXAMPLES; i++) label[i] = (int32_t)test_random_below(&random, CLASSES);
        assert_weft_ok(weft_plan_step(plan, WEFT_VALUES(WEFT_VALUE(weft_graph_find_input(graph, "x"), x),
                                                WEFT_VALUE(weft_graph_find_input(graph, "label"), label),
                                                WEFT_VALUE(outputs[0], r.losses[step]))));
    }
    if (plan) assert_weft_ok(weft_plan_get_info(plan, &r.info));
    weft_context_memory(context, NULL, &r.peak);
    weft_plan_release(plan);
    weft_graph_release(graph);
    weft_context_release(context);
    return r;
}

static void micro_batches(void **state) {
    (void)state;
    tower_results whole = train_tower(0);
    printf("whole %zu io %zu vars %zu\n", whole.info.total_bytes, whole.info.io_bytes,
        whole.info.variable_bytes);
    for (int p = 60; p > 0; p -= 10) {
        tower_results r = train_tower(whole.info.total_bytes * (size_t)p / 100);
        printf("%d%%: peak %zu total %zu micro %lld host %zu again %zu steps %zu  %g %g\n", p, r.peak,
            r.info.total_bytes, (long long)r.info.micro_batches, r.info.host_bytes,
            r.info.rematerialised_steps, r.info.steps, (double)whole.losses[3], (double)r.losses[3]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quarter_of_the_variables_suffices),
        cmocka_unit_test(clipping),
        cmocka_unit_test(micro_batches),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
