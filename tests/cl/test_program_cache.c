/* Programs in memory and on disk: reuse, damage, failed builds, bad disks, lack of memory. */
#include "base/platform.h"
#include "cl/device_values.h"
#include "cl/disk_cache.h"
#include "cl/launch.h"
#include "cl/matrix_engine.h"
#include "cl/quirks.h"
#include "support/checks.h"
#include "support/scratch.h"
#include "support/small_program.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static void assert_stats(const weft_context *context, size_t built, size_t loaded, size_t reused) {
    const wi_program_stats *const stats = wi_programs_stats(wi_context_device(context));
    assert_int_equal(stats->built, built);
    assert_int_equal(stats->loaded, loaded);
    assert_int_equal(stats->reused, reused);
}

static void programs_are_found_in_memory_and_on_disk(void **state) {
    weft_context *context = scratch_context(*state, NULL);
    const size_t probe = wi_programs_stats(wi_context_device(context))->built;
    wi_program *first = NULL, *second = NULL, *third = NULL;
    assert_ok(small_program_use(context, NULL));
    assert_ok(wi_program_get(&first, wi_context_device(context), "again", SMALL_SOURCE, ""));
    assert_ok(wi_program_get(&second, wi_context_device(context), "other options", SMALL_SOURCE, "-D OTHER"));
    assert_ok(wi_program_get(&third, wi_context_device(context), "other source", SMALL_SOURCE "\n", NULL));
    assert_ptr_not_equal(first, second);
    assert_ptr_not_equal(first, third);
    assert_stats(context, probe + 3, 0, 1);
    const int before = scratch_count(*state, ".weft", NULL);
    wi_programs_save(wi_context_device(context));
    assert_int_equal(scratch_count(*state, ".weft", NULL), before + 1); /* only that one's kernels ran */
    weft_context_release(context);
    context = scratch_context(*state, NULL);
    assert_ok(small_program_use(context, NULL));
    assert_ok(small_program_use(context, NULL));
    assert_stats(context, 0, 1, 1);
    assert_true(wi_programs_stats(wi_context_device(context))->seconds > 0);
    weft_context_release(context);
    assert_int_equal(scratch_count(*state, ".weft", NULL), before + 1);
    assert_int_equal(scratch_count(*state, ".tmp", NULL), 0);
}

static bool is_saved_by_release(const char *folder) {
    weft_context *context = scratch_context(folder, NULL);
    assert_ok(small_program_use(context, NULL));
    weft_context_release(context);
    context = scratch_context(folder, NULL);
    assert_ok(small_program_use(context, NULL));
    const bool saved = wi_programs_stats(wi_context_device(context))->loaded == 1;
    weft_context_release(context);
    return saved;
}

/* Unless the driver keeps its kernels itself: PoCL, whose variable this is, does by default. (It has read it
 * by now.)
 */
static void releasing_saves_too(void **state) {
    weft_context *const context = scratch_context(*state, NULL);
    const bool keeps = wi_context_device(context)->caps.quirks & WI_QUIRK_OWN_CACHE;
    const char *const set = getenv("POCL_KERNEL_CACHE");
    char *const before = set ? strdup(set) : NULL;
    weft_context_release(context);
    unsetenv("POCL_KERNEL_CACHE");
    assert_int_equal(is_saved_by_release(*state), !keeps);
    setenv("POCL_KERNEL_CACHE", "0", 1);
    assert_true(is_saved_by_release(*state));
    if (before)
        setenv("POCL_KERNEL_CACHE", before, 1);
    else
        unsetenv("POCL_KERNEL_CACHE");
    free(before);
}

static wi_cache_key small_key(const wi_device *device) {
    char options[128];
    snprintf(options, sizeof options, "-w -cl-std=CL1.2 -D WEFT_LANES=%d -D WEFT_GROUP=%d%s",
        device->profile.lanes, device->profile.group,
        device->caps.engines & WI_ENGINE_AVX512_BF16 ? " -D WEFT_ENGINE_VECTORS" : "");
    return wi_disk_cache_key(device, SMALL_SOURCE, options);
}

