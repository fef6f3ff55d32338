/* Files of compiled kernels: exported, and imported into another folder, where plans then compile nothing; refused if
 * they are damaged or for another device. */
#include "base/platform.h"
#include "cl/context.h"
#include "cl/program.h"
#include "support/fixture.h"
#include "support/scratch.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

enum { COLUMNS = 5, ROWS = 3, IDENTITY = 24, CHECKSUM = 304, HEADER = 312 };

/* Plans and runs a small network; returns how many programs this compiles. */
static size_t run_network(weft_context *context, float y[ROWS]) {
    const size_t before = wi_programs_stats(wi_context_device(context))->built;
    float x[ROWS * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++) x[i] = 0.25f * (float)i - 1.0f;
    weft_tensor *const input = weft_input(weft_context_graph(context), "x", WEFT_F32, COLUMNS);
    weft_tensor *const output = weft_sum(weft_tanh(weft_mul(input, input)), 1);
    const weft_column column = {.name = "x", .dtype = WEFT_F32, .rank = 1, .dims = {COLUMNS}, .data = x};
    assert_weft_ok(weft_predict(output, ROWS, &column, 1, y, ROWS * sizeof *y));
    return wi_programs_stats(wi_context_device(context))->built - before;
}

/* The path of a file that was exported to a folder whose kernels are compiled. */
static const char *export_kernels(const char *folder, float y[ROWS]) {
    static char path[PATH_MAX];
    size_t programs = 0;
    weft_context *const context = scratch_context(folder, NULL);
    snprintf(path, sizeof path, "%s", test_path("kernels"));
    assert_true(run_network(context, y) > 0);
    assert_weft_ok(weft_cache_export(context, path, &programs));
    assert_true(programs > 0);
    weft_context_release(context);
    return path;
}

static void nothing_is_compiled_after_an_import(void **state) {
    float y[ROWS], again[ROWS];
    size_t programs = 0;
    char *const other = scratch_make();
    const char *const path = export_kernels(*state, y);
    weft_context *context = scratch_context(other, NULL);
    assert_weft_ok(weft_cache_import(context, path, &programs));
    assert_true(programs > 0);
    assert_int_equal(run_network(context, again), 0);
    assert_true(wi_programs_stats(wi_context_device(context))->loaded > 0);
    assert_memory_equal(y, again, sizeof y);
    weft_context_release(context);
    context = scratch_context(other, NULL); /* the folder keeps them */
    assert_int_equal(run_network(context, again), 0);
    assert_memory_equal(y, again, sizeof y);
    assert_weft_ok(weft_cache_export(context, path, NULL)); /* also what was not compiled here */
    weft_context_release(context);
    scratch_remove(other);
}

/* ---- files that are refused ---- */

typedef struct victim {
    weft_context *context;
    char *folder, *data;
    const char *path;
    size_t bytes;
    int entries; /* in the folder before */
} victim;

static void begin(victim *v, const char *folder) {
    float y[ROWS];
    v->path = export_kernels(folder, y);
    v->folder = scratch_make();
    v->context = scratch_context(v->folder, NULL);
    assert_weft_ok(wi_file_read(NULL, v->path, &v->data, &v->bytes));
    assert_true(v->bytes > HEADER);
    v->entries = scratch_count(v->folder, ".weft", NULL);
}

static void end(victim *v) {
    assert_weft_ok(wi_file_write_atomic(v->path, v->data, v->bytes));
    assert_weft_ok(weft_cache_import(v->context, v->path, NULL));
    assert_true(scratch_count(v->folder, ".weft", NULL) > v->entries);
    weft_context_release(v->context);
    scratch_remove(v->folder);
    wi_release(NULL, v->data);
}

static void assert_refused(const victim *v, size_t bytes, weft_status status, const char *why) {
    assert_weft_ok(wi_file_write_atomic(v->path, v->data, bytes));
    assert_weft_fails(
        status, weft_cache_import(v->context, v->path, NULL), "weft_cache_import", v->path, why);
    assert_int_equal(scratch_count(v->folder, ".weft", NULL), v->entries);
}

