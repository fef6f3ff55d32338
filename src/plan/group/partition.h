/* The partition: nodes become values, values are assigned to steps, and values that several steps use get memory.
 *
 *   partition_nodes.c     takes the nodes in order, then the outputs of the plan
 *   partition_values.c    creates values, storages and steps; sets the state of values; gives values memory
 *   partition_views.c     sources, generators, views
 *   partition_maps.c      maps and reductions: which step each joins
 *   materialise_inline.c  maps that the steps that read them compute
 *   partition_unread.c    removes members that nothing reads any more
 *   partition_products.c  matrix products and convolutions
 *   partition_copies.c    copies, and transfers from one device to another
 *   partition_joins.c     concatenation and flat gradients; assignments
 *   partition_ops.c       kernel ops
 *   partition_rows.c      sums of rows by segments, and updates of the rows of tables
 *   select.c              chooses the implementation of a product or kernel op as soon as the layouts of its operands are known
 *
 * The passes of improve/improve.h then change the steps. After them layout/loops.c may add steps that copy, and layout/assign.c may
 * place one storage inside another. Later passes only read the partition. */
#ifndef WI_PARTITION_H
#define WI_PARTITION_H

#include "cl/max_devices.h"
#include "kernels/product/gemm.h"
#include "plan/rewrite/order.h"

typedef struct wi_kernel_site wi_kernel_site; /* kernels/implementation.h */
struct wi_selection;                          /* kernels/candidates.h */

/* ---- storages ---- */

typedef enum wi_storage_kind {
    WI_STORAGE_ARENA, /* an intermediate value */
    WI_STORAGE_INPUT, /* an input of the plan; each has its own buffer */
    WI_STORAGE_BLOCK  /* a block (wi_block): memory of the graph that has parameters or a state */
} wi_storage_kind;

typedef struct wi_storage {
    wi_storage_kind kind;
    int device; /* device index */
    size_t bytes;
    bool keep;           /* zeroed when the plan is created, and in use as long as the plan exists */
    int alias;           /* the storage that contains this one; -1: none */
    size_t alias_offset; /* bytes from the beginning of the alias */
    size_t block;        /* BLOCK: index of the graph's block */
    bool on_host;        /* BLOCK: in host memory; runs load what they access (arrange/loads.h) */
} wi_storage;

/* ---- values ---- */

/* The state of a value decides which struct of the union in wi_value is valid. */
typedef enum wi_value_state {
    WI_VALUE_INLINE, /* `inlined`: every step that reads the value computes it; it is never stored */
    WI_VALUE_MEMBER, /* `member`: one step computes the value, and stores it if it has a storage */
    WI_VALUE_MEMORY  /* `memory`: a source, a view of a stored value, a joined tensor or an assignment */
} wi_value_state;

/* Sizes and row-major layout of a shape. Values of equal shape share one such struct. */
typedef struct wi_sizes {
    const wi_shape *shape;
    wi_extent extent;
    wi_layout contiguous;
} wi_sizes;

enum { WI_KNOWN_SIZES = 64 };

/* A view that gathers rows of a table by index: the steps that read it gather the rows themselves (picked_rows.c). */
typedef struct wi_pick {
    int table, index; /* numbers of values */
    wi_size width;    /* elements of a row */
    int64_t skipped;  /* an index that is not a fault although it is out of range */
    int fault;        /* fault slot for an index out of range */
} wi_pick;

typedef struct wi_inline_state {
    /* The node that each reading step computes: the value's node, or for a view of a uniform value the expression of that value. */
    const weft_tensor *expression;
    int operands; /* the most operands that a step needs to compute the value */
    /* All elements are equal. Any kernel can compute a uniform value; other inline values depend on an element's index. */
    bool uniform;
} wi_inline_state;

