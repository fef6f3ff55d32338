/* The ranges of parameters that a step of an optimizer updates together (contract in update_ranges.h). */
#include "nn/update_ranges.h"
#include "cl/context.h"
#include "ops/loss_scale.h"
#include "ops/op_table.h"

/* A parameter is large if it is a matrix of at least this many elements whose gradient is one matrix product. Storing
 * and reading the gradient would take longer than the update, so the step of the product updates the parameter. */
enum { LARGE = 1 << 20 };

static bool is_large(const weft_tensor *parameter, const weft_tensor *gradient) {
    int64_t elements;
    int power;
    if (gradient->op == &wi_op_permute) gradient = gradient->inputs[0]; /* a transposed product */
    wi_shape_count(parameter->graph, &parameter->shape, &elements, &power);
    return parameter->shape.rank == 2 && elements >= LARGE && elements % WI_FLAT_ROW == 0 &&
           gradient->op == &wi_op_matmul;
}

/* Does the update of an element read only values of this element? */
static bool is_elementwise(const wi_update *u) {
    const weft_optimizer *const o = u->optimizer;
    return o->kind != WEFT_LAMB && o->accumulate <= 1 && !(o->clip_norm > 0) && !(o->average_decay > 0) &&
           !u->by_row.factor && (!u->by_row.decay || u->by_row.decay->shape.rank == 0) &&
           !wi_loss_scales(u->graph);
}

wi_stretch *wi_stretch_of(const weft_optimizer_state *optimizer, const weft_tensor *parameter) {
    const int64_t row = wi_first_row(parameter);
    wi_stretch *stretch = optimizer->stretches;
    while (stretch && (stretch->block != parameter->variable->block || row < stretch->first_row ||
                          row >= stretch->first_row + stretch->rows))
        stretch = stretch->next;
    return stretch;
}

static wi_update *add_range(wi_update_step *s, size_t first, size_t length) {
    const weft_tensor *const one = weft_graph_parameter(s->optimizer->graph, first);
    const weft_tensor *const last = weft_graph_parameter(s->optimizer->graph, first + length - 1);
    wi_update *const u = &s->ranges[s->count++];
    *u = (wi_update){.graph = s->optimizer->graph,
        .optimizer = &s->optimizer->rule,
        .number = s->optimizer->number,
        .stretch = wi_stretch_of(s->optimizer, one),
        .counts = s->counts,
        .divided = s->divided,
        .first = first,
        .length = length,
        .first_row = wi_first_row(one),
        .rows = wi_first_row(last) + wi_row_count(last) - wi_first_row(one)};
    u->shape = (wi_shape){.rank = 2, .dims = {u->rows, WI_FLAT_ROW}};
    return u;
}

static void set_rows(const wi_update_step *s, wi_update *u, const wi_rows *by_row) {
    weft_tensor *const rate = s->optimizer->rate;
    u->by_row = *by_row;
    u->rate = by_row->factor ? weft_mul(by_row->factor, rate) : rate;
    u->decay = by_row->decay;
}

/* Rows of a tensor (rows of `whole`, ...); a tensor of rank 0 holds for all rows. */
static weft_tensor *rows_of(const wi_update *whole, const wi_update *part, weft_tensor *x) {
    if (!x || x->shape.rank == 0 || part->rows == whole->rows) return x;
    return wi_slice_dims(x, 0, part->first_row - whole->first_row, part->rows, 1);
}

/* The end of the part of a range that begins with the parameter `first`. If may_be_large is true, each large parameter is a separate
 * part. */
static size_t end_of_part(const wi_update_step *s, size_t first, size_t end, bool may_be_large) {
    const weft_graph *const graph = s->optimizer->graph;
    int64_t rows = 0;
    size_t next = first;
    for (; next < end && rows < s->most_rows; next++) {
        const bool large = may_be_large && is_large(weft_graph_parameter(graph, next), s->gradients[next]);
        if (large) return next > first ? next : next + 1;
        rows += wi_row_count(weft_graph_parameter(graph, next));
    }
    return next;
}

/* Divides the last range so that each large parameter is a separate range. */
static void split_range(wi_update_step *s, bool may_be_large) {
    const wi_update whole = s->ranges[--s->count];
    const size_t end = whole.first + whole.length;
    for (size_t first = whole.first, next; first < end; first = next) {
        weft_tensor *const parameter = weft_graph_parameter(whole.graph, first);
        next = end_of_part(s, first, end, may_be_large);
        wi_update *const u = add_range(s, first, next - first);
        const wi_rows by_row = {
            rows_of(&whole, u, whole.by_row.factor), rows_of(&whole, u, whole.by_row.decay)};
        u->large = may_be_large && is_large(parameter, s->gradients[first]);
        if (u->large) u->shape = parameter->shape;
        set_rows(s, u, &by_row);
    }
}

static bool any_large(const wi_update *u, weft_tensor *const *gradients) {
    for (size_t i = u->first; i < u->first + u->length; i++)
        if (is_large(weft_graph_parameter(u->graph, i), gradients[i])) return true;
    return false;
}

