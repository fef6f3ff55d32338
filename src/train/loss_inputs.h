/* Finds, by walking through the nodes of a loss, the inputs that decide which examples count and how much: the labels, the mask
 * through which the loss reads them, and the weights by which it multiplies its losses. */
#ifndef WI_LOSS_INPUTS_H
#define WI_LOSS_INPUTS_H

#include "graph/weft_graph.h"

/* The input of which the labels are the values: the labels are the input itself, reshaped, or masked (a `where` with a
 * constant). NULL: the labels are computed in another way. */
const weft_tensor *wi_fed_labels(const weft_tensor *labels);
/* The input from which the mask of the labels is computed, such as lengths; NULL: there is none besides the labels. */
const weft_tensor *wi_mask_of_labels(const weft_tensor *labels);

/* If the node multiplies something by a float input, returns the input, and *losses is the other factor; else NULL. */
const weft_tensor *wi_weights_of_product(const weft_tensor *product, const weft_tensor **losses);
/* Does `losses` depend on the target through only a few nodes, as a loss does? */
bool wi_compares(const weft_tensor *losses, const weft_tensor *target);

#endif
