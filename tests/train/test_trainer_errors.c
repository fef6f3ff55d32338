/* The trainer: what it refuses, that it repeats itself to the bit, and what it does with memory: its steps allocate
 * nothing, and a lack of it is an error. */
#include "support/checks.h"
#include "support/fixture.h"
#include "support/scratch.h"
#include "support/two_classes.h"
#include <math.h>

/* ---- what is refused ---- */

static void bad_labels_are_named(void **state) {
    (void)state;
    static const struct {
        size_t example;
        int32_t label;
        const char *part;
    } rows[] = {{0, 2, "label of example 0 is 2, not in 0..1"}, {99, -1, "label of example 99 is -1"},
        {50, INT32_MAX, "example 50 is 2147483647"}};
    for (size_t i = 0; i < 3; i++) {
        const problem good = make_problem();
        problem bad = good;
        bad.labels[rows[i].example] = rows[i].label;
        const network net = make_network(test_context());
        weft_dataset *const good_set = make_dataset(test_context(), &good), *const bad_set = make_dataset(
                                                                                test_context(), &bad);
        weft_trainer *trainer = make_trainer(&net, (weft_trainer_options){.epochs = 1});
        assert_ok(weft_trainer_run(trainer, good_set));
        assert_fails(weft_trainer_run(trainer, bad_set), WEFT_ERROR_ARGUMENT, rows[i].part);
        assert_non_null(strstr(weft_last_error(), "'label'"));
        assert_fails(weft_trainer_evaluate(trainer, bad_set, NULL, NULL), WEFT_ERROR_ARGUMENT, rows[i].part);
        assert_ok(weft_trainer_run(trainer, good_set));
        weft_trainer_release(trainer);
        trainer = make_trainer(&net, (weft_trainer_options){.validation = bad_set});
        assert_fails(weft_trainer_run(trainer, good_set), WEFT_ERROR_ARGUMENT, rows[i].part);
        weft_trainer_release(trainer);
        weft_dataset_release(good_set);
        weft_dataset_release(bad_set);
        weft_graph_release(net.graph);
    }
}

/* A label that the loss ignores is no bad one; others are, and so is it for a second loss that does not. */
static void ignored_labels_are_accepted(void **state) {
    (void)state;
    const problem good = make_problem();
    problem p = good;
    p.labels[3] = -1;
    network net = make_network(test_context());
    weft_tensor *const plain = net.loss, *const labels = weft_input(net.graph, "ignorable", WEFT_I32);
    const weft_class_loss_options options = {
        WEFT_CLASS_LOSS_OPTIONS_INIT, .ignore = true, .ignored_label = -1};
    net.loss = weft_cross_entropy_loss(net.logits, labels, &options);
    const weft_column columns[] = {{.name = "x", .dtype = WEFT_F32, .rank = 1, .dims = {2}, .data = p.xs},
        {.name = "label", .dtype = WEFT_I32, .data = good.labels},
        {.name = "ignorable", .dtype = WEFT_I32, .data = p.labels}};
    weft_dataset *set = NULL;
    assert_ok(weft_dataset_from_memory(&set, test_context(), POINTS, columns, 3));
    weft_trainer *trainer = make_trainer(&net, (weft_trainer_options){.epochs = 1});
    assert_ok(weft_trainer_run(trainer, set));
    weft_trainer_release(trainer);
    net.loss = weft_add(plain, weft_add(net.loss, weft_nll(net.logits, labels)));
    trainer = make_trainer(&net, (weft_trainer_options){.epochs = 1});
    assert_fails(weft_trainer_run(trainer, set), WEFT_ERROR_ARGUMENT, "label of example 3 is -1");
    weft_trainer_release(trainer);
    weft_dataset_release(set);
    p.labels[3] = -2;
    net.loss = weft_cross_entropy_loss(net.logits, labels, &options);
    assert_ok(weft_dataset_from_memory(&set, test_context(), POINTS, columns, 3));
    trainer = make_trainer(&net, (weft_trainer_options){.epochs = 1});
    assert_fails(weft_trainer_run(trainer, set), WEFT_ERROR_ARGUMENT, "label of example 3 is -2");
    weft_trainer_release(trainer);
    weft_dataset_release(set);
    weft_graph_release(net.graph);
}

