/* Checkpoints that are damaged, foreign or of another network, and disks that are full or cannot be written: one line
 * each, the graph as it was, and the old file as it was. */
#include "base/platform.h"
#include "support/checks.h"
#include "support/fixture.h"
#include "support/mutate.h"
#include "support/scratch.h"
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum { PATH_ROOM = 4096, DIGITS_AT = 42, DIGITS = 32 };

static weft_graph *make_graph(int64_t out, bool more) {
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 3), *updates[WEFT_MAX_UPDATES];
    weft_tensor *y = weft_mul(x, weft_parameter(graph, "a", weft_fill(2), 3));
    y = weft_matmul(y, weft_parameter(graph, "b", weft_fill(1), 3, out));
    if (more) y = weft_add(y, weft_parameter(graph, "c", weft_fill(1), 1));
    const weft_optimizer adam = weft_adam(0.1f);
    size_t count = 0;
    assert_ok(weft_minimize(weft_mean(y), &adam, updates, WEFT_MAX_UPDATES, &count));
    return graph;
}

static void fill(weft_graph *graph, float value) {
    const float values[3] = {value, value, value};
    assert_ok(weft_tensor_write(weft_graph_find(graph, "a"), values, sizeof values));
}

static void assert_filled(weft_graph *graph, float value) {
    float values[3];
    assert_ok(weft_tensor_read(weft_graph_find(graph, "a"), values, sizeof values));
    for (int i = 0; i < 3; i++) assert_true(values[i] == value);
}

