/* Maps whose only reader is a sum of rows by segments: the step of the sum computes these rows itself. An example is the gradient of
 * gathered rows, if each of its rows is a number times another row.
 *
 *     map (..., width) ──▶ sum by segments            becomes one launch: each row is computed once, where it is added,
 *       a loop             another step               and is never stored
 *
 * The pass removes the loop. Its space becomes part of the space of the sum's step (loop_operands.c): the kernel computes the loop's
 * indices from the number of a row. */
#include "plan/improve/improve.h"
#include "plan/layout/loops.h"

/* A sum by segments, and the loop that computes its source, the rows that are added up. */
typedef struct pair {
    wi_partition *p;
    wi_step *sums, *loop;
    int source; /* the value that the loop stores */
} pair;

static int count_stored(const wi_partition *p, const wi_step *step) {
    int count = 0;
    for (int m = 0; m < step->member_count; m++) count += p->values[step->members[m]].storage >= 0;
    return count;
}

/* Is the source all that the loop stores, in contiguous rows as the sum reads them? */
static bool is_source(const pair *c) {
    const wi_value *const made = &c->p->values[c->source], *const read = &c->p->values[c->sums->sources[0]];
    const wi_extent *const extent = made->extent;
    return c->loop->kind == WI_STEP_LOOP && c->loop->reduced == 0 && c->loop->device == c->sums->device &&
           count_stored(c->p, c->loop) == 1 && made->storage >= 0 &&
           c->p->storages[made->storage].alias < 0 && wi_computes_node(made) &&
           wi_shape_equal(&made->node->shape, &c->loop->shape) &&
           wi_layout_is_contiguous(made->layout, extent) &&
           wi_layout_is_contiguous(read->layout, read->extent) && made->format == made->node->dtype &&
           wi_size_equal(wi_extent_count(extent), wi_extent_count(read->extent)) &&
           wi_size_equal(extent->dims[extent->rank - 1], read->extent->dims[1]) &&
           extent->rank + 2 <= WEFT_MAX_RANK;
}

/* Is the sum the only reader of the source and of its views? */
static bool is_read_once(const pair *c) {
    const wi_partition *const p = c->p;
    const weft_tensor *const made = p->values[c->source].node;
    const weft_tensor *node = p->values[c->sums->members[0]].node->inputs[0];
    while (node != made && node->op->kind == WI_VIEW && p->order->readers[wi_place_of(p->order, node)] == 1)
        node = node->inputs[0];
    return node == made && p->order->readers[wi_place_of(p->order, node)] == 1;
}

/* Do the loop's operands still have their values when the step of the sum runs? Not if an operand is in memory of a variable: the
 * plan may have assigned the variable by then, and the step of the sum itself may write rows of it. */
static bool operands_stay_unchanged(const pair *c, const wi_loop *loop) {
    for (int o = 0; o < loop->operand_count; o++) {
        const wi_operand *const operand = &loop->operands[o];
        if (operand->is_output) continue;
        if (operand->value < 0 || operand->padded) return false;
        if (wi_is_stored_in(c->p, operand->value, WI_STORAGE_BLOCK)) return false;
    }
    return c->sums->input_count + loop->operand_count + count_stored(c->p, c->sums) <= WI_MAX_OPERANDS;
}

/* Lets the step of the sum compute the source, and removes the stored source. */
static void compute(const pair *c, int operands) {
    wi_partition *const p = c->p;
    c->sums->computed = c->source;
    c->sums->source_extent = c->loop->extent;
    c->sums->sources[0] = c->sums->sources[1];
    c->sums->input_count += operands - 1;
    p->storages[p->values[c->source].storage].bytes = 0;
    p->values[c->source].storage = -1;
}

static weft_status compute_source(wi_partition *p, wi_step *sums, bool *any) {
    wi_operand room[WI_MAX_OPERANDS];
    pair c = {.p = p, .sums = sums, .source = wi_base_of(p, sums->sources[0])};
    if (p->values[c.source].state != WI_VALUE_MEMBER) return WEFT_OK;
    c.loop = p->steps[p->values[c.source].step];
    if (!is_source(&c) || !is_read_once(&c)) return WEFT_OK;
    wi_loop loop = {.step = c.loop, .operands = room};
    WI_TRY(wi_find_operands(p, &loop));
    if (!operands_stay_unchanged(&c, &loop)) return WEFT_OK;
    compute(&c, loop.operand_count);
    *any = true;
    return WEFT_OK;
}

weft_status wi_compute_segment_sources(wi_partition *p) {
    bool any = false;
    for (size_t i = 0; i < p->step_count; i++)
        if (p->steps[i]->by_segments) WI_TRY(compute_source(p, p->steps[i], &any));
    return any ? wi_drop_unread(p) : WEFT_OK;
}
