/* Optimizers as objects: their states, and the steps that use them (contract in nn.h). */
#include "base/pattern.h"
#include "cl/context.h"
#include "graph/attempt.h"
#include "nn/optimizer_steps.h"
#include "ops/loss/loss_terms.h"
#include "ops/op_table.h"
#include <stdio.h>
#include <string.h>

/* ---- creation ---- */

weft_optimizer_state *wi_optimizer_make(weft_graph *graph, const weft_optimizer *rule) {
    weft_optimizer_state *const made = wi_arena_take(&graph->arena, sizeof *made);
    if (!made) return wi_graph_fail_recorded(graph, WEFT_ERROR_MEMORY), NULL;
    *made = (weft_optimizer_state){.graph = graph, .rule = *rule, .number = graph->optimizers};
    return made;
}

static weft_status new_clock(weft_graph *graph, uint32_t every, size_t *clock) {
    if (graph->clock_count == WI_MAX_CLOCKS)
        WI_FAIL(WEFT_ERROR_STATE,
            "optimizer: the graph already has %d separately updated sets of parameters, the maximum: update "
            "more parameters together in one weft_optimizer_step; if a loop creates a step each time, create "
            "the step "
            "once before the loop",
            WI_MAX_CLOCKS);
    *clock = graph->clock_count++;
    graph->clocks[*clock] = (wi_clock){.every = every > 1 ? every : 1};
    return WEFT_OK;
}

/* The schedule's rate at the update under way. scalar->value is the schedule's base, which the program may set. */
static double scheduled_rate(wi_scalar *scalar, const wi_clock *clock) {
    float rate = scalar->value;
    (void)weft_schedule_rate(scalar->reads, scalar->value, wi_clock_update(clock) - 1, &rate);
    return (double)rate;
}

/* Creates the learning rate. A scheduled rate has a separate clock, which counts the runs of all steps of the
 * optimizer. */
static weft_status make_rate(weft_optimizer_state *optimizer) {
    static const char name[] = "learning_rate";
    const weft_optimizer *const rule = &optimizer->rule;
    wi_scalar scalar = {.value = rule->rate, .is_rate = true};
    if (wi_optimizer_is_scheduled(rule)) {
        scalar.rule = scheduled_rate, scalar.reads = &rule->schedule, scalar.is_set = true;
        WI_TRY(new_clock(optimizer->graph, rule->accumulate, &scalar.clock));
    }
    optimizer->rate = wi_ruled_scalar(optimizer->graph, name, scalar);
    return WEFT_OK;
}

/* Creates the optimizer's learning rate. It becomes the rate that weft_minimize_rate returns. */
weft_status wi_optimizer_make_rate(weft_optimizer_state *optimizer) {
    weft_graph *const graph = optimizer->graph;
    WI_TRY(make_rate(optimizer));
    graph->rate = optimizer->rate;
    graph->optimizers++;
    return weft_graph_status(graph);
}

/* Copies the groups: the caller may free them after the call. */
static weft_status keep_groups(weft_optimizer_state *optimizer) {
    const size_t count = optimizer->rule.group_count;
    wi_arena *const arena = &optimizer->graph->arena;
    weft_parameter_group *const groups = wi_arena_take(arena, (count + 1) * sizeof *groups);
    if (!groups) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        groups[i] = optimizer->rule.groups[i];
        groups[i].parameters = wi_arena_string(arena, groups[i].parameters);
        if (!groups[i].parameters) return WEFT_ERROR_MEMORY;
    }
    optimizer->rule.groups = groups;
    return WEFT_OK;
}

