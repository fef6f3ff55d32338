/* Early stopping and best weights. A step callback writes the weight of each epoch itself, so that the
 * validation loss is a sequence that the test chooses: loss = mean (p - x)², validated on x = 0, is p². */
#include "base/platform.h"
#include "support/checks.h"
#include "support/fixture.h"
#include "support/scratch.h"
#include <math.h>
#include <stdio.h>

enum { EPOCHS = 8 };

typedef struct course {
    weft_graph *graph;
    weft_tensor *p, *loss;
    weft_dataset *data;
    float weights[EPOCHS];
    size_t epochs; /* that were run */
    size_t best_epoch;
    double best;
} course;

static weft_status write_weight(void *user, weft_step *step) {
    course *const it = user;
    step->has_loss = true;
    step->loss = 1.0f;
    return weft_tensor_write(it->p, &it->weights[step->epoch], sizeof(float));
}

static bool note_epoch(void *user, const weft_epoch *state) {
    course *const it = user;
    it->epochs++;
    it->best_epoch = state->best_epoch;
    it->best = state->best;
    return true;
}

static course make_course(const float weights[EPOCHS]) {
    course it = {0};
    const float zeros[2] = {0.0f, 0.0f};
    const weft_column column = {.name = "x", .dtype = WEFT_F32, .rank = 1, .dims = {1}, .data = zeros};
    assert_ok(weft_dataset_from_memory(&it.data, test_context(), 2, &column, 1));
    it.graph = test_graph();
    it.p = weft_parameter(it.graph, "p", weft_zeros(), 1);
    it.loss = weft_mean(weft_square(weft_sub(it.p, weft_input(it.graph, "x", WEFT_F32, 1))));
    memcpy(it.weights, weights, sizeof it.weights);
    return it;
}

static weft_trainer *make_trainer(course *it, weft_early_stopping options) {
    weft_trainer *trainer = NULL;
    const weft_trainer_options all = {WEFT_TRAINER_OPTIONS_INIT, .epochs = EPOCHS, .batch = 2,
        .validation = it->data, .early_stopping = options, .step = write_weight, .on_epoch = note_epoch,
        .user = it};
    assert_ok(weft_trainer_create(&trainer, it->loss, &all));
    return trainer;
}

static float weight_of(const course *it) {
    float value = 0.0f;
    assert_ok(weft_tensor_read(it->p, &value, sizeof value));
    return value;
}

static void end(course *it, weft_trainer *trainer) {
    weft_trainer_release(trainer);
    weft_dataset_release(it->data);
    weft_graph_release(it->graph);
}

static void patience_ends_the_training(void **state) {
    (void)state;
    const struct {
        float weights[EPOCHS]; /* the monitored values are their squares */
        weft_early_stopping options;
        size_t epochs, best;
        bool stopped;
    } rows[] = {
        {{4, 3, 2, 3, 3, 3, 3, 3}, {.patience = 2}, 5, 2, true},
        {{4, 3, 2, 3, 3, 1, 3, 3}, {.patience = 3}, 8, 5, false}, /* it counts anew after an improvement */
        {{4, 3, 2, 3, 3, 1, 3, 3}, {.patience = 1}, 4, 2, true},
        {{4, 4, 4, 4, 4, 4, 4, 4}, {.patience = 3}, 4, 0, true}, /* the same is no improvement */
        {{4, 3, 2, 1, 0, 1, 2, 3}, {.patience = 0, .keep_best = true}, 8, 4, false},
        {{2, 1.5f, 1.2f, 1.1f, 1, 0, 0, 0}, {.patience = 2, .minimum_change = 1.0}, 8, 5, true},
        {{2, 1.9f, 1.8f, 1.7f, 1, 0, 0, 0}, {.patience = 2, .minimum_change = 1.2}, 3, 0, true},
        {{1, 2, 3, 2, 2, 2, 2, 2}, {.patience = 2, .mode = WEFT_MODE_MAX}, 5, 2, true},
        {{1, 2, 3, 2, 2, 2, 2, 2}, {.patience = 2, .mode = WEFT_MODE_MIN}, 3, 0, true},
        {{NAN, 2, NAN, 1, NAN, NAN, 0, 0}, {.patience = 2}, 6, 3, true},
        {{NAN, NAN, NAN, 1, 1, 1, 1, 1}, {.patience = 3}, 3, SIZE_MAX, true},
        {{3, 2, 1, 1, 1, 1, 1, 1}, {.monitor = "loss", .patience = 2}, 3, 0,
            true}, /* the callback's: always 1 */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        course it = make_course(rows[i].weights);
        weft_trainer *const trainer = make_trainer(&it, rows[i].options);
        weft_training_info info;
        assert_ok(weft_trainer_run(trainer, it.data));
        weft_trainer_get_info(trainer, &info);
        const size_t last = rows[i].epochs - 1;
        if (it.epochs != rows[i].epochs || info.best_epoch != rows[i].best ||
            info.stopped_early != rows[i].stopped)
            print_error("row %zu: %zu epochs, best %zu, stopped %d\n", i, it.epochs, info.best_epoch,
                info.stopped_early);
        assert_int_equal(it.epochs, rows[i].epochs);
        assert_int_equal(info.best_epoch, rows[i].best);
        assert_int_equal(info.stopped_early, rows[i].stopped);
        assert_int_equal(it.best_epoch, info.best_epoch);
        assert_true(it.best == info.best || isnan(info.best));
        assert_int_equal(isnan(info.best) != 0, info.best_epoch == SIZE_MAX);
        const float weight = weight_of(&it); /* the last epoch's: nothing was to be restored */
        assert_true(weight == rows[i].weights[last] || isnan(rows[i].weights[last]));
        end(&it, trainer);
    }
}

