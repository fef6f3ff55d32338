/* A machine without any OpenCL driver. The loader looks for drivers once, so this is a program of its own. */
#include "support/checks.h"
#include "support/scratch.h"

#include <weft/device.h>

/* Oclgrind is preloaded in the loader's place and cannot be taken away. */
static void skip_under_oclgrind(void) {
    weft_device_info info;
    if (weft_device_get(0, &info) == WEFT_OK && strcmp(info.platform, "Oclgrind") == 0) skip();
}

static void there_are_no_devices(void **state) {
    size_t count = 99;
    weft_device_info info;
    (void)state;
    skip_under_oclgrind();
    assert_ok(weft_device_count(&count));
    assert_int_equal(count, 0);
    assert_fails(weft_device_get(0, &info), WEFT_ERROR_ARGUMENT,
        "index is 0, expected below 0, the number of devices");
}

static void opening_says_what_to_install(void **state) {
    static const char *const selectors[] = {NULL, "gpu", "0:0"};
    (void)state;
    skip_under_oclgrind();
    for (size_t i = 0; i < 3; i++) {
        scratch_allocator allocator;
        scratch_allocator_init(&allocator, -1);
        weft_context *context = (weft_context *)&allocator;
        assert_fails(
            weft_context_create(&context, &(weft_context_options){WEFT_CONTEXT_OPTIONS_INIT,
                                              .device = selectors[i], .allocator = &allocator.hooks}),
            WEFT_ERROR_NO_DEVICE, "pocl-opencl-icd");
        assert_null(context);
        assert_true(atomic_load(&allocator.made) > 0);
        assert_int_equal(atomic_load(&allocator.live), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_are_no_devices),
        cmocka_unit_test(opening_says_what_to_install),
    };
    /* ocl-icd reads the first two, the Khronos loader the last two */
    setenv("OCL_ICD_VENDORS", "/nonexistent-folder", 1);
    unsetenv("OCL_ICD_FILENAMES");
    setenv("OPENCL_VENDOR_PATH", "/nonexistent-folder", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
