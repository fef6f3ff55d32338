/* The formats that suites of op cases compute in. */
#include "support/op_case_shared.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const op_format formats[] = {
    {"f32", WEFT_F32, 24, -126, 1, 1e-4},
    {"f16", WEFT_F16, 11, -14, 1, 4 * 0x1p-11},
    {"bf16", WEFT_BF16, 8, -126, 1, 4 * 0x1p-8},
    {"f64", WEFT_F64, 53, -1022, 0x1p-24, 1e-6},
};

const op_format *op_format_of(weft_dtype dtype) {
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (formats[i].dtype == dtype) return &formats[i];
    return NULL;
}

const op_format *op_tested_format(void) {
    const char *const name = getenv("WEFT_TEST_FORMAT");
    for (size_t i = 0; name && *name && i < sizeof formats / sizeof formats[0]; i++)
        if (strcmp(name, formats[i].name) == 0) return &formats[i];
    if (name && *name) fail_msg("WEFT_TEST_FORMAT=%s is no format of op_format.c", name);
    return &formats[0];
}

double op_nearest(weft_dtype dtype, double value) {
    double memory = 0, back = 0;
    test_to_dtype(dtype, &value, 1, &memory);
    test_from_dtype(dtype, &memory, 1, &back);
    return back;
}

double op_rounding(weft_dtype dtype, double value) {
    const op_format *const f = op_format_of(dtype);
    if (!f || f->precision >= 24 || !isfinite(value)) return 0;
    const int exponent = value == 0 ? f->least_exponent : ilogb(value);
    return ldexp(1, (exponent < f->least_exponent ? f->least_exponent : exponent) - f->precision + 1);
}
