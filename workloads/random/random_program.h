/* Random programs: lists of sources and calls over numbered values, drawn from a seed, that are computed by the library and by
 * the oracle.
 *
 *   draw.c            the choices that a family's draw functions ask for (oracle/draw.h)
 *   draw_program.c    draws a program
 *   random_program.c  builds its graph; evaluates it in float64
 *   pairs.c           counts which attributes of ops programs have met at which sizes
 *   random_run.c      plans and runs it in several forms, and has the results judged
 *   judge.c           is a value, or a gradient, within what the oracle allows?
 *   stored.c          what storing results in the program's format makes of a gradient
 *   random_reduce.c   makes a program that fails smaller
 *   print.c           writes calls as lines of C
 *   print_program.c   writes a program as one of C */
#ifndef RANDOM_PROGRAM_H
#define RANDOM_PROGRAM_H

#include "oracle/draw.h"

enum { PROGRAM_VALUES = 64, PROGRAM_CALLS = 12, PROGRAM_LOSS_TERMS = 3 };

typedef enum program_source_kind {
    PROGRAM_INPUT,
    PROGRAM_PARAMETER,
    PROGRAM_STATE,
    PROGRAM_ARRAY, /* numbers that the graph holds (weft_array) */
    PROGRAM_SOURCE_KINDS
} program_source_kind;

typedef struct program_source {
    program_source_kind kind;
    weft_dtype dtype;
    int64_t dims[WEFT_MAX_RANK + 1]; /* ended by WEFT_END */
    double low, high;
    int64_t below; /* as in draw_source_options */
    bool ascending, distinct, from_zero, changed;
} program_source;

typedef struct program_value {
    bool is_call;
    bool shown;   /* an output of the plan */
    int assigned; /* of a state: the value that each run assigns to it, which comes later; 0: none */
    program_source source;
    oracle_call call;
    int64_t elements; /* of the call's largest input, at the sizes that the program was drawn with */
} program_value;

typedef struct program {
    uint64_t seed, number;
    weft_dtype format;        /* of its floats */
    weft_precision precision; /* of the graph; where it is mixed, format is f32 */
    bool free_batch, free_length, inference;
    bool minimizes;        /* an optimizer step is among its outputs, */
    float clip_norm;       /* which clips to this norm; 0: it does not */
    uint64_t frozen;       /* and leaves these sources alone, a bit each */
    bool second;           /* so are second gradients */
    int64_t batch, length; /* that it was drawn with */
    program_value values[PROGRAM_VALUES];
    int count;
    /* The loss: the sum of these values, each times weights of its shape. */
    int loss[PROGRAM_LOSS_TERMS], loss_count;
} program;

/* SplitMix64 (G. L. Steele, D. Lea, C. H. Flood, OOPSLA 2014). */
typedef struct program_random {
    uint64_t state;
} program_random;
program_random program_random_of(uint64_t seed, uint64_t number, uint64_t stream);
uint64_t program_random_bits(program_random *random);
double program_random_between(program_random *random, double low, double high);

/* The pairs of an op's attribute, in a class of values, and a class of sizes (pairs.h) that were drawn, and those that programs have. */
typedef struct program_pairs program_pairs;
program_pairs *program_pairs_create(void); /* NULL: out of memory */
void program_pairs_release(program_pairs *pairs);
void program_cover(program_pairs *pairs, const program *p); /* the program has run */
size_t program_pairs_covered(const program_pairs *pairs);
size_t program_pairs_known(const program_pairs *pairs);

enum { PROGRAM_CANDIDATES = 8 };

typedef struct program_options {
    uint64_t seed;
    weft_dtype format;
    weft_precision precision;
    const char *only;     /* an op of the table, which each program has; NULL: each op in turn */
    int candidates;       /* calls of that op that are drawn, of which one is taken; 0: PROGRAM_CANDIDATES */
    program_pairs *pairs; /* notes what was drawn; it changes no program. NULL: nobody asks */
} program_options;

/* Sets format and precision of this name: f32, bf16, f16, or mixed precision of graphs in f32: mixed (bf16), mixed_f16. False: there is none
 * of that name. */
bool program_precision_of(const char *name, program_options *options);
/* Draws program `number` of the seed: the same one on every machine. False with the error recorded where the host has no memory. */
bool program_draw(program *p, weft_context *context, const program_options *options, uint64_t number);

/* The sizes that it was drawn with, in its free form, and the seed of the context. */
oracle_sizes program_sizes(const program *p, const weft_context *context);