static void columns_that_do_not_fit_are_named(void **state) {
    (void)state;
    const problem p = make_problem();
    const network net = make_network(test_context());
    weft_trainer *const trainer = make_trainer(&net, (weft_trainer_options){.epochs = 1});
    const weft_column label = {.name = "label", .dtype = WEFT_I32, .data = p.labels};
    const struct {
        weft_column x;
        weft_status status;
        const char *part;
    } rows[] = {
        {{.name = "y", .dtype = WEFT_F32, .rank = 1, .dims = {2}, .data = p.xs}, WEFT_ERROR_ARGUMENT,
            "'x': the dataset has no column of this name; its columns are 'y', 'label'"},
        {{.name = "x", .dtype = WEFT_I32, .rank = 1, .dims = {2}, .data = p.xs}, WEFT_ERROR_DTYPE,
            "'x' is f32, but its column is i32"},
        {{.name = "x", .dtype = WEFT_F32, .rank = 1, .dims = {1}, .data = p.xs}, WEFT_ERROR_SHAPE,
            "'x' is (batch, 2), but its column is (batch, 1)"},
        {{.name = "x", .dtype = WEFT_F32, .rank = 2, .dims = {2, 1}, .data = p.xs}, WEFT_ERROR_SHAPE,
            "(batch, 2, 1)"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        weft_dataset *dataset = NULL;
        const weft_column columns[] = {rows[i].x, label};
        assert_ok(weft_dataset_from_memory(&dataset, test_context(), POINTS / 2, columns, 2));
        assert_fails(weft_trainer_run(trainer, dataset), rows[i].status, rows[i].part);
        weft_dataset_release(dataset);
    }
    weft_trainer_release(trainer);
    weft_graph_release(net.graph);
}

static void bad_options_are_refused(void **state) {
    (void)state;
    const network net = make_network(test_context()), other = make_network(test_context());
    weft_trainer *trainer = NULL;
    weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT};
    assert_status(weft_trainer_create(NULL, net.loss, &options), WEFT_ERROR_ARGUMENT);
    assert_fails(weft_trainer_create(&trainer, NULL, &options), WEFT_ERROR_ARGUMENT, "loss is NULL");
    assert_status(weft_trainer_run(NULL, NULL), WEFT_ERROR_ARGUMENT);
    options.struct_size = 4;
    assert_fails(weft_trainer_create(&trainer, net.loss, &options), WEFT_ERROR_ARGUMENT, "_INIT");
    options = (weft_trainer_options){WEFT_TRAINER_OPTIONS_INIT, .logits = other.logits};
    assert_fails(weft_trainer_create(&trainer, net.loss, &options), WEFT_ERROR_ARGUMENT, "different graphs");
    options = (weft_trainer_options){WEFT_TRAINER_OPTIONS_INIT, .logits = net.loss};
    assert_fails(weft_trainer_create(&trainer, net.loss, &options), WEFT_ERROR_SHAPE,
        "'accuracy' needs an f32 output of shape (batch, ...)");
    options = (weft_trainer_options){WEFT_TRAINER_OPTIONS_INIT, .optimizer = weft_sgd(-1.0f)};
    assert_fails(weft_trainer_create(&trainer, net.loss, &options), WEFT_ERROR_ARGUMENT, "rate is -1");
    options = (weft_trainer_options){WEFT_TRAINER_OPTIONS_INIT};
    assert_status(weft_trainer_create(&trainer, net.logits, &options), WEFT_ERROR_SHAPE);
    assert_null(trainer);
    weft_graph_release(net.graph);
    weft_graph_release(other.graph);
}

