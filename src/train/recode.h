/* Compares a dataset with the data that a graph was trained with. The categories may have other numbers. */
#ifndef WI_RECODE_H
#define WI_RECODE_H

#include "train/dataset.h"

/* Compares the encodings of the columns c with used[c] with the graph's encodings of these names. *recoded: the dataset
 * itself, retained, or a dataset over its data in which categories have the graph's numbers. WEFT_ERROR_ARGUMENT: an
 * example has a category that the graph does not know, or numbers were normalised differently. */
weft_status wi_dataset_recode(
    weft_dataset **recoded, weft_dataset *dataset, const weft_graph *graph, const bool *used);
/* Stores the encodings of the columns c with used[c] in the graph. */
weft_status wi_dataset_keep_encodings(weft_graph *graph, const weft_dataset *dataset, const bool *used);

#endif
