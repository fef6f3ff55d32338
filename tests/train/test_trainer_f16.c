/* A trainer in f16: steps that overflow are skipped, logged and counted, schedules leave them out, and a training that was
 * interrupted between them goes on bit by bit. */
/* test slow */
#include "support/fixture.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <weft/weft.h>

enum { POINTS = 160, BATCH = 8, STEPS = 60, EVERY = 3, INTERVAL = 5, INPUTS = 6, UNITS = 12 };

typedef struct training {
    weft_context *context;
    weft_graph *graph;
    weft_dataset *dataset;
    weft_trainer *trainer;
    size_t logged, stop_at; /* steps; 0: never */
    size_t emulations;      /* log lines that say that f16 is computed in f32 */
    float rates[STEPS + 1];
} training;

static void note_line(void *user, weft_log_level level, const char *line) {
    training *const t = user;
    (void)level;
    t->logged +=
        strstr(line, "was skipped because its gradients have inf or NaN; the loss scale is now") != NULL;
    t->emulations += strstr(line, "f16") != NULL && strstr(line, "computed in f32") != NULL;
}

static bool on_step(void *user, const weft_epoch *state) {
    training *const t = user;
    weft_loss_scale now;
    assert_weft_ok(weft_scalar_get(weft_minimize_rate(t->graph), &t->rates[state->step - 1]));
    assert_weft_ok(weft_graph_loss_scale(t->graph, &now));
    assert_true(now.good_steps < INTERVAL); /* with the last of them the scale has grown */
    return state->step != t->stop_at;
}

static weft_dataset *make_dataset(weft_context *context) {
    static float xs[POINTS][INPUTS];
    static int32_t labels[POINTS];
    test_random random = test_random_named("points", 0);
    for (int i = 0; i < POINTS; i++) {
        for (int k = 0; k < INPUTS; k++) xs[i][k] = (float)test_random_between(&random, -1, 1);
        labels[i] = xs[i][0] + xs[i][1] * xs[i][2] > 0;
    }
    const weft_column columns[] = {{.name = "x", .dtype = WEFT_F32, .rank = 1, .dims = {INPUTS}, .data = xs},
        {.name = "label", .dtype = WEFT_I32, .data = labels}};
    weft_dataset *dataset = NULL;
    assert_weft_ok(weft_dataset_from_memory(&dataset, context, POINTS, columns, 2));
    return dataset;
}

/* The scale doubles every INTERVAL steps, so that it overflows again and again. */
static void begin(training *t, const char *folder, size_t stop_at) {
    *t = (training){.stop_at = stop_at};
    t->context = test_context_open(
        (weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .log = note_line, .log_user = t, .seed = 3});
    t->dataset = make_dataset(t->context);
    assert_weft_ok(weft_graph_create(&t->graph, t->context));
    assert_weft_ok(weft_graph_set_loss_scaling(
        t->graph, &(weft_loss_scaling){WEFT_LOSS_SCALING_INIT, .initial = 0x1p20f, .interval = INTERVAL}));
    weft_tensor *const x = weft_input(t->graph, "x", WEFT_F32, INPUTS);
    weft_tensor *const h = weft_relu(weft_batch_norm(weft_linear(x, UNITS)));
    weft_tensor *const logits = weft_linear(weft_dropout(weft_tanh(weft_linear(h, UNITS)), 0.1f), 2);
    weft_tensor *const loss = weft_cross_entropy(logits, weft_input(t->graph, "label", WEFT_I32));
    const weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT, .optimizer = weft_adam(0.01f),
        .epochs = STEPS / (POINTS / BATCH), .batch = BATCH, .logits = logits, .on_step = on_step, .user = t,
        .schedule = {.kind = WEFT_SCHEDULE_EXPONENTIAL, .factor = 0.9f, .per_step = true},
        .checkpoint = folder, .precision = WEFT_PRECISION_F16};
    assert_weft_ok(weft_trainer_create(&t->trainer, loss, &options));
}

static void end(training *t) {
    weft_trainer_release(t->trainer);
    weft_dataset_release(t->dataset);
    weft_graph_release(t->graph);
    weft_context_release(t->context);
}

static void read_weights(const training *t, float weights[INPUTS * UNITS]) {
    weft_tensor *const weight = weft_graph_parameter(t->graph, 0);
    assert_weft_ok(weft_tensor_read(weight, weights, INPUTS * UNITS * sizeof *weights));
}

