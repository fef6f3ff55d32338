/* A graph convolutional network (T. Kipf and M. Welling 2017) learns to which community each node of a graph belongs, of which
 * it is told for a few nodes. */
#include "trace.h"
#include "training_loop.h"
#include <stdio.h>
#include <weft/short_names.h>

enum { NODES = 400, LINKS = 1600, FEATURES = 16, COMMUNITIES = 4, TOLD = 20, HIDDEN = 16 };
static option steps = {"--steps", OPTION_COUNT, "N", "number of updates", "200"};

/* Most edges join nodes of one community; node i is of the community i % COMMUNITIES. */
typedef struct network {
    int32_t edges[2][LINKS], labels[NODES];
    float features[NODES][FEATURES];
} network;

static void draw_graph(network *n) {
    for (int i = 0; i < LINKS; i++) {
        const int32_t begin = (int32_t)draw_below(NODES), end = (int32_t)draw_below(NODES);
        const int32_t near = end - end % COMMUNITIES + begin % COMMUNITIES;
        n->edges[0][i] = begin, n->edges[1][i] = draw() < 0.75 ? near : end;
    }
    for (int i = 0; i < NODES; i++) {
        for (int k = 0; k < FEATURES; k++) n->features[i][k] = (float)draw_normal();
        n->labels[i] = i % COMMUNITIES;
        n->features[i][n->labels[i]] += 1;
    }
}

/* Of both directions of each edge and of each node itself: begin, end, and a weight by the degrees of both. */
typedef struct adjacency {
    tensor *begin, *end, *weights;
} adjacency;

static adjacency normalise(graph *g, tensor *a, tensor *b) {
    tensor *itself = arange(g, I32, 0, NODES, 1), *one = full(g, F32, 1, SHAPE(2 * LINKS + NODES));
    tensor *begin = concat(TENSORS(a, b, itself), 0), *end = concat(TENSORS(b, a, itself), 0);
    tensor *factor = rsqrt(index_sum(one, 0, begin, NODES));
    return (adjacency){begin, end, mul(index_select(factor, 0, begin), index_select(factor, 0, end))};
}

static tensor *convolution(graph *g, const char *name, tensor *x, adjacency a, int64_t width) {
    scope_begin(g, name, false);
    tensor *h = linear(x, width, .name = "linear", .no_bias = true);
    tensor *sums = sparse_matmul(a.begin, a.end, a.weights, NODES, h);
    tensor *y = add(sums, parameter(g, "bias", zeros(), width));
    scope_end(g);
    return y;
}

static status train(training_loop *loop) {
    static network n;
    int32_t count = 0;
    float now = 0;
    plan *learn = NULL, *test = NULL;
    graph *g = loop->graph;

    draw_graph(&n);
    tensor *begin = array(g, I32, n.edges[0], SHAPE(LINKS)), *end = array(g, I32, n.edges[1], SHAPE(LINKS));
    tensor *labels = array(g, I32, n.labels, SHAPE(NODES));
    tensor *features = array(g, F32, n.features, SHAPE(NODES, FEATURES));
    const adjacency a = normalise(g, begin, end);
    tensor *h = relu(convolution(g, "layer1", features, a, HIDDEN));
    tensor *logits = convolution(g, "layer2", h, a, COMMUNITIES);
    tensor *loss = cross_entropy(slice(logits, 0, 0, TOLD), slice(labels, 0, 0, TOLD));
    tensor *right = sum(cast(slice(equal(argmax(logits, 1), labels), 0, TOLD, END), I32));
    optimizer rule = adam(0.01f);
    rule.weight_decay = 5e-4f;
    status error = plan_create(&learn, TENSORS(loss, train_step(loss, rule, NULL)), NULL) ||
                   plan_create(&test, TENSORS(right), NULL) || loop_begin(loop, option_count_of(&steps));
    trace_values(VALUES(VALUE(begin, n.edges[0]), VALUE(end, n.edges[1]), VALUE(features, n.features)));
    while (loop_next(loop, &error)) {
        error = plan_step(learn, VALUES(VALUE(loss, now)));
        trace_values(VALUES(VALUE(loss, now)));
        if (loop_every(loop, 50)) printf("step %4zu: loss %.3f\n", loop->step, (double)now);
    }
    if (!error && !loop->stopped) {
        error = plan_step(test, VALUES(VALUE(right, count)));
        if (!error) printf("%d of %d nodes whose community was not given are right\n", count, NODES - TOLD);
    }
    plan_release(learn), plan_release(test);
    return error;
}

int main(int argc, char **argv) {
    command_line line = {
        "graph_network", "Learns to which community each node of a graph belongs.", &steps, 1, .loops = true};
    return loop_main(&line, argc, argv, train);
}
