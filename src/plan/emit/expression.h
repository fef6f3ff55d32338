/* OpenCL C of one element (or 16 neighbours) of a step: loads, inline values, ops, stores.
 *
 * Every value becomes one `const` variable t<n>, in the innermost scope that it needs. Kernel arguments are
 * noted as they are met, so that a kernel has just those that it uses:
 *
 *   b<o> f<o> s<o>_<d>         memory, offset and strides of operand o
 *   n<d>                       size of dimension d
 *   w<i>                       the work split
 *   x<i> y<i>                  scratch memory and offset
 *   cells, cells_offset        of joined splits
 *   c<i> u<i>                  constants that depend on the batch; scalars, in the order of their use
 *   draws, seed0, seed1        of random numbers
 *   faults<i> fault<i>         memory and offset of fault i
 *   l<o>_<d> h<o>_<d> v<o>_<d> before, size and step of a padded read
 *   rows<o> count<o> width<o> skipped<o>   of a table whose rows are picked
 *
 * p<o> is an operand's address without, q<o> with the reduced dimensions that are walked through one by one;
 * j walks along the last dimension. */
#ifndef WI_EXPRESSION_H
#define WI_EXPRESSION_H

#include "plan/emit/code.h"

typedef struct wi_memo {
    const void *key;
    int temp;
} wi_memo;

typedef struct wi_emitter {
    const wi_partition *partition;
    const wi_loops *loops;
    const wi_step *step;
    const wi_loop *loop;
    wi_kernel_text *kernel; /* its arguments */
    wi_text text;
    unsigned needs; /* of the kernel, see wi_code_piece */
    bool walks;     /* a work-item walks along the last dimension in vectors (wi_device_profile.item_walks) */
    int lanes;      /* neighbouring elements of a value: of an item that walks, or of a map; 1: one */
    bool narrow;    /* indices have 32 bits (wi_has_narrow_indices), and b<o> is where the operand begins */
    bool tail;      /* only `lanes` of them are there */
    bool has_j;     /* addresses move with j */
    bool in_loop;   /* inside the loop over reduced dimensions: q<o> are there */
    bool staged;    /* the step's staged member is in memory */
    bool of_source; /* inside what a sum by segments adds up: other operands, other dimensions */
    bool inner_is_reduced;
    int wide; /* vectors of 16 columns at once, at most: accumulators are arrays over the vectors u; 0: one
                 vector */
    int temps;
    int group_calls; /* reductions of a group so far: those that follow each other have different sides (group.clh) */
    wi_memo *memo; /* values that are in variables here, and forgotten at the end of a scope */
    size_t memo_count, memo_capacity;
} wi_emitter;

/* kernel: where its arguments are noted. */
void wi_emitter_begin(wi_emitter *e, const wi_loops *loops, const wi_step *step, wi_kernel_text *kernel);
void wi_emitter_end(wi_emitter *e);

/* kernel_arguments.c */
void wi_emit_argument(wi_emitter *e, wi_argument_kind kind, int a, int b, double number);
/* The number that a scalar of the graph has in this kernel, so that kernels of other scalars have the same code. */
int wi_emit_scalar(wi_emitter *e, int index);
/* "__global float *b0, const long f0, ..." of all arguments met; or their names alone. */
void wi_emit_parameters(const wi_emitter *e, wi_text *text, bool names_only);

/* The variable that holds a value here; emits what is needed. */
int wi_emit_member(wi_emitter *e, int value);
int wi_emit_input(wi_emitter *e, weft_tensor *node);
int wi_emit_load(wi_emitter *e, int operand);
/* What holds elements of the dtype in a kernel: WF, WI, WL of common.clh or WD of doubles.clh. */
const char *wi_register_type(weft_dtype dtype);
/* The kernel has values of that dtype. */
void wi_emit_needs(wi_emitter *e, weft_dtype dtype);
/* A new variable; the declaration is written up to the value. */
int wi_emit_begin(wi_emitter *e, weft_dtype dtype);
/* Before the value, which stands in parentheses: rounds it where the dtype is narrower than its registers. */
void wi_emit_rounding(wi_emitter *e, weft_dtype dtype);
/* A constant of the dtype as a scalar literal. */
enum { WI_LITERAL = 48 };
void wi_number_literal(char text[WI_LITERAL], weft_dtype dtype, double value);
/* An operand's stride as an expression of the type of indices. */
typedef struct wi_stride_text {
    char text[24];
} wi_stride_text;
wi_stride_text wi_emit_stride(wi_emitter *e, int operand, int dimension);
void wi_emit_store(wi_emitter *e, int operand, int temp);
void wi_emit_remember(wi_emitter *e, const void *key, int temp);

/* label_check.c: notes lanes of the variable that are out of range. */
void wi_emit_label_check(wi_emitter *e, const weft_tensor *node, int label);

/* padded_read.c */
/* z<o>_<d>: mapped indices of the kept or of the reduced dimensions, and whether they are inside the input:
 * m<o>, k<o>. */
void wi_emit_padded_indices(wi_emitter *e, int operand, bool reduced);
/* The condition under which the operand may be read here; false: always. */
bool wi_padding_condition(const wi_emitter *e, int operand, char text[16]);
bool wi_pads_lanes(const wi_emitter *e, const wi_operand *operand);
/* Lanes that each find their own element. */
int wi_emit_padded_lanes(wi_emitter *e, int operand);

/* picked_read.c */
/* The row of a table, where the kept or the reduced dimensions say which: pick<o>, and m<o> or k<o>: is there such a row?
 * false: none, or not here. */
bool wi_emit_picked_row(wi_emitter *e, int operand, bool reduced);
/* What its address takes from that. */
void wi_emit_picked_place(wi_emitter *e, int operand, bool reduced);
/* The condition under which the operand may be read; false: always. */
bool wi_pick_condition(const wi_emitter *e, int operand, char text[16]);

#endif