/* ---- repeatable, and free of allocations ---- */

static void train_once(float *weights, size_t count) {
    const problem p = make_problem();
    weft_context *own = NULL;
    const weft_context_options options = {WEFT_CONTEXT_OPTIONS_INIT, .seed = 9};
    assert_ok(weft_context_create(&own, &options));
    const network net = make_network(own);
    weft_dataset *const dataset = make_dataset(own, &p);
    weft_trainer *const trainer =
        make_trainer(&net, (weft_trainer_options){.optimizer = weft_adam(0.01f), .epochs = 4, .seed = 3});
    assert_ok(weft_trainer_run(trainer, dataset));
    for (size_t i = 0; i < weft_graph_parameter_count(net.graph); i++) {
        weft_tensor *const parameter = weft_graph_parameter(net.graph, i);
        size_t size = 1;
        for (int axis = 0; axis < weft_tensor_rank(parameter); axis++)
            size *= (size_t)weft_tensor_dimension(parameter, axis);
        assert_true(size <= count);
        assert_ok(weft_tensor_read(parameter, weights, size * sizeof *weights));
        weights += size;
        count -= size;
    }
    assert_int_equal(count, 0);
    weft_trainer_release(trainer);
    weft_dataset_release(dataset);
    weft_graph_release(net.graph);
    weft_context_release(own);
}

static void two_runs_are_identical(void **state) {
    (void)state;
    enum { WEIGHTS = 2 * 8 + 8 + 8 * 2 + 2 };
    float first[WEIGHTS] = {0}, second[WEIGHTS] = {0};
    train_once(first, WEIGHTS);
    train_once(second, WEIGHTS);
    assert_memory_equal(first, second, sizeof first);
    for (size_t i = 0; i < WEIGHTS; i++) assert_true(isfinite(first[i]) && first[i] != 0.0f);
}

typedef struct watch {
    scratch_allocator allocator;
    weft_context *context;
    long made;    /* allocations when every plan had run once: their kernels are kept on disk after that */
    size_t bytes; /* of the device then */
    size_t checked;
} watch;

static bool nothing_was_allocated(void *user, const weft_epoch *state) {
    watch *const it = user;
    size_t bytes = 0;
    weft_context_memory(it->context, &bytes, NULL);
    if (state->epoch == 0) {
        it->made = atomic_load(&it->allocator.made);
        it->bytes = bytes;
    }
    assert_int_equal(atomic_load(&it->allocator.made), it->made);
    assert_int_equal(bytes, it->bytes);
    it->checked++;
    return true;
}

static void steps_allocate_nothing(void **state) {
    (void)state;
    const problem p = make_problem();
    watch it = {0};
    scratch_allocator_init(&it.allocator, -1);
    const weft_context_options options = {WEFT_CONTEXT_OPTIONS_INIT, .allocator = &it.allocator.hooks};
    assert_ok(weft_context_create(&it.context, &options));
    const network net = make_network(it.context);
    weft_dataset *const dataset = make_dataset(it.context, &p);
    weft_trainer *const trainer = make_trainer(&net, (weft_trainer_options){.optimizer = weft_adam(0.01f),
                                                         .epochs = 4,
                                                         .logits = net.logits,
                                                         .validation = dataset,
                                                         .on_step = nothing_was_allocated,
                                                         .on_epoch = nothing_was_allocated,
                                                         .user = &it});
    assert_ok(weft_trainer_run(trainer, dataset));
    assert_int_equal(it.checked, 4 * 13 + 4); /* of which those after the first epoch are compared */
    assert_true(it.made > 0 && it.bytes > 0);
    weft_trainer_release(trainer);
    weft_dataset_release(dataset);
    weft_graph_release(net.graph);
    weft_context_release(it.context);
    assert_int_equal(atomic_load(&it.allocator.live), 0);
}