static bool stop_after_four(void *user, const weft_epoch *state) {
    return note_epoch(user, state) && state->epoch != 3;
}

/* The third epoch is the best; one without an improvement is before the stop, and the second one behind it. */
static void patience_goes_on_after_a_checkpoint(void **state) {
    (void)state;
    static const float weights[EPOCHS] = {4, 3, 2, 3, 3, 3, 3, 3};
    char *const folder = scratch_make();
    weft_training_info info;
    for (int resumed = 0; resumed < 2; resumed++) {
        course it = make_course(weights);
        weft_trainer *trainer = NULL;
        const weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT, .epochs = EPOCHS, .batch = 2,
            .validation = it.data, .early_stopping = {.patience = 2}, .step = write_weight,
            .on_epoch = stop_after_four, .user = &it, .checkpoint = folder};
        assert_ok(weft_trainer_create(&trainer, it.loss, &options));
        if (resumed) assert_ok(weft_trainer_resume(trainer, folder, NULL));
        assert_ok(weft_trainer_run(trainer, it.data));
        weft_trainer_get_info(trainer, &info);
        assert_int_equal(it.epochs, resumed ? 1 : 4);
        assert_int_equal(info.stopped_early, resumed);
        assert_int_equal(info.best_epoch, 2);
        end(&it, trainer);
    }
    scratch_remove(folder);
}

static void the_best_weights_come_back(void **state) {
    (void)state;
    static const float weights[EPOCHS] = {4, 3, 2, 3, 1.5f, 3, 3, 3}, no_good[EPOCHS] = {NAN, NAN, NAN, NAN};
    char path[4096];
    snprintf(path, sizeof path, "%s", test_path("best.safetensors"));
    course it = make_course(weights);
    weft_trainer *trainer =
        make_trainer(&it, (weft_early_stopping){.patience = 3, .restore_best = true, .best_file = path});
    assert_fails(weft_trainer_restore_best(trainer), WEFT_ERROR_STATE, "no best weights");
    assert_false(wi_file_exists(path));
    assert_ok(weft_trainer_run(trainer, it.data));
    assert_true(weight_of(&it) == 1.5f);
    const float other = 77.0f;
    assert_ok(weft_tensor_write(it.p, &other, sizeof other));
    assert_ok(weft_weights_load(it.graph, path, NULL));
    assert_true(weight_of(&it) == 1.5f);
    assert_int_equal(scratch_count(test_folder(), ".tmp", NULL), 0);
    assert_ok(weft_tensor_write(it.p, &other, sizeof other));
    assert_ok(weft_trainer_restore_best(trainer));
    assert_true(weight_of(&it) == 1.5f);

    it.epochs = 0; /* a second run knows nothing of the first */
    memcpy(it.weights, no_good, sizeof no_good);
    it.weights[EPOCHS - 1] = 5.0f;
    assert_ok(weft_trainer_run(trainer, it.data));
    assert_int_equal(it.epochs, 3);
    assert_true(isnan(weight_of(&it)));
    assert_fails(weft_trainer_restore_best(trainer), WEFT_ERROR_STATE, "no best weights");
    assert_status(weft_trainer_restore_best(NULL), WEFT_ERROR_ARGUMENT);
    end(&it, trainer);

    it = make_course(weights); /* kept, but left to the caller */
    trainer = make_trainer(&it, (weft_early_stopping){.keep_best = true});
    assert_ok(weft_trainer_run(trainer, it.data));
    assert_true(weight_of(&it) == 3.0f);
    assert_ok(weft_trainer_restore_best(trainer));
    assert_true(weight_of(&it) == 1.5f);
    end(&it, trainer);
}

