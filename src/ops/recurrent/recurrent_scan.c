/* LSTM, GRU and RNN over time: the nodes of the scan and of its gradient.
 *
 * The composite lstm, gru or rnn is a flat tensor: all states h, (T + 1, N, P), with the initial one first, or last if the scan is
 * reversed, and for an LSTM the last c, (N, H). Users get slices of it. A plan replaces the composite by a section of the node
 * `recurrent`. The other sections have what the gradient needs (all c, gates); in inference they have room for one step only.
 * The gradient is a node over this packed result, dy and the gradients of the last states, followed by slices and products over
 * all steps. */
#include "ops/recurrent/recurrent_scan.h"
#include "base/integers.h"
#include "graph/sizes.h"
#include "ops/op_table.h"

int wi_scan_index(const weft_tensor *node, int input) {
    const uint32_t inputs = node->attributes->recurrent.inputs;
    int index = 0;
    if (!(inputs >> input & 1)) return -1;
    for (int i = 0; i < input; i++) index += (int)(inputs >> i & 1);
    return index;
}

weft_tensor *wi_scan_input_of(const weft_tensor *node, int input) {
    const int index = wi_scan_index(node, input);
    return index < 0 ? NULL : node->inputs[index];
}

/* ---- sections of the packed results ---- */

wi_scan_sections wi_scan_sections_of(
    wi_cell cell, int64_t steps, int64_t units, int64_t width, bool projects, bool kept) {
    const int64_t gates = wi_cell_gates(cell), lines = kept ? steps : 1;
    const bool lstm = cell == WI_CELL_LSTM, first = cell == WI_CELL_GRU_RESET_FIRST;
    wi_scan_sections a = {.steps = steps, .units = units, .width = width};
    a.h = (steps + 1) * width;
    if (lstm) a.c = (kept ? steps + 1 : 1) * units;
    if (cell <= WI_CELL_GRU_RESET_FIRST && (kept || first)) a.gates = lines * (first ? 3 : 4) * units;
    if (projects || first) a.more = lines * units;
    a.dx = steps * gates * units;
    if (cell == WI_CELL_GRU) a.sums = a.dx;
    if (projects) a.out = steps * width;
    a.dh0 = width;
    if (lstm) a.dc0 = units;
    return a;
}

static wi_scan_sections sections_of(const weft_tensor *y, bool kept) {
    const weft_tensor *x = y->inputs[WI_SCAN_X], *w = y->inputs[WI_SCAN_W];
    return wi_scan_sections_of(wi_cell_of(y), x->shape.dims[0], y->attributes->recurrent.units,
        w->shape.dims[1], wi_scan_index(y, WI_SCAN_WR) >= 0, kept);
}

static int64_t batch_of(const weft_tensor *y) {
    return y->inputs[WI_SCAN_X]->shape.dims[1];
}

/* The elements n · start .. n · (start + size) - 1 of a flat tensor. */
static weft_tensor *lines_of(weft_tensor *flat, int64_t n, int64_t start, int64_t size) {
    weft_graph *const graph = flat->graph;
    return wi_slice_dims(flat, 0, wi_dim_multiply(graph, n, start), wi_dim_multiply(graph, n, size), 1);
}

/* Returns a section of the packed result `flat` as (first, N, last), or if first is 0, as (N, last). The section begins
 * at element n · start, where n is N, the batch. */
static weft_tensor *section_of(int64_t n, weft_tensor *flat, int64_t start, int64_t first, int64_t last) {
    const int64_t lines = wi_max64(first, 1);
    weft_tensor *x = flat ? lines_of(flat, n, start, wi_dim_multiply(flat->graph, lines, last)) : NULL;
    if (first == 0) return weft_reshape_shape(x, 2, (const int64_t[]){n, last});
    return weft_reshape_shape(x, 3, (const int64_t[]){first, n, last});
}

static weft_tensor *section(
    const weft_tensor *y, weft_tensor *flat, int64_t start, int64_t first, int64_t last) {
    return section_of(batch_of(y), flat, start, first, last);
}

/* A section as (T·N, columns), for products over all steps. */
static weft_tensor *rows(
    const weft_tensor *y, weft_tensor *flat, int64_t start, int64_t steps, int64_t columns) {
    const int64_t n = batch_of(y);
    weft_tensor *x = flat ? lines_of(flat, n, start, wi_dim_multiply(y->graph, steps, columns)) : NULL;
    return weft_reshape_shape(x, 2, (const int64_t[]){wi_dim_multiply(y->graph, n, steps), columns});
}