static weft_optimizer_state *create(weft_graph *graph, const weft_optimizer *rule) {
    weft_optimizer_state *made = NULL;
    if (!graph || weft_graph_status(graph) != WEFT_OK) return NULL;
    weft_status status = rule ? wi_optimizer_check(rule)
                              : wi_fail(WEFT_ERROR_ARGUMENT, "weft_optimizer_create: rule must not be NULL");
    if (status == WEFT_OK) status = wi_groups_check(NULL, rule);
    if (status == WEFT_OK && !(made = wi_optimizer_make(graph, rule))) return NULL;
    if (status == WEFT_OK) status = keep_groups(made);
    if (status == WEFT_OK) status = wi_optimizer_make_rate(made);
    if (status == WEFT_OK) return made;
    wi_graph_fail_recorded(graph, status);
    return NULL;
}

weft_optimizer_state *weft_optimizer_create(weft_graph *graph, const weft_optimizer *rule) {
    wi_call_begin(graph, "weft_optimizer_create");
    weft_optimizer_state *const made = create(graph, rule);
    wi_call_end(graph, NULL);
    return made;
}

static weft_graph *graph_of(const weft_optimizer_state *optimizer) {
    return optimizer ? optimizer->graph : NULL;
}

weft_tensor *weft_optimizer_rate(weft_optimizer_state *optimizer) {
    return optimizer ? optimizer->rate : NULL;
}

weft_tensor *weft_minimize_rate(weft_graph *graph) {
    return graph ? graph->rate : NULL;
}

/* ---- stretches ---- */

static bool is_known(const weft_optimizer_state *optimizer, const weft_tensor *parameter) {
    return wi_stretch_of(optimizer, parameter) != NULL;
}

static weft_status add_stretch(
    weft_optimizer_state *optimizer, size_t clock, const weft_tensor *first, const weft_tensor *last) {
    wi_stretch *const made = wi_arena_take(&optimizer->graph->arena, sizeof *made);
    if (!made) return WEFT_ERROR_MEMORY;
    const int64_t row = wi_first_row(first);
    *made = (wi_stretch){.clock = clock,
        .block = first->variable->block,
        .first_row = row,
        .rows = wi_first_row(last) + wi_row_count(last) - row,
        .own_first = row,
        .own_rows = wi_first_row(last) + wi_row_count(last) - row,
        .next = optimizer->stretches};
    optimizer->stretches = made;
    return WEFT_OK;
}

/* Registers the parameters that are new to the optimizer: they all get one new clock, and parameters that are adjacent in a
 * block become one stretch. in_parts: each process updates a part of each range. Tables that are updated by rows are ranges of their own, and
 * therefore stretches of their own. */
static weft_status register_parameters(
    weft_optimizer_state *optimizer, weft_tensor *const *gradients, bool in_parts) {
    weft_graph *const graph = optimizer->graph;
    const size_t count = weft_graph_parameter_count(graph);
    size_t clock = SIZE_MAX;
    for (size_t first = 0, end; first < count; first = end) {
        const weft_tensor *const parameter = weft_graph_parameter(graph, first), *last = parameter;
        end = first + 1;
        if (!gradients[first] || is_known(optimizer, parameter)) continue;
        for (; end < count && gradients[end]; end++) {
            const weft_tensor *const next = weft_graph_parameter(graph, end);
            if (next->variable->block != parameter->variable->block || is_known(optimizer, next)) break;
            if (in_parts && (last->variable->sparse || next->variable->sparse)) break;
            last = next;
        }
        if (clock == SIZE_MAX) WI_TRY(new_clock(graph, optimizer->rule.accumulate, &clock));
        WI_TRY(add_stretch(optimizer, clock, parameter, last));
    }
    return WEFT_OK;
}

/* ---- a step ---- */

weft_status wi_note_update(const weft_tensor *update, const wi_update_origin *origin) {
    weft_graph *const graph = update->graph;
    wi_rated_update *const noted = wi_arena_take(&graph->arena, sizeof *noted);
    if (!noted) return WEFT_ERROR_MEMORY;
    *noted = (wi_rated_update){update, origin->optimizer->rate, *origin, graph->rated};
    if (origin->names) noted->origin.names = wi_arena_string(&graph->arena, origin->names);
    if (origin->names && !noted->origin.names) return WEFT_ERROR_MEMORY;
    graph->rated = noted;
    return WEFT_OK;
}

