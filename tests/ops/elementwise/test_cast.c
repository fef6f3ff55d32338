/* Casts between all dtypes, bit for bit against the tests' own conversions, alone and inside fused
 * expressions. */
/* test slow */
#include "support/fixture.h"

#include "cl/context.h"
#include "ops/covered_ops.h"
#include "oracle/dtype_values.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DTYPES = 8, MAX_VALUES = 64 };

/* ---- what is cast: numbers that need rounding, ties, the smallest and the largest; only such as fit the
 * target ---- */

static const double fractions[] = {0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 2.999, -2.999, 100.7, -100.7, 127,
    254.9, 255, 1.00048828125 /* halfway between f16 numbers, to even below */,
    1.00146484375 /* to even above */, 1.00390625 /* halfway between bf16 numbers */, 1.01171875, 3.14159265,
    1e-3, -1e-3, 6e-8 /* subnormal in f16 */, 2.98e-8, 1e-5, 2049, 2051, 4098, 65504, 65519,
    65520 /* infinite in f16 */, -65520, 1e5, 16777216, -123456, 3e9 /* beyond i32 */, -5e12};
static const double wholes[] = {0, 1, -1, 2, 3, 127, 128, 200, 255, 256, -300, 2049, 2051, 65504, 65535,
    65536, -70000, 16777217 /* between two f32 numbers, to even below */, 16777219, 33554433, -16777217,
    2147483647, -2147483647, 2147483648.0 /* beyond i32 */, 4294967301.0, -0x1.0000000001p40, 0x1p53};

static bool is_float(weft_dtype dtype) {
    return dtype == WEFT_F32 || dtype == WEFT_F16 || dtype == WEFT_BF16 || dtype == WEFT_F64;
}

static bool fits(double value, weft_dtype from, weft_dtype to) {
    const weft_dtype both[] = {from, to};
    for (int i = 0; i < 2; i++) {
        const double whole = trunc(value);
        if (both[i] == WEFT_U8 && !(whole >= 0 && whole <= 255)) return false;
        if (both[i] == WEFT_I32 && !(fabs(whole) <= 2147483647)) return false;
        if (both[i] == WEFT_I64 && !(fabs(whole) <= 0x1p53)) return false;
        if (both[i] == WEFT_BOOL && i == 0 && value != 0 && value != 1) return false;
    }
    return true;
}

/* The numbers that go from one dtype to another, as the first has them. */
static size_t make_values(weft_dtype from, weft_dtype to, double *values) {
    double all[MAX_VALUES];
    size_t count = 0, kept = 0;
    for (size_t i = 0; is_float(from) && i < sizeof fractions / sizeof *fractions; i++)
        all[count++] = fractions[i];
    for (size_t i = 0; !is_float(from) && i < sizeof wholes / sizeof *wholes; i++) all[count++] = wholes[i];
    if (is_float(from) && (is_float(to) || to == WEFT_BOOL)) {
        all[count++] = INFINITY;
        all[count++] = -INFINITY;
        all[count++] = NAN;
        all[count++] = -0.0;
    }
    for (size_t i = 0; i < count; i++) {
        double memory;
        f64_to_dtype(from, &all[i], 1, &memory);
        f64_from_dtype(from, &memory, 1, &values[kept]);
        if (fits(all[i], from, to) && fits(values[kept], from, to)) kept++;
    }
    return kept;
}

/* ---- all pairs: one graph, one plan ---- */

typedef struct pair {
    weft_dtype from, to;
    double values[MAX_VALUES];
    int64_t count;
    weft_tensor *input, *output;
} pair;

