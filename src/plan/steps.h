/* Plans: how the passes see a graph on its way to launches.
 *
 *   order.c     nodes behind the outputs, composites replaced, inputs before users
 *   fuse.c      nodes become values; values are gathered into steps
 *   values.c    values, storages and steps, and the memory that values get
 *   loop.c      a step's index space and its operands, with axes merged; assignments done in place
 *   codegen.c   OpenCL C of a step (expressions in expression.c, folded reads in fold.c)
 *   schedule.c  how each step's work is cut, scratch memory
 *   placement.c  for how long each memory is in use, and at which offset it lies
 *   kernel_step.c  steps of ops with kernels of their own
 *   conversion.c  where images change their order in memory
 *   launches.c  kernels with their arguments, scratch, sizes
 *   plan.c      the public calls; run.c: the step loop; describe.c
 *   profile.c   a run with the device's times (as text and trace in profile_text.c)
 *
 * Everything here belongs to one plan and lives in its arena until the plan is released. */
#ifndef WI_STEPS_H
#define WI_STEPS_H

#include "cl/launch.h"
#include "cl/program.h"
#include "kernels/product/gemm.h"
#include "kernels/selection.h"
#include "ops/op_table.h"
#include <weft/plan.h>

/* ---- memory ---- */

typedef enum wi_storage_kind {
    WI_STORAGE_ARENA, /* an intermediate */
    WI_STORAGE_INPUT, /* of the plan, one buffer each */
    WI_STORAGE_BLOCK  /* parameters or a state, of the graph */
} wi_storage_kind;

typedef struct wi_storage {
    wi_storage_kind kind;
    size_t bytes;
    int first, last;     /* steps between which it is in use */
    bool keep;           /* in use from the first step to the end of the plan's life, zero at first */
    int alias;           /* lies inside that storage; -1: of its own */
    size_t alias_offset; /* bytes */
    size_t offset;       /* bytes in `memory` */
    cl_mem memory;
    size_t block;     /* BLOCK: its index in the graph; ARENA: its chunk */
    wi_buffer buffer; /* INPUT: its own */
} wi_storage;

/* ---- values ---- */

typedef enum wi_value_state {
    WI_VALUE_LEAF,   /* computed where it is used */
    WI_VALUE_MEMBER, /* computed by a step, in registers until `storage` is given */
    WI_VALUE_MEMORY  /* there already, or another layout of a base value */
} wi_value_state;

typedef struct wi_value {
    weft_tensor *node;
    wi_value_state state;
    const weft_tensor *leaf; /* LEAF: the node that says how */
    int copy_of;             /* MEMBER: the value that it copies; -1: the node's own expression */
    int base;                /* MEMORY of a view: whose memory it is; else itself */
    int step;                /* that computes it; -1: there before the first */
    bool in_row;             /* MEMBER: one element a row of the reduction, not one a point of the space */
    bool after_reduction;    /* MEMBER: computed from a result of its own step's reductions */
    int pass; /* MEMBER: the pass over the space that computes it (in_row: after which it is there) */
    bool is_leaf_member; /* MEMBER: stores `leaf` */
    int storage;         /* -1: none */
    int written;         /* the value that has a LEAF in memory, or MEMORY row-major; -1: none */
    int weight;          /* LEAF: operands that it takes in a step, at most */
    int outside;         /* readers that are not members of its step, or not yet; a plan's output is one */
    bool turned;         /* MEMBER: lies in memory as its readers want it, not in the order of its axes */
    wi_extent extent;
    wi_layout layout;
} wi_value;

/* ---- steps ---- */

enum {
    WI_MAX_MEMBERS = 64,
    WI_MAX_OPERANDS = 28, /* inputs and outputs of a kernel */
    WI_MAX_INPUTS = 14,   /* of which inputs, before outputs are known */
    WI_MAX_ARGUMENTS = 160
};

typedef enum wi_step_kind {
    WI_STEP_LOOP,    /* maps, and reductions over one set of axes */
    WI_STEP_PRODUCT, /* matrix product with an epilogue of maps */
    WI_STEP_KERNEL   /* an op with kernels of its own */
} wi_step_kind;

/* Along one dimension of the space; see wi_fold_mode. */
typedef struct wi_fold {
    wi_fold_mode mode;
    wi_size before, size;
    int64_t step;
} wi_fold;

/* Something that a kernel addresses: memory that it reads or writes, or a leaf that depends on the index. */
typedef struct wi_operand {
    int value; /* -1: a leaf */
    const weft_tensor *leaf;
    bool is_output;
    weft_dtype dtype;
    wi_layout layout; /* over the merged dimensions of the space */
    /* Read at folded indices: the node that says so, and how over the dimensions of the space. NULL: not. */
    const weft_tensor *fold;
    wi_fold *folds;
} wi_operand;

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

typedef struct wi_space {
    int rank; /* after merging; at least 1 */
    wi_size dims[WEFT_MAX_RANK];
    bool reduced[WEFT_MAX_RANK];
} wi_space;

