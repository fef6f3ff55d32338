/* The loader: which examples come in which order, and how long a batch stays valid. */
/* test threads */
#include "support/checks.h"
#include "support/fixture.h"
#include <unistd.h>
#include <weft/train.h>

enum { EXAMPLES = 103, BATCH = 10 };

/* Example i is i in column "number" and (i, 2·i) in column "pair". */
static weft_dataset *make_dataset(size_t examples) {
    weft_dataset *dataset = NULL;
    int32_t *const numbers = malloc(examples * sizeof *numbers);
    float *const pairs = malloc(2 * examples * sizeof *pairs);
    for (size_t i = 0; i < examples; i++) {
        numbers[i] = (int32_t)i;
        pairs[2 * i] = (float)i;
        pairs[2 * i + 1] = 2.0f * (float)i;
    }
    const weft_column columns[] = {
        {.name = "number", .dtype = WEFT_I32, .data = numbers},
        {.name = "pair", .dtype = WEFT_F32, .rank = 1, .dims = {2}, .data = pairs},
    };
    assert_ok(weft_dataset_from_memory(&dataset, test_context(), examples, columns, 2));
    free(numbers);
    free(pairs);
    return dataset;
}

static weft_loader *make_loader(size_t examples, weft_loader_options options) {
    weft_loader *loader = NULL;
    weft_dataset *const dataset = make_dataset(examples);
    options.struct_size = sizeof options;
    assert_ok(weft_loader_create(&loader, dataset, &options));
    weft_dataset_release(dataset); /* the loader has its own reference */
    return loader;
}

/* Runs an epoch; order gets the numbers as they come. Returns how many. */
static size_t run_epoch(weft_loader *loader, uint64_t epoch, size_t batch, int32_t *order) {
    size_t count = 0, examples = 0;
    const void *columns[2];
    bool last = false;
    assert_ok(weft_loader_begin(loader, epoch));
    while (assert_ok(weft_loader_next(loader, &examples, columns)), examples) {
        const int32_t *const numbers = columns[0];
        const float *const pairs = columns[1];
        assert_false(last);
        assert_true(examples <= batch);
        last = examples < batch;
        for (size_t i = 0; i < examples; i++) {
            assert_true(pairs[2 * i] == (float)numbers[i] && pairs[2 * i + 1] == 2.0f * (float)numbers[i]);
            order[count++] = numbers[i];
        }
    }
    assert_ok(weft_loader_next(loader, &examples, columns));
    assert_int_equal(examples, 0); /* and it stays over */
    return count;
}

static void check_each_once(const int32_t *order, size_t count) {
    bool seen[EXAMPLES] = {false};
    for (size_t i = 0; i < count; i++) {
        assert_in_range(order[i], 0, EXAMPLES - 1);
        assert_false(seen[order[i]]);
        seen[order[i]] = true;
    }
}

static void in_order_without_a_shuffle(void **state) {
    (void)state;
    int32_t order[EXAMPLES];
    weft_loader *const loader = make_loader(EXAMPLES, (weft_loader_options){.batch = BATCH});
    for (uint64_t epoch = 0; epoch < 3; epoch++) {
        assert_int_equal(run_epoch(loader, epoch, BATCH, order), EXAMPLES);
        for (int32_t i = 0; i < EXAMPLES; i++) assert_int_equal(order[i], i);
    }
    weft_loader_release(loader);
}

static void shuffle_takes_each_example_once(void **state) {
    (void)state;
    int32_t first[EXAMPLES], second[EXAMPLES], again[EXAMPLES];
    weft_loader *const loader =
        make_loader(EXAMPLES, (weft_loader_options){.batch = BATCH, .shuffle = true, .seed = 5});
    assert_int_equal(run_epoch(loader, 0, BATCH, first), EXAMPLES);
    assert_int_equal(run_epoch(loader, 1, BATCH, second), EXAMPLES);
    assert_int_equal(run_epoch(loader, 0, BATCH, again), EXAMPLES);
    check_each_once(first, EXAMPLES);
    check_each_once(second, EXAMPLES);
    assert_memory_not_equal(first, second, sizeof first);
    assert_memory_equal(first, again, sizeof first);
    int32_t moved = 0;
    for (int32_t i = 0; i < EXAMPLES; i++) moved += first[i] != i;
    assert_true(moved > EXAMPLES / 2);
    weft_loader_release(loader);
}

