/* Kernels of convolutions of class gpu compared with the naive kernel, over several shapes, and the shapes for kernels in tiles. A
 * tuning choice for each site brings a variant into the plan, whatever the cost model says of these sizes. */
#ifndef CONV_CASES_H
#define CONV_CASES_H

#include "support/conv_net.h"

typedef struct conv_cases {
    const char *kernel;
    int extras; /* of conv_net_in */
    const conv_case *cases;
    size_t count;
} conv_cases;

#define CONV_CASES(list) (list), sizeof(list) / sizeof *(list)

/* Results of less than a tile, of several, and of parts; sums of less than a block of k, and of blocks that are not whole; phases, groups,
 * and channels that are not whole vectors. Tiles have 64 or 128 rows and columns, blocks 8 steps. */
extern const conv_cases conv_direct, conv_split, conv_weight;

/* What else a step of the variant must be. */
typedef void conv_look(const conv_cases *k, const weft_plan *plan, const wi_step *step);

/* Compares `k->kernel/variant` with the naive kernel in one graph of the context, and looks at each step; look NULL: at its kernel's name
 * alone. */
void conv_cases_compare(const conv_cases *k, const char *variant, weft_context *context, conv_look *look);

#endif