typedef struct wi_step {
    wi_step_kind kind;
    wi_shape shape;   /* LOOP: the space before merging; PRODUCT: the result */
    wi_extent extent; /* the same */
    uint32_t reduced; /* LOOP: reduced axes, a bit each */
    int members[WI_MAX_MEMBERS];
    int member_count;
    int input_count; /* distinct values read, at most */
    bool only_moves;
    /* loop.c */
    wi_space space;
    wi_operand operands[WI_MAX_OPERANDS];
    int operand_count;
    int passes;  /* over the space: reductions that depend on reductions need more than one */
    bool splits; /* a reduction that may be cut into parts */
    /* A member that several passes need, and the operand, an output, that holds it for the later ones; they
     * read nothing else along a row. -1: none. */
    int spilled, spill;
    /* codegen.c */
    wi_kernel_text whole, part, finish; /* PRODUCT: whole is the epilogue's part of the arguments */
    /* schedule.c */
    int work[5]; /* the work split, see codegen.c; work[4] is the number of parts, 1: not cut */
    size_t items, finish_items;
    /* PRODUCT */
    wi_gemm_shape gemm;
    const char *prefix; /* of the template's kernels */
    int scratch;        /* storage; -1 */
    size_t scratch_bytes;
    /* PRODUCT and KERNEL */
    const wi_selection *selection; /* what was considered */
    const wi_implementation *implementation;
    int sources[WI_KERNEL_INPUTS]; /* values; PRODUCT: A and B */
    int fault;                     /* KERNEL: its slot among the plan's faults; -1: none */
    wi_kernel_plan *kernel;
    int launch_count;
    double flops, bytes_moved;
} wi_step;

typedef struct wi_assignment {
    int variable, value; /* values */
} wi_assignment;

/* An argument that changes: set before the run, or when an input is bound to other memory. */
typedef struct wi_bound_argument {
    wi_argument_kind kind; /* SCALAR, DRAWS, TURN; BUFFER and OFFSET of an input's storage */
    int index;             /* of the kernel's argument */
    int which;             /* scalar or storage */
    int64_t elements;      /* OFFSET: to be added, in elements of `size` bytes */
    size_t size;
} wi_bound_argument;

typedef struct wi_plan_launch {
    wi_launch launch;
    const wi_step *step;
    wi_bound_argument *changing; /* SCALAR, DRAWS and TURN */
    int changing_count;
    int64_t turns; /* at the first of `together` launches that are repeated so often; 0: once */
    int together;
    wi_bound_argument *bound; /* arguments that lie in inputs */
    int bound_count;
} wi_plan_launch;

struct weft_plan {
    weft_graph *graph;
    weft_context *context;
    bool owns_graph; /* holds a reference */
    int references;
    int64_t batch;
    bool inference, draws;
    bool trains;     /* assigns to the parameters */
    uint64_t clocks; /* of the graph that a run moves, a bit each */
    wi_arena arena;
    weft_tensor **order; /* nodes, inputs first */
    size_t order_count, order_capacity;
    int *value_of; /* by node id: a value's index + 1 */
    size_t value_of_capacity;
    int *readers; /* by node id: inputs of other nodes, and outputs of the plan, that it is */
    wi_value *values;
    size_t value_count, value_capacity;
    wi_storage *storages;
    size_t storage_count, storage_capacity;
    wi_step **steps;
    size_t step_count, step_capacity;
    wi_assignment *assignments;
    size_t assignment_count, assignment_capacity;
    weft_tensor **outputs; /* as asked for */
    int *output_values;    /* -1: an assignment */
    size_t output_count;
    wi_buffer *chunks; /* of the arena */
    size_t *chunk_bytes;
    size_t chunk_count;
    wi_text source; /* of the program; cleared once it is built */
    wi_text
        parts_source; /* of the kernels that work on parts: a program of its own, built when a step is cut */
    const char **kernel_texts, **kernel_names; /* distinct kernels, to find equal ones */
    size_t kernel_count, kernel_text_capacity, kernel_name_capacity;
    wi_program *program, *parts_program;
    wi_plan_launch *launches;
    size_t launch_count, launch_capacity;
    bool compiled;                /* the launches are there */
    struct wi_profiler *profiler; /* notes what is enqueued; NULL: nobody asks */
    size_t run_count;
    int faults; /* storage of the fault slots; -1: no step has one */
    int fault_count;
    weft_plan_info info;
};

/* ---- passes, in order ---- */
weft_status wi_plan_order(weft_plan *plan);
weft_status wi_plan_fuse(weft_plan *plan);
weft_status wi_plan_loops(weft_plan *plan);    /* index spaces and operands of all steps */
weft_status wi_plan_codegen(weft_plan *plan);  /* source and argument lists */
weft_status wi_plan_schedule(weft_plan *plan); /* work splits and scratch memory */
weft_status wi_plan_place(weft_plan *plan);    /* liveness and offsets: exact bytes, nothing allocated */
weft_status wi_plan_allocate(weft_plan *plan);
void wi_plan_count_launches(weft_plan *plan);
weft_status wi_plan_launches(weft_plan *plan);
/* wi_plan_launches, once; after an error it may be tried again. */
weft_status wi_plan_compile(weft_plan *plan);

