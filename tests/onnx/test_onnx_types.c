/* Element types of ONNX: every pattern of the narrow ones as constants, and casts to them, against their definitions. */
#include "support/fixture.h"
#include "support/onnx_case.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static onnx_bytes file;

/* How an exponent of ones, or the pattern of -0, is read. */
typedef enum special { IEEE, ONES_NAN, MINUS_0_NAN, NUMBERS } special;

/* The formats of 8 and 4 bits: their number in a file, their bits, those of the exponent, and its bias. */
static const struct {
    int number, bits, exponent, bias;
    special special;
} formats[] = {{17, 8, 4, 7, ONES_NAN}, {18, 8, 4, 8, MINUS_0_NAN}, {19, 8, 5, 15, IEEE},
    {20, 8, 5, 16, MINUS_0_NAN}, {23, 4, 2, 1, NUMBERS}};
enum { FORMATS = sizeof formats / sizeof *formats };

/* The number that a pattern of a format stands for. */
static double decode(int f, int pattern) {
    const int digits = formats[f].bits - 1, mantissa = digits - formats[f].exponent;
    const int rest = pattern % (1 << digits), exponent = rest >> mantissa, fraction = rest % (1 << mantissa);
    const double sign = pattern >> digits ? -1 : 1;
    if (formats[f].special == ONES_NAN && rest == (1 << digits) - 1) return (double)NAN;
    if (formats[f].special == MINUS_0_NAN && pattern == 1 << digits) return (double)NAN;
    if (formats[f].special == IEEE && exponent == (1 << formats[f].exponent) - 1)
        return fraction ? (double)NAN : sign * (double)INFINITY;
    if (exponent == 0) return sign * fraction * exp2(1 - formats[f].bias - mantissa);
    return sign * (1 + fraction * exp2(-mantissa)) * exp2(exponent - formats[f].bias);
}

/* ---- constants ---- */

/* An initializer of raw bytes, whatever its type. */
static void put_raw(const char *name, int type, int64_t count, const void *bytes, size_t size) {
    const size_t tensor = onnx_begin(&file, 5);
    onnx_put_whole(&file, 1, count);
    onnx_put_whole(&file, 2, type);
    onnx_put_text(&file, 8, name);
    onnx_put_bytes(&file, 9, bytes, size);
    onnx_end(&file, tensor);
}

/* A constant is a result by way of an Identity. */
static void put_result(const char *constant, const char *name) {
    onnx_node(&file, "Identity", constant, name);
    onnx_output(&file, name);
}

static void test_patterns(void **state) {
    static onnx_case_result results[FORMATS + 1];
    unsigned char all[256], pairs[8];
    (void)state;
    for (int i = 0; i < 256; i++) all[i] = (unsigned char)i;
    for (int i = 0; i < 8; i++) pairs[i] = (unsigned char)(2 * i | (2 * i + 1) << 4);
    const size_t model = onnx_begin_model(&file);
    for (int f = 0; f < FORMATS; f++) {
        const char name[] = {(char)('a' + f), 0}, result[] = {(char)('A' + f), 0};
        const bool whole = formats[f].bits == 8;
        put_raw(name, formats[f].number, whole ? 256 : 16, whole ? all : pairs, whole ? 256 : 8);
        put_result(name, result);
    }
    put_raw("powers", 24, 256, all, 256); /* e8m0: 2^(pattern - 127), the last is no number */
    put_result("powers", "P");
    onnx_end_model(&file, model);
    onnx_case_run(&file, NULL, results);
    double wanted[256];
    for (int f = 0; f < FORMATS; f++) {
        const int count = 1 << formats[f].bits;
        for (int i = 0; i < count; i++) wanted[i] = decode(f, i);
        onnx_case_compare("patterns", &results[f], wanted, (size_t)count, 0);
    }
    for (int i = 0; i < 255; i++) wanted[i] = exp2(i - 127);
    wanted[255] = (double)NAN;
    if (!test_device_flushes()) onnx_case_compare("powers", &results[FORMATS], wanted, 256, 0);
}

