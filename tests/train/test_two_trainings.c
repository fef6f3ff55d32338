/* Trainings in several threads, each with a context, loader threads and a writer of checkpoints of its own: none sees
 * the others. The preset `thread` runs this under ThreadSanitizer. */
/* test threads */
#include "support/checks.h"
#include "support/fixture.h"
#include "support/own_training.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { TRAININGS = 2, ROUNDS = 2 };

typedef struct job {
    own_training training;
    pthread_t thread;
    weft_status status;
    char error[512];
} job;

static void *run(void *argument) {
    job *const j = argument;
    j->status = own_training_run(&j->training);
    snprintf(j->error, sizeof j->error, "%s", weft_last_error());
    return NULL;
}

static const char *image_folder(void) {
#if defined(WEFT_WITH_PNG) && defined(WEFT_WITH_JPEG)
    return own_training_files();
#else
    return NULL;
#endif
}

/* One reads files and the other memory. */
static own_training make_training(int number, const char *images, const char *name, char *folder) {
    snprintf(folder, 4096, "%s", test_path(name));
    return (own_training){.epochs = 3, .images = number == 0 ? images : NULL, .checkpoints = folder};
}

/* This comes first in the process: the contexts are its first. */
static void threads_train_as_if_alone(void **state) {
    static char folders[1 + ROUNDS * TRAININGS][4096];
    job jobs[ROUNDS][TRAININGS] = {0};
    const char *const images = image_folder();
    (void)state;
    for (int r = 0; r < ROUNDS; r++) {
        for (int i = 0; i < TRAININGS; i++) {
            char name[48];
            job *const j = &jobs[r][i];
            snprintf(name, sizeof name, "checkpoints %d.%d", r, i);
            j->training = make_training(i, images, name, folders[r * TRAININGS + i]);
            assert_int_equal(pthread_create(&j->thread, NULL, run, j), 0);
        }
        for (int i = 0; i < TRAININGS; i++) {
            assert_int_equal(pthread_join(jobs[r][i].thread, NULL), 0);
            if (jobs[r][i].status != WEFT_OK) fail_msg("training %d: %s", i, jobs[r][i].error);
        }
    }
    for (int i = 0; i < TRAININGS; i++) {
        own_training alone = make_training(i, images, i ? "alone 1" : "alone 0", folders[ROUNDS * TRAININGS]);
        assert_ok(own_training_run(&alone));
        for (int r = 0; r < ROUNDS; r++)
            assert_memory_equal(jobs[r][i].training.weights, alone.weights, sizeof alone.weights);
        assert_true(alone.weights[0] != 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_train_as_if_alone)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
