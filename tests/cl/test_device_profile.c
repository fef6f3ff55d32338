/* Every kind of device: its constants can be worked with, it can be asked for, and plans that are made for it give the
 * right numbers. */
#include "support/fixture.h"

#include "cl/context.h"
#include "cl/matrix_engine.h"
#include "support/small_net.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void test_constants(void **state) {
    (void)state;
    const wi_device_profile *kind;
    for (int i = 0; (kind = wi_device_kind(i)) != NULL; i++) {
        const double positive[] = {kind->peak_f32, kind->peak_f64, kind->peak_f16, kind->peak_bf16,
            kind->prices.simple, kind->prices.division, kind->prices.function, kind->prices.random,
            kind->bandwidth, kind->near_bandwidth, kind->launch_seconds, kind->read_seconds, kind->runs,
            (double)kind->near_cache, (double)kind->sub_group, (double)kind->hiding_groups};
        for (size_t k = 0; k < sizeof positive / sizeof *positive; k++)
            if (!(positive[k] > 0)) fail_msg("%s: number %zu of what must be positive is not", kind->name, k);
        assert_true(kind->lanes == 1 || kind->lanes == 16);
        assert_true(kind->group == 1 || (kind->group >= 8 && (kind->group & (kind->group - 1)) == 0));
        assert_true(kind->exposed > 0 && kind->exposed <= 1 && kind->wake_seconds >= 0);
        assert_ptr_equal(wi_device_kind_named(kind->name), kind); /* no name stands twice */
    }
    assert_null(wi_device_kind_named("tpu"));
}

/* A device has a kind whatever it reports: the last of each class fits all. */
static void test_every_device_has_one(void **state) {
    (void)state;
    const cl_device_type types[] = {
        CL_DEVICE_TYPE_CPU, CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_ACCELERATOR, CL_DEVICE_TYPE_CUSTOM};
    for (int i = 0; i < 8; i++) {
        const wi_capabilities caps = {.device_class = i % 2 ? WEFT_CLASS_CPU : WEFT_CLASS_GPU,
            .type = types[i / 2],
            .max_work_group_size = 256};
        assert_int_equal(wi_device_profile_of(&caps).device_class, caps.device_class);
    }
}

/* As the drivers of these devices count. */
static void test_units_are_those_of_other_vendors(void **state) {
    static const struct {
        const char *name, *vendor;
        cl_device_type type;
        cl_uint reported;
        int64_t units;
    } devices[] = {{"Intel(R) Arc(TM) A770 Graphics", "Intel(R) Corporation", CL_DEVICE_TYPE_GPU, 512, 32},
        {"Intel(R) Data Center GPU Max 1550", "Intel(R) Corporation", CL_DEVICE_TYPE_GPU, 1024, 128},
        {"Intel(R) Arc(TM) B580 Graphics", "Intel(R) Corporation", CL_DEVICE_TYPE_GPU, 160, 20},
        {"Intel(R) UHD Graphics 630", "Intel(R) Corporation", CL_DEVICE_TYPE_GPU, 24, 3},
        {"Intel(R) Iris(R) Xe Graphics", "Intel(R) Corporation", CL_DEVICE_TYPE_GPU, 96, 6},
        {"a small one", "Intel(R) Corporation", CL_DEVICE_TYPE_GPU, 8, 1},
        {"Intel(R) Xeon(R) Processor", "Intel(R) Corporation", CL_DEVICE_TYPE_CPU, 64, 64},
        {"NVIDIA A100-SXM4-40GB", "NVIDIA Corporation", CL_DEVICE_TYPE_GPU, 108, 108},
        {"gfx90a", "Advanced Micro Devices, Inc.", CL_DEVICE_TYPE_GPU, 104, 104}};
    (void)state;
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        wi_capabilities caps = {.device_class = WEFT_CLASS_GPU,
            .type = devices[i].type,
            .name = devices[i].name,
            .vendor = devices[i].vendor,
            .compute_units = devices[i].reported,
            .max_work_group_size = 256};
        assert_int_equal(wi_device_profile_of(&caps).units, devices[i].units);
        caps.work_units = 7; /* asked for */
        assert_int_equal(wi_device_profile_of(&caps).units, 7);
    }
}