typedef struct wi_member_state {
    /* What the step computes: a copy of the stored value `copy_of` (-1: no copy), or the inline value that has this expression (NULL: no
     * inline value), or if neither is set the node of the value (wi_computes_node). */
    int copy_of;
    const weft_tensor *expression;
    int place; /* number among the members of the step, from 0 */
    /* How many reductions of the step must be computed one after the other before the value is known. A reduction counts itself. */
    int chain;
    int outside; /* readers that are not, or not yet, members of the step; a plan's output is a reader */
    bool in_row; /* has one element for each row of a reduction, not one for each point of the space */
    bool keeps_layout; /* the layout is final: a contraction's epilogue computes or reads the value with it */
    bool permuted;     /* stored in the memory order of its readers, not of its axes */
} wi_member_state;

typedef struct wi_memory_state {
    int base; /* of a view: the value whose memory it reads; of any other value: its own number */
    /* Non-NULL if this view gathers rows of a table by index instead of being stored. The value's layout then describes the gathered rows
     * as if they were stored contiguously, and `base` is the base of the table. */
    const wi_pick *pick;
} wi_memory_state;

/* A node in the plan. A plan has thousands of values and each pass walks over all of them, so extents and layouts are shared and not
 * stored here. */
typedef struct wi_value {
    weft_tensor *node;
    const wi_extent *extent;
    const wi_layout *layout; /* contiguous until wi_set_layout changes it */
    weft_dtype format;       /* format in memory; in registers the value has the node's dtype */
    /* The step that computes the value, or the memory that a view reads. -1: the value is inline, or in memory before the first step. */
    int step;
    int storage; /* -1: the value is not stored, or is a view, which reads the storage of its base */
    /* The value that was added to the plan to store this one where a reader needs an inline value in memory, or a stored value in
     * row-major order. All readers with this need share it. -1: none. */
    int stored_as;
    int fault; /* fault slot of the code that computes the value; -1: the code reports no faults */
    /* Set together with the union, by wi_make_inline, wi_add_member, wi_make_stored and wi_make_view. */
    wi_value_state state;
    union {
        wi_inline_state inlined; /* WI_VALUE_INLINE */
        wi_member_state member;  /* WI_VALUE_MEMBER */
        wi_memory_state memory;  /* WI_VALUE_MEMORY */
    };
} wi_value;

/* ---- steps ---- */

enum {
    WI_MAX_MEMBERS = 64,
    /* The longest chain of reductions in a step. Each reduction of a chain adds a sweep, which reads the row and computes the earlier
     * members again. */
    WI_MAX_CHAIN = 6,
    WI_MAX_OPERANDS = 28, /* inputs and outputs of a kernel */
    WI_MAX_INPUTS = 14,   /* inputs of a kernel, while the partition may still add outputs to the step */
    /* The most operands of an inline value. A map of three such values can always begin a step. */
    WI_MAX_INLINE_OPERANDS = 6
};

typedef enum wi_step_kind {
    WI_STEP_LOOP, /* maps, and reductions over one set of axes */
    /* A contraction, or sums of rows by segments. The epilogue has maps. */
    WI_STEP_PRODUCT,
    WI_STEP_KERNEL,  /* a kernel op */
    WI_STEP_TRANSFER /* copies the contiguous bytes of a value, on one device or between two */
} wi_step_kind;

typedef struct wi_step {
    int index; /* in the order of execution */
    wi_step_kind kind;
    int device;       /* device index; TRANSFER: the device to which the step copies */
    wi_shape shape;   /* LOOP: the index space before axes are merged; PRODUCT: the result */
    wi_extent extent; /* of `shape` */
    uint32_t reduced; /* LOOP: bit i is set if axis i is reduced */
    int members[WI_MAX_MEMBERS];
    int member_count;
    int input_count;               /* upper bound of the distinct values that are read */
    bool only_moves;               /* the step was created only to copy a stored value */
    int sources[WI_KERNEL_INPUTS]; /* PRODUCT and KERNEL: values of the inputs; in a matrix product A and B */
    wi_gemm_shape gemm;            /* PRODUCT: the sizes and strides of the contraction */
    /* PRODUCT: B is one matrix, and the leading dimensions of the result are rows of one product. */
    bool has_merged_rows;
    /* PRODUCT: the step sums rows by segments. Each segment belongs to one row of a table (partition_rows.c). */
    bool by_segments;
    /* by_segments: `source_extent` is the space in which the rows to be added are computed; its last axis is the columns of a row.
     * sources[1] is the segments. If `computed` is -1, sources[0] is the stored rows. Otherwise the step itself computes the rows, `computed`
     * is their value, and sources[0] is the segments, too. */
    wi_extent source_extent;
    int computed;
    const struct wi_selection
        *selection; /* PRODUCT and KERNEL: the candidates and the chosen one (select.c) */
} wi_step;

