/* The registry of implementations: every kernel that computes an op of its own, and every library that does.
 *
 * An implementation is one record beside its kernel's host side, in src/kernels/<family>/; its template has the
 * same name in cl_kernels/<family>/. The list of families is generated from the arrays wi_<name>_family in these
 * folders (cmake/list_families.cmake). Which implementation serves a node is
 * decided in selection.h, by what the device's profile and the tuning file say; nothing else looks at the list.
 *
 * Parameters (tile sizes and the like) are numbers that the template and its host side share. They stand in
 * the record alone: names of macros, and one or more variants with a value for each. A template has no defaults
 * for them; they are defined before its headers and its text. The host side numbers them by an enum:
 *
 *     enum { ROWS, DEPTH };
 *     .parameters = (const char *const[]){[ROWS] = "WEFT_GEMM_ROWS", [DEPTH] = "WEFT_GEMM_DEPTH", NULL},
 *     .variants = (const wi_variant[]){{"f32", {[ROWS] = 13, [DEPTH] = 256}}, {0}},
 *     const int *const p = site->values;   p[ROWS] ...
 *
 * Templates of one program share what stands in their include guards: a parameter that is used there has the
 * same value in all variants of all records that name the file or the header.
 *
 * Two kinds of op have implementations: contractions (matrix products and convolutions; site->product is set,
 * a finished element goes through an epilogue, see product/gemm.h) and kernel ops (site->product is NULL). */
#ifndef WI_REGISTRY_H
#define WI_REGISTRY_H

#include "cl/device_profile.h"
#include "graph/nodes.h"
#include "kernels/kernel_plan.h"

struct wi_gemm_shape;

/* One node at its place in a plan. */
typedef struct wi_kernel_site {
    const weft_tensor *node; /* NULL: a matrix product on its own */
    const wi_device_profile *device;
    bool inference;
    uint32_t fixed; /* inputs that stay as they are from run to run, a bit each: they are packed once */
    wi_extent inputs[WI_KERNEL_INPUTS], result;
    /* Of the inputs. The offset goes with the argument; here it is what it exceeds a multiple of 16 elements by. */
    wi_layout layouts[WI_KERNEL_INPUTS];
    const struct wi_gemm_shape *product;  /* contractions: the sizes and strides */
    weft_dtype formats[WI_KERNEL_INPUTS]; /* of the inputs in memory */
    weft_dtype result_format;             /* kernel ops: of the result in memory */
    weft_dtype precision; /* inputs may be rounded to it, before they are multiplied; f32: to nothing */
    weft_matmul_precision products; /* of f32 operands */
    const int *values;              /* of the parameters, those of the variant that is asked for */
    int sums;                       /* contractions: sums of columns in the epilogue, see product/gemm.h */
    bool quads;                     /* contractions: the epilogue takes four columns at once */
    size_t most_scratch;            /* bytes of scratch memory that it may have; 0: any */
} wi_kernel_site;

enum { WI_IMPLEMENTATION_OPS = 3, WI_PARAMETERS = 12 };

/* One value for each parameter of an implementation. */
typedef struct wi_variant {
    const char *name;
    int values[WI_PARAMETERS];
} wi_variant;

/* Work-groups and local memory of a kernel. */
typedef struct wi_limits {
    size_t group;    /* work-items of a group */
    size_t items[2]; /* of them along the first two dimensions */
    size_t local_bytes;
} wi_limits;

/* What an implementation asks of a device, whatever the sizes. */
typedef struct wi_needs {
    unsigned classes;                       /* bits WI_ON_CPU, WI_ON_GPU; 0: any */
    unsigned without;                       /* quirks that it cannot live with */
    unsigned engines;                       /* matrix engines that it uses, WI_ENGINE_ bits */
    wi_limits (*limits)(const int *values); /* NULL: none */
    bool (*copies)(const int *values);      /* asynchronous copies (cl/async_copies.h)? NULL: no */
} wi_needs;

/* Number formats: of the inputs in memory (and of a kernel op's result), of the multiplications, of the sums. */
typedef struct wi_formats {
    weft_dtype storage, compute, accumulation;
} wi_formats;

/* As `storage`: every format that is computed in the dtype of the row. */
#define WI_ANY_STORAGE ((weft_dtype)-1)

/* What templates take that convert their inputs as they load them, each from a format of its own: all that is computed
 * in f32, with sums of f32. */
#define WI_GEMM_FORMATS                                                                                      \
    .formats = (const wi_formats[]){{WI_ANY_STORAGE, WEFT_F32, WEFT_F32}}, .format_count = 1

enum { WI_ON_CPU = 1u << WEFT_CLASS_CPU, WI_ON_GPU = 1u << WEFT_CLASS_GPU };

