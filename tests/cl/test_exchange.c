/* Whether reductions use sub-groups: what reports tell, what the environment says, and what a kernel finds. */
#include "cl/context.h"
#include "cl/exchange.h"
#include "support/checks.h"
#include "support/fixture.h"
#include "support/scratch.h"
#include <stdlib.h>
#include <string.h>

static const struct {
    wi_gpu_traits traits;
    const char *way;
} devices[] = {
    {{.name = "NVIDIA A100-SXM4-40GB", .extensions = "cl_nv_device_attribute_query", .capability = 80},
        "WEFT_EXCHANGE_NVIDIA"},
    {{.name = "Tesla V100", .extensions = "cl_nv_device_attribute_query cl_khr_icd", .capability = 70},
        "WEFT_EXCHANGE_NVIDIA"},
    {{.name = "Tesla P100", .extensions = "cl_nv_device_attribute_query", .capability = 60}, NULL},
    {{.name = "gfx90a:sramecc+:xnack-", .extensions = "cl_khr_subgroups"}, "WEFT_EXCHANGE_AMD"},
    {{.name = "gfx1100", .extensions = "cl_khr_subgroups"}, "WEFT_EXCHANGE_AMD"},
    {{.name = "gfx803", .extensions = "cl_khr_fp16"}, NULL},
    {{.name = "Intel(R) Arc(TM) A770 Graphics",
         .extensions = "cl_khr_subgroups cl_khr_subgroup_shuffle cl_intel_subgroups"},
        "WEFT_EXCHANGE_INTEL"},
    {{.name = "AMD Radeon RX 7900 XTX (radeonsi, navi31)",
         .extensions = "cl_khr_subgroups cl_khr_subgroup_shuffle"},
        "WEFT_EXCHANGE_KHRONOS"},
    {{.name = "without shuffles", .extensions = "cl_khr_subgroups cl_khr_subgroup_shuffle_relative"}, NULL},
    {{.name = "another extension", .extensions = "cl_intel_subgroups_short"}, NULL},
    {{.name = "llvmpipe (LLVM 15.0.6, 256 bits)", .extensions = "cl_khr_byte_addressable_store"}, NULL},
};

static bool is_same(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static void reports_tell_ways(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        const char *const way = wi_exchange_of(&devices[i].traits);
        if (!is_same(way, devices[i].way)) fail_msg("%s: %s", devices[i].traits.name, way ? way : "none");
    }
}

/* What the variable's value chooses on the test's device. */
static const char *chosen(const char *value) {
    wi_device *const device = wi_context_device(test_context());
    setenv("WEFT_SUB_GROUPS", value, 1);
    assert_weft_ok(wi_exchange_find(device));
    return device->caps.exchange;
}

static void environment_chooses(void **state) {
    wi_device *const device = wi_context_device(test_context());
    const char *const own = device->caps.exchange, *const set = getenv("WEFT_SUB_GROUPS");
    char *const before = set ? strdup(set) : NULL;
    const bool of_gpus = device->profile.device_class == WEFT_CLASS_GPU;
    (void)state;
    assert_true(is_same(chosen("model-8"), of_gpus ? "WEFT_EXCHANGE_MODEL=8" : NULL));
    assert_true(is_same(chosen("model-64"), of_gpus ? "WEFT_EXCHANGE_MODEL=64" : NULL));
    assert_null(chosen("0"));
    if (before)
        setenv("WEFT_SUB_GROUPS", before, 1);
    else
        unsetenv("WEFT_SUB_GROUPS");
    free(before);
    device->caps.exchange = own;
}

/* Two sub-groups of 24 are not the whole group. A kernel named 0 is refused by every compiler. */
static void a_kernel_decides(void **state) {
    static const struct {
        const char *way;
        const char *says; /* NULL: it is right */
    } ways[] = {{"WEFT_EXCHANGE_MODEL=4", NULL}, {"WEFT_EXCHANGE_MODEL=8", NULL},
        {"WEFT_EXCHANGE_MODEL=32", NULL}, {"WEFT_EXCHANGE_MODEL=64", NULL}, {"WEFT_EXCHANGE_MODEL=128", NULL},
        {"WEFT_EXCHANGE_MODEL=24", "numbers are wrong"},
        {"WEFT_EXCHANGE_MODEL=16 -D weft_probe=0", "did not compile"}};
    scratch_log log = {0};
    weft_context *const context = test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT,
        .cache_dir = test_path("exchange"), .log = scratch_log_line, .log_user = &log});
    wi_device *const device = wi_context_device(context);
    (void)state;
    if (device->profile.device_class != WEFT_CLASS_GPU) print_message("skipped: reductions of class cpu\n");
    for (size_t i = 0; device->profile.device_class == WEFT_CLASS_GPU && i < sizeof ways / sizeof *ways;
         i++) {
        log = (scratch_log){0};
        for (int time = 0; time < 2; time++) {
            assert_weft_ok(wi_exchange_try(device, ways[i].way));
            if (!is_same(device->caps.exchange, ways[i].says ? NULL : ways[i].way))
                fail_msg("%s: %s", ways[i].way, device->caps.exchange ? "used" : log.text);
            const bool said = strstr(log.text, "do not use sub-groups") != NULL;
            assert_int_equal(said, ways[i].says && time == 0);
            if (said) assert_non_null(strstr(log.text, ways[i].says));
            log = (scratch_log){0}; /* the second time it is known */
        }
    }
    weft_context_release(context);
}

/* No GPU is here, but runtimes for processors that have the functions. */
static void reported_functions_are_right(void **state) {
    wi_device *const device = wi_context_device(test_context());
    const char *const own = device->caps.exchange;
    wi_gpu_traits traits;
    (void)state;
    assert_weft_ok(wi_gpu_traits_read(&traits, device));
    const bool of_intel = wi_gpu_reports(traits.extensions, "cl_intel_subgroups"),
               of_khronos = wi_gpu_reports(traits.extensions, "cl_khr_subgroup_shuffle");
    wi_gpu_traits_clear(&traits, device);
    const struct {
        const char *way;
        bool reported;
    } ways[] = {{"WEFT_EXCHANGE_INTEL", of_intel}, {"WEFT_EXCHANGE_KHRONOS", of_khronos}};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (device->profile.device_class != WEFT_CLASS_GPU || !ways[i].reported) {
            print_message("skipped: no device with kernels of class gpu reports %s\n", ways[i].way);
            continue;
        }
        assert_weft_ok(wi_exchange_try(device, ways[i].way));
        assert_non_null(device->caps.exchange);
    }
    device->caps.exchange = own;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(reports_tell_ways),
        cmocka_unit_test(environment_chooses), cmocka_unit_test(a_kernel_decides),
        cmocka_unit_test(reported_functions_are_right)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