/* The path of the small program's entry, after it was built and saved. */
static void save_small(const char *folder, char *path) {
    weft_context *const context = scratch_context(folder, NULL);
    assert_ok(small_program_use(context, NULL));
    wi_programs_save(wi_context_device(context));
    const wi_cache_key key = small_key(wi_context_device(context));
    wi_disk_cache_path(wi_context_device(context), key, path, PATH_MAX);
    assert_true(wi_file_exists(path));
    weft_context_release(context);
}

static void assert_rebuilt(const char *folder, const char *damage) {
    scratch_log log = {0};
    weft_context *context = scratch_context(folder, &log);
    assert_ok(small_program_use(context, NULL));
    if (wi_programs_stats(wi_context_device(context))->built != 1) print_error("not noticed: %s\n", damage);
    assert_stats(context, 1, 0, 0);
    if (log.warnings == 0) print_error("not logged: %s\n", damage);
    assert_true(log.warnings > 0);
    wi_programs_save(wi_context_device(context)); /* a good one */
    weft_context_release(context);
    context = scratch_context(folder, NULL);
    assert_ok(small_program_use(context, NULL));
    assert_stats(context, 0, 1, 0);
    weft_context_release(context);
}

static void damaged_entries_are_rebuilt(void **state) {
    char path[PATH_MAX];
    char *whole = NULL;
    size_t bytes = 0;
    save_small(*state, path);
    assert_ok(wi_file_read(NULL, path, &whole, &bytes));
    const size_t cuts[] = {0, 7, 47, 48, bytes / 2, bytes - 1};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        assert_ok(wi_file_write_atomic(path, whole, cuts[i]));
        assert_rebuilt(*state, "an entry cut short");
    }
    const size_t places[] = {0, 8, 12, 16, 24, 32, 40, 48, bytes / 2, bytes - 1};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        whole[places[i]] ^= 1;
        assert_ok(wi_file_write_atomic(path, whole, bytes));
        whole[places[i]] ^= 1;
        assert_rebuilt(*state, "an entry with a flipped bit");
    }
    wi_release(NULL, whole);
}

static void a_foreign_entry_is_rebuilt(void **state) {
    char path[PATH_MAX], other[PATH_MAX];
    char *whole = NULL;
    size_t bytes = 0;
    save_small(*state, path);
    weft_context *const context = scratch_context(*state, NULL);
    wi_device_value_set(wi_context_device(context), "a value", 1.0);
    wi_disk_cache_path(wi_context_device(context),
        wi_disk_cache_key(wi_context_device(context), "value of a device", "a value"), other, sizeof other);
    weft_context_release(context);
    assert_ok(wi_file_read(NULL, other, &whole, &bytes));
    assert_ok(wi_file_write_atomic(path, whole, bytes));
    wi_release(NULL, whole);
    assert_rebuilt(*state, "another's entry");
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    weft_context *const blocked = scratch_context(*state, NULL);
    assert_ok(small_program_use(blocked, NULL)); /* neither readable nor replaceable */
    assert_stats(blocked, 1, 0, 0);
    weft_context_release(blocked);
}

static void a_binary_that_the_driver_refuses_is_rebuilt(void **state) {
    char path[PATH_MAX];
    static const char junk[] = "this is no program for any device";
    save_small(*state, path);
    weft_context *const context = scratch_context(*state, NULL);
    const bool rusticl = strcmp(weft_context_device(context)->platform, "rusticl") == 0;
    if (rusticl) weft_context_release(context);
    if (rusticl) skip(); /* 22.3 aborts the process when a binary is not its own */
    const wi_cache_key key = small_key(wi_context_device(context));
    assert_true(wi_disk_cache_write(wi_context_device(context), key, WI_CACHE_BINARY, junk, sizeof junk));
    weft_context_release(context);
    assert_rebuilt(*state, "a binary of junk");
}

static void count_progress(void *user, size_t done, size_t total, const char *what) {
    assert_int_equal(total, 1);
    assert_true(done <= total);
    if (strcmp(what, "the bad program") == 0) ++*(int *)user;
}

