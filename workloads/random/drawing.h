/* What draws a program: it, its graph and its values so far. */
#ifndef RANDOM_DRAWING_H
#define RANDOM_DRAWING_H

#include "random/random_program.h"

struct oracle_draw {
    program *p;
    program_random random;
    program_graph built;
    oracle_sizes sizes;
    f64_array *arrays[PROGRAM_VALUES];
    int64_t most; /* elements of a value */
    bool failed;  /* a source was refused */
};

#endif
