/* Children of fork(): what they may do where the parent has used no driver, what is refused, at once and by one line, where it has, what
 * works there all the same, and that releasing there neither waits nor disturbs the parent. Parents fork beside a plan that runs,
 * a loader's threads and the thread that writes checkpoints. */
/* test slow */
#include "support/checks.h"
#include "support/fixture.h"

#include "cl/device_list.h"
#include "support/forked.h"
#include "support/forked_world.h"
#include "support/scratch.h"
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { SECONDS = 30, LARGE = 1 << 16, FORKS = 20, DEPTH = 40, LEAST_RUNS = 5, MANY_FORKS = 200 };

/* A call of the child's takes at most so long. */
static const double longest_call = 1.0;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* ---- what is refused ---- */

static weft_status write_x(world *w, weft_status (*write)(weft_plan *, weft_tensor *, const void *, size_t)) {
    return write(w->plan, w->net.x, w->x, sizeof w->x);
}

static weft_status read_y(world *w, weft_status (*read)(weft_plan *, weft_tensor *, void *, size_t)) {
    return read(w->plan, w->net.y, w->y, sizeof w->y);
}

static weft_status predict(world *w, size_t batch) {
    const weft_column column = world_column(w);
    return weft_predict(w->net.y, batch, &column, 1, w->y, batch * SMALL_NET_OUT * sizeof *w->y);
}

static weft_status get_device(void) {
    weft_device_info info;
    return weft_device_get(0, &info);
}

/* clang-format off */
static weft_status read_later(world *w) {
    const size_t bytes = (size_t)WORLD_SIDE * WORLD_SIDE * sizeof(float);
    float *const numbers = malloc(bytes);
    const weft_status status = numbers ? weft_tensor_read(w->later, numbers, bytes) : WEFT_ERROR_MEMORY;
    free(numbers);
    return status;
}

static weft_status take_anew(world *w) {
    weft_snapshot *snapshot = NULL;
    weft_status status = weft_snapshot_create(&snapshot, w->net.graph);
    if (status == WEFT_OK) status = weft_snapshot_take(snapshot);
    weft_snapshot_release(snapshot);
    return status;
}

#define REFUSED(row)                                                                                         \
    row(context_create, weft_context_create(&w->other, NULL))                                                \
    row(device_count, weft_device_count(&w->count))                                                          \
    row(device_get, get_device())                                                                            \
    row(plan_create, weft_plan_create(&w->made, &w->cost, 1, NULL))                                          \
    row(plan_write, write_x(w, weft_plan_write))                                                             \
    row(plan_write_async, write_x(w, weft_plan_write_async))                                                 \
    row(plan_run, weft_plan_run(w->plan))                                                                    \
    row(plan_read, read_y(w, weft_plan_read))                                                                \
    row(plan_read_async, read_y(w, weft_plan_read_async))                                                    \
    row(plan_wait, weft_plan_wait(w->plan))                                                                  \
    row(plan_step, weft_plan_step(w->plan, NULL, 0))                                                         \
    row(plan_bind, weft_plan_bind(w->plan, w->net.x, (void *)w, 0))                                          \
    row(profile_run, weft_profile_run(&w->profile, w->plan))                                                 \
    row(tensor_read, weft_tensor_read(w->net.weight, w->weight, sizeof w->weight))                           \
    row(tensor_write, weft_tensor_write(w->net.weight, w->weight, sizeof w->weight))                         \
    row(tensor_copy, weft_tensor_copy(w->spare, w->net.weight))                                              \
    row(new_parameter, read_later(w))                              \
    row(snapshot_restore, weft_snapshot_restore(w->snapshot))                                                \
    row(snapshot_anew, take_anew(w))                                                                    \
    row(snapshot_take, weft_snapshot_take(w->snapshot))                                                      \
    row(weights_save, weft_weights_save(w->net.graph, scratch_path(w->folder, "weights")))                   \
    row(weights_load, weft_weights_load(w->net.graph, scratch_path(w->folder, "weights"), NULL))             \
    row(checkpoint_save, weft_checkpoint_save(w->net.graph, scratch_path(w->folder, "checkpoint"), NULL, 0)) \
    row(checkpoint_load, weft_checkpoint_load(w->net.graph, scratch_path(w->folder, "checkpoint"), NULL, 0)) \
    row(predict_known, predict(w, WORLD_BATCH))                                                                    \
    row(predict_new, predict(w, WORLD_BATCH - 1))                                                                  \
    row(loader_begin, weft_loader_begin(w->loader, 1))                                                       \
    row(loader_next, weft_loader_next(w->loader, &w->count, w->columns))                                     \
    row(loader_create, weft_loader_create(&w->second, w->data, NULL))                                        \
    row(trainer_create, world_trainer(w, &w->next, NULL, NULL))                                               \
    row(trainer_run, weft_trainer_run(w->trainer, w->data))                                                  \
    row(trainer_evaluate, weft_trainer_evaluate(w->trainer, w->data, NULL, NULL))                            \
    row(trainer_resume, weft_trainer_resume(w->trainer, scratch_path(w->folder, "run"), NULL))
