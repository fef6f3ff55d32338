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
    const program_options *options;
    program_pairs *covered; /* by the subject of the programs before, and by its own call then */
};

weft_tensor *program_build_call(program_graph *built, const oracle_call *call, const oracle_sizes *sizes);
/* The result of the call that the value is, of these values. */
f64_array *program_evaluate_call(
    const program *p, int value, const oracle_sizes *sizes, f64_array *const *values);

#endif
