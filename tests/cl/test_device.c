/* Enumeration, selectors, names of errors, quirks. */
#include "cl/context.h"
#include "cl/device_list.h"
#include "cl/quirks.h"
#include "support/checks.h"
#include "support/scratch.h"

#include <stdio.h>

/* A machine with three devices, which nobody has here. */
static void make_list(wi_device_list *list, const weft_allocator *allocator) {
    static const wi_device_entry entries[] = {
        {.usable = true,
            .info = {.selector = "0:0",
                .name = "Xeon",
                .platform = "Portable Computing Language",
                .is_cpu = true,
                .compute_units = 64,
                .clock_mhz = 4000}},
        {.usable = true,
            .info = {.selector = "1:0",
                .name = "Arc A380",
                .platform = "Intel OpenCL",
                .is_gpu = true,
                .compute_units = 8,
                .clock_mhz = 2000}},
        {.usable = true,
            .info = {.selector = "1:1",
                .name = "Arc A770",
                .platform = "Intel OpenCL",
                .is_gpu = true,
                .compute_units = 32,
                .clock_mhz = 2000}},
        {.usable = false,
            .info = {.selector = "2:0",
                .name = "Broken One",
                .platform = "Clover",
                .is_gpu = true,
                .compute_units = 99,
                .clock_mhz = 9999}},
    };
    *list = (wi_device_list){.allocator = allocator, .count = 4, .capacity = 4};
    list->entries = wi_allocate(allocator, sizeof entries);
    assert_non_null(list->entries);
    memcpy(list->entries, entries, sizeof entries);
}

/* The selectors of the devices that fit, best first; clears the list. */
static void assert_selects_of(wi_device_list *list, const char *selector, const char *wanted) {
    char got[64] = "";
    assert_ok(wi_device_list_select(list, selector));
    for (size_t i = 0; i < list->count; i++) {
        strcat(got, list->entries[i].info.selector);
        strcat(got, " ");
    }
    assert_string_equal(got, wanted);
    wi_device_list_clear(list);
}

static void assert_selects(const char *selector, const char *wanted) {
    wi_device_list list;
    make_list(&list, NULL);
    assert_selects_of(&list, selector, wanted);
}

/* Drivers as they describe themselves: two for one processor, one of which names it; a GPU whose clock is not known. */
static void make_drivers(wi_device_list *list, size_t count) {
    static const wi_device_entry entries[] = {
        {.usable = true,
            .platform_version = "OpenCL 3.0 PoCL 3.1+debian  Linux, LLVM 15.0.6",
            .platform_vendor = "The pocl project",
            .info = {.selector = "0:0",
                .name = "pthread-skylake-avx512-Intel(R) Xeon(R) Processor",
                .platform = "Portable Computing Language",
                .vendor = "GenuineIntel",
                .opencl = "OpenCL 3.0 PoCL HSTR: pthread-x86_64-pc-linux-gnu-skylake-avx512",
                .is_cpu = true,
                .compute_units = 8,
                .clock_mhz = 2600}},
        {.usable = true,
            .platform_version = "OpenCL 3.0 ",
            .platform_vendor = "Mesa/X.org",
            .info = {.selector = "1:0",
                .name = "Big",
                .platform = "rusticl",
                .vendor = "Maker",
                .opencl = "OpenCL 3.0 ",
                .is_gpu = true,
                .compute_units = 64,
                .clock_mhz = 0}},
        {.usable = true,
            .platform_version = "OpenCL 3.0 ",
            .platform_vendor = "Mesa/X.org",
            .info = {.selector = "1:1",
                .name = "Small",
                .platform = "rusticl",
                .vendor = "Maker",
                .opencl = "OpenCL 3.0 ",
                .is_gpu = true,
                .compute_units = 4,
                .clock_mhz = 1500}},
        {.usable = true,
            .platform_version = "OpenCL 3.0 LINUX",
            .platform_vendor = "Intel(R) Corporation",
            .info = {.selector = "2:0",
                .name = "Xeon",
                .platform = "OpenCL runtime",
                .vendor = "Some vendor",
                .opencl = "OpenCL 3.0 (Build 0)",
                .is_cpu = true,
                .compute_units = 8,
                .clock_mhz = 2600}},
    };
    *list = (wi_device_list){.count = count, .capacity = 4};
    list->entries = wi_allocate(NULL, sizeof entries);
    assert_non_null(list->entries);
    memcpy(list->entries, entries, sizeof entries);
}

static void assert_selects_driver(size_t count, const char *selector, const char *wanted) {
    wi_device_list list;
    make_drivers(&list, count);
    assert_selects_of(&list, selector, wanted);
}