static void check_pair(const pair *p, weft_plan *plan) {
    const size_t size = weft_dtype_size(p->to), count = (size_t)p->count;
    unsigned char got[MAX_VALUES * 8], wanted[MAX_VALUES * 8];
    assert_weft_ok(weft_plan_read(plan, p->output, got, count * size));
    f64_to_dtype(p->to, p->values, count, wanted);
    for (size_t i = 0; i < count; i++) {
        if (memcmp(got + i * size, wanted + i * size, size) == 0) continue;
        double is, should;
        f64_from_dtype(p->to, got + i * size, 1, &is);
        f64_from_dtype(p->to, wanted + i * size, 1, &should);
        if (isnan(is) && isnan(should)) continue; /* which NaN is nobody's promise */
        fail_msg("%s %.17g to %s gives %.17g instead of %.17g", weft_dtype_name(p->from), p->values[i],
            weft_dtype_name(p->to), is, should);
    }
}

static void write_pair(const pair *p, weft_plan *plan) {
    unsigned char memory[MAX_VALUES * 8];
    f64_to_dtype(p->from, p->values, (size_t)p->count, memory);
    assert_weft_ok(weft_plan_write(plan, p->input, memory, (size_t)p->count * weft_dtype_size(p->from)));
}

static void test_all_pairs(void **state) {
    (void)state;
    static pair pairs[DTYPES * DTYPES];
    weft_graph *const graph = test_graph();
    weft_tensor *outputs[DTYPES * DTYPES];
    const int dtypes =
        wi_context_device(test_context())->caps.fp64 ? DTYPES : DTYPES - 1; /* f64 is the last */
    const int count = dtypes * dtypes;
    for (int i = 0; i < count; i++) {
        pair *const p = &pairs[i];
        *p = (pair){.from = (weft_dtype)(i / dtypes), .to = (weft_dtype)(i % dtypes)};
        p->count = (int64_t)make_values(p->from, p->to, p->values);
        assert_true(p->count > 1);
        p->input = weft_input_shape(graph, "x", p->from, 1, &p->count);
        outputs[i] = p->output = weft_cast(p->input, p->to);
    }
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, outputs, (size_t)count, NULL));
    for (int i = 0; i < count; i++) write_pair(&pairs[i], plan);
    assert_weft_ok(weft_plan_run(plan));
    for (int i = 0; i < count; i++) check_pair(&pairs[i], plan);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* ---- casts that are never stored must convert all the same; gradients pass through the floats ---- */

static const float chain_values[] = {
    1.0004883f, 1.01f, -2.7f, 0.3f, 1234.567f, -0.0f, 3.9999f, 100.5f, -17.25f};
enum { CHAIN = sizeof chain_values / sizeof *chain_values };

static float through(float x, weft_dtype dtype) {
    const double value = (double)x;
    double memory, back;
    f64_to_dtype(dtype, &value, 1, &memory);
    f64_from_dtype(dtype, &memory, 1, &back);
    return (float)back;
}

