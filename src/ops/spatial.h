/* Options of spatial axes: a field such as `stride` has a number for all axes, and its plural `strides` a number for each. */
#ifndef WI_SPATIAL_H
#define WI_SPATIAL_H

#include "graph/weft_graph.h"

typedef struct wi_spatial {
    const char *one, *many; /* "stride", "strides" */
    int64_t number;         /* 0: not given */
    int64_t *numbers;       /* three; all 0: not given */
    bool may_be_zero;       /* some of `numbers` may be 0, as for a padding */
} wi_spatial;

#define WI_SPATIAL(options, name, zero)                                                                      \
    (&(const wi_spatial){#name, #name "s", (options)->name, (options)->name##s, .may_be_zero = (zero)})

/* Fills `numbers` for the axes of x; 0 if neither field is given. False: an error is recorded, because both fields are given, because
 * only some of the axes have a number, or because an axis that x does not have has one. */
bool wi_spatial_read(const weft_tensor *x, const char *op, int axes, const wi_spatial *field);

#endif