/* clang-format on */

#define FUNCTION(name, call)                                                                                 \
    static weft_status call_##name(world *w) {                                                               \
        (void)w;                                                                                             \
        return call;                                                                                         \
    }
REFUSED(FUNCTION)

static const struct {
    const char *name;
    weft_status (*call)(world *w);
} refused[] = {
#define ROW(name, call) {#name, call_##name},
    REFUSED(ROW)};

/* The line is the same, whatever call it was. */
static int check_refused(world *w, size_t index) {
    const double began = now();
    const weft_status status = refused[index].call(w);
    const char *const line = weft_last_error();
    const bool is_right = status == WEFT_ERROR_STATE && now() - began < longest_call && !strchr(line, '\n') &&
                          strncmp(line, "this process was forked", 23) == 0 && strstr(line, "exec");
    if (is_right) return 0;
    fprintf(stderr, "%s: %s in %g s: ", refused[index].name, weft_status_name(status), now() - began);
    return forked_failed(__FILE__, __LINE__, "the call is refused at once");
}

static int check_all_refused(world *w) {
    int failed = 0;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) failed |= check_refused(w, i);
    return failed;
}

/* ---- what works without a driver ---- */

static int use_files(world *w) {
    const int64_t dims[] = {WORLD_BATCH, SMALL_NET_IN};
    char *const path = strdup(scratch_path(w->folder, "numbers.npy"));
    weft_npy_array array;
    FORKED_CHECK(weft_save_npy(path, WEFT_F32, w->x, 2, dims) == WEFT_OK);
    FORKED_CHECK(weft_load_npy(&array, w->context, path, WEFT_F32) == WEFT_OK);
    FORKED_CHECK(array.bytes == sizeof w->x && memcmp(array.data, w->x, sizeof w->x) == 0);
    weft_npy_array_release(&array);
    free(path);
    FILE *const table = fopen(scratch_path(w->folder, "table.csv"), "w");
    FORKED_CHECK(table && fputs("x,label\n1.5,0\n2.5,1\n", table) >= 0 && fclose(table) == 0);
    weft_dataset *data = NULL;
    FORKED_CHECK(
        weft_dataset_open_csv(&data, w->context, scratch_path(w->folder, "table.csv"), NULL) == WEFT_OK);
    FORKED_CHECK(weft_dataset_size(data) == 2);
    weft_dataset_release(data);
    return 0;
}

static int use_host(void *user) {
    world *const w = user;
    const float outputs[2 * SMALL_NET_OUT] = {0.1f, 0.7f, 0.2f, 0.6f, 0.3f, 0.1f};
    const int32_t labels[2] = {1, 2};
    double accuracy = 0.0;
    char text[64];
    weft_plan_info info;
    weft_graph *graph = NULL;
    FORKED_CHECK(
        weft_softmax(weft_add(w->net.y, w->net.hidden), 1) && weft_graph_status(w->net.graph) == WEFT_OK);
    FORKED_CHECK(weft_graph_create(&graph, w->context) == WEFT_OK);
    FORKED_CHECK(weft_linear(weft_input(graph, "x", WEFT_F32, 3), 2) && weft_graph_status(graph) == WEFT_OK);
    weft_graph_release(graph);
    FORKED_CHECK(weft_metric_update(w->metric, 2, outputs, labels) == WEFT_OK);
    FORKED_CHECK(weft_metric_result(w->metric, &accuracy) == WEFT_OK && accuracy == 0.5);
    FORKED_CHECK(weft_plan_get_info(w->plan, &info) == WEFT_OK && info.batch == WORLD_BATCH);
    FORKED_CHECK(weft_plan_describe(w->plan, WEFT_FORMAT_TEXT, text, sizeof text, NULL) == WEFT_OK);
    FORKED_CHECK(weft_context_device(w->context)->name[0] != '\0');
    return use_files(w);
}

/* A graph's first error stays: what is refused comes last. */
static int be_child(void *user) {
    world *const w = user;
    if (use_host(w) != 0 || check_all_refused(w) != 0) return 1;
    const double began = now();
    world_release(w);
    FORKED_CHECK(now() - began < longest_call);
    return 0;
}

static int release_only(void *user) {
    world_release(user);
    return 0;
}

/* ---- tests ---- */

/* malloc works in a child whatever threads did at the fork, but the allocator of AddressSanitizer keeps their locks. */
static void need_an_allocator_that_forks(void) {
#ifdef WITH_SANITIZERS
    print_message("skipped: the sanitizer's allocator may wait for ever in a child that is forked beside "
                  "busy threads\n");
    skip();
#endif
}

