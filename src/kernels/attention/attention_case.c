/* Small cases of attention and of its gradient for self-tests (kernels/kernel_op_case.h). The width of heads, a causal mask, and
 * whether weights are dropped are those of the site. Masks in memory and strides are only arguments of the same code. */
#include "base/integers.h"
#include "base/philox.h"
#include "kernels/attention/attention_arguments.h"
#include "kernels/kernel_op_case.h"
#include <math.h>

/* QUERIES, KEYS: more than a block of the kernels, with a tail. FEW: so few queries that kernels for few queries accept the case.
 * STEEP: a factor of the scores. With it the scores of a row differ so much that a key which a kernel leaves out or counts twice
 * changes sums by some tenths. */
enum { HEADS = 2, FIRST_HEAD = 3, QUERIES = 70, FEW = 5, KEYS = 150, WAYS = 2 };
static const double STEEP = 4.0, DROPPED = 0.25;

typedef struct attention {
    wi_kernel_op_case *small;
    wi_attention_sizes s;
    const wi_attention_attributes *a;
    double *q, *k, *v, *dy;
    double *weights, *factors; /* of one query: softmax, and its factors of dropout: 0 or 1 / (1 - dropout) */
    double *lse;               /* for each query: log2 of the sum of 2^score over its keys */
    double *y, *sizes;         /* of one query: the result, and magnitudes for rounding errors */
} attention;

/* ---- one query ---- */

static double dot(const double *x, const double *y, int64_t n) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

/* The factor of a weight in dropout. Draws the same random numbers as cl_kernels/random.clh. */
static double factor(const attention *t, int64_t index) {
    uint32_t counter[4] = {(uint32_t)index, (uint32_t)((uint64_t)index >> 32), t->a->stream, 0};
    if (t->a->dropout <= 0) return 1.0;
    wi_philox(counter, t->small->seed);
    return wi_uniform_of(counter[0]) < t->a->dropout ? 0.0 : 1.0 / (1.0 - (double)t->a->dropout);
}

/* Computes the softmax weights, the factors of dropout, the result y and lse of query i of head n. */
static void weigh(const attention *t, int64_t n, int64_t i) {
    const wi_attention_sizes *const s = &t->s;
    const int64_t row = n * s->queries + i, keys = t->a->causal ? wi_min64(i + 1, s->keys) : s->keys;
    double most = -INFINITY, sum = 0.0;
    for (int64_t j = 0; j < keys; j++) {
        t->weights[j] =
            dot(&t->q[row * s->d], &t->k[(n * s->keys + j) * s->d], s->d) * t->a->scale * WI_LOG2_E;
        most = fmax(most, t->weights[j]);
    }
    for (int64_t j = 0; j < keys; j++) sum += exp2(t->weights[j] - most);
    t->lse[row] = most + log2(sum);
    for (int64_t j = 0; j < s->keys; j++) {
        t->weights[j] = j < keys ? exp2(t->weights[j] - t->lse[row]) : 0.0;
        t->factors[j] = factor(t, (t->a->first_head * s->queries + row) * s->keys + j);
    }
    for (int64_t c = 0; c < s->dv; c++) {
        t->y[c] = t->sizes[c] = 0.0;
        for (int64_t j = 0; j < keys; j++) {
            const double term = t->weights[j] * t->factors[j] * t->v[(n * s->keys + j) * s->dv + c];
            t->y[c] += term;
            t->sizes[c] += fabs(term);
        }
    }
}

/* ---- both passes ---- */

static wi_shape shape_of(const wi_attention_sizes *s, int64_t length, int64_t width) {
    return (wi_shape){.rank = 4, .dims = {s->n0, s->n1, length, width}};
}

static weft_status begin(
    attention *t, wi_kernel_op_case *small, const wi_kernel_site *site, int way, bool *more) {
    wi_attention_attributes *const a = &small->attributes.attention;
    wi_attention_sizes *const s = &t->s;
    *t = (attention){.small = small, .s = wi_attention_sizes_of(site), .a = a};
    *more = way + 1 < WAYS;
    s->n0 = s->n1 = HEADS;
    s->queries = way == 0 ? QUERIES : FEW;
    s->keys = KEYS;
    a->scale = STEEP / sqrt((double)s->d);
    a->heads_inside = false;
    a->first_head = FIRST_HEAD;
    if (a->dropout > 0) a->dropout = (float)DROPPED;
    t->q = wi_kernel_op_case_input(small, shape_of(s, s->queries, s->d), 1.0);
    t->k = wi_kernel_op_case_input(small, shape_of(s, s->keys, s->d), 1.0);
    t->v = wi_kernel_op_case_input(small, shape_of(s, s->keys, s->dv), 1.0);
    t->weights = wi_arena_take(small->arena, (size_t)s->keys * sizeof(double));
    t->factors = wi_arena_take(small->arena, (size_t)s->keys * sizeof(double));
    t->lse = wi_arena_take(small->arena, (size_t)(s->n0 * s->n1 * s->queries) * sizeof(double));
    t->y = wi_arena_take(small->arena, (size_t)s->dv * sizeof(double));
    t->sizes = wi_arena_take(small->arena, (size_t)s->dv * sizeof(double));
    const bool numbers = t->weights && t->factors && t->lse && t->y && t->sizes;
    return t->q && t->k && t->v && numbers ? WEFT_OK : WEFT_ERROR_MEMORY;
}

