/* Steps of the caller's own: running the plan by hand changes nothing, inputs and scalars may be set before
 * it, other work may take its place, assignments of the caller's may train, and what such a step does wrong
 * is an error. */
#include "support/checks.h"
#include "support/fixture.h"
#include "support/two_classes.h"
#include <math.h>
#include <stdio.h>

enum { WEIGHTS = 2 * 8 + 8 + 8 * 2 + 2 };

static void read_weights(const network *net, float weights[WEIGHTS]) {
    static const char *const names[] = {"linear1.weight", "linear1.bias", "linear2.weight", "linear2.bias"};
    static const size_t sizes[] = {16, 8, 16, 2};
    for (size_t i = 0; i < 4; weights += sizes[i++])
        assert_ok(
            weft_tensor_read(weft_graph_find(net->graph, names[i]), weights, sizes[i] * sizeof *weights));
}

typedef struct steps {
    const problem *p;
    weft_tensor *extra;
    weft_plan *own;
    size_t count, examples;
    int mode;
} steps;

static weft_status run_it(void *user, weft_step *step) {
    steps *const it = user;
    assert_int_equal(step->step, it->count++);
    assert_int_equal(step->epoch, step->step / 13);
    assert_non_null(step->trainer);
    assert_int_equal(weft_dataset_size(step->dataset), POINTS);
    /* The batch is at hand: in the order that was asked for, column 2 is the label. */
    const size_t first = step->step % 13 * 8;
    assert_int_equal(step->examples, first + 8 <= POINTS ? 8 : POINTS - first);
    assert_memory_equal(step->columns[2], it->p->labels + first, step->examples * sizeof(int32_t));
    return weft_plan_run(step->plan);
}

static void train(const network *net, weft_step_callback step, void *user, float weights[WEIGHTS]) {
    const problem p = make_problem();
    weft_dataset *const data = make_dataset(test_context(), &p);
    weft_trainer *const trainer = make_trainer(
        net, (weft_trainer_options){.epochs = 2, .keep_order = true, .step = step, .user = user});
    assert_ok(weft_trainer_run(trainer, data));
    read_weights(net, weights);
    weft_trainer_release(trainer);
    weft_dataset_release(data);
}

static void running_the_plan_is_the_default(void **state) {
    (void)state;
    const problem p = make_problem();
    const network one = make_network(test_context()), two = make_network(test_context());
    float expected[WEIGHTS], got[WEIGHTS];
    steps it = {.p = &p};
    train(&one, NULL, NULL, expected);
    train(&two, run_it, &it, got);
    assert_int_equal(it.count, 26);
    assert_memory_equal(got, expected, sizeof got);
    weft_graph_release(one.graph);
    weft_graph_release(two.graph);
}

/* p learns the mean of x·scale, where scale is an input without a column. */
static weft_status write_scale(void *user, weft_step *step) {
    steps *const it = user;
    const float scales[4] = {2.0f, 2.0f, 2.0f, 2.0f};
    assert_ok(weft_plan_write(step->plan, it->extra, scales, step->examples * sizeof *scales));
    for (int i = 0; i < 3; i++) /* more than once a batch */
        if (weft_plan_run(step->plan) != WEFT_OK) return WEFT_ERROR_INTERNAL;
    it->count++;
    return weft_scalar_set(weft_minimize_rate(weft_tensor_graph(it->extra)), 0.25f);
}

static bool note_rate(void *user, const weft_epoch *state) {
    (void)user;
    assert_true(state->learning_rate == 0.25);
    assert_true(isnan(state->accuracy));
    return true;
}

static void inputs_and_scalars_may_be_set(void **state) {
    (void)state;
    const float xs[4] = {1, 2, 3, 6};
    const weft_column column = {.name = "x", .dtype = WEFT_F32, .data = xs};
    weft_dataset *data = NULL;
    weft_trainer *trainer = NULL;
    float value = 0.0f;
    steps it = {0};
    assert_ok(weft_dataset_from_memory(&data, test_context(), 4, &column, 1));
    weft_graph *const graph = test_graph();
    weft_tensor *const p = weft_parameter(graph, "p", weft_zeros());
    it.extra = weft_input(graph, "scale", WEFT_F32);
    weft_tensor *const loss =
        weft_mean(weft_square(weft_sub(p, weft_mul(weft_input(graph, "x", WEFT_F32), it.extra))));
    weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT, .optimizer = weft_sgd(0.5f), .batch = 4,
        .on_epoch = note_rate, .user = &it};
    assert_ok(weft_trainer_create(&trainer, loss, &options));
    assert_fails(weft_trainer_run(trainer, data), WEFT_ERROR_ARGUMENT, "'scale': the dataset has no column");
    weft_trainer_release(trainer);
    options.step = write_scale;
    options.epochs = 3;
    assert_ok(weft_trainer_create(&trainer, loss, &options));
    assert_ok(weft_trainer_run(trainer, data));
    assert_int_equal(it.count, 3);
    /* three runs at rate 0.5 reach the mean at once; the others stay there */
    assert_ok(weft_tensor_read(p, &value, sizeof value));
    assert_true(fabsf(value - 6.0f) < 1e-5f);
    weft_trainer_release(trainer);
    weft_dataset_release(data);
    weft_graph_release(graph);
}

/* Other work in place of the plan: the loss is what the callback says, and nothing was counted. */
static weft_status say_a_loss(void *user, weft_step *step) {
    steps *const it = user;
    it->count++;
    it->examples += step->examples;
    step->has_loss = true;
    step->loss = (float)step->examples;
    return WEFT_OK;
}

