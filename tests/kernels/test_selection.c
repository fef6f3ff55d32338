/* The choice among candidates: the cheapest wins, a margin counts, tuned times replace estimates, names that nothing has
 * are errors. */
#include "support/checks.h"
#include "support/conv_net.h"
#include "support/scratch.h"

#include "cl/context.h"
#include "cl/program.h"
#include "cl/quirks.h"
#include "kernels/convolution/conv_product.h"
#include "kernels/forced.h"
#include "kernels/product/gemm.h"
#include "kernels/selection.h"
#include "ops/convolution/conv.h"
#include "ops/op_table.h"
#include <math.h>

static wi_selection choose(weft_context *context, const wi_gemm_shape *product) {
    const wi_kernel_site site = {.device = &wi_context_device(context)->profile, .product = product};
    wi_selection selection;
    assert_ok(wi_select(&selection, wi_context_device(context), &wi_op_matmul, &site));
    return selection;
}

static const wi_candidate *chosen_of(const wi_selection *selection) {
    for (int i = 0; i < selection->count; i++) {
        const wi_candidate *const candidate = &selection->candidates[i];
        if (candidate->implementation == selection->chosen && candidate->variant == selection->variant)
            return candidate;
    }
    fail_msg("what was chosen is no candidate");
    return NULL;
}

static void the_cheapest_wins(void **state) {
    scratch_log log = {0};
    weft_context *const context = scratch_context(*state, &log);
    for (int64_t size = 1; size <= 4096; size *= 4) {
        const wi_gemm_shape product = {1, size, size, size, 0, size, 1, 0, size, 1, NULL};
        const wi_selection selection = choose(context, &product);
        const wi_candidate *const chosen = chosen_of(&selection);
        int accepted = 0;
        assert_int_equal(chosen->verdict, WI_VERDICT_CHOSEN);
        for (int i = 0; i < selection.count; i++) {
            const wi_candidate *const other = &selection.candidates[i];
            if (other->verdict == WI_VERDICT_REFUSED || other->verdict == WI_VERDICT_UNMEASURED) continue;
            accepted++;
            assert_true(other->seconds > 0.0 && isfinite(other->seconds));
            assert_true(other->seconds * other->margin >= chosen->seconds * chosen->margin);
        }
        assert_true(accepted > 1 || wi_context_device(context)->caps.quirks & WI_QUIRK_SCALAR_COMPILER);
    }
    weft_context_release(context);
}

static void names_that_nothing_has_are_errors(void **state) {
    scratch_log log = {0};
    weft_context *const context = scratch_context(*state, &log);
    const wi_conv_geometry geometry = conv_geometry_of(2, 16, 32, 8, 3);
    const wi_gemm_shape convolution = {.convolution = &geometry};
    const wi_kernel_site site = {.device = &wi_context_device(context)->profile, .product = &convolution};
    wi_selection selection;
    static const char *const variables[] = {"WEFT_CONV", "WEFT_GEMM", "WEFT_RECURRENT", "WEFT_ATTENTION"},
                             *const some[] = {"winograd", "cpu_block", "_cpu", "_gpu"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        setenv(variables[i], "fastest", 1);
        assert_fails(wi_forced_check(), WEFT_ERROR_ARGUMENT, variables[i]);
        assert_non_null(strstr(weft_last_error(), "is 'fastest'; it must be"));
        assert_non_null(strstr(weft_last_error(), some[i]));
        unsetenv(variables[i]);
    }
    setenv("WEFT_RECURRENT", "gpu/rows4", 1);
    assert_ok(wi_forced_check());
    unsetenv("WEFT_RECURRENT");
    setenv("WEFT_CONV", "pointwise_weight", 1); /* of another of the three ops */
    assert_ok(wi_select(&selection, wi_context_device(context), &wi_op_conv, &site));
    assert_int_equal(chosen_of(&selection)->verdict, WI_VERDICT_CHOSEN);
    setenv("WEFT_CONV", "conv_naive", 1);
    assert_ok(wi_select(&selection, wi_context_device(context), &wi_op_conv, &site));
    assert_string_equal(selection.chosen->name, "conv_naive");
    assert_int_equal(chosen_of(&selection)->verdict, WI_VERDICT_FORCED);
    unsetenv("WEFT_CONV");
    weft_context_release(context);
}

/* Where several implementations take one site, each says what it costs; parameters fit their array. */
static void records_are_whole(void **state) {
    (void)state;
    for (const wi_family *family = wi_families; *family; family++) {
        for (int i = 0; (*family)[i]; i++) {
            const wi_implementation *const record = (*family)[i];
            int parameters = 0;
            assert_true((record->file && record->prepare) != (record->run != NULL));
            while (record->parameters && record->parameters[parameters]) parameters++;
            assert_true(parameters <= WI_PARAMETERS);
            assert_int_equal(record->variants != NULL, parameters > 0);
            if (*family == wi_product_family || *family == wi_convolution_family ||
                *family == wi_convolution_weight_family)
                assert_true(record->run || record->cost);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(the_cheapest_wins),
        SCRATCH_TEST(names_that_nothing_has_are_errors),
        cmocka_unit_test(records_are_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