/* Changes bits in every byte of the header, and here and there behind it. */
static void damaged_files_are_refused(void **state) {
    victim v;
    begin(&v, *state);
    for (size_t i = 0; i < v.bytes; i += i < HEADER ? 1 : v.bytes / 20 + 1) {
        v.data[i] ^= (char)(1 << i % 8);
        assert_refused(
            &v, v.bytes, WEFT_ERROR_FORMAT, i < 8 ? "is not a file of compiled kernels" : "is damaged");
        v.data[i] ^= (char)(1 << i % 8);
    }
    for (size_t i = 0; i < v.bytes; i += i < HEADER ? 13 : v.bytes / 20 + 1)
        assert_refused(&v, i, WEFT_ERROR_FORMAT, "");
    assert_refused(&v, v.bytes - 1, WEFT_ERROR_FORMAT, "is damaged");
    end(&v);
}

/* As another program would write it that counts wrongly, or on another machine. */
static void seal(victim *v) {
    uint64_t bytes;
    memcpy(&bytes, v->data + CHECKSUM - sizeof bytes, sizeof bytes);
    const uint64_t sum = XXH3_64bits_withSeed(v->data + HEADER, bytes, XXH3_64bits(v->data, CHECKSUM));
    memcpy(v->data + CHECKSUM, &sum, sizeof sum);
}

static void files_of_others_are_refused(void **state) {
    static const struct {
        size_t at; /* byte of the header */
        weft_status status;
        const char *why;
    } rows[] = {{IDENTITY, WEFT_ERROR_UNSUPPORTED, "are for"}, {8, WEFT_ERROR_UNSUPPORTED, "are for"},
        {15, WEFT_ERROR_FORMAT, "is damaged"}, {12, WEFT_ERROR_FORMAT, "is damaged"},
        {16, WEFT_ERROR_FORMAT, "is damaged"}};
    victim v;
    begin(&v, *state);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        v.data[rows[i].at] ^= 64;
        seal(&v);
        assert_refused(&v, v.bytes, rows[i].status, rows[i].why);
        v.data[rows[i].at] ^= 64;
    }
    seal(&v);
    end(&v);
}

static void wrong_calls_say_what_is_missing(void **state) {
    weft_context *context = scratch_context(*state, NULL);
    size_t programs = 1;
    assert_weft_fails(
        WEFT_ERROR_ARGUMENT, weft_cache_export(NULL, "x", &programs), "weft_cache_export: context is NULL");
    assert_int_equal(programs, 0);
    assert_weft_fails(
        WEFT_ERROR_ARGUMENT, weft_cache_import(context, NULL, NULL), "weft_cache_import: path is NULL");
    assert_weft_fails(WEFT_ERROR_FILE, weft_cache_import(context, test_path("none"), NULL), "none");
    assert_weft_fails(WEFT_ERROR_STATE, weft_cache_export(context, test_path("new"), NULL),
        "there are no compiled kernels", wi_context_device(context)->info.name);
    assert_false(wi_file_exists(test_path("new")));
    weft_context_release(context);
    assert_weft_ok(
        weft_context_create(&context, &(weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .cache_dir = ""}));
    assert_weft_fails(WEFT_ERROR_STATE, weft_cache_import(context, test_path("new"), NULL), "cache_dir");
    assert_weft_fails(WEFT_ERROR_STATE, weft_cache_export(context, test_path("new"), NULL), "cache_dir");
    weft_context_release(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {SCRATCH_TEST(nothing_is_compiled_after_an_import),
        SCRATCH_TEST(damaged_files_are_refused), SCRATCH_TEST(files_of_others_are_refused),
        SCRATCH_TEST(wrong_calls_say_what_is_missing)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
