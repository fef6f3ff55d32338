/* Small trainings, each with other kinds of state, which tests stop and resume. */
#ifndef RESUMED_TRAINING_H
#define RESUMED_TRAINING_H

#include <weft/weft.h>

typedef enum resumed_kind {
    RESUMED_MLP, /* Adam, shuffled, a smaller last batch, training metrics */
    RESUMED_CNN, /* images with crops and flips, batch norm, dropout, momentum, a cosine schedule by step */
    RESUMED_TEXT, /* an LSTM whose state is carried along the streams of a text; keep_order; accumulated gradients */
    RESUMED_PLATEAU, /* a plateau schedule, early stopping, and the best weights restored at the end */
    RESUMED_LONG     /* as RESUMED_CNN, with more epochs, a checkpoint every 2 steps, and a log */
} resumed_kind;

typedef struct resumed_training {
    weft_graph *graph;
    weft_dataset *data, *validation;
    weft_trainer *trainer;
    weft_epoch last; /* the last epoch that was finished */
    size_t stop_at;  /* stops after this number of steps, over all runs; 0: never */
} resumed_training;

/* Creates the training in a new graph of the fixture's context. checkpoints: a folder, to which one is saved every 4 steps;
 * NULL: none. */
resumed_training *resumed_training_make(resumed_kind kind, const char *checkpoints);
void resumed_training_end(resumed_training *t);

#endif
