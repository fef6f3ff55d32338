/* The parts of an update that are common to all optimizers.
 *
 * The parameters p, their gradients g and each state are one flat tensor (rows, 16), so that a few elementwise nodes
 * update the whole network and the planner fuses them into one launch. Before the optimizer's rule (update_rules.c)
 * come accumulation (run_count.c), clipping by value, clipping by norm and coupled decay, in this order; after the
 * rule come the average, and the choice of the old values in runs that only accumulate or in which no label counts. */
#include "cl/context.h"
#include "nn/fraction.h"
#include "nn/update_ranges.h"
#include "ops/loss_scale.h"
#include "ops/op_table.h"
#include <string.h>

/* ---- the gradient before the rule ---- */

static weft_tensor *limit(weft_tensor *x, double low, double high) {
    x = weft_maximum(x, weft_number(x, low));
    return weft_neg(weft_maximum(weft_neg(x), weft_number(x, -high))); /* NaN stays NaN */
}

/* ---- after the rule: the average and the assignments ---- */

static double average_keep(wi_scalar *scalar, const wi_clock *clock) {
    return wi_clock_update(clock) == 1 ? 0 : scalar->a; /* the average begins as p after the first update */
}

static double average_take(wi_scalar *scalar, const wi_clock *clock) {
    return 1 - average_keep(scalar, clock);
}

static weft_tensor *scaled_keep(wi_update *u, weft_tensor *t, double decay, double unused) {
    (void)u, (void)unused;
    return weft_where(weft_equal(t, weft_number(t, 1)), weft_number(t, 0), weft_number(t, decay));
}

static weft_tensor *scaled_take(wi_update *u, weft_tensor *t, double decay, double unused) {
    (void)u, (void)unused;
    return weft_where(weft_equal(t, weft_number(t, 1)), weft_number(t, 1), weft_number(t, 1 - decay));
}

const char wi_average_role[] = "average";

static void keep_average(wi_update *u, weft_tensor *p) {
    if (!(u->optimizer->average_decay > 0)) return;
    const double decay = wi_fraction(u->optimizer->average_decay);
    weft_tensor *const average = wi_update_state(u, wi_average_role, 0);
    weft_tensor *const keep = wi_update_number(u, average_keep, scaled_keep, decay, 0);
    weft_tensor *const take = wi_update_number(u, average_take, scaled_take, decay, 0);
    wi_update_keep(u, average, weft_add(weft_mul(p, take), weft_mul(average, keep)));
}

/* Is the tensor a whole variable or flat tensor, and not a view of some rows? */
static bool is_whole(const weft_tensor *variable) {
    return variable->variable || variable->op == &wi_op_flat;
}

/* The index in u->pairs of the first state of the rule, after the parameters and the sum of accumulated gradients. */
static size_t first_of_rule(const wi_update *u) {
    return u->optimizer->accumulate > 1 ? 2 : 1;
}

/* The assignment of pair i. In runs without an update, only the sum of accumulated gradients changes. */
static weft_tensor *assignment(const wi_update *u, size_t i) {
    weft_tensor *const variable = u->pairs[i].variable, *value = u->pairs[i].value;
    if (!variable || !value) return NULL;
    if (u->segments) return wi_row_assignment(u, variable, value);
    if (u->occurs) value = weft_where(u->occurs, value, variable);
    const bool is_sum = i > 0 && i < first_of_rule(u);
    if (u->apply && !is_sum) value = weft_where(u->apply, value, variable);
    return is_whole(variable) ? weft_assign(variable, value) : wi_assign_view(variable, value);
}

/* ---- a range ---- */

/* Lists the gradient of a range for the plan of the loss. Returns the input by which the update reads its sum. */
static weft_tensor *divide(const wi_update *u, weft_tensor *gradient) {
    wi_divided_update *const divided = u->divided;
    if (!gradient) return NULL;
    if (divided->count == WI_DIVIDED_RANGES || gradient->shape.rank != 2)
        return wi_graph_fail(u->graph, WEFT_ERROR_UNSUPPORTED,
            "optimizer: the parameters are in more than %d separate ranges, which cannot be updated from "
            "gradient "
            "shards: create all parameters before the first plan",
            WI_DIVIDED_RANGES);
    const int64_t *const dims = gradient->shape.dims;
    weft_tensor *const sum = weft_input_shape(u->graph, "gradient.sum", WEFT_F32, 2, dims);
    divided->gradients[divided->count] = gradient;
    divided->bytes[divided->count] = (size_t)dims[0] * (size_t)dims[1] * sizeof(float);
    divided->first[divided->count] = u->first;
    divided->length[divided->count] = u->length;
    divided->sums[divided->count++] = sum;
    return sum;
}

