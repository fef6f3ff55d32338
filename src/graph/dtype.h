/* Number formats: the one table of what Weft knows of each (dtype.c). Generated code, templates, files and
 * tests read it; nothing else decides by a dtype's name.
 *
 * A format has a representation in memory and a dtype in which arithmetic on it is done: f16 and bf16 are
 * floats of 32 bits in registers, and every result is rounded to the format at once, stored or not, so that
 * a value is the same whether it is read from memory or computed again. In OpenCL C the functions that load,
 * store and round are named after the format (weft_load_f16; cl_kernels/common.clh). */
#ifndef WI_DTYPE_H
#define WI_DTYPE_H

#include <weft/graph.h>

typedef enum wi_number_kind { WI_NUMBER_FLOAT, WI_NUMBER_INT, WI_NUMBER_BOOL } wi_number_kind;

typedef struct wi_format {
    const char *name; /* "f16" */
    size_t size;      /* bytes an element */
    wi_number_kind kind;
    bool computes;      /* arithmetic takes it; else it is moved, compared with zero and cast */
    weft_dtype compute; /* of arithmetic: itself, or the wider float that results are rounded from */
    /* In kernels: the type of WEFT_LANES elements, "WF", of one, "float", and the end of functions' names. */
    const char *registers, *scalar, *suffix;
    const char *numpy; /* in .npy files, "f2"; NULL: they cannot hold it */
    /* Numbers on the host; integers truncate, floats round to the nearest, ties to even. */
    double (*get)(const void *data, size_t index);
    void (*put)(void *data, size_t index, double value);
} wi_format;

/* Of a valid dtype. */
const wi_format *wi_format_of(weft_dtype dtype);
bool wi_dtype_valid(weft_dtype dtype);
bool wi_dtype_is_float(weft_dtype dtype);
/* A float or an integer that arithmetic takes. */
bool wi_dtype_computes(weft_dtype dtype);
/* Is the format narrower than what arithmetic on it is done in? */
bool wi_dtype_rounds(weft_dtype dtype);
/* The float that holds every number of both floats. */
weft_dtype wi_dtype_wider(weft_dtype a, weft_dtype b);
/* The number of the dtype that is nearest. */
double wi_dtype_nearest(weft_dtype dtype, double value);

/* What an op takes, for its error: "f32, f16, bf16, f64 or i32". Valid until the thread's next call. */
enum { WI_TAKES_FLOATS = 1, WI_TAKES_INTEGERS = 2, WI_TAKES_SINGLES = 4 }; /* singles: computed in f32 */
const char *wi_dtypes_text(unsigned takes);

#endif
