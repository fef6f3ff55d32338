/* The form in which losses and metrics take predictions: logits, or logarithms of probabilities.
 *
 * What weft_softmax or weft_sigmoid gives is neither: it would be converted a second time, or taken for its logarithm, and
 * training would go on with wrong numbers. */
#ifndef WI_PREDICTION_FORM_H
#define WI_PREDICTION_FORM_H

#include "graph/nodes.h"

/* "softmax" or "sigmoid" if x is the result of that op, through views, casts and weft_stop_gradient; else NULL. */
const char *wi_probabilities_of(const weft_tensor *x);
/* False, with the graph's error, if x is probabilities: `op` applies softmax or sigmoid to its logits itself. */
bool wi_takes_logits(const char *op, const weft_tensor *x);
/* The same of an op that takes log-probabilities. */
bool wi_takes_log_probabilities(const char *op, const weft_tensor *x);

#endif
