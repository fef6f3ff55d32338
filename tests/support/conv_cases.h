/* Compares convolution kernels of class gpu with the naive kernel for several shapes, and has the shapes for kernels that compute in
 * tiles. A tuning choice for each site makes the plan use a variant even if the cost model would choose another one for these sizes. */
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

/* Results of less than a tile, of several tiles, and with incomplete tiles; sums of less than a block of k, and with an incomplete last
 * block; phases, groups, and numbers of channels that are no multiple of a vector. Tiles have 64 or 128 rows and columns, blocks 8 steps. */
extern const conv_cases conv_direct, conv_split, conv_weight;

/* A further check of a step that uses the variant. */
typedef void conv_look(const conv_cases *k, const weft_plan *plan, const wi_step *step);

/* Compares `k->kernel/variant` with the naive kernel in one graph of the context. Each step must use this kernel and variant; `look`, if it
 * is not NULL, checks it further. */
void conv_cases_compare(const conv_cases *k, const char *variant, weft_context *context, conv_look *look);

#endif
