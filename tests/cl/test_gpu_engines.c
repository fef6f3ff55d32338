/* Which matrix engines a GPU has, by what its driver reports. */
#include "cl/context.h"
#include "cl/gpu_engines.h"
#include "cl/matrix_engine.h"
#include "support/checks.h"
#include "support/fixture.h"

static const struct {
    wi_gpu_traits traits;
    unsigned engines;
} devices[] = {
    {{.name = "NVIDIA A100-SXM4-40GB",
         .extensions = "cl_khr_icd cl_nv_device_attribute_query",
         .capability = 80},
        WI_ENGINE_MMA},
    {{.name = "NVIDIA GeForce RTX 5090", .extensions = "cl_nv_device_attribute_query", .capability = 120},
        WI_ENGINE_MMA},
    {{.name = "Tesla T4", .extensions = "cl_nv_device_attribute_query", .capability = 75}, 0},
    {{.name = "without the query", .extensions = "cl_nv_device_attribute_query_2", .capability = 90}, 0},
    {{.name = "gfx90a:sramecc+:xnack-", .extensions = "cl_khr_fp16"}, WI_ENGINE_MFMA},
    {{.name = "gfx942", .extensions = "cl_khr_fp16"}, WI_ENGINE_MFMA},
    {{.name = "gfx1100", .extensions = "cl_khr_fp16"}, WI_ENGINE_WMMA},
    {{.name = "gfx1201", .extensions = "cl_khr_fp16"}, WI_ENGINE_WMMA12},
    {{.name = "gfx1030", .extensions = "cl_khr_fp16"}, 0},
    {{.name = "AMD Radeon RX 7900 XTX (radeonsi, navi31)", .extensions = "cl_khr_fp16"}, 0},
    {{.name = "Intel(R) Arc(TM) A770 Graphics",
         .extensions = "cl_intel_required_subgroup_size cl_intel_subgroup_matrix_multiply_accumulate "
                       "cl_intel_subgroup_split_matrix_multiply_accumulate",
         .sub_group = 8},
        WI_ENGINE_XMX8},
    {{.name = "Intel(R) Data Center GPU Max 1550",
         .extensions = "cl_intel_required_subgroup_size cl_intel_subgroup_matrix_multiply_accumulate",
         .sub_group = 16},
        WI_ENGINE_XMX16},
    {{.name = "its sizes are not reported", .extensions = "cl_intel_subgroup_matrix_multiply_accumulate"}, 0},
    {{.name = "Intel(R) UHD Graphics 770",
         .extensions = "cl_intel_required_subgroup_size cl_khr_fp16",
         .sub_group = 8},
        0},
    {{.name = "another extension",
         .extensions = "cl_intel_required_subgroup_size cl_intel_subgroup_matrix_multiply_accumulate_tf32",
         .sub_group = 16},
        0},
    {{.name = "llvmpipe (LLVM 15.0.6, 256 bits)", .extensions = "cl_khr_byte_addressable_store"}, 0},
};

static void reports_tell_engines(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        const unsigned engines = wi_gpu_engines_of(&devices[i].traits);
        if (engines != devices[i].engines) fail_msg("%s: %u", devices[i].traits.name, engines);
    }
}

static void reports_tell_block_reads(void **state) {
    const char *const both = "cl_intel_required_subgroup_size cl_intel_subgroup_local_block_io";
    (void)state;
    assert_true(wi_gpu_reads_blocks(&(wi_gpu_traits){.name = "Arc", .extensions = both, .sub_group = 8}));
    assert_false(wi_gpu_reads_blocks(&(wi_gpu_traits){.name = "Max", .extensions = both, .sub_group = 16}));
    assert_false(wi_gpu_reads_blocks(
        &(wi_gpu_traits){.name = "HD", .extensions = "cl_intel_required_subgroup_size", .sub_group = 8}));
    assert_false(wi_gpu_reads_blocks(&(wi_gpu_traits){
        .name = "another", .extensions = "cl_intel_subgroup_local_block_io", .sub_group = 8}));
}

