/* The terms of a loss (contract in loss_terms.h). */
#include "ops/loss/loss_terms.h"
#include "cl/context.h"
#include "ops/op_table.h"

/* ---- noted means ---- */

weft_tensor *wi_share_of_total(weft_tensor *total) {
    weft_tensor *zero = weft_number(total, 0);
    return weft_where(weft_equal(total, zero), zero, weft_div(weft_number(total, 1), total));
}

static const wi_noted_mean *noted(const weft_tensor *mean) {
    const wi_noted_mean *known = mean->graph->means;
    while (known && known->mean != mean) known = known->next;
    return known;
}

weft_tensor *wi_note_mean(weft_tensor *mean, weft_tensor *total) {
    total = weft_cast(weft_reshape_shape(total, 0, NULL), WEFT_F32);
    if (!mean || !total) return NULL;
    weft_graph *const graph = mean->graph;
    if (noted(mean)) return mean;
    wi_noted_mean *const made = wi_arena_take(&graph->arena, sizeof *made);
    if (!made) return wi_graph_fail_recorded(graph, WEFT_ERROR_MEMORY);
    *made = (wi_noted_mean){mean, total, graph->means};
    graph->means = made;
    return mean;
}

/* ---- dependence on the batch ---- */

typedef struct split {
    wi_loss_terms *terms;
    wi_loss_sum *sum; /* gets the summands of the rest; NULL: nobody asks for them */
    bool *varies;     /* by node id: the node depends on the batch */
    int visits;
} split;

static bool has_batch(const weft_tensor *node) {
    for (int i = 0; i < node->shape.rank; i++)
        if (node->shape.dims[i] < 0) return true;
    return node->op == &wi_op_input;
}

/* Visits readers before inputs, which have smaller ids, and then inputs before readers. */
static void mark(const weft_tensor *loss, const weft_tensor **nodes, bool *varies) {
    nodes[loss->id] = loss;
    for (uint32_t id = loss->id + 1; id-- > 0;)
        for (int i = 0; nodes[id] && i < nodes[id]->input_count; i++)
            nodes[nodes[id]->inputs[i]->id] = nodes[id]->inputs[i];
    for (uint32_t id = 0; id <= loss->id; id++) {
        if (!nodes[id]) continue;
        varies[id] = has_batch(nodes[id]);
        for (int i = 0; i < nodes[id]->input_count && !varies[id]; i++)
            varies[id] = varies[nodes[id]->inputs[i]->id];
    }
}

/* ---- the walk ---- */

/* factor · other; a factor NULL is 1. */
static weft_tensor *times(weft_tensor *factor, weft_tensor *other) {
    return factor ? weft_mul(factor, other) : other;
}

static void add_rest(split *s, weft_tensor *x, weft_tensor *factor) {
    s->terms->has_rest = true;
    s->terms->is_always = s->terms->is_always || s->varies[x->id];
    if (!s->sum) return;
    s->sum->is_too_long = s->sum->is_too_long || s->sum->count == WI_LOSS_SUMMANDS;
    if (s->sum->count < WI_LOSS_SUMMANDS)
        s->sum->rest[s->sum->count++] = (wi_loss_summand){factor, x, s->varies[x->id]};
}

static void add_term(split *s, weft_tensor *x, weft_tensor *factor, weft_tensor *total) {
    wi_loss_terms *const terms = s->terms;
    if (terms->count == WI_LOSS_TERMS) {
        add_rest(s, x, factor);
        return;
    }
    terms->of[terms->count++] = (wi_loss_term){times(factor, x), total};
}

static bool is_one_element(const weft_tensor *x) {
    int64_t count;
    int power;
    wi_shape_count(x->graph, &x->shape, &count, &power);
    return power == 0 && count == 1;
}

/* If x is the single element of its input in another shape or dtype, returns the input; otherwise NULL. */
static weft_tensor *same_value(const weft_tensor *x) {
    const bool passes = x->op == &wi_op_reshape || x->op == &wi_op_cast || x->op == &wi_op_keep_f32;
    return passes && is_one_element(x->inputs[0]) ? x->inputs[0] : NULL;
}

enum { MOST_VISITS = 256 };

static void walk(split *s, weft_tensor *x, weft_tensor *factor) {
    const wi_noted_mean *const mean = noted(x);
    weft_tensor *const inner = same_value(x), *const a = x->input_count > 0 ? x->inputs[0] : NULL,
                       *const b = x->input_count > 1 ? x->inputs[1] : NULL;
    if (mean) {
        add_term(s, x, factor, mean->total);
    } else if (s->visits++ == MOST_VISITS) {
        s->visits--;
        add_rest(s, x, factor);
    } else if (inner) {
        walk(s, inner, factor);
    } else if (x->op == &wi_op_add || x->op == &wi_op_sub) {
        walk(s, a, factor);
        walk(s, b, x->op == &wi_op_add ? factor : times(factor, weft_number(b, -1)));
    } else if (x->op == &wi_op_neg) {
        walk(s, a, times(factor, weft_number(a, -1)));
    } else if (x->op == &wi_op_mul && !s->varies[a->id]) {
        walk(s, b, times(factor, a));
    } else if (x->op == &wi_op_mul && !s->varies[b->id]) {
        walk(s, a, times(factor, b));
    } else if (x->op == &wi_op_div && !s->varies[b->id]) {
        walk(s, a, times(factor, weft_reciprocal(b)));
    } else {
        add_rest(s, x, factor);
    }
}

static weft_status find(wi_loss_terms *terms, wi_loss_sum *sum, weft_tensor *loss) {
    const weft_allocator *const allocator = loss->graph->context->allocator;
    const size_t nodes = (size_t)loss->id + 1;
    const weft_tensor **const found = wi_allocate_array(allocator, nodes, sizeof *found);
    split s = {terms, sum, wi_allocate_array(allocator, nodes, sizeof(bool)), 0};
    if (found && s.varies) {
        mark(loss, found, s.varies);
        walk(&s, loss, NULL);
        /* A loss of a single term is the term, so that it is not computed twice. */
        if (terms->count == 1 && !terms->has_rest) terms->of[0].value = loss;
    }
    const bool failed = !found || !s.varies;
    wi_release(allocator, found);
    wi_release(allocator, s.varies);
    return failed ? WEFT_ERROR_MEMORY : weft_graph_status(loss->graph);
}

weft_status wi_loss_terms_find(wi_loss_terms *terms, weft_tensor *loss) {
    *terms = (wi_loss_terms){0};
    terms->has_rest = terms->is_always = !loss->graph->means;
    return loss->graph->means ? find(terms, NULL, loss) : WEFT_OK;
}

weft_status wi_loss_sum_find(wi_loss_sum *sum, weft_tensor *loss) {
    *sum = (wi_loss_sum){0};
    return find(&sum->terms, sum, loss);
}

weft_tensor *wi_loss_terms_count(const wi_loss_terms *terms) {
    weft_tensor *any = NULL;
    for (size_t i = 0; i < terms->count && !terms->is_always; i++) {
        weft_tensor *const total = terms->of[i].total;
        weft_tensor *const counts = weft_not_equal(total, weft_number(total, 0));
        any = any ? weft_logical_or(any, counts) : counts;
    }
    return any;
}
