/* Values of a device on disk: they last, and damaged ones are left out with one warning. */
#include "base/platform.h"
#include "cl/context.h"
#include "cl/device_values.h"
#include "cl/disk_cache.h"
#include "cl/program.h"
#include "support/checks.h"
#include "support/scratch.h"

#include <limits.h>

static void values_last(void **state) {
    weft_context *context = scratch_context(*state, NULL);
    double value = 5.0;
    assert_false(wi_device_value_get(wi_context_device(context), "gemm 32x32", &value));
    wi_device_value_set(wi_context_device(context), "gemm 32x32", 0.1);
    wi_device_value_set(wi_context_device(context), "gemm 32x32", 0.3);
    assert_true(wi_device_value_get(wi_context_device(context), "gemm 32x32", &value));
    assert_true(value == 0.3);
    assert_false(wi_device_value_get(wi_context_device(context), "gemm 32x3", &value));
    weft_context_release(context);
    context = scratch_context(*state, NULL);
    assert_true(wi_device_value_get(wi_context_device(context), "gemm 32x32", &value));
    assert_true(value == 0.3);
    char path[PATH_MAX];
    wi_disk_cache_path(wi_context_device(context),
        wi_disk_cache_key(wi_context_device(context), "value of a device", "gemm 32x32"), path, sizeof path);
    weft_context_release(context);
    assert_ok(wi_file_write_atomic(path, "junk", 4));
    scratch_log log = {0};
    context = scratch_context(*state, &log);
    const int before = log.warnings;
    assert_false(wi_device_value_get(wi_context_device(context), "gemm 32x32", &value));
    assert_int_equal(log.warnings, before + 1);
    wi_disk_cache_write(wi_context_device(context),
        wi_disk_cache_key(wi_context_device(context), "value of a device", "gemm 32x32"), WI_CACHE_VALUE,
        "0.5", 3);
    assert_false(wi_device_value_get(wi_context_device(context), "gemm 32x32", &value));
    assert_int_equal(log.warnings, before + 2); /* a whole entry, but no value */
    weft_context_release(context);
}

/* A whole file of another version: it differs in the number after the magic, and in nothing else. */
static void another_version_is_ignored(void **state) {
    enum { VERSION_AT = 8 };
    char path[PATH_MAX], *bytes = NULL;
    size_t length = 0;
    double value = 5.0;
    scratch_log log = {0};
    weft_context *context = scratch_context(*state, NULL);
    wi_device *const device = wi_context_device(context);
    wi_device_value_set(device, "tile", 3.0);
    wi_disk_cache_path(device, wi_disk_cache_key(device, "value of a device", "tile"), path, sizeof path);
    weft_context_release(context);
    assert_ok(wi_file_read(NULL, path, &bytes, &length));
    assert_true(length > VERSION_AT);
    bytes[VERSION_AT]++;
    assert_ok(wi_file_write_atomic(path, bytes, length));
    wi_release(NULL, bytes);
    context = scratch_context(*state, &log);
    const int before = log.warnings;
    assert_false(wi_device_value_get(wi_context_device(context), "tile", &value));
    assert_true(value == 5.0);
    assert_int_equal(log.warnings, before + 1);
    wi_device_value_set(wi_context_device(context), "tile", 4.0);
    weft_context_release(context);
    context = scratch_context(*state, &log); /* written anew */
    assert_true(wi_device_value_get(wi_context_device(context), "tile", &value) && value == 4.0);
    weft_context_release(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {SCRATCH_TEST(values_last), SCRATCH_TEST(another_version_is_ignored)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
