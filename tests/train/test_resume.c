/* A run that is stopped after any step and resumed in a new trainer, as in a new process, ends with the same bits as one
 * that was never stopped: weights, states and optimizer state. */
/* test slow */
#include "base/platform.h"
#include "support/checks.h"
#include "support/fixture.h"
#include "support/resumed_training.h"
#include "support/scratch.h"
#include <stdio.h>

enum { PATH_ROOM = 4096 };

static void whole_state(resumed_training *t, char path[PATH_ROOM], const char *name) {
    snprintf(path, PATH_ROOM, "%s", test_path(name));
    assert_ok(weft_checkpoint_save(t->graph, path, NULL, 0));
}

static void assert_same_files(const char *one, const char *other) {
    char *a = NULL, *b = NULL;
    size_t a_size = 0, b_size = 0;
    assert_ok(wi_file_read(NULL, one, &a, &a_size));
    assert_ok(wi_file_read(NULL, other, &b, &b_size));
    assert_int_equal(a_size, b_size);
    assert_memory_equal(a, b, a_size);
    wi_release(NULL, a);
    wi_release(NULL, b);
}

/* The training metrics of the last epoch. */
static void assert_same_metrics(const resumed_training *one, const resumed_training *other) {
    for (size_t i = 0; weft_trainer_metric(one->trainer, i, true); i++) {
        double a[16] = {0}, b[16] = {0};
        size_t count = 0;
        assert_ok(weft_metric_values(weft_trainer_metric(one->trainer, i, true), a, 16, &count));
        assert_true(count > 0 && count <= 16);
        assert_ok(weft_metric_values(weft_trainer_metric(other->trainer, i, true), b, 16, &count));
        assert_memory_equal(a, b, sizeof a);
    }
}

static void assert_same_end(const resumed_training *one, const resumed_training *other) {
    weft_training_info a, b;
    assert_same_metrics(one, other);
    weft_trainer_get_info(one->trainer, &a);
    weft_trainer_get_info(other->trainer, &b);
    assert_int_equal(a.steps, b.steps);
    assert_int_equal(a.best_epoch, b.best_epoch);
    assert_memory_equal(&a.best, &b.best, sizeof a.best);
    assert_int_equal(a.stopped_early, b.stopped_early);
    assert_memory_equal(&one->last.loss, &other->last.loss, sizeof one->last.loss);
    assert_memory_equal(
        &one->last.validation_loss, &other->last.validation_loss, sizeof one->last.validation_loss);
}

/* The training does what it is here for. */
static void check_course(resumed_kind kind, const weft_training_info *info, const resumed_training *t) {
    float rate = 0;
    assert_int_equal(info->stopped_early, kind == RESUMED_PLATEAU);
    if (kind != RESUMED_PLATEAU) return;
    assert_ok(weft_scalar_get(weft_minimize_rate(t->graph), &rate));
    assert_true(rate < 0.5f && info->best_epoch < t->last.epoch);
}

/* Stops after every `stride`-th step, and once more after two further ones. */
static void check_all_stops(resumed_kind kind, size_t stride) {
    char whole[PATH_ROOM], parts[PATH_ROOM];
    weft_training_info info;
    resumed_training *const straight = resumed_training_make(kind, NULL);
    assert_ok(weft_trainer_run(straight->trainer, straight->data));
    whole_state(straight, whole, "whole");
    weft_trainer_get_info(straight->trainer, &info);
    check_course(kind, &info, straight);
    for (size_t stop = 1; stop < info.steps; stop += stride) {
        char *const folder = scratch_make();
        for (size_t next = stop; next != 0; next = next == stop && stop + 2 < info.steps ? stop + 2 : 0) {
            resumed_training *const first = resumed_training_make(kind, folder);
            bool found = false;
            assert_ok(weft_trainer_resume(first->trainer, folder, &found));
            assert_true(found == (next != stop));
            first->stop_at = next;
            assert_ok(weft_trainer_run(first->trainer, first->data));
            weft_trainer_get_info(first->trainer, &info);
            assert_true(info.stopped && info.steps == next);
            resumed_training_end(first);
        }
        resumed_training *const second = resumed_training_make(kind, folder);
        assert_ok(weft_trainer_resume(second->trainer, folder, NULL));
        assert_ok(weft_trainer_run(second->trainer, second->data));
        whole_state(second, parts, "parts");
        assert_same_files(whole, parts);
        assert_same_end(straight, second);
        weft_trainer_get_info(second->trainer, &info);
        assert_false(info.stopped);
        resumed_training_end(second);
        scratch_remove(folder);
    }
    resumed_training_end(straight);
}

static void a_perceptron_with_adam(void **state) {
    (void)state;
    check_all_stops(RESUMED_MLP, 1);
}

static void a_convolutional_network_with_everything(void **state) {
    (void)state;
    check_all_stops(RESUMED_CNN, 3);
}

static void a_language_model_with_carried_state(void **state) {
    (void)state;
    check_all_stops(RESUMED_TEXT, 2);
}

static void a_plateau_and_early_stopping(void **state) {
    (void)state;
    check_all_stops(RESUMED_PLATEAU, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_perceptron_with_adam),
        cmocka_unit_test(a_convolutional_network_with_everything),
        cmocka_unit_test(a_language_model_with_carried_state),
        cmocka_unit_test(a_plateau_and_early_stopping),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