/* Such a program is compiled twice. hypot: no kernel of Weft calls it. */
static void functions_that_are_not_declared_are_found(void **state) {
    static const char source[] = "__kernel void far(__global float *x) { x[0] = hypot(x[0], x[1]); }\n";
    weft_context *const context = scratch_context(*state, NULL);
    wi_device *const device = wi_context_device(context);
    wi_program *program = NULL;
    assert_ok(wi_program_get(&program, device, "declared", SMALL_SOURCE, NULL));
    assert_int_equal(wi_programs_stats(device)->undeclared, 0);
    assert_ok(wi_program_get(&program, device, "undeclared", source, NULL));
    assert_int_equal(
        wi_programs_stats(device)->undeclared, (device->caps.quirks & WI_QUIRK_SLOW_HEADER) != 0);
    weft_context_release(context);
}

static const char bad_source[] =
    "__kernel void bad(__global float *x) {\n    *x = weft_undeclared_name;\n}\n";

static void a_failed_build_is_remembered(void **state) {
    scratch_log log = {0};
    weft_context *context = NULL;
    wi_program *program = (wi_program *)&log;
    int builds = 0;
    const weft_context_options options = {WEFT_CONTEXT_OPTIONS_INIT, .cache_dir = *state,
        .log = scratch_log_line, .log_user = &log, .progress = count_progress, .progress_user = &builds};
    assert_ok(weft_context_create(&context, &options));
    log.text[0] = '\0';
    assert_fails(wi_program_get(&program, wi_context_device(context), "the bad program", bad_source, NULL),
        WEFT_ERROR_BUILD, "the bad program did not compile");
    assert_null(program);
    assert_non_null(strstr(weft_last_error(), "weft_undeclared_name"));
    assert_non_null(strstr(log.text, "weft_undeclared_name"));
    assert_int_equal(builds, 2); /* begun and ended */
    assert_fails(wi_program_get(&program, wi_context_device(context), "the bad program", bad_source, NULL),
        WEFT_ERROR_BUILD, "weft_undeclared_name");
    assert_int_equal(builds, 2);
    weft_context_release(context);
    assert_ok(weft_context_create(&context, &options));
    assert_fails(wi_program_get(&program, wi_context_device(context), "the bad program", bad_source, NULL),
        WEFT_ERROR_BUILD, "weft_undeclared_name");
    assert_int_equal(builds, 2);
    assert_non_null(strstr(weft_last_error(), *state)); /* says where it is remembered */
    assert_ok(small_program_use(context, NULL));
    weft_context_release(context);
}

static void a_failure_is_remembered_without_a_disk(void **state) {
    int builds = 0;
    weft_context *context = NULL;
    wi_program *program = NULL;
    (void)state;
    assert_ok(
        weft_context_create(&context, &(weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .cache_dir = "",
                                          .progress = count_progress, .progress_user = &builds}));
    for (int i = 0; i < 3; i++)
        assert_status(
            wi_program_get(&program, wi_context_device(context), "the bad program", bad_source, NULL),
            WEFT_ERROR_BUILD);
    assert_int_equal(builds, 2);
    weft_context_release(context);
}

static void unknown_kernels_have_a_named_error(void **state) {
    weft_context *const context = scratch_context(*state, NULL);
    wi_program *program = NULL;
    cl_kernel kernel = NULL;
    assert_ok(wi_program_get(&program, wi_context_device(context), "the small program", SMALL_SOURCE, NULL));
    assert_fails(wi_program_kernel(&kernel, program, "stretch"), WEFT_ERROR_OPENCL,
        "kernel stretch of the small program: CL_INVALID_KERNEL_NAME");
    assert_null(kernel);
    weft_context_release(context);
}

static void a_launch_that_fails_names_kernel_and_sizes(void **state) {
    weft_context *const context = scratch_context(*state, NULL);
    wi_program *program = NULL;
    wi_launch launch = {.dimensions = 1, .global = {64, 1, 1}, .local = {1, 1, 1}, .name = "scale"};
    assert_ok(wi_program_get(&program, wi_context_device(context), "the small program", SMALL_SOURCE, NULL));
    assert_ok(wi_program_kernel(&launch.kernel, program, "scale"));
    launch.local[0] = wi_context_device(context)->caps.max_work_group_size + 1;
    launch.global[0] = launch.local[0];
    assert_fails(
        wi_launch_run(&launch, wi_context_device(context)), WEFT_ERROR_OPENCL, "launching scale over ");
    wi_launch_clear(&launch);
    wi_launch_clear(&launch); /* once more does nothing */
    assert_null(launch.kernel);
    assert_ok(wi_queue_flush(wi_context_device(context)));
    assert_ok(wi_queue_finish(wi_context_device(context)));
    weft_context_release(context);
}