/* A table that is updated by rows has the gradient of all its rows in gradient shards, as the shards have different ones. The second input tells
 * the rows that occur in any shard. */
static weft_status divide_rows(wi_update *u, weft_tensor *gradient) {
    weft_tensor *counts = NULL;
    WI_TRY(wi_row_counts(u, gradient, &counts));
    u->by_rows = false;
    u->occurs = divide(u, wi_flat_gradients(u->graph, &counts, u->first, 1, u->rows));
    if (u->occurs) u->divided->length[u->divided->count - 1] = 0; /* no gradient of a parameter */
    u->occurs = weft_less(weft_number(u->occurs, 0), u->occurs);
    return weft_graph_status(u->graph);
}

/* The parameters of the range, a table whose longer rows are shortened to max_norm. Of these, the rows that occur are updated. */
static weft_tensor *limit_rows(const wi_update *u, float max_norm) {
    weft_tensor *const table = wi_row_limited(wi_row_table(u, u->p, u->first_row), max_norm);
    return table ? wi_flat_gradients(u->graph, &table, u->first, 1, u->rows) : NULL;
}

/* Sets u->p, and u->g before accumulation. */
static weft_status begin_range(wi_update *u, weft_tensor *const *gradients) {
    const wi_variable *const first = weft_graph_parameter(u->graph, u->first)->variable;
    if (u->by_rows && u->divided) WI_TRY(divide_rows(u, gradients[u->first]));
    if (u->by_rows) WI_TRY(wi_row_gradient(u, gradients[u->first]));
    u->p_rows = u->p = wi_update_parameters(u);
    u->count = 1; /* pairs[0] is for p */
    if (u->by_rows) u->p = wi_row_limited(u->p, first->max_norm);
    if (u->occurs && first->max_norm > 0) u->p = limit_rows(u, first->max_norm);
    if (!u->by_rows)
        u->g = u->large ? gradients[u->first]
                        : wi_flat_gradients(u->graph, gradients + u->first, u->first, u->length, u->rows);
    if (u->divided) u->g = divide(u, u->g);
    return weft_graph_status(u->graph);
}

/* Accumulation and clipping by value. */
static weft_status accumulate(wi_update *u) {
    const weft_optimizer *const o = u->optimizer;
    u->g = wi_update_accumulate(u, u->g);
    if (wi_loss_scales(u->graph)) u->peak = wi_max_keep(weft_abs(u->g), 3u);
    if (o->clip_value > 0) u->g = limit(u->g, -(double)o->clip_value, (double)o->clip_value);
    return weft_graph_status(u->graph);
}

/* ---- the part of a process ---- */

wi_row_range wi_part_of_rows(int64_t rows, size_t part, size_t parts) {
    const int64_t first = rows * (int64_t)part / (int64_t)parts;
    return (wi_row_range){first, rows * (int64_t)(part + 1) / (int64_t)parts - first};
}

static weft_status check_part(const wi_update *u) {
    const char *const found = u->optimizer->kind == WEFT_LAMB ? "LAMB, which needs whole parameters"
                              : u->graph->blocks[u->stretch->block].pieces > 1
                                  ? "parameters that are larger than a buffer of the device"
                                  : NULL;
    if (found) WI_FAIL(WEFT_ERROR_UNSUPPORTED, "optimizer: shard_optimizer cannot be used with %s", found);
    return WEFT_OK;
}

/* x has a row for each row of the range. Selects the rows that this process updates. */
static weft_tensor *own_rows(const wi_update *u, weft_tensor *x) {
    if (!x || x->shape.rank != 2 || x->shape.dims[0] != u->rows) return x;
    return wi_slice_dims(x, 0, u->stretch->own_first - u->first_row, u->stretch->own_rows, 1);
}

/* Reduces the range to the rows that this process updates. Each element is updated in the same way as in the whole range. A range of fewer rows than
 * processes is updated by all. */
