/* weft_minimize, and updates from the gradients of shards (contract in nn.h and update_rules.h). */
#include "graph/attempt.h"
#include "nn/optimizer_steps.h"
#include <string.h>

static weft_status check_parameters(const weft_graph *graph) {
    const size_t count = weft_graph_parameter_count(graph);
    size_t frozen = 0;
    if (count == 0) WI_FAIL(WEFT_ERROR_STATE, "weft_minimize: the graph has no parameters to train");
    for (size_t i = 0; i < count; i++) frozen += weft_graph_parameter(graph, i)->variable->frozen;
    if (frozen == count)
        WI_FAIL(WEFT_ERROR_STATE,
            "weft_minimize: every parameter (%zu) is frozen; weft_freeze(graph, names, false) thaws some",
            count);
    return WEFT_OK;
}

static weft_status minimize_by(
    const weft_optimizer *rule, weft_tensor *loss, const wi_step_target *target, size_t count) {
    weft_graph *const graph = loss->graph;
    weft_optimizer_state *const optimizer = wi_optimizer_make(graph, rule);
    if (!optimizer) return weft_graph_status(graph);
    WI_TRY(wi_optimizer_make_rate(optimizer));
    const wi_update_origin origin = {optimizer, loss, NULL};
    WI_TRY(wi_step_for_loss("weft_minimize", &origin, target));
    for (size_t i = 0; i < count; i++) WI_TRY(wi_note_update(target->assignments[i], &origin));
    return WEFT_OK;
}

static weft_status minimize(weft_tensor *loss, const weft_optimizer *rule, const wi_step_target *target,
    size_t capacity, size_t *count) {
    if (!loss) return wi_fail_null("weft_minimize", "loss");
    if (!rule || !target->assignments || !count)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_minimize: optimizer, updates and count must not be NULL");
    weft_graph *const graph = weft_tensor_graph(loss);
    WI_TRY(weft_graph_status(graph));
    WI_TRY(wi_optimizer_check(rule));
    const size_t needed = wi_optimizer_writes(rule);
    if (capacity < needed)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_minimize: there are %zu updates, but the array updates has room for %zu", needed, capacity);
    WI_TRY(check_parameters(graph));
    WI_TRY(wi_groups_check(graph, rule));
    const wi_attempt attempt = wi_attempt_begin(graph);
    WI_TRY(wi_attempt_end(&attempt, minimize_by(rule, loss, target, needed)));
    *count = needed;
    return WEFT_OK;
}

weft_status weft_minimize(
    weft_tensor *loss, const weft_optimizer *rule, weft_tensor **updates, size_t capacity, size_t *count) {
    const wi_step_target target = {.assignments = updates};
    return WI_STATUS_CALL(
        weft_tensor_graph(loss), "weft_minimize", minimize(loss, rule, &target, capacity, count));
}

weft_status wi_minimize_divided(wi_divided_loss *of, const weft_optimizer *rule) {
    const wi_step_target target = {.assignments = of->updates, .divided = of->divided, .counts = of->counts};
    *of->divided = (wi_divided_update){.part = of->divided->part, .parts = of->divided->parts};
    return minimize(of->part, rule, &target, of->capacity, of->count);
}

/* ---- updates of a program, from the gradients of shards ---- */

static const wi_rated_update *noted_of(const weft_tensor *update) {
    const wi_rated_update *noted = update->graph->rated;
    while (noted && noted->update != update) noted = noted->next;
    return noted;
}

static bool same_step(const wi_update_origin *a, const wi_update_origin *b) {
    const bool one_has_no_names = !a->names || !b->names;
    return a->optimizer == b->optimizer &&
           (one_has_no_names ? a->names == b->names : strcmp(a->names, b->names) == 0);
}

/* weft_minimize returns several updates of one step. */
static bool is_known(weft_tensor *const *given, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (same_step(&noted_of(given[i])->origin, &noted_of(given[count])->origin)) return true;
    return false;
}

weft_status wi_updates_divide(
    weft_tensor *const *given, size_t given_count, weft_tensor *loss, wi_divided_loss *of) {
    *of->divided = (wi_divided_update){.part = of->divided->part, .parts = of->divided->parts};
    *of->count = 0;
    for (size_t i = 0; i < given_count; i++) {
        const wi_rated_update *const noted = noted_of(given[i]);
        if (!noted || noted->origin.loss != loss)
            WI_FAIL(WEFT_ERROR_UNSUPPORTED,
                "weft_trainer_create: update %zu cannot be computed from gradient shards: create it from the "
                "loss of the trainer by weft_optimizer_minimize or weft_train_step",
                i);
        if (is_known(given, i)) continue;
        const wi_step_target target = {
            .assignments = of->updates + *of->count, .divided = of->divided, .counts = of->counts};
        const wi_update_origin origin = {noted->origin.optimizer, of->part, noted->origin.names};
        const size_t writes = wi_optimizer_writes(&origin.optimizer->rule);
        if (*of->count + writes > of->capacity)
            WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_trainer_create: the updates have more than %zu assignments",
                of->capacity);
        WI_TRY(wi_step_for_loss("weft_trainer_create", &origin, &target));
        for (size_t k = 0; k < writes; k++) WI_TRY(wi_note_update(target.assignments[k], &origin));
        *of->count += writes;
    }
    return weft_graph_status(loss->graph);
}