static int train(void *user) {
    world w;
    (void)user;
    world_open(&w, false, NULL);
    const weft_status status = weft_trainer_run(w.trainer, w.data);
    world_close(&w);
    return status != WEFT_OK;
}

/* As servers do that fork workers first. This runs before the parent opens anything. */
static void children_of_a_parent_without_driver_compute(void **state) {
    (void)state;
    assert_true(weft_version()[0] != '\0');
    for (int i = 0; i < 2; i++) assert_true(forked_run(train, NULL, SECONDS));
}

static void refuse_child(bool two_queues) {
    world w;
    float y[WORLD_BATCH * SMALL_NET_OUT];
    world_open(&w, two_queues, NULL);
    memcpy(y, w.y, sizeof y);
    assert_true(forked_run(be_child, &w, SECONDS));
    assert_int_equal(scratch_count(w.folder, "run", NULL), 0);
    assert_ok(predict(&w, WORLD_BATCH));
    assert_memory_equal(y, w.y, sizeof y);
    world_close(&w);
}

static void a_child_is_refused_what_needs_the_driver(void **state) {
    (void)state;
    refuse_child(false);
}

static void a_child_of_a_context_with_two_queues_is_refused_it_too(void **state) {
    (void)state;
    refuse_child(true);
}

static int grandchild(void *user) {
    return !forked_run(be_child, user, SECONDS);
}

static void a_child_of_a_child_is_refused_it_too(void **state) {
    world w;
    (void)state;
    world_open(&w, false, NULL);
    assert_true(forked_run(grandchild, &w, SECONDS));
    world_close(&w);
}

/* As beside a thread that opens a device. */
static void a_lock_that_is_taken_does_not_stop_a_child(void **state) {
    world w;
    (void)state;
    world_open(&w, true, NULL);
    wi_driver_lock();
    const bool good = forked_run(be_child, &w, SECONDS);
    wi_driver_unlock();
    assert_true(good);
    world_close(&w);
}

typedef struct runner {
    world *w;
    weft_plan *plan;
    weft_tensor *in, *out;
    atomic_bool stops;
    atomic_size_t runs;
    float sums[2]; /* of the first run, and of the last */
    weft_status status;
} runner;

static float numbers[WORLD_BATCH * LARGE];

static int release_with_plan(void *user) {
    runner *const r = user;
    weft_plan_release(r->plan);
    world_release(r->w);
    return 0;
}

static void *run_plan(void *user) {
    runner *const r = user;
    while (!atomic_load(&r->stops) && r->status == WEFT_OK) {
        r->status = weft_plan_step(r->plan,
            WEFT_VALUES(WEFT_VALUE(r->in, numbers), WEFT_VALUE(r->out, r->sums[atomic_load(&r->runs) > 0])));
        atomic_fetch_add(&r->runs, 1);
    }
    return NULL;
}

/* A plan whose runs take long enough that the thread mostly waits for the device. */
static void make_plan(runner *r) {
    weft_graph *const graph = weft_context_graph(r->w->context);
    small_net_fill(numbers, WORLD_BATCH * LARGE, 3);
    r->in = weft_input(graph, "numbers", WEFT_F32, LARGE);
    weft_tensor *h = r->in;
    for (int i = 0; i < DEPTH; i++) h = weft_tanh(h);
    r->out = weft_mean(h);
    r->plan = small_net_plan(r->out, WORLD_BATCH);
}

/* Where the driver keeps no binaries itself, the context saves at its end what was compiled. */
static void a_child_writes_nothing_to_the_cache(void **state) {
    world w;
    char path[PATH_MAX];
    (void)state;
    setenv("POCL_KERNEL_CACHE", "0", 1);
    world_open(&w, false, NULL);
    runner r = {.w = &w};
    make_plan(&r);
    while (scratch_count(w.folder, ".weft", path) > 0) assert_int_equal(unlink(path), 0);
    assert_true(forked_run(release_with_plan, &r, SECONDS));
    assert_int_equal(scratch_count(w.folder, ".weft", NULL), 0);
    assert_int_equal(scratch_count(w.folder, ".tmp", NULL), 0);
    weft_plan_release(r.plan);
    world_close(&w);
    unsetenv("POCL_KERNEL_CACHE");
}

static int refuse_beside(void *user) {
    runner *const r = user;
    FORKED_CHECK(weft_plan_run(r->plan) == WEFT_ERROR_STATE);
    FORKED_CHECK(weft_context_create(&r->w->other, NULL) == WEFT_ERROR_STATE);
    return release_with_plan(r);
}

