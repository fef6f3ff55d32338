/* Binary ops with a number on the right are what they stand for. */
/* test slow */
/* test.{formats} format={} reduced */
#include "support/op_case.h"

#include "ops/covered_ops.h"
#include <math.h>

/* The number in hundredths is the case's `start`. */
#define NUMBER(c) ((double)(c)->start / 100)

#define FORM(op, formula)                                                                                    \
    static weft_tensor *build_##op(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {        \
        (void)graph;                                                                                         \
        return weft_##op##_number(inputs[0], NUMBER(c));                                                     \
    }                                                                                                        \
    static double of_##op(double a, double b, double unused) {                                               \
        (void)unused;                                                                                        \
        return formula;                                                                                      \
    }                                                                                                        \
    static f64_array *reference_##op(const op_case *c, const f64_array *const *inputs) {                     \
        return f64_map(of_##op, inputs[0], f64_number(NUMBER(c)), NULL);                                     \
    }
FORM(add, a + b)
FORM(sub, a - b)
FORM(mul, a *b)
FORM(div, a / b)
FORM(pow, pow(a, b))
FORM(remainder, a - b * floor(a / b))
FORM(floor_divide, floor(a / b))
FORM(maximum, fmax(a, b))
FORM(minimum, fmin(a, b))
FORM(equal, a == b)
FORM(not_equal, a != b)
FORM(less, a < b)
FORM(less_equal, a <= b)
FORM(greater, a > b)
FORM(greater_equal, a >= b)

/* The number on the left. */
#define FORM_FIRST(op)                                                                                       \
    static weft_tensor *build_number_##op(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) { \
        (void)graph;                                                                                         \
        return weft_number_##op(NUMBER(c), inputs[0]);                                                       \
    }                                                                                                        \
    static f64_array *reference_number_##op(const op_case *c, const f64_array *const *inputs) {              \
        return f64_map(of_##op, f64_number(NUMBER(c)), inputs[0], NULL);                                     \
    }
FORM_FIRST(sub)
FORM_FIRST(div)
FORM_FIRST(pow)
FORM_FIRST(remainder)

#define FLOAT_CASE(op, number) CASE(#number, op, INPUTS(F32(0.5, 2, WEFT_BATCH)), .start = number)
#define NUMBER_CASES(op, number)                                                                             \
    static const op_case op##_number_cases[] = {                                                             \
        FLOAT_CASE(op, number), CASE("i32", op, INPUTS(I32(-9, 9, 33)), .start = 300, .no_gradient = true)}
#define COMPARE_CASES(op)                                                                                    \
    static const op_case op##_number_cases[] = {                                                             \
        CASE("f32", op, INPUTS(F32_TIES(-2, 2, WEFT_BATCH)), .start = 100, .no_gradient = true),             \
        CASE("i32", op, INPUTS(I32(-2, 2, 33)), .start = -100, .no_gradient = true)}
NUMBER_CASES(add, 150);
NUMBER_CASES(sub, 150);
NUMBER_CASES(mul, -250);
NUMBER_CASES(remainder, 75);
NUMBER_CASES(floor_divide, 45);
NUMBER_CASES(maximum, 120);
NUMBER_CASES(minimum, 120);
COMPARE_CASES(equal);
COMPARE_CASES(not_equal);
COMPARE_CASES(less);
COMPARE_CASES(less_equal);
COMPARE_CASES(greater);
COMPARE_CASES(greater_equal);
static const op_case div_number_cases[] = {FLOAT_CASE(div, -250)};
static const op_case pow_number_cases[] = {FLOAT_CASE(pow, 0), FLOAT_CASE(pow, 50), FLOAT_CASE(pow, 100),
    FLOAT_CASE(pow, 170), FLOAT_CASE(pow, 200), FLOAT_CASE(pow, 300), FLOAT_CASE(pow, -100),
    FLOAT_CASE(pow, -150)};
static const op_case number_sub_cases[] = {FLOAT_CASE(number_sub, 100),
    CASE("i32", number_sub, INPUTS(I32(-9, 9, 33)), .start = 300, .no_gradient = true)};
static const op_case number_div_cases[] = {FLOAT_CASE(number_div, 100), FLOAT_CASE(number_div, -250)};
static const op_case number_pow_cases[] = {FLOAT_CASE(number_pow, 200), FLOAT_CASE(number_pow, 50)};
static const op_case number_remainder_cases[] = {
    CASE("f32", number_remainder, INPUTS(F32(0.8, 0.9, WEFT_BATCH)), .start = 250),
    CASE("i32", number_remainder, INPUTS(I32(1, 9, 33)), .start = 700, .no_gradient = true)};

int main(void) {
    static const op_cases ops[] = {NUMBER_FORM_OPS(COVERED_CASES)};
    return test_finish(op_suite_run("number forms", ops, sizeof ops / sizeof ops[0]));
}