static weft_status fail_in_the_fifth_epoch(void *user, weft_step *step) {
    if (step->epoch == 4) return WEFT_ERROR_CANCELLED;
    return write_weight(user, step);
}

static void they_come_back_after_an_error_too(void **state) {
    (void)state;
    static const float weights[EPOCHS] = {4, 2, 3, 3};
    course it = make_course(weights);
    weft_trainer *trainer = NULL;
    const weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT, .epochs = EPOCHS, .batch = 2,
        .validation = it.data, .early_stopping = {.restore_best = true}, .step = fail_in_the_fifth_epoch,
        .user = &it};
    assert_ok(weft_trainer_create(&trainer, it.loss, &options));
    assert_fails(weft_trainer_run(trainer, it.data), WEFT_ERROR_CANCELLED, "WEFT_ERROR_CANCELLED at step 4");
    assert_true(weight_of(&it) == 2.0f);
    end(&it, trainer);
}

static void named_states_are_weights_too(void **state) {
    (void)state;
    static const float weights[EPOCHS] = {1, 2, 2, 2, 2, 2, 2, 2};
    const int64_t two = 2;
    const int32_t first[2] = {5, -6}, second[2] = {7, 8};
    int32_t now[2];
    course it = make_course(weights);
    weft_tensor *const counts = weft_state_shape(it.graph, "counts", WEFT_I32, weft_zeros(), 1, &two);
    weft_tensor *const nameless = weft_state_shape(it.graph, "", WEFT_I32, weft_zeros(), 1, &two);
    assert_ok(weft_tensor_write(counts, first, sizeof first));
    weft_trainer *const trainer = make_trainer(&it, (weft_early_stopping){.keep_best = true});
    assert_ok(weft_trainer_run(trainer, it.data));
    assert_ok(weft_tensor_write(counts, second, sizeof second));
    assert_ok(weft_tensor_write(nameless, second, sizeof second));
    assert_ok(weft_trainer_restore_best(trainer));
    assert_ok(weft_tensor_read(counts, now, sizeof now));
    assert_memory_equal(now, first, sizeof now);
    assert_ok(weft_tensor_read(nameless, now, sizeof now));
    assert_memory_equal(now, second, sizeof now);
    end(&it, trainer);
}

static void misuse_is_refused(void **state) {
    (void)state;
    static const float weights[EPOCHS] = {0};
    course it = make_course(weights);
    weft_trainer *trainer = NULL;
    const struct {
        weft_early_stopping options;
        const char *part;
    } rows[] = {
        {{.monitor = "val_loss"},
            "there is no value 'val_loss' to monitor; available: 'loss', 'validation_loss'"},
        {{.monitor = "accuracy"}, "no value 'accuracy' to monitor"}, /* no logits */
        {{.mode = (weft_mode)7}, "mode is 7"},
        {{.minimum_change = -1.0}, "minimum_change is -1"},
        {{.minimum_change = NAN}, "minimum_change is nan"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const weft_trainer_options options = {
            WEFT_TRAINER_OPTIONS_INIT, .validation = it.data, .early_stopping = rows[i].options};
        assert_fails(weft_trainer_create(&trainer, it.loss, &options), WEFT_ERROR_ARGUMENT, rows[i].part);
        assert_null(trainer);
    }
    trainer = make_trainer(&it, (weft_early_stopping){.best_file = "/no/such/folder/best"});
    assert_fails(weft_trainer_run(trainer, it.data), WEFT_ERROR_FILE, "/no/such/folder/best");
    assert_int_equal(it.epochs, 0); /* before any training */
    end(&it, trainer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patience_ends_the_training),
        cmocka_unit_test(patience_goes_on_after_a_checkpoint),
        cmocka_unit_test(the_best_weights_come_back),
        cmocka_unit_test(they_come_back_after_an_error_too),
        cmocka_unit_test(named_states_are_weights_too),
        cmocka_unit_test(misuse_is_refused),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
