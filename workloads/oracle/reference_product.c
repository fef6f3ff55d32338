/* Products in float64: see reference_product.h. */
#include "oracle/reference_product.h"
#include <math.h>

static f64_array *as_matrix(const f64_array *x, int64_t rows, int64_t columns) {
    return f64_reshape(x, 2, (const int64_t[]){rows, columns});
}

f64_array *f64_linear(const f64_array *x, const f64_array *weight, const f64_array *bias) {
    const int64_t in = weight->dims[1], out = weight->dims[0];
    const f64_array *const rows = as_matrix(x, (int64_t)x->count / in, in);
    const f64_array *const product = f64_matmul(rows, f64_transpose(weight));
    int64_t dims[WEFT_MAX_RANK];
    for (int i = 0; i < x->rank; i++) dims[i] = i == x->rank - 1 ? out : x->dims[i];
    f64_array *const y = f64_reshape(product, x->rank, dims);
    return bias ? f64_add(y, bias) : y;
}

f64_array *f64_outer(const f64_array *a, const f64_array *b) {
    return f64_mul(as_matrix(a, a->dims[0], 1), as_matrix(b, 1, b->dims[0]));
}

f64_array *f64_dot(const f64_array *a, const f64_array *b) {
    return f64_sum(f64_mul(a, b), NULL, false);
}

f64_array *f64_mv(const f64_array *a, const f64_array *x) {
    const f64_array *const y = f64_matmul(a, as_matrix(x, x->dims[0], 1));
    return f64_reshape(y, y->rank - 1, y->dims);
}

/* One output: x1 and x2 are rows, w is a matrix, each beginning at its offset. */
static void bilinear_form(f64_array *y, size_t at, const f64_array *x1, size_t row1, const f64_array *x2,
    size_t row2, const f64_array *w, size_t matrix) {
    const size_t m = (size_t)w->dims[1], n = (size_t)w->dims[2];
    const double allowed = 1e-6 * (1 + log2((double)(m * n)));
    double sum = 0, error = 0;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            const size_t k = matrix + i * n + j;
            const double term = x1->value[row1 + i] * w->value[k] * x2->value[row2 + j];
            const double most = (fabs(x1->value[row1 + i]) + x1->error[row1 + i]) *
                                (fabs(w->value[k]) + w->error[k]) *
                                (fabs(x2->value[row2 + j]) + x2->error[row2 + j]);
            sum += term;
            error += most - fabs(term) + allowed * most;
        }
    y->value[at] = sum;
    y->error[at] = error + f64_ulp(sum) + f64_stored_rounding(sum);
}

f64_array *f64_bilinear(
    const f64_array *x1, const f64_array *x2, const f64_array *weight, const f64_array *bias) {
    const size_t out = (size_t)weight->dims[0], m = (size_t)weight->dims[1], n = (size_t)weight->dims[2];
    int64_t dims[WEFT_MAX_RANK];
    for (int i = 0; i < x1->rank; i++) dims[i] = i == x1->rank - 1 ? weight->dims[0] : x1->dims[i];
    f64_array *const y = f64_zeros(x1->rank, dims);
    for (size_t i = 0; i < y->count; i++)
        bilinear_form(y, i, x1, i / out * m, x2, i / out * n, weight, i % out * m * n);
    return bias ? f64_add(y, bias) : y;
}
