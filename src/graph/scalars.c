/* Scalars: numbers that the host computes before each run. */
#include "cl/context.h"
#include "graph/sizes.h"
#include "graph/weft_graph.h"
#include <math.h>

const wi_op wi_op_scalar = {
    .name = "scalar", .kind = WI_GENERATOR, .attribute_bytes = sizeof(wi_scalar_attributes)};

static weft_tensor *scalar_node(weft_graph *graph, size_t index) {
    const wi_shape shape = {.rank = 0};
    const wi_attributes attributes = {.scalar = {.index = (uint32_t)index}};
    return wi_node(graph, &wi_op_scalar, NULL, 0, WEFT_F32, &shape, &attributes);
}

static weft_tensor *make_scalar(weft_graph *graph, wi_scalar scalar) {
    if (wi_grow(graph->context->allocator, (void **)&graph->scalars, &graph->scalar_capacity,
            graph->scalar_count + 1, sizeof *graph->scalars) != WEFT_OK)
        return wi_graph_fail_recorded(graph, WEFT_ERROR_MEMORY);
    weft_tensor *const tensor = scalar_node(graph, graph->scalar_count);
    if (tensor) graph->scalars[graph->scalar_count++] = scalar;
    return tensor;
}

static weft_tensor *build_scalar(weft_graph *graph, const char *name, float value) {
    if (!graph || !wi_takes_number(graph, "scalar", (double)value)) return NULL;
    return wi_name_node(make_scalar(graph, (wi_scalar){.value = value}), name);
}

weft_tensor *weft_scalar(weft_graph *graph, const char *name, float value) {
    return WI_CALL_IN(graph, "weft_scalar", build_scalar(graph, name, value));
}

/* The value and the memory of a rule depend only on its arguments and the clock. Equal scalars are therefore the same scalar, which
 * all updates of an optimizer share. */
weft_tensor *wi_step_scalar(
    weft_graph *graph, size_t clock, double (*rule)(wi_scalar *, const wi_clock *), double a, double b) {
    for (size_t i = 0; i < graph->scalar_count; i++) {
        const wi_scalar *const known = &graph->scalars[i];
        if (known->rule == rule && known->clock == clock && known->a == a && known->b == b)
            return scalar_node(graph, i);
    }
    return make_scalar(graph, (wi_scalar){.rule = rule, .a = a, .b = b, .clock = clock});
}

weft_tensor *wi_ruled_scalar(weft_graph *graph, const char *name, wi_scalar scalar) {
    return wi_name_node(make_scalar(graph, scalar), name);
}

bool wi_scalar_has_rule(const weft_tensor *scalar) {
    return scalar->graph->scalars[scalar->attributes->scalar.index].rule != NULL;
}

static weft_status check_scalar(const weft_tensor *scalar) {
    if (!scalar) WI_FAIL(WEFT_ERROR_ARGUMENT, "scalar: the tensor is NULL");
    if (scalar->op != &wi_op_scalar)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "scalar: the tensor is of op %s, expected one of weft_scalar",
            scalar->op->name);
    return WEFT_OK;
}

weft_status weft_scalar_set(weft_tensor *scalar, float value) {
    WI_TRY(check_scalar(scalar));
    WI_TRY(wi_check_number("weft_scalar_set", (double)value));
    wi_scalar *const own = &scalar->graph->scalars[scalar->attributes->scalar.index];
    if (own->is_rate && !(value >= 0 && value < INFINITY))
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_scalar_set: the learning rate is %g, expected 0 or more and finite", (double)value);
    own->value = value;
    return WEFT_OK;
}

weft_status weft_scalar_get(const weft_tensor *scalar, float *value) {
    WI_TRY(check_scalar(scalar));
    if (!value) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_scalar_get: value is NULL");
    wi_scalar *const own = &scalar->graph->scalars[scalar->attributes->scalar.index];
    *value = own->rule ? (float)own->rule(own, &scalar->graph->clocks[own->clock]) : own->value;
    return WEFT_OK;
}
