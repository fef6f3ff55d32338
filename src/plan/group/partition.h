/* The partition: nodes become values, values are gathered into steps, and some of them want memory.
 *
 *   partition_nodes.c     takes the nodes in order; the plan's outputs
 *   partition_values.c    values, storages and steps; where values get memory
 *   partition_views.c     sources, generators, views
 *   partition_maps.c      maps and reductions: which step they join
 *   materialise_inline.c  maps that their readers compute
 *   partition_unread.c    what leaves its step when all readers do
 *   partition_products.c  matrix products and convolutions
 *   partition_copies.c    copies, and transfers from device to device
 *   partition_joins.c     concatenation and flat buffers; assignments
 *   partition_ops.c       ops with kernels of their own
 *   partition_rows.c      sums of rows by segments, with the rows of tables that they update
 *   select.c              the implementation of a product or kernel op, as soon as its operands are laid out
 *
 * Optional gains (improve/improve.h) change the steps before the next pass reads them. That pass, layout/loops.c, may add steps that copy, and lets storages lie over others (assign.c): which values
 * are assigned in place is known when the operands are. Everything later only reads. */
#ifndef WI_PARTITION_H
#define WI_PARTITION_H

#include "base/key_map.h"
#include "kernels/product/gemm.h"
#include "kernels/selection.h"
#include "plan/rewrite/order.h"

/* ---- memory that is wanted ---- */

typedef enum wi_storage_kind {
    WI_STORAGE_ARENA, /* an intermediate */
    WI_STORAGE_INPUT, /* of the plan, one buffer each */
    WI_STORAGE_BLOCK  /* parameters or a state, of the graph */
} wi_storage_kind;

typedef struct wi_storage {
    wi_storage_kind kind;
    int device; /* index */
    size_t bytes;
    bool keep;           /* in use from the first step to the end of the plan's life, zero at first */
    int alias;           /* lies inside that storage; -1: of its own */
    size_t alias_offset; /* bytes */
    size_t block;        /* BLOCK: its index in the graph */
} wi_storage;

/* ---- values ---- */

typedef enum wi_value_state {
    WI_VALUE_INLINE, /* computed where it is used */
    WI_VALUE_MEMBER, /* computed by a step, in registers until `storage` is given */
    WI_VALUE_MEMORY  /* there already, or another layout of a base value */
} wi_value_state;

/* What follows from a shape at the plan's batch. */
typedef struct wi_sizes {
    const wi_shape *shape;
    wi_extent extent;
    wi_layout contiguous;
} wi_sizes;

enum { WI_KNOWN_SIZES = 64 };

/* Rows of a table that their readers pick (picked_rows.c). */
typedef struct wi_pick {
    int table, index; /* values */
    wi_size width;    /* of a row */
    int64_t skipped;  /* an index that is not noted where it is out of range */
    int fault;        /* slot */
} wi_pick;

/* A plan has thousands, and each pass walks over them: extents and layouts are not in them. */
typedef struct wi_value {
    weft_tensor *node;
    const wi_extent *extent;
    const wi_layout *layout;       /* set by wi_lay_value; at first contiguous */
    const weft_tensor *expression; /* INLINE: the node that says how */
    weft_dtype format;             /* in memory; registers hold the node's dtype */
    wi_value_state state;
    int copy_of; /* MEMBER: the value that it copies; -1: the node's own expression */
    int base;    /* MEMORY of a view: whose memory it is; else itself */
    int step;    /* that computes it; -1: there before the first */
    int place;   /* MEMBER: among the members of its step */
    int chain;   /* MEMBER: of so many reductions of its own step, each of elements made of the one before */
    int storage; /* -1: none */
    int stored_as;       /* the value that has an INLINE one in memory, or MEMORY row-major; -1: none */
    int inline_operands; /* INLINE: operands that it takes in a step, at most */
    int outside;         /* readers that are not members of its step, or not yet; a plan's output is one */
    int fault;           /* slot among the plan's faults of what computes it; -1: none */
    /* MEMORY: not there; the layout is that of the rows in memory of their own, the base is the table's. NULL: it is there. */
    const wi_pick *pick;
    /* INLINE: the same everywhere. Any kernel can compute such values; others depend on the index in their own
     * shape. */
    bool uniform;
    bool in_row;          /* MEMBER: one element a row of the reduction, not one a point of the space */
    bool after_reduction; /* MEMBER: computed from a result of its own step's reductions */
    bool stores_inline;   /* MEMBER: stores `expression` */
    bool keeps_layout;    /* MEMBER: inline in an epilogue; if it gets memory after all, that reads it */
    bool permuted;        /* MEMBER: stored as its readers want it, not in the order of its axes */
} wi_value;

