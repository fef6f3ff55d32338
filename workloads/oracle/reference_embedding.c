/* Sums of the rows of a table in float64: see reference_embedding.h. */
#include "oracle/reference_embedding.h"
#include <math.h>

/* The bag of each token: the last one that begins at it or before. */
static size_t bag_of(const f64_bags *bags, size_t token, size_t length) {
    size_t bag = 0;
    if (!bags->offsets) return token / length;
    for (size_t i = 0; i < bags->offsets->count; i++)
        if (bags->offsets->value[i] <= (double)token) bag = i;
    return bag;
}

/* One more token of a bag, of which so many are there already. */
static void take_row(const f64_bags *bags, const f64_array *table, size_t row, size_t token, double *value,
    double *error, double before) {
    const size_t width = (size_t)table->dims[1];
    const double weight = bags->weights ? bags->weights->value[token] : 1;
    const double doubt = bags->weights ? bags->weights->error[token] : 0;
    for (size_t i = 0; i < width; i++) {
        const double term = weight * table->value[row * width + i];
        const double off =
            fabs(weight) * table->error[row * width + i] + doubt * fabs(table->value[row * width + i]);
        if (bags->mode == WEFT_BAG_MAX) {
            value[i] = before > 0 ? fmax(value[i], term) : term;
            error[i] = fmax(error[i], off);
        } else {
            value[i] += term;
            error[i] += off + 1e-6 * fabs(term);
        }
    }
}

static f64_array *bags_of(const f64_array *table, const f64_array *tokens, const f64_bags *bags) {
    int64_t dims[WEFT_MAX_RANK];
    const int rank = bags->offsets ? 2 : tokens->rank;
    for (int i = 0; i < rank - 1; i++) dims[i] = bags->offsets ? bags->offsets->dims[0] : tokens->dims[i];
    dims[rank - 1] = table->dims[1];
    return f64_zeros(rank, dims);
}

/* A sum of n terms may round log2(n) times as much as one of them. */
static void finish_bags(f64_array *y, const f64_array *counts, weft_bag_mode mode) {
    const size_t width = (size_t)y->dims[y->rank - 1];
    for (size_t i = 0; i < y->count && mode != WEFT_BAG_MAX; i++) {
        const double n = counts->value[i / width], divisor = mode == WEFT_BAG_MEAN && n > 1 ? n : 1;
        y->error[i] += f64_overflow(y->value[i]);
        y->value[i] /= divisor;
        y->error[i] = y->error[i] * fmax(log2(n + 1), 1) / divisor + 4 * f64_ulp(y->value[i]);
    }
}

f64_array *f64_embedding_bag(const f64_array *table, const f64_array *tokens, const f64_bags *bags) {
    f64_array *const y = bags_of(table, tokens, bags);
    const size_t width = (size_t)table->dims[1];
    const int64_t count = (int64_t)(y->count / width);
    f64_array *const counts = f64_zeros(1, &count);
    for (size_t j = 0; j < tokens->count; j++) {
        const double token = tokens->value[j];
        if (!(token >= 0 && token < (double)table->dims[0]) || (int64_t)token == bags->padding) continue;
        const size_t bag = bag_of(bags, j, (size_t)tokens->dims[tokens->rank - 1]);
        take_row(bags, table, (size_t)token, j, y->value + bag * width, y->error + bag * width,
            counts->value[bag]);
        counts->value[bag]++;
    }
    finish_bags(y, counts, bags->mode);
    return y;
}
