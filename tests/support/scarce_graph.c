/* A graph whose arena has an allocator that fails on demand (contract in scarce_graph.h). */
#include "support/scarce_graph.h"
#include "graph/weft_graph.h"
#include "support/checks.h"
#include <stdlib.h>

static bool refuses;
static size_t
    blocks; /* while `refuses` is true: how many more blocks are allocated before an allocation fails */

static void *allocate(void *user, size_t bytes) {
    (void)user;
    if (!refuses) return malloc(bytes);
    return blocks > 0 && blocks-- ? malloc(bytes) : NULL;
}

static void *reallocate(void *user, void *block, size_t bytes) {
    (void)user;
    return refuses ? NULL : realloc(block, bytes);
}

static void release(void *user, void *block) {
    (void)user;
    free(block);
}

weft_graph *scarce_graph(weft_context *context) {
    static const weft_allocator refusing = {allocate, reallocate, release, NULL};
    weft_graph *graph = NULL;
    assert_ok(weft_graph_create(&graph, context));
    assert_null(graph->arena.blocks);
    graph->arena.allocator = &refusing;
    return graph;
}

/* Allocates the rest of the arena's latest block; returns its size. */
static size_t fill(weft_graph *graph) {
    size_t bytes = 0;
    refuses = true;
    blocks = 0;
    while (wi_arena_take(&graph->arena, SCARCE_STEP)) bytes += SCARCE_STEP;
    refuses = false;
    return bytes;
}

void scarce_graph_refuse_after(weft_graph *graph, size_t bytes) {
    static size_t block;
    fill(graph);
    if (block == 0) {
        assert_non_null(wi_arena_take(&graph->arena, SCARCE_STEP));
        block = SCARCE_STEP + fill(graph);
    }
    assert_non_null(wi_arena_take(&graph->arena, block - bytes % block));
    blocks = bytes / block;
    refuses = true;
}

void scarce_graph_relax(void) {
    refuses = false;
}
