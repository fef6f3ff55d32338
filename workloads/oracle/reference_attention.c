/* Attention in float64: see reference_attention.h. */
#include "oracle/reference_attention.h"
#include <math.h>

/* Stretched to the leading dimensions and its last two, or to the scores' shape. */
static f64_array *stretch(const f64_array *x, int rank, const int64_t *lead, int64_t rows, int64_t columns) {
    int64_t dims[WEFT_MAX_RANK];
    for (int i = 0; i < rank - 2; i++) dims[i] = lead[i];
    dims[rank - 2] = rows;
    dims[rank - 1] = columns;
    return f64_expand(x, rank, dims);
}

typedef struct query {
    const f64_array *q, *k, *v;
    size_t row;   /* of q */
    size_t first; /* row of k and v */
    size_t keys, d, dv;
    double scale, rounding;
    double *score, *error; /* of each key; first the mask, then the logits, then the weights */
    double size;           /* the largest sum of a logit's terms by absolute value */
    double uncertain;      /* the largest error of a logit */
} query;

/* Adds q·k·scale to the mask. */
static void add_products(query *r) {
    const double *const q = r->q->value + r->row * r->d, *const of_q = r->q->error + r->row * r->d;
    for (size_t j = 0; j < r->keys; j++) {
        const double *const k = r->k->value + (r->first + j) * r->d, *const of_k =
                                                                         r->k->error + (r->first + j) * r->d;
        double sum = 0, size = 0, error = 0;
        for (size_t p = 0; p < r->d; p++) {
            sum += q[p] * k[p];
            size += fabs(q[p] * k[p]);
            error += of_q[p] * (fabs(k[p]) + of_k[p]) + of_k[p] * fabs(q[p]);
        }
        if (isfinite(r->score[j])) r->size = fmax(r->size, fabs(r->scale) * size + fabs(r->score[j]));
        r->score[j] += sum * r->scale;
        r->error[j] += (error + r->rounding * size) * fabs(r->scale);
        if (isfinite(r->score[j]) || isinf(r->error[j])) r->uncertain = fmax(r->uncertain, r->error[j]);
    }
}

/* exp(logit - the largest) / their sum; all 0 where no key is attended to. */
static void normalise(query *r) {
    double top = -INFINITY, total = 0;
    for (size_t j = 0; j < r->keys; j++) top = fmax(top, r->score[j]);
    for (size_t j = 0; j < r->keys; j++) top = isnan(r->score[j]) ? (double)NAN : top;
    for (size_t j = 0; j < r->keys; j++) total += r->score[j] = top == -INFINITY ? 0 : exp(r->score[j] - top);
    for (size_t j = 0; j < r->keys && total > 0; j++) r->score[j] /= total;
}

/* A float32 sum of n terms is wrong by about sqrt(n) roundings, and a logit's error is a relative one of its
 * weight. With certain logits the result moves by weight·(v - y) for each of them. */
static void mix(const query *r, double *y, double *error) {
    const double wrong =
        0x1p-24 * (2 * (4 + sqrt((double)r->d)) * r->size + 16 + sqrt((double)r->keys)) + r->rounding;
    const double growth = r->uncertain < 0.5 ? exp(2 * r->uncertain) : INFINITY;
    for (size_t x = 0; x < r->dv; x++) {
        double sum = 0, moved = 0;
        for (size_t j = 0; j < r->keys; j++) {
            const size_t at = (r->first + j) * r->dv + x;
            y[x] += r->score[j] * r->v->value[at];
            sum += r->score[j] * fabs(r->v->value[at]);
            error[x] += r->score[j] * growth * r->v->error[at];
        }
        if (!f64_tracks_errors()) continue;
        for (size_t j = 0; j < r->keys; j++)
            moved += r->score[j] * r->error[j] * fabs(r->v->value[(r->first + j) * r->dv + x] - y[x]);
        error[x] += wrong * sum + (r->uncertain > 0 ? growth * moved : 0);
        if (isinf(growth)) error[x] = INFINITY;
    }
}

/* The logits' first part for one query. */
static void begin_query(
    query *r, size_t row, const f64_array *mask, const f64_attention_options *o, size_t queries) {
    r->row = row;
    r->first = row / queries * r->keys;
    r->size = r->uncertain = 0;
    for (size_t j = 0; j < r->keys; j++) {
        const double added = mask ? mask->value[row * r->keys + j] : 0;
        const double error = mask ? mask->error[row * r->keys + j] : 0;
        const bool hidden = o->causal && j > row % queries;
        r->score[j] = hidden || (o->bool_mask && added == 0) ? -INFINITY : o->bool_mask ? 0 : added;
        r->error[j] = hidden ? 0 : !o->bool_mask ? error : error >= 0.5 ? INFINITY : 0;
    }
}

static int common_lead(const f64_array *const *x, int count, int64_t *dims) {
    int rank = 0;
    for (int i = 0; i < count; i++) rank = x[i]->rank > rank ? x[i]->rank : rank;
    for (int axis = 0; axis < rank; axis++) dims[axis] = 1;
    for (int i = 0; i < count; i++)
        for (int axis = 0, shift = rank - x[i]->rank; axis < x[i]->rank - 2; axis++)
            if (x[i]->dims[axis] > dims[axis + shift]) dims[axis + shift] = x[i]->dims[axis];
    return rank;
}

f64_array *f64_attention(
    const f64_array *q, const f64_array *k, const f64_array *v, const f64_attention_options *options) {
    int64_t dims[WEFT_MAX_RANK];
    const int rank = common_lead((const f64_array *const[]){q, k, v}, 3, dims);
    const int64_t queries = q->dims[q->rank - 2], keys = k->dims[k->rank - 2], d = q->dims[q->rank - 1],
                  dv = v->dims[v->rank - 1];
    query r = {.q = stretch(q, rank, dims, queries, d),
        .k = stretch(k, rank, dims, keys, d),
        .v = stretch(v, rank, dims, keys, dv),
        .keys = (size_t)keys,
        .d = (size_t)d,
        .dv = (size_t)dv,
        .rounding = options->rounding,
        .scale = options->scale != 0 ? options->scale : 1 / sqrt((double)d)};
    const f64_array *const mask = options->mask ? stretch(options->mask, rank, dims, queries, keys) : NULL;
    f64_array *const scores = f64_zeros(1, &keys);
    r.score = scores->value;
    r.error = scores->error;
    dims[rank - 2] = queries;
    dims[rank - 1] = dv;
    f64_array *const y = f64_zeros(rank, dims);
    for (size_t row = 0; row < y->count / r.dv; row++) {
        begin_query(&r, row, mask, options, (size_t)queries);
        add_products(&r);
        normalise(&r);
        mix(&r, y->value + row * r.dv, y->error + row * r.dv);
    }
    return y;
}
