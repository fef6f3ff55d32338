/* The first error of a graph, and the checks with which constructors begin (contract in node.h). */
#include "graph/weft_graph.h"
#include <stdarg.h>
#include <stdio.h>

weft_status weft_graph_status(weft_graph *graph) {
    if (!graph) WI_FAIL(WEFT_ERROR_ARGUMENT, "the graph is NULL");
    if (graph->status != WEFT_OK) wi_error_restore(graph->error);
    return graph->status;
}

weft_tensor *wi_graph_fail_recorded(weft_graph *graph, weft_status status) {
    char origin[WI_ORIGIN_TEXT];
    if (graph->status != WEFT_OK) return NULL;
    wi_error_save(graph->error, sizeof graph->error);
    const uint32_t now = wi_origin_now(graph); /* overwrites the last error if it is out of memory */
    wi_error_restore(graph->error);
    wi_error_add(wi_origin_print(graph, now, graph->error, origin));
    graph->status = status;
    wi_error_save(graph->error, sizeof graph->error);
    wi_cause_note(graph);
    return NULL;
}

bool wi_graph_options(
    weft_graph *graph, void *own, size_t known, const void *given, const char *call, const char *macro) {
    const weft_status status = wi_options_read(own, known, given, call, macro);
    if (status != WEFT_OK) wi_graph_fail_recorded(graph, status);
    return status == WEFT_OK;
}

weft_tensor *wi_graph_fail(weft_graph *graph, weft_status status, const char *format, ...) {
    char line[sizeof graph->error];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    return wi_graph_fail_recorded(graph, wi_fail(status, "%s", line));
}

bool wi_takes_dtype(const weft_tensor *x, const char *op, unsigned takes) {
    if (wi_dtype_is_taken(x->dtype, takes)) return true;
    wi_graph_fail(x->graph, WEFT_ERROR_DTYPE, "%s: takes %s, not %s", op, wi_dtypes_text(takes),
        weft_dtype_name(x->dtype));
    return false;
}

weft_graph *wi_inputs_graph(const char *op, weft_tensor *const *inputs, int count) {
    weft_graph *graph = NULL;
    for (int i = 0; i < count; i++) {
        if (!inputs[i]) continue;
        if (graph && inputs[i]->graph != graph) {
            wi_graph_fail(
                graph, WEFT_ERROR_ARGUMENT, "%s: input %d belongs to another graph than the others", op, i);
            return NULL;
        }
        graph = inputs[i]->graph;
    }
    for (int i = 0; graph && i < count; i++) {
        if (inputs[i]) continue;
        wi_graph_fail(graph, WEFT_ERROR_ARGUMENT, "%s: input %d is NULL", op, i);
        return NULL;
    }
    for (int i = 0; graph && i < count; i++) {
        if (inputs[i]->op->kind != WI_ASSIGN) continue;
        wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
            "%s: input %d is an assignment, which has no value; use the assigned tensor instead", op, i);
        return NULL;
    }
    return graph && graph->status == WEFT_OK ? graph : NULL;
}