static void skipped_steps_are_logged_and_not_scheduled(void **state) {
    training t;
    weft_training_info info;
    weft_loss_scale scale;
    double loss, accuracy;
    (void)state;
    begin(&t, NULL, 0);
    assert_weft_ok(weft_trainer_run(t.trainer, t.dataset));
    weft_trainer_get_info(t.trainer, &info);
    assert_int_equal(info.steps, STEPS);
    assert_true(info.skipped_steps >= 4 && info.skipped_steps < STEPS / 2);
    assert_true(info.not_finite_step == SIZE_MAX);
    assert_int_equal(t.logged, info.skipped_steps);
    assert_weft_ok(weft_graph_loss_scale(t.graph, &scale));
    assert_int_equal(scale.skipped_steps, info.skipped_steps);
    assert_float_equal(scale.scale, info.loss_scale, 0);
    assert_true(info.loss_scale >= 1024);
    /* The rate of the last step: 48 steps are known of. */
    int exponent = (int)lround(log((double)t.rates[STEPS - 1] / 0.01) / log(0.9));
    assert_true(exponent < STEPS - 1 && exponent >= STEPS - 1 - (int)info.skipped_steps);
    assert_float_equal(t.rates[15], 0.01f * powf(0.9f, 15), 1e-7);
    assert_true(t.rates[16] > 1.05f * 0.01f * powf(0.9f, 16));
    assert_weft_ok(weft_trainer_evaluate(t.trainer, t.dataset, &loss, &accuracy));
    assert_true(accuracy > 0.6 && isfinite(loss));
    assert_int_equal(t.emulations, 1);
    end(&t);
}

static void an_interrupted_training_goes_on_bit_by_bit(void **state) {
    weft_loss_scale end_scale, scale;
    float whole[INPUTS * UNITS], resumed[INPUTS * UNITS];
    training t;
    weft_training_info all, info;
    (void)state;
    begin(&t, NULL, 0);
    assert_weft_ok(weft_trainer_run(t.trainer, t.dataset));
    read_weights(&t, whole);
    weft_trainer_get_info(t.trainer, &all);
    assert_weft_ok(weft_graph_loss_scale(t.graph, &end_scale));
    end(&t);
    for (size_t stop = 1; stop < STEPS; stop += EVERY) {
        char folder[512];
        bool found = false;
        snprintf(folder, sizeof folder, "%s/stop%zu", test_folder(), stop);
        begin(&t, folder, stop);
        assert_weft_ok(weft_trainer_run(t.trainer, t.dataset));
        end(&t);
        begin(&t, folder, 0);
        assert_weft_ok(weft_trainer_resume(t.trainer, folder, &found));
        assert_true(found);
        assert_weft_ok(weft_trainer_run(t.trainer, t.dataset));
        read_weights(&t, resumed);
        assert_memory_equal(whole, resumed, sizeof whole);
        weft_trainer_get_info(t.trainer, &info);
        assert_int_equal(info.skipped_steps, all.skipped_steps);
        assert_float_equal(info.loss_scale, all.loss_scale, 0);
        assert_weft_ok(weft_graph_loss_scale(t.graph, &scale));
        assert_float_equal(scale.scale, end_scale.scale, 0);
        assert_int_equal(scale.good_steps, end_scale.good_steps);
        assert_int_equal(scale.skipped_steps, end_scale.skipped_steps);
        assert_int_equal(scale.steps, end_scale.steps);
        end(&t);
    }
}

/* A checkpoint of f32 has no scale. */
static void updates_without_a_scale_are_refused(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *updates[WEFT_MAX_UPDATES];
    weft_trainer *trainer = NULL;
    size_t count;
    const weft_optimizer rule = weft_sgd(0.1f);
    weft_tensor *const loss =
        weft_mse(weft_linear(weft_input(graph, "x", WEFT_F32, 1), 1), weft_input(graph, "y", WEFT_F32, 1));
    assert_weft_ok(weft_minimize(loss, &rule, updates, WEFT_MAX_UPDATES, &count));
    const weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT, .updates = updates,
        .update_count = count, .precision = WEFT_PRECISION_F16};
    assert_weft_fails(
        WEFT_ERROR_STATE, weft_trainer_create(&trainer, loss, &options), "set f16 before weft_minimize");
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(skipped_steps_are_logged_and_not_scheduled),
        cmocka_unit_test(an_interrupted_training_goes_on_bit_by_bit),
        cmocka_unit_test(updates_without_a_scale_are_refused),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
