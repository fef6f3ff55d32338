/* Training with batches in which nothing counts, with a last window of accumulation that is not full, and without a last
 * batch that is not full. */

#include "support/checks.h"
#include "support/counted_data.h"
#include "support/fixture.h"
#include <math.h>
#include <string.h>

static void read_weight(const network *n, float weight[CLASSES * CLASSES]) {
    assert_ok(
        weft_tensor_read(weft_graph_find(n->graph, "weight"), weight, CLASSES * CLASSES * sizeof *weight));
}

/* Trains over the first examples; info may be NULL. */
static void train(weft_trainer_options options, size_t examples, float weight[CLASSES * CLASSES],
    weft_training_info *info) {
    const data d = counted_data();
    weft_dataset *const dataset = counted_dataset(&d, examples);
    network n = counted_begin();
    counted_loss(&n);
    weft_trainer *const trainer = counted_trainer(&n, options);
    assert_ok(weft_trainer_run(trainer, dataset));
    read_weight(&n, weight);
    if (info) weft_trainer_get_info(trainer, info);
    weft_trainer_release(trainer);
    weft_graph_release(n.graph);
    weft_dataset_release(dataset);
}

typedef struct rates {
    double of[16];
    size_t count;
} rates;

static bool keep_rate(void *user, const weft_epoch *state) {
    rates *const it = user;
    it->of[it->count++] = state->learning_rate;
    return true;
}

/* Batches of 4: the second has no label. A NaN of its loss would stop the run. */
static void an_empty_batch_changes_nothing(void **state) {
    (void)state;
    static const weft_precision precisions[] = {WEFT_PRECISION_F32, WEFT_PRECISION_BF16, WEFT_PRECISION_F16};
    for (int p = 0; p < 3; p++) {
        float first[CLASSES * CLASSES], with[CLASSES * CLASSES];
        weft_training_info info;
        const weft_trainer_options options = {
            .batch = 4, .optimizer = weft_sgd_momentum(0.1f, 0.9f, 0.1f), .precision = precisions[p]};
        train(options, 4, first, &info);
        assert_int_equal(info.empty_steps, 0);
        train(options, 8, with, &info);
        assert_int_equal(info.empty_steps, 1);
        assert_int_equal(info.skipped_steps, 0);
        assert_memory_equal(first, with, sizeof with);
    }
}

/* accumulate 8 over five batches is the update that accumulate 5 makes, and the next epoch begins a window. */
static void the_last_window_ends_with_the_epoch(void **state) {
    (void)state;
    float begun[CLASSES * CLASSES] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, eight[CLASSES * CLASSES],
                          five[CLASSES * CLASSES];
    for (size_t epochs = 1; epochs <= 2; epochs++) {
        weft_trainer_options options = {.batch = 1, .epochs = epochs, .optimizer = weft_adam(0.1f)};
        options.optimizer.accumulate = 8;
        train(options, 5, eight, NULL);
        options.optimizer.accumulate = 5;
        train(options, 5, five, NULL);
        for (int i = 0; i < CLASSES * CLASSES; i++) assert_true(fabsf(eight[i] - five[i]) < 1e-6f);
        assert_true(memcmp(eight, begun, sizeof begun) != 0);
    }
}

/* A schedule by step counts updates: neither runs that only accumulate nor windows without a label. */
static void schedules_count_updates(void **state) {
    (void)state;
    float weight[CLASSES * CLASSES];
    rates seen = {.count = 0};
    weft_trainer_options options = {.batch = 1,
        .optimizer = weft_sgd(1),
        .schedule = weft_exponential_schedule(0.5f),
        .on_step = keep_rate,
        .user = &seen};
    options.schedule.per_step = true;
    options.optimizer.accumulate = 3;
    train(options, 7, weight, NULL); /* windows of 3, 3 and 1 */
    assert_int_equal(seen.count, 7);
    assert_true(seen.of[2] == 1 && seen.of[3] == 0.5 && seen.of[6] == 0.25);
}

static void the_last_batch_is_dropped(void **state) {
    (void)state;
    float dropped[CLASSES * CLASSES], whole[CLASSES * CLASSES];
    weft_training_info info;
    const weft_trainer_options options = {
        .batch = 3, .epochs = 2, .drop_last = true, .optimizer = weft_sgd(0.1f)};
    train(options, EXAMPLES, dropped, &info);
    assert_int_equal(info.steps, 2 * (EXAMPLES / 3));
    train(options, EXAMPLES - EXAMPLES % 3, whole, &info);
    assert_memory_equal(dropped, whole, sizeof whole);
    const data d = counted_data();
    weft_dataset *const dataset = counted_dataset(&d, 2);
    network n = counted_begin();
    counted_loss(&n);
    weft_trainer *const trainer = counted_trainer(&n, options);
    assert_fails(weft_trainer_run(trainer, dataset), WEFT_ERROR_ARGUMENT,
        "the size of the dataset is 2, less than one batch of 3");
    weft_trainer_release(trainer);
    weft_graph_release(n.graph);
    weft_dataset_release(dataset);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_batch_changes_nothing),
        cmocka_unit_test(the_last_window_ends_with_the_epoch),
        cmocka_unit_test(schedules_count_updates),
        cmocka_unit_test(the_last_batch_is_dropped),
    };
    return test_finish(cmocka_run_group_tests_name("batches that count", tests, NULL, NULL));
}