/* ---- forward ---- */

weft_status wi_attention_case(wi_kernel_op_case *small, const wi_kernel_site *site, int way, bool *more) {
    attention t;
    WI_TRY(begin(&t, small, site, way, more));
    const wi_attention_sizes *const s = &t.s;
    const int64_t rows = s->n0 * s->n1 * s->queries;
    WI_TRY(wi_kernel_op_case_result(small, rows * (s->dv + 2)));
    for (int64_t row = 0; row < rows; row++) {
        weigh(&t, row / s->queries, row % s->queries);
        for (int64_t c = 0; c < s->dv; c++) {
            small->expected[row * s->dv + c] = t.y[c];
            small->magnitude[row * s->dv + c] = t.sizes[c];
        }
        small->expected[rows * s->dv + row] = t.lse[row];
        small->magnitude[rows * s->dv + row] = STEEP;  /* the magnitude of scores */
        small->expected[rows * (s->dv + 1) + row] = 1; /* no precision is lost */
        small->magnitude[rows * (s->dv + 1) + row] = STEEP;
    }
    return WEFT_OK;
}

/* ---- the gradient ---- */

/* The sections of the result. */
typedef struct sections {
    double *dq, *dk, *dv;
} sections;

static sections sections_of(const attention *t, double *all) {
    const int64_t n = t->s.n0 * t->s.n1;
    double *const dk = all + n * t->s.queries * t->s.d;
    return (sections){all, dk, dk + n * t->s.keys * t->s.d};
}

static void add(double *sums, double *magnitudes, double weight, const double *x, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        sums[i] += weight * x[i];
        magnitudes[i] += fabs(weight * x[i]);
    }
}

/* Adds what query i of head n contributes to the gradients of q, k and v. */
static void add_query(const attention *t, int64_t n, int64_t i) {
    const wi_attention_sizes *const s = &t->s;
    const sections to = sections_of(t, t->small->expected), sizes = sections_of(t, t->small->magnitude);
    const int64_t row = n * s->queries + i;
    const double *const dy = &t->dy[row * s->dv], inner = dot(dy, t->y, s->dv);
    for (int64_t j = 0; j < s->keys; j++) {
        const int64_t key = n * s->keys + j;
        const double p = t->weights[j], f = t->factors[j];
        const double ds = p * (f * dot(dy, &t->v[key * s->dv], s->dv) - inner) * t->a->scale;
        add(&to.dq[row * s->d], &sizes.dq[row * s->d], ds, &t->k[key * s->d], s->d);
        add(&to.dk[key * s->d], &sizes.dk[key * s->d], ds, &t->q[row * s->d], s->d);
        add(&to.dv[key * s->dv], &sizes.dv[key * s->dv], p * f, dy, s->dv);
    }
}

weft_status wi_attention_gradient_case(
    wi_kernel_op_case *small, const wi_kernel_site *site, int way, bool *more) {
    attention t;
    WI_TRY(begin(&t, small, site, way, more));
    const wi_attention_sizes *const s = &t.s;
    const int64_t n = s->n0 * s->n1, rows = n * s->queries;
    double *const y =
        wi_kernel_op_case_input(small, (wi_shape){.rank = 1, .dims = {rows * (s->dv + 2)}}, 1.0);
    t.dy = wi_kernel_op_case_input(small, shape_of(s, s->queries, s->dv), 1.0);
    if (!y || !t.dy) return WEFT_ERROR_MEMORY;
    WI_TRY(wi_kernel_op_case_result(small, rows * s->d + n * s->keys * (s->d + s->dv)));
    for (int64_t i = 0; i < small->count; i++) small->expected[i] = 0.0;
    for (int64_t row = 0; row < rows; row++) {
        weigh(&t, row / s->queries, row % s->queries);
        for (int64_t c = 0; c < s->dv; c++) y[row * s->dv + c] = t.y[c];
        y[rows * s->dv + row] = t.lse[row];
        add_query(&t, row / s->queries, row % s->queries);
    }
    return WEFT_OK;
}
