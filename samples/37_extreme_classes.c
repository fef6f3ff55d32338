/* A classifier over a million classes: with the logits of all of them, of a drawn sample of them (sampled softmax), or of the
 * buckets that hash functions give them (MACH). */
#include "console.h"
#include "products.h"
#include "training_loop.h"
#include <stdio.h>
#include <weft/short_names.h>

enum { TESTED = 64, HIDDEN = 128, GROUPS = 8, BUCKETS = 512 }; /* batches that are tested; MACH */
enum { OUTPUT, STEPS, CLASSES, SAMPLES, OPTIONS };
static option options[OPTIONS] = {
    [OUTPUT] = {"--output", OPTION_CHOICE, "full|sampled|mach", "the output layer", "sampled"},
    [STEPS] = {"--steps", OPTION_COUNT, "N", "number of updates", "3000"},
    [CLASSES] = {"--classes", OPTION_COUNT, "N", "number of classes", "1000000"},
    [SAMPLES] = {"--samples", OPTION_COUNT, "N", "classes that a sampled softmax draws per update", "1024"},
};
static int64_t count_of(int which) {
    return (int64_t)option_count_of(&options[which]);
}

typedef struct net {
    tensor *x, *label, *loss;
    tensor *out;  /* MACH: probabilities of the buckets; otherwise i32, how many classes have larger logits */
    mach *hashed; /* NULL: not MACH */
} net;

static net network(graph *g, int64_t classes) {
    net n = {.x = input(g, "x", F32, FEATURES), .label = input(g, "label", I32)};
    const initialiser zero = zeros();
    tensor *logits;
    if (options[OUTPUT].text[0] == 'm') {
        tensor *h = relu(linear(n.x, HIDDEN)); /* a bucket has many classes, which no plane separates */
        n.hashed = mach_layer(g, HIDDEN, classes, GROUPS, BUCKETS, NULL);
        n.loss = mach_loss(n.hashed, h, n.label), n.out = mach_probabilities(n.hashed, h);
        return n;
    }
    if (options[OUTPUT].text[0] == 's') {
        sampled_softmax *layer = sampled_softmax_layer(
            g, FEATURES, classes, count_of(SAMPLES), WITH(sampled_softmax, .initialiser = &zero));
        n.loss = sampled_softmax_loss(layer, n.x, n.label), logits = sampled_softmax_logits(layer, n.x);
    } else {
        logits = linear(n.x, classes, .weight_initialiser = &zero, .no_bias = true);
        n.loss = cross_entropy(logits, n.label);
    }
    n.out = sum(cast(greater(logits, gather(logits, 1, unsqueeze(n.label, 1))), I32), 1);
    return n;
}

/* Prints for how many of new examples the class is among the BEST of the network. */
static status test(const net *n, plan *p, int64_t classes, double milliseconds) {
    static products unseen;
    static int32_t above[BATCH_SIZE], best[BATCH_SIZE * BEST];
    static float buckets[BATCH_SIZE * GROUPS * BUCKETS];
    status error = OK;
    int hits = 0;
    for (int i = 0; !error && i < TESTED; i++) {
        draw_products(&unseen, classes);
        const value x = VALUE(n->x, unseen.x), label = VALUE(n->label, unseen.labels);
        error = n->hashed ? plan_step(p, VALUES(x, VALUE(n->out, buckets)))
                          : plan_step(p, VALUES(x, label, VALUE(n->out, above)));
        if (n->hashed && !error) error = mach_top(n->hashed, buckets, BATCH_SIZE, BEST, best, NULL);
        hits += n->hashed ? count_hits(&unseen, best) : count_few(above);
    }
    if (!error)
        printf(
            "recall@%d %.3f; %.2f ms per step\n", BEST, (double)hits / (TESTED * BATCH_SIZE), milliseconds);
    return error;
}

static status train(training_loop *loop) {
    static products seen;
    const int64_t classes = count_of(CLASSES);
    const net n = network(loop->graph, classes);
    tensor *update = train_step(n.loss, n.hashed ? adam(0.002f) : sgd(20), NULL);
    plan *learn = NULL, *name = NULL;
    float now = 0;
    double seconds = 0, timed = 0;
    status error = plan_create(&learn, TENSORS(n.loss, update), WITH(plan, .batch = BATCH_SIZE));
    if (!error) error = plan_create(&name, TENSORS(n.out), WITH(plan, .batch = BATCH_SIZE));
    if (!error) print_memory(learn);
    if (!error) error = loop_begin(loop, (size_t)count_of(STEPS));
    const value values[] = {VALUE(n.x, seen.x), VALUE(n.label, seen.labels), VALUE(n.loss, now)};
    while (loop_next(loop, &error)) {
        draw_products(&seen, classes);
        const double began = console_seconds();
        error = plan_step(learn, values, 3);
        seconds += timed++ > 0 ? console_seconds() - began : 0; /* the first run initialises */
        trace_values(values, 3);
        if (loop_every(loop, 500)) printf("step %5zu: loss %.4f\n", loop->step, (double)now);
    }
    if (!error && !loop->stopped) error = test(&n, name, classes, 1e3 * seconds / fmax(timed - 1, 1));
    plan_release(learn), plan_release(name);
    return error;
}

int main(int argc, char **argv) {
    command_line line = {
        "extreme_classes", "Learns to name one of a million classes.", options, OPTIONS, .loops = true};
    return loop_main(&line, argc, argv, train);
}
