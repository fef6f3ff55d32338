/* The record of an implementation: a kernel template, or a library, that computes an op.
 *
 * A record is in src/kernels/<family>/, in the file of the kernel's host side. The template has the same file name in
 * cl_kernels/<family>/. A family's table lists its records (registry.h); selection.h chooses one of them for a node.
 *
 * Parameters, such as tile sizes, are numbers that the template and its host side share. Only the record defines them: it has
 * the names of their macros, and one or more variants with a value of each. The macros are defined before the text of the
 * template and of its headers; templates have no defaults. The host side numbers the parameters by an enum:
 *
 *     enum { ROWS, DEPTH };
 *     .parameters = (const char *const[]){[ROWS] = "WEFT_GEMM_ROWS", [DEPTH] = "WEFT_GEMM_DEPTH", NULL},
 *     .variants = (const wi_variant[]){{"f32", {[ROWS] = 13, [DEPTH] = 256}}, {0}},
 *     const int *const p = site->values;   p[ROWS] ...
 *
 * A program may hold several templates that include the same header, whose include guard keeps only the first copy. A
 * parameter that is used inside an include guard therefore has the same value in all variants of all records that name the
 * file.
 *
 * Two kinds of op have implementations: contractions (matrix products, convolutions and their gradients), and kernel ops. An
 * epilogue receives the finished elements of a contraction (product/gemm.h). */
#ifndef WI_IMPLEMENTATION_H
#define WI_IMPLEMENTATION_H

#include "cl/device_profile.h"
#include "graph/node.h"
#include "kernels/kernel_plan.h"
#include <CL/cl.h>

struct wi_gemm_shape;
typedef struct wi_device wi_device; /* cl/opened_device.h */

/* One node at its place in a plan. */
typedef struct wi_kernel_site {
    const weft_tensor *node; /* NULL: a contraction outside of a plan, for measurements and tests */
    const wi_device_profile *device;
    bool inference;
    uint32_t fixed; /* a bit for each input that is the same in all runs and is therefore packed only once */
    wi_extent inputs[WI_KERNEL_INPUTS], result;
    /* The layouts of the inputs. `offset` is the offset modulo 16 elements, for decisions about alignment. The whole
     * offset is an argument of the kernel. */
    wi_layout layouts[WI_KERNEL_INPUTS];
    /* Sizes and strides of a matrix product or a convolution. NULL for other contractions and for kernel ops. */
    const struct wi_gemm_shape *product;
    weft_dtype formats[WI_KERNEL_INPUTS]; /* the formats in which the inputs are stored */
    weft_dtype result_format;             /* the format of the stored result; only if `product` is NULL */
    weft_dtype precision; /* the format to which factors may be rounded; f32: factors must not be rounded */
    weft_matmul_precision products; /* the precision of products of f32 operands */
    const int *values;              /* values of the parameters of the variant that is considered */
    bool quads;                     /* contractions: the epilogue accepts four columns at once */
    size_t most_scratch;            /* limit of the scratch memory in bytes; 0: no limit */
} wi_kernel_site;

enum { WI_IMPLEMENTATION_OPS = 3, WI_PARAMETERS = 12 };

/* One value for each parameter of an implementation. */
typedef struct wi_variant {
    const char *name;
    int values[WI_PARAMETERS];
} wi_variant;

/* How large work-groups and local memory must be for a kernel. */
typedef struct wi_limits {
    size_t group;    /* work-items of a group */
    size_t items[2]; /* work-items of a group along the first two dimensions */
    size_t local_bytes;
} wi_limits;

/* What an implementation needs of a device, whatever the sizes. */
typedef struct wi_needs {
    unsigned classes;                       /* bits WI_ON_CPU, WI_ON_GPU; 0: any */
    unsigned without;                       /* quirks of devices on which it does not work */
    unsigned engines;                       /* matrix engines that it uses, WI_ENGINE_ bits */
    wi_limits (*limits)(const int *values); /* NULL: it works within the limits of every device */
    bool (*copies)(const int *values);      /* does it copy asynchronously (cl/async_copies.h)? NULL: no */
} wi_needs;

/* The three number formats of an implementation. storage: of the inputs in memory, and of a kernel op's result. compute: of the
 * factors. accumulation: of the sums. */
typedef struct wi_formats {
    weft_dtype storage, compute, accumulation;
} wi_formats;

/* A value of `storage` that stands for every format whose numbers are computed in the format `compute` of the same wi_formats. */
#define WI_ANY_STORAGE ((weft_dtype)-1)

/* The formats of templates that convert each input as they load it: any storage that is computed in f32, with sums in f32. */
#define WI_GEMM_FORMATS                                                                                      \
    .formats = (const wi_formats[]){{WI_ANY_STORAGE, WEFT_F32, WEFT_F32}}, .format_count = 1

