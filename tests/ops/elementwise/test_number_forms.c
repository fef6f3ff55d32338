/* Binary ops with a number on the right are what they stand for. */
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
FORM(maximum, fmax(a, b))
FORM(minimum, fmin(a, b))
FORM(equal, a == b)
FORM(not_equal, a != b)
FORM(less, a < b)
FORM(less_equal, a <= b)
FORM(greater, a > b)
FORM(greater_equal, a >= b)

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

int main(void) {
    static const op_cases ops[] = {NUMBER_FORM_OPS(COVERED_CASES)};
    return test_finish(op_suite_run("number forms", ops, sizeof ops / sizeof ops[0]));
}