typedef struct wi_assignment {
    int variable, value; /* numbers of values */
} wi_assignment;

typedef struct wi_partition {
    const wi_request *request;
    const wi_node_order *order;
    int *value_of; /* by place in the order: 1 + the value's number; 0: none */
    wi_value *values;
    size_t value_count, value_capacity;
    wi_storage *storages;
    size_t storage_count, storage_capacity;
    wi_step **steps;
    size_t step_count, step_capacity;
    wi_assignment *assignments;
    size_t assignment_count, assignment_capacity;
    const wi_sizes *sizes[WI_KNOWN_SIZES]; /* a cache of sizes, by a hash of the shape */
    int *output_values;                    /* by output: its value; -1: the output is an assignment */
    /* By device index: the storage of the fault slots, integers through which kernels report faults (run/faults.c); -1: no step of the device
     * reports faults. */
    int faults[WI_MAX_DEVICES];
    int fault_count;               /* number of fault slots; a slot has the same number on all devices */
    struct wi_key_map *selections; /* the selections of select.c, by site */
    bool *assigned;                /* by block of the graph: the plan writes to the block */
    int device;  /* device index of new steps and storages: that of the node that is being processed */
    bool draws;  /* the plan computes random numbers */
    bool trains; /* the plan assigns to parameters */
    /* Bit i is set if the plan uses clock i of the graph (wi_clock). Each run of the plan advances these clocks. */
    uint64_t clocks;
} wi_partition;

weft_status wi_plan_partition(const wi_node_order *order, wi_partition *partition);
void wi_partition_clear(wi_partition *partition);

/* ---- for later passes ---- */
/* The number of the node's value; -1: the node is not part of the plan, or has no value yet. */
static inline int wi_value_index(const wi_partition *p, const weft_tensor *node) {
    return wi_is_ordered(p->order, node) ? p->value_of[wi_place_of(p->order, node)] - 1 : -1;
}
/* The node's value; NULL: the node is not part of the plan, or has no value yet. */
const wi_value *wi_value_of_node(const wi_partition *p, const weft_tensor *node);
size_t wi_value_bytes(const wi_value *value);
/* Is the value a member of this step? */
static inline bool wi_is_member_of(const wi_value *value, int step) {
    return value->state == WI_VALUE_MEMBER && value->step == step;
}
/* Does the step compute the member's node, rather than copy another value or store an inline value? */
static inline bool wi_computes_node(const wi_value *value) {
    return value->member.copy_of < 0 && !value->member.expression;
}
/* The value whose memory a view reads; for a value that is not a view, the value itself. */
static inline int wi_base_of(const wi_partition *p, int value) {
    return p->values[value].state == WI_VALUE_MEMORY ? p->values[value].memory.base : value;
}
/* How the steps that read the value gather rows of a table; NULL: the value is not a view of gathered rows. */
static inline const wi_pick *wi_pick_of(const wi_value *value) {
    return value->state == WI_VALUE_MEMORY ? value->memory.pick : NULL;
}
/* Does a step that reads the value compute it? Yes for an inline value, and for a member of another step that is not stored. */
bool wi_is_inline_in(const wi_value *value, int step);
/* The node that computes an inline value (wi_is_inline_in). */
const weft_tensor *wi_inline_node(const wi_value *value);
/* The storage that has the value's elements; -1: the value is not stored. */
int wi_base_storage(const wi_partition *p, int value);
/* The outermost storage that has the elements of the value; -1: the value is not stored. */
int wi_whole_storage(const wi_partition *p, int value);
/* Is the outermost storage of the value of this kind? No if the value is not stored. */
bool wi_is_stored_in(const wi_partition *p, int value, wi_storage_kind kind);
/* Is the value part of a block that the plan does not write? Always false in plans for training and on several devices. */
bool wi_is_fixed(const wi_partition *p, int value);
wi_device *wi_step_device(const wi_partition *p, const wi_step *step);
/* TRANSFER steps: the device index of the value that is copied. */
int wi_transfer_from(const wi_partition *p, const wi_step *step);
/* Is the step a transfer from one device to another? */
bool wi_changes_device(const wi_partition *p, const wi_step *step);
/* Does a library compute the step's product? Then the plan has no kernel or epilogue for the step. */
bool wi_step_is_library(const wi_step *step);
/* For PRODUCT and KERNEL steps: the site for selection. The first member and the sources must be set. */
wi_kernel_site wi_step_site(const wi_partition *p, const wi_step *step);
/* Adds to the key (base/key_map.h) all that the choice and the preparation of an implementation depend on. */
void wi_key_add_site(struct wi_key_map *map, const wi_device *device, const wi_kernel_site *site);
/* PRODUCT steps: can the epilogue address the operand as (batch, row, column)? *merged gets its strides, broadcast to the result. */
bool wi_product_layout(
    const wi_step *step, const wi_extent *extent, const wi_layout *layout, wi_layout *merged);
