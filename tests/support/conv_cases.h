/* Convolutions for tests of tiles of class gpu: results of less than a tile, of several, and of parts; sums of less than a block of k, and
 * of blocks that are not whole; phases, groups, and channels that are not whole vectors. Tiles have 64 or 128 rows and columns, blocks 8
 * steps. */
#ifndef CONV_CASES_H
#define CONV_CASES_H

#include "support/conv_net.h"

static const conv_case conv_direct_cases[] = {
    {"less than a tile and a block", 1, 3, 5, 4, 6, 1, 1, 1, 0, 1},
    {"several tiles each way", 2, 24, 9, 11, 130, 3, 1, 1, 1, 1},
    {"taps of four channels, two in a block", 2, 4, 12, 11, 20, 3, 1, 1, 1, 1},
    {"odd channels, a copy of the image", 2, 21, 9, 8, 67, 3, 1, 1, 1, 1},
    {"stride 2, phases of 1, 2 and 4 taps", 2, 40, 13, 11, 70, 3, 2, 1, 1, 1},
    {"stride 3 over one tap, phases without taps", 1, 36, 14, 13, 66, 1, 3, 1, 0, 1},
    {"stride 2, dilation 2", 1, 28, 14, 13, 68, 3, 2, 2, 1, 1},
    {"groups", 2, 40, 7, 6, 136, 3, 1, 1, 1, 2},
    {"groups of odd channels", 2, 57, 9, 7, 51, 3, 2, 1, 1, 3},
};
/* Enough steps for all phases to be split on many units. */
static const conv_case conv_split_cases[] = {
    {"many channels", 1, 256, 7, 7, 68, 3, 1, 1, 1, 1},
    {"blocks that splits share unequally", 2, 500, 5, 6, 131, 1, 1, 1, 0, 1},
    {"odd channels, a copy of the image", 1, 259, 6, 5, 67, 3, 1, 1, 1, 1},
    {"stride 2, phases of 1, 2 and 4 taps", 2, 64, 13, 12, 130, 3, 2, 1, 1, 1},
    {"stride 2, dilation 2", 1, 45, 11, 12, 64, 3, 2, 2, 1, 1},
    {"groups of odd channels", 1, 57, 9, 7, 51, 3, 2, 1, 1, 3},
};
/* Positions, of which a block has 8, in rows that end in a block, before and after others: as many in an image as in a block, fewer,
 * and many. Filters are rows, taps and channels are columns. */
static const conv_case conv_weight_cases[] = {
    {"less than a tile and a block", 1, 3, 5, 4, 6, 1, 1, 1, 0, 1},
    {"several tiles each way", 2, 24, 9, 11, 130, 3, 1, 1, 1, 1},
    {"odd channels and filters, copies of both", 2, 21, 9, 8, 67, 3, 1, 1, 1, 1},
    {"stride 2, dilation 2", 1, 28, 14, 13, 68, 3, 2, 2, 1, 1},
    {"images of fewer positions than a block", 19, 12, 4, 3, 72, 3, 2, 1, 1, 1},
    {"one position of an image", 21, 16, 3, 3, 64, 3, 1, 1, 0, 1},
    {"stride 3 beyond the window", 3, 8, 17, 16, 12, 2, 3, 1, 0, 1},
    {"groups of odd channels", 2, 57, 9, 7, 51, 3, 2, 1, 1, 3},
};

/* Convolutions that a kernel is for, in one graph. */
typedef struct conv_cases {
    const char *kernel;
    int extras; /* of conv_net_in */
    const conv_case *cases;
    size_t count;
} conv_cases;

#define CONV_CASES(list) (list), sizeof(list) / sizeof *(list)

static const conv_cases conv_direct = {"conv_gpu", CONV_BIAS | CONV_SUMS, CONV_CASES(conv_direct_cases)},
                        conv_split = {"split_gpu", CONV_BIAS | CONV_SUMS, CONV_CASES(conv_split_cases)},
                        conv_weight = {"conv_gpu_weight", CONV_OF_WEIGHT, CONV_CASES(conv_weight_cases)};

/* The steps of a plan of such a graph that the kernel is for: how many; steps as of conv_net_steps. */
static inline size_t conv_cases_steps(const conv_cases *k, const weft_plan *plan, const wi_step **steps) {
    return k->extras & CONV_OF_WEIGHT ? conv_net_weight_steps(plan, steps) : conv_net_steps(plan, steps);
}

#endif
