/* Functions that the layers with a loss over many classes share: rows of x, labels of which some are ignored, and the mean over the
 * others. */
#ifndef WI_CLASS_LABELS_H
#define WI_CLASS_LABELS_H

#include "ops/op_table.h"

enum { WI_LABEL_IGNORED = -100 };

typedef struct wi_class_layer {
    weft_graph *graph;
    const char *name; /* of the layer's functions, for errors: "weft_adaptive_softmax" */
    wi_label_kind kind;
    int64_t width, classes;
} wi_class_layer;

/* Is the width at least 1, and the number of classes 2 to 2^30? False: an error was recorded. */
bool wi_class_layer_good(const wi_class_layer *layer);
/* Reshapes x (..., width) to (rows, width); NULL: an error was recorded. *rows is negative if it is a multiple of the
 * batch size (graph/shape.h). */
weft_tensor *wi_class_rows(const wi_class_layer *layer, weft_tensor *x, int64_t *rows);
/* The labels (rows), checked by the plan; x: as the caller gave it. NULL: an error was recorded. */
weft_tensor *wi_class_labels(
    const wi_class_layer *layer, const weft_tensor *x, weft_tensor *labels, int64_t rows);
/* bool (rows): the label is a class, neither ignored nor out of range. */
weft_tensor *wi_class_inside(const wi_class_layer *layer, weft_tensor *labels);
/* total / the number of labels that are not ignored, or 0 if there are none. */
weft_tensor *wi_class_mean(weft_tensor *total, weft_tensor *labels);

#endif
