/* What the kernels of one step give a plan: macros to define before the template's text, launches with their arguments, and
 * scratch memory. `prepare` of an implementation (implementation.h) fills in a wi_kernel_plan.
 *
 * The inputs are in memory, with any strides unless the op's descriptor asks for contiguous ones. The result is contiguous memory
 * that only these launches write. An epilogue stores the result of a contraction instead.
 *
 * A template may be in a program several times. WEFT_NAME and the macros of the plan are defined before each copy and undefined
 * after it. The template therefore names its kernels, and functions that depend on its macros, WEFT_NAME(suffix), and has an include guard
 * around all other definitions.
 * Without these macros it compiles by itself.
 *
 * All batch sizes share one program. Macros must therefore not depend on the batch size: decisions about them use general sizes
 * or the node's shape. Arguments and sizes of launches use the actual batch size.
 *
 * Launches that are needed for each step of a sequence are written down once and repeated (wi_kernel_repeat). */
#ifndef WI_KERNEL_PLAN_H
#define WI_KERNEL_PLAN_H

#include "base/memory.h"
#include "graph/node.h"

enum { WI_KERNEL_ARGUMENTS = 64, WI_KERNEL_LAUNCHES = 48, WI_KERNEL_MACROS = 12 };

/* Memory takes two parameters of the kernel: a pointer, and a long with the offset in elements. */
typedef enum wi_kernel_argument_kind {
    WI_KERNEL_INPUT,   /* memory: __global const T *; number: which input */
    WI_KERNEL_RESULT,  /* memory: __global T * */
    WI_KERNEL_SCRATCH, /* memory: __global float *, or another type of 4 bytes; number: added to the offset */
    WI_KERNEL_INT,
    WI_KERNEL_LONG,
    WI_KERNEL_FLOAT,
    WI_KERNEL_FAULTS,   /* memory: __global int *, for WEFT_FAULT of common.clh */
    WI_KERNEL_RANDOM,   /* three uints: both halves of the seed, and the number of the run */
    WI_KERNEL_ITERATION /* int: the number of the repetition, from 0 */
} wi_kernel_argument_kind;

typedef struct wi_kernel_argument {
    wi_kernel_argument_kind kind;
    int64_t number;
    float real;
} wi_kernel_argument;

typedef struct wi_kernel_launch {
    const char *suffix; /* the kernel is WEFT_NAME(suffix) */
    bool has_epilogue;  /* contractions: the epilogue's parameters follow the kernel's own */
    bool copies;        /* only copies input 0 to the result: left out if they are the same memory */
    unsigned whole;     /* a bit for each dimension that is not divided into portions (cl/launch.h) */
    uint32_t dimensions;
    size_t global[3], local[3]; /* local[0] == 0: the driver chooses */
    wi_kernel_argument arguments[WI_KERNEL_ARGUMENTS];
    int argument_count;
    int64_t iterations; /* how often it runs, with the launches that are repeated with it; 0: once, alone */
    int launches_per_iteration;
} wi_kernel_launch;

typedef struct wi_kernel_macro {
    const char *name;
    char value[64];
} wi_kernel_macro;

typedef struct wi_kernel_plan {
    /* ---- from the implementation's record ---- */
    const char *file;           /* "gather.cl" */
    const char *const *headers; /* files before it, each with an include guard; ends with NULL; NULL: none */
    const char *const *parameters; /* names of macros; ends with NULL; NULL: none */
    const int *values;             /* of the parameters */
    wi_arena *arena;               /* of the plan */
    /* ---- filled in by `prepare` ---- */
    wi_kernel_macro macros[WI_KERNEL_MACROS];
    int macro_count;
    wi_kernel_launch *launches[WI_KERNEL_LAUNCHES]; /* in the arena, in the order in which they run */
    int count;
    wi_kernel_launch spare; /* receives the fields of a launch for which there is no memory */
    bool failed;
    bool narrow;          /* indices have 32 bits, see index_type.h */
    size_t scratch_bytes; /* undefined before the first launch */
    /* The first `pack_count` launches read only the inputs of `packed` (a bit each), and write only the first `pack_bytes` of the
     * scratch memory, which the other launches only read. An inference plan may run them once. */
    int pack_count;
    uint32_t packed;
    size_t pack_bytes;
    double flops;
} wi_kernel_plan;

/* ---- macros ---- */

void wi_kernel_macro_text(wi_kernel_plan *plan, const char *name, const char *value);
void wi_kernel_macro_int(wi_kernel_plan *plan, const char *name, int64_t value);
/* The unsigned type with the dtype's size, for kernels that only move elements. */
void wi_kernel_macro_bits(wi_kernel_plan *plan, const char *name, weft_dtype dtype);

/* ---- launches ---- */

/* These never return NULL: wi_kernel_plan_check reports missing memory, and too many launches or arguments. */

/* `items` work-items in groups of `group` (0: the driver chooses). `items` is rounded up to whole groups, so the kernel must
 * check its index. */
wi_kernel_launch *wi_kernel_launch_1d(wi_kernel_plan *plan, const char *suffix, int64_t items, int64_t group);
/* x * y * z work-items, each a group of its own, as in class cpu. */
wi_kernel_launch *wi_kernel_launch_3d(
    wi_kernel_plan *plan, const char *suffix, int64_t x, int64_t y, int64_t z);
/* groups[0] * groups[1] * groups[2] groups of local[0] * local[1] * local[2] work-items. */
wi_kernel_launch *wi_kernel_launch_groups(
    wi_kernel_plan *plan, const char *suffix, const int64_t groups[3], const size_t local[3]);

/* Each of these appends arguments to a launch. */
void wi_kernel_input(wi_kernel_launch *launch, int input);
void wi_kernel_inputs(wi_kernel_launch *launch, int count); /* inputs 0 to count - 1 */
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

/* The launches from number `first` to the last one so far run `iterations` times, all of them in each iteration. */
void wi_kernel_repeat(wi_kernel_plan *plan, int first, int64_t iterations);
/* The launches so far pack these inputs (a bit each) into the first `bytes` of the scratch memory. */
void wi_kernel_packs(wi_kernel_plan *plan, uint32_t inputs, size_t bytes);

/* Returns an error if the plan is not complete. op: a name for the message. */
weft_status wi_kernel_plan_check(const wi_kernel_plan *plan, const char *op);

/* ---- source text ---- */

/* Appends the template, with its macros and headers before it, and with lines after it that undefine the macros. */
weft_status wi_kernel_template_append(const wi_kernel_plan *plan, wi_text *source);
/* Append the parts of this text. The macros come before the headers. */
void wi_kernel_macros_define(const wi_kernel_plan *plan, wi_text *source);
weft_status wi_kernel_headers_include(const wi_kernel_plan *plan, wi_text *source);
void wi_kernel_macros_undefine(const wi_kernel_plan *plan, wi_text *source);

#endif