static bool note_loss(void *user, const weft_epoch *state) {
    (void)user;
    assert_true(fabs(state->loss - (12 * 8 * 8 + 4 * 4) / 100.0) < 1e-9);
    assert_true(isnan(state->accuracy));
    assert_true(isnan(state->training_metrics[0]));
    return true;
}

static void other_work_may_take_its_place(void **state) {
    (void)state;
    const problem p = make_problem();
    const network net = make_network(test_context());
    weft_dataset *const data = make_dataset(test_context(), &p);
    const weft_metric metric = weft_metric_perplexity();
    float before[WEIGHTS], after[WEIGHTS];
    steps it = {0};
    weft_trainer *const trainer = make_trainer(&net, (weft_trainer_options){.logits = net.logits,
                                                         .metrics = &metric,
                                                         .metric_count = 1,
                                                         .training_metrics = true,
                                                         .step = say_a_loss,
                                                         .on_epoch = note_loss,
                                                         .user = &it});
    read_weights(&net, before);
    assert_ok(weft_trainer_run(trainer, data));
    read_weights(&net, after);
    assert_memory_equal(before, after, sizeof before);
    assert_true(it.count == 13 && it.examples == POINTS);
    weft_trainer_release(trainer);
    weft_dataset_release(data);
    weft_graph_release(net.graph);
}

static weft_status misbehave(void *user, weft_step *step) {
    const steps *const it = user;
    if (step->step < 2) return weft_plan_run(step->plan);
    if (it->mode == 0) return WEFT_OK;
    if (it->mode == 1) return WEFT_ERROR_UNSUPPORTED;
    return weft_plan_run(NULL);
}

static void what_it_does_wrong_is_an_error(void **state) {
    (void)state;
    static const struct {
        weft_status status;
        const char *part;
    } rows[] = {{WEFT_ERROR_STATE, "neither ran the plan nor set a loss at step 2"},
        {WEFT_ERROR_UNSUPPORTED, "the step callback returned WEFT_ERROR_UNSUPPORTED at step 2"},
        {WEFT_ERROR_ARGUMENT, "weft_plan_run: plan is NULL"}};
    const problem p = make_problem();
    const network net = make_network(test_context());
    weft_dataset *const data = make_dataset(test_context(), &p);
    for (int mode = 0; mode < 3; mode++) {
        steps it = {.mode = mode};
        weft_trainer *const trainer =
            make_trainer(&net, (weft_trainer_options){.step = misbehave, .user = &it});
        (void)weft_graph_status(NULL); /* an old line is not taken for this one */
        assert_fails(weft_trainer_run(trainer, data), rows[mode].status, rows[mode].part);
        weft_trainer_release(trainer);
    }
    weft_dataset_release(data);
    weft_graph_release(net.graph);
}

/* p ← p + mean(x), written down as an assignment. */
static void assignments_may_train(void **state) {
    (void)state;
    const float xs[4] = {1, 2, 3, 6};
    const weft_column columns[] = {
        {.name = "x", .dtype = WEFT_F32, .data = xs}, {.name = "weight", .dtype = WEFT_F32, .data = xs}};
    weft_dataset *data = NULL;
    weft_trainer *trainer = NULL;
    float value = 0.0f;
    assert_ok(weft_dataset_from_memory(&data, test_context(), 4, columns, 2));
    weft_graph *const graph = test_graph();
    weft_tensor *const p = weft_parameter(graph, "p", weft_zeros());
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32);
    /* "weight" feeds the update alone */
    weft_tensor *const update = weft_assign(p, weft_add(p, weft_mean(weft_input(graph, "weight", WEFT_F32))));
    weft_tensor *const loss = weft_mean(weft_square(weft_sub(p, x)));
    weft_trainer_options options = {
        WEFT_TRAINER_OPTIONS_INIT, .epochs = 5, .batch = 4, .updates = &update, .update_count = 1};
    assert_ok(weft_trainer_create(&trainer, loss, &options));
    assert_null(weft_minimize_rate(graph));
    assert_ok(weft_trainer_run(trainer, data));
    assert_ok(weft_tensor_read(p, &value, sizeof value));
    assert_true(value == 15.0f);
    weft_trainer_release(trainer);

    weft_tensor *const none = NULL;
    options.updates = &x;
    assert_fails(weft_trainer_create(&trainer, loss, &options), WEFT_ERROR_ARGUMENT,
        "update 0, 'input', is not a weft_assign");
    options.updates = &none;
    assert_fails(weft_trainer_create(&trainer, loss, &options), WEFT_ERROR_ARGUMENT, "an update is NULL");
    options.updates = NULL;
    assert_fails(weft_trainer_create(&trainer, loss, &options), WEFT_ERROR_ARGUMENT, "update_count is 1");
    options.update_count = WEFT_MAX_UPDATES + 1;
    assert_fails(weft_trainer_create(&trainer, loss, &options), WEFT_ERROR_ARGUMENT, "update_count is 9");
    assert_null(trainer);
    weft_dataset_release(data);
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(running_the_plan_is_the_default),
        cmocka_unit_test(inputs_and_scalars_may_be_set),
        cmocka_unit_test(other_work_may_take_its_place),
        cmocka_unit_test(what_it_does_wrong_is_an_error),
        cmocka_unit_test(assignments_may_train),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