/* Registers new parameters, and creates the assignments of the update. Other arguments: see wi_update_make. */
static weft_status make_step(weft_optimizer_state *optimizer, weft_tensor *const *gradients,
    weft_tensor *counts, wi_divided_update *divided, weft_tensor *assignments[WEFT_MAX_UPDATES]) {
    WI_TRY(wi_groups_check(optimizer->graph, &optimizer->rule));
    WI_TRY(register_parameters(optimizer, gradients, divided && divided->parts > 1));
    return wi_update_make(optimizer, gradients, counts, divided, assignments);
}

/* As make_step, with the assignments joined to one output for plans, *update. */
static weft_status make_update(const wi_update_origin *origin, weft_tensor *const *gradients,
    weft_tensor *counts, weft_tensor **update) {
    weft_tensor *assignments[WEFT_MAX_UPDATES];
    weft_optimizer_state *const optimizer = origin->optimizer;
    WI_TRY(make_step(optimizer, gradients, counts, NULL, assignments));
    *update = wi_assign_all(assignments, wi_optimizer_writes(&optimizer->rule));
    WI_TRY(weft_graph_status(optimizer->graph));
    return wi_note_update(*update, origin);
}

/* Checks that p is a parameter that the optimizer may update, and g a gradient of its shape. i: their index in the
 * lists. */
static weft_status check_pair(const weft_graph *graph, const weft_tensor *p, const weft_tensor *g, size_t i) {
    char text_p[WI_SHAPE_TEXT], text_g[WI_SHAPE_TEXT];
    char what[32];
    snprintf(what, sizeof what, "%s %zu", p ? "gradient" : "parameter", i);
    if (!p || !g) return wi_fail_null("weft_optimizer_step", what);
    if (p->graph != graph || g->graph != graph)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_optimizer_step: %s %zu ('%s') belongs to another graph than the optimizer",
            p->graph != graph ? "parameter" : "gradient of parameter", i, weft_tensor_name(p));
    if (!p->variable || !p->variable->trainable)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_optimizer_step: parameter %zu is a %s '%s', not a parameter", i,
            p->op->name, weft_tensor_name(p));
    if (p->dtype != WEFT_F32)
        WI_FAIL(WEFT_ERROR_DTYPE, "weft_optimizer_step: parameter '%s' is %s, expected f32",
            weft_tensor_name(p), weft_dtype_name(p->dtype));
    if (g->op->kind == WI_ASSIGN)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_optimizer_step: the gradient of '%s' is an assignment, which has no value",
            weft_tensor_name(p));
    if (g->dtype != p->dtype || !wi_shape_equal(&g->shape, &p->shape))
        WI_FAIL(WEFT_ERROR_SHAPE,
            "weft_optimizer_step: the gradient of '%s' is %s %s, but the parameter is %s %s",
            weft_tensor_name(p), weft_dtype_name(g->dtype), wi_shape_print(g->graph, &g->shape, text_g),
            weft_dtype_name(p->dtype), wi_shape_print(p->graph, &p->shape, text_p));
    return WEFT_OK;
}

/* sorted[n]: the gradient of parameter n; NULL if the parameter is not in the list, is frozen, or is not reached by
 * the loss. */