static void write_bytes(const char *path, const char *bytes, size_t size) {
    FILE *const file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void keep_path(char path[PATH_ROOM], const char *name) {
    snprintf(path, PATH_ROOM, "%s", test_path(name));
}

/* Makes the checksum right again. */
static void sign(char *bytes, size_t size) {
    char digits[DIGITS + 1];
    memset(bytes + DIGITS_AT, '0', DIGITS);
    const XXH128_hash_t hash = XXH3_128bits(bytes, size);
    snprintf(digits, sizeof digits, "%016llx%016llx", (unsigned long long)hash.high64,
        (unsigned long long)hash.low64);
    memcpy(bytes + DIGITS_AT, digits, DIGITS);
}

typedef struct reader {
    weft_graph *graph;
    char path[PATH_ROOM];
} reader;

static bool load_bytes(void *user, const char *bytes, size_t size) {
    reader *const r = user;
    write_bytes(r->path, bytes, size);
    const weft_status status = weft_checkpoint_load(r->graph, r->path, NULL, 0);
    if (status == WEFT_OK) return true;
    const bool other_dtype = strstr(weft_last_error(), "X32 in the file");
    assert_status(status, other_dtype ? WEFT_ERROR_DTYPE : WEFT_ERROR_FORMAT);
    assert_non_null(strstr(weft_last_error(), r->path));
    assert_null(strchr(weft_last_error(), '\n'));
    return false;
}

static void every_cut_and_every_flipped_byte_is_noticed(void **state) {
    (void)state;
    reader r = {.graph = make_graph(2, false)};
    keep_path(r.path, "damaged");
    size_t size = 0;
    char *bytes = NULL;
    fill(r.graph, 7);
    assert_ok(weft_checkpoint_save(r.graph, r.path, NULL, 0));
    assert_ok(wi_file_read(NULL, r.path, &bytes, &size));
    fill(r.graph, 3);
    for (size_t i = 0; i < size; i++) {
        const char kept = bytes[i];
        bytes[i] = (char)(kept ^ (1 << i % 8));
        assert_false(load_bytes(&r, bytes, size));
        bytes[i] = kept;
    }
    const mutate_counts counts = mutate_all(bytes, size, 500, load_bytes, &r);
    assert_true(counts.tries > size &&
                counts.refused >= counts.tries - 3); /* a swap of equal bytes changes nothing */
    fill(r.graph, 3);
    write_bytes(r.path, bytes, size / 2);
    assert_fails(weft_checkpoint_load(r.graph, r.path, NULL, 0), WEFT_ERROR_FORMAT, "truncated or changed");
    assert_filled(r.graph, 3);
    assert_true(load_bytes(&r, bytes, size));
    assert_filled(r.graph, 7);
    wi_release(NULL, bytes);
    weft_graph_release(r.graph);
}

/* What somebody writes who knows the checksum. */
static void signed_nonsense_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *from, *to, *part;
    } rows[] = {
        {"\"weft.checkpoint\":\"2\"", "\"weft.checkpoint\":\"3\"", "format 3, written by Weft 0."},
        {"\"weft.checkpoint\":\"2\"", "\"weft.checkpoint\":\"0\"", "which reads formats 1 to 2"},
        {"\"weft.checkpoint\":\"2\"", "\"weft.checkpoint\":\"x\"",
            "lacks the entry 'weft.checkpoint', a whole number"},
        {"\"weft.checkpoint\":\"2\"", "\"weft.checkpoinT\":\"2\"",
            "lacks the entry 'weft.checkpoint', a whole number"},
        {"\"graph.draws\":\"0\"", "\"graph.drawn\":\"0\"", "lacks the entry 'graph.draws', a whole number"},
        {"\"graph.draws\":\"0\"", "\"graph.draws\":\"-\"", "lacks the entry 'graph.draws', a whole number"},
        {"\"graph.draws\":\"0\"", "\"graph.draws\": 0 ", "a value of \"__metadata__\" is not a string"},
        {"\"graph.clock.0\"", "\"graph.scalars\"", "a key is in \"__metadata__\" twice"},
        {"\"graph.clocks\":\"1\"", "\"graph.clocks\":\"9\"", "optimizers and scalars are 9 and"},
        {"\"graph.scalar.0\":\"0.", "\"graph.scalar.0\":\"x.", "lacks the entry 'graph.scalar.0', a number"},
        {"\"weft.optimizer.m.a\"", "\"weft.optimizer.m.b\"", "the name is in the header twice"},
        {"\"weft.optimizer.m.a\"", "\"__metadata__\"      ", "is in the header twice"},
        {"\"weft.optimizer.m.a\"", "\"weft.optimizer.m.x\"",
            "another training: tensor 'weft.optimizer.m.a' of the graph"},
        {"[3],\"data_offsets\":[0,12]", "[9],\"data_offsets\":[0,12]", "does not have the 12 bytes"},
        {"\"data_offsets\":[0,12]", "\"data_offsets\":[4,12]", "does not have the 8 bytes"},
        {"\"F32\"", "\"X32\"", "tensor 'a' is X32 in the file and F32 in the graph"},
    };
    reader r = {.graph = make_graph(2, false)};
    keep_path(r.path, "signed");
    size_t size = 0;
    char *bytes = NULL;
    assert_ok(weft_checkpoint_save(r.graph, r.path, NULL, 0));
    assert_ok(wi_file_read(NULL, r.path, &bytes, &size));
    fill(r.graph, 3);
    char *const changed = malloc(size);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *const found = strstr(bytes + 8, rows[i].from);
        assert_non_null(found);
        assert_int_equal(strlen(rows[i].from), strlen(rows[i].to));
        memcpy(changed, bytes, size);
        memcpy(changed + (found - bytes), rows[i].to, strlen(rows[i].to));
        sign(changed, size);
        assert_false(load_bytes(&r, changed, size));
        check_line(rows[i].part, __FILE__, __LINE__);
        assert_filled(r.graph, 3);
    }
    memset(changed, '7', 8); /* an absurd length of the header */
    memcpy(changed + 8, bytes + 8, size - 8);
    sign(changed, size);
    assert_false(load_bytes(&r, changed, size));
    check_line("the header should have", __FILE__, __LINE__);
    free(changed);
    wi_release(NULL, bytes);
    weft_graph_release(r.graph);
}

