/* A graph that a failed call has left is used: with the same weights it must compute what an undisturbed graph computes. */
#ifndef FAULT_USE_H
#define FAULT_USE_H

#include "fault_subject.h"

typedef struct fault_use {
    weft_graph *graph;
    weft_tensor *loss, *output; /* numbers; f32 */
    size_t batch;
    const weft_column *columns; /* of the inputs of the loss; first those that the output needs, too */
    size_t column_count, output_columns;
} fault_use;

/* Creates a plan of the loss, predicts the output, and saves the weights, which are those that the first graph had that
 * was used (a file of world->data has them). numbers: the loss, the file, the output. */
weft_status fault_use_graph(const fault_world *world, const fault_use *use, double numbers[FAULT_NUMBERS]);

#endif