static void test_packed(void **state) {
    static const unsigned char fours[] = {0x21, 0xf8, 0x07}, twos[] = {0xe4, 0x02};
    static const uint16_t halves[] = {0x3f80, 0xc020, 0x4049}, halves16[] = {0x3c00, 0xc100, 0x0001};
    static const uint16_t words[] = {1, 0x8000, 0xffff};
    static const uint32_t longs[] = {7, 0x7fffffff};
    static const double doubles[] = {0.5, -1e30};
    static const double wanted[][5] = {{1, 2, 8, 15, 7}, {1, 2, -8, -1, 7}, {0, 1, 2, 3, 2},
        {0, 1, -2, -1, -2}, {1, -2.5, 3.140625}, {1, -2.5, 0x1p-24}, {1, 32768, 65535}, {1, -32768, -1},
        {7, 2147483647}, {0.5, -1e30}, {1, -128, -1}};
    static const unsigned char bytes[] = {1, 0x80, 0xff};
    static const struct {
        int type, count;
        const void *data;
        size_t size;
    } rows[] = {{21, 5, fours, 3}, {22, 5, fours, 3}, {25, 5, twos, 2}, {26, 5, twos, 2}, {16, 3, halves, 6},
        {10, 3, halves16, 6}, {4, 3, words, 6}, {5, 3, words, 6}, {12, 2, longs, 8}, {11, 2, doubles, 16},
        {3, 3, bytes, 3}};
    enum { ROWS = sizeof rows / sizeof *rows };
    static onnx_case_result results[ROWS];
    (void)state;
    const size_t model = onnx_begin_model(&file);
    for (int i = 0; i < ROWS; i++) {
        const char name[] = {(char)('a' + i), 0}, result[] = {(char)('A' + i), 0};
        put_raw(name, rows[i].type, rows[i].count, rows[i].data, rows[i].size);
        put_result(name, result);
    }
    onnx_end_model(&file, model);
    onnx_case_run(&file, NULL, results);
    for (int i = 0; i < ROWS; i++)
        onnx_case_compare("a packed type", &results[i], wanted[i], (size_t)rows[i].count, 1e-7);
}

/* ---- casts ---- */

/* The nearest number of a format: of two that are equally near the one of an even pattern. */
static double nearest(int f, double x) {
    const int patterns = 1 << (formats[f].bits - 1);
    int best = 0;
    for (int i = 1; i < patterns; i++) {
        const double number = decode(f, i), before = fabs(fabs(x) - decode(f, best));
        if (!isfinite(number)) continue;
        const double here = fabs(fabs(x) - number);
        if (here < before || (here == before && i % 2 == 0)) best = i;
    }
    return x < 0 ? -decode(f, best) : decode(f, best);
}

static double largest(int f) {
    double most = 0;
    for (int i = 0; i < 1 << (formats[f].bits - 1); i++)
        if (isfinite(decode(f, i))) most = fmax(most, decode(f, i));
    return most;
}

static double cast(int f, bool saturates, double x) {
    const double sign = x < 0 ? -1 : 1;
    if (isnan(x) || fabs(x) <= largest(f)) return isnan(x) ? x : nearest(f, x);
    if (saturates || formats[f].special == NUMBERS) return sign * largest(f);
    return formats[f].special == IEEE ? sign * (double)INFINITY : (double)NAN;
}

static void test_casts(void **state) {
    enum { COUNT = 64, FIXED = 16 };
    static const double fixed[FIXED] = {0, 1, -1, 0.25, -0.75, 1.25, 2.5, 5, -3.5, 240, -448, 0x1p-9,
        0x1.8p-10, 70000, -(double)INFINITY, (double)NAN};
    static onnx_case_result results[2 * FORMATS];
    double x[COUNT], wanted[COUNT];
    test_random random = test_random_named("casts", 0);
    (void)state;
    for (int i = 0; i < COUNT; i++)
        x[i] = i < FIXED ? fixed[i]
                         : (double)(float)ldexp(
                               test_random_between(&random, -1, 1), (int)test_random_below(&random, 16) - 8);
    const size_t model = onnx_begin_model(&file);
    onnx_input(&file, "x", "64");
    for (int i = 0; i < 2 * FORMATS; i++) {
        const char name[] = {(char)('A' + i), 0};
        char attributes[32];
        snprintf(attributes, sizeof attributes, "to=%d saturate=%d", formats[i / 2].number, i % 2);
        onnx_case_node(&file, "Cast", "x", name, attributes);
        onnx_output(&file, name);
    }
    onnx_end_model(&file, model);
    onnx_case_run(&file, &(onnx_case_input){x, COUNT}, results);
    for (int i = 0; i < 2 * FORMATS; i++) {
        char what[32];
        snprintf(what, sizeof what, "type %d, saturate %d", formats[i / 2].number, i % 2);
        for (int k = 0; k < COUNT; k++) wanted[k] = cast(i / 2, i % 2, x[k]);
        /* What becomes of NaN where a format has none is not defined. */
        if (formats[i / 2].special == NUMBERS) wanted[FIXED - 1] = results[i].numbers[FIXED - 1];
        onnx_case_compare(what, &results[i], wanted, COUNT, 0);
    }
}