/* The offsets in the flat composite at which y and the last h begin. */
static int64_t y_start(const weft_tensor *y, const wi_scan_sections *a) {
    return y->attributes->recurrent.reverse ? 0 : a->width;
}
static int64_t last_start(const weft_tensor *y, const wi_scan_sections *a) {
    return y->attributes->recurrent.reverse ? 0 : a->steps * a->width;
}

/* ---- forward ---- */

static int64_t forward_row(const weft_tensor *y, int64_t start) {
    const bool kept = !y->attributes->recurrent.forgets;
    const wi_scan_sections a = sections_of(y, kept);
    if (a.steps < 0) return -1; /* the number of steps is the batch */
    if (start < a.h) return a.width;
    if (start < a.h + a.c || start >= a.h + a.c + a.gates) return a.units;
    return a.gates / (kept ? a.steps : 1);
}

const wi_op wi_op_recurrent_forward = {.name = "recurrent",
    .kind = WI_KERNEL,
    .attribute_bytes = sizeof(wi_recurrent_attributes),
    .dimensions = WI_DIMENSION(wi_recurrent_attributes, steps),
    .composed = wi_recurrent_forward_composed,
    .section_row = forward_row,
    .contiguous = ~0u,
    .fault = "a length is negative or more than the number of steps",
    .fault_index = "of the batch"};

static weft_tensor *forward(const weft_tensor *y, bool kept) {
    const wi_scan_sections a = sections_of(y, kept);
    const wi_shape shape = {.rank = 1, .dims = {batch_of(y) * (a.h + a.c + a.gates + a.more)}};
    wi_attributes attributes = wi_attributes_of(y);
    attributes.recurrent.forgets = !kept;
    return wi_node(
        y->graph, &wi_op_recurrent_forward, y->inputs, y->input_count, WEFT_F32, &shape, &attributes);
}

static weft_tensor *recurrent_lower(weft_tensor *y, bool inference) {
    weft_tensor *pack = forward(y, !inference);
    return pack ? wi_slice_dims(pack, 0, 0, y->shape.dims[0], 1) : NULL;
}

/* ---- the gradient ---- */

/* The gradients of y (T, N, P), of the last h (N, P) and of the last c (N, H), which the node of the gradient reads. Differentiation
 * adds them up to the gradient of the flat composite, of which these are slices. The rule below finds the original gradients. */
typedef struct output_gradients {
    weft_tensor *y, *h, *c; /* NULL: none */
} output_gradients;

static weft_tensor *back_node(weft_graph *graph, weft_tensor *const *inputs, const output_gradients *d,
    const wi_recurrent_attributes *given, const wi_shape *shape) {
    weft_tensor *const pack = inputs[WI_BACK_Y];
    weft_tensor *const wanted[] = {
        d->y ? d->y : pack, pack, inputs[WI_BACK_W], inputs[WI_BACK_WR], inputs[WI_BACK_LENGTHS], d->h, d->c};
    weft_tensor *list[WI_KERNEL_INPUTS];
    wi_attributes attributes = {.recurrent = *given};
    attributes.recurrent.reads_dy = d->y != NULL;
    attributes.recurrent.inputs = 0;
    int count = 0;
    for (int i = 0; i <= WI_BACK_DC; i++) {
        if (!wanted[i]) continue;
        attributes.recurrent.inputs |= 1u << i;
        list[count++] = wanted[i];
    }
    return wi_node(graph, &wi_op_recurrent_back, list, count, WEFT_F32, shape, &attributes);
}

static weft_tensor *back(const weft_tensor *y, weft_tensor *pack, weft_tensor *g, const wi_scan_sections *a) {
    weft_tensor *const inputs[] = {NULL, pack, wi_scan_input_of(y, WI_SCAN_W),
        wi_scan_input_of(y, WI_SCAN_WR), wi_scan_input_of(y, WI_SCAN_LENGTHS)};
    const output_gradients d = {.y = section(y, g, y_start(y, a), a->steps, a->width),
        .c = a->c > 0 ? section(y, g, a->h, 0, a->units) : NULL};
    wi_recurrent_attributes attributes = y->attributes->recurrent;
    attributes.gives_dh0 = wi_scan_index(y, WI_SCAN_H0) >= 0;
    const wi_shape shape = {.rank = 1, .dims = {batch_of(y) * (a->dx + a->sums + a->out + a->dh0 + a->dc0)}};
    return d.y ? back_node(y->graph, inputs, &d, &attributes, &shape) : NULL;
}

