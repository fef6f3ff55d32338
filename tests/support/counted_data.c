/* Contract in counted_data.h. */
#include "support/counted_data.h"
#include "support/checks.h"
#include "support/fixture.h"

static int32_t label_of(int i) {
    return (i >= 4 && i < 8) || i == 1 || i == 9 ? -100 : (i * 2 + i / 2 + 2) % 3;
}

data counted_data(void) {
    data d;
    for (int i = 0; i < EXAMPLES; i++) {
        for (int c = 0; c < CLASSES; c++) d.x[i][c] = (float)((i * 7 + c * 5) % 13 - 6) / 4;
        d.label[i] = label_of(i);
        d.weight[i] = (float)(i % 4) / 2;
        d.length[i] = i % (STEPS + 1);
        d.binary[i] = i % 3 == 0;
        d.answer[i] = (float)d.binary[i];
        for (int t = 0; t < STEPS; t++) d.series[i][t] = (i + t * t) % CLASSES;
    }
    return d;
}

weft_dataset *counted_dataset(const data *d, size_t examples) {
    const weft_column columns[] = {
        {.name = "x", .dtype = WEFT_F32, .rank = 1, .dims = {CLASSES}, .data = d->x},
        {.name = "label", .dtype = WEFT_I32, .data = d->label},
        {.name = "weight", .dtype = WEFT_F32, .data = d->weight},
        {.name = "length", .dtype = WEFT_I32, .data = d->length},
        {.name = "series", .dtype = WEFT_I32, .rank = 1, .dims = {STEPS}, .data = d->series},
        {.name = "binary", .dtype = WEFT_I32, .data = d->binary},
        {.name = "answer", .dtype = WEFT_F32, .data = d->answer},
    };
    weft_dataset *dataset = NULL;
    assert_ok(weft_dataset_from_memory(
        &dataset, test_context(), examples, columns, sizeof columns / sizeof *columns));
    return dataset;
}

const weft_class_loss_options counted_ignoring = {
    WEFT_CLASS_LOSS_OPTIONS_INIT, .ignore = true, .ignored_label = -100};

/* The weight is the identity, so that the logits begin as x. */
network counted_begin(void) {
    network n;
    n.graph = test_graph();
    n.x = weft_input(n.graph, "x", WEFT_F32, CLASSES);
    weft_tensor *const weight = weft_parameter(n.graph, "weight", weft_zeros(), CLASSES, CLASSES);
    n.logits = weft_matmul(n.x, weight);
    n.label = weft_input(n.graph, "label", WEFT_I32);
    n.loss = NULL;
    const float identity[] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    assert_ok(weft_tensor_write(weight, identity, sizeof identity));
    return n;
}

void counted_loss(network *n) {
    n->loss = weft_cross_entropy_loss(n->logits, n->label, &counted_ignoring);
}
weft_trainer *counted_trainer(const network *n, weft_trainer_options options) {
    weft_trainer *trainer = NULL;
    options.struct_size = sizeof options;
    options.keep_order = true;
    assert_ok(weft_graph_status(n->graph));
    assert_ok(weft_trainer_create(&trainer, n->loss, &options));
    return trainer;
}
