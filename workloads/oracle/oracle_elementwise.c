/* The elementwise rows of the op table, cast and the number forms: see oracle.h. The formulas are those of elementwise_rows.h. */
#include "oracle/draw.h"
#include <float.h>
#include <math.h>

typedef enum row_kind { FLOAT1, FLOAT2, NUMBER1, NUMBER2, COMPARE, CHOOSE, TEST1, LOGIC1, LOGIC2 } row_kind;

/* In float32, as fmod is exact and adding b to it rounds. */
static double remainder_of(double a, double b) {
    const double rest = fmod(a, b);
    return rest != 0 && (b < 0) != (rest < 0) ? rest + b : rest;
}

/* Rounded down. -1 for a small quotient that is negative, NaN for an infinite dividend, as in Python. */
static double floor_of(double a, double b) {
    if (isinf(a) && b != 0) return NAN;
    return isinf(b) && a * b < 0 ? -1 : floor(a / b);
}

/* ---- drawing ---- */

static draw_types types_of(row_kind kind) {
    switch (kind) {
    case FLOAT1:
    case FLOAT2: return DRAW_FLOAT;
    case LOGIC1:
    case LOGIC2: return DRAW_BOOL;
    case CHOOSE: return DRAW_BOOL;
    default: return DRAW_NUMERIC;
    }
}

/* An op whose range goes well beyond -1 and 1 is defined everywhere, and takes any numbers; another one, those of its range. */
static bool draw_row(oracle_draw *draw, oracle_call *call, row_kind kind, double low, double high) {
    const bool anywhere = low <= -2 && high >= 2;
    const int a = anywhere || types_of(kind) == DRAW_BOOL
                      ? draw_value_within(draw, types_of(kind), 0, 5, -40, 40)
                      : draw_value_within(draw, types_of(kind), 0, 5, low, high);
    if (a < 0) return false;
    call->inputs[0] = a;
    if (kind == FLOAT1 || kind == NUMBER1 || kind == TEST1 || kind == LOGIC1) return true;
    if (kind == CHOOSE) {
        const int b = draw_value(draw, DRAW_NUMERIC, 0, 4);
        if (b < 0) return false;
        call->inputs[1] = b;
        call->inputs[2] = draw_partner(draw, b, draw_dtype(draw, b), -INFINITY, INFINITY);
        return call->inputs[2] >= 0;
    }
    const bool integers = draw_dtype(draw, a) == WEFT_I32;
    call->inputs[1] = draw_partner(draw, a, draw_dtype(draw, a),
        anywhere   ? -40
        : integers ? ceil(low)
                   : low,
        anywhere ? 40 : high);
    return call->inputs[1] >= 0;
}

/* ---- the rows ---- */

static f64_array *evaluate_row(const f64_array *const *in, int count, f64_function *formula) {
    return f64_map(formula, in[0], count > 1 ? in[1] : NULL, count > 2 ? in[2] : NULL);
}

#define COUNT_FLOAT1     1
#define COUNT_FLOAT2     2
#define COUNT_NUMBER1    1
#define COUNT_NUMBER2    2
#define COUNT_COMPARE    2
#define COUNT_CHOOSE     3
#define COUNT_TEST1      1
#define COUNT_LOGIC1     1
#define COUNT_LOGIC2     2
#define GIVEN_1          in[0]
#define GIVEN_2          in[0], in[1]
#define GIVEN_3          in[0], in[1], in[2]
#define LINE_1(op)       "weft_" #op "($0)"
#define LINE_2(op)       "weft_" #op "($0, $1)"
#define LINE_3(op)       "weft_" #op "($0, $1, $2)"
#define GIVEN_(count)    GIVEN_##count
#define GIVEN(count)     GIVEN_(count)
#define LINE_(op, count) LINE_##count(op)
#define LINE(op, count)  LINE_(op, count)