static void other_networks_are_told_apart(void **state) {
    (void)state;
    char path[PATH_ROOM];
    keep_path(path, "network");
    weft_graph *const one = make_graph(2, false), *const wider = make_graph(4, false),
                      *const longer = make_graph(2, true);
    assert_ok(weft_checkpoint_save(one, path, NULL, 0));
    assert_fails(weft_checkpoint_load(wider, path, NULL, 0), WEFT_ERROR_SHAPE,
        "a checkpoint of another network: tensor 'b' is (3, 2) in the file and (3, 4) in the graph; tensor "
        "'weft.optimizer.m.b'");
    assert_fails(weft_checkpoint_load(longer, path, NULL, 0), WEFT_ERROR_FORMAT,
        "a checkpoint of another network: tensor 'c' of the graph is not in the file; tensor "
        "'weft.optimizer.m.c'");
    assert_ok(weft_checkpoint_save(longer, path, NULL, 0));
    assert_fails(weft_checkpoint_load(one, path, NULL, 0), WEFT_ERROR_FORMAT,
        "tensor 'c' of the file is not in the graph");
    assert_ok(weft_weights_save(one, path));
    assert_fails(weft_checkpoint_load(one, path, NULL, 0), WEFT_ERROR_FORMAT, "is not a checkpoint of Weft");
    weft_graph_release(one);
    weft_graph_release(wider);
    weft_graph_release(longer);
}

/* Nothing of a file that is refused stays, be it of another network or damaged. */
static void what_is_refused_is_let_go(void **state) {
    (void)state;
    char path[PATH_ROOM];
    keep_path(path, "refused");
    scratch_allocator allocator;
    scratch_allocator_init(&allocator, -1);
    weft_context *const context =
        test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .allocator = &allocator.hooks});
    weft_graph *graphs[2] = {NULL};
    for (int i = 0; i < 2; i++) {
        assert_ok(weft_graph_create(&graphs[i], context));
        assert_non_null(weft_parameter(graphs[i], "w", weft_fill(1), 4 + i));
    }
    assert_ok(weft_checkpoint_save(graphs[0], path, NULL, 0));
    const long before = atomic_load(&allocator.live);
    assert_ok(weft_checkpoint_load(graphs[0], path, NULL, 0));
    assert_fails(weft_checkpoint_load(graphs[1], path, NULL, 0), WEFT_ERROR_SHAPE, "tensor 'w'");
    write_bytes(path, "damaged", 7);
    assert_fails(weft_checkpoint_load(graphs[0], path, NULL, 0), WEFT_ERROR_FORMAT, path);
    assert_int_equal(atomic_load(&allocator.live), before);
    for (int i = 0; i < 2; i++) weft_graph_release(graphs[i]);
    weft_context_release(context);
}

static void another_seed_is_refused_where_it_matters(void **state) {
    (void)state;
    char path[PATH_ROOM];
    keep_path(path, "seed");
    for (int draws = 0; draws < 2; draws++) {
        weft_context *const contexts[2] = {
            test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .seed = 1}),
            test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .seed = 2})};
        for (int i = 0; i < 2; i++) {
            weft_graph *graph = NULL;
            assert_ok(weft_graph_create(&graph, contexts[i]));
            weft_tensor *const w = weft_parameter(graph, "w", weft_fill(1), 4);
            if (draws) assert_non_null(weft_dropout(w, 0.5));
            if (i == 0) assert_ok(weft_checkpoint_save(graph, path, NULL, 0));
            if (i == 1 && !draws) assert_ok(weft_checkpoint_load(graph, path, NULL, 0));
            if (i == 1 && draws)
                assert_fails(weft_checkpoint_load(graph, path, NULL, 0), WEFT_ERROR_ARGUMENT,
                    "was saved with the seed 1, but this context has the seed 2");
            weft_graph_release(graph);
            weft_context_release(contexts[i]);
        }
    }
}

/* ---- the disk ---- */