static weft_status keep_own_rows(wi_update *u) {
    if (!u->divided || u->divided->parts < 2 || u->is_part) return WEFT_OK;
    WI_TRY(check_part(u));
    if (u->rows < (int64_t)u->divided->parts) return WEFT_OK;
    const wi_row_range part = wi_part_of_rows(u->rows, u->divided->part, u->divided->parts);
    u->is_part = true;
    u->stretch->own_first = u->first_row + part.first;
    u->stretch->own_rows = part.count;
    u->g = own_rows(u, u->g);
    u->occurs = own_rows(u, u->occurs);
    u->rate = own_rows(u, u->rate);
    u->decay = own_rows(u, u->decay);
    u->by_row = (wi_rows){own_rows(u, u->by_row.factor), own_rows(u, u->by_row.decay)};
    weft_tensor *const limited = u->p == u->p_rows ? NULL : own_rows(u, u->p);
    u->first_row = u->stretch->own_first;
    u->rows = u->shape.dims[0] = part.count;
    u->p_rows = wi_update_parameters(u);
    u->p = limited ? limited : u->p_rows;
    return weft_graph_status(u->graph);
}

/* Applies coupled decay and the rule; u->pairs gets the next values of p and of the states. */
static weft_status finish_range(wi_update *u) {
    if (u->decay && !wi_optimizer_decouples(u->optimizer)) u->g = weft_add(u->g, weft_mul(u->p, u->decay));
    WI_TRY(weft_graph_status(u->graph));
    weft_tensor *const next = wi_optimizer_apply_rule(u);
    u->pairs[0] = (wi_pair){u->p_rows, next};
    keep_average(u, next);
    return weft_graph_status(u->graph);
}

/* Must all gradients be accumulated before the first parameter is updated? */
static bool needs_all(const wi_update_step *s) {
    return s->optimizer->rule.clip_norm > 0 || wi_loss_scales(s->optimizer->graph);
}

/* Reduces the ranges to what this process updates, and splits them if a memory limit requires this. Gradients that are accumulated already belong to
 * whole ranges, which a part of a process is not. */
static weft_status split_begun(wi_update_step *s) {
    const bool in_parts = s->divided && s->divided->parts > 1;
    for (size_t i = 0; i < s->count; i++) WI_TRY(keep_own_rows(&s->ranges[i]));
    const bool stays = in_parts && s->optimizer->rule.accumulate > 1 && needs_all(s);
    return stays ? WEFT_OK : wi_split_begun_ranges(s);
}

/* PyTorch's clip_grad_norm_ over all ranges of the step. The norm is a separate launch, which stores the factor. */
static weft_status clip_norm(wi_update_step *s) {
    weft_tensor *squares = NULL;
    for (size_t i = 0; i < s->count; i++) {
        weft_tensor *const own = wi_sum_keep(weft_square(s->ranges[i].g), 3u);
        squares = squares ? weft_add(squares, own) : own;
    }
    weft_tensor *const norm = weft_sqrt(squares);
    weft_tensor *const most = weft_number(norm, (double)s->optimizer->rule.clip_norm);
    weft_tensor *const ratio = weft_div(most, weft_add(norm, weft_number(norm, 1e-6)));
    weft_tensor *const factor = weft_reshape_shape(limit(ratio, 0, 1), 0, NULL);
    WI_TRY(split_begun(s));
    for (size_t i = 0; i < s->count; i++) s->ranges[i].g = weft_mul(s->ranges[i].g, factor);
    return WEFT_OK;
}

/* ---- with loss scaling ---- */

/* The largest magnitude in all gradients of the step, so that an overflow in one range skips the update of all. */
static weft_tensor *find_peak(const wi_update_step *s) {
    weft_tensor *peak = s->ranges[0].peak;
    for (size_t i = 1; i < s->count; i++) peak = weft_maximum(peak, s->ranges[i].peak);
    return weft_reshape_shape(peak, 0, NULL);
}

static weft_tensor *memory_of_rule(const wi_update_step *s, size_t clock) {
    weft_tensor *next = NULL;
    for (size_t i = 0; i < s->count; i++)
        if (s->ranges[i].stretch->clock == clock && s->ranges[i].next_memory) next = s->ranges[i].next_memory;
    return next;
}

/* If runs may be empty, sets u->apply of each range, by which the assignments choose between old and new values. With
 * loss scaling, check_all stores the rule's memory instead. */
