/* The trainer's learning-rate schedule: per epoch, per update, on a plateau, over several runs; and an
 * optimizer with everything allocates nothing in its steps. */
#include "support/checks.h"
#include "support/fixture.h"
#include "support/scratch.h"
#include <math.h>
#include <weft/weft.h>

enum { POINTS = 20, BATCH = 8, STEPS = 3 }; /* an epoch: 8, 8 and 4 points */

typedef struct network {
    weft_graph *graph;
    weft_tensor *loss;
} network;

static network make_network(weft_context *owner) {
    network net;
    assert_ok(weft_graph_create(&net.graph, owner));
    weft_tensor *const p = weft_parameter(net.graph, "p", weft_fill(2), 2);
    weft_parameter(net.graph, "q", weft_fill(1), 3);
    net.loss = weft_mse(weft_mul(p, weft_input(net.graph, "x", WEFT_F32, 2)), weft_number(p, 0));
    assert_ok(weft_graph_status(net.graph));
    return net;
}

static weft_dataset *make_dataset(weft_context *owner, float sign) {
    float xs[POINTS][2];
    for (int i = 0; i < POINTS; i++) xs[i][0] = xs[i][1] = sign * (1 + (float)i / POINTS);
    const weft_column column = {.name = "x", .dtype = WEFT_F32, .rank = 1, .dims = {2}, .data = xs};
    weft_dataset *dataset = NULL;
    assert_ok(weft_dataset_from_memory(&dataset, owner, POINTS, &column, 1));
    return dataset;
}

/* The rates that the callbacks saw. */
typedef struct seen {
    weft_graph *graph;
    float steps[64], epochs[64];
    double losses[64];
    size_t step_count, epoch_count;
} seen;

static float current(const seen *it) {
    float rate = -1;
    assert_ok(weft_scalar_get(weft_minimize_rate(it->graph), &rate));
    return rate;
}

static bool on_step(void *user, const weft_epoch *state) {
    seen *const it = user;
    (void)state;
    it->steps[it->step_count++] = current(it);
    return true;
}

static bool on_epoch(void *user, const weft_epoch *state) {
    seen *const it = user;
    it->losses[it->epoch_count] = state->validation_loss;
    it->epochs[it->epoch_count++] = current(it);
    return true;
}

/* Trains for two runs of `epochs` each. */
static seen train(weft_optimizer optimizer, weft_schedule schedule, size_t epochs, bool validate) {
    const network net = make_network(test_context());
    weft_dataset *const dataset = make_dataset(test_context(), 1);
    seen it = {.graph = net.graph};
    weft_trainer *trainer = NULL;
    const weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT, .optimizer = optimizer, .epochs = epochs,
        .batch = BATCH, .validation = validate ? dataset : NULL, .on_step = on_step, .on_epoch = on_epoch,
        .user = &it, .schedule = schedule};
    assert_ok(weft_trainer_create(&trainer, net.loss, &options));
    for (int run = 0; run < 2; run++) assert_ok(weft_trainer_run(trainer, dataset));
    assert_int_equal(it.epoch_count, 2 * epochs);
    assert_int_equal(it.step_count, 2 * epochs * STEPS);
    weft_trainer_release(trainer);
    weft_dataset_release(dataset);
    weft_graph_release(net.graph);
    return it;
}

static float wanted(const weft_schedule *schedule, float base, uint64_t t) {
    float rate = -1;
    assert_ok(weft_schedule_rate(schedule, base, t, &rate));
    return rate;
}

static void epochs_and_updates_move_the_rate(void **state) {
    (void)state;
    weft_schedule schedule = weft_warmup(weft_exponential_schedule(0.5f), 2, 0.25f);
    weft_optimizer sgd = weft_sgd(0.01f);
    seen it = train(sgd, schedule, 3, false);
    for (size_t i = 0; i < it.step_count; i++)
        assert_true(it.steps[i] == wanted(&schedule, 0.01f, i / STEPS));
    assert_true(it.steps[0] == 0.0025f && it.epochs[5] == 0.01f / 8);
    schedule.per_step = true;
    it = train(sgd, schedule, 2, false);
    for (size_t i = 0; i < it.step_count; i++) assert_true(it.steps[i] == wanted(&schedule, 0.01f, i));
    sgd.accumulate = 2;
    it = train(sgd, schedule, 2, false);
    for (size_t i = 0; i < it.step_count; i++) { /* a window ends with its epoch */
        const size_t windows = i / STEPS * ((STEPS + 1) / 2) + i % STEPS / 2;
        assert_true(it.steps[i] == wanted(&schedule, 0.01f, windows));
    }
}