static void test_chains(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    const int64_t dims[] = {CHAIN};
    const weft_dtype dtypes[] = {WEFT_F16, WEFT_BF16, WEFT_I32, WEFT_I64, WEFT_BOOL};
    enum { CHAINS = sizeof dtypes / sizeof *dtypes };
    weft_tensor *const x = weft_input_shape(graph, "x", WEFT_F32, 1, dims);
    weft_tensor *outputs[CHAINS + 3];
    for (int i = 0; i < CHAINS; i++) {
        weft_tensor *const there = weft_cast(x, dtypes[i]);
        outputs[i] = weft_add(weft_cast(there, WEFT_F32), weft_number(x, 1));
    }
    weft_tensor *const half = weft_sum(weft_mul(weft_cast(weft_cast(x, WEFT_F16), WEFT_F32), x));
    outputs[CHAINS] = weft_gradient(half, x);
    outputs[CHAINS + 1] = weft_gradient(weft_sum(weft_cast(weft_cast(x, WEFT_I32), WEFT_F32)), x);
    outputs[CHAINS + 2] = weft_cast(weft_cast(x, WEFT_F16), WEFT_BF16);
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, outputs, CHAINS + 3, NULL));
    assert_weft_ok(weft_plan_write(plan, x, chain_values, sizeof chain_values));
    assert_weft_ok(weft_plan_run(plan));
    float got[CHAIN];
    for (int i = 0; i < CHAINS; i++) {
        assert_weft_ok(weft_plan_read(plan, outputs[i], got, sizeof got));
        for (int k = 0; k < CHAIN; k++) assert_true(got[k] == through(chain_values[k], dtypes[i]) + 1);
    }
    assert_weft_ok(weft_plan_read(plan, outputs[CHAINS], got, sizeof got));
    for (int k = 0; k < CHAIN; k++) /* d(h(x)·x) = h(x) + x; the way back may round to f16 once more */
        assert_true(fabsf(got[k] - 2 * chain_values[k]) <= 0x1p-10f * fabsf(2 * chain_values[k]));
    assert_weft_ok(weft_plan_read(plan, outputs[CHAINS + 1], got, sizeof got));
    for (int k = 0; k < CHAIN; k++) assert_true(got[k] == 0);
    uint16_t bits[CHAIN];
    assert_weft_ok(weft_plan_read(plan, outputs[CHAINS + 2], bits, sizeof bits));
    for (int k = 0; k < CHAIN; k++)
        assert_int_equal(bits[k], f64_bfloat_of((double)through(chain_values[k], WEFT_F16)));
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* ---- movement of i64 keeps all 64 bits ---- */

static void test_moved_i64(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    const int64_t dims[] = {3, 21};
    int64_t numbers[63], got[126];
    for (int i = 0; i < 63; i++) numbers[i] = INT64_MIN + i * 0x0123456789abcdLL;
    weft_tensor *const x = weft_input_shape(graph, "x", WEFT_I64, 2, dims);
    weft_tensor *const permuted = weft_transpose(x);
    weft_tensor *const y = weft_concat((weft_tensor *[]){permuted, permuted}, 2, 1);
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, &y, 1, NULL));
    assert_weft_ok(weft_plan_write(plan, x, numbers, sizeof numbers));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, y, got, sizeof got));
    for (int i = 0; i < 126; i++) assert_true(got[i] == numbers[i % 3 * 21 + i / 6]);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* ---- every 16-bit pattern survives, and rounds like the tests' own conversion ---- */

static void test_every_half(void **state) {
    (void)state;
    static uint16_t bits[65536], got[65536];
    static float values[65536];
    const int64_t count = test_reduced() ? 256 : 65536, dims[] = {count};
    const size_t stride = (size_t)(65536 / count);
    for (size_t i = 0; i < (size_t)count; i++) bits[i] = (uint16_t)(i * stride);
    weft_graph *const graph = test_graph();
    const weft_dtype dtypes[] = {WEFT_F16, WEFT_BF16};
    for (int i = 0; i < 2; i++) {
        weft_tensor *const x = weft_input_shape(graph, "x", dtypes[i], 1, dims);
        weft_tensor *const wide = weft_cast(x, WEFT_F32);
        weft_tensor *const outputs[] = {wide, weft_cast(wide, dtypes[i])};
        weft_plan *plan = NULL;
        assert_weft_ok(weft_plan_create(&plan, outputs, 2, NULL));
        assert_weft_ok(weft_plan_write(plan, x, bits, (size_t)count * 2));
        assert_weft_ok(weft_plan_run(plan));
        assert_weft_ok(weft_plan_read(plan, wide, values, (size_t)count * 4));
        assert_weft_ok(weft_plan_read(plan, outputs[1], got, (size_t)count * 2));
        for (size_t k = 0; k < (size_t)count; k++) {
            const double value = i ? f64_bfloat_value(bits[k]) : f64_half_value(bits[k]);
            if (fabs(value) < 0x1p-126 && test_device_flushes()) continue;
            if (isnan(value)) {
                assert_true(isnan(values[k]));
                assert_true(isnan(i ? f64_bfloat_value(got[k]) : f64_half_value(got[k])));
                continue;
            }
            if ((double)values[k] != value || got[k] != bits[k])
                fail_msg("%s 0x%04x becomes %.9g and 0x%04x", weft_dtype_name(dtypes[i]), bits[k],
                    (double)values[k], got[k]);
        }
        weft_plan_release(plan);
    }
    weft_graph_release(graph);
}

