/* Tuning files: what the tuner keeps is found again; what is damaged, of another device, driver or version, or no tuning file is
 * ignored with one line of the log, and never overwritten where it is another's. */
#include "base/platform.h"
#include "support/checks.h"
#include "support/scratch.h"

#include "cl/choices.h"
#include "cl/context.h"
#include "cl/disk_cache.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static weft_context *open_context(const char *folder, const char *file, scratch_log *log) {
    weft_context *context = NULL;
    const weft_context_options options = {WEFT_CONTEXT_OPTIONS_INIT, .cache_dir = folder, .tuning_file = file,
        .log = scratch_log_line, .log_user = log};
    assert_ok(weft_context_create(&context, &options));
    return context;
}

static int restore(void **state) {
    unsetenv("WEFT_TUNING");
    return scratch_teardown(state);
}

static void write_text(const char *path, const char *text) {
    FILE *const file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static char *read_text(const char *path) {
    static char text[65536];
    FILE *const file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static mode_t file_mode(const char *path) {
    struct stat state;
    assert_int_equal(lstat(path, &state), 0);
    return state.st_mode;
}

static void assert_is_file(const char *path, mode_t mode) {
    assert_true(S_ISREG(file_mode(path)));
    assert_int_equal(file_mode(path) & 07777, mode);
}

static char site_a[] = "matmul 1,2,3", site_b[] = "matmul 4,5,6", fast[] = "quick/one", slow[] = "slow/";
static char why[] = "it did not end in time";

static void set_both(wi_device *device) {
    assert_ok(
        wi_choices_set(device, &(wi_choice){.site = site_a, .kernel = fast, .seconds = 0.25, .usual = 0.5}));
    assert_ok(wi_choices_set(device, &(wi_choice){.site = site_a, .kernel = slow, .fault = why}));
}

static void expect_both(wi_device *device) {
    const wi_choice *const choice = wi_choices_find(device, site_a);
    assert_non_null(choice);
    assert_string_equal(choice->kernel, fast);
    assert_true(choice->seconds == 0.25 && choice->usual == 0.5);
    assert_string_equal(wi_choices_fault(device, site_a, slow), why);
    assert_null(wi_choices_fault(device, site_a, fast));
    assert_null(wi_choices_find(device, site_b));
}

/* In the cache folder, and in a file that is shipped, by the option and by the environment. */
static void choices_are_found_again(void **state) {
    char file[4096], elsewhere[4096];
    scratch_log log = {0};
    snprintf(file, sizeof file, "%s", scratch_path(*state, "shipped.txt"));
    snprintf(elsewhere, sizeof elsewhere, "%s", scratch_path(*state, "elsewhere"));
    weft_context *context = open_context(*state, NULL, &log);
    set_both(wi_context_device(context));
    assert_ok(wi_choices_save(wi_context_device(context), NULL));
    assert_ok(wi_choices_save(wi_context_device(context), file));
    weft_context_release(context);
    for (int way = 0; way < 3; way++) {
        if (way == 2) setenv("WEFT_TUNING", file, 1);
        context = open_context(way == 0 ? *state : elsewhere, way == 1 ? file : NULL, &log);
        expect_both(wi_context_device(context));
        wi_choices_use(wi_context_device(context), false);
        assert_null(wi_choices_find(wi_context_device(context), site_a));
        assert_non_null(wi_choices_fault(wi_context_device(context), site_a, slow)); /* bad stays bad */
        weft_context_release(context);
    }
    assert_int_equal(log.warnings, 0);
}

/* The library's file replaces a link and does not read through it; a file that the user names is reached through links. */
static void links_lead_to_named_files_only(void **state) {
    char target[4096], shipped[4096], own[4096], named[4096];
    scratch_log log = {0};
    snprintf(target, sizeof target, "%s", scratch_path(*state, "target.txt"));
    snprintf(shipped, sizeof shipped, "%s", scratch_path(*state, "shipped.txt"));
    snprintf(own, sizeof own, "%s", scratch_path(*state, "tuning.txt"));
    snprintf(named, sizeof named, "%s", scratch_path(*state, "named.txt"));
    weft_context *context = open_context(*state, NULL, &log);
    set_both(wi_context_device(context));
    assert_ok(wi_choices_save(wi_context_device(context), target));
    assert_ok(wi_choices_save(wi_context_device(context), shipped));
    assert_int_equal(chmod(target, 0640), 0);
    assert_int_equal(chmod(shipped, 0640), 0);
    weft_context_release(context);
    assert_int_equal(symlink(target, own), 0);
    assert_int_equal(symlink(shipped, named), 0);
    context = open_context(*state, NULL, &log);
    assert_null(wi_choices_find(wi_context_device(context), site_a));
    assert_non_null(strstr(log.text, "tuning.txt' is a symbolic link; the file is not used"));
    assert_ok(wi_choices_set(wi_context_device(context),
        &(wi_choice){.site = site_b, .kernel = fast, .seconds = 0.25, .usual = 0.5}));
    assert_ok(wi_choices_save(wi_context_device(context), NULL));
    assert_ok(wi_choices_save(wi_context_device(context), named));
    weft_context_release(context);
    assert_null(strstr(read_text(target), site_b));
    assert_is_file(target, 0640);
    assert_is_file(own, 0600);
    assert_null(strstr(read_text(own), site_a)); /* what the link led to was not taken over */
    assert_non_null(strstr(read_text(own), site_b));
    assert_true(S_ISLNK(file_mode(named)));
    assert_non_null(strstr(read_text(shipped), site_b));
    assert_is_file(shipped, 0640);
}

/* What was found on this machine comes before what was shipped. */
static void the_own_file_comes_first(void **state) {
    char file[4096];
    scratch_log log = {0};
    snprintf(file, sizeof file, "%s", scratch_path(*state, "shipped.txt"));
    weft_context *context = open_context(*state, NULL, &log);
    wi_device *device = wi_context_device(context);
    assert_ok(wi_choices_set(device, &(wi_choice){.site = site_a, .kernel = slow, .seconds = 1, .usual = 1}));
    assert_ok(wi_choices_set(device, &(wi_choice){.site = site_b, .kernel = slow, .seconds = 1, .usual = 1}));
    assert_ok(wi_choices_save(device, file));
    weft_context_release(context);
    context = open_context(*state, NULL, &log);
    assert_ok(wi_choices_set(
        wi_context_device(context), &(wi_choice){.site = site_a, .kernel = fast, .seconds = 1, .usual = 1}));
    assert_ok(wi_choices_save(wi_context_device(context), NULL));
    weft_context_release(context);
    context = open_context(*state, file, &log);
    device = wi_context_device(context);
    assert_string_equal(wi_choices_find(device, site_a)->kernel, fast);
    assert_string_equal(wi_choices_find(device, site_b)->kernel, slow);
    weft_context_release(context);
}

/* As an editor on Windows saves them. */
static void lines_may_end_with_cr_lf(void **state) {
    char path[4096], text[4096];
    scratch_log log = {0};
    snprintf(path, sizeof path, "%s", scratch_path(*state, "edited.txt"));
    weft_context *context = open_context(*state, NULL, &log);
    set_both(wi_context_device(context));
    assert_ok(wi_choices_save(wi_context_device(context), path));
    weft_context_release(context);
    snprintf(text, sizeof text, "%s", read_text(path));
    FILE *const file = fopen(path, "wb");
    assert_non_null(file);
    for (const char *at = text; *at; at++) fputs(*at == '\n' ? "\r\n" : (char[]){*at, '\0'}, file);
    assert_int_equal(fclose(file), 0);
    context = open_context(*state, path, &log);
    expect_both(wi_context_device(context));
    assert_ok(wi_choices_save(wi_context_device(context), path));
    weft_context_release(context);
    assert_string_equal(read_text(path), text);
    assert_int_equal(log.warnings, 0);
}

/* A section as of a device that differs in one of its five names. */
static void append_section(wi_text *text, const wi_device *device, int other, const char *kernel) {
    const weft_device_info *const info = &device->info;
    const char *const names[] = {
        info->name, info->platform, info->driver, weft_version(), device->profile.name};
    wi_text_append(text, "weft tuning 1\ndevice");
    for (int i = 0; i < 5; i++) wi_text_append(text, "\t%s%s", names[i], i == other ? "+" : "");
    wi_text_append(text, "\nchoice\t%s\t%s\t0.25\t0.5\n", site_a, kernel);
}

/* Files are merged by writing one after the other, and other devices' sections survive a save. */
static void other_sections_are_passed_over_and_kept(void **state) {
    char file[4096], *old;
    scratch_log log = {0};
    wi_text text;
    snprintf(file, sizeof file, "%s", scratch_path(*state, "merged.txt"));
    weft_context *context = open_context(*state, NULL, &log);
    wi_text_init(&text, NULL);
    append_section(&text, wi_context_device(context), -1, slow);
    append_section(&text, wi_context_device(context), -1, fast);
    for (int other = 0; other < 5; other++) append_section(&text, wi_context_device(context), other, "x/y");
    write_text(file, text.data);
    wi_text_clear(&text);
    weft_context_release(context);
    context = open_context(*state, file, &log);
    assert_string_equal(wi_choices_find(wi_context_device(context), site_a)->kernel, fast);
    assert_non_null(strstr(
        log.text, "measured on another device, driver or version of Weft are ignored; their number is 5"));
    assert_int_equal(log.warnings, 0);
    assert_ok(wi_choices_save(wi_context_device(context), file));
    old = read_text(file);
    int sections = 0;
    for (const char *at = old; (at = strstr(at, "device\t")) != NULL; at++) sections++;
    assert_int_equal(sections, 6);
    assert_null(strstr(old, slow));
    weft_context_release(context);
}

static void expect_ignored(const char *folder, const char *file, const char *what) {
    scratch_log log = {0};
    weft_context *const context = open_context(folder, file, &log);
    assert_null(wi_choices_find(wi_context_device(context), site_a));
    assert_null(wi_choices_find(wi_context_device(context), site_a));
    assert_int_equal(log.warnings, 1);
    assert_non_null(strstr(log.text, what));
    weft_context_release(context);
}

static void damaged_files_are_ignored(void **state) {
    static const char *const lines[] = {"choice\tmatmul 1,2,3\tquick/one\t0.25", "choice\ta\tb\t-1\t1",
        "choice\ta\tb\t1\tnan", "choice\ta\tb\t1e999\t1", "choice\t\tb\t1\t1", "bad\ta\tb", "bad\ta\tb\t",
        "bad\ta\tb\tc\td", "device\tx", "", "noise", "a\tb\tc\td\te\tf\tg\th", "choice\ta\tb\t1\t2x"};
    char file[4096];
    scratch_log log = {0};
    weft_context *const context = open_context(*state, NULL, &log);
    snprintf(file, sizeof file, "%s", scratch_path(*state, "damaged.txt"));
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        wi_text text;
        wi_text_init(&text, NULL);
        append_section(&text, wi_context_device(context), -1, fast);
        wi_text_append(&text, "%s\n", lines[i]);
        write_text(file, text.data);
        wi_text_clear(&text);
        expect_ignored(*state, file, "line 4 is damaged");
    }
    write_text(file, "choice\ta\tb\t1\t1\n"); /* no first line */
    expect_ignored(*state, file, "line 1 is damaged");
    write_text(file, "");
    expect_ignored(*state, file, "line 1 is damaged");
    write_text(file, "weft tuning 2\ndevice\tof another kind\n");
    expect_ignored(*state, file, "line 1 names another version of the file format");
    weft_context_release(context);
}

static void files_that_cannot_be_read_are_ignored(void **state) {
    static const char binary[] = "weft tuning 1\n\0\n";
    char file[4096];
    snprintf(file, sizeof file, "%s", scratch_path(*state, "binary.txt"));
    assert_ok(wi_file_write_atomic(file, binary, sizeof binary));
    expect_ignored(*state, file, "has a zero byte, so it is not text");
    expect_ignored(*state, "/nonexistent/tuning.txt", "the file is not used");
    expect_ignored(*state, "/", "the file is not used");
}

/* The cache folder's own file is put right by the next save; another file is left alone. */
static void a_save_replaces_only_tuning_files(void **state) {
    char own[4096], notes[4096];
    scratch_log log = {0};
    snprintf(own, sizeof own, "%s", scratch_path(*state, "tuning.txt"));
    snprintf(notes, sizeof notes, "%s", scratch_path(*state, "notes.txt"));
    weft_context *context = open_context(*state, NULL, &log);
    set_both(wi_context_device(context));
    assert_ok(wi_choices_save(wi_context_device(context), NULL));
    FILE *const file = fopen(own, "a");
    fputs("noise\n", file);
    fclose(file);
    assert_ok(wi_choices_save(wi_context_device(context), NULL));
    weft_context_release(context);
    context = open_context(*state, NULL, &log);
    expect_both(wi_context_device(context));
    write_text(notes, "mine\n");
    assert_fails(wi_choices_save(wi_context_device(context), notes), WEFT_ERROR_FORMAT,
        "is not a tuning file and is not overwritten");
    assert_string_equal(read_text(notes), "mine\n");
    weft_context *const without = scratch_context("", &log);
    assert_fails(wi_choices_save(wi_context_device(without), NULL), WEFT_ERROR_STATE,
        "there is no cache folder to save the results in");
    weft_context_release(without);
    write_text(notes, "weft tuning 9\n");
    assert_fails(wi_choices_save(wi_context_device(context), notes), WEFT_ERROR_FORMAT,
        "is a tuning file of another version of the format and is not overwritten");
    assert_int_equal(log.warnings, 0);
    weft_context_release(context);
}

/* As one of the library's list, under the name of a device, an architecture or a vendor, measured elsewhere. */
static void append_built_in(wi_text *text, const char *name, const char *kind, const char *kernel) {
    wi_text_append(text, "device\t%s\tA platform\t1.2.3\t0.0.1\t%s\nchoice\t%s\t%s\t0.25\t0.5\n", name, kind,
        site_a, kernel);
}

/* Which of the sections, a bit each, is found for a GPU of this architecture and board; NULL: none. */
static const char *built_in_choice(const char *folder, unsigned sections) {
    static char kernel[32];
    scratch_log log = {0};
    wi_text text;
    weft_context *const context = open_context(folder, NULL, &log);
    wi_device *const device = wi_context_device(context);
    const char *const kind = device->profile.name;
    snprintf(device->caps.architecture, sizeof device->caps.architecture, "sm_80");
    snprintf(device->caps.board, sizeof device->caps.board, "A board");
    wi_text_init(&text, NULL);
    wi_text_append(&text, "weft tuning 1\n");
    if (sections & 1) append_built_in(&text, "A board", kind, "of/board");
    if (sections & 2) append_built_in(&text, device->info.name, kind, "of/device");
    if (sections & 4) append_built_in(&text, "sm_80", kind, "of/architecture");
    if (sections & 8) append_built_in(&text, device->info.vendor, kind, "of/vendor");
    append_built_in(&text, "sm_8", kind, "of/another");
    append_built_in(&text, device->info.name, "another kind", "of/another");
    wi_choices_take_built_in(device, text.data);
    wi_text_clear(&text);
    const wi_choice *const choice = wi_choices_find(device, site_a);
    if (choice) snprintf(kernel, sizeof kernel, "%s", choice->kernel);
    assert_int_equal(log.warnings, 0);
    weft_context_release(context);
    return choice ? kernel : NULL;
}

/* Of a device before its architecture before its vendor, whatever their order; driver and version do not matter. */
static void the_built_in_list_goes_from_devices_to_vendors(void **state) {
    assert_null(built_in_choice(*state, 0));
    assert_string_equal(built_in_choice(*state, 8), "of/vendor");
    assert_string_equal(built_in_choice(*state, 4 | 8), "of/architecture");
    assert_string_equal(built_in_choice(*state, 2 | 4 | 8), "of/device");
    assert_string_equal(built_in_choice(*state, 1 | 4 | 8), "of/board");
}

/* What files say comes before it, and files do not get it. */
static void built_in_choices_stay_in_the_library(void **state) {
    char file[4096];
    scratch_log log = {0};
    wi_text text;
    snprintf(file, sizeof file, "%s", scratch_path(*state, "saved.txt"));
    weft_context *const context = open_context(*state, NULL, &log);
    wi_device *const device = wi_context_device(context);
    wi_text_init(&text, NULL);
    wi_text_append(&text, "weft tuning 1\n");
    append_built_in(&text, device->info.name, device->profile.name, fast);
    wi_choices_take_built_in(device, text.data);
    wi_text_clear(&text);
    assert_true(wi_choices_find(device, site_a)->built_in);
    assert_ok(wi_choices_save(device, file));
    assert_null(strstr(read_text(file), site_a));
    assert_ok(wi_choices_set(device, &(wi_choice){.site = site_a, .kernel = slow, .seconds = 1, .usual = 2}));
    assert_string_equal(wi_choices_find(device, site_a)->kernel, slow);
    assert_ok(wi_choices_save(device, file));
    assert_non_null(strstr(read_text(file), slow));
    weft_context_release(context);
}

/* A line that is damaged would leave all of it out. */
static void the_library_s_list_is_whole(void **state) {
    scratch_log log = {0};
    weft_context *const context = open_context(*state, NULL, &log);
    assert_int_equal(strncmp(wi_built_in_choices, "weft tuning 1\n", 14), 0);
    assert_null(wi_choices_find(wi_context_device(context), site_b));
    assert_int_equal(log.warnings, 0);
    weft_context_release(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(choices_are_found_again, scratch_setup, restore),
        cmocka_unit_test_setup_teardown(links_lead_to_named_files_only, scratch_setup, restore),
        cmocka_unit_test_setup_teardown(the_own_file_comes_first, scratch_setup, restore),
        cmocka_unit_test_setup_teardown(lines_may_end_with_cr_lf, scratch_setup, restore),
        cmocka_unit_test_setup_teardown(other_sections_are_passed_over_and_kept, scratch_setup, restore),
        cmocka_unit_test_setup_teardown(damaged_files_are_ignored, scratch_setup, restore),
        cmocka_unit_test_setup_teardown(files_that_cannot_be_read_are_ignored, scratch_setup, restore),
        cmocka_unit_test_setup_teardown(
            the_built_in_list_goes_from_devices_to_vendors, scratch_setup, restore),
        cmocka_unit_test_setup_teardown(built_in_choices_stay_in_the_library, scratch_setup, restore),
        cmocka_unit_test_setup_teardown(the_library_s_list_is_whole, scratch_setup, restore),
        cmocka_unit_test_setup_teardown(a_save_replaces_only_tuning_files, scratch_setup, restore),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
