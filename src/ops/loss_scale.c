/* Loss scaling in f16 (contract in loss_scale.h). */
#include "ops/loss_scale.h"
#include "cl/context.h"
#include "cl/driver.h"
#include "cl/waiting.h"
#include "graph/sizes.h"
#include "ops/op_table.h"
#include <math.h>

/* ---- options ---- */

static weft_status check_options(const weft_loss_scaling *o) {
    WI_TRY(WI_CHECK_NUMBERS("weft_graph_set_loss_scaling", {"initial", (double)o->initial},
        {"growth", (double)o->growth}, {"backoff", (double)o->backoff}, {"least", (double)o->least},
        {"interval", (double)o->interval}));
    const bool ordered = o->least > 0 && o->least <= o->initial && isfinite(o->initial);
    if (ordered && o->growth >= 1 && isfinite(o->growth) && o->backoff > 0 && o->backoff < 1) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_ARGUMENT,
        "weft_graph_set_loss_scaling: the options are initial %g, least %g, growth %g, backoff %g; expected "
        "0 < least <= initial, 1 <= growth, 0 < backoff < 1, all finite",
        (double)o->initial, (double)o->least, (double)o->growth, (double)o->backoff);
}

static void use_defaults(weft_loss_scaling *o) {
    if (o->initial == 0) o->initial = 65536;
    if (o->growth == 0) o->growth = 2;
    if (o->backoff == 0) o->backoff = 0.5f;
    if (o->least == 0) o->least = 0x1p-14f;
    if (o->interval == 0) o->interval = 2000;
}

weft_status weft_graph_set_loss_scaling(weft_graph *graph, const weft_loss_scaling *scaling) {
    weft_loss_scaling own;
    if (!graph) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_graph_set_loss_scaling: graph is NULL");
    WI_TRY(WI_OPTIONS(&own, scaling, "weft_graph_set_loss_scaling", WEFT_LOSS_SCALING_INIT));
    use_defaults(&own);
    WI_TRY(check_options(&own));
    if (graph->scaling.scale)
        WI_FAIL(WEFT_ERROR_STATE,
            "weft_graph_set_loss_scaling: the graph already has gradients with other scaling: call this "
            "before weft_minimize, weft_gradients and weft_optimizer_step");
    graph->scaling.options = own;
    return WEFT_OK;
}

/* ---- states ---- */

weft_tensor *wi_loss_scale_state(weft_graph *graph, const char *name, float first) {
    const weft_initialiser constant = {.kind = WEFT_INIT_CONSTANT, .a = first};
    weft_tensor *const state = weft_state_shape(graph, "", WEFT_F32, constant, 0, NULL);
    if (state) state->variable->saved_as = name;
    return state;
}

bool wi_loss_scales(const weft_graph *graph) {
    return graph->precision == WEFT_F16;
}

weft_tensor *wi_loss_scale(weft_graph *graph) {
    wi_loss_scaling *const s = &graph->scaling;
    if (s->scale) return s->scale;
    use_defaults(&s->options);
    s->good = wi_loss_scale_state(graph, "loss_scale.good", 0);
    s->skipped = wi_loss_scale_state(graph, "loss_scale.skipped", 0);
    s->steps = wi_loss_scale_state(graph, "loss_scale.steps", 0);
    s->began = wi_loss_scale_state(graph, "loss_scale.began", -1);
    s->judged = wi_loss_scale_state(graph, "loss_scale.judged", WI_UPDATE_IS_LATER);
    s->failed = wi_loss_scale_state(graph, "loss_scale.failed", 0);
    return s->scale = wi_loss_scale_state(graph, "loss_scale.scale", s->options.initial);
}

/* ---- assignments of a run ---- */

static weft_tensor *judged_as(weft_tensor *judged, int what) {
    return weft_equal(judged, weft_number(judged, what));
}

static weft_tensor *one_more(weft_tensor *x) {
    return weft_add(x, weft_number(x, 1));
}

/* The WI_UPDATE_ constant that this check computes from its gradients. */
static weft_tensor *own_judgement(const weft_tensor *y) {
    weft_tensor *const peak = y->inputs[0];
    weft_tensor *const finite = weft_where(weft_less(peak, weft_number(peak, HUGE_VAL)),
        weft_number(peak, WI_UPDATE_IS_FINITE), weft_number(peak, WI_UPDATE_OVERFLOWS));
    return weft_where(y->inputs[1], finite, weft_number(peak, WI_UPDATE_IS_LATER));
}

/* The WI_UPDATE_ constant of the whole run so far: the smallest constant of all its checks, which is
 * WI_UPDATE_OVERFLOWS if one of them found an overflow. */
static weft_tensor *judgement(const weft_tensor *y, const wi_rewrite *rewrite) {
    weft_tensor *const variable = y->graph->scaling.judged;
    weft_tensor *const others = wi_rewrite_value(rewrite, variable), *const own = own_judgement(y);
    return others == variable ? own : weft_minimum(others, own);
}