/* The formats of kernels by the matrix engine AMX, which round any storage to bf16, with sums in f32. */
#define WI_AMX_FORMATS                                                                                       \
    .formats = (const wi_formats[]){{WI_ANY_STORAGE, WEFT_BF16, WEFT_F32}}, .format_count = 1

enum { WI_ON_CPU = 1u << WEFT_CLASS_CPU, WI_ON_GPU = 1u << WEFT_CLASS_GPU };

typedef struct wi_implementation {
    const char *name;
    const wi_op *ops[WI_IMPLEMENTATION_OPS]; /* the ops that it computes */
    const char *file;                        /* template in cl_kernels; NULL: a library, which has `run` */
    const char *const *headers;              /* files before the template; ends with NULL; NULL: none */
    const char *const *parameters;           /* names of macros; ends with NULL; NULL: none */
    const wi_variant *variants;              /* the default first; ends with {0}; NULL: no parameters */
    const wi_variant *tuned_variants;        /* chosen only if the tuner measured them; NULL: none */
    wi_needs needs;
    /* The `format_count` combinations of formats that the implementation accepts. NULL: a contraction accepts f32 only, a kernel
     * op accepts the dtypes of its node. If there are formats, the template reads inputs 0, 1 and 2 by the macros of common.clh
     * for WEFT_FORMAT_A, _B and _C; a kernel op stores its result in WEFT_FORMAT_RESULT. */
    const wi_formats *formats;
    int format_count;
    /* Called while a plan is ordered, when sizes are known but layouts are not. Returns the node to compute in place of the
     * site's node, or this node itself; NULL: the graph has an error. May be NULL. */
    weft_tensor *(*rewrite)(const wi_kernel_site *site);
    bool quads; /* contractions: the template stores four columns at once if the epilogue can */
    bool joins; /* convolutions with `quads`: the columns of a quad may be of several groups */
    /* Does the implementation compute this site? NULL: it computes every site of a device that satisfies `needs`. */
    bool (*accepts)(const wi_kernel_site *site);
    /* Estimated seconds at a site that the implementation accepts (cost.h). NULL: its op has no other implementation. */
    double (*cost)(const wi_kernel_site *site);
    /* A factor by which the estimate is multiplied when candidates are compared. Kernels with larger rounding errors have a
     * factor above 1, and must be that much faster than the others. NULL: 1. */
    double (*margin)(const wi_kernel_site *site);
    /* Fills in *plan for the site. The fields that come from this record are already set. */
    weft_status (*prepare)(const wi_kernel_site *site, wi_kernel_plan *plan);
    /* The product of a library: enqueues C = A·B without an epilogue. C (batch, m, n) is contiguous and begins at element
     * c_offset. *event becomes the event of the last kernel; event may be NULL. */
    weft_status (*run)(wi_device *device, const struct wi_gemm_shape *shape, cl_mem a, size_t a_offset,
        cl_mem b, size_t b_offset, cl_mem c, size_t c_offset, cl_event *event);
} wi_implementation;

bool wi_implementation_computes(const wi_implementation *implementation, const wi_op *op);

/* The variant with this index; NULL after the last. The tuner's variants are last. An implementation without parameters has
 * one variant, whose name is empty. */
const wi_variant *wi_implementation_variant(const wi_implementation *implementation, int index);

bool wi_variant_is_tuned(const wi_implementation *implementation, const wi_variant *variant);

/* In these functions a variant of NULL is the first variant. */

/* Does the device have what the variant needs? */
bool wi_implementation_has_needs(
    const wi_implementation *implementation, const wi_variant *variant, const wi_device_profile *device);
/* Does the device have what the variant needs, and does the implementation compute the site in the site's formats? */
bool wi_implementation_accepts(
    const wi_implementation *implementation, const wi_variant *variant, const wi_kernel_site *site);
/* The estimated seconds, and the margin, at a site that the implementation accepts. The seconds are 0 if `cost` is NULL. */
double wi_implementation_cost(
    const wi_implementation *implementation, const wi_variant *variant, const wi_kernel_site *site);
double wi_implementation_margin(
    const wi_implementation *implementation, const wi_variant *variant, const wi_kernel_site *site);
/* Calls `prepare`, and checks the plan. */
weft_status wi_implementation_prepare(const wi_implementation *implementation, const wi_variant *variant,
    const wi_kernel_site *site, wi_arena *arena, wi_kernel_plan *plan);

/* Can an implementation with these formats read inputs of this dtype? */
static inline bool wi_formats_store(const wi_formats *formats, weft_dtype dtype) {
    return formats->storage == WI_ANY_STORAGE || formats->storage == dtype;
}

/* Is the result of a kernel op in f32, and none of its inputs in 16 bits? Kernels that use matrix engines require this. */
bool wi_kernel_op_is_f32(const wi_kernel_site *site);

#endif