static void a_driver_is_found_before_a_device(void **state) {
    (void)state;
    assert_selects_driver(4, "pocl", "0:0 ");
    assert_selects_driver(4, "intel", "2:0 "); /* and not PoCL, whose device has the processor's name */
    assert_selects_driver(3, "intel", "0:0 "); /* there is no other */
    assert_selects_driver(4, "xeon", "0:0 2:0 ");
    assert_selects_driver(4, "genuine", "0:0 ");
    assert_selects_driver(4, "mesa", "1:0 1:1 ");
}

static void a_clock_that_is_not_known_is_a_usual_one(void **state) {
    (void)state;
    assert_selects_driver(4, NULL, "1:0 1:1 0:0 2:0 ");
}

/* The driver of most of these tests, by the word that the header names. */
static void pocl_is_found_by_its_name(void **state) {
    wi_device_list list;
    bool there = false;
    (void)state;
    assert_ok(wi_device_list_read(&list, NULL));
    for (size_t i = 0; i < list.count; i++)
        there |= strcmp(list.entries[i].info.platform, "Portable Computing Language") == 0;
    const weft_status status = wi_device_list_select(&list, "PoCL");
    wi_device_list_clear(&list);
    assert_status(status, there ? WEFT_OK : WEFT_ERROR_NO_DEVICE);
}

static void selectors_choose_the_best_first(void **state) {
    (void)state;
    assert_selects(NULL, "1:1 1:0 0:0 2:0 ");
    assert_selects("gpu", "1:1 1:0 2:0 ");
    assert_selects("CPU", "0:0 ");
    assert_selects("1:0", "1:0 ");
    assert_selects("a38", "1:0 ");
    assert_selects("PORTABLE", "0:0 ");
    assert_selects("intel", "1:1 1:0 ");
    assert_selects("clover", "2:0 ");
}

static void a_selector_that_fits_nothing_lists_the_devices(void **state) {
    static const char *const selectors[] = {"0:9", "radeon", "1:1x", ":1", "1:", "gpu "};
    wi_device_list list;
    (void)state;
    for (size_t i = 0; i < sizeof selectors / sizeof *selectors; i++) {
        make_list(&list, NULL);
        assert_fails(wi_device_list_select(&list, selectors[i]), WEFT_ERROR_NO_DEVICE, selectors[i]);
        assert_non_null(strstr(weft_last_error(), "0:0 Xeon (Portable Computing Language), 1:0 Arc A380"));
        wi_device_list_clear(&list);
    }
    list = (wi_device_list){0};
    assert_fails(wi_device_list_select(&list, "gpu"), WEFT_ERROR_NO_DEVICE, "install an OpenCL driver");
    scratch_allocator allocator;
    scratch_allocator_init(&allocator, 1);
    make_list(&list, &allocator.hooks);
    assert_status(wi_device_list_select(&list, "radeon"), WEFT_ERROR_MEMORY);
    wi_device_list_clear(&list);
    assert_int_equal(atomic_load(&allocator.live), 0);
}

static void parts_are_found_in_any_case(void **state) {
    (void)state;
    assert_true(wi_contains_any_case("Portable", "TABLE"));
    assert_true(wi_contains_any_case("Portable", ""));
    assert_true(wi_contains_any_case("", ""));
    assert_false(wi_contains_any_case("Portable", "tables"));
    assert_false(wi_contains_any_case("", "x"));
}

static void devices_describe_themselves(void **state) {
    size_t count = 0;
    weft_device_info info;
    (void)state;
    assert_ok(weft_device_count(&count));
    assert_true(count > 0);
    for (size_t i = 0; i < count; i++) {
        assert_ok(weft_device_get(i, &info));
        assert_true(strlen(info.name) > 0 && strlen(info.platform) > 0 && strlen(info.driver) > 0);
        assert_memory_equal(info.opencl, "OpenCL ", 7);
        assert_non_null(strchr(info.selector, ':'));
        assert_true(info.compute_units > 0 && info.global_memory > 0 && info.largest_allocation > 0);
        assert_true(info.largest_allocation <= info.global_memory);
    }
    assert_fails(weft_device_get(count, &info), WEFT_ERROR_ARGUMENT, "index is");
    assert_fails(weft_device_get(0, NULL), WEFT_ERROR_ARGUMENT, "info is NULL");
    assert_fails(weft_device_count(NULL), WEFT_ERROR_ARGUMENT, "count is NULL");
}

