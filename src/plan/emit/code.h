/* Code: the OpenCL C of each step, and the arguments of its kernels.
 *
 *   code.c          the pass
 *   code_pieces.c   the pieces of which programs are composed
 *   code_loop.c     kernels of loop steps, with code_elements.c (indices and addresses), code_sweeps.c (sweeps over the elements of a row),
 *                   accumulators.c (reductions) and the files of expression.h (the code of one element)
 *   code_product.c  epilogues of contractions
 *   code_kernel.c   kernel ops
 *   fixed.c         launches that depend only on constants */
#ifndef WI_CODE_H
#define WI_CODE_H

#include "cl/cache_key.h"
#include "plan/select/schedule.h"

/* Names of the kernels of loops: WEFT_NAME(suffix). */
#define WI_LOOP_SUFFIX    "loop"
#define WI_PARTIAL_SUFFIX "partial"
#define WI_COMBINE_SUFFIX "combine"

/* What an argument of a kernel is, and its type in the kernel. a, b and `number` are the fields of wi_argument. */
typedef enum wi_argument_kind {
    WI_ARGUMENT_BUFFER,  /* operand a */
    WI_ARGUMENT_OFFSET,  /* operand a: long */
    WI_ARGUMENT_STRIDE,  /* operand a, dimension b: long */
    WI_ARGUMENT_PADDING, /* operand a, dimension b, three arguments: before, size, step; each int */
    /* Operand a, a table of which rows are gathered, four arguments: the number of rows of the table, of elements of the index tensor and of
     * elements of a row, and wi_pick.skipped; each int. */
    WI_ARGUMENT_PICK,
    WI_ARGUMENT_DIM,       /* dimension a: int */
    WI_ARGUMENT_WORK,      /* element a of wi_step_schedule.work (WI_WORK_): int */
    WI_ARGUMENT_FLOAT,     /* `number`: float */
    WI_ARGUMENT_DOUBLE,    /* `number`: double */
    WI_ARGUMENT_WHOLE,     /* `number`: int */
    WI_ARGUMENT_SCALAR,    /* the graph's scalar a, set before each run: float u<number> */
    WI_ARGUMENT_DRAWS,     /* the number of the run, set before each run: uint */
    WI_ARGUMENT_ITERATION, /* the number of the repetition, set before each repetition: int */
    WI_ARGUMENT_SEED,      /* two arguments: uint, uint */
    WI_ARGUMENT_FAULT,     /* fault slot a, two arguments: __global int *, long offset */
    /* Scratch memory of partial result a, two arguments: __global float *, long offset in elements of b bytes. `number`: how many of
     * these elements fit in the memory of one partial result. */
    WI_ARGUMENT_SCRATCH,
    WI_ARGUMENT_CELLS /* cells in which splits are joined, two arguments: volatile __global int *, long offset */
} wi_argument_kind;

typedef struct wi_argument {
    wi_argument_kind kind;
    int a, b;
    double number;
} wi_argument;

/* A kernel of a loop, or the kernels of a template. The arguments of a template are those of its epilogue. */
typedef struct wi_kernel_text {
    int piece; /* number of the piece; -1: the step has no such kernel */
    int argument_count, argument_capacity;
    wi_argument *arguments; /* in the plan's host arena */
} wi_kernel_text;

typedef struct wi_step_code {
    wi_kernel_text whole, partial, combine; /* PRODUCT and KERNEL: only `whole` */
    /* PRODUCT: the piece with the template's kernels that do not call the epilogue, which steps with other epilogues share; -1: they are
     * in `whole` */
    int shared_piece;
} wi_step_code;

/* What a piece needs besides common.clh. */
enum {
    WI_NEEDS_DOUBLES = 1,   /* doubles.clh */
    WI_NEEDS_FUNCTIONS = 2, /* elementwise.clh */
    WI_NEEDS_QUADS = 4,     /* WEFT_LANES is wi_step_elements, not the device's number of lanes */
    WI_NEEDS_PADDING = 8    /* padding.clh */
};

/* A piece of a program: one kernel, or a template with its definitions. The text writes names as WEFT_NAME(suffix). `name`, which replaces
 * WEFT_NAME, is a hash of the text: equal pieces have equal names in all plans, and a piece that a program already contains is used from
 * there (programs.c). */
typedef struct wi_code_piece {
    char name[WI_PIECE_NAME];
    const char *text;
    size_t length;     /* of the text */
    unsigned needs;    /* WI_NEEDS_ bits: the files that the program includes before the piece */
    wi_cache_key hash; /* of the text */
} wi_code_piece;

typedef struct wi_code {
    const wi_schedule *schedule;
    const wi_loops *loops; /* those of the schedule */
    wi_step_code *of;      /* by step */
    wi_code_piece *pieces; /* no two are equal */
    size_t piece_count, piece_capacity;
} wi_code;

weft_status wi_plan_code(const wi_schedule *schedule, wi_code *code);
void wi_code_clear(wi_code *code);

/* fixed.c: finds the fixed launches, which run again only after a variable was written. */
void wi_find_fixed(wi_schedule *schedule, const wi_code *code);

/* ---- for the files of this pass ---- */
/* Adds a piece with this text, unless there is an equal one. *piece gets the number of the piece. */
weft_status wi_add_piece(wi_code *code, const wi_text *text, unsigned needs, int *piece);
/* The WI_NEEDS_ bits of a template, from the dtypes of its inputs and its result. */
unsigned wi_step_needs(const wi_partition *p, const wi_step *step);
weft_status wi_code_loop(wi_code *code, const wi_step *step);
weft_status wi_code_product(wi_code *code, const wi_step *step);
weft_status wi_code_kernel(wi_code *code, const wi_step *step);

#endif
