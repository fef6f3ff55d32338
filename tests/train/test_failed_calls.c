/* Calls that return a status and fail for want of memory leave the graph as it was: each allocation of each call fails in
 * turn, on one graph, which then computes what an undisturbed graph computes, and saves the same file. */
#include "graph/weft_graph.h"
#include "support/checks.h"
#include "support/fixture.h"
#include "support/scarce_graph.h"
#include "support/scratch.h"
#include <stdio.h>

enum {
    IN = 6,
    CLASSES = 3,
    BATCH = 4,
    STEPS = 3,
    FILE_BYTES = 1 << 16,
    MOST_FAILURES = 20000,
    MOST_BYTES = 1 << 20
};

typedef struct network {
    scratch_allocator *allocator; /* of the context; NULL: nothing fails */
    weft_graph *graph;
    weft_tensor *x, *label, *logits, *loss, *gradient;
    weft_tensor *outputs[1 + WEFT_MAX_UPDATES];
    size_t updates;
    weft_plan *plan;
    weft_trainer *trainer;
    float predicted[BATCH * CLASSES];
} network;

/* Composites, random numbers, states; in f16 losses are scaled. */
static network make_network(weft_graph *graph, weft_precision precision) {
    network n = {.graph = graph};
    assert_ok(weft_graph_set_precision(n.graph, precision));
    n.x = weft_input(n.graph, "x", WEFT_F32, IN);
    n.label = weft_input(n.graph, "label", WEFT_I32);
    weft_tensor *const h = weft_dropout(weft_relu(weft_batch_norm(weft_linear(n.x, 8))), 0.25f);
    n.logits = weft_linear(h, CLASSES);
    n.loss = weft_cross_entropy(n.logits, n.label);
    assert_ok(weft_graph_status(n.graph));
    return n;
}

/* ---- the calls ---- */

static weft_status take_gradient(network *n) {
    weft_tensor *const first = weft_graph_parameter(n->graph, 0);
    return weft_gradients(n->loss, &first, 1, &n->gradient);
}

/* With averages and the norm of gradients. */
static weft_optimizer rule(void) {
    weft_optimizer adam = weft_adam(0.05f);
    adam.average_decay = 0.5f;
    adam.clip_norm = 1;
    return adam;
}

static weft_status minimize(network *n) {
    const weft_optimizer adam = rule();
    return weft_minimize(n->loss, &adam, n->outputs + 1, WEFT_MAX_UPDATES, &n->updates);
}

static weft_status make_plan(network *n) {
    n->outputs[0] = n->loss;
    return weft_plan_create(
        &n->plan, n->outputs, 1 + n->updates, &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .batch = BATCH});
}

static const float *examples(void) {
    static float x[BATCH * IN];
    for (int i = 0; i < BATCH * IN; i++) x[i] = (float)(i * 5 % 13) * 0.25f - 1;
    return x;
}

static weft_status predict(network *n) {
    const weft_column column = {.name = "x", .dtype = WEFT_F32, .rank = 1, .dims = {IN}, .data = examples()};
    return weft_predict(n->logits, BATCH, &column, 1, n->predicted, sizeof n->predicted);
}

static weft_status save(network *n) {
    return weft_weights_save(n->graph, test_path("weights"));
}

static weft_status make_trainer(network *n) {
    const weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT, .optimizer = rule(), .batch = BATCH,
        .logits = n->logits, .matmul_precision = WEFT_MATMUL_PRECISION_MEDIUM};
    return weft_trainer_create(&n->trainer, n->loss, &options);
}

/* What a graph had before a call that may fail. */
typedef struct possessions {
    size_t states;
    weft_matmul_precision precision;
    weft_tensor *rate;
    const weft_plan *plan;
} possessions;

static possessions look_at(const network *n) {
    return (possessions){.states = weft_graph_state_count(n->graph),
        .precision = n->graph->matmul_precision,
        .rate = weft_minimize_rate(n->graph),
        .plan = n->plan};
}

static void check_failed(const network *n, weft_status status, const possessions *before) {
    assert_status(status, WEFT_ERROR_MEMORY);
    check_line("memory", __FILE__, __LINE__);
    assert_ok(weft_graph_status(n->graph));
    assert_int_equal(weft_graph_state_count(n->graph), before->states);
    assert_int_equal(n->graph->matmul_precision, before->precision);
    assert_ptr_equal(weft_minimize_rate(n->graph), before->rate);
    assert_ptr_equal(n->plan, before->plan);
    assert_null(n->trainer);
}

