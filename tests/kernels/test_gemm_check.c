/* What a kernel must hold before it serves (kernels/product/gemm_check.h): of f32 in `highest` the rounding of multiply-adds, as
 * multiply-adds do. What does not hold it is in test_gemm_parts.c. */
#include "cl/context.h"
#include "kernels/product/gemm_check.h"
#include "kernels/selection.h"
#include "ops/op_table.h"
#include "support/checks.h"
#include "support/fixture.h"

/* On one unit, so that no sum is split. */
static void multiply_adds_are_as_exact_as_themselves(void **state) {
    const wi_gemm_shape shape = {1, 35, 45, 4096, 0, 4096, 1, 0, 45, 1, NULL};
    (void)state;
    if (test_reduced()) {
        print_message("skipped: WEFT_TEST_REDUCED asks for less than 4096 steps\n");
        skip();
    }
    weft_context *const context = test_context_open(
        (weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .work_units = 1, .no_matrix_engines = true});
    wi_device *const device = wi_context_device(context);
    const wi_kernel_site site = {.device = &device->profile, .product = &shape};
    wi_selection selection;
    assert_weft_ok(wi_select(&selection, device, &wi_op_matmul, &site));
    assert_true(wi_gemm_is_right(device, selection.chosen, selection.variant));
    weft_context_release(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(multiply_adds_are_as_exact_as_themselves)};
    return test_finish(cmocka_run_group_tests_name("gemm check", tests, NULL, NULL));
}
