/* Binary ops with a number: weft_<op>_number(a, number) is weft_<op>(a, weft_number(a, number)), and weft_number_<op>(number, a)
 * is weft_<op>(weft_number(a, number), a), except that the number is an f32 if a is a 16-bit float. */
#include "ops/op_table.h"
#include <math.h>

/* The number as a constant. For i32 it must be an integer, because 0.5 would become 0 without an error. */
static weft_tensor *number_like(const char *op, weft_tensor *a, double number) {
    if (!wi_inputs_graph(op, &a, 1)) return NULL;
    if (!wi_dtype_computes(a->dtype))
        return wi_graph_fail(a->graph, WEFT_ERROR_DTYPE, "%s: takes %s, not %s; weft_cast converts", op,
            wi_dtypes_text(WI_TAKES_FLOATS | WI_TAKES_INTEGERS), weft_dtype_name(a->dtype));
    if (a->dtype == WEFT_I32 && !(number == floor(number) && fabs(number) <= 2147483648.0))
        return wi_graph_fail(a->graph, WEFT_ERROR_ARGUMENT,
            "%s: the number %g is not a whole number that fits into an i32; weft_cast converts the tensor to "
            "floats",
            op, number);
    if (!wi_takes_number(a->graph, op, number)) return NULL;
    const weft_dtype dtype = wi_format_of(a->dtype)->compute;
    return weft_constant(a->graph, dtype, number);
}

/* Casts y to the dtype of a; the result of a comparison, a bool, is returned as it is. */
static weft_tensor *as_before(weft_tensor *a, weft_tensor *y) {
    return y && y->dtype != WEFT_BOOL ? weft_cast(y, a->dtype) : y;
}

#define NUMBER_FORM(op)                                                                                      \
    static weft_tensor *build_##op##_number(weft_tensor *a, double number) {                                 \
        weft_tensor *b = number_like(#op "_number", a, number);                                              \
        return b ? as_before(a, weft_##op(a, b)) : NULL;                                                     \
    }                                                                                                        \
    weft_tensor *weft_##op##_number(weft_tensor *a, double number) {                                         \
        return WI_CALL(a, "weft_" #op "_number", build_##op##_number(a, number));                            \
    }
NUMBER_FORM(add)
NUMBER_FORM(sub)
NUMBER_FORM(mul)
NUMBER_FORM(div)
NUMBER_FORM(remainder)
NUMBER_FORM(floor_divide)
NUMBER_FORM(maximum)
NUMBER_FORM(minimum)
NUMBER_FORM(equal)
NUMBER_FORM(not_equal)
NUMBER_FORM(less)
NUMBER_FORM(less_equal)
NUMBER_FORM(greater)
NUMBER_FORM(greater_equal)

#define NUMBER_FIRST(op)                                                                                     \
    static weft_tensor *build_number_##op(double number, weft_tensor *a) {                                   \
        weft_tensor *b = number_like("number_" #op, a, number);                                              \
        return b ? as_before(a, weft_##op(b, a)) : NULL;                                                     \
    }                                                                                                        \
    weft_tensor *weft_number_##op(double number, weft_tensor *a) {                                           \
        return WI_CALL(a, "weft_number_" #op, build_number_##op(number, a));                                 \
    }
NUMBER_FIRST(sub)
NUMBER_FIRST(div)
NUMBER_FIRST(remainder)
NUMBER_FIRST(pow)

/* Common powers are computed by multiplications, which are more exact and faster. */
static weft_tensor *build_pow_number(weft_tensor *a, double number) {
    weft_tensor *exponent = number_like("pow_number", a, number);
    if (!exponent || !wi_dtype_is_float(a->dtype)) return weft_pow(a, exponent);
    if (wi_dtype_rounds(a->dtype)) return weft_cast(weft_pow_number(wi_wide(a), number), a->dtype);
    if (number == 1) return a;
    if (number == 2) return weft_square(a);
    if (number == 3) return weft_mul(weft_square(a), a);
    if (number == -1) return weft_reciprocal(a);
    return weft_pow(a, exponent);
}

weft_tensor *weft_pow_number(weft_tensor *a, double number) {
    return WI_CALL(a, "weft_pow_number", build_pow_number(a, number));
}
