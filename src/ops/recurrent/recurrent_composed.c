/* A recurrent scan and its gradient as ordinary nodes, step by step, for second gradients. Of the packed result of the scan, only
 * the sections that a program or an ordinary node can read are composed: the states and the section `more`. Only the kernel of the gradient
 * reads the other sections. */
#include "ops/op_table.h"
#include "ops/recurrent/recurrent_scan.h"

/* The nodes of a step that are differentiated. */
typedef struct step {
    weft_tensor *x, *sums, *h, *c; /* sums: products of the weights and the states before the step */
    weft_tensor *more;             /* the row of this step in the section `more` of the packed result */
    weft_tensor *projected;        /* LSTM with a projection: h before masking by lengths; otherwise x */
} step;

typedef struct unrolled {
    const weft_tensor *node; /* of the forward kernel */
    wi_scan_sections sections;
    wi_cell cell;
    int64_t batch; /* a dimension */
    weft_tensor *w, *wr, *bias, *lengths, *h0, *c0;
    step *steps; /* by index */
} unrolled;

static weft_tensor *zeros(const unrolled *u, int64_t columns) {
    return weft_expand(weft_number(u->w, 0), 2, (const int64_t[]){u->batch, columns});
}

/* ---- one step ---- */

static weft_tensor *gate(const unrolled *u, weft_tensor *x, int which) {
    const int64_t units = u->sections.units;
    return x ? weft_slice(x, 1, which * units, (which + 1) * units) : NULL;
}

static void take_lstm(const unrolled *u, step *s, weft_tensor *h, weft_tensor *c) {
    s->sums = weft_linear_with(h, u->w, NULL);
    weft_tensor *all = weft_add(s->x, s->sums);
    weft_tensor *i = weft_sigmoid(gate(u, all, 0)), *f = weft_sigmoid(gate(u, all, 1)),
                *g = weft_tanh(gate(u, all, 2)), *o = weft_sigmoid(gate(u, all, 3));
    s->c = weft_add(weft_mul(f, c), weft_mul(i, g));
    s->h = weft_mul(o, weft_tanh(s->c));
    if (!u->wr) return;
    s->more = s->h;
    s->h = s->projected = weft_linear_with(s->more, u->wr, NULL);
}

static void take_gru(const unrolled *u, step *s, weft_tensor *h) {
    const int64_t units = u->sections.units;
    const bool first = u->cell == WI_CELL_GRU_RESET_FIRST;
    weft_tensor *last = weft_slice(u->w, 0, 2 * units, 3 * units);
    s->sums = weft_linear_with(h, first ? weft_slice(u->w, 0, 0, 2 * units) : u->w, NULL);
    weft_tensor *r = weft_sigmoid(weft_add(gate(u, s->x, 0), gate(u, s->sums, 0))),
                *z = weft_sigmoid(weft_add(gate(u, s->x, 1), gate(u, s->sums, 1)));
    weft_tensor *n = first ? NULL : gate(u, s->sums, 2);
    if (first) n = weft_linear_with(s->more = weft_mul(r, h), last, NULL);
    if (!first && u->bias) n = weft_add(n, u->bias);
    n = weft_tanh(weft_add(gate(u, s->x, 2), first ? n : weft_mul(r, n)));
    s->h = weft_add(n, weft_mul(z, weft_sub(h, n)));
}

static void take_rnn(const unrolled *u, step *s, weft_tensor *h) {
    s->sums = weft_linear_with(h, u->w, NULL);
    weft_tensor *all = weft_add(s->x, s->sums);
    s->h = u->cell == WI_CELL_RNN_RELU ? weft_relu(all) : weft_tanh(all);
}

/* (N, 1): is this step within the length of the sequence? NULL: it is in all sequences. */
static weft_tensor *takes_part(const unrolled *u, int64_t t) {
    const int64_t steps = u->sections.steps;
    if (!u->lengths) return NULL;
    weft_tensor *length = weft_reshape_shape(u->lengths, 2, (const int64_t[]){u->batch, 1});
    if (u->node->attributes->recurrent.pads_left)
        return weft_less_equal(weft_number(length, (double)(steps - t)), length);
    return weft_less(weft_number(length, (double)t), length);
}

