/* Which inputs say what a loss counts of the labels, by the tensors of its graph: the mask that it reads them behind, and the
 * weights that it multiplies its losses by. */
#ifndef WI_LOSS_INPUTS_H
#define WI_LOSS_INPUTS_H

#include "graph/nodes.h"

/* The input whose labels these are, element by element: itself, or behind masks. NULL: they are something else. */
const weft_tensor *wi_fed_labels(const weft_tensor *labels);
/* The input that masks these labels, as lengths or numbers of its own; NULL: nothing but the labels does. */
const weft_tensor *wi_mask_of_labels(const weft_tensor *labels);

/* The input by whose numbers a product multiplies something else, which *losses then is; NULL: it is no such product. */
const weft_tensor *wi_weights_of_product(const weft_tensor *product, const weft_tensor **losses);
/* Is the node a few steps from the target, as losses are? */
bool wi_compares(const weft_tensor *losses, const weft_tensor *target);

#endif