/* ---- steps ---- */

enum {
    WI_MAX_MEMBERS = 64,
    /* Reductions one after the other in a step: each reads the row again, and makes anew what the ones before did. */
    WI_MAX_CHAIN = 6,
    WI_MAX_OPERANDS = 28, /* inputs and outputs of a kernel */
    WI_MAX_INPUTS = 14,   /* of which inputs, before outputs are known */
    /* An inline value reads so many at most, so that a map of three of them can always begin a step. */
    WI_MAX_INLINE_OPERANDS = 6
};

typedef enum wi_step_kind {
    WI_STEP_LOOP,    /* maps, and reductions over one set of axes */
    WI_STEP_PRODUCT, /* matrix product, or sums of rows by segments, with an epilogue of maps */
    WI_STEP_KERNEL,  /* an op with kernels of its own */
    WI_STEP_TRANSFER /* a value's bytes as they are, from its memory to that of a copy: on a device, or between two */
} wi_step_kind;

typedef struct wi_step {
    int index; /* in the order of execution */
    wi_step_kind kind;
    int device;       /* index; TRANSFER: of the copy */
    wi_shape shape;   /* LOOP: the space before merging; PRODUCT: the result */
    wi_extent extent; /* the same */
    uint32_t reduced; /* LOOP: reduced axes, a bit each */
    int members[WI_MAX_MEMBERS];
    int member_count;
    int input_count; /* distinct values read, at most */
    bool only_moves;
    int sources[WI_KERNEL_INPUTS]; /* PRODUCT and KERNEL: values; PRODUCT: A and B */
    wi_gemm_shape gemm;            /* PRODUCT */
    bool by_segments; /* PRODUCT: sums of rows, not a contraction; the first dimension is a table's rows */
    /* by_segments: the space that its rows are computed in, of which the last axis is their columns; the value that they are, if
     * the step computes it; -1: it is source 0. The step then has source 1 in both places. */
    wi_extent source_extent;
    int computed;
    const wi_selection *selection; /* PRODUCT and KERNEL: what was considered, and chosen (select.c) */
} wi_step;

typedef struct wi_assignment {
    int variable, value; /* values */
} wi_assignment;

typedef struct wi_partition {
    const wi_request *request;
    const wi_node_order *order;
    int *value_of; /* by place in the order: a value's index + 1 */
    wi_value *values;
    size_t value_count, value_capacity;
    wi_storage *storages;
    size_t storage_count, storage_capacity;
    wi_step **steps;
    size_t step_count, step_capacity;
    wi_assignment *assignments;
    size_t assignment_count, assignment_capacity;
    const wi_sizes *sizes[WI_KNOWN_SIZES]; /* of some shapes, by a hash of their dimensions */
    int *output_values;                    /* by output; -1: an assignment */
    int faults[WI_MAX_DEVICES]; /* by device index: storage of the fault slots; -1: no step there has one */
    int fault_count;            /* on all devices; a slot has one number everywhere */
    wi_key_map selections;      /* by site */
    bool *assigned;             /* by block of the graph: the plan writes to it */
    int device;                 /* of the node that is being taken: new steps and storages are there */
    bool draws;                 /* random numbers are among the generators */
    bool trains;                /* assigns to the parameters */
    uint64_t clocks;            /* of the graph that a run moves, a bit each */
} wi_partition;