static void take_step(const unrolled *u, int64_t t, weft_tensor *h, weft_tensor *c) {
    step *const s = &u->steps[t];
    if (u->cell == WI_CELL_LSTM)
        take_lstm(u, s, h, c);
    else if (u->cell <= WI_CELL_GRU_RESET_FIRST)
        take_gru(u, s, h);
    else
        take_rnn(u, s, h);
    weft_tensor *const part = takes_part(u, t);
    if (!part) return;
    s->h = weft_where(part, s->h, h);
    if (s->c) s->c = weft_where(part, s->c, c);
}

/* ---- all steps ---- */

/* The index of the i-th step in time. */
static int64_t index_of(const unrolled *u, int64_t i) {
    return u->node->attributes->recurrent.reverse ? u->sections.steps - 1 - i : i;
}

/* h0 and c0 may be the same tensor. Products with 1, which are two different nodes, separate them, so that each gets a
 * separate gradient. */
static void separate_states(unrolled *u) {
    weft_tensor *h0 = wi_scan_input_of(u->node, WI_SCAN_H0), *c0 = wi_scan_input_of(u->node, WI_SCAN_C0);
    u->h0 = h0 ? weft_mul(h0, weft_number(h0, 1)) : zeros(u, u->sections.width);
    u->c0 = c0 ? weft_div(c0, weft_number(c0, 1)) : zeros(u, u->sections.units);
}

static bool unroll(unrolled *u, weft_tensor *node) {
    weft_tensor *x = node->inputs[WI_SCAN_X];
    char text[WI_SHAPE_TEXT];
    *u = (unrolled){.node = node, .cell = wi_cell_of(node), .batch = x->shape.dims[1]};
    u->w = wi_scan_input_of(node, WI_SCAN_W);
    u->wr = wi_scan_input_of(node, WI_SCAN_WR);
    u->bias = wi_scan_input_of(node, WI_SCAN_BIAS);
    u->lengths = wi_scan_input_of(node, WI_SCAN_LENGTHS);
    u->sections = wi_scan_sections_of(u->cell, x->shape.dims[0], node->attributes->recurrent.units,
        u->w->shape.dims[1], u->wr != NULL, true);
    if (wi_axis_is_symbolic(x, 0))
        return wi_graph_fail(node->graph, WEFT_ERROR_UNSUPPORTED,
            "%s: a second gradient needs a fixed number of steps, but x is %s", node->op->name,
            wi_shape_print(node->graph, &x->shape, text));
    u->steps = wi_arena_take(&node->graph->arena, (size_t)u->sections.steps * sizeof *u->steps);
    if (!u->steps) return wi_graph_fail_recorded(node->graph, WEFT_ERROR_MEMORY);
    separate_states(u);
    weft_tensor *h = u->h0, *c = u->c0;
    for (int64_t i = 0; i < u->sections.steps; i++) {
        const int64_t t = index_of(u, i), line[] = {u->batch, x->shape.dims[2]};
        weft_tensor *const own = weft_reshape_shape(weft_slice(x, 0, t, t + 1), 2, line);
        u->steps[t] = (step){.x = own, .projected = own};
        take_step(u, t, h, c);
        h = u->steps[t].h, c = u->steps[t].c;
    }
    return h != NULL;
}

static void name_leaves(const weft_tensor *node, weft_tensor **leaves) {
    for (int i = 0; i < node->input_count; i++) *leaves++ = node->inputs[i];
}

/* ---- packed results ---- */

/* A packed result under construction: a sum of tensors, each of which has one part (N, columns) and zeros elsewhere. */
typedef struct packing {
    weft_tensor *sum;
    int64_t size; /* of the packed result */
    int64_t batch;
} packing;

static void pack(packing *p, weft_tensor *x, int64_t start) {
    if (!x) return;
    const int64_t length = p->batch * x->shape.dims[1];
    weft_tensor *part = wi_dilate_dims(weft_reshape_shape(x, 1, &length), 0, p->batch * start, 1, p->size);
    p->sum = p->sum ? weft_add(p->sum, part) : part;
}

weft_tensor *wi_recurrent_forward_composed(weft_tensor *y, weft_tensor *leaves[WI_COMPOSED_LEAVES]) {
    unrolled u;
    name_leaves(y, leaves);
    if (!unroll(&u, y)) return NULL;
    const wi_scan_sections *const a = &u.sections;
    const bool reverse = y->attributes->recurrent.reverse;
    packing p = {NULL, y->shape.dims[0], u.batch};
    pack(&p, u.h0, reverse ? a->steps * a->width : 0);
    for (int64_t t = 0; t < a->steps; t++) {
        pack(&p, u.steps[t].h, (t + !reverse) * a->width);
        pack(&p, u.steps[t].more, a->h + a->c + a->gates + t * a->units);
    }
    return p.sum;
}

