/* Code: the OpenCL C of each step, and which arguments its kernels take.
 *
 *   code.c          one program's source; equal kernels are one
 *   code_loop.c     kernels of loop steps (expressions in expression.c, folded reads in fold.c, reductions in
 *                   accumulators.c)
 *   code_passes.c   passes over the elements of a row
 *   code_product.c  epilogues of products
 *   code_kernel.c   ops with kernels of their own */
#ifndef WI_CODE_H
#define WI_CODE_H

#include "plan/loops.h"

enum { WI_MAX_ARGUMENTS = 160 };

typedef enum wi_argument_kind {
    WI_ARGUMENT_BUFFER, /* operand a */
    WI_ARGUMENT_OFFSET, /* operand a: long */
    WI_ARGUMENT_STRIDE, /* operand a, dimension b: long */
    WI_ARGUMENT_FOLD,   /* operand a, dimension b: before, size, step; each int */
    WI_ARGUMENT_DIM,    /* dimension a: int */
    WI_ARGUMENT_WORK,   /* number a of the work split: int */
    WI_ARGUMENT_FLOAT,  /* number: float */
    WI_ARGUMENT_DOUBLE, /* number: double */
    WI_ARGUMENT_SCALAR, /* the graph's scalar a, set before each run: float */
    WI_ARGUMENT_DRAWS,  /* the number of the run, set before each: uint */
    WI_ARGUMENT_TURN,   /* the number of the repetition, set before each: int */
    WI_ARGUMENT_SEED,   /* two: uint, uint */
    WI_ARGUMENT_SCRATCH /* partial results: __global float *, long offset + cell a: `number` elements of b bytes */
} wi_argument_kind;

typedef struct wi_argument {
    wi_argument_kind kind;
    int a, b;
    double number;
} wi_argument;

/* The kernel of one way to run a step; `name` is NULL when the step has no such way. */
typedef struct wi_kernel_text {
    const char *name;
    wi_argument arguments[WI_MAX_ARGUMENTS];
    int argument_count;
} wi_kernel_text;

typedef struct wi_step_code {
    wi_kernel_text whole, part, finish; /* PRODUCT: whole is the epilogue's part of the arguments */
    const char *prefix;                 /* PRODUCT and KERNEL: of the template's kernels */
    wi_kernel_plan *kernel;             /* the same: launches and macros; NULL: a library's */
} wi_step_code;

typedef struct wi_code {
    const wi_loops *loops;
    wi_step_code *of; /* by step */
    wi_text source;   /* of the program; cleared once it is built */
    wi_text
        parts_source; /* of the kernels that work on parts: a program of its own, built when a step is cut */
    const char **kernel_texts, **kernel_names; /* distinct kernels, to find equal ones */
    size_t kernel_count, kernel_text_capacity, kernel_name_capacity;
    bool draws; /* a kernel op takes random numbers */
} wi_code;

weft_status wi_plan_code(const wi_loops *loops, wi_code *code);
/* What is needed no more once the programs are built. */
void wi_code_forget_source(wi_code *code);
void wi_code_clear(wi_code *code);

/* ---- for the files of this pass ---- */
/* Equal texts are one kernel. *added: it was not there yet, and *name is new. */
weft_status wi_find_kernel(wi_code *code, const char *text, const char **name, bool *added);
/* What the chosen implementation launches, and with which macros its template is compiled. */
weft_status wi_prepare_kernel(wi_code *code, const wi_step *step);
weft_status wi_code_loop(wi_code *code, const wi_step *step);
weft_status wi_code_product(wi_code *code, const wi_step *step);
weft_status wi_code_kernel(wi_code *code, const wi_step *step);

#endif