weft_status wi_plan_partition(const wi_node_order *order, wi_partition *partition);
void wi_partition_clear(wi_partition *partition);

/* ---- for later passes ---- */
/* -1: the node is not part of the plan, or has no value yet. */
static inline int wi_value_index(const wi_partition *p, const weft_tensor *node) {
    return wi_is_ordered(p->order, node) ? p->value_of[wi_place_of(p->order, node)] - 1 : -1;
}
/* NULL: the node is not part of the plan. */
const wi_value *wi_value_of_node(const wi_partition *p, const weft_tensor *node);
size_t wi_value_bytes(const wi_value *value);
/* Does the step compute the value where it reads it: an inline value, or what another step has in registers only? */
bool wi_is_inline_in(const wi_value *value, int step);
/* The node that says how. */
const weft_tensor *wi_inline_node(const wi_value *value);
/* The storage that a value's elements lie in. */
int wi_base_storage(const wi_partition *p, int value);
/* The one of its own that this lies in. */
int wi_whole_storage(const wi_partition *p, int value);
/* In an inference plan on one device: is it a variable, in part or whole, that the plan does not assign? */
bool wi_is_fixed(const wi_partition *p, int value);
wi_device *wi_step_device(const wi_partition *p, const wi_step *step);
/* Of a TRANSFER: the device index of what is copied. */
int wi_transfer_from(const wi_partition *p, const wi_step *step);
/* Is the step a transfer from one device to another? */
bool wi_changes_device(const wi_partition *p, const wi_step *step);
/* Does a library compute the step's product? Then there is no kernel of ours. */
bool wi_step_is_library(const wi_step *step);
/* PRODUCT and KERNEL steps; the first member and the sources are set. */
wi_kernel_site wi_step_site(const wi_partition *p, const wi_step *step);
/* All that the choice of an implementation and its preparation see of a step, and its device. */
void wi_key_add_site(wi_key_map *map, const wi_device *device, const wi_kernel_site *site);
/* PRODUCT steps: does the operand's layout follow (batch, row, column) with one batch stride? */
bool wi_product_layout(
    const wi_step *step, const wi_extent *extent, const wi_layout *layout, wi_layout *merged);
/* How far the number that a generator counts by moves along each of its axes: the place of an element among all of them, or, of
 * a coordinate, along one axis. */
wi_layout wi_generator_layout(const weft_tensor *generator, const wi_extent *extent);
/* PRODUCT steps: can the epilogue compute the generator, whose layout follows (batch, row, column)? */
bool wi_product_generates(const wi_partition *p, const wi_step *step, const weft_tensor *generator);
/* A value's layout stretched to a space of more or larger dimensions. */
wi_layout wi_broadcast_layout(const wi_extent *from, const wi_layout *layout, const wi_extent *to);

/* ---- for the files of this pass, and assign.c ---- */
weft_status wi_new_value(wi_partition *p, weft_tensor *node, int *index);
/* From here on the value has that layout. */
weft_status wi_lay_value(wi_partition *p, int index, const wi_layout *layout);
weft_status wi_new_storage(wi_partition *p, wi_storage_kind kind, size_t bytes, int *index);
weft_status wi_new_step(wi_partition *p, wi_step_kind kind, const wi_shape *shape, int *index);
void wi_add_member(wi_partition *p, int step, int value);
/* Makes the value an inline one that the node says how to compute. */
void wi_make_inline(wi_partition *p, int value, const weft_tensor *expression, int operands);
bool wi_is_uniform_inline(const wi_value *value);
/* Storage in the arena, unless the value lies in memory already. */
weft_status wi_give_memory(wi_partition *p, int value);
/* A slot among the faults for what computes the value, on `count` devices from `first` on. */
weft_status wi_take_fault(wi_partition *p, int value, int first, int count);
/* A step that copies a value into memory of its own, or into storage (>= 0) with the given layout. */
weft_status wi_copy_value(wi_partition *p, int from, int storage, const wi_layout *layout, int *copy);
/* Makes *value one that lies in memory. */
weft_status wi_in_memory(wi_partition *p, int *value);
/* Makes *value, which lies in memory, one that lies there row-major; copied at most once. */
weft_status wi_contiguous(wi_partition *p, int *value);
/* Computed by a loop, and no one has asked for its memory yet: it may lie in any order. */
bool wi_may_be_permuted(const wi_partition *p, int value);
weft_status wi_select_for(wi_partition *p, wi_step *step);