static weft_status sort_gradients(weft_graph *graph, weft_tensor *const *parameters,
    weft_tensor *const *gradients, size_t count, weft_tensor **sorted) {
    size_t left_out = 0;
    if (count == 0 || !parameters || !gradients)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_optimizer_step: count is %zu, expected 1 or more, and parameters and gradients must not be "
            "NULL",
            count);
    for (size_t i = 0; i < count; i++) {
        WI_TRY(check_pair(graph, parameters[i], gradients[i], i));
        weft_tensor **const own = &sorted[parameters[i]->variable->number];
        if (*own)
            WI_FAIL(WEFT_ERROR_ARGUMENT,
                "weft_optimizer_step: parameter '%s' is in the list twice: list it once, with the sum of its "
                "gradients",
                weft_tensor_name(parameters[i]));
        *own = gradients[i];
    }
    for (size_t i = 0; i < count; i++) {
        const wi_variable *const own = parameters[i]->variable;
        if (!own->frozen && !wi_gradient_is_unreached(gradients[i])) continue;
        sorted[own->number] = NULL;
        left_out++;
    }
    if (left_out == count)
        WI_FAIL(WEFT_ERROR_STATE,
            "weft_optimizer_step: nothing to update: every parameter (%zu) is frozen or does not affect "
            "the loss",
            count);
    return WEFT_OK;
}

static weft_tensor **make_sorted(const weft_graph *graph) {
    return wi_allocate_array(
        graph->context->allocator, weft_graph_parameter_count(graph) + 1, sizeof(weft_tensor *));
}

static weft_tensor *step(weft_optimizer_state *optimizer, weft_tensor *const *parameters,
    weft_tensor *const *gradients, size_t count, weft_tensor *counts) {
    if (!optimizer || weft_graph_status(optimizer->graph) != WEFT_OK) return NULL;
    weft_graph *const graph = optimizer->graph;
    weft_tensor *update = NULL, **const sorted = make_sorted(graph);
    weft_status status =
        sorted ? sort_gradients(graph, parameters, gradients, count, sorted) : WEFT_ERROR_MEMORY;
    const wi_update_origin origin = {.optimizer = optimizer};
    if (status == WEFT_OK) status = make_update(&origin, sorted, counts, &update);
    wi_release(graph->context->allocator, sorted);
    return status == WEFT_OK ? update : wi_graph_fail_recorded(graph, status);
}

weft_tensor *weft_optimizer_step(weft_optimizer_state *optimizer, weft_tensor *const *parameters,
    weft_tensor *const *gradients, size_t count) {
    return WI_CALL_IN(
        graph_of(optimizer), "weft_optimizer_step", step(optimizer, parameters, gradients, count, NULL));
}

/* ---- the gradient of a loss ---- */

/* *counts: bool, rank 0, false in runs in which the batch is empty (ops/loss/loss_terms.h); NULL: no batch can be empty. */
static weft_status find_counts(weft_tensor *loss, weft_tensor **counts) {
    wi_loss_terms terms;
    WI_TRY(wi_loss_terms_find(&terms, loss));
    *counts = wi_loss_terms_count(&terms);
    return weft_graph_status(loss->graph);
}

/* chosen: the parameters that match `names` and are not frozen. Returns their number. */
static size_t choose_parameters(const weft_graph *graph, const char *names, weft_tensor **chosen) {
    size_t count = 0;
    for (size_t i = 0; i < weft_graph_parameter_count(graph); i++) {
        weft_tensor *const p = weft_graph_parameter(graph, i);
        const bool named = !names || wi_pattern_matches(names, weft_tensor_name(p));
        if (named && !p->variable->frozen) chosen[count++] = p;
    }
    return count;
}

/* Moves gradients[i] to the index that is the number of parameter chosen[i], and drops gradients that the loss does
 * not reach. Begins at the end, so that no gradient is overwritten: the number is i or larger. *reached: how many
 * gradients are left. */
static weft_status spread_gradients(
    weft_tensor *const *chosen, size_t count, weft_tensor **gradients, size_t *reached) {
    *reached = 0;
    for (size_t i = count; i-- > 0;) {
        weft_tensor *const gradient = gradients[i];
        gradients[i] = NULL;
        if (wi_gradient_is_unreached(gradient)) continue;
        if (chosen[i]->dtype != WEFT_F32)
            WI_FAIL(WEFT_ERROR_DTYPE, "optimizers train f32 parameters, but parameter '%s' is %s",
                weft_tensor_name(chosen[i]), weft_dtype_name(chosen[i]->dtype));
        gradients[chosen[i]->variable->number] = gradient;
        ++*reached;
    }
    return WEFT_OK;
}

