/* Functions that round in the same way on every system: their errors, their exact results, and all their bits. */
#include "base/portable_math.h"
#include "base/splitmix.h"
#include "support/checks.h"
#include <math.h>

enum { COUNT = 200000 };

static double next(uint64_t *state) {
    return (double)(wi_splitmix(state) >> 11) * 0x1p-53;
}

static void special_results_are_exact(void **test) {
    (void)test;
    assert_true(wi_math_exp(0) == 1 && wi_math_exp(-800) == 0 && isinf(wi_math_exp(800)));
    assert_true(wi_math_log(1) == 0 && isinf(wi_math_log(0)) && isnan(wi_math_log(-1)));
    assert_true(wi_math_cos(0) == 1 && wi_math_cos(0x1.921fb54442d18p+1) == -1);
    assert_true(wi_math_pow(0.96, 0) == 1 && wi_math_pow(4, 3) == 64 && wi_math_pow(32, -1) == 0.03125);
    assert_true(wi_math_pow(0, 2) == 0 && wi_math_pow(0, 0.5) == 0 && wi_math_pow(-2, 3) == -8);
    assert_true(fabs(wi_math_pow(-1.001, 100000) * 0x1p-144 - pow(1.001, 100000) * 0x1p-144) < 1e-10);
    assert_true(fabs(wi_math_pow(-1.001, 100001) * 0x1p-144 + pow(1.001, 100001) * 0x1p-144) < 1e-10);
    assert_true(
        wi_math_pow(0.9, 100000) == 0 && isnan(wi_math_pow(-2, 0.5)) && isnan(wi_math_exp((double)NAN)));
    assert_true(isinf(wi_fmaf(INFINITY, 1, 1)) && isnan(wi_fmaf(INFINITY, 0, 1)));
}

/* Recorded on x86-64 with glibc; the bits are the same elsewhere. */
static void all_bits_are_those_of_other_systems(void **test) {
    uint64_t state = 1, hash = 0;
    (void)test;
    for (int i = 0; i < COUNT; i++) {
        const double x = next(&state);
        const double values[] = {wi_math_exp(-10 * x), wi_math_log(x + 1e-9), wi_math_pow(0.9, i),
            wi_math_cos(3 * x), (double)wi_fmaf((float)x, (float)next(&state), (float)(-x * x))};
        for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
            uint64_t bits;
            memcpy(&bits, &values[k], sizeof bits);
            hash = hash * 31 + bits;
        }
    }
    assert_true(hash == 0x651af914ba53c9a1u);
}

#if !defined(_WIN32) /* the functions of MinGW have larger errors, and its fmaf rounds twice */
static double units_apart(double value, double right) {
    int exponent;
    (void)frexp(right, &exponent);
    return fabs(value - right) / ldexp(1, exponent - 53);
}

/* The C library's functions have errors below one unit. */
static void errors_are_small(void **test) {
    uint64_t state = 1;
    (void)test;
    for (int i = 0; i < COUNT; i++) {
        const double x = next(&state), power = floor(2000 * next(&state));
        assert_true(units_apart(wi_math_exp(200 * x - 100), exp(200 * x - 100)) < 2);
        assert_true(
            units_apart(wi_math_log(ldexp(x + 0.5, i % 100 - 50)), log(ldexp(x + 0.5, i % 100 - 50))) < 2);
        assert_true(units_apart(wi_math_pow(0.9 + 0.0999 * x, power), pow(0.9 + 0.0999 * x, power)) < 4);
        assert_true(units_apart(wi_math_pow(x, 0.9), pow(x, 0.9)) < 4);
        assert_true(fabs(wi_math_cos(100 * x) - cos(100 * x)) < 3e-16);
    }
}

static void a_fused_sum_is_rounded_once(void **test) {
    uint64_t state = 7;
    (void)test;
    for (int i = 0; i < COUNT; i++) {
        const float x = (float)(4 * next(&state) - 2), y = (float)(4 * next(&state) - 2);
        const float z = ldexpf((float)(2 * next(&state) - 1), -(i % 40)), tiny = ldexpf(x, -140);
        assert_true(wi_fmaf(x, y, z) == fmaf(x, y, z));
        assert_true(wi_fmaf(x, y, -x * y) == fmaf(x, y, -x * y));
        assert_true(wi_fmaf(tiny, y, tiny) == fmaf(tiny, y, tiny));
    }
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(special_results_are_exact),
        cmocka_unit_test(all_bits_are_those_of_other_systems),
#if !defined(_WIN32)
        cmocka_unit_test(errors_are_small),
        cmocka_unit_test(a_fused_sum_is_rounded_once),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