/* Operands that the node brings with it into the step (-1: into none). */
int wi_new_operands(const wi_partition *p, const weft_tensor *node, int step);
/* Does a member of the step read that value, too? */
bool wi_step_reads(const wi_partition *p, const wi_step *step, int value);
/* Is a variable assigned what a member of the step computes? */
bool wi_step_assigns(const wi_partition *p, int step);
/* Is there room in the step for the node and its operands? */
bool wi_has_room(const wi_partition *p, const wi_step *step, const weft_tensor *node);
/* Of a member without memory: does its step have room for one more output? */
bool wi_may_store(const wi_partition *p, int value);

/* ---- materialise_inline.c ---- */
/* Is the map computed where it is used, rather than stored? Its inputs have values. */
bool wi_is_inline(const wi_partition *p, int value);
/* Of a value that the step is to read and does not compute: how many operands that brings. */
int wi_operands_of_reading(const wi_partition *p, int value, int step);
/* Is a member of another step rather computed in this one than read from memory? */
bool wi_becomes_inline(const wi_partition *p, int value, int step);
/* The member is stored, or becomes inline in this one, whichever takes less time. */
weft_status wi_read_from(wi_partition *p, int value, int step);
/* ---- partition_unread.c; for the gains, too ---- */
weft_status wi_drop_unread(wi_partition *p);

/* One node each, by its op's kind; value: of the node. at: the node's place in the order. */
weft_status wi_take_source(wi_partition *p, int value);
weft_status wi_take_generator(wi_partition *p, int value);
weft_status wi_take_view(wi_partition *p, int value);
weft_status wi_take_map(wi_partition *p, int value, size_t at);
weft_status wi_take_reduce(wi_partition *p, int value);
weft_status wi_take_product(wi_partition *p, int value);
weft_status wi_take_convolution(wi_partition *p, int value);
weft_status wi_take_kernel(wi_partition *p, int value);
/* ---- partition_rows.c ---- */
/* A kernel op's node that is a sum of rows by segments, or becomes a member of the step of one. */
bool wi_is_of_segments(const wi_partition *p, int value);
weft_status wi_take_of_segments(wi_partition *p, int value);
/* Is the member what its step's kernels compute, before the epilogue? */
bool wi_is_product_of(const wi_step *step, const wi_value *member);
/* Does the value, an operand of the step, have the rows of a table, not those of the segments? */
bool wi_is_table_of(const wi_partition *p, const wi_step *step, int value, bool is_output);
/* Strides of a view of picked rows, along the index and inside a row. */
void wi_split_rows(const wi_layout *view, int rank, wi_size width, wi_layout *rows, wi_layout *columns);
/* overlap.c: elements of its storage, at the general batch, between which all of a value's lie. */
typedef struct wi_span {
    int64_t first, end;
} wi_span;
wi_span wi_span_of(const wi_value *value);
/* Have two values elements in common? b: -1 is none. */
bool wi_values_overlap(const wi_partition *p, int a, int b);
weft_status wi_take_join(wi_partition *p, int value);
weft_status wi_take_assign(wi_partition *p, int value);
weft_status wi_take_transfer(wi_partition *p, int value);

#endif