/* gradients[n]: the gradient of parameter n, if it matches `names`, is not frozen, and is reached by the loss.
 * chosen: scratch memory. */
static weft_status gradients_of_loss(
    const char *call, weft_tensor *loss, const char *names, weft_tensor **chosen, weft_tensor **gradients) {
    const size_t count = choose_parameters(loss->graph, names, chosen);
    size_t reached = 0;
    if (count) WI_TRY(weft_gradients(loss, chosen, count, gradients));
    WI_TRY(spread_gradients(chosen, count, gradients, &reached));
    if (reached) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_STATE, "%s: the loss depends on no trainable parameter with a name like '%s'", call,
        names ? names : "*");
}

/* *counts: bool, rank 0, as in wi_update_make. */
static weft_status counts_for(const wi_step_target *target, weft_tensor *loss, weft_tensor **counts) {
    if (!target->divided) return find_counts(loss, counts);
    if (!target->counts) return WEFT_OK;
    weft_tensor **const any_of = &target->divided->counts;
    if (!*any_of)
        *any_of = wi_ruled_scalar(loss->graph, "shard.counts", (wi_scalar){.value = 1, .is_unsaved = true});
    weft_tensor *const any = *any_of;
    *counts = weft_less(weft_number(any, 0), any);
    return weft_graph_status(loss->graph);
}

weft_status wi_step_for_loss(const char *call, const wi_update_origin *origin, const wi_step_target *target) {
    weft_optimizer_state *const optimizer = origin->optimizer;
    weft_tensor *const loss = origin->loss;
    const weft_allocator *const allocator = optimizer->graph->context->allocator;
    weft_tensor **const sorted = make_sorted(optimizer->graph), **const list = make_sorted(optimizer->graph);
    weft_tensor *counts = NULL;
    weft_status status =
        sorted && list ? gradients_of_loss(call, loss, origin->names, list, sorted) : WEFT_ERROR_MEMORY;
    if (status == WEFT_OK) status = counts_for(target, loss, &counts);
    if (status == WEFT_OK)
        status = target->update ? make_update(origin, sorted, counts, target->update)
                                : make_step(optimizer, sorted, counts, target->divided, target->assignments);
    wi_release(allocator, sorted);
    wi_release(allocator, list);
    return status;
}

static weft_tensor *build_optimizer_minimize(
    weft_optimizer_state *optimizer, weft_tensor *loss, const char *parameters) {
    static const char call[] = "weft_optimizer_minimize";
    if (!optimizer || !loss || weft_graph_status(optimizer->graph) != WEFT_OK) return NULL;
    weft_graph *const graph = optimizer->graph;
    if (loss->graph != graph)
        return wi_graph_fail(
            graph, WEFT_ERROR_ARGUMENT, "%s: the loss belongs to another graph than the optimizer", call);
    weft_tensor *update = NULL;
    const wi_update_origin origin = {optimizer, loss, parameters};
    const weft_status status = wi_step_for_loss(call, &origin, &(wi_step_target){.update = &update});
    return status == WEFT_OK ? update : wi_graph_fail_recorded(graph, status);
}

weft_tensor *weft_optimizer_minimize(
    weft_optimizer_state *optimizer, weft_tensor *loss, const char *parameters) {
    return WI_CALL_IN(graph_of(optimizer), "weft_optimizer_minimize",
        build_optimizer_minimize(optimizer, loss, parameters));
}

weft_tensor *weft_train_step(weft_tensor *loss, weft_optimizer rule, const char *parameters) {
    return WI_CALL(loss, "weft_train_step",
        weft_optimizer_minimize(weft_optimizer_create(weft_tensor_graph(loss), &rule), loss, parameters));
}