static void order_depends_on_seed_alone(void **state) {
    (void)state;
    int32_t one[EXAMPLES], same[EXAMPLES], other[EXAMPLES];
    const weft_loader_options options[] = {
        {.batch = BATCH, .shuffle = true, .seed = 1},
        {.batch = 7, .shuffle = true, .seed = 1, .prefetch = 5},
        {.batch = BATCH, .shuffle = true, .seed = 2},
    };
    int32_t *const orders[] = {one, same, other};
    for (size_t i = 0; i < 3; i++) {
        weft_loader *const loader = make_loader(EXAMPLES, options[i]);
        assert_int_equal(run_epoch(loader, 3, options[i].batch, orders[i]), EXAMPLES);
        weft_loader_release(loader);
    }
    assert_memory_equal(one, same, sizeof one);
    assert_memory_not_equal(one, other, sizeof one);
}

/* The numbers themselves, so that they stay what they are on every machine and in every version. Computed by
 * an independent program after the description in loader.c. */
static void order_is_the_same_on_every_machine(void **state) {
    (void)state;
    static const int32_t expected[10] = {8, 3, 2, 4, 1, 7, 6, 9, 5, 0};
    int32_t order[10];
    weft_loader *const loader =
        make_loader(10, (weft_loader_options){.batch = 4, .shuffle = true, .seed = 42});
    assert_int_equal(run_epoch(loader, 7, 4, order), 10);
    assert_memory_equal(order, expected, sizeof order);
    weft_loader_release(loader);
}

static void shuffle_is_uniform(void **state) {
    (void)state;
    enum { FEW = 4, EPOCHS = 6000 };
    int counts[FEW][FEW] = {{0}};
    weft_loader *const loader = make_loader(FEW, (weft_loader_options){.batch = FEW, .shuffle = true});
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        int32_t order[FEW];
        run_epoch(loader, epoch, FEW, order);
        for (size_t i = 0; i < FEW; i++) counts[i][order[i]]++;
    }
    for (size_t i = 0; i < FEW; i++) /* 1500 expected, standard deviation 34 */
        for (size_t j = 0; j < FEW; j++) assert_in_range(counts[i][j], 1330, 1670);
    weft_loader_release(loader);
}

static void last_batch(void **state) {
    (void)state;
    int32_t order[EXAMPLES];
    weft_loader *loader = make_loader(EXAMPLES, (weft_loader_options){.batch = BATCH, .drop_last = true});
    assert_int_equal(run_epoch(loader, 0, BATCH, order), 100);
    weft_loader_release(loader);
    loader = make_loader(EXAMPLES, (weft_loader_options){.batch = 1000});
    assert_int_equal(run_epoch(loader, 0, 1000, order), EXAMPLES);
    weft_loader_release(loader);
    loader = make_loader(100, (weft_loader_options){.batch = BATCH});
    assert_int_equal(run_epoch(loader, 0, BATCH, order), 100);
    weft_loader_release(loader);
    loader = make_loader(EXAMPLES, (weft_loader_options){.batch = 0}); /* 32 */
    assert_int_equal(run_epoch(loader, 0, 32, order), EXAMPLES);
    weft_loader_release(loader);
}

/* A batch is untouched until the prefetch-th next call, across the beginning of an epoch too. */
static void batches_stay_valid(void **state) {
    (void)state;
    enum { PREFETCH = 4, CALLS = 60 };
    weft_loader *const loader =
        make_loader(EXAMPLES, (weft_loader_options){.batch = BATCH, .prefetch = PREFETCH, .shuffle = true});
    const void *held[CALLS][2];
    int32_t copies[CALLS][BATCH];
    size_t sizes[CALLS];
    uint64_t epoch = 0;
    assert_ok(weft_loader_begin(loader, epoch));
    for (size_t call = 0; call < CALLS; call++) {
        assert_ok(weft_loader_next(loader, &sizes[call], held[call]));
        if (sizes[call] == 0 || call == 33) { /* the end, and once in the middle of an epoch */
            assert_ok(weft_loader_begin(loader, ++epoch));
            assert_ok(weft_loader_next(loader, &sizes[call], held[call]));
        }
        memcpy(copies[call], held[call][0], sizes[call] * sizeof(int32_t));
        const size_t oldest = call + 1 < PREFETCH ? 0 : call + 1 - PREFETCH;
        if (call == 33) continue; /* two calls at once: the oldest was given up a call early */
        for (size_t i = oldest; i <= call; i++)
            if (i > 33 || call < 33) assert_memory_equal(held[i][0], copies[i], sizes[i] * sizeof(int32_t));
    }
    assert_true(epoch > 3);
    weft_loader_release(loader);
}

