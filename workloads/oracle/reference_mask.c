/* Masks and functions of the index in float64: see reference_mask.h. */
#include "oracle/reference_mask.h"
#include <math.h>
#include <string.h>

/* Copies what is below the diagonal, or what is above it. */
static f64_array *triangle(const f64_array *x, int64_t diagonal, bool below) {
    f64_array *const y = f64_zeros(x->rank, x->dims);
    const int64_t rows = x->dims[x->rank - 2], columns = x->dims[x->rank - 1];
    for (int64_t line = 0; line * columns < (int64_t)x->count; line++) {
        for (int64_t column = 0; column < columns; column++) {
            const int64_t above = column - line % rows, at = line * columns + column;
            if (below ? above > diagonal : above < diagonal) continue;
            y->value[at] = x->value[at];
            y->error[at] = x->error[at];
        }
    }
    return y;
}

f64_array *f64_tril(const f64_array *x, int64_t diagonal) {
    return triangle(x, diagonal, true);
}
f64_array *f64_triu(const f64_array *x, int64_t diagonal) {
    return triangle(x, diagonal, false);
}

static double filled(double x, double mask, double value) {
    return mask > 0.5 ? value : x;
}

f64_array *f64_masked_fill(const f64_array *x, const f64_array *mask, double value) {
    return f64_map(filled, x, mask, f64_number(value));
}

/* Labels that are out of range give zeros; where a label is uncertain, so are the classes that it may be. */
f64_array *f64_one_hot(const f64_array *labels, int64_t classes) {
    int64_t dims[WEFT_MAX_RANK];
    memcpy(dims, labels->dims, sizeof dims);
    dims[labels->rank] = classes;
    f64_array *const y = f64_zeros(labels->rank + 1, dims);
    for (size_t i = 0; i < labels->count; i++) {
        for (int64_t k = 0; k < classes; k++) {
            const double off = fabs((double)k - labels->value[i]);
            y->value[i * (size_t)classes + (size_t)k] = off == 0;
            y->error[i * (size_t)classes + (size_t)k] = labels->error[i] >= 0.5 && off <= labels->error[i];
        }
    }
    return y;
}

f64_array *f64_arange(double start, double end, double step) {
    const int64_t count = (int64_t)ceil((end - start) / step);
    f64_array *const y = f64_zeros(1, &count);
    for (int64_t i = 0; i < count; i++) {
        y->value[i] = start + (double)i * step;
        y->error[i] = f64_ulp(y->value[i]) + f64_ulp((double)i * step);
    }
    return y;
}

f64_array *f64_full(double value, int rank, const int64_t *dims) {
    f64_array *const y = f64_zeros(rank, dims);
    for (size_t i = 0; i < y->count; i++) y->value[i] = value;
    return y;
}

f64_array *f64_eye(int64_t rows, int64_t columns) {
    f64_array *const y = f64_zeros(2, (const int64_t[]){rows, columns});
    for (int64_t i = 0; i < rows && i < columns; i++) y->value[i * columns + i] = 1;
    return y;
}