static void a_folder_that_cannot_be_is_a_warning(void **state) {
    scratch_log log = {0};
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", scratch_path(*state, "file/folder"));
    assert_ok(wi_file_write_atomic(scratch_path(*state, "file"), "", 0));
    weft_context *const context = scratch_context(path, &log);
    assert_ok(small_program_use(context, NULL));
    wi_programs_save(wi_context_device(context));
    wi_device_value_set(wi_context_device(context), "speed", 2.0);
    assert_int_equal(log.warnings, 1); /* once, not for every entry */
    assert_non_null(strstr(log.text, "kernel cache: cannot create folder"));
    weft_context_release(context);
}

static void a_read_only_folder_is_a_warning(void **state) {
    enum { NOBODY = 65534 }; /* root may write everywhere, so it becomes somebody else for a moment */
    scratch_log log = {0};
    weft_context *const context = scratch_context(*state, &log);
    const bool root = geteuid() == 0;
    if (root) assert_int_equal(chown(*state, NOBODY, NOBODY), 0);
    assert_int_equal(chmod(*state, 0500), 0);
    if (root) assert_int_equal(seteuid(NOBODY), 0);
    wi_device_value_set(wi_context_device(context), "speed", 2.0);
    if (root) assert_int_equal(seteuid(0), 0);
    assert_int_equal(log.warnings, 1);
    assert_non_null(strstr(log.text, "Permission denied"));
    assert_ok(small_program_use(context, NULL));
    weft_context_release(context);
}

/* A limit on file size stands for a full disk. */
static void a_full_disk_is_a_warning(void **state) {
    scratch_log log = {0};
    struct rlimit before, tight;
    double value = 0;
    weft_context *const context = scratch_context(*state, &log);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    tight = before;
    tight.rlim_cur = 10;
    void (*const handler)(int) = signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &tight);
    wi_device_value_set(wi_context_device(context), "speed", 2.0);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);
    assert_int_equal(log.warnings, 1);
    assert_non_null(strstr(log.text, "File too large"));
    assert_true(wi_device_value_get(wi_context_device(context), "speed", &value)); /* in memory still */
    assert_true(value == 2.0);
    assert_ok(small_program_use(context, NULL));
    weft_context_release(context);
    assert_int_equal(scratch_count(*state, ".tmp", NULL), 0);
}

static void restore_variable(const char *name, char *kept) {
    if (kept)
        setenv(name, kept, 1);
    else
        unsetenv(name);
    free(kept);
}

static char *keep_variable(const char *name) {
    const char *const value = getenv(name);
    return value ? strdup(value) : NULL;
}

static int entries_after_opening(const char *folder, const char *entries) {
    weft_context *context = scratch_context(folder, NULL);
    wi_device_value_set(wi_context_device(context), "an entry", 1);
    const bool probed = wi_context_device(context)->caps.device_class != WEFT_CLASS_CPU;
    const bool measured = wi_context_device(context)->caps.engine_rate > 0.0;
    weft_context_release(context);
    const int count = scratch_count(entries, ".weft", NULL);
    return count < 0 ? count : count - probed - measured;
}

#ifdef _WIN32
#define CACHE_HOME  "LOCALAPPDATA"
#define CACHE_BELOW "/weft/cache"
#else
#define CACHE_HOME  "XDG_CACHE_HOME"
#define CACHE_BELOW "/weft"
#endif