/* Each of its allocations fails, alone or with all that follow, until the call passes. */
static long fail_in_turn(network *n, weft_status (*call)(network *n), bool once) {
    const possessions before = look_at(n);
    atomic_store(&n->allocator->once, once);
    for (long nth = 0; nth < MOST_FAILURES; nth++) {
        atomic_store(&n->allocator->fail_after, atomic_load(&n->allocator->made) + nth);
        const weft_status status = call(n);
        atomic_store(&n->allocator->fail_after, -1);
        if (status == WEFT_OK) return nth;
        check_failed(n, status, &before);
    }
    return -1;
}

static void do_call(network *n, weft_status (*call)(network *n), bool once) {
    if (n->allocator)
        assert_in_range(fail_in_turn(n, call, once), 1, MOST_FAILURES);
    else
        assert_ok(call(n));
}

/* ---- what is left ---- */

static void train(const network *n, float losses[STEPS]) {
    static const int32_t labels[BATCH] = {0, 2, 1, 2};
    for (int i = 0; i < STEPS; i++) {
        assert_ok(weft_plan_write(n->plan, n->x, examples(), BATCH * IN * sizeof(float)));
        assert_ok(weft_plan_write(n->plan, n->label, labels, sizeof labels));
        assert_ok(weft_plan_run(n->plan));
        assert_ok(weft_plan_read(n->plan, n->loss, &losses[i], sizeof losses[i]));
    }
}

typedef struct remains {
    float losses[STEPS], predicted[BATCH * CLASSES];
    unsigned char file[FILE_BYTES];
    size_t bytes;
} remains;

/* The checkpoint has all parameters, states of the optimizer, counters and scalars. */
static void save_training(const network *n, remains *r) {
    assert_ok(weft_checkpoint_save(n->graph, test_path("checkpoint"), NULL, 0));
    FILE *const file = fopen(test_path("checkpoint"), "rb");
    assert_non_null(file);
    r->bytes = fread(r->file, 1, sizeof r->file, file);
    fclose(file);
    assert_in_range(r->bytes, 1, sizeof r->file - 1);
}

static void compare(const remains *got, const remains *wanted) {
    assert_memory_equal(got->losses, wanted->losses, sizeof got->losses);
    assert_memory_equal(got->predicted, wanted->predicted, sizeof got->predicted);
    assert_int_equal(got->bytes, wanted->bytes);
    assert_memory_equal(got->file, wanted->file, got->bytes);
}

static void release(network *n) {
    weft_trainer_release(n->trainer);
    weft_plan_release(n->plan);
    weft_graph_release(n->graph);
}

static weft_graph *open_graph(weft_context *context) {
    weft_graph *graph = NULL;
    assert_ok(weft_graph_create(&graph, context));
    return graph;
}

/* allocator NULL: nothing fails. */
static void go(
    scratch_allocator *allocator, weft_context *context, weft_precision precision, bool once, remains *r) {
    network n = make_network(open_graph(context), precision);
    n.allocator = allocator;
    memset(r, 0, sizeof *r);
    do_call(&n, take_gradient, once);
    do_call(&n, minimize, once);
    do_call(&n, make_plan, once);
    train(&n, r->losses);
    do_call(&n, predict, once);
    memcpy(r->predicted, n.predicted, sizeof r->predicted);
    do_call(&n, save, once);
    save_training(&n, r);
    release(&n);
}

static void walk(weft_precision precision) {
    static remains wanted, got;
    scratch_allocator allocator;
    scratch_allocator_init(&allocator, -1);
    weft_context *const context =
        test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .allocator = &allocator.hooks});
    go(NULL, context, precision, false, &wanted);
    for (int once = 0; once < 2; once++) {
        go(&allocator, context, precision, once, &got);
        compare(&got, &wanted);
    }
    weft_context_release(context);
    assert_int_equal(atomic_load(&allocator.live), 0);
}

static void graphs_are_usable_after_failed_calls(void **state) {
    (void)state;
    walk(WEFT_PRECISION_F32);
}

/* Scaled losses add states to gradients and optimizers. */
static void graphs_with_scaled_losses_too(void **state) {
    (void)state;
    walk(WEFT_PRECISION_F16);
}

