/* Loops: the index space and the operands of each step.
 *
 *   loops.c              the space, with merged axes
 *   loop_operands.c      memory and generators that a step reads or writes
 *   loop_sweeps.c        sweeps over the space, and staged values
 *   narrow_indices.c     loops whose indices fit in 32 bits
 *   step_elements.c      neighbouring elements that an item of a map, or an epilogue, computes together
 *   layout_conversion.c  counts conversions between memory orders
 *   assign.c             assignments, in place or by copy steps */
#ifndef WI_LOOPS_H
#define WI_LOOPS_H

#include "plan/group/partition.h"

/* A padded read along one dimension of the space; see wi_padding_mode. */
typedef struct wi_padding {
    wi_padding_mode mode;
    wi_size before, size;
    int64_t step;
} wi_padding;

/* An operand: memory that the kernel reads or writes, or a generator that depends on the index. */
typedef struct wi_operand {
    int value; /* number of the value; -1: a generator */
    const weft_tensor *generator;
    bool is_output;
    bool of_source; /* read to compute the rows that a sum by segments adds up */
    weft_dtype dtype;
    wi_layout layout; /* over the merged dimensions of the space */
    /* Non-NULL if the loop gathers rows itself: the operand is the index tensor, or the table, which follows it directly. `viewed` is
     * the gathered view. */
    const wi_pick *pick;
    int viewed;
    bool is_index;
    /* Non-NULL: the node of a padded read, with its padding for each dimension of the space. */
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
    int sweeps;     /* sweeps over the space; more than one if a reduction depends on another */
    bool may_split; /* the reduction may be split among work-items: it has one sweep, and its rows are long */
    /* The member that a sweep computes and later sweeps read back, and the output operand in whose memory the sweep stages it. Later
     * sweeps read no other memory along a row. -1: none. */
    int staged, staging;
} wi_loop;

typedef struct wi_loops {
    const wi_partition *partition;
    wi_loop *of; /* by step */
    /* By value, for members: the sweep that computes the member. A member with in_row is complete after this sweep. */
    int *sweep;
    wi_operand *room; /* operands of the loop that is being created */
} wi_loops;

/* Fails: the step whose first member is the node has a dimension, or results, of more elements than a kernel counts. */
weft_status wi_fail_large(const weft_tensor *node, int64_t elements);
/* Also decides whether each assignment is done in place or by a copy step, which is then added to the partition. */
weft_status wi_plan_loops(wi_partition *partition, wi_loops *loops);

/* ---- for later passes ---- */
/* Is the member a reduction, and not a copy of one? */
bool wi_is_reduction(const wi_value *value);
bool wi_operand_varies(const wi_operand *operand, int dimension);
/* Does the operand's address change inside the loops over reduced dimensions? */
bool wi_operand_in_loop(const wi_loop *loop, const wi_operand *operand);
/* For a table whose rows the loop gathers: does the row change inside the loops over reduced dimensions? (picked_read.c) */
bool wi_pick_in_loop(const wi_loop *loop, const wi_operand *operand);
/* The operand that reads the value without padding, or writes it; -1: none. */
int wi_loop_operand(const wi_loop *loop, int value, bool is_output);
/* The operand that reads the value to compute the rows that a sum by segments adds up; -1: none. */
int wi_source_operand(const wi_loop *loop, int value);
/* Does the step write each element of the output after all its reads of the inputs at that element, so that the output may overwrite an
 * input? In a loop with reductions, this is true only of an output that has an element for every point and that the last sweep
 * writes. */
bool wi_writes_last(const wi_loops *loops, const wi_loop *loop, const wi_operand *output);
/* Elements that an item of a map computes together, or that an epilogue gets together: a quad, or 1. Always 1 on devices where an item
 * walks through a range of elements. */
int wi_step_elements(const wi_partition *p, const wi_loop *loop);
/* Does each group of `count` elements in contiguous memory begin at a multiple of the group's size? */
bool wi_has_aligned_quads(const wi_partition *p, const wi_loop *loop, const wi_operand *operand, int count);
/* Can the loop's kernel use 32-bit indices on this device? */
bool wi_has_narrow_indices(const wi_partition *p, const wi_loop *loop);

/* Operands of a step that convert the memory order of images (layout_conversion.c). */
typedef struct wi_layout_conversions {
    int to_last;  /* from (N, C, spatial...) to channels-last */
    int to_first; /* from channels-last to (N, C, spatial...) */
} wi_layout_conversions;
wi_layout_conversions wi_count_layout_conversions(const wi_loops *loops, const wi_step *step);

/* ---- for the files of this pass ---- */
weft_status wi_find_operands(const wi_partition *p, wi_loop *loop);
void wi_count_sweeps(wi_loops *loops, wi_loop *loop);
/* Chooses the member that is staged, such as an exponential, in the memory that the last sweep overwrites with a result. */
void wi_find_staged(const wi_loops *loops, wi_loop *loop);
weft_status wi_make_loop(wi_loops *loops, const wi_step *step);
weft_status wi_plan_assignments(wi_partition *partition, wi_loops *loops);

#endif