static void forks_beside_a_plan_that_runs(void **state) {
    world w;
    pthread_t thread;
    (void)state;
    need_an_allocator_that_forks();
    world_open(&w, true, NULL);
    runner r = {.w = &w};
    make_plan(&r);
    assert_int_equal(pthread_create(&thread, NULL, run_plan, &r), 0);
    bool good = true;
    for (int i = 0; good && (i < FORKS || atomic_load(&r.runs) < LEAST_RUNS); i++)
        good = forked_run(refuse_beside, &r, SECONDS);
    atomic_store(&r.stops, true);
    pthread_join(thread, NULL);
    assert_true(good);
    assert_ok(r.status);
    assert_true(r.sums[0] == r.sums[1]);
    weft_plan_release(r.plan);
    world_close(&w);
}

/* Threads that load take and leave the loader's lock all the time. */
static void *load(void *user) {
    runner *const r = user;
    for (uint64_t epoch = 0; !atomic_load(&r->stops) && r->status == WEFT_OK; epoch++) {
        size_t examples = 1;
        r->status = weft_loader_begin(r->w->loader, epoch);
        while (examples && r->status == WEFT_OK)
            r->status = weft_loader_next(r->w->loader, &examples, r->w->columns);
    }
    return NULL;
}

static void forks_beside_a_loader_that_loads(void **state) {
    world w;
    pthread_t thread;
    (void)state;
    need_an_allocator_that_forks();
    world_open(&w, false, NULL);
    runner r = {.w = &w};
    assert_int_equal(pthread_create(&thread, NULL, load, &r), 0);
    bool good = true;
    for (int i = 0; good && i < MANY_FORKS; i++) good = forked_run(release_only, &w, SECONDS);
    atomic_store(&r.stops, true);
    pthread_join(thread, NULL);
    assert_true(good);
    assert_ok(r.status);
    world_close(&w);
}

static bool fork_in_step(void *user, const weft_epoch *epoch) {
    world *const w = user;
    (void)epoch;
    w->failures += !forked_run(++w->counted % 2 ? release_only : be_child, w, SECONDS);
    return true;
}

static int lines_of(const char *path) {
    FILE *const file = fopen(path, "r");
    int lines = 0, c;
    while (file && (c = fgetc(file)) != EOF) lines += c == '\n';
    if (file) fclose(file);
    return lines;
}

/* A run would make the folder of checkpoints, and find its dataset prepared. */
static void check_that_nothing_is_begun(world *w) {
    char from[PATH_MAX], to[PATH_MAX];
    snprintf(from, sizeof from, "%s/run", w->folder);
    snprintf(to, sizeof to, "%s/kept", w->folder);
    assert_int_equal(rename(from, to), 0);
    assert_true(forked_run(be_child, w, SECONDS));
    assert_int_equal(scratch_count(w->folder, "run", NULL), 0);
}

/* The weights after a training. */
static void train_to(float weight[SMALL_NET_OUT * SMALL_NET_IN], weft_progress_callback step, int steps) {
    world w;
    world_open(&w, true, step);
    assert_ok(weft_trainer_run(w.trainer, w.data));
    assert_int_equal(w.counted, steps);
    assert_int_equal(w.failures, 0);
    assert_ok(weft_tensor_read(w.net.weight, weight, sizeof w.weight));
    assert_int_equal(scratch_count(scratch_path(w.folder, "run"), ".safetensors", NULL), 3);
    assert_int_equal(scratch_count(scratch_path(w.folder, "run"), ".tmp", NULL), 0);
    if (step) check_that_nothing_is_begun(&w);
    assert_int_equal(lines_of(scratch_path(w.folder, "log.csv")), 3); /* names, and an epoch a line */
    world_close(&w);
}

/* In the middle of a step, beside threads that load and one that writes. */
static void forks_do_not_change_a_training(void **state) {
    float alone[SMALL_NET_OUT * SMALL_NET_IN], forking[SMALL_NET_OUT * SMALL_NET_IN];
    (void)state;
    need_an_allocator_that_forks();
    train_to(alone, NULL, 0);
    train_to(forking, fork_in_step, 2 * WORLD_EXAMPLES / WORLD_BATCH);
    assert_memory_equal(alone, forking, sizeof alone);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            children_of_a_parent_without_driver_compute), /* first: the parent has no driver yet */
        cmocka_unit_test(a_child_is_refused_what_needs_the_driver),
        cmocka_unit_test(a_child_of_a_context_with_two_queues_is_refused_it_too),
        cmocka_unit_test(forks_beside_a_loader_that_loads),
        cmocka_unit_test(a_child_writes_nothing_to_the_cache),
        cmocka_unit_test(a_child_of_a_child_is_refused_it_too),
        cmocka_unit_test(a_lock_that_is_taken_does_not_stop_a_child),
        cmocka_unit_test(forks_beside_a_plan_that_runs),
        cmocka_unit_test(forks_do_not_change_a_training),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
