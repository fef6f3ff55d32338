/* The best classes of MACH, on the host. LANES rows are scored together: the probabilities are transposed to (groups ·
 * buckets, LANES), so that a class's score is the sum of `groups` short vectors. Only the best k classes of each row are
 * kept, so that memory does not grow with the number of classes. */
#include "base/memory.h"
#include "cl/context.h"
#include "nn/mach.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { LANES = 16 };

typedef struct search {
    const weft_mach *mach;
    const float *table; /* (groups · buckets, LANES) */
    size_t k, lanes;    /* lanes that hold rows */
    int32_t *classes;   /* (lanes, k) */
    float *sums;        /* (lanes, k), in falling order */
    float least[LANES]; /* sums[k - 1] of each lane */
} search;

static void transpose(const float *rows, size_t count, size_t lanes, float *table) {
    for (size_t i = 0; i < count; i++)
        for (size_t lane = 0; lane < LANES; lane++)
            table[i * LANES + lane] = lane < lanes ? rows[lane * count + i] : 0;
}

static void insert(search *s, size_t lane, int32_t label, float sum) {
    float *const sums = s->sums + lane * s->k;
    int32_t *const classes = s->classes + lane * s->k;
    size_t at = s->k - 1;
    for (; at > 0 && sums[at - 1] < sum; at--) sums[at] = sums[at - 1], classes[at] = classes[at - 1];
    sums[at] = sum, classes[at] = label;
    s->least[lane] = sums[s->k - 1];
}

/* sums: for each lane, the sum over the groups of the probability of the class's bucket. */
static void score(const search *s, const int32_t *low, const int32_t *high, float *sums) {
    const weft_mach *const m = s->mach;
    memset(sums, 0, LANES * sizeof *sums);
    for (int64_t r = 0; r < m->groups; r++) {
        const int64_t sum = (int64_t)low[r] + high[r];
        const int64_t bucket = sum < m->buckets ? sum : sum - m->buckets;
        const float *const p = s->table + (r * m->buckets + bucket) * LANES;
        for (size_t lane = 0; lane < LANES; lane++) sums[lane] += p[lane];
    }
}

static void find(search *s) {
    const weft_mach *const m = s->mach;
    float sums[LANES];
    int64_t label = 0;
    for (int64_t high = 0; label < m->layer.classes; high++)
        for (int64_t low = 0; low < m->root && label < m->layer.classes; low++, label++) {
            score(s, m->low + low * m->groups, m->high + high * m->groups, sums);
            for (size_t lane = 0; lane < s->lanes; lane++)
                if (sums[lane] > s->least[lane]) insert(s, lane, (int32_t)label, sums[lane]);
        }
}

static void find_lanes(search *s, float *scores) {
    const size_t count = s->lanes * s->k;
    const double buckets = (double)s->mach->buckets, groups = (double)s->mach->groups;
    for (size_t i = 0; i < count; i++) s->classes[i] = -1, s->sums[i] = -INFINITY;
    for (size_t lane = 0; lane < LANES; lane++) s->least[lane] = -INFINITY;
    find(s);
    for (size_t i = 0; scores && i < count; i++)
        scores[i] = (float)(((double)s->sums[i] / groups - 1 / buckets) * buckets / (buckets - 1));
}

weft_status weft_mach_top(const weft_mach *mach, const float *probabilities, size_t rows, size_t k,
    int32_t *classes, float *scores) {
    if (!mach || ((!probabilities || !classes) && rows > 0))
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_mach_top: mach, probabilities and classes must not be NULL");
    if (k < 1 || k > (size_t)mach->layer.classes)
        WI_FAIL(
            WEFT_ERROR_ARGUMENT, "weft_mach_top: k is %zu, expected 1 to %" PRId64, k, mach->layer.classes);
    const weft_allocator *const allocator = mach->layer.graph->context->allocator;
    const size_t count = (size_t)(mach->groups * mach->buckets);
    float *const table = wi_allocate_array(allocator, count, LANES * sizeof *table);
    float *const sums = wi_allocate_array(allocator, k, LANES * sizeof *sums);
    const weft_status status = table && sums ? WEFT_OK : WEFT_ERROR_MEMORY;
    for (size_t at = 0; !status && at < rows; at += LANES) {
        search s = {mach, table, k, rows - at < LANES ? rows - at : LANES, classes + at * k, sums, {0}};
        transpose(probabilities + at * count, count, s.lanes, table);
        find_lanes(&s, scores ? scores + at * k : NULL);
    }
    wi_release(allocator, table);
    wi_release(allocator, sums);
    return status;
}