/* As data sheets have them; of no GPU that of the class. */
static void test_engines_have_the_rates_of_data_sheets(void **state) {
    static const struct {
        const char *name;
        cl_device_type type;
        unsigned engine;
        double rate;
    } devices[] = {{"NVIDIA A100-SXM4-40GB", CL_DEVICE_TYPE_GPU, WI_ENGINE_MMA, 16},
        {"NVIDIA A100 80GB PCIe", CL_DEVICE_TYPE_GPU, WI_ENGINE_MMA, 16},
        {"NVIDIA RTX A1000", CL_DEVICE_TYPE_GPU, WI_ENGINE_MMA, 2},
        {"NVIDIA H100 PCIe", CL_DEVICE_TYPE_GPU, WI_ENGINE_MMA, 15},
        {"NVIDIA GeForce RTX 4090", CL_DEVICE_TYPE_GPU, WI_ENGINE_MMA, 2},
        {"gfx942:sramecc+:xnack-", CL_DEVICE_TYPE_GPU, WI_ENGINE_MFMA, 8},
        {"gfx1201", CL_DEVICE_TYPE_GPU, WI_ENGINE_WMMA12, 4},
        {"Intel(R) Data Center GPU Max 1550", CL_DEVICE_TYPE_GPU, WI_ENGINE_XMX16, 16},
        {"Intel(R) Arc(TM) B580 Graphics", CL_DEVICE_TYPE_GPU, WI_ENGINE_XMX16, 8}};
    (void)state;
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        const wi_capabilities caps = {.device_class = WEFT_CLASS_GPU,
            .type = devices[i].type,
            .name = devices[i].name,
            .engines = devices[i].engine,
            .max_work_group_size = 256};
        const wi_device_profile profile = wi_device_profile_of(&caps);
        assert_true(fabs(profile.peak_engine / profile.peak_f32 - devices[i].rate) < 1e-9);
    }
    const wi_capabilities model = {
        .device_class = WEFT_CLASS_GPU, .type = CL_DEVICE_TYPE_CPU, .engines = WI_ENGINE_MMA};
    assert_true(wi_device_profile_of(&model).peak_engine == wi_device_kind_named("gpu")->peak_engine);
}

enum { BATCH = 37 };

static void compute(const char *kind, float *y) {
    assert_int_equal(setenv("WEFT_DEVICE_CLASS", kind, 1), 0);
    weft_context *const context = test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT});
    assert_string_equal(wi_context_device(context)->profile.name, kind);
    const small_net n = small_net_in(context);
    float x[BATCH * SMALL_NET_IN];
    small_net_fill(x, BATCH * SMALL_NET_IN, 3);
    weft_plan *const plan = small_net_plan(n.y, BATCH);
    small_net_compute(plan, &n, x, BATCH, y);
    weft_plan_release(plan);
    weft_graph_release(n.graph);
    weft_context_release(context);
}

static void test_results(void **state) {
    (void)state;
    const char *const before = getenv("WEFT_DEVICE_CLASS");
    char *const kept = before ? strdup(before) : NULL;
    float first[BATCH * SMALL_NET_OUT], other[BATCH * SMALL_NET_OUT];
    const wi_device_profile *kind;
    compute(wi_device_kind(0)->name, first);
    for (int i = 1; (kind = wi_device_kind(i)) != NULL; i++) {
        compute(kind->name, other);
        for (int k = 0; k < BATCH * SMALL_NET_OUT; k++)
            if (!(fabsf(first[k] - other[k]) <= 1e-5f))
                fail_msg("%s: result %d is %g, not %g", kind->name, k, (double)other[k], (double)first[k]);
    }
    if (kept)
        setenv("WEFT_DEVICE_CLASS", kept, 1);
    else
        unsetenv("WEFT_DEVICE_CLASS");
    free(kept);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_constants),
        cmocka_unit_test(test_every_device_has_one), cmocka_unit_test(test_units_are_those_of_other_vendors),
        cmocka_unit_test(test_engines_have_the_rates_of_data_sheets), cmocka_unit_test(test_results)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