/* Whole numbers wrap around. */
static void test_wraps(void **state) {
    static const double x[] = {200, -129, 127, 40000, -70000, 255};
    static const struct {
        int type, bits;
        bool negative;
    } types[] = {{2, 8, false}, {3, 8, true}, {4, 16, false}, {5, 16, true}};
    static onnx_case_result results[4];
    (void)state;
    const size_t model = onnx_begin_model(&file);
    onnx_input_typed(&file, "x", CASE_INT32, "6");
    for (int i = 0; i < 4; i++) {
        const char name[] = {(char)('A' + i), 0},
                   attributes[] = {'t', 'o', '=', (char)('0' + types[i].type), 0};
        onnx_case_node(&file, "Cast", "x", name, attributes);
        onnx_output(&file, name);
    }
    onnx_end_model(&file, model);
    onnx_case_run(&file, &(onnx_case_input){x, 6}, results);
    for (int i = 0; i < 4; i++) {
        const int all = 1 << types[i].bits, half = types[i].negative ? all / 2 : 0;
        double wanted[6];
        for (int k = 0; k < 6; k++) wanted[k] = (((int)x[k] + half) % all + all) % all - half;
        onnx_case_compare("a cast of whole numbers", &results[i], wanted, 6, 0);
    }
}

/* ---- refusals ---- */

static void test_refusals(void **state) {
    static const double big[] = {0x1p40, 1}, huge[] = {1e300};
    (void)state;
    size_t model = onnx_begin_model(&file);
    onnx_input(&file, "x", "4");
    onnx_case_node(&file, "Cast", "x", "y", "to=24");
    onnx_output(&file, "y");
    onnx_end_model(&file, model);
    onnx_case_refused(&file, "Cast", "data type 24 is not supported");
    model = onnx_begin_model(&file);
    onnx_case_constant(&file, "big", CASE_INT64, "2", big);
    put_result("big", "y");
    onnx_end_model(&file, model);
    onnx_case_refused(&file, "1099511627776", "does not fit into i32");
    model = onnx_begin_model(&file);
    onnx_input(&file, "x", "1");
    put_raw("huge", 11, 1, huge, sizeof huge);
    onnx_node(&file, "Add", "x huge", "y");
    onnx_output(&file, "y");
    onnx_end_model(&file, model);
    onnx_case_refused(&file, "huge", "does not fit into f32");
    model = onnx_begin_model(&file);
    const size_t tensor = onnx_begin(&file, 5);
    onnx_put_whole(&file, 1, 2);
    onnx_put_whole(&file, 2, 1);
    onnx_put_text(&file, 8, "far");
    onnx_put_whole(&file, 14, 1);
    onnx_end(&file, tensor);
    put_result("far", "y");
    onnx_end_model(&file, model);
    onnx_case_refused(&file, "far", "in another file");
    model = onnx_begin_model(&file);
    put_raw("wide", 1, INT64_C(1) << 40, huge, 4);
    put_result("wide", "y");
    onnx_end_model(&file, model);
    onnx_case_refused(&file, "wide", "a dimension of 1099511627776");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_patterns), cmocka_unit_test(test_packed),
        cmocka_unit_test(test_casts), cmocka_unit_test(test_wraps), cmocka_unit_test(test_refusals)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
