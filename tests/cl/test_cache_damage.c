/* Entries of the kernel cache that were cut or changed: wherever the damage is, there is no entry. What is whole and
 * makes no sense is refused by whoever reads it. */
#include "cl/capabilities.h"
#include "cl/device_values.h"
#include "cl/disk_cache.h"
#include "support/checks.h"
#include "support/fixture.h"
#include "support/scratch.h"
#include "support/small_program.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>

static const char payload[] = "what a compiler said: a.cl:1:1: error";

typedef struct entry_file {
    weft_context *context;
    wi_device *device;
    wi_cache_key key;
    char path[PATH_MAX];
    char *whole;
    size_t bytes;
    scratch_log log;
} entry_file;

static void write_entry(entry_file *file) {
    *file = (entry_file){0};
    file->context = test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT,
        .cache_dir = test_folder(), .log = scratch_log_line, .log_user = &file->log});
    file->device = wi_context_device(file->context);
    file->key = wi_disk_cache_key(file->device, "damage", "entry");
    assert_true(wi_disk_cache_write(file->device, file->key, WI_CACHE_FAILURE, payload, sizeof payload - 1));
    wi_disk_cache_path(file->device, file->key, file->path, sizeof file->path);
    assert_ok(wi_file_read(NULL, file->path, &file->whole, &file->bytes));
}

static void forget_entry(entry_file *file) {
    wi_release(NULL, file->whole);
    weft_context_release(file->context);
}

static bool is_read(const entry_file *file, const char *bytes, size_t count) {
    wi_cache_entry entry;
    FILE *const written = fopen(file->path, "wb"); /* it is not replaced, and so stays the user's own */
    assert_non_null(written);
    assert_int_equal(fwrite(bytes, 1, count, written), count);
    assert_int_equal(fclose(written), 0);
    assert_ok(wi_disk_cache_read(file->device, file->key, &entry));
    const bool found = entry.data != NULL;
    wi_release(NULL, entry.data);
    return found;
}

static void no_prefix_is_an_entry(void **state) {
    entry_file file;
    (void)state;
    write_entry(&file);
    for (size_t cut = 0; cut < file.bytes; cut++) {
        if (is_read(&file, file.whole, cut)) fail_msg("read when cut to %zu bytes", cut);
    }
    assert_true(is_read(&file, file.whole, file.bytes));
    forget_entry(&file);
}

static void no_changed_bit_is_overlooked(void **state) {
    entry_file file;
    (void)state;
    write_entry(&file);
    for (size_t bit = 0; bit < 8 * file.bytes; bit++) {
        file.whole[bit / 8] ^= (char)(1 << bit % 8);
        if (is_read(&file, file.whole, file.bytes)) fail_msg("read with bit %zu changed", bit);
        file.whole[bit / 8] ^= (char)(1 << bit % 8);
    }
    assert_true(is_read(&file, file.whole, file.bytes));
    forget_entry(&file);
}

static void what_is_added_is_noticed(void **state) {
    entry_file file;
    char longer[256] = {0};
    (void)state;
    write_entry(&file);
    assert_in_range(file.bytes, 1, sizeof longer - 1);
    memcpy(longer, file.whole, file.bytes);
    for (size_t bytes = file.bytes + 1; bytes <= sizeof longer; bytes++) {
        if (is_read(&file, longer, bytes)) fail_msg("read with %zu bytes more", bytes - file.bytes);
    }
    forget_entry(&file);
}

/* As after a power failure, on file systems that keep a length and lose the data. */
static void no_hole_is_overlooked(void **state) {
    entry_file file;
    char holed[256];
    (void)state;
    write_entry(&file);
    for (size_t from = 0; from < file.bytes; from++) {
        memcpy(holed, file.whole, file.bytes);
        memset(holed + from, 0, file.bytes - from);
        if (is_read(&file, holed, file.bytes)) fail_msg("read with zeros from byte %zu", from);
    }
    forget_entry(&file);
}

/* With right checksums: entries of every kind where a program or a value is wanted. */
static void whole_nonsense_is_refused(void **state) {
    static const double values[] = {1e300, -1.0, NAN, INFINITY, 0.0, 8.0};
    entry_file file;
    double value = 0;
    char name[WI_PROBE_NAME];
    (void)state;
    wi_capabilities_answer(name);
    write_entry(&file);
    for (int kind = 0; kind < 8; kind++) {
        const wi_cache_key key = wi_disk_cache_key(file.device, "value of a device", "nonsense");
        assert_true(wi_disk_cache_write(file.device, key, (wi_cache_kind)kind, "abc", 3));
        assert_false(wi_device_value_get(file.device, "nonsense", &value));
        const wi_cache_key pieces = wi_disk_cache_key(file.device, "pieces of programs", "");
        assert_true(wi_disk_cache_write(file.device, pieces, (wi_cache_kind)kind, payload, 37));
        assert_ok(small_program_use(file.context, NULL));
    }
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        file.log = (scratch_log){0};
        wi_device_value_set(file.device, name, values[i]);
        assert_ok(wi_capabilities_probe(file.device));
        assert_true(file.device->caps.can_build);
        assert_non_null(strstr(file.log.text, "is not a valid test result and is ignored"));
    }
    forget_entry(&file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_prefix_is_an_entry),
        cmocka_unit_test(no_changed_bit_is_overlooked),
        cmocka_unit_test(what_is_added_is_noticed),
        cmocka_unit_test(no_hole_is_overlooked),
        cmocka_unit_test(whole_nonsense_is_refused),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