/* A generator computes each element from a number: most generators from the row-major index of the element, a coordinate from the index along
 * one axis. Returns the layout whose addresses are these numbers. */
wi_layout wi_generator_layout(const weft_tensor *generator, const wi_extent *extent);
/* PRODUCT steps: can the epilogue compute the generator from (batch, row, column)? */
bool wi_product_generates(const wi_partition *p, const wi_step *step, const weft_tensor *generator);
/* The layout with which the value is read in a space of more or larger dimensions; stride 0 along broadcast axes. */
wi_layout wi_broadcast_layout(const wi_extent *from, const wi_layout *layout, const wi_extent *to);

/* ---- for the files of this pass, improve/ and assign.c ---- */
/* Adds a value for the node. The caller gives the value its state next. */
weft_status wi_new_value(wi_partition *p, weft_tensor *node, int *index);
/* Sets the value's layout. */
weft_status wi_set_layout(wi_partition *p, int index, const wi_layout *layout);
weft_status wi_new_storage(wi_partition *p, wi_storage_kind kind, size_t bytes, int *index);
weft_status wi_new_step(wi_partition *p, wi_step_kind kind, const wi_shape *shape, int *index);
/* Makes the value the last member of the step. */
void wi_add_member(wi_partition *p, int step, int value);
/* Makes the value inline: each reader computes `expression`, from at most that number of operands. */
void wi_make_inline(wi_partition *p, int value, const weft_tensor *expression, int operands);
/* Gives the value the state WI_VALUE_MEMORY and this storage. storage -1: the value is an assignment, whose memory nothing reads. */
void wi_make_stored(wi_partition *p, int value, int storage);
/* Makes the value a view of the memory of `viewed`, which is a stored value or itself a view. Does not set the layout. */
void wi_make_view(wi_partition *p, int value, int viewed);
bool wi_is_uniform_inline(const wi_value *value);
/* Gives a member a storage in the arena. Does nothing for a value in memory. */
weft_status wi_store_member(wi_partition *p, int value);
/* Reserves a fault slot for the code that computes the value, on `count` devices from index `first`. */
weft_status wi_reserve_fault(wi_partition *p, int value, int first, int count);
/* Adds a step that copies the value `from`, or computes it if it is inline, and stores the result *copy: in `storage` with `layout`, or, if
 * `storage` is -1 and `layout` NULL, in a new storage in row-major order. */
weft_status wi_copy_value(wi_partition *p, int from, int storage, const wi_layout *layout, int *copy);
/* Makes sure that *value is in memory. A member gets a storage. If *value is inline, *value becomes the number of another value, which a step
 * stores; all callers on one device share this value. */
