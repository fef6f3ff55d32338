/* Examples of which some have labels that do not count, a network whose logits they are, and trainers of it. */
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
/* A column of each, of the first examples. */
weft_dataset *counted_dataset(const data *d, size_t examples);

typedef struct network {
    weft_graph *graph;
    weft_tensor *x, *logits, *label, *loss;
} network;

extern const weft_class_loss_options counted_ignoring; /* -100 */
/* Without a loss. */
network counted_begin(void);
void counted_loss(network *n);
/* Of the network's loss; in the order of the dataset. */
weft_trainer *counted_trainer(const network *n, weft_trainer_options options);

#endif
