/* Elementwise operators of ONNX, computed by the host from constants and by the device from inputs, by the same table. */
#include "support/fixture.h"
#include "support/onnx_case.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static onnx_bytes file;

/* ---- what the operators are by the specification ---- */

typedef double (*rule)(double x, double y, double z);

#define RULE(name, value)                                                                                    \
    static double name(double x, double y, double z) {                                                       \
        (void)x, (void)y, (void)z;                                                                           \
        return value;                                                                                        \
    }
RULE(of_abs, fabs(x))
RULE(of_neg, -x)
RULE(of_sign, (x > 0) - (x < 0))
RULE(of_floor, floor(x))
RULE(of_ceil, ceil(x))
RULE(of_round, x - remainder(x, 1)) /* halves go to the even neighbour */
RULE(of_sqrt, sqrt(x))
RULE(of_exp, exp(x))
RULE(of_log, log(x))
RULE(of_reciprocal, 1 / x)
RULE(of_relu, x > 0 ? x : 0)
RULE(of_sigmoid, 1 / (1 + exp(-x)))
RULE(of_tanh, tanh(x))
RULE(of_sin, sin(x))
RULE(of_cos, cos(x))
RULE(of_erf, erf(x))
RULE(of_same, x)
RULE(of_sum, x + y + z)
RULE(of_mean, (x + y + z) / 3)
RULE(of_most, fmax(x, fmax(y, z)))
RULE(of_least, fmin(x, fmin(y, z)))
RULE(of_sub, x - y)
RULE(of_mul, x *y)
RULE(of_div, x / y)
RULE(of_quotient, trunc(x / y))
RULE(of_fmod, fmod(x, y))
RULE(of_mod, x - y * floor(x / y))
RULE(of_pow, pow(x, y))
RULE(of_left, x *exp2(y))
RULE(of_right, floor(x / exp2(y)))
RULE(of_and, (double)((int)x &(int)y))
RULE(of_or, (double)((int)x | (int)y))
RULE(of_xor, (double)((int)x ^ (int)y))
RULE(of_not, -1 - x)
RULE(of_equal, x == y)
RULE(of_less, x < y)
RULE(of_less_equal, x <= y)
RULE(of_greater, x > y)
RULE(of_greater_equal, x >= y)
RULE(of_both, x != 0 && y != 0)
RULE(of_any, x != 0 || y != 0)
RULE(of_one, (x != 0) != (y != 0))
RULE(of_none, x == 0)
RULE(of_nan, x != x)
RULE(of_infinity, fabs(x) == (double)INFINITY)
RULE(of_above, x == (double)INFINITY)
RULE(of_below, x == -(double)INFINITY)
RULE(of_where, x != 0 ? y : z)
RULE(of_clip, x<y ? y : x> z ? z : x)
RULE(of_old_clip, x<-1 ? -1 : x> 0.75 ? 0.75 : x)
RULE(of_clip_above, x > 0.75 ? 0.75 : x)
RULE(of_trunc, trunc(x))
RULE(of_truth, x != 0)

/* x to so many binary digits, halves to even. */
static double digits(double x, int count) {
    const double unit = x == 0 ? 1 : ldexp(1, ilogb(x) + 1 - count);
    return (x / unit - remainder(x / unit, 1)) * unit;
}
RULE(of_half, digits(x, 11))
RULE(of_bfloat, digits(x, 8))

/* ---- the operands ---- */

enum { COUNT = 6 };

/* Numbers of one letter each. is_fixed: a constant however the network is run. */
static const struct {
    char name;
    int type;
    const char *dims;
    double numbers[COUNT];
    bool is_fixed;
} operands[] = {{'a', CASE_FLOAT, "2 3", {-2.5, -1, 0.5, 3.3, 1.5, -0.25}, false},
    {'b', CASE_FLOAT, "2 3", {2, -1, 0.7, -1.25, 0.5, 3}, false},
    {'c', CASE_FLOAT, "2 3", {0.1, 0.2, 0.3, 7, -8, 1}, false},
    {'p', CASE_FLOAT, "2 3", {0.1, 1, 2.5, 3, 1.7, 4}, false},
    {'n', CASE_FLOAT, "2 3", {(double)NAN, (double)INFINITY, -(double)INFINITY, 1, 0, -1}, false},
    {'i', CASE_INT64, "2 3", {-7, 5, 12, 100, -1, 6}, false},
    {'j', CASE_INT64, "2 3", {3, -2, 5, 7, 4, 6}, false},
    {'k', CASE_INT64, "2 3", {1, 2, 0, -4, 9, 6}, false}, {'e', CASE_INT64, "2 3", {0, 1, 2, 3, 4, 5}, false},
    {'t', CASE_BOOL, "2 3", {1, 1, 0, 0, 1, 0}, false}, {'u', CASE_BOOL, "2 3", {1, 0, 1, 0, 1, 0}, false},
    {'l', CASE_FLOAT, "", {-0.5}, true}, {'h', CASE_FLOAT, "", {1.25}, true}};