static void a_full_disk_leaves_the_old_file(void **state) {
    (void)state;
    char path[PATH_ROOM];
    char *const folder = scratch_make();
    snprintf(path, sizeof path, "%s", scratch_path(folder, "full"));
    weft_graph *const graph = make_graph(2, false);
    fill(graph, 5);
    assert_ok(weft_checkpoint_save(graph, path, NULL, 0));
    fill(graph, 6);
    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 100;
    void (*const handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const weft_status status = weft_checkpoint_save(graph, path, NULL, 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, handler);
    assert_fails(status, WEFT_ERROR_FILE, "/full': File too large");
    assert_int_equal(scratch_count(folder, ".tmp", NULL), 0);
    assert_ok(weft_checkpoint_load(graph, path, NULL, 0));
    assert_filled(graph, 5);
    scratch_remove(folder);
    weft_graph_release(graph);
}

static void folders_that_cannot_be_written_are_named(void **state) {
    (void)state;
    weft_graph *const graph = make_graph(2, false);
    assert_fails(
        weft_checkpoint_save(graph, "/proc/self/weft", NULL, 0), WEFT_ERROR_FILE, "/proc/self/weft'");
    assert_fails(weft_checkpoint_save(graph, "/no/such/x", NULL, 0), WEFT_ERROR_FILE, "/no/such'");
    assert_fails(weft_checkpoint_load(graph, "/no/such/x", NULL, 0), WEFT_ERROR_FILE, "/no/such/x'");
    assert_fails(weft_checkpoint_load(graph, "/", NULL, 0), WEFT_ERROR_FILE, "not a regular file");
    assert_fails(weft_checkpoint_load(graph, "/dev/zero", NULL, 0), WEFT_ERROR_FILE, "not a regular file");
    char *const folder = scratch_make();
    assert_int_equal(chmod(folder, 0500), 0);
    if (geteuid() != 0) /* root may write everywhere */
        assert_fails(weft_checkpoint_save(graph, scratch_path(folder, "x"), NULL, 0), WEFT_ERROR_FILE,
            "Permission denied");
    scratch_remove(folder);
    weft_graph_release(graph);
}

/* What a process that was killed has left is removed by the next save; what a living one writes is not. */
static void temporaries_of_the_dead_are_removed(void **state) {
    (void)state;
    char *const folder = scratch_make();
    char path[PATH_ROOM];
    snprintf(path, sizeof path, "%s", scratch_path(folder, "model"));
    weft_graph *const graph = make_graph(2, false);
    wi_file_writer *living = NULL;
    assert_ok(wi_file_writer_begin(&living, NULL, path));
    write_bytes(scratch_path(folder, "model.1-2-3.tmp"), "half", 4);
    write_bytes(scratch_path(folder, "model.1-2-4.tmp"), "", 0);
    write_bytes(scratch_path(folder, "other.1-2-3.tmp"), "not ours", 8);
    assert_int_equal(scratch_count(folder, ".tmp", NULL), 4);
    assert_ok(weft_checkpoint_save(graph, path, NULL, 0));
    assert_int_equal(scratch_count(folder, ".tmp", NULL), 2);
    assert_int_equal(scratch_count(folder, "other", NULL), 1);
    assert_ok(wi_file_writer_append(living, "new", 3));
    assert_ok(wi_file_writer_commit(living));
    assert_int_equal(scratch_count(folder, ".tmp", NULL), 1);
    scratch_remove(folder);
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cut_and_every_flipped_byte_is_noticed),
        cmocka_unit_test(signed_nonsense_is_refused),
        cmocka_unit_test(other_networks_are_told_apart),
        cmocka_unit_test(what_is_refused_is_let_go),
        cmocka_unit_test(another_seed_is_refused_where_it_matters),
        cmocka_unit_test(a_full_disk_leaves_the_old_file),
        cmocka_unit_test(folders_that_cannot_be_written_are_named),
        cmocka_unit_test(temporaries_of_the_dead_are_removed),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
