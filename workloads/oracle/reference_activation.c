/* Activations with parameters in float64: see reference_activation.h. */
#include "oracle/reference_activation.h"
#include <math.h>

#define FORMULA(op, formula)                                                                                 \
    static double of_##op(double a, double p, double q) {                                                    \
        (void)q;                                                                                             \
        return formula;                                                                                      \
    }
FORMULA(clamp, isnan(a) ? a : fmin(fmax(a, p), q))
FORMULA(hardtanh, a<p ? p : a> q ? q : a)
FORMULA(leaky_relu, a > 0 ? a : p * a)
FORMULA(elu, a > 0 ? a : p * expm1(a))

f64_array *f64_clamp(const f64_array *x, double low, double high) {
    return f64_map(of_clamp, x, f64_number(low), f64_number(high));
}
f64_array *f64_hardtanh(const f64_array *x, double low, double high) {
    return f64_map(of_hardtanh, x, f64_number(low), f64_number(high));
}
f64_array *f64_leaky_relu(const f64_array *x, double slope) {
    return f64_map(of_leaky_relu, x, f64_number(slope), NULL);
}
f64_array *f64_elu(const f64_array *x, double alpha) {
    return f64_map(of_elu, x, f64_number(alpha), NULL);
}

/* The weight (C) of an input (N, C, ...) is a (C, 1, ...). */
f64_array *f64_prelu(const f64_array *x, const f64_array *weight) {
    int64_t dims[WEFT_MAX_RANK] = {weight->dims[0], 1, 1, 1, 1, 1, 1, 1};
    const int rank = x->rank > 1 ? x->rank - 1 : x->rank;
    return f64_map(of_leaky_relu, x, f64_reshape(weight, rank, dims), NULL);
}

f64_array *f64_glu(const f64_array *x, int64_t axis) {
    const int along = f64_axis(axis, x->rank);
    const int64_t size = x->dims[along], half = size / 2;
    return f64_mul(f64_slice(x, along, 0, half), f64_sigmoid(f64_slice(x, along, half, size)));
}