static void an_epoch_may_be_abandoned(void **state) {
    (void)state;
    int32_t whole[EXAMPLES], after[EXAMPLES];
    weft_loader *const loader = make_loader(EXAMPLES, (weft_loader_options){.batch = BATCH, .shuffle = true});
    run_epoch(loader, 1, BATCH, whole);
    for (size_t taken = 0; taken < 12; taken++) {
        size_t examples = 0;
        const void *columns[2];
        assert_ok(weft_loader_begin(loader, 0));
        for (size_t i = 0; i < taken; i++) assert_ok(weft_loader_next(loader, &examples, columns));
        assert_int_equal(run_epoch(loader, 1, BATCH, after), EXAMPLES);
        assert_memory_equal(whole, after, sizeof whole);
    }
    assert_ok(weft_loader_begin(loader, 2));
    weft_loader_release(loader); /* while batches are being gathered */
    weft_loader_release(make_loader(EXAMPLES, (weft_loader_options){.batch = BATCH}));
    weft_loader_release(NULL);
}

/* Several threads make a batch together: they are amid one of an epoch when the next epoch begins. */
static void threads_amid_a_batch_begin_anew(void **state) {
    (void)state;
    enum { MANY = 4096, WIDTH = 512, AHEAD = 15, ROUNDS = 10, SECONDS = 60 };
    static int32_t numbers[MANY];
    static float rows[MANY][WIDTH]; /* so wide that batches take their time */
    weft_dataset *dataset = NULL;
    weft_loader *loader = NULL;
    const weft_column columns[] = {{.name = "number", .dtype = WEFT_I32, .data = numbers},
        {.name = "row", .dtype = WEFT_F32, .rank = 1, .dims = {WIDTH}, .data = rows}};
    const weft_loader_options options = {
        WEFT_LOADER_OPTIONS_INIT, .batch = MANY / (AHEAD + 1), .threads = 4, .prefetch = AHEAD};
    for (int32_t i = 0; i < MANY; i++) numbers[i] = i;
    assert_ok(weft_dataset_from_memory(&dataset, test_context(), MANY, columns, 2));
    assert_ok(weft_loader_create(&loader, dataset, &options));
    alarm(SECONDS); /* a batch that is never whole is waited for without end */
    for (uint64_t round = 0; round < ROUNDS; round++) {
        size_t examples = 0, seen = 0;
        const void *batch[2];
        assert_ok(weft_loader_begin(loader, 2 * round));
        assert_ok(weft_loader_next(loader, &examples, batch));
        assert_ok(weft_loader_begin(loader, 2 * round + 1));
        while (assert_ok(weft_loader_next(loader, &examples, batch)), examples) {
            assert_memory_equal(batch[0], numbers + seen, examples * sizeof *numbers);
            seen += examples;
        }
        assert_int_equal(seen, MANY);
    }
    alarm(0);
    weft_loader_release(loader);
    weft_dataset_release(dataset);
}

static void misuse_is_refused(void **state) {
    (void)state;
    weft_loader *loader = NULL;
    size_t examples = 0;
    const void *columns[2];
    weft_dataset *const dataset = make_dataset(5);
    weft_loader_options options = {WEFT_LOADER_OPTIONS_INIT, .batch = 6, .drop_last = true};
    assert_fails(
        weft_loader_create(&loader, dataset, &options), WEFT_ERROR_ARGUMENT, "the size of the dataset is 5");
    options.struct_size--;
    assert_fails(weft_loader_create(&loader, dataset, &options), WEFT_ERROR_ARGUMENT, "_INIT");
    assert_status(weft_loader_create(&loader, NULL, NULL), WEFT_ERROR_ARGUMENT);
    assert_status(weft_loader_create(NULL, dataset, NULL), WEFT_ERROR_ARGUMENT);
    assert_null(loader);
    options = (weft_loader_options){WEFT_LOADER_OPTIONS_INIT, .prefetch = SIZE_MAX};
    assert_fails(weft_loader_create(&loader, dataset, &options), WEFT_ERROR_ARGUMENT, "prefetch");
    assert_ok(weft_loader_create(&loader, dataset, NULL));
    assert_status(weft_loader_next(loader, &examples, columns), WEFT_ERROR_STATE);
    assert_status(weft_loader_begin(NULL, 0), WEFT_ERROR_ARGUMENT);
    assert_ok(weft_loader_begin(loader, 0));
    assert_status(weft_loader_next(loader, NULL, columns), WEFT_ERROR_ARGUMENT);
    assert_status(weft_loader_next(loader, &examples, NULL), WEFT_ERROR_ARGUMENT);
    weft_loader_release(loader);
    weft_dataset_release(dataset);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_order_without_a_shuffle),
        cmocka_unit_test(shuffle_takes_each_example_once),
        cmocka_unit_test(order_depends_on_seed_alone),
        cmocka_unit_test(order_is_the_same_on_every_machine),
        cmocka_unit_test(shuffle_is_uniform),
        cmocka_unit_test(last_batch),
        cmocka_unit_test(batches_stay_valid),
        cmocka_unit_test(an_epoch_may_be_abandoned),
        cmocka_unit_test(threads_amid_a_batch_begin_anew),
        cmocka_unit_test(misuse_is_refused),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
