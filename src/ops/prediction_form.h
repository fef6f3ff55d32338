/* Losses and metrics take logits or log-probabilities. The result of weft_softmax or weft_sigmoid is neither, and training would go on
 * with wrong numbers. Constructors therefore refuse it. */
#ifndef WI_PREDICTION_FORM_H
#define WI_PREDICTION_FORM_H

#include "graph/weft_graph.h"

/* "softmax" or "sigmoid" if x is the result of that op, seen through views, casts and weft_stop_gradient; else NULL. */
const char *wi_probabilities_of(const weft_tensor *x);
/* False: x is a result of softmax or sigmoid, which `op` applies itself; the error is recorded. */
bool wi_takes_logits(const char *op, const weft_tensor *x);
/* Like wi_takes_logits, for an op that takes log-probabilities. */
bool wi_takes_log_probabilities(const char *op, const weft_tensor *x);

#endif
