/* Scopes: the prefix of names, and whether an existing name means the existing variable (contract in graph.h). */
#include "graph/scope.h"
#include "graph/variable_names.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The number of layers of a kind that a scope has named. */
typedef struct wi_scope_count {
    const char *word;
    uint32_t number;
    struct wi_scope_count *next;
} wi_scope_count;

struct wi_scope {
    struct wi_scope *outer;
    const char *prefix; /* including those of outer scopes: "encoder.block." */
    bool shares, inference;
    wi_scope_count *counts;
};

static weft_status open_scope(weft_graph *graph, const char *name, bool share) {
    const wi_scope *const outer = graph->scope;
    const char *const around = outer ? outer->prefix : "";
    const size_t length = strlen(around) + strlen(name) + 2;
    if (length > WI_SCOPE_PREFIX)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_scope_begin: '%s%s': the names of the open scopes have more than %d characters together",
            around, name, WI_SCOPE_PREFIX - 2);
    wi_scope *const made = wi_arena_take(&graph->arena, sizeof *made);
    char *const prefix = wi_arena_take(&graph->arena, length);
    if (!made || !prefix) return WEFT_ERROR_MEMORY;
    snprintf(prefix, length, "%s%s%s", around, name, *name ? "." : "");
    *made = (wi_scope){.outer = graph->scope,
        .prefix = prefix,
        .shares = share || wi_scope_shares(graph),
        .inference = wi_scope_is_inference(graph)};
    graph->scope = made;
    wi_origin_set_scope(graph, prefix);
    return WEFT_OK;
}

weft_status weft_scope_begin(weft_graph *graph, const char *name, bool share) {
    if (!graph) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_scope_begin: graph must not be NULL");
    WI_TRY(weft_graph_status(graph));
    const weft_status status = open_scope(graph, name ? name : "", share);
    if (status != WEFT_OK) wi_graph_fail_recorded(graph, status);
    return status;
}

weft_status weft_scope_end(weft_graph *graph) {
    if (!graph) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_scope_end: graph must not be NULL");
    WI_TRY(weft_graph_status(graph));
    if (graph->scope) {
        graph->scope = graph->scope->outer;
        wi_origin_set_scope(graph, graph->scope ? graph->scope->prefix : NULL);
        return WEFT_OK;
    }
    wi_graph_fail(graph, WEFT_ERROR_STATE, "weft_scope_end: no scope is open");
    return WEFT_ERROR_STATE;
}

weft_status weft_scope_inference(weft_graph *graph, bool on) {
    if (!graph) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_scope_inference: graph must not be NULL");
    WI_TRY(weft_graph_status(graph));
    if (graph->scope) {
        graph->scope->inference = on;
        return WEFT_OK;
    }
    wi_graph_fail(graph, WEFT_ERROR_STATE, "weft_scope_inference: no scope is open (weft_scope_begin)");
    return WEFT_ERROR_STATE;
}

const char *wi_scope_prefix(const weft_graph *graph) {
    return graph->scope ? graph->scope->prefix : "";
}

bool wi_scope_shares(const weft_graph *graph) {
    return graph->scope && graph->scope->shares;
}

bool wi_scope_is_inference(const weft_graph *graph) {
    return graph->scope && graph->scope->inference;
}

static bool has_layer(const weft_graph *graph, const char *layer, uint32_t number) {
    char name[WI_SCOPE_PREFIX + 64];
    snprintf(name, sizeof name, "%s%s%" PRIu32, wi_scope_prefix(graph), layer, number);
    return wi_variable_names_has_layer(graph, name);
}

static uint32_t *number_of(weft_graph *graph, const char *layer) {
    wi_scope *const scope = graph->scope;
    if (!scope) return wi_variable_names_number(graph, layer);
    for (wi_scope_count *known = scope->counts; known; known = known->next)
        if (strcmp(known->word, layer) == 0) return &known->number;
    wi_scope_count *const made = wi_arena_take(&graph->arena, sizeof *made);
    if (!made) return NULL;
    *made = (wi_scope_count){layer, 0, scope->counts};
    scope->counts = made;
    return &made->number;
}

uint32_t wi_scope_number(weft_graph *graph, const char *layer) {
    uint32_t first = 0, *const kept = number_of(graph, layer);
    uint32_t *const n = kept ? kept : &first;
    if (wi_scope_shares(graph)) return ++*n;
    if (*n == 0) *n = 1;
    while (has_layer(graph, layer, *n)) ++*n; /* names are never removed, so the next search continues here */
    return *n;
}

/* ---- variables of the same name ---- */

static weft_tensor *refuse(
    const weft_tensor *known, const char *what, weft_dtype dtype, const wi_shape *shape) {
    char text_known[WI_SHAPE_TEXT], text[WI_SHAPE_TEXT];
    return wi_graph_fail(known->graph, WEFT_ERROR_SHAPE,
        "%s '%s': the graph already has a %s of this name with %s %s, which cannot be shared as %s %s: use "
        "another name, or the same dtype and shape",
        what, weft_tensor_name(known), known->op->name, weft_dtype_name(known->dtype),
        wi_shape_print(known->graph, &known->shape, text_known), weft_dtype_name(dtype),
        wi_shape_print(known->graph, shape, text));
}

weft_tensor *wi_scope_find(
    weft_graph *graph, const char *full_name, bool trainable, weft_dtype dtype, const wi_shape *shape) {
    weft_tensor *const known = *full_name ? weft_graph_find(graph, full_name) : NULL;
    const char *const what = trainable ? "parameter" : "state";
    if (!known) return NULL;
    if (!wi_scope_shares(graph))
        return wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
            "%s '%s': the graph already has a %s of this name; use another name, or share it in a scope "
            "opened by weft_scope_begin(graph, name, true)",
            what, full_name, known->op->name);
    if (known->variable->trainable == trainable && known->dtype == dtype &&
        wi_shape_equal(&known->shape, shape))
        return known;
    return refuse(known, what, dtype, shape);
}
