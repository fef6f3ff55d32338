/* Products by a matrix engine: where they are chosen, and how an embedder does without. That they are right is test_gemm's
 * business. */
#include "cl/matrix_engine.h"
#include "kernels/product/gemm.h"
#include "kernels/selection.h"
#include "ops/op_table.h"
#include "support/checks.h"
#include "support/fixture.h"
#include <stdlib.h>

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_matrix_engine_multiplies_bf16),
        cmocka_unit_test(engines_can_be_forbidden),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