/* Every allocation of creating and running fails once: an error each time, and nothing leaks. */
static void a_lack_of_memory_is_an_error(void **state) {
    (void)state;
    const problem p = make_problem();
    scratch_allocator allocator;
    scratch_allocator_init(&allocator, -1);
    weft_context *own = NULL;
    const weft_context_options options = {WEFT_CONTEXT_OPTIONS_INIT, .allocator = &allocator.hooks};
    assert_ok(weft_context_create(&own, &options));
    weft_dataset *const dataset = make_dataset(own, &p);
    weft_status status = WEFT_ERROR_MEMORY;
    size_t failures = 0;
    for (long left = 0; status != WEFT_OK && left < 5000; left += left < 50 ? 1 : 7) {
        const network net = make_network(own);
        weft_trainer *trainer = NULL;
        const weft_trainer_options trainer_options = {
            WEFT_TRAINER_OPTIONS_INIT, .batch = 8, .logits = net.logits, .validation = dataset};
        atomic_store(&allocator.fail_after, atomic_load(&allocator.made) + left);
        status = weft_trainer_create(&trainer, net.loss, &trainer_options);
        if (status == WEFT_OK) status = weft_trainer_run(trainer, dataset);
        atomic_store(&allocator.fail_after, -1);
        weft_trainer_release(trainer);
        weft_graph_release(net.graph);
        if (status != WEFT_OK) {
            assert_int_equal(status, WEFT_ERROR_MEMORY);
            failures++;
        }
    }
    assert_int_equal(status, WEFT_OK);
    assert_true(failures > 20);
    weft_dataset_release(dataset);
    weft_context_release(own);
    assert_int_equal(atomic_load(&allocator.live), 0);
}

static void a_memory_limit_reaches_the_plans(void **state) {
    (void)state;
    const network net = make_network(test_context());
    weft_trainer *trainer = NULL;
    const weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT, .memory_limit = 1};
    assert_fails(
        weft_trainer_create(&trainer, net.loss, &options), WEFT_ERROR_MEMORY_LIMIT, "memory_limit is 1");
    weft_graph_release(net.graph);
}

/* Metrics that compare their output with 0, or take its softmax, refuse probabilities; those that take the largest do not. */
static void probabilities_are_no_logits(void **state) {
    (void)state;
    const network net = make_network(test_context());
    weft_tensor *const single = weft_sigmoid(weft_linear(net.logits, 1));
    weft_metric accuracy = weft_metric_accuracy(), perplexity = weft_metric_perplexity();
    weft_metric error = weft_metric_mean_absolute_error();
    accuracy.output = error.output = single, perplexity.output = weft_softmax(net.logits, 1);
    const struct {
        weft_metric metric;
        const char *said;
    } rows[] = {{accuracy, "'accuracy' takes logits, but its output comes from sigmoid"},
        {perplexity, "'perplexity' takes logits, but its output comes from softmax"}};
    for (size_t i = 0; i < 2; i++) {
        weft_trainer *trainer = NULL;
        const weft_trainer_options options = {
            WEFT_TRAINER_OPTIONS_INIT, .metrics = &rows[i].metric, .metric_count = 1};
        assert_fails(weft_trainer_create(&trainer, net.loss, &options), WEFT_ERROR_ARGUMENT, rows[i].said);
    }
    accuracy.output = perplexity.output;
    const weft_metric good[] = {accuracy, error};
    weft_trainer_release(make_trainer(&net, (weft_trainer_options){.metrics = good, .metric_count = 2}));
    weft_graph_release(net.graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(probabilities_are_no_logits),
        cmocka_unit_test(a_memory_limit_reaches_the_plans),
        cmocka_unit_test(bad_labels_are_named),
        cmocka_unit_test(ignored_labels_are_accepted),
        cmocka_unit_test(columns_that_do_not_fit_are_named),
        cmocka_unit_test(bad_options_are_refused),
        cmocka_unit_test(two_runs_are_identical),
        cmocka_unit_test(steps_allocate_nothing),
        cmocka_unit_test(a_lack_of_memory_is_an_error),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
