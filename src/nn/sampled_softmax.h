/* The classes that a sampled softmax draws, for tests of their distribution. */
#ifndef WI_SAMPLED_SOFTMAX_H
#define WI_SAMPLED_SOFTMAX_H

#include "graph/weft_graph.h"
#include <weft/classes.h>

/* i32 (samples): new draws in each run. */
weft_tensor *wi_sampled_classes(
    weft_graph *graph, int64_t classes, int64_t samples, weft_class_proposal proposal);
/* The loss with the caller's draws: i32 (samples). */
weft_tensor *wi_sampled_softmax_loss_of(
    weft_sampled_softmax *softmax, weft_tensor *x, weft_tensor *labels, weft_tensor *drawn);

#endif