typedef struct wi_implementation {
    const char *name;
    const wi_op *ops[WI_IMPLEMENTATION_OPS]; /* that it computes */
    const char *file;                        /* of cl_kernels; NULL: there is `run` */
    const char *const *headers;              /* that precede the file, ends with NULL; NULL: none */
    const char *const *parameters;           /* their macros, ends with NULL; NULL: none */
    const wi_variant *variants;              /* the default first, ends with an empty one; NULL: none */
    const wi_variant *tuned_variants;        /* that only a tuner's measurement chooses; NULL: none */
    wi_needs needs;
    /* The formats that it takes, `format_count` of them. NULL: of a contraction f32 in everything, of a kernel op the
     * nodes' dtypes. A template that takes several reads inputs 0, 1, 2 with what common.clh has for WEFT_FORMAT_A, _B
     * and _C; a kernel op's stores its result in WEFT_FORMAT_RESULT. */
    const wi_formats *formats;
    int format_count;
    /* Asked while a plan is ordered, with sizes but no layouts: the node that it computes in place of this one, this
     * one (as it is), or NULL with the graph's error. NULL: always as it is. */
    weft_tensor *(*rewrite)(const wi_kernel_site *site);
    bool sums;  /* contractions: the template adds up columns (product/gemm.h) */
    bool quads; /* contractions: the template stores four columns at once, where epilogues take them */
    bool joins; /* convolutions with `quads`: columns of a quad may be those of several groups */
    /* Can it compute this? NULL: whatever the needs allow. */
    bool (*accepts)(const wi_kernel_site *site);
    /* The seconds that it is expected to take, of what it accepts (cost.h); NULL: it is its op's only one. */
    double (*cost)(const wi_kernel_site *site);
    /* How many times as fast as any other it must be, for what its larger rounding errors are worth; NULL: 1. */
    double (*margin)(const wi_kernel_site *site);
    /* Fills *plan, which is empty but for what comes from the record, for this site. */
    weft_status (*prepare)(const wi_kernel_site *site, wi_kernel_plan *plan);
    /* A library's product: enqueues C = A·B, C (batch, m, n) contiguous at c_offset (elements); no epilogue.
     * event: that of the last kernel; NULL: none is made. */
    weft_status (*run)(wi_device *device, const struct wi_gemm_shape *shape, cl_mem a, size_t a_offset,
        cl_mem b, size_t b_offset, cl_mem c, size_t c_offset, cl_event *event);
} wi_implementation;

/* The implementations of a family, the portable one last; of equal ones the first is chosen. Ends with NULL. */
typedef const wi_implementation *const *wi_family;

/* All families; ends with NULL. Those that files name: products, and convolutions and their weights' gradients. */
extern const wi_family wi_families[];
extern const wi_implementation *const wi_product_family[], *const wi_convolution_family[],
                                                               *const wi_convolution_weight_family[];

/* The variant with this index, NULL after the last; those of the tuner are last. Without parameters there is one, which
 * has no name. */
const wi_variant *wi_implementation_variant(const wi_implementation *implementation, int index);

bool wi_variant_is_tuned(const wi_implementation *implementation, const wi_variant *variant);

/* Does the device have what the implementation needs in this variant (NULL: the first), and does it accept the
 * site? */
bool wi_implementation_accepts(
    const wi_implementation *implementation, const wi_variant *variant, const wi_kernel_site *site);

/* Of a site that it accepts in this variant; 0 without `cost`. */
double wi_implementation_cost(
    const wi_implementation *implementation, const wi_variant *variant, const wi_kernel_site *site);
double wi_implementation_margin(
    const wi_implementation *implementation, const wi_variant *variant, const wi_kernel_site *site);

/* Calls `prepare` for a variant (NULL: the first) and checks what it wrote. */
weft_status wi_implementation_prepare(const wi_implementation *implementation, const wi_variant *variant,
    const wi_kernel_site *site, wi_arena *arena, wi_kernel_plan *plan);

/* The node that an implementation on the device computes in place of a kernel op's node: mostly that node itself.
 * NULL: the graph has an error. */
weft_tensor *wi_kernel_rewrite(
    weft_tensor *node, const wi_device_profile *device, int64_t batch, bool inference);

bool wi_implementation_computes(const wi_implementation *implementation, const wi_op *op);

/* Is the result of a kernel op in f32, and is none of its inputs in 16 bits? Kernels by engines take no others. */
bool wi_kernel_op_is_f32(const wi_kernel_site *site);
/* May the op's inputs, and a kernel op's result, lie in memory in this format instead of f32? What its portable
 * implementation says, the last one of the op: others may refuse. */
bool wi_kernels_take(const wi_op *op, weft_dtype format);
/* Is there a product that multiplies numbers of the format on a matrix engine of the device? */
bool wi_engines_multiply(const wi_device_profile *device, weft_dtype format);

#endif
