/* Products of few rows, as decoding has them, on the GPUs of the table of devices: what the cheapest kernel is expected to take, beside
 * the least that the device allows. No kernel runs. */
#include "support/fixture.h"

#include "cl/context.h"
#include "cl/known_devices.h"
#include "cl/matrix_engine.h"
#include "cl/opened_device.h"
#include "kernels/product/gemm.h"
#include "kernels/registry.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 4096, MOST_ROWS = 32 };

static const struct {
    const char *architecture;
    unsigned engine;
} engines[] = {{"sm_8", WI_ENGINE_MMA}, {"sm_9", WI_ENGINE_MMA}, {"gfx90a", WI_ENGINE_MFMA},
    {"gfx94", WI_ENGINE_MFMA}, {"gfx11", WI_ENGINE_WMMA}, {"ip_12.5", WI_ENGINE_XMX8}};

static wi_device_profile profile_of(const wi_known_device *known, bool with_engine) {
    wi_capabilities caps = wi_known_capabilities(known);
    for (size_t i = 0; with_engine && i < sizeof engines / sizeof *engines; i++)
        if (strncmp(known->architecture, engines[i].architecture, strlen(engines[i].architecture)) == 0)
            caps.engines = engines[i].engine;
    wi_device_profile profile = wi_device_profile_of(&caps);
    profile.runs = 1e12; /* what compiling takes is no part of a product's time */
    return profile;
}

/* A candidate, and what it is expected to take; the one that takes the least by its margin is chosen. */
typedef struct expectation {
    const wi_implementation *implementation;
    const wi_variant *variant;
    double seconds, compared;
} expectation;

static void consider(expectation *best, const wi_implementation *one, const wi_kernel_site *site) {
    const wi_variant *variant;
    for (int v = 0; (variant = wi_implementation_variant(one, v)) != NULL; v++) {
        if (wi_variant_is_tuned(one, variant) || !wi_implementation_accepts(one, variant, site)) continue;
        const double seconds = wi_implementation_cost(one, variant, site),
                     compared = seconds * wi_implementation_margin(one, variant, site);
        if (compared < best->compared) *best = (expectation){one, variant, seconds, compared};
    }
}

static int launches_of(const expectation *chosen, const wi_kernel_site *site) {
    wi_arena arena;
    wi_kernel_plan plan;
    wi_arena_init(&arena, wi_context_device(test_context())->host.allocator);
    assert_weft_ok(wi_implementation_prepare(chosen->implementation, chosen->variant, site, &arena, &plan));
    wi_arena_clear(&arena);
    return plan.count;
}

/* Without what launches take of their own. */
static expectation expected_of(const wi_device_profile *device, int64_t rows, weft_dtype format) {
    const wi_gemm_shape shape = {1, rows, WIDTH, WIDTH, 0, WIDTH, 1, 0, WIDTH, 1, NULL};
    const wi_kernel_site site = {
        .device = device, .product = &shape, .formats = {format, format}, .precision = format};
    expectation best = {.compared = INFINITY};
    for (int i = 0; wi_product_family[i]; i++)
        if (!wi_product_family[i]->run) consider(&best, wi_product_family[i], &site);
    best.seconds -= launches_of(&best, &site) * device->launch_seconds;
    return best;
}

/* What nothing is faster than: reading both matrices and writing their product in f32, or multiplying at the peak. */
static double floor_of(const wi_device_profile *device, int64_t rows, size_t bytes, double peak) {
    const double factors = (double)WIDTH * WIDTH + (double)WIDTH * (double)rows,
                 results = (double)WIDTH * (double)rows,
                 read = (double)bytes * factors + (double)sizeof(float) * results;
    return fmax(read / device->bandwidth, 2.0 * WIDTH * results / (peak * (double)device->units));
}

/* The largest time, as a multiple of the floor, of so many rows. */
static double worst_of(
    const wi_known_device *known, const wi_device_profile *device, int64_t first, int64_t last, bool engine) {
    const weft_dtype format = engine ? WEFT_BF16 : WEFT_F32;
    double worst = 0.0;
    for (int64_t rows = first; rows <= last; rows++) {
        const expectation got = expected_of(device, rows, format);
        const double least =
            floor_of(device, rows, engine ? 2 : 4, engine ? device->peak_engine : device->peak_f32);
        worst = fmax(worst, got.seconds / least);
        if (rows == last)
            printf("%-22s %s, %2d to %2d rows: at most %.2f of the floor; the last by %s/%s in %.1f us\n",
                known->title, engine ? "bf16" : "f32", (int)first, (int)last, worst, got.implementation->name,
                got.variant->name, 1e6 * got.seconds);
    }
    return worst;
}

#define MOST 1.5

/* Where multiplying 32 rows takes longer than reading does, 25 of them are compared with reading, and multiplied in a tile of 32. */
static bool is_slow_for_its_memory(const wi_known_device *known) {
    return strcmp(known->architecture, "sm_80") == 0 || strcmp(known->architecture, "gfx90a") == 0;
}

static void rows_of_f32_take_what_reading_takes(void **state) {
    const wi_known_device *known;
    (void)state;
    for (int i = 0; (known = wi_known_device_row(i)) != NULL; i++) {
        if (!known->title) continue;
        const wi_device_profile device = profile_of(known, false);
        assert_true(worst_of(known, &device, 1, 16, false) <= MOST);
        assert_true(worst_of(known, &device, 17, 24, false) <= MOST);
        assert_true(worst_of(known, &device, 25, 31, false) <= (is_slow_for_its_memory(known) ? 1.7 : MOST));
        assert_true(worst_of(known, &device, 32, 32, false) <= MOST);
    }
}

static void rows_of_16_bits_take_what_reading_takes(void **state) {
    const wi_known_device *known;
    (void)state;
    for (int i = 0; (known = wi_known_device_row(i)) != NULL; i++) {
        if (!known->title) continue;
        const wi_device_profile device = profile_of(known, true);
        if (device.engines) assert_true(worst_of(known, &device, 1, MOST_ROWS, true) <= MOST);
    }
}

/* They take no more rows than they have, so that B is read by one tile alone, and no fewer than `flat` has. */
static void tiles_have_all_rows(void **state) {
    (void)state;
    for (int i = 0; wi_product_family[i]; i++) {
        const wi_implementation *const one = wi_product_family[i];
        if (strcmp(one->name, "gpu_rows") != 0) continue;
        for (int64_t rows = 1; rows <= 40; rows++) {
            const wi_device_profile device = profile_of(wi_known_device_row(0), false);
            const wi_gemm_shape shape = {1, rows, WIDTH, WIDTH, 0, WIDTH, 1, 0, WIDTH, 1, NULL};
            const wi_kernel_site site = {.device = &device, .product = &shape};
            assert_int_equal(wi_implementation_accepts(one, wi_implementation_variant(one, 0), &site),
                rows >= 17 && rows <= 24);
            assert_int_equal(wi_implementation_accepts(one, wi_implementation_variant(one, 1), &site),
                rows >= 17 && rows <= 32);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_of_f32_take_what_reading_takes),
        cmocka_unit_test(rows_of_16_bits_take_what_reading_takes), cmocka_unit_test(tiles_have_all_rows)};
    return test_finish(cmocka_run_group_tests_name("rows choice", tests, NULL, NULL));
}