static void listing_survives_every_lack_of_memory(void **state) {
    (void)state;
    weft_status status = WEFT_ERROR_MEMORY;
    for (long limit = 0; status != WEFT_OK; limit++) {
        scratch_allocator allocator;
        wi_device_list list;
        scratch_allocator_init(&allocator, limit);
        status = wi_device_list_read(&list, &allocator.hooks);
        if (status != WEFT_OK) assert_status(status, WEFT_ERROR_MEMORY);
        wi_device_list_clear(&list);
        assert_int_equal(atomic_load(&allocator.live), 0);
        if (limit == 0) assert_status(status, WEFT_ERROR_MEMORY);
    }
}

static void errors_have_names_and_statuses(void **state) {
    (void)state;
    assert_string_equal(wi_cl_error_name(-5), "CL_OUT_OF_RESOURCES");
    assert_string_equal(wi_cl_error_name(-11), "CL_BUILD_PROGRAM_FAILURE");
    assert_string_equal(wi_cl_error_name(-68), "CL_INVALID_DEVICE_PARTITION_COUNT");
    assert_string_equal(wi_cl_error_name(-1001), "CL_PLATFORM_NOT_FOUND_KHR");
    assert_string_equal(wi_cl_error_name(-4711), "an OpenCL error without a name");
    assert_ok(wi_cl_check(CL_SUCCESS, "nothing"));
    assert_fails(wi_cl_check(-4, "making c"), WEFT_ERROR_DEVICE_MEMORY,
        "making c: CL_MEM_OBJECT_ALLOCATION_FAILURE (-4)");
    assert_status(wi_cl_check(-6, "making c"), WEFT_ERROR_DEVICE_MEMORY);
    assert_fails(
        wi_cl_check(-52, "launching k"), WEFT_ERROR_OPENCL, "launching k: CL_INVALID_KERNEL_ARGS (-52)");
}

static void quirks_follow_the_names(void **state) {
    const weft_device_info pocl = {.platform = "Portable Computing Language", .name = "pthread-x"};
    const weft_device_info debian = {.platform = "Portable Computing Language", .driver = "3.1+debian"};
    const weft_device_info newer = {.platform = "Portable Computing Language", .driver = "6.0-Debian"};
    const weft_device_info intel = {.platform = "Intel(R) OpenCL Graphics", .name = "Arc"};
    const weft_device_info older = {
        .platform = "Intel(R) OpenCL Graphics", .name = "Arc", .driver = "22.43.24595.41"};
    const weft_device_info nvidia = {.platform = "NVIDIA CUDA", .name = "GeForce"};
    const weft_device_info other = {.platform = "Some Platform", .name = "Some Device"};
    (void)state;
    const unsigned always = WI_QUIRK_BINARY_LATE | WI_QUIRK_NO_CLBLAST | WI_QUIRK_OWN_CACHE |
                            WI_QUIRK_GROUP_SIZES | WI_QUIRK_SLOW_HEADER;
    assert_int_equal(wi_quirks_find(&pocl), always);
    assert_int_equal(wi_quirks_find(&debian), always | WI_QUIRK_KERNEL_COPIES | WI_QUIRK_TWO_OPTIMISERS);
    assert_int_equal(wi_quirks_find(&newer), always | WI_QUIRK_UNOPTIMISED_HALF);
    assert_int_equal(wi_quirks_find(&nvidia), WI_QUIRK_TURNING_WAIT);
    assert_int_equal(
        wi_quirks_find(&intel), WI_QUIRK_LARGE_FLAG | WI_QUIRK_FEW_REGISTERS | WI_QUIRK_TURNING_WAIT);
    assert_int_equal(wi_quirks_find(&older),
        WI_QUIRK_LARGE_FLAG | WI_QUIRK_FEW_REGISTERS | WI_QUIRK_TURNING_WAIT | WI_QUIRK_PRIVATE_FRAGMENTS);
    assert_int_equal(wi_quirks_find(&other), 0);
    for (unsigned bit = 1; bit <= WI_QUIRK_SINGLE_ITEMS; bit <<= 1)
        assert_string_not_equal(wi_quirk_text(bit), wi_quirk_text(0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(selectors_choose_the_best_first),
        cmocka_unit_test(a_driver_is_found_before_a_device),
        cmocka_unit_test(a_clock_that_is_not_known_is_a_usual_one),
        cmocka_unit_test(pocl_is_found_by_its_name),
        cmocka_unit_test(a_selector_that_fits_nothing_lists_the_devices),
        cmocka_unit_test(parts_are_found_in_any_case),
        cmocka_unit_test(devices_describe_themselves),
        cmocka_unit_test(listing_survives_every_lack_of_memory),
        cmocka_unit_test(errors_have_names_and_statuses),
        cmocka_unit_test(quirks_follow_the_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
