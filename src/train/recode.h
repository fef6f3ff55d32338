/* A dataset beside what a graph was trained with: equal, with categories of other numbers, or of another meaning. */
#ifndef WI_RECODE_H
#define WI_RECODE_H

#include "train/dataset.h"

/* Compares the encodings of the columns for which used[i] with those that the graph has of the same names. The result is
 * the dataset itself, retained, or one over its data in which the numbers of categories are those of the graph. Errors:
 * WEFT_ERROR_ARGUMENT: an example has a category that the graph does not know; numbers that were normalised differently. */
weft_status wi_dataset_recode(
    weft_dataset **recoded, weft_dataset *dataset, const weft_graph *graph, const bool *used);
/* Gives the graph the encodings of those columns. */
weft_status wi_dataset_keep_encodings(weft_graph *graph, const weft_dataset *dataset, const bool *used);

#endif
