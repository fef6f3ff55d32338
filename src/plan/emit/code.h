/* Code: the OpenCL C of each step, and which arguments its kernels take.
 *
 *   code.c          the pieces that programs are put together from; equal ones are one
 *   code_loop.c     kernels of loop steps (expressions in expression.c, padded reads in padded_read.c, picked ones in
 *                   picked_read.c, reductions in
 *                   accumulators.c)
 *   code_sweeps.c   sweeps over the elements of a row
 *   code_product.c  epilogues of products
 *   code_kernel.c   ops with kernels of their own */
#ifndef WI_CODE_H
#define WI_CODE_H

#include "cl/cache_key.h"
#include "plan/select/schedule.h"

enum { WI_MAX_ARGUMENTS = 160 };

/* Of the kernels of loops: WEFT_NAME(suffix). */
#define WI_LOOP_SUFFIX    "loop"
#define WI_PARTIAL_SUFFIX "partial"
#define WI_COMBINE_SUFFIX "combine"

typedef enum wi_argument_kind {
    WI_ARGUMENT_BUFFER,  /* operand a */
    WI_ARGUMENT_OFFSET,  /* operand a: long */
    WI_ARGUMENT_STRIDE,  /* operand a, dimension b: long */
    WI_ARGUMENT_PADDING, /* operand a, dimension b: before, size, step; each int */
    WI_ARGUMENT_PICK, /* operand a: rows of its table, numbers of its index, a row's elements, the index that is skipped; each int */
    WI_ARGUMENT_DIM,  /* dimension a: int */
    WI_ARGUMENT_WORK, /* number a of the work split: int */
    WI_ARGUMENT_FLOAT,     /* number: float */
    WI_ARGUMENT_DOUBLE,    /* number: double */
    WI_ARGUMENT_WHOLE,     /* number: int */
    WI_ARGUMENT_SCALAR,    /* the graph's scalar a, set before each run: float; number: in the code */
    WI_ARGUMENT_DRAWS,     /* the number of the run, set before each: uint */
    WI_ARGUMENT_ITERATION, /* the number of the repetition, set before each: int */
    WI_ARGUMENT_SEED,      /* two: uint, uint */
    WI_ARGUMENT_FAULT,     /* two: __global int *, long: slot a among the plan's faults */
    WI_ARGUMENT_SCRATCH, /* partial results: __global float *, long offset + cell a: `number` elements of b bytes */
    WI_ARGUMENT_CELLS /* two: volatile __global int *, long: in which splits are joined */
} wi_argument_kind;

typedef struct wi_argument {
    wi_argument_kind kind;
    int a, b;
    double number;
} wi_argument;

/* The kernel of one way to run a step, or a template's kernels; arguments of a template: the epilogue's. */
typedef struct wi_kernel_text {
    int piece; /* -1: the step has no such way */
    int argument_count, argument_capacity;
    wi_argument *arguments; /* in the arena of the plan */
} wi_kernel_text;

typedef struct wi_step_code {
    wi_kernel_text whole, partial, combine; /* PRODUCT and KERNEL: `whole` alone */
} wi_step_code;

/* Source that stands for itself: one kernel, or a template with all that it defines. Its text says WEFT_NAME(suffix)
 * for its names, and has no name of its own: that is made of a hash of the text, so that equal pieces have equal
 * names in all plans, and one of them that a program has already is taken from there (programs.c). */
/* Beside common.clh. */
enum {
    WI_NEEDS_DOUBLES = 1,   /* doubles.clh */
    WI_NEEDS_FUNCTIONS = 2, /* elementwise.clh */
    WI_NEEDS_QUADS = 4,     /* values of as many lanes as an item has elements (wi_step_elements) */
    WI_NEEDS_PADDING = 8    /* padding.clh */
};

typedef struct wi_code_piece {
    char name[WI_PIECE_NAME];
    const char *text;
    size_t length;     /* of the text */
    unsigned needs;    /* WI_NEEDS_: which files must stand before it */
    wi_cache_key hash; /* of the text */
} wi_code_piece;

typedef struct wi_code {
    const wi_schedule *schedule;
    const wi_loops *loops; /* the schedule's */
    wi_step_code *of;      /* by step */
    wi_code_piece *pieces; /* distinct */
    size_t piece_count, piece_capacity;
    wi_key_map kernels; /* by implementation and site */
    bool draws;         /* a kernel op takes random numbers */
} wi_code;

weft_status wi_plan_code(const wi_schedule *schedule, wi_code *code);
void wi_code_clear(wi_code *code);

/* fixed.c: finds the launches that need not run again until a variable is written. */
void wi_find_fixed(wi_schedule *schedule, const wi_code *code);

/* ---- for the files of this pass ---- */
/* An equal piece that is there already is used instead. */
weft_status wi_add_piece(wi_code *code, const wi_text *text, unsigned needs, int *piece);
/* Of a template, by what it reads and makes. */
unsigned wi_step_needs(const wi_partition *p, const wi_step *step);
weft_status wi_code_loop(wi_code *code, const wi_step *step);
weft_status wi_code_product(wi_code *code, const wi_step *step);
weft_status wi_code_kernel(wi_code *code, const wi_step *step);

#endif