static void without_a_schedule_callbacks_set_the_rate(void **state) {
    (void)state;
    const seen it = train(weft_sgd(0.01f), (weft_schedule){0}, 1, false);
    for (size_t i = 0; i < it.step_count; i++) assert_true(it.steps[i] == 0.01f);
}

static void a_plateau_follows_the_validation_loss(void **state) {
    (void)state;
    const weft_schedule schedule = weft_plateau_schedule(0.5f, 1);
    const seen it = train(weft_sgd(0.9f), schedule, 4, true); /* too fast: it swings */
    weft_plateau plateau = {0};
    float rate = 0.9f;
    for (size_t i = 0; i < 8; i++) {
        assert_true(it.epochs[i] == rate);
        assert_ok(weft_plateau_rate(&schedule, &plateau, 0.9f, it.losses[i], &rate));
    }
    assert_true(it.epochs[7] < 0.9f);
}

static void bad_schedules_are_refused(void **state) {
    (void)state;
    const network net = make_network(test_context());
    weft_trainer *trainer = NULL;
    weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT, .schedule = weft_step_schedule(0, 0.5f)};
    assert_fails(weft_trainer_create(&trainer, net.loss, &options), WEFT_ERROR_ARGUMENT, "period is 0");
    options.schedule = weft_plateau_schedule(0.5f, 2);
    assert_fails(weft_trainer_create(&trainer, net.loss, &options), WEFT_ERROR_ARGUMENT,
        "a plateau schedule needs the option validation");
    assert_null(trainer);
    weft_graph_release(net.graph);
}

/* ---- an optimizer with everything ---- */

typedef struct watch {
    scratch_allocator allocator;
    long made;
    size_t epochs;
} watch;

static bool nothing_was_allocated(void *user, const weft_epoch *state) {
    watch *const it = user;
    if (state->epoch == 0) it->made = atomic_load(&it->allocator.made);
    assert_int_equal(atomic_load(&it->allocator.made), it->made);
    it->epochs = state->epoch + 1;
    return true;
}

static void steps_allocate_nothing(void **state) {
    (void)state;
    watch it = {0};
    scratch_allocator_init(&it.allocator, -1);
    weft_context *own = NULL;
    const weft_context_options context_options = {
        WEFT_CONTEXT_OPTIONS_INIT, .allocator = &it.allocator.hooks};
    assert_ok(weft_context_create(&own, &context_options));
    const network net = make_network(own);
    weft_dataset *const dataset = make_dataset(own, 1);
    const weft_parameter_group group = {"p", 0.5f, 0.1f};
    weft_optimizer optimizer = weft_lamb(0.01f, 0.1f);
    optimizer.clip_norm = optimizer.clip_value = 1;
    optimizer.accumulate = 2;
    optimizer.average_decay = 0.9f;
    optimizer.groups = &group;
    optimizer.group_count = 1;
    weft_trainer *trainer = NULL;
    const weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT, .optimizer = optimizer, .epochs = 4,
        .batch = BATCH, .on_step = nothing_was_allocated, .user = &it,
        .schedule = weft_one_cycle_schedule(4 * STEPS / 2)};
    assert_ok(weft_freeze(net.graph, "q", true));
    assert_ok(weft_trainer_create(&trainer, net.loss, &options));
    assert_ok(weft_trainer_run(trainer, dataset));
    assert_int_equal(it.epochs, 4);
    assert_ok(weft_average_swap(net.graph));
    assert_fails(weft_trainer_run(trainer, dataset), WEFT_ERROR_STATE, "swap them back");
    double loss = -1;
    assert_ok(weft_trainer_evaluate(trainer, dataset, &loss, NULL));
    assert_true(loss > 0);
    assert_ok(weft_average_swap(net.graph));
    weft_trainer_release(trainer);
    weft_dataset_release(dataset);
    weft_graph_release(net.graph);
    weft_context_release(own);
    assert_int_equal(atomic_load(&it.allocator.live), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(epochs_and_updates_move_the_rate),
        cmocka_unit_test(without_a_schedule_callbacks_set_the_rate),
        cmocka_unit_test(a_plateau_follows_the_validation_loss),
        cmocka_unit_test(bad_schedules_are_refused),
        cmocka_unit_test(steps_allocate_nothing),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
