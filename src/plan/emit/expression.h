/* The OpenCL C of one element (or of 16 neighbours, or a quad) of a step: loads, inline values, ops, stores.
 *
 * Every value becomes one `const` variable t<n>, in the innermost possible scope. A kernel has only the arguments that its code uses:
 * the emitter adds an argument to the list when the code first mentions it.
 *
 *   b<o> f<o> s<o>_<d>         memory, offset and strides of operand o
 *   n<d>                       size of dimension d
 *   w<i>                       numbers of the division of work (WI_WORK_)
 *  x<i> y<i>                 scratch memory and offset of partial result i
 *   cells, cells_offset        cells in which splits are joined
 *   c<i> u<i>                  numbers, such as constants that depend on the batch size; scalars, in the order of their use
 *   draws, seed0, seed1        number of the run, and seed, for random numbers
 *   faults<i> fault<i>         memory and offset of fault slot i
 *   l<o>_<d> h<o>_<d> v<o>_<d> before, size and step of a padded read (wi_padding)
 *   rows<o> count<o> width<o> skipped<o>   a table whose rows are gathered: see WI_ARGUMENT_PICK
 *
 * Variables: i<d> is the index along dimension d, j the index along the last dimension. p<o> is the address of operand o for the indices of
 * kept dimensions; q<o> also includes those of reduced dimensions. j is added where the address is used. */
#ifndef WI_EXPRESSION_H
#define WI_EXPRESSION_H

#include "plan/emit/code.h"

/* A value that is in variable t<temp>. key: the wi_value, node or operand. */
typedef struct wi_memo {
    const void *key;
    int temp;
} wi_memo;

typedef struct wi_emitter {
    const wi_partition *partition;
    const wi_loops *loops;
    const wi_step *step;
    const wi_loop *loop;
    wi_kernel_text *kernel; /* gets the list of arguments */
    wi_text text;
    unsigned needs; /* WI_NEEDS_ bits of the text so far */
    bool walks;     /* a work-item walks along the last dimension in vectors (wi_device_profile.item_walks) */
    int lanes;      /* elements of each variable t<n>: WEFT_LANES of the piece */
    bool narrow;    /* indices have 32 bits (wi_has_narrow_indices), and b<o> includes the offset */
    bool tail;      /* only the first `lanes` elements, a variable of the code, are valid */
    bool has_j;     /* the code has the variable j */
    bool in_loop;   /* inside the loop over reduced dimensions, where q<o> exist */
    bool staged;    /* in a sweep after the one that stages a member: the code loads it from memory */
    bool of_source; /* inside the code of the rows that a sum by segments adds up */
    /* The last dimension is reduced, and the code still has to combine lanes or items. */
    bool inner_is_reduced;
    int wide; /* accumulators are arrays of so many vectors u of 16 columns; 0: no arrays */
    int temps;
    int group_calls; /* calls of reductions over a group so far: successive calls use the two halves of local memory in turn (group.clh) */
    wi_memo *memo;   /* the values that are in variables of the current scopes */
    size_t memo_count, memo_capacity;
} wi_emitter;

/* kernel: gets the arguments. wi_emitter_end frees the text. */
void wi_emitter_begin(wi_emitter *e, const wi_loops *loops, const wi_step *step, wi_kernel_text *kernel);
void wi_emitter_end(wi_emitter *e);

/* ---- kernel_arguments.c ---- */
/* Adds an argument to the kernel, unless it already has it. */
void wi_emit_argument(wi_emitter *e, wi_argument_kind kind, int a, int b, double number);
/* Adds scalar `index` of the graph, and returns its number in this kernel, so that kernels that differ only in scalars have equal code. */
int wi_emit_scalar(wi_emitter *e, int index);
/* Adds an argument of the kind, a float, double or whole number, unless one has this value already, and returns its number. */
int wi_emit_number(wi_emitter *e, wi_argument_kind kind, double number);
/* Appends the declarations of all arguments, "__global float *b0, const long f0, ...", or only their names. */
void wi_emit_parameters(const wi_emitter *e, wi_text *text, bool names_only);

/* Return the number n of the variable t<n> that holds a member, the input of a member, or an element of an operand. They emit the variable
 * if the current scopes do not have it yet. */
int wi_emit_member(wi_emitter *e, int value);
int wi_emit_input(wi_emitter *e, weft_tensor *node);
int wi_emit_load(wi_emitter *e, int operand);
/* The type of variables for the dtype: WF, WI, WL of common.clh or WD of doubles.clh. */
const char *wi_register_type(weft_dtype dtype);
/* Records that the kernel has values of the dtype. */
void wi_emit_needs(wi_emitter *e, weft_dtype dtype);
/* Emits "const <type> t<n> = ", and returns n. */
int wi_emit_begin(wi_emitter *e, weft_dtype dtype);
/* Emits the function that rounds to the dtype, if the dtype is narrower than its registers. The caller appends the value in parentheses. */
void wi_emit_rounding(wi_emitter *e, weft_dtype dtype);
/* literal.c: prints the number as a scalar literal of the dtype. */
enum { WI_LITERAL = 48 };
void wi_number_literal(char text[WI_LITERAL], weft_dtype dtype, double value);
/* An operand's stride as an expression with the type of indices. */
typedef struct wi_stride_text {
    char text[24];
} wi_stride_text;
wi_stride_text wi_emit_stride(wi_emitter *e, int operand, int dimension);
/* Emits a store of variable t<temp>. */
void wi_emit_store(wi_emitter *e, int operand, int temp);
/* Records that t<temp> holds the value, node or operand `key`. */
void wi_emit_remember(wi_emitter *e, const void *key, int temp);

/* label_check.c: emits a check that reports labels out of range in the variable. */
void wi_emit_label_check(wi_emitter *e, const weft_tensor *node, int label);

/* ---- padded_read.c ---- */
/* Emits z<o>_<d>, the mapped indices of the kept or of the reduced dimensions, and m<o> (kept) or k<o> (kept and reduced): does the operand
 * have an element there? */
void wi_emit_padded_indices(wi_emitter *e, int operand, bool reduced);
/* Prints the condition under which the operand has an element at the current index. Returns false if it always has one. */
bool wi_padding_condition(const wi_emitter *e, int operand, char text[16]);
/* Is the operand padded along the last dimension, so that the index of each lane must be mapped? */
bool wi_pads_lanes(const wi_emitter *e, const wi_operand *operand);
/* Emits the lanes of an operand for which wi_pads_lanes is true, and returns their variable. */
int wi_emit_padded_lanes(wi_emitter *e, int operand);

/* ---- picked_read.c ---- */
/* If the operand is a table whose row the kept (or the reduced) dimensions select, emits pick<o>, the row, and m<o> (or k<o>): does the
 * table have this row? Otherwise returns false. */
bool wi_emit_picked_row(wi_emitter *e, int operand, bool reduced);
/* Emits the summand of the operand's address that selects this row. */
void wi_emit_picked_place(wi_emitter *e, int operand, bool reduced);
/* Prints the condition under which the table has the row. Returns false if the operand is not a gathered table. */
bool wi_pick_condition(const wi_emitter *e, int operand, char text[16]);

#endif