static void reports_tell_asynchronous_copies(void **state) {
    const char *const query = "cl_khr_icd cl_nv_device_attribute_query";
    (void)state;
    assert_true(wi_gpu_copies_asynchronously(
        &(wi_gpu_traits){.name = "A100", .extensions = query, .capability = 80}));
    assert_true(wi_gpu_copies_asynchronously(
        &(wi_gpu_traits){.name = "RTX 3090", .extensions = query, .capability = 86}));
    assert_false(
        wi_gpu_copies_asynchronously(&(wi_gpu_traits){.name = "T4", .extensions = query, .capability = 75}));
    assert_false(wi_gpu_copies_asynchronously(
        &(wi_gpu_traits){.name = "another", .extensions = "cl_khr_icd", .capability = 90}));
    assert_false(wi_gpu_copies_asynchronously(
        &(wi_gpu_traits){.name = "gfx90a:sramecc+:xnack-", .extensions = "cl_khr_fp16"}));
}

/* Through the queries, on a device that is here. */
static void a_processor_has_no_engine_of_a_gpu(void **state) {
    wi_device *const device = wi_context_device(test_context());
    const unsigned own = device->caps.engines;
    (void)state;
    assert_ok(wi_gpu_engines_find(device));
    if (device->caps.type & CL_DEVICE_TYPE_CPU) assert_int_equal(device->caps.engines, 0);
    device->caps.engines = own;
}

/* "sm_80", "gfx90a", "ip_12.55": by what each vendor reports. */
static void reports_tell_architectures(void **state) {
    static const struct {
        wi_gpu_traits traits;
        const char *architecture;
    } gpus[] = {{{.name = "NVIDIA A100-SXM4-40GB", .capability = 80}, "sm_80"},
        {{.name = "NVIDIA GeForce RTX 5090", .capability = 120}, "sm_120"},
        {{.name = "gfx90a:sramecc+:xnack-"}, "gfx90a"}, {{.name = "gfx1100"}, "gfx1100"},
        {{.name = "gfx-a name of some sixty letters that no architecture has"}, "gfx-a name of s"},
        {{.name = "Intel(R) Arc(TM) A770 Graphics", .ip_version = 12u << 22 | 55u << 14 | 8}, "ip_12.55"},
        {{.name = "Intel(R) Graphics", .ip_version = 20u << 22 | 4u << 14}, "ip_20.4"},
        {{.name = "AMD Radeon RX 7900 XTX (radeonsi, navi31)"}, ""}};
    char text[16];
    (void)state;
    for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++) {
        wi_gpu_architecture_of(text, sizeof text, &gpus[i].traits);
        assert_string_equal(text, gpus[i].architecture);
    }
}

static void models_have_names(void **state) {
    (void)state;
    assert_int_equal(wi_engine_modelled("model-mma", WEFT_CLASS_GPU), WI_ENGINE_MMA);
    assert_int_equal(wi_engine_modelled("model-wmma12", WEFT_CLASS_GPU), WI_ENGINE_WMMA12);
    assert_int_equal(wi_engine_modelled("model-wmma12", WEFT_CLASS_CPU), WI_ENGINE_AMX_BF16);
    for (int device_class = WEFT_CLASS_CPU; device_class <= WEFT_CLASS_GPU; device_class++) {
        assert_int_equal(wi_engine_modelled("model-none", (weft_device_class)device_class), 0);
        assert_int_equal(wi_engine_modelled("0", (weft_device_class)device_class), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(reports_tell_engines),
        cmocka_unit_test(reports_tell_block_reads), cmocka_unit_test(reports_tell_asynchronous_copies),
        cmocka_unit_test(a_processor_has_no_engine_of_a_gpu), cmocka_unit_test(models_have_names),
        cmocka_unit_test(reports_tell_architectures)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