/* ---- the gradient ---- */

/* sum(y dy + h dh + c dc): the kernel computes the gradient of this. */
static weft_tensor *loss_of(const unrolled *u, const weft_tensor *back) {
    const wi_scan_sections *const a = &u->sections;
    const int64_t line[] = {u->batch, a->width};
    weft_tensor *dy = wi_scan_input_of(back, WI_BACK_DY), *dh = wi_scan_input_of(back, WI_BACK_DH),
                *dc = wi_scan_input_of(back, WI_BACK_DC), *loss = weft_number(u->w, 0);
    const step *const last = &u->steps[index_of(u, a->steps - 1)];
    for (int64_t t = 0; t < a->steps && back->attributes->recurrent.reads_dy; t++) {
        weft_tensor *g = weft_reshape_shape(weft_slice(dy, 0, t, t + 1), 2, line);
        loss = weft_add(loss, weft_sum(weft_mul(u->steps[t].h, g)));
    }
    if (dh) loss = weft_add(loss, weft_sum(weft_mul(last->h, dh)));
    if (dc) loss = weft_add(loss, weft_sum(weft_mul(last->c, dc)));
    return loss;
}

enum { WANTED_OF_A_STEP = 3 }; /* the gradients of x, sums and projected */

/* The WANTED_OF_A_STEP gradients of each step, then the gradients of h0 and c0; NULL: an error. */
static weft_tensor **gradients_of(const unrolled *u, weft_tensor *loss) {
    const size_t count = (size_t)(WANTED_OF_A_STEP * u->sections.steps + 2);
    wi_arena *const arena = &u->node->graph->arena;
    weft_tensor **wrt = wi_arena_take(arena, count * sizeof *wrt);
    weft_tensor **found = wi_arena_take(arena, count * sizeof *found);
    size_t next = 0;
    if (!loss || !wrt || !found) return NULL;
    for (int64_t t = 0; t < u->sections.steps; t++) {
        wrt[next++] = u->steps[t].x;
        wrt[next++] = u->steps[t].sums;
        wrt[next++] = u->steps[t].projected;
    }
    wrt[next++] = u->h0;
    wrt[next++] = u->c0;
    const weft_status status = weft_gradients(loss, wrt, count, found);
    if (status != WEFT_OK) wi_graph_fail_recorded(u->node->graph, status);
    return status == WEFT_OK ? found : NULL;
}

/* The leaves are the inputs of the scan. The packed result of the scan, another input of y, is not a leaf, because it is a
 * function of the leaves. */
weft_tensor *wi_recurrent_back_composed(weft_tensor *y, weft_tensor *leaves[WI_COMPOSED_LEAVES]) {
    unrolled u;
    weft_tensor *forward = wi_scan_input_of(y, WI_BACK_Y);
    name_leaves(forward, leaves);
    weft_tensor *const own[] = {
        wi_scan_input_of(y, WI_BACK_DY), wi_scan_input_of(y, WI_BACK_DH), wi_scan_input_of(y, WI_BACK_DC)};
    for (int i = 0; i < 3; i++) leaves[forward->input_count + i] = own[i];
    if (!unroll(&u, forward)) return NULL;
    weft_tensor **const d = gradients_of(&u, loss_of(&u, y));
    const wi_scan_sections *const a = &u.sections;
    packing p = {NULL, y->shape.dims[0], u.batch};
    if (!d) return NULL;
    const int64_t steps = a->steps, line = wi_cell_gates(u.cell) * a->units, dh0 = a->dx + a->sums + a->out;
    for (int64_t t = 0; t < steps; t++) {
        pack(&p, d[WANTED_OF_A_STEP * t], t * line);
        if (a->sums) pack(&p, d[WANTED_OF_A_STEP * t + 1], a->dx + t * line);
        if (a->out) pack(&p, d[WANTED_OF_A_STEP * t + 2], a->dx + a->sums + t * a->width);
    }
    if (wi_scan_input_of(forward, WI_SCAN_H0)) pack(&p, d[WANTED_OF_A_STEP * steps], dh0);
    if (wi_scan_input_of(forward, WI_SCAN_C0)) pack(&p, d[WANTED_OF_A_STEP * steps + 1], dh0 + a->dh0);
    return p.sum;
}
