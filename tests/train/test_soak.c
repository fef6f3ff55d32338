/* A long training, and contexts that come and go, leave memory, OpenCL objects and open files as they were. The reduced
 * form takes seconds; the full one has 20,000 steps and 1,000 contexts:
 * test_soak [STEPS [CONTEXTS]] */
/* test slow */
#include "support/checks.h"
#include "support/fixture.h"
#include "support/own_training.h"
#include "support/scratch.h"
#include "train/soak_handles.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

/* Bytes of pages that the allocator and the driver fill once. Rusticl's threads come and go with megabytes, as many for 40
 * contexts as for 80. AMID: blocks of the threads that load, which may be amid an image. */
enum { STEADY = 1 << 20, STEADY_ELSEWHERE = 8 << 20, AMID = 8 };

static size_t steps = 1800, contexts = 40;

typedef struct held {
    long handles, files, resident, blocks;
} held;

typedef struct watch {
    scratch_allocator allocator;
    size_t first, last; /* steps at which is looked */
    held before, after;
} watch;

static held look(scratch_allocator *allocator) {
    malloc_trim(0);
    return (held){.handles = counted_handles(),
        .files = counted_files(),
        .resident = counted_resident(),
        .blocks = atomic_load(&allocator->live)};
}

static bool watch_step(void *user, const weft_epoch *state) {
    watch *const w = user;
    if (state->step == w->first) w->before = look(&w->allocator);
    if (state->step == w->last) w->after = look(&w->allocator);
    return true;
}

/* The resident size of a build with sanitizers grows by what was freed; they find leaks themselves. */
static bool is_steady(const held *before, const held *after, const char *platform) {
#ifdef WITH_SANITIZERS
    (void)before, (void)after, (void)platform;
    return true;
#else
    const bool pocl = strcmp(platform, "Portable Computing Language") == 0;
    return after->resident - before->resident < (pocl ? STEADY : STEADY_ELSEWHERE);
#endif
}

static void show(const char *what, const held *before, const held *after) {
    print_message(
        "%s: %ld and %ld kB resident, %ld and %ld OpenCL objects, %ld and %ld files, %ld and %ld blocks\n",
        what, before->resident / 1000, after->resident / 1000, before->handles, after->handles, before->files,
        after->files, before->blocks, after->blocks);
}

static void a_long_training_holds_what_a_short_one_does(void **state) {
    watch w = {.last = steps / OWN_TRAINING_EPOCH * OWN_TRAINING_EPOCH};
    own_training training = {.epochs = steps / OWN_TRAINING_EPOCH,
        .allocator = &w.allocator.hooks,
        .on_step = watch_step,
        .user = &w};
    (void)state;
    w.first = steps / 3 / OWN_TRAINING_EPOCH * OWN_TRAINING_EPOCH; /* the same place in an epoch */
    scratch_allocator_init(&w.allocator, -1);
    assert_ok(own_training_run(&training));
    show("training", &w.before, &w.after);
    assert_true(w.before.handles > 0);
    assert_int_equal(w.after.handles, w.before.handles);
    assert_int_equal(w.after.files, w.before.files);
    assert_true(labs(w.after.blocks - w.before.blocks) <= AMID);
    assert_true(is_steady(&w.before, &w.after, training.platform));
    assert_int_equal(atomic_load(&w.allocator.live), 0);
    assert_int_equal(counted_handles(), 0);
}

/* Each trains for an epoch, so that programs, kernels, buffers and threads are made. */
static void contexts_leave_nothing(void **state) {
    scratch_allocator allocator;
    held before = {0}, after = {0};
    own_training training = {.epochs = 1, .allocator = &allocator.hooks};
    (void)state;
    scratch_allocator_init(&allocator, -1);
    for (size_t i = 0; i <= contexts; i++) {
        if (i == contexts / 4) before = look(&allocator);
        assert_ok(own_training_run(&training));
    }
    after = look(&allocator);
    show("contexts", &before, &after);
    assert_int_equal(after.handles, 0);
    assert_int_equal(after.blocks, 0);
    assert_int_equal(after.files, before.files);
    assert_true(is_steady(&before, &after, training.platform));
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_training_holds_what_a_short_one_does),
        cmocka_unit_test(contexts_leave_nothing),
    };
    if (argc > 1) steps = strtoul(argv[1], NULL, 10);
    if (argc > 2) contexts = strtoul(argv[2], NULL, 10);
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