static bool is_by_rows(const weft_graph *graph, size_t parameter) {
    const wi_variable *const variable = weft_graph_parameter(graph, parameter)->variable;
    return variable->sparse;
}

/* The largest number of rows of a range. If the parameters, their gradients and the states together may exceed the memory limit, ranges are
 * small, so that a plan can keep parameters in host memory (plan/arrange/loads.h). LAMB needs norms of whole parameters, so it has no limit. */
static int64_t find_most_rows(const wi_update_step *s) {
    enum { PARTS = 32 };
    const weft_graph *const graph = s->optimizer->graph;
    const size_t limit = wi_buffer_limit(wi_context_device(graph->context));
    const weft_optimizer *const rule = &s->optimizer->rule;
    size_t bytes = 0;
    for (size_t i = 0; i < weft_graph_parameter_count(graph); i++)
        bytes += weft_graph_parameter(graph, i)->variable->bytes;
    if (limit == 0 || rule->kind == WEFT_LAMB) return INT64_MAX;
    if (bytes <= limit / (wi_optimizer_writes(rule) + 1)) return INT64_MAX;
    return (int64_t)(bytes / PARTS / WI_FLAT_ROW_BYTES) + 1;
}

weft_status wi_find_ranges(wi_update_step *s) {
    s->most_rows = find_most_rows(s);
    const weft_graph *const graph = s->optimizer->graph;
    const size_t count = weft_graph_parameter_count(graph);
    for (size_t first = 0, end; first < count; first = end) {
        end = first + 1;
        if (!s->gradients[first]) continue;
        const wi_stretch *const stretch = wi_stretch_of(s->optimizer, weft_graph_parameter(graph, first));
        const bool by_rows = is_by_rows(graph, first);
        while (end < count && !by_rows && !is_by_rows(graph, end) && s->gradients[end] &&
               wi_stretch_of(s->optimizer, weft_graph_parameter(graph, end)) == stretch)
            end++;
        wi_update *const u = add_range(s, first, end - first);
        u->by_rows = by_rows;
        WI_TRY(wi_groups_rows(u));
        if (by_rows)
            set_rows(s, u, &u->by_row);
        else if (!u->divided && is_elementwise(u) && any_large(u, s->gradients))
            split_range(s, true);
        else if (u->rows > s->most_rows && !u->divided && !(u->optimizer->clip_norm > 0))
            split_range(s, is_elementwise(u));
        else
            set_rows(s, u, &u->by_row);
    }
    return WEFT_OK;
}

/* Makes *part, whose parameters are set, a part of a range whose gradient is computed. Of a range that processes share, the rows of this process.
 * rows 0: it has none of them. */
static void begin_part(const wi_update_step *s, const wi_update *whole, wi_update *part) {
    const wi_update own = *part;
    const int64_t end = own.first_row + own.rows, last = whole->first_row + whole->rows;
    *part = *whole;
    part->first_row = own.first_row > whole->first_row ? own.first_row : whole->first_row;
    part->rows = (end < last ? end : last) - part->first_row;
    part->first = own.first;
    part->length = own.length;
    if (part->rows <= 0 || part->rows == whole->rows) return;
    part->shape.dims[0] = part->rows;
    part->p_rows = part->p = wi_update_parameters(part);
    part->g = rows_of(whole, part, whole->g);
    part->occurs = rows_of(whole, part, whole->occurs);
    for (size_t i = 1; i < part->count; i++) { /* the sum of accumulated gradients */
        part->pairs[i].variable = rows_of(whole, part, whole->pairs[i].variable);
        part->pairs[i].value = rows_of(whole, part, whole->pairs[i].value);
    }
    set_rows(s, part,
        &(wi_rows){rows_of(whole, part, whole->by_row.factor), rows_of(whole, part, whole->by_row.decay)});
}

/* Divides the ranges whose gradients are computed, without changing the order of the sum for a norm over them. */
weft_status wi_split_begun_ranges(wi_update_step *s) {
    const weft_graph *const graph = s->optimizer->graph;
    wi_update *const wholes = s->ranges;
    const size_t count = s->count;
    wi_update *const parts =
        wi_allocate_array(graph->context->allocator, weft_graph_parameter_count(graph), sizeof *parts);
    if (!parts) return WEFT_ERROR_MEMORY;
    s->ranges = parts;
    s->count = 0;
    for (size_t i = 0; i < count; i++) {
        const wi_update *const whole = &wholes[i];
        const size_t end = whole->first + whole->length;
        const bool stays = whole->by_rows || whole->rows <= s->most_rows;
        for (size_t first = whole->first, next; first < end; first = next) {
            next = stays ? end : end_of_part(s, first, end, false);
            begin_part(s, whole, add_range(s, first, next - first));
            if (parts[s->count - 1].rows <= 0) s->count--;
        }
    }
    wi_release(graph->context->allocator, wholes);
    return WEFT_OK;
}
