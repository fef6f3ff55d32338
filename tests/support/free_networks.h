/* Networks over sequences of open length (WEFT_LENGTH). Together they contain every op of the op table that accepts such a size. */
#ifndef TEST_FREE_NETWORKS_H
#define TEST_FREE_NETWORKS_H

#include "graph/rewrite.h"
#include "support/fixture.h"

enum { FREE_WIDTH = 8, FREE_RESULTS = 32 };

typedef struct free_scene {
    weft_graph *graph;
    int64_t length;
    weft_tensor *x, *tokens, *lengths; /* f32 (batch, length, FREE_WIDTH), i32 (batch, length), i32 (batch) */
} free_scene;

typedef struct free_network {
    const char *name;
    weft_tensor *(*build)(const free_scene *);
    int64_t shortest;  /* the smallest length that the network accepts */
    bool takes_places; /* `lengths` are positions in 0 .. length - 1, not lengths from 1 on */
} free_network;

extern const free_network free_networks[];
extern const size_t free_network_count;

/* The value of a network, a loss of this value, and the gradients of the loss with respect to an input and all parameters. */
typedef struct free_results {
    weft_tensor *of[FREE_RESULTS];
    size_t count;
} free_results;

free_results free_build(const free_network *network, const free_scene *scene, weft_tensor *input);

/* What a plan gives a graph. */
/* length 0: the batch is replaced by its value. */
wi_given free_given(int64_t batch, int64_t length);
/* In place of the nodes, what wi_make_at_sizes gives; and what rewriting makes of them. */
void free_give(weft_graph *graph, weft_tensor **nodes, size_t count, const wi_given *given);
void free_rewrite(weft_graph *graph, weft_tensor **nodes, size_t count, const wi_given *given);

/* Compares results that were created again at fixed sizes (given) with those of a network that was built with these sizes (direct). Returns
 * the index of the first pair that is not the same computation, or count. Constants that depend on the batch size are compared by their
 * values at `batch`. */
size_t free_other_node(const weft_graph *graph, weft_tensor *const *given, weft_tensor *const *direct,
    size_t count, int64_t batch);

#endif