/* ---- the rule of the gradient ---- */

typedef struct search {
    const wi_rewrite *rewrite;
    wi_scan_sections sections;
    int64_t n, begin, last; /* the batch; the offsets of y and of the last h */
    output_gradients found;
} search;

static void add_to(weft_tensor **sum, weft_tensor *term) {
    *sum = *sum ? weft_add(*sum, term) : term;
}

/* Returns the flat tensor x with these dimensions: the tensor that was flattened to x, if it has these dimensions,
 * otherwise a reshape of x. */
static weft_tensor *unflatten(weft_tensor *x, int rank, const int64_t *dims) {
    const wi_shape wanted = {.rank = rank, .dims = {dims[0], rank > 1 ? dims[1] : 0, rank > 2 ? dims[2] : 0}};
    for (const weft_tensor *at = x; at->op == &wi_op_in_memory || at->op == &wi_op_reshape;) {
        at = at->inputs[0];
        if (wi_shape_equal(&at->shape, &wanted)) return (weft_tensor *)at;
    }
    return weft_reshape_shape(x, rank, dims);
}

/* Is g the gradient of one of the slices, with zeros elsewhere? Adds it to those that were found. */
static bool is_output_gradient(search *s, const weft_tensor *g) {
    const wi_scan_sections *const a = &s->sections;
    const int64_t n = s->n, y_dims[] = {a->steps, n, a->width}, h_dims[] = {n, a->width};
    const int64_t c_dims[] = {n, a->units};
    if (g->op != &wi_op_dilate || g->attributes->padding.step != 1) return false;
    weft_tensor *const x = g->inputs[0];
    const int64_t before = g->attributes->padding.before[0], size = x->shape.dims[0];
    if (before == s->begin && size == n * a->steps * a->width)
        add_to(&s->found.y, unflatten(x, 3, y_dims));
    else if (before == s->last && size == n * a->width)
        add_to(&s->found.h, unflatten(x, 2, h_dims));
    else if (before == n * a->h && size == n * a->units && a->c > 0)
        add_to(&s->found.c, unflatten(x, 2, c_dims));
    else
        return false;
    return true;
}

static weft_tensor *states_of(const search *s, weft_tensor *g) {
    return section_of(s->n, g, s->begin / s->n, s->sections.steps, s->sections.width);
}
static weft_tensor *cells_of(const search *s, weft_tensor *g) {
    return s->sections.c > 0 ? section_of(s->n, g, s->sections.h, 0, s->sections.units) : NULL;
}

static bool is_sum(const weft_tensor *g) {
    return g->op == &wi_op_add && wi_shape_equal(&g->inputs[0]->shape, &g->inputs[1]->shape);
}

static void collect(search *s, weft_tensor *g, bool whole) {
    if (is_sum(g) && (whole || wi_rewrite_has_one_reader(s->rewrite, g))) {
        collect(s, g->inputs[0], false);
        collect(s, g->inputs[1], false);
    } else if (!is_output_gradient(s, g)) {
        add_to(&s->found.y, states_of(s, g));
        if (s->sections.c > 0) add_to(&s->found.c, cells_of(s, g));
    }
}

static search search_of(const wi_rewrite *rewrite, const weft_tensor *d, weft_tensor *const *inputs) {
    const wi_recurrent_attributes *const a = &d->attributes->recurrent;
    const weft_tensor *const pack = inputs[WI_BACK_Y], *const w = inputs[WI_BACK_W];
    search s = {.rewrite = rewrite,
        .sections = wi_scan_sections_of(
            wi_cell_of(d), a->steps, a->units, w->shape.dims[1], inputs[WI_BACK_WR] != NULL, true)};
    s.n = pack->shape.dims[0] / (s.sections.h + s.sections.c + s.sections.gates + s.sections.more);
    s.begin = s.n * y_start(d, &s.sections);
    s.last = s.n * last_start(d, &s.sections);
    return s;
}

