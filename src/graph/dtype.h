/* Number formats. The table of dtype.c has all properties of the formats; generated code, templates, files and tests read it.
 *
 * A format has a representation in memory, and a dtype in which kernels calculate. Kernels calculate with f16 and bf16 in f32,
 * and round every result to the format, even if they do not store it. A value is therefore the same whether it is read from
 * memory or computed again. In OpenCL C the functions that load, store and round are named after the format (weft_load_f16;
 * cl_kernels/common.clh). */
#ifndef WI_DTYPE_H
#define WI_DTYPE_H

#include <weft/graph.h>

typedef enum wi_number_kind { WI_NUMBER_FLOAT, WI_NUMBER_INT, WI_NUMBER_BOOL } wi_number_kind;

typedef struct wi_format {
    const char *name; /* "f16" */
    size_t size;      /* bytes of an element */
    wi_number_kind kind;
    bool computes; /* ops calculate with it; otherwise it can only be moved, compared with zero and cast */
    weft_dtype compute; /* the dtype in which kernels calculate: this one, or a wider float */
    /* In kernels: the type of WEFT_LANES elements ("WF"), the type of one ("float"), and the suffix of function names. */
    const char *registers, *scalar, *suffix;
    const char *numpy; /* the name in .npy files ("f2"); NULL: they cannot contain it */
    /* Read and write an element on the host. Integers truncate; floats round to the nearest, ties to even. */
    double (*get)(const void *data, size_t index);
    void (*put)(void *data, size_t index, double value);
} wi_format;

/* The dtype must be valid. */
const wi_format *wi_format_of(weft_dtype dtype);
bool wi_dtype_valid(weft_dtype dtype);
bool wi_dtype_is_float(weft_dtype dtype);
bool wi_dtype_computes(weft_dtype dtype);
/* Do kernels calculate in a wider format? */
bool wi_dtype_rounds(weft_dtype dtype);
/* The float format that has every number of both float formats. */
weft_dtype wi_dtype_wider(weft_dtype a, weft_dtype b);
/* The nearest number of the dtype. */
double wi_dtype_nearest(weft_dtype dtype, double value);

/* The dtypes that an op takes, for its error: "f32, f16, bf16, f64 or i32". Valid until the next call in the thread. */
enum {
    WI_TAKES_FLOATS = 1,
    WI_TAKES_INTEGERS = 2,
    WI_TAKES_SINGLES = 4
}; /* singles: floats computed in f32 */
const char *wi_dtypes_text(unsigned takes);
bool wi_dtype_is_taken(weft_dtype dtype, unsigned takes);

#endif
