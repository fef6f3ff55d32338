/* Loops: each step's index space and its operands.
 *
 *   loops.c          the space, with axes merged
 *   loop_operands.c  what a step addresses
 *   loop_sweeps.c    sweeps over the space, and what one stages for the next
 *   narrow_indices.c where indices of 32 bits are enough
 *   step_elements.c  how many neighbouring elements an item of a map, or an epilogue, takes
 *   assign.c         assignments: done in place, or by steps that copy */
#ifndef WI_LOOPS_H
#define WI_LOOPS_H

#include "plan/group/partition.h"

/* Along one dimension of the space; see wi_padding_mode. */
typedef struct wi_padding {
    wi_padding_mode mode;
    wi_size before, size;
    int64_t step;
} wi_padding;

/* Something that a kernel addresses: memory that it reads or writes, or a generator that depends on the index. */
typedef struct wi_operand {
    int value; /* -1: a generator */
    const weft_tensor *generator;
    bool is_output;
    bool of_source; /* read by what a sum by segments adds up, over the source's dimensions of the space */
    weft_dtype dtype;
    wi_layout layout; /* over the merged dimensions of the space */
    /* Of rows that are picked here, the value that is read; first the index, then the table. NULL: it is neither. */
    const wi_pick *pick;
    int viewed;
    bool is_index;
    /* A padded read: the node that says so, and how over the dimensions of the space. NULL: it is none. */
    const weft_tensor *padded;
    wi_padding *padding;
} wi_operand;

typedef struct wi_space {
    int rank; /* after merging; at least 1 */
    wi_size dims[WEFT_MAX_RANK];
    bool reduced[WEFT_MAX_RANK];
} wi_space;

typedef struct wi_loop {
    const wi_step *step;
    wi_space space;
    wi_operand *operands;
    int operand_count;
    int sweeps;     /* over the space: reductions that depend on reductions need more than one */
    bool may_split; /* a reduction that may be split */
    /* A member that several sweeps need, and the operand, an output, that holds it for the later ones; they
     * read nothing else along a row. -1: none. */
    int staged, staging;
} wi_loop;

typedef struct wi_loops {
    const wi_partition *partition;
    wi_loop *of; /* by step */
    /* By value, of members: the sweep that computes it (in_row: after which it is there). */
    int *sweep;
    wi_operand *room; /* for the operands of the loop that is being made */
} wi_loops;

/* Settles the partition's assignments too, which may add steps to it. */
weft_status wi_plan_loops(wi_partition *partition, wi_loops *loops);

/* ---- for later passes ---- */
/* Is the member a reduction of its step (and not a copy of one)? */
bool wi_is_reduction(const wi_value *value);
bool wi_operand_varies(const wi_operand *operand, int dimension);
/* Does the operand's address change inside the loops over the reduced dimensions? */
bool wi_operand_in_loop(const wi_loop *loop, const wi_operand *operand);
/* Of a table whose rows are picked: does its index vary along reduced dimensions? (picked_read.c) */
bool wi_pick_in_loop(const wi_loop *loop, const wi_operand *operand);
/* The operand that is the value, read without padding, or written; -1: none. */
int wi_loop_operand(const wi_loop *loop, int value, bool is_output);
/* The same of what is read by the source of a sum by segments. */
int wi_source_operand(const wi_loop *loop, int value);
/* Is the output written element by element, when nothing is left to read there for any other? In a reduction
 * that is what has an element for every point, written in the last sweep. */
bool wi_writes_last(const wi_loops *loops, const wi_loop *loop, const wi_operand *output);
/* Of a map where items do not walk, how many neighbouring elements one takes; of an epilogue, how many it gets at once; otherwise 1. */
int wi_step_elements(const wi_partition *p, const wi_loop *loop);
/* Do all quads (of so many elements) of memory that is contiguous begin at multiples of their size? */
bool wi_has_aligned_quads(const wi_partition *p, const wi_loop *loop, const wi_operand *operand, int count);
/* May a loop's kernel count in 32 bits on this device? */
bool wi_has_narrow_indices(const wi_partition *p, const wi_loop *loop);

/* Where a step changes the order of images in memory, counted by operand (layout_conversion.c). */
typedef struct wi_layout_conversions {
    int to_last;  /* from (N, C, spatial...) to channels-last */
    int to_first; /* back */
} wi_layout_conversions;
wi_layout_conversions wi_count_layout_conversions(const wi_loops *loops, const wi_step *step);

/* ---- for the files of this pass ---- */
weft_status wi_find_operands(const wi_partition *p, wi_loop *loop);
void wi_count_sweeps(wi_loops *loops, wi_loop *loop);
/* An exponential is computed once, and is staged where the last sweep writes, until that sweep reads it. */
void wi_find_staged(const wi_loops *loops, wi_loop *loop);
weft_status wi_make_loop(wi_loops *loops, const wi_step *step);
weft_status wi_settle_assignments(wi_partition *partition, wi_loops *loops);

#endif
