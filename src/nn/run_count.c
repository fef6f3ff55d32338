/* Which runs count towards an update, and the number by which accumulated gradients are divided.
 *
 * A window of accumulation has `accumulate` runs, or fewer if weft_accumulation_end ends it. The host counts them,
 * and provides 1 over their number, the share, in the last run. A run in which no label counts is empty
 * (ops/loss/loss_terms.h), which only the device knows. The device therefore counts the runs of a window that are not
 * empty, and the windows in which all runs are empty, which skip their update. If no run can be empty, the update uses
 * the numbers of the host. */
#include "nn/update_rules.h"
#include "ops/loss_scale.h"
#include "ops/op_table.h"

/* ---- windows ---- */

/* 1 / (runs of the window) in the last run of a window, 0 in its other runs. */
static double share_of_window(wi_scalar *scalar, const wi_clock *clock) {
    (void)scalar;
    return clock->runs % clock->every == 0 ? 1.0 / (double)clock->held : 0;
}

/* Returns *place, a state of the clock, which is created if *place is NULL. Older checkpoints may lack the state. */
static weft_tensor *state_of_clock(weft_graph *graph, weft_tensor **place, const char *name) {
    if (*place) return *place;
    *place = wi_loss_scale_state(graph, name, 0);
    if (*place) (*place)->variable->is_optional = true;
    return *place;
}

static weft_tensor *one_more_if(weft_tensor *condition, weft_tensor *count) {
    return weft_where(condition, weft_add(count, weft_number(count, 1)), count);
}

/* 1 / counted if some runs of the window were empty, else the host's share. With an empty run counted·share is at
 * most 1 - share; the bound 1 - share / 2 allows for rounding. */
static weft_tensor *share_of_counted(weft_tensor *share, weft_tensor *counted) {
    weft_tensor *const one = weft_number(share, 1);
    weft_tensor *const most = weft_sub(one, weft_mul(share, weft_number(share, 0.5)));
    return weft_where(weft_less(weft_mul(counted, share), most), weft_div(one, counted), share);
}

weft_tensor *wi_update_accumulate(wi_update *u, weft_tensor *g) {
    if (u->optimizer->accumulate <= 1) return g;
    wi_clock *const clock = &u->graph->clocks[u->stretch->clock];
    u->share = wi_step_scalar(u->graph, u->stretch->clock, share_of_window, 0, 0);
    weft_tensor *const last = weft_less(weft_number(u->share, 0), u->share);
    weft_tensor *const sum = wi_update_state(u, "gradient_sum", 0), *share = u->share;
    g = weft_add(g, sum);
    if (u->counts) {
        weft_tensor *const held = state_of_clock(u->graph, &clock->counted, "counted_runs");
        g = weft_where(u->counts, g, sum);
        share = share_of_counted(share, one_more_if(u->counts, held));
    }
    u->apply = last;
    wi_update_keep(u, sum, weft_where(last, weft_number(g, 0), g));
    return weft_mul(g, share);
}

/* ---- the number of an update ---- */

static double begun_updates(wi_scalar *scalar, const wi_clock *clock) {
    (void)scalar;
    return (double)wi_clock_update(clock);
}

weft_status wi_update_count(wi_update *u) {
    weft_graph *const graph = u->graph;
    const size_t clock = u->stretch->clock, scalars = graph->scalar_count;
    weft_tensor **const skipped = &graph->clocks[clock].skipped;
    const bool scales = wi_loss_scales(graph);
    if (!scales && !u->counts && !*skipped) return WEFT_OK;
    if (scales && !*skipped) *skipped = wi_loss_scale_state(graph, "loss_scale.skipped_updates", 0);
    u->skipped = state_of_clock(graph, skipped, "skipped_updates");
    weft_tensor *const begun = wi_step_scalar(graph, clock, begun_updates, 0, 0);
    if (graph->scalar_count > scalars) graph->scalars[scalars].is_unsaved = !scales;
    u->number_of = weft_sub(begun, u->skipped);
    return weft_graph_status(graph);
}

/* ---- the op: bool, does the update happen? Its effects are the counts ---- */

enum { COUNTS, SHARE, SKIPPED, COUNTED, MEMORY, NEXT_MEMORY };

/* The number of runs in the window that are not empty, including this run; NULL: there is no accumulation. */
static weft_tensor *counted_now(const weft_tensor *y) {
    weft_tensor *const counted = y->inputs[COUNTED];
    return counted->variable ? one_more_if(y->inputs[COUNTS], counted) : NULL;
}

static weft_tensor *is_last(const weft_tensor *y) {
    return weft_less(weft_number(y->inputs[SHARE], 0), y->inputs[SHARE]);
}

static weft_tensor *any_counts(const weft_tensor *y) {
    weft_tensor *const counted = counted_now(y);
    return counted ? weft_less(weft_number(counted, 0), counted) : y->inputs[COUNTS];
}

static weft_tensor *happens(const weft_tensor *y) {
    return counted_now(y) ? weft_logical_and(is_last(y), any_counts(y)) : y->inputs[COUNTS];
}

static weft_tensor *count_lower(weft_tensor *y, bool inference) {
    (void)inference;
    return happens(y);
}

static weft_tensor *count_effect(weft_tensor *y, int number, const wi_rewrite *rewrite) {
    weft_tensor *const skipped = y->inputs[SKIPPED], *const counted = counted_now(y);
    if (number == 0) {
        weft_tensor *const so_far = wi_rewrite_value(rewrite, skipped);
        weft_tensor *const lost = weft_logical_and(is_last(y), weft_logical_not(any_counts(y)));
        return weft_assign(skipped, one_more_if(lost, so_far));
    }
    if (counted && number == 1)
        return weft_assign(y->inputs[COUNTED], weft_where(is_last(y), weft_number(counted, 0), counted));
    if (number != (counted ? 2 : 1) || y->input_count <= MEMORY) return NULL;
    weft_tensor *const memory = y->inputs[MEMORY];
    return weft_assign(memory, weft_where(happens(y), y->inputs[NEXT_MEMORY], memory));
}

static const wi_op count_op = {.name = "count runs",
    .kind = WI_COMPOSITE,
    .zero_gradient = true,
    .lower = count_lower,
    .effect = count_effect};

weft_tensor *wi_update_happens(const wi_update *u, weft_tensor *next_memory) {
    const wi_clock *const clock = &u->graph->clocks[u->stretch->clock];
    weft_tensor *const one = weft_constant(u->graph, WEFT_F32, 1);
    weft_tensor *inputs[] = {u->counts, u->share ? u->share : one, u->skipped,
        u->share ? clock->counted : one, clock->memory, next_memory};
    const wi_shape shape = {.rank = 0};
    const int count = next_memory ? 6 : MEMORY;
    weft_graph *const graph = wi_inputs_graph(count_op.name, inputs, count);
    return graph ? wi_node(graph, &count_op, inputs, count, WEFT_BOOL, &shape, NULL) : NULL;
}

/* ---- the end of a window ---- */

weft_status weft_accumulation_end(weft_graph *graph) {
    if (!graph) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_accumulation_end: graph is NULL");
    WI_TRY(weft_graph_status(graph));
    for (size_t i = 0; i < graph->clock_count; i++) graph->clocks[i].ends = true;
    return WEFT_OK;
}
