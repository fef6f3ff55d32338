/* Parameter groups and frozen parameters: which parameters a name means, and what belongs to a parameter as a
 * whole as one number a row of the flat tensors (1/16 of their size, and nothing where nothing differs). */
#include "base/pattern.h"
#include "nn/update_rules.h"
#include <math.h>

weft_status weft_freeze(weft_graph *graph, const char *parameters, bool frozen) {
    if (!graph || !parameters)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_freeze: graph and parameters must not be NULL");
    WI_TRY(weft_graph_status(graph));
    bool found = false;
    for (size_t i = 0; i < graph->variable_count; i++) {
        wi_variable *const variable = graph->variables[i];
        if (!variable->trainable || !wi_pattern_matches(parameters, weft_tensor_name(variable->tensor)))
            continue;
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

static weft_status check_group(weft_graph *graph, const weft_parameter_group *groups, size_t index) {
    const weft_parameter_group *const group = &groups[index];
    if (!group->parameters) WI_FAIL(WEFT_ERROR_ARGUMENT, "group %zu: parameters must not be NULL", index);
    if (!(group->rate_factor > 0) || !isfinite(group->rate_factor))
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "group '%s': rate_factor is %g, expected above 0 (weft_freeze stops training)", group->parameters,
            (double)group->rate_factor);
    if (!(group->weight_decay >= 0) || !isfinite(group->weight_decay))
        WI_FAIL(WEFT_ERROR_ARGUMENT, "group '%s': weight_decay is %g, expected at least 0", group->parameters,
            (double)group->weight_decay);
    size_t found = 0;
    const size_t count = weft_graph_parameter_count(graph);
    for (size_t i = 0; i < count; i++) {
        const weft_tensor *const parameter = weft_graph_parameter(graph, i);
        if (!in_group(group, parameter)) continue;
        found++;
        for (size_t k = 0; k < index; k++)
            if (in_group(&groups[k], parameter))
                WI_FAIL(WEFT_ERROR_ARGUMENT, "group '%s': parameter '%s' is in group '%s' already",
                    group->parameters, weft_tensor_name(parameter), groups[k].parameters);
    }
    if (!found)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "group '%s': the graph has no such parameter", group->parameters);
    return WEFT_OK;
}

weft_status wi_groups_check(weft_graph *graph, const weft_optimizer *optimizer) {
    if (optimizer->group_count > 0 && !optimizer->groups)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "optimizer: groups is NULL, group_count %zu", optimizer->group_count);
    for (size_t i = 0; i < optimizer->group_count; i++) WI_TRY(check_group(graph, optimizer->groups, i));
    return WEFT_OK;
}

/* ---- rows ---- */

static void fill_rows(float *values, const weft_tensor *parameter, float value) {
    const size_t row = WI_FLAT_ROW_BYTES;
    const wi_variable *const variable = parameter->variable;
    const size_t first = variable->offset / row, end = first + (variable->bytes + row - 1) / row;
    for (size_t i = first; i < end; i++) values[i] = value;
}

static weft_tensor *row_array(weft_graph *graph, weft_dtype dtype, const void *values) {
    const int64_t dims[2] = {wi_flat_rows(graph), 1};
    return weft_array(graph, dtype, values, 2, dims);
}

static const weft_parameter_group *group_of(const weft_optimizer *optimizer, const weft_tensor *parameter) {
    for (size_t i = 0; i < optimizer->group_count; i++)
        if (in_group(&optimizer->groups[i], parameter)) return &optimizer->groups[i];
    return NULL;
}

/* decays NULL: the same everywhere. */
static void write_rows(
    weft_graph *graph, const weft_optimizer *optimizer, float *factors, float *decays, bool *frozen) {
    const size_t count = weft_graph_parameter_count(graph);
    for (size_t i = 0; i < count; i++) {
        const weft_tensor *const parameter = weft_graph_parameter(graph, i);
        const weft_parameter_group *const group = group_of(optimizer, parameter);
        const bool still = parameter->variable->frozen;
        *frozen = *frozen || still;
        fill_rows(factors, parameter, still ? 0 : group ? group->rate_factor : 1);
        fill_rows(decays, parameter, still ? 0 : group ? group->weight_decay : optimizer->weight_decay);
    }
}

static bool differ(const float *values, int64_t count) {
    for (int64_t i = 1; i < count; i++)
        if (values[i] != values[0]) return true;
    return false;
}

weft_status wi_groups_rows(weft_graph *graph, const weft_optimizer *optimizer, wi_rows *rows) {
    const weft_allocator *const allocator = graph->context->allocator;
    const int64_t count = wi_flat_rows(graph);
    float *const values = wi_allocate_array(allocator, (size_t)count * 2, sizeof *values);
    if (!values) return WEFT_ERROR_MEMORY;
    float *const factors = values, *const decays = values + count;
    write_rows(graph, optimizer, factors, decays, &rows->frozen);
    if (differ(factors, count) || factors[0] != 1) rows->factor = row_array(graph, WEFT_F32, factors);
    if (differ(decays, count))
        rows->decay = row_array(graph, WEFT_F32, decays);
    else if (decays[0] > 0)
        rows->decay = weft_constant(graph, WEFT_F32, (double)decays[0]);
    wi_release(allocator, values);
    return weft_graph_status(graph);
}

weft_tensor *wi_row_parameters(weft_graph *graph) {
    const weft_allocator *const allocator = graph->context->allocator;
    const size_t row = WI_FLAT_ROW_BYTES, count = weft_graph_parameter_count(graph);
    int32_t *const numbers = wi_allocate_array(allocator, (size_t)wi_flat_rows(graph), sizeof *numbers);
    if (!numbers) return wi_graph_fail_recorded(graph, WEFT_ERROR_MEMORY);
    for (size_t i = 0; i < count; i++) {
        const wi_variable *const variable = weft_graph_parameter(graph, i)->variable;
        const size_t first = variable->offset / row, end = first + (variable->bytes + row - 1) / row;
        for (size_t k = first; k < end; k++) numbers[k] = (int32_t)i;
    }
    weft_tensor *const result = row_array(graph, WEFT_I32, numbers);
    wi_release(allocator, numbers);
    return result;
}
