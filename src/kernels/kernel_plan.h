/* Ops with kernels of their own (WI_KERNEL): what such an op gives a plan.
 *
 * The inputs lie in memory, any strides unless the descriptor asks for contiguous ones; the result is
 * contiguous memory that only the op's launches write. `prepare` of an implementation (registry.h) fills a
 * wi_kernel_plan: macros to define before the file of cl_kernels, and launches with their arguments.
 *
 * The file is a template that may stand several times in one program: its kernels are named
 * WEFT_NAME(suffix), and what it defines beside them stands in an include guard of its own. WEFT_NAME and the
 * given macros are defined before an inclusion and undefined after it; without them the file compiles by
 * itself.
 *
 * Launches that a sequence needs once a step are written down once and repeated (wi_kernel_repeat), with the
 * number of the repetition as an argument; how often may depend on the batch and on everything else.
 *
 * Macros must not depend on the batch size (use the general sizes or the node's shape for decisions about
 * structure), so that all batch sizes share one program; arguments and sizes of launches are of the actual
 * batch. */
#ifndef WI_KERNEL_PLAN_H
#define WI_KERNEL_PLAN_H

#include "graph/nodes.h"

enum { WI_KERNEL_ARGUMENTS = 64, WI_KERNEL_LAUNCHES = 48, WI_KERNEL_MACROS = 12 };

typedef enum wi_kernel_argument_kind {
    WI_KERNEL_INPUT,    /* two of the kernel's: __global const T *, long offset (elements); number: which */
    WI_KERNEL_RESULT,   /* two: __global T *, long offset (elements) */
    WI_KERNEL_SCRATCH,  /* two: __global float * (or another type of 4 bytes), long offset + number (elements)
                        */
    WI_KERNEL_INT,      /* int */
    WI_KERNEL_LONG,     /* long */
    WI_KERNEL_FLOAT,    /* float */
    WI_KERNEL_FAULTS,   /* two: __global int *, long: for WEFT_FAULT of common.clh */
    WI_KERNEL_RANDOM,   /* three uints: the seed's halves, the number of the run */
    WI_KERNEL_ITERATION /* int: the number of the repetition, from 0 */
} wi_kernel_argument_kind;

typedef struct wi_kernel_argument {
    wi_kernel_argument_kind kind;
    int64_t number;
    float real;
} wi_kernel_argument;

typedef struct wi_kernel_launch {
    const char *suffix; /* the kernel is WEFT_NAME(suffix) */
    bool has_epilogue;  /* of a matrix product: takes the epilogue's parameters after its own */
    bool copies;        /* only copies input 0 to the result: left out where they are the same memory */
    unsigned
        whole; /* dimensions, a bit each, whose size the kernel asks for: it is not cut there (cl/launch.h) */
    cl_uint dimensions;
    size_t global[3], local[3]; /* local[0] == 0: the driver chooses */
    wi_kernel_argument arguments[WI_KERNEL_ARGUMENTS];
    int argument_count;
    int64_t iterations; /* of this launch and those after it; 0: it runs once */
    int launches_per_iteration;
} wi_kernel_launch;

typedef struct wi_kernel_macro {
    const char *name;
    char value[64];
} wi_kernel_macro;

typedef struct wi_kernel_plan {
    /* ---- from the implementation's record, before `prepare` is called (wi_implementation_prepare) ---- */
    const char *file;              /* "gather.cl" */
    const char *const *headers;    /* files that precede it, each with an include guard; NULL: none */
    const char *const *parameters; /* macros with the variant's values, ends with NULL; NULL: none */
    const int *values;
    wi_arena *arena; /* of the plan */
    /* ---- filled in by `prepare` ---- */
    wi_kernel_macro macros[WI_KERNEL_MACROS];
    int macro_count;
    wi_kernel_launch *launches[WI_KERNEL_LAUNCHES]; /* one after another; taken from the arena as they come */
    int count;
    wi_kernel_launch spare; /* written to when there is no memory for another */
    bool failed;
    bool narrow;          /* indices have 32 bits, see index_type.h */
    size_t scratch_bytes; /* device memory that only these launches use, its content undefined before them */
    /* The first `pack_count` launches read nothing but the inputs of `packed` (a bit each), and write nothing but the
     * first `pack_bytes` of the scratch memory, which the others only read: an inference plan may run them once. */
    int pack_count;
    uint32_t packed;
    size_t pack_bytes;
    int sum_splits; /* contractions of a site with sums: how many parts the sums of a column have */
    double flops;
} wi_kernel_plan;

/* Filling a wi_kernel_plan. Too many launches or arguments (a defect) and missing memory are reported by
 * wi_kernel_plan_check, so that a launch is never NULL; it stays where it is. */
void wi_kernel_macro_text(wi_kernel_plan *plan, const char *name, const char *value);
void wi_kernel_macro_int(wi_kernel_plan *plan, const char *name, int64_t value);
/* The unsigned type of the dtype's size, for what only moves elements. */
void wi_kernel_macro_bits(wi_kernel_plan *plan, const char *name, weft_dtype dtype);
/* What precedes the file: parameters and macros, then headers as lines that stand for their text (wi_kernel_source_include); and what
 * follows it. */
weft_status wi_kernel_headers_include(const wi_kernel_plan *plan, wi_text *source);
void wi_kernel_macros_define(const wi_kernel_plan *plan, wi_text *source);
void wi_kernel_macros_undefine(const wi_kernel_plan *plan, wi_text *source);
/* All of these around the file itself. */
weft_status wi_kernel_template_append(const wi_kernel_plan *plan, wi_text *source);
/* A launch over `items` work-items in groups of `group` (0: the driver chooses); items is rounded up to whole
 * groups, so that the kernel must check its index. */
wi_kernel_launch *wi_kernel_launch_1d(wi_kernel_plan *plan, const char *suffix, int64_t items, int64_t group);
/* Over x * y * z work-items, each a group of its own, as those of class cpu are. */
wi_kernel_launch *wi_kernel_launch_3d(
    wi_kernel_plan *plan, const char *suffix, int64_t x, int64_t y, int64_t z);
void wi_kernel_input(wi_kernel_launch *launch, int input);
void wi_kernel_result(wi_kernel_launch *launch);
void wi_kernel_scratch(wi_kernel_launch *launch, int64_t offset);
void wi_kernel_int(wi_kernel_launch *launch, int64_t number);
void wi_kernel_long(wi_kernel_launch *launch, int64_t number);
void wi_kernel_ints(wi_kernel_launch *launch, const int64_t *numbers, size_t count);
void wi_kernel_longs(wi_kernel_launch *launch, const int64_t *numbers, size_t count);
#define WI_KERNEL_NUMBERS(...)                                                                               \
    (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)
void wi_kernel_float(wi_kernel_launch *launch, double number);
void wi_kernel_faults(wi_kernel_launch *launch);
void wi_kernel_random(wi_kernel_launch *launch);
void wi_kernel_iteration(wi_kernel_launch *launch);
/* The launches from `first` (an index into plan->launches) to the last so far run `iterations` times, together. */
void wi_kernel_repeat(wi_kernel_plan *plan, int first, int64_t iterations);
/* The launches so far pack these inputs (a bit each) into so many bytes at the beginning of the scratch memory. */
void wi_kernel_packs(wi_kernel_plan *plan, uint32_t inputs, size_t bytes);
/* The file is named, everything fitted, and sizes are positive; `op` begins the line. */
weft_status wi_kernel_plan_check(const wi_kernel_plan *plan, const char *op);

#endif
