/* The number formats in which suites of op cases compute. */
#include "support/op_case_shared.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const op_format wide[] = {
    {"f32", WEFT_F32, 24, -126, 1, 1e-4},
    {"f64", WEFT_F64, 53, -1022, 0x1p-24, 1e-6},
};
/* Mixed precision with bf16 and f16: operands of products, and stored values, are rounded to 8 or 11 bits, an error of 2^16 or 2^13 times
 * that of f32; both kinds of rounding together double it. Gradients such as those of attention are differences of nearly equal products. */
static const op_format mixed = {"mixed", WEFT_F32, 24, -126, 0x1p17, 8 * 0x1p-8};
static const op_format mixed_f16 = {"mixed_f16", WEFT_F32, 24, -126, 0x1p14, 8 * 0x1p-11};
enum { WIDE = sizeof wide / sizeof wide[0], MOST = 16 };

/* For 16-bit floats, four rounding errors of a gradient are allowed. */
static op_format narrow_format(const f64_narrow_format *from) {
    return (op_format){weft_dtype_name(from->dtype), from->dtype, from->fraction_bits + 1,
        2 - (1 << (from->exponent_bits - 1)), 1, ldexp(4, -from->fraction_bits - 1)};
}

static const op_format *formats(size_t *count) {
    static op_format all[MOST];
    const f64_narrow_format *const narrow = f64_narrow_formats(count);
    assert_true(WIDE + *count <= MOST);
    memcpy(all, wide, sizeof wide);
    for (size_t i = 0; i < *count; i++) all[WIDE + i] = narrow_format(&narrow[i]);
    *count += WIDE;
    return all;
}

/* The form of mixed precision that is tested, or NULL. */
static const op_format *tested_mixed(void) {
    const char *const name = getenv("WEFT_TEST_FORMAT");
    if (name && strcmp(name, mixed.name) == 0) return &mixed;
    return name && strcmp(name, mixed_f16.name) == 0 ? &mixed_f16 : NULL;
}

bool op_tests_mixed(void) {
    return tested_mixed() != NULL;
}

void op_set_precision(weft_graph *graph) {
    /* The default scale of the loss, 65536, would let gradients of about 1 overflow in f16. */
    const weft_loss_scaling scaling = {WEFT_LOSS_SCALING_INIT, .initial = 256};
    const bool f16 = tested_mixed() == &mixed_f16;
    if (!op_tests_mixed()) return;
    if (f16) assert_weft_ok(weft_graph_set_loss_scaling(graph, &scaling));
    assert_weft_ok(weft_graph_set_precision(graph, f16 ? WEFT_PRECISION_F16 : WEFT_PRECISION_BF16));
}

const op_format *op_format_of(weft_dtype dtype) {
    size_t count;
    const op_format *const all = formats(&count);
    if (op_tests_mixed() && dtype == mixed.dtype) return tested_mixed();
    for (size_t i = 0; i < count; i++)
        if (all[i].dtype == dtype) return &all[i];
    return NULL;
}

const op_format *op_tested_format(void) {
    const char *const name = getenv("WEFT_TEST_FORMAT");
    size_t count;
    const op_format *const all = formats(&count);
    if (op_tests_mixed()) return tested_mixed();
    for (size_t i = 0; name && *name && i < count; i++)
        if (strcmp(name, all[i].name) == 0) return &all[i];
    if (name && *name) fail_msg("WEFT_TEST_FORMAT=%s is no format of the tests", name);
    return &all[0];
}

double op_nearest(weft_dtype dtype, double value) {
    double memory = 0, back = 0;
    f64_to_dtype(dtype, &value, 1, &memory);
    f64_from_dtype(dtype, &memory, 1, &back);
    return back;
}

double op_rounding(weft_dtype dtype, double value) {
    const op_format *const f = op_format_of(dtype);
    if (!f || f->precision >= 24 || !isfinite(value)) return 0;
    const int exponent = value == 0 ? f->least_exponent : ilogb(value);
    return ldexp(1, (exponent < f->least_exponent ? f->least_exponent : exponent) - f->precision + 1);
}