static void count_all(wi_update_step *s) {
    const bool scales = wi_loss_scales(s->optimizer->graph);
    for (size_t i = 0; i < s->count && s->counts; i++) {
        wi_update *const u = &s->ranges[i];
        u->apply = wi_update_happens(u, scales ? NULL : memory_of_rule(s, u->stretch->clock));
    }
}

/* With loss scaling: u->apply becomes false in runs with infinite or NaN gradients. */
static void check_all(wi_update_step *s) {
    weft_graph *const graph = s->optimizer->graph;
    weft_tensor *const peak = find_peak(s), *const always = weft_constant(graph, WEFT_BOOL, 1);
    (void)wi_loss_scale(graph);
    for (size_t i = 0; i < s->count; i++) {
        wi_update *const u = &s->ranges[i];
        const wi_clock *const clock = &graph->clocks[u->stretch->clock];
        weft_tensor *const next = memory_of_rule(s, u->stretch->clock);
        weft_tensor *const finite = wi_check_gradients(&(wi_gradient_check){.peak = peak,
            .now = u->apply ? u->apply : always,
            .skipped = clock->skipped,
            .memory = next ? clock->memory : NULL,
            .next_memory = next});
        u->apply = u->apply ? weft_logical_and(u->apply, finite) : finite;
    }
}

static weft_status make_values(wi_update_step *s) {
    const bool clips = s->optimizer->rule.clip_norm > 0, scales = wi_loss_scales(s->optimizer->graph);
    const bool all = needs_all(s), whole = all || s->divided;
    for (size_t i = 0; i < s->count && whole; i++) {
        WI_TRY(begin_range(&s->ranges[i], s->gradients));
        if (all) WI_TRY(accumulate(&s->ranges[i]));
    }
    for (size_t i = 0; i < s->count; i++) WI_TRY(wi_update_count(&s->ranges[i]));
    if (clips) WI_TRY(clip_norm(s));
    if (!clips && s->divided) WI_TRY(split_begun(s));
    for (size_t i = 0; i < s->count; i++) {
        if (!whole) WI_TRY(begin_range(&s->ranges[i], s->gradients));
        if (!all) WI_TRY(accumulate(&s->ranges[i]));
        WI_TRY(finish_range(&s->ranges[i]));
    }
    count_all(s);
    if (scales)
        check_all(s);
    else
        s->optimizer->graph->scaling.has_plain = true;
    return weft_graph_status(s->optimizer->graph);
}

/* One assignment for the parameters and one for each state, each joined from the assignments of all ranges. */
static weft_status make_assignments(const wi_update_step *s, weft_tensor **parts, weft_tensor **assignments) {
    const size_t writes = wi_optimizer_writes(&s->optimizer->rule);
    for (size_t i = 0; i < writes; i++) {
        for (size_t k = 0; k < s->count; k++) {
            if (s->ranges[k].count != writes)
                WI_FAIL(WEFT_ERROR_INTERNAL, "optimizer: a range of parameters has %zu updates, expected %zu",
                    s->ranges[k].count, writes);
            parts[k] = assignment(&s->ranges[k], i);
        }
        assignments[i] = wi_assign_all(parts, s->count);
    }
    return weft_graph_status(s->optimizer->graph);
}

weft_status wi_update_make(weft_optimizer_state *optimizer, weft_tensor *const *gradients,
    weft_tensor *counts, wi_divided_update *divided, weft_tensor **assignments) {
    const weft_allocator *const allocator = optimizer->graph->context->allocator;
    const size_t count = weft_graph_parameter_count(optimizer->graph);
    weft_status status = WEFT_ERROR_MEMORY;
    weft_tensor **const parts = wi_allocate_array(allocator, count, sizeof *parts);
    wi_update_step s = {.optimizer = optimizer,
        .gradients = gradients,
        .counts = counts,
        .divided = divided,
        .ranges = wi_allocate_array(allocator, count, sizeof(wi_update))};
    if (!parts || !s.ranges) goto done;
    WI_TRY_DONE(wi_find_ranges(&s));
    WI_TRY_DONE(make_values(&s));
    status = make_assignments(&s, parts, assignments);
done:
    wi_release(allocator, parts);
    wi_release(allocator, s.ranges);
    return status;
}
