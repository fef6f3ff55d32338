/* Options of spatial axes. A field in the singular is one number for all of them, and its plural has one for each, where they
 * differ: stride, strides. */
#ifndef WI_SPATIAL_H
#define WI_SPATIAL_H

#include "graph/nodes.h"

typedef struct wi_spatial {
    const char *one, *many; /* "stride", "strides" */
    int64_t number;         /* 0: not given */
    int64_t *numbers;       /* of three axes; all 0: not given */
    bool may_be_zero;       /* of one axis beside others: a padding */
} wi_spatial;

#define WI_SPATIAL(options, name, zero)                                                                      \
    (&(const wi_spatial){#name, #name "s", (options)->name, (options)->name##s, .may_be_zero = (zero)})

/* Gives each of `axes` axes its number, in `numbers`; 0 where neither is given. False with the error recorded: both are given, an
 * axis has none beside others, an axis that x does not have has one. */
bool wi_spatial_read(const weft_tensor *x, const char *op, int axes, const wi_spatial *field);

#endif