/* The flat gradient, if all inputs are slices of it and nothing else reads it. */
static weft_tensor *flat_gradient(const search *s, weft_tensor *const *inputs) {
    const weft_tensor *slice = inputs[WI_BACK_DY];
    if (slice && slice->op == &wi_op_reshape) slice = slice->inputs[0];
    if (!slice || slice->op != &wi_op_slice || inputs[WI_BACK_DH]) return NULL;
    weft_tensor *const g = slice->inputs[0];
    if (g->shape.rank != 1) return NULL; /* a slice that a caller has created */
    const uint32_t slices = s->sections.c > 0 ? 2 : 1;
    if (wi_rewrite_is_kept(s->rewrite, g) || wi_rewrite_readers(s->rewrite, g) != slices) return NULL;
    return states_of(s, g) == inputs[WI_BACK_DY] && cells_of(s, g) == inputs[WI_BACK_DC] ? g : NULL;
}

static weft_tensor *find_output_gradients(
    wi_rewrite *rewrite, const weft_tensor *d, weft_tensor *const *inputs) {
    weft_tensor *all[WI_BACK_DC + 1];
    for (int i = 0; i <= WI_BACK_DC; i++) {
        const int index = wi_scan_index(d, i);
        all[i] = index < 0 ? NULL : inputs[index];
    }
    if (!d->attributes->recurrent.reads_dy) return NULL;
    search s = search_of(rewrite, d, all);
    weft_tensor *const g = flat_gradient(&s, all);
    if (!g || (!is_sum(g) && g->op != &wi_op_dilate)) return NULL;
    collect(&s, g, true);
    return weft_graph_status(d->graph) == WEFT_OK
               ? back_node(d->graph, all, &s.found, &d->attributes->recurrent, &d->shape)
               : NULL;
}

static const wi_rule back_rewrites[] = {
    {"output gradients of a scan", WI_STAGE_MATCH, find_output_gradients}, {0}};
static int64_t back_row(const weft_tensor *y, int64_t start) {
    const wi_recurrent_attributes *const r = &y->attributes->recurrent;
    if (r->steps < 0) return -1;
    const int64_t width = y->inputs[wi_scan_index(y, WI_BACK_W)]->shape.dims[1];
    const wi_scan_sections a = wi_scan_sections_of(
        wi_cell_of(y), r->steps, r->units, width, wi_scan_index(y, WI_BACK_WR) >= 0, true);
    if (start < a.dx + a.sums) return a.dx / a.steps;
    return start < a.dx + a.sums + a.out + a.dh0 ? a.width : a.units;
}

const wi_op wi_op_recurrent_back = {.name = "recurrent_gradient",
    .kind = WI_KERNEL,
    .attribute_bytes = sizeof(wi_recurrent_attributes),
    .dimensions = WI_DIMENSION(wi_recurrent_attributes, steps),
    .composed = wi_recurrent_back_composed,
    .section_row = back_row,
    .contiguous = ~(1u << WI_BACK_DY)};

/* The gradient of the weight: the product, over all steps, of the gates' gradients and the previous states. */
static weft_tensor *weight_gradient(
    const weft_tensor *y, weft_tensor *pack, weft_tensor *d, const wi_scan_sections *a) {
    const int64_t line = wi_cell_gates(wi_cell_of(y)) * a->units;
    weft_tensor *ds = rows(y, d, a->sums ? a->dx : 0, a->steps, line);
    weft_tensor *before = rows(y, pack, y->attributes->recurrent.reverse ? a->width : 0, a->steps, a->width);
    if (wi_cell_of(y) != WI_CELL_GRU_RESET_FIRST) return weft_matmul(weft_transpose(ds), before);
    weft_tensor *reset = rows(y, pack, a->h + a->c + a->gates, a->steps, a->units);
    weft_tensor *const both[] = {weft_matmul(weft_transpose(weft_slice(ds, 1, 0, 2 * a->units)), before),
        weft_matmul(weft_transpose(weft_slice(ds, 1, 2 * a->units, line)), reset)};
    return weft_concat(both, 2, 0);
}

