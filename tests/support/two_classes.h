/* A small problem to train on: two classes of points in the plane, and a network that separates them. */
#ifndef TWO_CLASSES_H
#define TWO_CLASSES_H

#include <weft/weft.h>

enum { POINTS = 100 };

typedef struct problem {
    float xs[POINTS][2];
    int32_t labels[POINTS];
} problem;

problem make_problem(void);
/* Columns "unused", "x" f32 (2) and "label" i32. */
weft_dataset *make_dataset(weft_context *owner, const problem *p);

typedef struct network {
    weft_graph *graph;
    weft_tensor *logits, *loss;
} network;

/* Layers of 2, 8 and 2 units, with tanh and cross-entropy. */
network make_network(weft_context *owner);
/* Creates a trainer of the network. Options that are unset: the optimizer is SGD with momentum, the batch is 8. */
weft_trainer *make_trainer(const network *net, weft_trainer_options options);

#endif