#define ROW(op, kind, formula, low, high)                                                                    \
    static double formula_##op(double a, double b, double c) {                                               \
        (void)a, (void)b, (void)c;                                                                           \
        return formula;                                                                                      \
    }                                                                                                        \
    ORACLE_DRAW(op) {                                                                                        \
        return draw_row(draw, call, kind, low, high);                                                        \
    }                                                                                                        \
    ORACLE_BUILD(op) {                                                                                       \
        ORACLE_UNUSED;                                                                                       \
        return weft_##op(GIVEN(COUNT_##kind));                                                               \
    }                                                                                                        \
    ORACLE_EVALUATE(op) {                                                                                    \
        (void)call, (void)sizes;                                                                             \
        return evaluate_row(in, COUNT_##kind, formula_##op);                                                 \
    }                                                                                                        \
    ORACLE_OP(op, LINE(op, COUNT_##kind));
#include "oracle/elementwise_rows.h"

/* ---- number forms: the same formulas over a value and a number ---- */

static bool draw_number_form(oracle_draw *draw, oracle_call *call, double low, double high, double number) {
    const int a = draw_value_within(draw, DRAW_NUMERIC, 0, 5, low, high);
    if (a < 0) return false;
    call->inputs[0] = a;
    call->numbers[0] = draw_dtype(draw, a) == WEFT_I32 ? ceil(number) : draw_exact(number);
    return true;
}

#define NUMBER_FORM(op, low, high, least, most)                                                              \
    ORACLE_DRAW(op##_number) {                                                                               \
        return draw_number_form(draw, call, low, high, draw_between(draw, least, most));                     \
    }                                                                                                        \
    ORACLE_BUILD(op##_number) {                                                                              \
        ORACLE_UNUSED;                                                                                       \
        return weft_##op##_number(in[0], call->numbers[0]);                                                  \
    }                                                                                                        \
    ORACLE_EVALUATE(op##_number) {                                                                           \
        (void)sizes;                                                                                         \
        return f64_map(formula_##op, in[0], f64_number(call->numbers[0]), NULL);                             \
    }                                                                                                        \
    ORACLE_OP(op##_number, "weft_" #op "_number($0, $n0)");

NUMBER_FORM(add, -40, 40, -4, 4)
NUMBER_FORM(sub, -40, 40, -4, 4)
NUMBER_FORM(mul, -40, 40, -4, 4)
NUMBER_FORM(remainder, -40, 40, 1.1, 6)
NUMBER_FORM(floor_divide, -40, 40, 1.1, 6)
NUMBER_FORM(maximum, -40, 40, -2, 2)
NUMBER_FORM(minimum, -40, 40, -2, 2)
NUMBER_FORM(equal, -40, 40, -2, 2)
NUMBER_FORM(not_equal, -40, 40, -2, 2)
NUMBER_FORM(less, -40, 40, -2, 2)
NUMBER_FORM(less_equal, -40, 40, -2, 2)
NUMBER_FORM(greater, -40, 40, -2, 2)
NUMBER_FORM(greater_equal, -40, 40, -2, 2)

/* Floats only. */
static bool draw_float_form(oracle_draw *draw, oracle_call *call, double low, double high, double number) {
    call->inputs[0] = draw_value_within(draw, DRAW_FLOAT, 0, 5, low, high);
    call->numbers[0] = draw_exact(number);
    return call->inputs[0] >= 0;
}
#define draw_number_form draw_float_form
NUMBER_FORM(div, -40, 40, 0.5, 4)
NUMBER_FORM(pow, 0.2, 4, -2, 3)
#undef draw_number_form

/* ---- the number on the left ---- */

#define NUMBER_FIRST(op, draws, low, high, least, most)                                                      \
    ORACLE_DRAW(number_##op) {                                                                               \
        return draws(draw, call, low, high, draw_between(draw, least, most));                                \
    }                                                                                                        \
    ORACLE_BUILD(number_##op) {                                                                              \
        ORACLE_UNUSED;                                                                                       \
        return weft_number_##op(call->numbers[0], in[0]);                                                    \
    }                                                                                                        \
    ORACLE_EVALUATE(number_##op) {                                                                           \
        (void)sizes;                                                                                         \
        return f64_map(formula_##op, f64_number(call->numbers[0]), in[0], NULL);                             \
    }                                                                                                        \
    ORACLE_OP(number_##op, "weft_number_" #op "($n0, $0)");

NUMBER_FIRST(sub, draw_number_form, -40, 40, -4, 4)
NUMBER_FIRST(remainder, draw_number_form, 1, 40, -4, 4)
NUMBER_FIRST(div, draw_float_form, 0.5, 4, -4, 4)
NUMBER_FIRST(pow, draw_float_form, -2, 3, 0.25, 4)

/* ---- cast: between the program's floats, i32 and bool ---- */

static weft_dtype cast_target(const oracle_call *call) {
    return (weft_dtype)call->integers[0];
}

ORACLE_DRAW(cast) {
    const weft_dtype targets[] = {draw_format(draw), WEFT_I32, WEFT_BOOL};
    call->inputs[0] = draw_value_within(draw, DRAW_ANY, 0, 5, -1000, 1000);
    if (call->inputs[0] < 0) return false;
    const weft_dtype from = draw_dtype(draw, call->inputs[0]);
    const bool whole = from == WEFT_I32 || from == WEFT_BOOL;
    const weft_dtype to = targets[whole && draw_chance(draw, 80) ? 0 : draw_below(draw, 3)];
    call->integers[0] = to;
    return to != from;
}
ORACLE_BUILD(cast) {
    ORACLE_UNUSED;
    return weft_cast(in[0], cast_target(call));
}
static double cast_to_f32(double a, double b, double c) {
    (void)b, (void)c;
    return a;
}
static double cast_to_i32(double a, double b, double c) {
    (void)b, (void)c;
    return trunc(a);
}
static double cast_to_bool(double a, double b, double c) {
    (void)b, (void)c;
    return a != 0;
}
/* Numbers below those that float32 has in full may be zero there, and so may those that are within their error. */
static f64_array *cast_of_bool(const f64_array *a) {
    f64_array *const y = f64_map(cast_to_bool, a, NULL, NULL);
    for (size_t i = 0; i < y->count; i++)
        if (a->value[i] != 0 && fabs(a->value[i]) <= fmax(a->error[i], FLT_MIN)) y->error[i] = 1;
    return y;
}
ORACLE_EVALUATE(cast) {
    (void)sizes;
    const weft_dtype to = cast_target(call);
    return to == WEFT_BOOL ? cast_of_bool(in[0])
                           : f64_map(to == WEFT_I32 ? cast_to_i32 : cast_to_f32, in[0], NULL, NULL);
}
ORACLE_OP(cast, "weft_cast($0, (weft_dtype)$i0)");