enum { OPERANDS = sizeof operands / sizeof *operands };

static int operand_of(char name) {
    int found = 0;
    while (found < OPERANDS && operands[found].name != name) found++;
    assert_true(found < OPERANDS);
    return found;
}

/* Number i of an operand, as the file stores it; a scalar is all of them. */
static double number_of(char name, int i) {
    const int found = operand_of(name);
    const double number = operands[found].numbers[*operands[found].dims ? i : 0];
    return operands[found].type == CASE_FLOAT ? (double)(float)number : number;
}

/* inputs: a letter each. */
typedef struct row {
    const char *op, *attributes, *inputs;
    rule rule;
} row;

static const row floats[] = {{"Abs", "", "a", of_abs}, {"Neg", "", "a", of_neg}, {"Sign", "", "a", of_sign},
    {"Floor", "", "a", of_floor}, {"Ceil", "", "a", of_ceil}, {"Round", "", "a", of_round},
    {"Sqrt", "", "p", of_sqrt}, {"Exp", "", "a", of_exp}, {"Log", "", "p", of_log},
    {"Reciprocal", "", "a", of_reciprocal}, {"Relu", "", "a", of_relu}, {"Sigmoid", "", "a", of_sigmoid},
    {"Tanh", "", "a", of_tanh}, {"Sin", "", "a", of_sin}, {"Cos", "", "a", of_cos}, {"Erf", "", "a", of_erf},
    {"Identity", "", "a", of_same}, {"Sum", "", "abc", of_sum}, {"Mean", "", "abc", of_mean},
    {"Max", "", "abc", of_most}, {"Min", "", "abc", of_least}, {"Sub", "", "ab", of_sub},
    {"Mul", "", "ab", of_mul}, {"Div", "", "ab", of_div}, {"Mod", "fmod=1", "ab", of_fmod},
    {"Pow", "", "pb", of_pow}, {"Clip", "", "alh", of_clip}, {"Where", "", "tab", of_where},
    {"IsNaN", "", "n", of_nan}, {"IsInf", "", "n", of_infinity},
    {"IsInf", "detect_negative=0", "n", of_above}, {"IsInf", "detect_positive=0", "n", of_below}};

static const row wholes[] = {{"Abs", "", "i", of_abs}, {"Neg", "", "i", of_neg}, {"Sign", "", "i", of_sign},
    {"Sub", "", "ij", of_sub}, {"Mul", "", "ij", of_mul}, {"Div", "", "ij", of_quotient},
    {"Mod", "", "ij", of_mod}, {"Mod", "fmod=1", "ij", of_fmod}, {"Pow", "", "je", of_pow},
    {"Max", "", "ijk", of_most}, {"Min", "", "ijk", of_least}, {"BitwiseAnd", "", "ij", of_and},
    {"BitwiseOr", "", "ij", of_or}, {"BitwiseXor", "", "ij", of_xor}, {"BitwiseNot", "", "i", of_not},
    {"Equal", "", "ij", of_equal}, {"Less", "", "ij", of_less}, {"LessOrEqual", "", "ij", of_less_equal},
    {"Greater", "", "ij", of_greater}, {"GreaterOrEqual", "", "ij", of_greater_equal},
    {"And", "", "tu", of_both}, {"Or", "", "tu", of_any}, {"Xor", "", "tu", of_one},
    {"Not", "", "t", of_none}, {"Cast", "to=1", "i", of_same}, {"Cast", "to=7", "a", of_trunc},
    {"Cast", "to=9", "a", of_truth}, {"Cast", "to=10", "p", of_half}, {"Cast", "to=16", "p", of_bfloat},
    {"CastLike", "", "ai", of_trunc}, {"CastLike", "", "ia", of_same}, {"Where", "", "tij", of_where}};