static void recurrent_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    const wi_scan_sections a = sections_of(y, true);
    weft_tensor *pack = forward(y, true);
    if (!pack || !g) return;
    weft_tensor *d = back(y, pack, g, &a);
    if (!d) return;
    const int64_t line = wi_cell_gates(wi_cell_of(y)) * a.units;
    const int h0 = wi_scan_index(y, WI_SCAN_H0), c0 = wi_scan_index(y, WI_SCAN_C0),
              bias = wi_scan_index(y, WI_SCAN_BIAS), wr = wi_scan_index(y, WI_SCAN_WR);
    const int64_t dh0 = a.dx + a.sums + a.out;
    gradients[WI_SCAN_X] = section(y, d, 0, a.steps, line);
    gradients[WI_SCAN_W] = weight_gradient(y, pack, d, &a);
    if (h0 >= 0) gradients[h0] = section(y, d, dh0, 0, a.width);
    if (c0 >= 0) gradients[c0] = section(y, d, dh0 + a.dh0, 0, a.units);
    if (bias >= 0)
        gradients[bias] = weft_sum_axes(weft_slice(rows(y, d, a.dx, a.steps, line), 1, 2 * a.units, line),
            (const int64_t[]){0, WEFT_END}, false);
    if (wr >= 0)
        gradients[wr] = weft_matmul(weft_transpose(rows(y, d, a.dx + a.sums, a.steps, a.width)),
            rows(y, pack, a.h + a.c + a.gates, a.steps, a.units));
}

#define COMPOSITE(text)                                                                                      \
    {                                                                                                        \
        .name = text, .kind = WI_COMPOSITE, .attribute_bytes = sizeof(wi_recurrent_attributes),              \
        .dimensions = WI_DIMENSION(wi_recurrent_attributes, steps), .lower = recurrent_lower                 \
    }
const wi_op wi_op_lstm = COMPOSITE("lstm"), wi_op_gru = COMPOSITE("gru"), wi_op_rnn = COMPOSITE("rnn");

weft_recurrent wi_recurrent_scan(const wi_scan *scan) {
    weft_tensor *const wanted[] = {scan->x, scan->w, scan->h0, scan->c0, scan->bias, scan->wr, scan->lengths};
    weft_tensor *inputs[WI_KERNEL_INPUTS];
    wi_recurrent_attributes attributes = {
        .cell = scan->cell, .reverse = scan->reverse, .pads_left = scan->left};
    int count = 0;
    for (int i = 0; i <= WI_SCAN_LENGTHS; i++) {
        if (!wanted[i]) continue;
        attributes.inputs |= 1u << i;
        inputs[count++] = wanted[i];
    }
    const wi_op *op = scan->cell == WI_CELL_LSTM              ? &wi_op_lstm
                      : scan->cell <= WI_CELL_GRU_RESET_FIRST ? &wi_op_gru
                                                              : &wi_op_rnn;
    weft_graph *graph = wi_inputs_graph(op->name, inputs, count);
    if (!graph) return (weft_recurrent){NULL, NULL, NULL};
    attributes.units = scan->x->shape.dims[2] / wi_cell_gates(scan->cell);
    attributes.steps = scan->x->shape.dims[0];
    const wi_scan_sections a = wi_scan_sections_of(
        scan->cell, attributes.steps, attributes.units, scan->w->shape.dims[1], scan->wr != NULL, true);
    const int64_t last_c = scan->cell == WI_CELL_LSTM ? a.units : 0;
    const wi_shape shape = {
        .rank = 1, .dims = {wi_dim_multiply(graph, scan->x->shape.dims[1], a.h + last_c)}};
    weft_tensor *y =
        wi_node(graph, op, inputs, count, WEFT_F32, &shape, &(wi_attributes){.recurrent = attributes});
    if (!y) return (weft_recurrent){NULL, NULL, NULL};
    return (weft_recurrent){.y = section(y, y, y_start(y, &a), a.steps, a.width),
        .h = section(y, y, last_start(y, &a), 0, a.width),
        .c = last_c ? section(y, y, a.h, 0, a.units) : NULL};
}

const wi_op_rules wi_recurrent_scan_rules[] = {{.op = &wi_op_lstm, .backward = recurrent_backward},
    {.op = &wi_op_gru, .backward = recurrent_backward}, {.op = &wi_op_rnn, .backward = recurrent_backward},
    {.op = &wi_op_recurrent_back, .rewrites = back_rewrites}, {0}};
