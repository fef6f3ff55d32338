/* Products by a matrix engine: where they are chosen, and how an embedder does without. That they are right is test_gemm's
 * business. */
#include "cl/context.h"
#include "cl/device_values.h"
#include "cl/matrix_engine.h"
#include "cl/program.h"
#include "kernels/product/gemm.h"
#include "kernels/selection.h"
#include "ops/op_table.h"
#include "support/checks.h"
#include "support/fixture.h"
#include "support/scratch.h"
#include <stdlib.h>
#include <string.h>

/* Where the processor has one; without it, or without permission, the portable kernels serve. */
static void a_matrix_engine_multiplies_bf16(void **state) {
    const wi_gemm_shape large = {1, 512, 512, 512, 0, 512, 1, 0, 512, 1, NULL};
    wi_device *const device = wi_context_device(test_context());
    wi_selection selection;
    (void)state;
    wi_kernel_site site = {.device = &device->profile, .product = &large};
    site.formats[0] = site.formats[1] = WEFT_BF16;
    assert_ok(wi_select(&selection, device, &wi_op_matmul, &site));
    const bool fits = device->caps.device_class == WEFT_CLASS_CPU && device->caps.engines;
    assert_int_equal(selection.chosen->needs.engines != 0, fits);
    const wi_capabilities own = device->caps;
    device->caps.engines = 0;
    device->profile = wi_device_profile_of(&device->caps);
    assert_ok(wi_select(&selection, device, &wi_op_matmul, &site));
    assert_int_equal(selection.chosen->needs.engines, 0);
    device->caps = own;
    device->profile = wi_device_profile_of(&device->caps);
    if (fits) return;
    print_message(
        "skipped: %s\n", device->caps.engines ? "the engine belongs to class cpu" : "no matrix engine here");
    skip();
}

static void engines_can_be_forbidden(void **state) {
    weft_context *without = NULL;
    (void)state;
    assert_ok(weft_context_create(
        &without, &(weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .no_matrix_engines = true}));
    assert_int_equal(wi_context_device(without)->profile.engines, 0);
    weft_context_release(without);
    setenv("WEFT_MATRIX_ENGINES", "0", 1);
    assert_ok(weft_context_create(&without, NULL));
    assert_int_equal(wi_context_device(without)->profile.engines, 0);
    weft_context_release(without);
    unsetenv("WEFT_MATRIX_ENGINES");
}

/* Kernels of class gpu that a processor runs have none of its engines, even if they are asked for. */
static void processors_engines_belong_to_class_cpu(void **state) {
    static const char variable[] = "WEFT_DEVICE_CLASS";
    const char *const before = getenv(variable);
    weft_context *context = NULL;
    (void)state;
    if (!(wi_context_device(test_context())->caps.type & CL_DEVICE_TYPE_CPU)) {
        print_message("skipped: no processor\n");
        skip();
    }
    char *const kept = before ? strdup(before) : NULL;
    setenv("WEFT_MATRIX_ENGINES", "avx512", 1);
    for (int gpu = 0; gpu < 2; gpu++) {
        setenv(variable, gpu ? "gpu" : "cpu", 1);
        assert_ok(weft_context_create(&context, NULL));
        const wi_device *const device = wi_context_device(context);
        assert_int_equal(device->profile.engines, gpu ? 0 : wi_matrix_engines_of_host(true));
        weft_context_release(context);
    }
    unsetenv("WEFT_MATRIX_ENGINES");
    if (kept)
        setenv(variable, kept, 1);
    else
        unsetenv(variable);
    free(kept);
}

/* AVX-512 BF16 has half of the speed of f32 multiply-adds on Intel's processors and twice on AMD's; AMX is never asked. */
static void slow_engines_do_not_pay(void **state) {
    const unsigned vectors = WI_ENGINE_AMX_BF16 | WI_ENGINE_AVX512_BF16;
    (void)state;
    assert_int_equal(wi_matrix_engines_that_pay(vectors, 0.5), 0);
    assert_int_equal(wi_matrix_engines_that_pay(vectors, 1.0), 0);
    assert_int_equal(wi_matrix_engines_that_pay(vectors, 2.0), vectors);
    assert_int_equal(wi_matrix_engines_that_pay(WI_ENGINE_AMX_BF16, 0.0), WI_ENGINE_AMX_BF16);
    assert_int_equal(wi_matrix_engines_that_pay(0, 0.0), 0);
}

static void assert_engines(const char *cache, double rate, unsigned engines) {
    weft_context *context = NULL;
    const weft_context_options options = {WEFT_CONTEXT_OPTIONS_INIT, .cache_dir = cache};
    assert_ok(weft_context_create(&context, &options));
    wi_device_value_set(wi_context_device(context), WI_MATRIX_ENGINE_RATE, rate);
    weft_context_release(context);
    assert_ok(weft_context_create(&context, &options));
    assert_int_equal(wi_context_device(context)->profile.engines, engines);
    weft_context_release(context);
}

/* What was measured once decides, and the user before it. */
static void the_rate_chooses_the_engine(void **state) {
    const unsigned here = wi_matrix_engines_of_host(false);
    (void)state;
    if (!(here & WI_ENGINE_AVX512_BF16) ||
        wi_context_device(test_context())->caps.device_class != WEFT_CLASS_CPU) {
        print_message("skipped: no processor with AVX-512 BF16 and without AMX, or not of class cpu\n");
        skip();
    }
    char *const cache = scratch_make();
    assert_engines(cache, 2.0, here);
    assert_engines(cache, 0.5, 0);
    setenv("WEFT_MATRIX_ENGINES", "avx512", 1);
    assert_engines(cache, 0.5, here);
    unsetenv("WEFT_MATRIX_ENGINES");
    scratch_remove(cache);
}

/* Within what noise may change, the rate is the same each time, and one of those that are known. */
static void the_rate_is_measured(void **state) {
    (void)state;
    if (!(wi_matrix_engines_of_host(true) & WI_ENGINE_AVX512_BF16)) {
        print_message("skipped: no AVX-512 BF16 here\n");
        skip();
    }
    const double rate = wi_matrix_engine_rate();
    if (rate < 0.4 || rate > 2.4) fail_msg("a rate of %g", rate);
    for (int i = 0; i < 5; i++) {
        const double again = wi_matrix_engine_rate();
        if (again < 0.8 * rate || again > 1.25 * rate) fail_msg("a rate of %g, then of %g", rate, again);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_matrix_engine_multiplies_bf16),
        cmocka_unit_test(engines_can_be_forbidden),
        cmocka_unit_test(processors_engines_belong_to_class_cpu),
        cmocka_unit_test(slow_engines_do_not_pay),
        cmocka_unit_test(the_rate_chooses_the_engine),
        cmocka_unit_test(the_rate_is_measured),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
