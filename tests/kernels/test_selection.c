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
#include "kernels/registry.h"
#include "kernels/selection.h"
#include "ops/convolution/conv.h"
#include "ops/op_table.h"
#include <math.h>
#include <string.h>

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

/* Where an item has few registers, none of its tiles has more than 32 sums an item: the first variant has 64. */
static void few_registers_get_smaller_tiles(void **state) {
    const wi_gemm_shape shape = {1, 512, 512, 512, 0, 512, 1, 0, 512, 1, NULL};
    wi_device_profile device = *wi_device_kind_named("gpu");
    const wi_kernel_site site = {.device = &device, .product = &shape};
    const wi_implementation *tiled = NULL;
    (void)state;
    device.max_group = device.max_items[0] = device.max_items[1] = 256;
    device.local_bytes = 32 << 10;
    for (int i = 0; wi_product_family[i]; i++)
        if (strcmp(wi_product_family[i]->name, "gpu_tiled") == 0) tiled = wi_product_family[i];
    assert_non_null(tiled);
    device.quirks &= ~(unsigned)WI_QUIRK_FEW_REGISTERS;
    assert_true(wi_implementation_accepts(tiled, wi_implementation_variant(tiled, 0), &site));
    device.quirks |= WI_QUIRK_FEW_REGISTERS;
    assert_false(wi_implementation_accepts(tiled, wi_implementation_variant(tiled, 0), &site));
    assert_true(wi_implementation_accepts(tiled, wi_implementation_variant(tiled, 1), &site));
}

/* Of the products, on a device of this kind. */
static void expect_naive_last(const char *kind) {
    const wi_gemm_shape huge = {1, INT64_C(1) << 40, 1, 1, 0, 1, 1, 0, 1, 1, NULL};
    const wi_kernel_site site = {.device = wi_device_kind_named(kind), .product = &huge};
    int last = 0;
    while (wi_product_family[last + 1]) last++;
    const wi_implementation *const naive = wi_product_family[last];
    assert_string_equal(naive->name, "naive");
    assert_true(wi_implementation_accepts(naive, NULL, &site));
    for (int i = 0; i < last; i++) {
        if (wi_product_family[i]->file)
            assert_false(wi_implementation_accepts(wi_product_family[i], NULL, &site));
    }
    wi_arena arena;
    wi_arena_init(&arena, NULL);
    wi_kernel_plan launches;
    assert_fails(wi_implementation_prepare(naive, NULL, &site, &arena, &launches), WEFT_ERROR_UNSUPPORTED,
        "too large");
    wi_arena_clear(&arena);
}

static void the_naive_one_is_last_and_accepts_everything(void **state) {
    (void)state;
    expect_naive_last("cpu");
    expect_naive_last("gpu");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(the_cheapest_wins),
        SCRATCH_TEST(names_that_nothing_has_are_errors),
        cmocka_unit_test(records_are_whole),
        cmocka_unit_test(few_registers_get_smaller_tiles),
        cmocka_unit_test(the_naive_one_is_last_and_accepts_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
