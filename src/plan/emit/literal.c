/* Numbers in generated code (contract in expression.h). */
#include "plan/emit/expression.h"
#include <math.h>
#include <stdio.h>

void wi_number_literal(char text[WI_LITERAL], weft_dtype dtype, double value) {
    if (dtype == WEFT_I64) {
        snprintf(text, WI_LITERAL, "%lldL", (long long)value);
        return;
    }
    if (!wi_dtype_is_float(dtype)) {
        /* as OpenCL's convert_int_sat, with NaN as 0 */
        const int32_t integer = isnan(value)             ? 0
                                : value >= 2147483647.0  ? INT32_MAX
                                : value <= -2147483648.0 ? INT32_MIN
                                                         : (int32_t)value;
        snprintf(text, WI_LITERAL, "%d", dtype == WEFT_BOOL ? value != 0 : integer);
        return;
    }
    if (isnan(value))
        snprintf(text, WI_LITERAL, "NAN");
    else if (isinf(wi_dtype_nearest(dtype, value)))
        snprintf(text, WI_LITERAL, "%sINFINITY", value < 0 ? "-" : "");
    else if (dtype != WEFT_F32)
        snprintf(text, WI_LITERAL, "%a%s", wi_dtype_nearest(dtype, value), wi_dtype_rounds(dtype) ? "f" : "");
    else
        snprintf(text, WI_LITERAL, "%af", (double)(float)value); /* exact: a hexadecimal float */
}