static weft_tensor *next_scale(const wi_loss_scaling *s, weft_tensor *bad, weft_tensor *grows) {
    weft_tensor *const scale = s->scale, *const infinity = weft_number(scale, HUGE_VAL);
    weft_tensor *const less = weft_mul(scale, weft_number(scale, (double)s->options.backoff));
    weft_tensor *const more = weft_mul(scale, weft_number(scale, (double)s->options.growth));
    weft_tensor *const grown = weft_where(weft_less(more, infinity), more, scale);
    return weft_where(bad, weft_maximum(less, weft_number(scale, (double)s->options.least)),
        weft_where(grows, grown, scale));
}

static weft_tensor *next_good(
    const wi_loss_scaling *s, weft_tensor *bad, weft_tensor *good, weft_tensor *grows) {
    weft_tensor *const zero = weft_number(s->good, 0);
    weft_tensor *const counted = weft_where(good, one_more(s->good), s->good);
    return weft_where(weft_logical_or(bad, grows), zero, counted);
}

static weft_tensor *next_began(const wi_loss_scaling *s, weft_tensor *bad, weft_tensor *good) {
    weft_tensor *const none = weft_number(s->began, -1);
    weft_tensor *const first = weft_where(weft_less(s->began, weft_number(s->began, 0)), s->steps, s->began);
    return weft_where(bad, first, weft_where(good, none, s->began));
}

static weft_tensor *next_failed(const wi_loss_scaling *s, weft_tensor *bad) {
    weft_tensor *const at_least = weft_less_equal(s->scale, weft_number(s->scale, (double)s->options.least));
    weft_tensor *const failed = weft_where(at_least, weft_number(s->failed, 1), s->failed);
    return weft_where(bad, failed, s->failed);
}

/* Assignment `number` to the scale and the counts of the graph. */
static weft_tensor *keep_count(const wi_loss_scaling *s, weft_tensor *judged, int number) {
    weft_tensor *const bad = judged_as(judged, WI_UPDATE_OVERFLOWS);
    weft_tensor *const good = judged_as(judged, WI_UPDATE_IS_FINITE);
    weft_tensor *const last = weft_number(s->good, (double)s->options.interval - 1);
    weft_tensor *const grows = weft_logical_and(good, weft_less_equal(last, s->good));
    switch (number) {
    case 0: return weft_assign(s->scale, next_scale(s, bad, grows));
    case 1: return weft_assign(s->good, next_good(s, bad, good, grows));
    case 2: return weft_assign(s->skipped, weft_where(bad, one_more(s->skipped), s->skipped));
    case 3: return weft_assign(s->steps, one_more(s->steps));
    case 4: return weft_assign(s->began, next_began(s, bad, good));
    default: return weft_assign(s->failed, next_failed(s, bad));
    }
}

/* ---- other assignments of the plan ---- */

/* Is the root an assignment that does not itself depend on the check? Those to parameters, states of optimizers and counts do. */
static bool is_of_others(const weft_tensor *root) {
    const wi_variable *const variable = root->op == &wi_op_assign ? root->inputs[0]->variable : NULL;
    return variable && !variable->trainable && !variable->role && !variable->saved_as;
}

static weft_tensor *guarded(const wi_rewrite *rewrite, weft_tensor *judged, int number) {
    for (size_t i = 0; i < rewrite->root_count; i++) {
        weft_tensor *const root = rewrite->roots[i];
        if (!is_of_others(root) || number-- > 0) continue;
        weft_tensor *const bad = judged_as(judged, WI_UPDATE_OVERFLOWS);
        return weft_assign(root->inputs[0], weft_where(bad, root->inputs[0], root->inputs[1]));
    }
    return NULL;
}

/* ---- the op ---- */

enum { PEAK, NOW, SKIPPED, MEMORY, NEXT_MEMORY };
enum { JUDGED, OWN_SKIPPED, COUNTS, OTHERS = COUNTS + 6 };

/* Adds 1 to the number of skipped updates if this check found an overflow. If the run is empty, nn/run_count.c has
 * already counted its skipped update, so the function starts from the value that has been assigned so far. */
static weft_tensor *keep_skipped(const weft_tensor *y, const wi_rewrite *rewrite) {
    weft_tensor *const own = own_judgement(y), *const skipped = y->inputs[SKIPPED];
    weft_tensor *const so_far = wi_rewrite_value(rewrite, skipped);
    return weft_assign(skipped, weft_where(judged_as(own, WI_UPDATE_OVERFLOWS), one_more(so_far), so_far));
}

static weft_tensor *keep_memory(const weft_tensor *y) {
    weft_tensor *const happens = judged_as(own_judgement(y), WI_UPDATE_IS_FINITE);
    return weft_assign(y->inputs[MEMORY], weft_where(happens, y->inputs[NEXT_MEMORY], y->inputs[MEMORY]));
}

