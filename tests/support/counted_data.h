/* Examples, some of whose labels are ignored by the loss (-100); a network whose logits are the examples themselves; and its trainers. */
#ifndef COUNTED_DATA_H
#define COUNTED_DATA_H

#include <weft/weft.h>

enum { EXAMPLES = 11, CLASSES = 3, STEPS = 4 };

/* The labels of examples 4 to 7 and of two others are -100. */
typedef struct data {
    float x[EXAMPLES][CLASSES], weight[EXAMPLES], answer[EXAMPLES];
    int32_t label[EXAMPLES], series[EXAMPLES][STEPS], length[EXAMPLES], binary[EXAMPLES];
} data;

data counted_data(void);
/* A dataset of the first `examples` examples, with a column for each array of the struct. */
weft_dataset *counted_dataset(const data *d, size_t examples);

typedef struct network {
    weft_graph *graph;
    weft_tensor *x, *logits, *label, *loss;
} network;

extern const weft_class_loss_options counted_ignoring; /* the label -100 is ignored */
/* Creates the network; its loss is NULL until counted_loss. */
network counted_begin(void);
void counted_loss(network *n);
/* A trainer of the network's loss, with keep_order. */
weft_trainer *counted_trainer(const network *n, weft_trainer_options options);

#endif