/* Its optimizer goes with it, and so does the precision that it gave the graph. */
static void trainers_that_failed_leave_nothing(void **state) {
    static remains wanted, got;
    scratch_allocator allocator;
    (void)state;
    scratch_allocator_init(&allocator, -1);
    weft_context *const context =
        test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .allocator = &allocator.hooks});
    for (int fails = 0; fails < 2; fails++) {
        network n = make_network(open_graph(context), WEFT_PRECISION_F32);
        n.allocator = fails ? &allocator : NULL;
        do_call(&n, make_trainer, true);
        save_training(&n, fails ? &got : &wanted);
        release(&n);
    }
    compare(&got, &wanted);
    weft_context_release(context);
    assert_int_equal(atomic_load(&allocator.live), 0);
}

/* ---- each node in turn, and each other part of a graph ---- */

static void refuse_in_turn(network *n, weft_status (*call)(network *n)) {
    const possessions before = look_at(n);
    for (size_t bytes = 0; bytes < MOST_BYTES; bytes += sizeof(weft_tensor) / 2) {
        scarce_graph_refuse_after(n->graph, bytes);
        const weft_status status = call(n);
        scarce_graph_relax();
        if (status == WEFT_OK) return;
        check_failed(n, status, &before);
    }
    fail_msg("it does not end");
}

/* An optimizer was there before, which keeps averages, too. */
static void compute_with(weft_context *context, weft_precision precision, bool refused, remains *r) {
    network n = make_network(scarce_graph(context), precision);
    memset(r, 0, sizeof *r);
    assert_non_null(weft_train_step(n.loss, rule(), "linear1.*"));
    if (refused) refuse_in_turn(&n, minimize);
    if (!refused) assert_ok(minimize(&n));
    assert_ok(make_plan(&n));
    train(&n, r->losses);
    save_training(&n, r);
    release(&n);
}

static void updates_are_created_as_a_whole(void **state) {
    static remains wanted, got;
    (void)state;
    for (int f16 = 0; f16 < 2; f16++) {
        const weft_precision precision = f16 ? WEFT_PRECISION_F16 : WEFT_PRECISION_F32;
        compute_with(test_context(), precision, false, &wanted);
        compute_with(test_context(), precision, true, &got);
        compare(&got, &wanted);
    }
}

/* ---- a dataset that is refused ---- */

enum { EXAMPLES = 4, SHORT = 3, LONG = 5 };

static weft_dataset *sequences(weft_context *context, int64_t length, int32_t last_label) {
    weft_dataset *dataset = NULL;
    float x[EXAMPLES * LONG];
    const int32_t labels[EXAMPLES] = {0, 1, 2, last_label};
    for (int i = 0; i < EXAMPLES * length; i++) x[i] = (float)(i % 7) * 0.5f;
    const weft_column columns[] = {
        {.name = "x", .dtype = WEFT_F32, .rank = 1, .dims = {length}, .data = x},
        {.name = "label", .dtype = WEFT_I32, .data = labels},
    };
    assert_ok(weft_dataset_from_memory(&dataset, context, EXAMPLES, columns, 2));
    return dataset;
}

/* The plans of the former length are not those of the next dataset. */
static void a_refused_length_leaves_no_plans(void **state) {
    weft_context *const context = test_context();
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, WEFT_LENGTH);
    weft_tensor *const logits = weft_linear(weft_reshape(weft_sum(x, 1), WEFT_BATCH, 1), CLASSES);
    weft_tensor *const loss = weft_cross_entropy(logits, weft_input(graph, "label", WEFT_I32));
    weft_dataset *const sets[] = {
        sequences(context, LONG, 0), sequences(context, SHORT, 0), sequences(context, LONG, CLASSES)};
    weft_trainer *trainer = NULL;
    double wanted = 0, got = 0;
    (void)state;
    assert_ok(weft_trainer_create(
        &trainer, loss, &(weft_trainer_options){WEFT_TRAINER_OPTIONS_INIT, .batch = EXAMPLES}));
    assert_ok(weft_trainer_evaluate(trainer, sets[0], &wanted, NULL));
    assert_ok(weft_trainer_evaluate(trainer, sets[1], &got, NULL));
    assert_fails(weft_trainer_evaluate(trainer, sets[2], &got, NULL), WEFT_ERROR_ARGUMENT, "label");
    assert_ok(weft_trainer_evaluate(trainer, sets[0], &got, NULL));
    assert_true(got == wanted);
    for (int i = 0; i < 3; i++) weft_dataset_release(sets[i]);
    weft_trainer_release(trainer);
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(graphs_are_usable_after_failed_calls),
        cmocka_unit_test(graphs_with_scaled_losses_too),
        cmocka_unit_test(trainers_that_failed_leave_nothing),
        cmocka_unit_test(updates_are_created_as_a_whole),
        cmocka_unit_test(a_refused_length_leaves_no_plans),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