/* Bits are shifted in unsigned numbers. */
static void test_shifts(void **state) {
    static const double x[] = {1, 3, 200, 255}, by[] = {0, 3, 1, 7};
    static onnx_case_result results[4];
    double left[4], right[4];
    (void)state;
    const size_t model = onnx_begin_model(&file);
    onnx_case_constant(&file, "x", CASE_UINT8, "4", x);
    onnx_case_constant(&file, "by", CASE_UINT8, "4", by);
    onnx_input_typed(&file, "v", CASE_UINT8, "4");
    onnx_input_typed(&file, "w", CASE_UINT8, "4");
    onnx_case_node(&file, "BitShift", "x by", "a", "direction=LEFT");
    onnx_case_node(&file, "BitShift", "x by", "b", "direction=RIGHT");
    onnx_case_node(&file, "BitShift", "v w", "c", "direction=LEFT");
    onnx_case_node(&file, "BitShift", "v w", "d", "direction=RIGHT");
    for (char name[2] = "a"; *name <= 'd'; ++*name) onnx_output(&file, name);
    onnx_end_model(&file, model);
    const onnx_case_input inputs[] = {{x, 4}, {by, 4}};
    onnx_case_run(&file, inputs, results);
    for (int i = 0; i < 4; i++) {
        left[i] = of_mod(of_left(x[i], by[i], 0), 256, 0);
        right[i] = of_right(x[i], by[i], 0);
    }
    for (int i = 0; i < 4; i++) onnx_case_compare("BitShift", &results[i], i % 2 ? right : left, 4, 0);
}

/* ---- both ways ---- */

/* Writes the network; returns how many inputs it has. */
static size_t write_network(const row *rows, size_t count, bool is_known, onnx_case_input *inputs) {
    const size_t model = onnx_begin_model(&file);
    bool used[OPERANDS] = {false};
    size_t given = 0;
    for (size_t i = 0; i < count; i++)
        for (const char *letter = rows[i].inputs; *letter; letter++) used[operand_of(*letter)] = true;
    for (int k = 0; k < OPERANDS; k++) {
        const char name[] = {operands[k].name, 0};
        if (!used[k]) continue;
        if (is_known || operands[k].is_fixed) {
            onnx_case_constant(&file, name, operands[k].type, operands[k].dims, operands[k].numbers);
            continue;
        }
        onnx_input_typed(&file, name, operands[k].type, operands[k].dims);
        inputs[given++] = (onnx_case_input){operands[k].numbers, COUNT};
    }
    for (size_t i = 0; i < count; i++) {
        char in[8] = "", out[24];
        for (size_t k = 0; k < strlen(rows[i].inputs); k++)
            in[2 * k] = rows[i].inputs[k], in[2 * k + 1] = ' ';
        snprintf(out, sizeof out, "y%zu", i);
        onnx_case_node(&file, rows[i].op, in, out, rows[i].attributes);
        onnx_output(&file, out);
    }
    onnx_end_model(&file, model);
    return given;
}

static void check_rows(const row *rows, size_t count) {
    static onnx_case_result results[64];
    for (int is_known = 0; is_known < 2; is_known++) {
        onnx_case_input inputs[OPERANDS];
        const size_t given = write_network(rows, count, is_known, inputs);
        assert_true(is_known ? given == 0 : given > 0);
        onnx_case_run(&file, inputs, results);
        for (size_t i = 0; i < count; i++) {
            double wanted[COUNT];
            char what[64];
            for (int k = 0; k < COUNT; k++) {
                const char *const in = rows[i].inputs;
                const double y = in[1] ? number_of(in[1], k) : 0,
                             z = in[1] && in[2] ? number_of(in[2], k) : 0;
                wanted[k] = rows[i].rule(number_of(in[0], k), y, z);
            }
            snprintf(what, sizeof what, "%s %s(%s), %s", rows[i].op, rows[i].attributes, rows[i].inputs,
                is_known ? "known" : "not known");
            onnx_case_compare(what, &results[i], wanted, COUNT, 2e-6);
        }
    }
}

static void test_floats(void **state) {
    (void)state;
    check_rows(floats, sizeof floats / sizeof *floats);
}

static void test_wholes(void **state) {
    (void)state;
    check_rows(wholes, sizeof wholes / sizeof *wholes);
}

/* Bounds of Clip were attributes. */
static void test_old_clip(void **state) {
    static const row rows[] = {
        {"Clip", "min=-1.0 max=0.75", "a", of_old_clip}, {"Clip", "max=0.75", "a", of_clip_above}};
    static onnx_case_result results[2];
    (void)state;
    for (int is_known = 0; is_known < 2; is_known++) {
        onnx_case_input inputs[1];
        write_network(rows, 2, is_known, inputs);
        onnx_case_version(&file, 6);
        onnx_case_run(&file, inputs, results);
        for (int i = 0; i < 2; i++) {
            double wanted[COUNT];
            for (int k = 0; k < COUNT; k++) wanted[k] = rows[i].rule(number_of('a', k), 0, 0);
            onnx_case_compare("Clip", &results[i], wanted, COUNT, 0);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_floats), cmocka_unit_test(test_wholes),
        cmocka_unit_test(test_shifts), cmocka_unit_test(test_old_clip)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