static void the_folder_is_found_as_documented(void **state) {
    static const char *const names[] = {"WEFT_CACHE_DIR", CACHE_HOME, "HOME"};
    char own[PATH_MAX], xdg[PATH_MAX], home[PATH_MAX], xdg_entries[PATH_MAX], home_entries[PATH_MAX];
    char *kept[3];
    struct stat made;
    for (int i = 0; i < 3; i++) kept[i] = keep_variable(names[i]);
    snprintf(own, sizeof own, "%s", scratch_path(*state, "own"));
    snprintf(xdg, sizeof xdg, "%s", scratch_path(*state, "xdg"));
    snprintf(home, sizeof home, "%s", scratch_path(*state, "home"));
    snprintf(xdg_entries, sizeof xdg_entries, "%s", scratch_path(*state, "xdg" CACHE_BELOW));
    snprintf(home_entries, sizeof home_entries, "%s", scratch_path(*state, "home/.cache/weft"));
    setenv("WEFT_CACHE_DIR", own, 1);
    setenv(CACHE_HOME, xdg, 1);
    setenv("HOME", home, 1);
    assert_int_equal(entries_after_opening("", own), -1); /* nothing is made */
    assert_int_equal(entries_after_opening(NULL, own), 1);
    assert_int_equal(entries_after_opening(NULL, xdg_entries), -1);
    unsetenv("WEFT_CACHE_DIR");
    assert_int_equal(entries_after_opening(NULL, xdg_entries), 1);
    assert_int_equal(stat(xdg_entries, &made), 0);
#ifndef _WIN32
    assert_int_equal(made.st_mode & 0777, 0700);
    setenv("XDG_CACHE_HOME", "relative", 1);
    assert_int_equal(entries_after_opening(NULL, home_entries), 1);
#endif
    for (int i = 0; i < 3; i++) restore_variable(names[i], kept[i]);
}

static void getting_survives_every_lack_of_memory(void **state) {
    scratch_allocator allocator;
    weft_context *context = NULL;
    char path[PATH_MAX];
    save_small(*state, path);
    scratch_allocator_init(&allocator, -1);
    assert_ok(weft_context_create(&context, &(weft_context_options){WEFT_CONTEXT_OPTIONS_INIT,
                                                .cache_dir = *state, .allocator = &allocator.hooks}));
    static const char *const sources[] = {
        SMALL_SOURCE, "__kernel void k(__global int *x) { *x = 1; }", bad_source};
    const weft_status wanted[] = {WEFT_OK, WEFT_OK, WEFT_ERROR_BUILD}; /* from disk, built, failed */
    for (int i = 0; i < 3; i++) {
        weft_status status = WEFT_ERROR_MEMORY;
        wi_program *program = NULL;
        long limit = 0;
        for (; status == WEFT_ERROR_MEMORY; limit++) {
            const long live = atomic_load(&allocator.live);
            atomic_store(&allocator.made, 0);
            atomic_store(&allocator.fail_after, limit);
            status = wi_program_get(&program, wi_context_device(context), "a program", sources[i], NULL);
            if (status != WEFT_ERROR_MEMORY) break;
            assert_null(program);
            assert_int_equal(atomic_load(&allocator.live), live);
        }
        assert_status(status, wanted[i]);
        assert_in_range(limit, 3, 20);
    }
    atomic_store(&allocator.fail_after, 0);
    atomic_store(&allocator.made, 0);
    wi_programs_save(wi_context_device(context));
    weft_context_release(context);
    assert_int_equal(atomic_load(&allocator.live), 0);
}

#define WITH_SCRATCH(test) SCRATCH_TEST(test)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_SCRATCH(programs_are_found_in_memory_and_on_disk),
        WITH_SCRATCH(releasing_saves_too),
        WITH_SCRATCH(damaged_entries_are_rebuilt),
        WITH_SCRATCH(a_foreign_entry_is_rebuilt),
        WITH_SCRATCH(a_binary_that_the_driver_refuses_is_rebuilt),
        WITH_SCRATCH(functions_that_are_not_declared_are_found),
        WITH_SCRATCH(a_failed_build_is_remembered),
        cmocka_unit_test(a_failure_is_remembered_without_a_disk),
        WITH_SCRATCH(unknown_kernels_have_a_named_error),
        WITH_SCRATCH(a_launch_that_fails_names_kernel_and_sizes),
        WITH_SCRATCH(a_folder_that_cannot_be_is_a_warning),
        WITH_SCRATCH(a_read_only_folder_is_a_warning),
        WITH_SCRATCH(a_full_disk_is_a_warning),
        WITH_SCRATCH(the_folder_is_found_as_documented),
        WITH_SCRATCH(getting_survives_every_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