weft_status wi_in_memory(wi_partition *p, int *value);
/* Replaces *value, a value in memory, by a row-major copy unless it is row-major itself. All callers share one copy. */
weft_status wi_contiguous(wi_partition *p, int *value);
/* Is the value inline, or computed by a loop, and not stored yet? Then it may be stored in any memory order. */
bool wi_may_be_permuted(const wi_partition *p, int value);
weft_status wi_select_for(wi_partition *p, wi_step *step);

/* Operands that the step would need in addition if the node became a member. step -1: operands of the node alone. */
int wi_new_operands(const wi_partition *p, const weft_tensor *node, int step);
/* Is the value an input of a member of the step? */
bool wi_step_reads(const wi_partition *p, const wi_step *step, int value);
/* Does an assignment write a member of the step to a variable? */
bool wi_step_assigns(const wi_partition *p, int step);
/* Can the step have the node as a further member, within the limits of members and operands? */
bool wi_has_room(const wi_partition *p, const wi_step *step, const weft_tensor *node);
/* Can the step store this member, which has no storage yet, as one more output? */
bool wi_may_store(const wi_partition *p, int value);

/* ---- materialise_inline.c ---- */
/* Is the map computed by its readers instead of stored? The inputs must have values. */
bool wi_is_inline(const wi_partition *p, int value);
/* Operands that the step needs to read a value that another step computes, or to compute it again. */
int wi_operands_of_reading(const wi_partition *p, int value, int step);
/* Does the step compute this member of another step again, rather than read it from memory? */
bool wi_becomes_inline(const wi_partition *p, int value, int step);
/* Prepares the step to read a member of another step: stores the member, or lets the step compute it, whichever is faster. */
weft_status wi_read_from(wi_partition *p, int value, int step);
/* ---- partition_unread.c; for improve/, too ---- */
weft_status wi_drop_unread(wi_partition *p);

/* Each function gives the value of one node its state, and a step if one computes the value. partition_nodes.c chooses the function by the kind
 * of the node's op. `value` is the node's value, `at` the node's place in the order. */
weft_status wi_group_source(wi_partition *p, int value);
weft_status wi_group_generator(wi_partition *p, int value);
weft_status wi_group_view(wi_partition *p, int value);
weft_status wi_group_map(wi_partition *p, int value, size_t at);
weft_status wi_group_reduce(wi_partition *p, int value);
weft_status wi_group_product(wi_partition *p, int value);
weft_status wi_group_convolution(wi_partition *p, int value);
weft_status wi_group_kernel(wi_partition *p, int value);
/* ---- partition_rows.c ---- */
/* Is the node a sum of rows by segments, or a read or write of table rows that joins the step of such a sum? */
bool wi_is_of_segments(const wi_partition *p, int value);
weft_status wi_group_segment_rows(wi_partition *p, int value);
/* Is the member the result of the contraction itself, before the epilogue? */
bool wi_is_product_of(const wi_step *step, const wi_value *value);
/* Is the value a table of which the step reads (is_output: writes) the rows that belong to its segments? */
bool wi_is_table_of(const wi_partition *p, const wi_step *step, int value, bool is_output);
/* Splits the strides of a view of gathered rows: `rows` gets the strides that select a row, in elements of the index tensor, `columns` the
 * strides inside a row. */
void wi_split_rows(const wi_layout *view, int rank, wi_size width, wi_layout *rows, wi_layout *columns);
/* overlap.c: the range of elements of the storage that contains all elements of a value, at the general batch size. */
typedef struct wi_span {
    int64_t first, end;
} wi_span;
wi_span wi_span_of(const wi_value *value);
/* Do the ranges of two values have elements in common? False if b is -1. */
bool wi_values_overlap(const wi_partition *p, int a, int b);
weft_status wi_group_join(wi_partition *p, int value);
weft_status wi_group_assign(wi_partition *p, int value);
weft_status wi_group_transfer(wi_partition *p, int value);

#endif