/* ---- running: weft_plan_run is both ---- */
/* Compiles what is not yet, refuses what may not run, moves the graph's clocks. */
weft_status wi_plan_begin_run(weft_plan *plan);
/* Enqueues every launch. */
weft_status wi_plan_walk(weft_plan *plan);

/* ---- describing ---- */
/* "matmul+add+relu": the ops of a step in their order. */
void wi_step_append_ops(const weft_plan *plan, const wi_step *step, wi_text *text);
const char *wi_step_kind_name(const weft_plan *plan, const wi_step *step); /* "product" */
const char *wi_step_implementation_name(const wi_step *step);

/* ---- shared ---- */
/* weft_plan_create without a reference to the graph: for plans that the graph itself keeps. */
weft_status wi_plan_create_unowned(
    weft_plan **plan, weft_tensor *const *outputs, size_t count, const weft_plan_options *options);
weft_status wi_plan_new_value(weft_plan *plan, weft_tensor *node, int *index);
size_t wi_plan_extent_bytes(const wi_extent *extent, weft_dtype dtype);
/* Is the leaf the same everywhere? Such leaves can stand in any kernel; others depend on the index in their
 * own shape. */
bool wi_plan_is_uniform(const weft_plan *plan, const weft_tensor *leaf);
/* Storage in the arena, unless the value lies in memory already. */
weft_status wi_plan_give_memory(weft_plan *plan, int value);
/* A step that copies a value into memory of its own, or into storage (>= 0) with the given layout. */
weft_status wi_plan_copy(weft_plan *plan, int from, int storage, const wi_layout *layout, int *copy);
weft_status wi_plan_new_storage(weft_plan *plan, wi_storage_kind kind, size_t bytes, int *index);
/* Makes *value one that lies in memory. */
weft_status wi_plan_in_memory(weft_plan *plan, int *value);
/* Makes *value, which lies in memory, one that lies there row-major; copied at most once. */
weft_status wi_plan_contiguous(weft_plan *plan, int *value);
weft_status wi_plan_new_step(weft_plan *plan, wi_step_kind kind, const wi_shape *shape, int *index);
void wi_plan_add_member(weft_plan *plan, int step, int value);
int wi_plan_value_index(const weft_plan *plan, weft_tensor *node);
/* PRODUCT and KERNEL steps: select.c. The first member and the sources are set. */
wi_kernel_site wi_step_site(const weft_plan *plan, const wi_step *step);
weft_status wi_step_select(weft_plan *plan, wi_step *step);
/* KERNEL steps: fuse.c, loop.c, codegen.c, launches.c hand over to these. */
weft_status wi_kernel_step_take(weft_plan *plan, int value);
weft_status wi_kernel_step_operands(weft_plan *plan, wi_step *step);
weft_status wi_kernel_step_source(weft_plan *plan, wi_step *step);
/* Fails with the line of the first fault that a run has noted since the last call, and forgets it. */
weft_status wi_plan_check_faults(weft_plan *plan);
/* Where a step changes the order of images in memory, counted by operand. */
typedef struct wi_conversions {
    int to_last;  /* from (N, C, spatial...) to channels-last */
    int to_first; /* back */
} wi_conversions;
wi_conversions wi_step_conversions(const weft_plan *plan, const wi_step *step);
/* Equal texts are one kernel. *added: it was not there yet, and *name is new. */
weft_status wi_plan_find_kernel(weft_plan *plan, const char *text, const char **name, bool *added);
/* The storage that a value's elements lie in, and the one that aliases lead to. */
int wi_plan_base_storage(const weft_plan *plan, int value);
int wi_plan_root(const weft_plan *plan, int storage);
/* What stands for a node in this plan: itself, or what its composite is lowered to. */
weft_tensor *wi_plan_resolve(const weft_plan *plan, weft_tensor *node);
wi_value *wi_plan_value(weft_plan *plan, weft_tensor *node); /* NULL before fusion has met it */
/* The storage that a value lies in, aliases followed; *offset gets the bytes to its first element. */
wi_storage *wi_plan_storage(weft_plan *plan, int storage, size_t *offset);
/* PRODUCT steps: does the operand's layout follow (batch, row, column) with one batch stride? */
bool wi_product_layout(
    const wi_step *step, const wi_extent *extent, const wi_layout *layout, wi_layout *merged);
/* Is the output written element by element, when nothing is left to read there for any other? In a reduction
 * that is what has an element for every point, written in the last pass. */
bool wi_step_writes_last(const weft_plan *plan, const wi_step *step, const wi_operand *output);
/* Does an op's code call a function of elementwise.clh? code may be NULL. */
bool wi_code_calls(const char *code);
/* A value's layout stretched to a space of more or larger dimensions. */
wi_layout wi_broadcast_layout(const wi_extent *from, const wi_layout *layout, const wi_extent *to);

#endif