/* ---- every tie between neighbours of a 16-bit format, and the floats beside it ---- */

enum { PATTERNS = 65536, BESIDE = 3 };

static double value_of(weft_dtype dtype, int bits) {
    const uint16_t pattern = (uint16_t)bits;
    return dtype == WEFT_F16 ? f64_half_value(pattern) : f64_bfloat_value(pattern);
}

/* NaN for what has no next neighbour. */
static void make_ties(weft_dtype dtype, float *values) {
    for (int i = 0; i < PATTERNS; i++) {
        const double from = value_of(dtype, i), to = value_of(dtype, (i + 1) % PATTERNS);
        const bool both = isfinite(from) && isfinite(to) && i % (PATTERNS / 2) != PATTERNS / 2 - 1;
        const float tie = both ? (float)((from + to) / 2) : NAN;
        values[BESIDE * i] = tie;
        values[BESIDE * i + 1] = nextafterf(tie, INFINITY);
        values[BESIDE * i + 2] = nextafterf(tie, -INFINITY);
    }
}

static void check_ties(weft_dtype dtype, const float *values, const uint16_t *got) {
    for (size_t i = 0; i < (size_t)PATTERNS * BESIDE; i++) {
        const double value = (double)values[i];
        const uint16_t wanted = dtype == WEFT_F16 ? f64_half_of(value) : f64_bfloat_of(value);
        const double given = value_of(dtype, got[i]);
        if (isnan(value) ? isnan(given) : got[i] == wanted) continue;
        if (fabs(value) < 0x1p-125 && test_device_flushes()) continue;
        fail_msg("%.9g becomes %s 0x%04x, not 0x%04x", value, weft_dtype_name(dtype), got[i], wanted);
    }
}

/* Stored, and rounded in a register before they are. */
static void test_every_tie(void **state) {
    (void)state;
    static float values[PATTERNS * BESIDE], wide[PATTERNS * BESIDE];
    static uint16_t got[PATTERNS * BESIDE];
    const int64_t dims[] = {PATTERNS * BESIDE};
    const weft_dtype dtypes[] = {WEFT_F16, WEFT_BF16};
    weft_graph *const graph = test_graph();
    for (int i = 0; i < 2; i++) {
        weft_tensor *const x = weft_input_shape(graph, "x", WEFT_F32, 1, dims);
        weft_tensor *const narrow = weft_cast(x, dtypes[i]), *const back = weft_cast(narrow, WEFT_F32);
        weft_plan *plan = NULL;
        make_ties(dtypes[i], values);
        assert_weft_ok(weft_plan_create(&plan, (weft_tensor *[]){narrow, back}, 2, NULL));
        assert_weft_ok(weft_plan_write(plan, x, values, sizeof values));
        assert_weft_ok(weft_plan_run(plan));
        assert_weft_ok(weft_plan_read(plan, narrow, got, sizeof got));
        assert_weft_ok(weft_plan_read(plan, back, wide, sizeof wide));
        check_ties(dtypes[i], values, got);
        for (size_t k = 0; k < (size_t)PATTERNS * BESIDE; k++) {
            const double stored = value_of(dtypes[i], got[k]);
            if (isnan(stored) ? !isnan(wide[k]) : (double)wide[k] != stored && !test_device_flushes())
                fail_msg("%.9g in memory, %.9g in a register", stored, (double)wide[k]);
        }
        weft_plan_release(plan);
    }
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CAST_OPS(COVERED_TEST) cmocka_unit_test(test_chains),
        cmocka_unit_test(test_moved_i64),
        cmocka_unit_test(test_every_half),
        cmocka_unit_test(test_every_tie),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
