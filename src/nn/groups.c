/* Parameter groups and freezing. If the parameters of an update have rate factors other than 1, or different weight
 * decays, the factors or decays are stored as one number for each row of the flat tensors, 1/16 of the number of
 * elements. */
#include "base/pattern.h"
#include "cl/context.h"
#include "graph/sizes.h"
#include "nn/update_rules.h"
#include <math.h>

/* Discards the nodes by which plans for training replaced composites that read the state: if the statistics of a norm
 * are frozen or thawed, other nodes must replace the norm. */
static void forget_lowered(const weft_graph *graph, const weft_tensor *state) {
    for (weft_tensor *node = graph->composites; node; node = wi_lowered_of(node)->next) {
        for (int k = 0; k < node->input_count; k++)
            if (node->inputs[k] == state) wi_lowered_of(node)->to[false] = NULL;
    }
}

static bool may_be_frozen(const wi_variable *variable, const char *names) {
    const char *const name = weft_tensor_name(variable->tensor);
    return (variable->trainable || *name) && wi_pattern_matches(names, name);
}

weft_status weft_freeze(weft_graph *graph, const char *parameters, bool frozen) {
    if (!graph || !parameters)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_freeze: graph and parameters must not be NULL");
    WI_TRY(weft_graph_status(graph));
    bool found = false;
    for (size_t i = 0; i < graph->variable_count; i++) {
        wi_variable *const variable = graph->variables[i];
        if (!may_be_frozen(variable, parameters)) continue;
        if (!variable->trainable && variable->frozen != frozen) forget_lowered(graph, variable->tensor);
        variable->frozen = frozen;
        found = true;
    }
    if (!found) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_freeze: the graph has no parameter '%s'", parameters);
    return WEFT_OK;
}

/* ---- groups ---- */

static bool in_group(const weft_parameter_group *group, const weft_tensor *parameter) {
    return wi_pattern_matches(group->parameters, weft_tensor_name(parameter));
}

static bool names_any(const weft_graph *graph, const weft_parameter_group *group) {
    for (size_t i = 0; i < weft_graph_parameter_count(graph); i++)
        if (in_group(group, weft_graph_parameter(graph, i))) return true;
    return false;
}

static weft_status check_group(const weft_graph *graph, const weft_parameter_group *group, size_t index) {
    if (!group->parameters)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "optimizer: group %zu: parameters must not be NULL", index);
    WI_TRY(WI_CHECK_NUMBERS(
        "group", {"rate_factor", (double)group->rate_factor}, {"weight_decay", (double)group->weight_decay}));
    if (!(group->rate_factor > 0) || !isfinite(group->rate_factor))
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "optimizer: group '%s': rate_factor is %g, expected above 0 (use weft_freeze to stop training "
            "parameters)",
            group->parameters, (double)group->rate_factor);
    if (!(group->weight_decay >= 0) || !isfinite(group->weight_decay))
        WI_FAIL(WEFT_ERROR_ARGUMENT, "optimizer: group '%s': weight_decay is %g, expected 0 or more",
            group->parameters, (double)group->weight_decay);
    if (graph && !names_any(graph, group))
        WI_FAIL(WEFT_ERROR_ARGUMENT, "optimizer: group '%s': the graph has no parameter of such a name",
            group->parameters);
    return WEFT_OK;
}

weft_status wi_groups_check(const weft_graph *graph, const weft_optimizer *optimizer) {
    if (optimizer->group_count > 0 && !optimizer->groups)
        WI_FAIL(
            WEFT_ERROR_ARGUMENT, "optimizer: groups is NULL, but group_count is %zu", optimizer->group_count);
    for (size_t i = 0; i < optimizer->group_count; i++) WI_TRY(check_group(graph, &optimizer->groups[i], i));
    return WEFT_OK;
}

/* ---- rows ---- */

static void fill_rows(const wi_update *u, float *values, const weft_tensor *parameter, float value) {
    const int64_t first = wi_first_row(parameter) - u->first_row, count = wi_row_count(parameter);
    for (int64_t i = first; i < first + count; i++) values[i] = value;
}

static weft_tensor *row_array(const wi_update *u, weft_dtype dtype, const void *values) {
    return weft_array(u->graph, dtype, values, 2, (const int64_t[]){u->rows, 1});
}

/* The group that names the parameter; if several groups do, the last one. NULL: no group does. */
static const weft_parameter_group *group_of(const weft_optimizer *optimizer, const weft_tensor *parameter) {
    for (size_t i = optimizer->group_count; i-- > 0;)
        if (in_group(&optimizer->groups[i], parameter)) return &optimizer->groups[i];
    return NULL;
}

typedef struct row_values {
    float factor, decay;
} row_values;

static row_values values_of(const wi_update *u, const weft_tensor *parameter) {
    const weft_parameter_group *const group = group_of(u->optimizer, parameter);
    return (row_values){
        group ? group->rate_factor : 1, group ? group->weight_decay : u->optimizer->weight_decay};
}

/* (rows, 1): the weight decay, or the rate factor, of each row's parameter. */
static weft_tensor *array_of_rows(wi_update *u, bool decays) {
    const weft_allocator *const allocator = u->graph->context->allocator;
    float *const values = wi_allocate_array(allocator, (size_t)u->rows, sizeof *values);
    if (!values) return wi_graph_fail_recorded(u->graph, WEFT_ERROR_MEMORY);
    for (size_t i = u->first; i < u->first + u->length; i++) {
        const weft_tensor *const parameter = weft_graph_parameter(u->graph, i);
        const row_values own = values_of(u, parameter);
        fill_rows(u, values, parameter, decays ? own.decay : own.factor);
    }
    weft_tensor *const result = row_array(u, WEFT_F32, values);
    wi_release(allocator, values);
    return result;
}

weft_status wi_groups_rows(wi_update *u) {
    const row_values first = values_of(u, weft_graph_parameter(u->graph, u->first));
    bool factors = false, decays = false;
    u->by_row = (wi_rows){0};
    for (size_t i = u->first; i < u->first + u->length; i++) {
        const weft_tensor *const parameter = weft_graph_parameter(u->graph, i);
        const row_values own = values_of(u, parameter);
        factors = factors || own.factor != first.factor;
        decays = decays || own.decay != first.decay;
    }
    if (u->by_rows && first.factor != 1)
        u->by_row.factor = weft_constant(u->graph, WEFT_F32, (double)first.factor);
    else if (factors || first.factor != 1)
        u->by_row.factor = array_of_rows(u, false);
    if (decays)
        u->by_row.decay = array_of_rows(u, true);
    else if (first.decay > 0)
        u->by_row.decay = weft_constant(u->graph, WEFT_F32, (double)first.decay);
    return weft_graph_status(u->graph);
}

weft_tensor *wi_row_parameters(const wi_update *u) {
    const weft_allocator *const allocator = u->graph->context->allocator;
    int32_t *const numbers = wi_allocate_array(allocator, (size_t)u->rows, sizeof *numbers);
    if (!numbers) return wi_graph_fail_recorded(u->graph, WEFT_ERROR_MEMORY);
    for (size_t i = 0; i < u->length; i++) {
        const weft_tensor *const parameter = weft_graph_parameter(u->graph, u->first + i);
        const int64_t first = wi_first_row(parameter) - u->first_row;
        for (int64_t k = first; k < first + wi_row_count(parameter); k++) numbers[k] = (int32_t)i;
    }
    weft_tensor *const result = row_array(u, WEFT_I32, numbers);
    wi_release(allocator, numbers);
    return result;
}