/* ---- as a graph ---- */
typedef struct program_graph {
    weft_graph *graph;
    weft_tensor *tensors[PROGRAM_VALUES];
} program_graph;
/* Values up to `count` of a graph of its own; the status of the first constructor that refuses. */
weft_status program_build(
    program_graph *built, weft_context *context, const program *p, int count, const oracle_sizes *sizes);

/* ---- in float64 ---- */
/* A source's elements, as its dtype keeps them: the same numbers first, however large the batch is. */
f64_array *program_source_values(const program *p, int value, const oracle_sizes *sizes);
/* What the results of the calls are of these sources, whose arrays stand in `values`. With noise, `values` has the results at some
 * sources already: these results, and the changes from them, are multiplied by 1 + noise·r with r in -1 .. 1 by element, which
 * shows how far roundings may carry. */
void program_evaluate(
    const program *p, const oracle_sizes *sizes, f64_array **values, double noise, uint64_t noise_seed);
/* The elements of the weights that the loss has for its term: 0 where this value of it is not finite, as no difference of the loss tells
 * a gradient by such a term, which a rule may give. */
f64_array *program_loss_weights(const program *p, int term, const f64_array *value);
/* Does the value depend on the other one? */
bool program_depends(const program *p, int value, int on);
/* Is it, or a value that it depends on, the result of such an op? */
bool program_any_call(const program *p, int value, bool (*has)(const oracle_call *call));
bool program_is_random(const program *p, int value);
bool program_has_no_gradient(const program *p, int value);
/* How many random calls there are before the value: the number of the stream that it draws from. */
int program_draws_before(const program *p, int value);
/* The nearest number that the dtype has. */
double program_nearest(weft_dtype dtype, double value);
/* The format that results may be stored in: that of its floats, or of mixed precision. */
weft_dtype program_stored(const program *p);
/* Beyond it a format has infinities, or rounds to them on the way. */
double program_largest(weft_dtype dtype);
/* The spacing of numbers of a 16-bit format around the value; 0 for other formats. */
double program_rounding(weft_dtype dtype, double value);

/* ---- judging ---- */
typedef enum program_verdict {
    PROGRAM_RIGHT,
    PROGRAM_REFUSED,  /* a plan said in one line that it cannot (WEFT_ERROR_UNSUPPORTED and the like) */
    PROGRAM_WRONG,    /* other numbers */
    PROGRAM_INTERNAL, /* WEFT_ERROR_INTERNAL, or a driver's or compiler's error */
    PROGRAM_VERDICTS
} program_verdict;

typedef struct program_tally {
    uint64_t judged, unjudged; /* elements */
    uint64_t slopes, unjudged_slopes;
    uint64_t plans;
} program_tally;

typedef struct program_result {
    program_verdict verdict;
    char line[512];     /* what is wrong */
    oracle_sizes sizes; /* of the last run */
    program_tally tally;
} program_result;

/* Computes it in all forms that belong to it. */
void program_run(const program *p, weft_context *context, program_result *result);

/* Compares elements with what is wanted; false: the line says which one is wrong. */
bool program_judge(
    const char *what, weft_dtype dtype, const void *got, const f64_array *wanted, program_result *result);
/* Compares a gradient of the loss for a source with differences of the oracle's loss. `second`: of the sum of the gradient times
 * the direction that program_direction gives. A slope that differs is judged in this context by what rounded results make of it; NULL:
 * a slope in 16 bits is not judged then, and one in f32 is wrong. */
bool program_judge_gradient(const program *p, weft_context *context, const oracle_sizes *sizes,
    f64_array *const *sources, int source, const double *gradient, bool second, program_result *result);
/* The gradient that the library's rules give in f32 where each result of the forward and the backward pass is rounded to the program's
 * format, after a move at random by half the spacing of 16 bits, or the whole one of f32. Seed 0: nothing is rounded. NULL: it cannot be computed. */
f64_array *program_stored_gradient(const program *p, weft_context *context, const oracle_sizes *sizes,
    f64_array *const *sources, int source, bool second, uint64_t seed);
f64_array *program_direction(const program *p, int source, const f64_array *values);

/* ---- for a person ---- */
/* Makes the program as small as it can be made while its verdict stays; `tries` plans at most. */
void program_reduce(program *p, weft_context *context, program_result *result, int tries);
/* A program of C that builds it, runs it once at these sizes with its numbers and prints what it gives. The text is allocated; the caller
 * frees it. NULL: out of memory. */
char *program_text(const program *p, const oracle_sizes *sizes);

#endif
