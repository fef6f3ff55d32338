/* Graphs: creation and release, precision, attachments (contract in weft_graph.h). */
#include "cl/context.h"
#include "graph/block_copies.h"
#include "graph/sizes.h"
#include "graph/variable_names.h"
#include "graph/weft_graph.h"
#include <string.h>

/* ---- life ---- */

static void graph_destroy(weft_graph *graph) {
    weft_context *context = graph->context;
    const weft_allocator *allocator = context->allocator;
    wi_cause_forget(graph);
    for (wi_attachment *a = graph->attachments; a; a = a->next) a->release(a->value);
    for (size_t i = 0; i < graph->block_count; i++) {
        wi_copies_release(graph, &graph->blocks[i]);
        wi_buffer_release(&graph->blocks[i].buffer, wi_context_device(context));
    }
    for (size_t i = 0; i < graph->variable_count; i++) wi_release(allocator, graph->variables[i]->data);
    wi_release(allocator, graph->blocks);
    wi_release(allocator, graph->variables);
    wi_release(allocator, graph->scalars);
    wi_release(allocator, graph->origins.of);
    wi_release(allocator, graph->known);
    for (int i = 0; i < 2; i++) wi_release(allocator, graph->kinds[i].of);
    wi_variable_names_clear(graph);
    wi_sizes_clear(graph);
    wi_arena_clear(&graph->arena);
    wi_release(allocator, graph);
}

static weft_status graph_make(weft_graph **out, weft_context *context) {
    weft_graph *graph = wi_allocate(context->allocator, sizeof *graph);
    if (!graph) return WEFT_ERROR_MEMORY;
    graph->context = context;
    graph->references = 1;
    wi_arena_init(&graph->arena, context->allocator);
    size_t parameters;
    weft_status status = wi_sizes_begin(graph);
    if (status == WEFT_OK) status = wi_graph_add_block(graph, 0, 0, &parameters);
    if (status != WEFT_OK) {
        graph_destroy(graph);
        return status;
    }
    *out = graph;
    return WEFT_OK;
}

weft_status weft_graph_create(weft_graph **graph, weft_context *context) {
    if (!graph || !context) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_graph_create: graph or context is NULL");
    *graph = NULL;
    WI_TRY(graph_make(graph, context));
    weft_context_retain(context);
    return WEFT_OK;
}

weft_graph *weft_graph_retain(weft_graph *graph) {
    if (!graph) return NULL;
    if (graph->owned_by_context)
        weft_context_retain(graph->context);
    else
        graph->references++;
    return graph;
}

void weft_graph_release(weft_graph *graph) {
    if (!graph) return;
    weft_context *context = graph->context;
    if (graph->owned_by_context) {
        weft_context_release(context);
    } else if (--graph->references == 0) {
        graph_destroy(graph);
        weft_context_release(context);
    }
}

weft_graph *weft_context_graph(weft_context *context) {
    if (!context) {
        (void)wi_fail(WEFT_ERROR_ARGUMENT, "weft_context_graph: context is NULL");
        return NULL;
    }
    if (!context->graph && graph_make(&context->graph, context) == WEFT_OK) {
        context->graph->owned_by_context = true;
        context->graph_release = graph_destroy;
    }
    return context->graph;
}

weft_context *weft_graph_context(const weft_graph *graph) {
    return graph ? graph->context : NULL;
}

/* ---- precision ---- */

weft_status weft_graph_set_precision(weft_graph *graph, weft_precision precision) {
    if (!graph) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_graph_set_precision: graph is NULL");
    switch (precision) {
    case WEFT_PRECISION_F32: graph->precision = WEFT_F32; return WEFT_OK;
    case WEFT_PRECISION_BF16: graph->precision = WEFT_BF16; return WEFT_OK;
    case WEFT_PRECISION_F16:
        if (graph->scaling.has_plain)
            WI_FAIL(WEFT_ERROR_STATE,
                "weft_graph_set_precision: the graph already has updates without loss scaling, which f16 "
                "needs: set f16 before weft_minimize, weft_gradients and weft_optimizer_step");
        graph->precision = WEFT_F16;
        return WEFT_OK;
    }
    WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_graph_set_precision: precision is %d, which is not a weft_precision",
        (int)precision);
}

weft_status weft_graph_set_matmul_precision(weft_graph *graph, weft_matmul_precision precision) {
    if (!graph) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_graph_set_matmul_precision: graph is NULL");
    switch (precision) {
    case WEFT_MATMUL_PRECISION_HIGHEST:
    case WEFT_MATMUL_PRECISION_HIGH:
    case WEFT_MATMUL_PRECISION_MEDIUM: graph->matmul_precision = precision; return WEFT_OK;
    }
    WI_FAIL(WEFT_ERROR_ARGUMENT,
        "weft_graph_set_matmul_precision: precision is %d, which is not a weft_matmul_precision",
        (int)precision);
}

/* ---- attachments ---- */

weft_status wi_graph_attach(weft_graph *graph, const char *key, void *value, void (*release)(void *value)) {
    wi_attachment *attachment = wi_arena_take(&graph->arena, sizeof *attachment);
    char *name = wi_arena_string(&graph->arena, key);
    if (!attachment || !name) return WEFT_ERROR_MEMORY;
    *attachment =
        (wi_attachment){.key = name, .value = value, .release = release, .next = graph->attachments};
    graph->attachments = attachment;
    return WEFT_OK;
}

void *wi_graph_attachment(weft_graph *graph, const char *key) {
    for (wi_attachment *a = graph->attachments; a; a = a->next) {
        if (strcmp(a->key, key) == 0) return a->value;
    }
    return NULL;
}