static weft_tensor *check_effect(weft_tensor *y, int number, const wi_rewrite *rewrite) {
    const wi_loss_scaling *const s = &y->graph->scaling;
    if (number == JUDGED) return weft_assign(s->judged, judgement(y, rewrite));
    if (number == OWN_SKIPPED) return keep_skipped(y, rewrite);
    weft_tensor *const judged = wi_rewrite_value(rewrite, s->judged);
    if (number < OTHERS) return keep_count(s, judged, number - COUNTS);
    const bool remembers = y->input_count > MEMORY;
    if (remembers && number == OTHERS) return keep_memory(y);
    return guarded(rewrite, judged, number - OTHERS - remembers);
}

static weft_tensor *check_lower(weft_tensor *y, bool inference) {
    (void)inference;
    return weft_less(y->inputs[PEAK], weft_number(y->inputs[PEAK], HUGE_VAL));
}

static const wi_op check_op = {.name = "check gradients",
    .kind = WI_COMPOSITE,
    .zero_gradient = true,
    .guards = true,
    .lower = check_lower,
    .effect = check_effect};

weft_tensor *wi_check_gradients(const wi_gradient_check *check) {
    weft_tensor *inputs[] = {check->peak, check->now, check->skipped, check->memory, check->next_memory};
    const wi_shape shape = {.rank = 0};
    const int count = check->memory ? 5 : MEMORY;
    weft_graph *const graph = wi_inputs_graph(check_op.name, inputs, count);
    return graph ? wi_node(graph, &check_op, inputs, count, WEFT_BOOL, &shape, NULL) : NULL;
}

static void mark(const weft_tensor **nodes, weft_tensor *const *of, size_t count) {
    for (size_t i = 0; i < count; i++) nodes[of[i]->id] = of[i];
}

weft_status wi_checks_gradients(weft_tensor *const *outputs, size_t count, bool *checks) {
    uint32_t end = 0;
    *checks = false;
    if (count == 0 || !outputs[0]->graph->scaling.judged) return WEFT_OK;
    const weft_allocator *const allocator = outputs[0]->graph->context->allocator;
    for (size_t i = 0; i < count; i++) end = outputs[i]->id >= end ? outputs[i]->id + 1 : end;
    const weft_tensor **const nodes = wi_allocate_array(allocator, end, sizeof *nodes);
    if (!nodes) return WEFT_ERROR_MEMORY;
    mark(nodes, outputs, count);
    for (uint32_t id = end; id-- > 0 && !*checks;) {
        if (!nodes[id]) continue;
        *checks = nodes[id]->op == &check_op;
        mark(nodes, nodes[id]->inputs, (size_t)nodes[id]->input_count);
    }
    wi_release(allocator, nodes);
    return WEFT_OK;
}

weft_tensor *wi_unless_overflow(weft_tensor *variable, weft_tensor *value) {
    weft_tensor *const judged = variable->graph->scaling.judged;
    return weft_where(judged_as(judged, WI_UPDATE_OVERFLOWS), variable, value);
}

/* ---- reading ---- */

static weft_status read_state(weft_tensor *state, float *value, cl_bool wait) {
    weft_graph *const graph = state->graph;
    const wi_variable *const variable = state->variable;
    wi_device *const device = wi_context_device(graph->context);
    WI_TRY(wi_graph_block_ready(graph, variable->block));
    WI_TRY(wait ? wi_wait_for_queue(device, device->queue) : wi_process_check_driver());
    WI_CL(clEnqueueReadBuffer(device->queue, graph->blocks[variable->block].buffer.memory, wait,
              variable->offset, sizeof *value, value, 0, NULL, NULL),
        "clEnqueueReadBuffer");
    return WEFT_OK;
}

weft_status wi_loss_scale_read(weft_tensor *state, float *value) {
    return read_state(state, value, CL_TRUE);
}

weft_status wi_loss_scale_read_async(weft_tensor *state, float *value) {
    return read_state(state, value, CL_FALSE);
}

weft_status weft_graph_loss_scale(weft_graph *graph, weft_loss_scale *now) {
    float numbers[4] = {0};
    if (!graph || !now) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_graph_loss_scale: graph or now is NULL");
    WI_TRY(weft_graph_status(graph));
    const wi_loss_scaling *const s = &graph->scaling;
    weft_tensor *const states[] = {s->scale, s->good, s->skipped, s->steps};
    for (int i = 0; i < 4 && s->scale; i++) WI_TRY(wi_loss_scale_read(states[i], &numbers[i]));
    *now = (weft_loss_scale){.scale = numbers[0],
        .good_steps = (uint64_t)numbers[1],
        .skipped_steps = (uint64_t)numbers[2],
        .steps = (uint64_t)numbers[3]};
    return WEFT_OK;
}
