/* Two classes of points (contract in two_classes.h). */
#include "support/two_classes.h"
#include "support/checks.h"

problem make_problem(void) {
    problem p;
    for (int i = 0; i < POINTS; i++) {
        p.labels[i] = i % 2;
        p.xs[i][0] = (i % 2 ? 1.0f : -1.0f) + (float)(i * 7 % 10) * 0.05f;
        p.xs[i][1] = (float)(i * 3 % 11) * 0.1f - 0.5f;
    }
    return p;
}

weft_dataset *make_dataset(weft_context *owner, const problem *p) {
    weft_dataset *dataset = NULL;
    const weft_column columns[] = {
        {.name = "unused", .dtype = WEFT_I32, .data = p->labels},
        {.name = "x", .dtype = WEFT_F32, .rank = 1, .dims = {2}, .data = p->xs},
        {.name = "label", .dtype = WEFT_I32, .data = p->labels},
    };
    assert_ok(weft_dataset_from_memory(&dataset, owner, POINTS, columns, 3));
    return dataset;
}

network make_network(weft_context *owner) {
    network net;
    assert_ok(weft_graph_create(&net.graph, owner));
    net.logits = weft_linear(weft_tanh(weft_linear(weft_input(net.graph, "x", WEFT_F32, 2), 8)), 2);
    net.loss = weft_cross_entropy(net.logits, weft_input(net.graph, "label", WEFT_I32));
    assert_ok(weft_graph_status(net.graph));
    return net;
}

weft_trainer *make_trainer(const network *net, weft_trainer_options options) {
    weft_trainer *trainer = NULL;
    options.struct_size = sizeof options;
    if (!options.optimizer.kind) options.optimizer = weft_sgd_momentum(0.1f, 0.9f, 0.0f);
    if (!options.batch) options.batch = 8;
    assert_ok(weft_trainer_create(&trainer, net->loss, &options));
    return trainer;
}
