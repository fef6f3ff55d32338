/* How cpu_direct cuts products of few rows among compute units: by columns, so that the packed right side is read once.
 * No kernel runs, and the class of the device does not matter. */
#include "support/fixture.h"

#include "cl/context.h"
#include "kernels/product/gemm.h"
#include "kernels/product/gemm_shared.h"
#include "kernels/registry.h"
#include <string.h>

static const wi_implementation *direct(void) {
    for (int i = 0; wi_product_family[i]; i++)
        if (strcmp(wi_product_family[i]->name, "cpu_direct") == 0) return wi_product_family[i];
    return NULL;
}

/* Work-items along rows and columns of C. */
typedef struct grid {
    size_t strips, spans;
} grid;

static grid grid_of(int64_t m, int64_t n, int64_t k, uint32_t units) {
    const wi_gemm_shape shape = {1, m, n, k, 0, k, 1, 0, n, 1, NULL};
    wi_device_profile device = wi_context_device(test_context())->profile;
    const wi_kernel_site site = {.device = &device, .product = &shape};
    wi_arena arena;
    wi_kernel_plan launches;
    device.units = units;
    wi_arena_init(&arena, wi_context_device(test_context())->host.allocator);
    assert_weft_ok(wi_implementation_prepare(direct(), NULL, &site, &arena, &launches));
    assert_string_equal(launches.launches[1]->suffix, "rows");
    const grid found = {launches.launches[1]->global[0], launches.launches[1]->global[1]};
    wi_arena_clear(&arena);
    return found;
}

/* The columns make two work-items a unit: with fewer, rows would be split to have as many. */
static void few_rows_are_not_split(void **state) {
    static const int64_t rows[] = {2, 16, 32, 49, 90};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const grid wide = grid_of(rows[i], 10000, 256, 2), layer = grid_of(rows[i], 1024, 256, 2);
        assert_int_equal(wide.strips, 1);
        assert_int_equal(wide.spans, 4);
        assert_int_equal(layer.strips, 1);
        assert_int_equal(layer.spans, 4);
    }
}

static void few_columns_leave_rows_to_split(void **state) {
    (void)state;
    const grid narrow = grid_of(90, 64, 4096, 2), many_units = grid_of(90, 640, 4096, 16);
    assert_int_equal(narrow.spans, 1);
    assert_in_range(narrow.strips, 4, 16);
    assert_int_equal(many_units.spans, 10);
    assert_in_range(many_units.strips * many_units.spans, 32, 160);
}

static void large_products_are_split_by_rows(void **state) {
    (void)state;
    const grid large = grid_of(4096, 640, 256, 2);
    assert_int_equal(large.spans, 1);
    assert_true(large.strips >= 4);
}

/* The estimate of a layer whose weights are packed for good, on a processor of two cores. */
static double cost_of(const char *name, int64_t m, int64_t k) {
    const wi_gemm_shape shape = {1, m, 4096, k, 0, k, 1, 0, 4096, 1, NULL};
    wi_device_profile device = *wi_device_kind_named("cpu");
    const wi_kernel_site site = {.device = &device, .product = &shape, .fixed = WI_GEMM_RIGHT};
    device.units = 2;
    for (int i = 0; wi_product_family[i]; i++) {
        const wi_implementation *const product = wi_product_family[i];
        if (strcmp(product->name, name) == 0)
            return wi_implementation_cost(product, wi_implementation_variant(product, 0), &site);
    }
    fail_msg("there is no %s", name);
    return 0.0;
}

/* A panel of 9216 steps of k is larger than the near cache, but is multiplied in parts that stay in it. */
static void panels_beyond_the_near_cache_cost_as_much_for_each_step(void **state) {
    static const int64_t rows[] = {6, 16, 32, 64, 1024};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_true(cost_of("cpu_direct", rows[i], 4096) < cost_of("cpu_thin", rows[i], 4096));
        assert_true(cost_of("cpu_direct", rows[i], 4096) < cost_of("cpu_block", rows[i], 4096));
        assert_true(cost_of("cpu_direct", rows[i], 9216) < 2.3 * cost_of("cpu_direct", rows[i], 4096));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(few_rows_are_not_split),
        cmocka_unit_test(panels_beyond_the_near_cache_cost_as_much_for_each_step),
        cmocka_unit_test(few_columns_leave_rows_to_split),
        cmocka_unit_test(large_products_are_split_by_rows)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
