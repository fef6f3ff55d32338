/* A .npy file in memory, checked from end to end: the magic "\x93NUMPY", two bytes of version, the header's
 * length (2 bytes little-endian in version 1, 4 in 2 and 3), a Python dictionary {'descr': '<f4',
 * 'fortran_order': False, 'shape': (3, 4), } padded with spaces, and the numbers. Source: numpy.lib.format.
 *
 * For any bytes, wi_npy_parse returns an array that lies within them, or an error that names the file. */
#ifndef WI_NPY_H
#define WI_NPY_H

#include "base/memory.h"
#include <weft/io.h>

typedef struct wi_npy {
    const char *path;
    char kind;   /* 'f' float, 'i' signed, 'u' unsigned, 'b' bool */
    size_t size; /* bytes of a number: 1, 2, 4, 8 */
    bool big_endian, fortran;
    int rank;
    int64_t dims[WEFT_MAX_RANK];
    size_t elements;
    const unsigned char *data;
} wi_npy;

/* path and bytes must outlive the array. Errors: WEFT_ERROR_FORMAT, WEFT_ERROR_UNSUPPORTED. */
weft_status wi_npy_parse(wi_npy *npy, const char *path, const char *bytes, size_t size);
/* target: the numbers as dtype in row-major order, with room for all elements. Errors: those of weft_load_npy. */
weft_status wi_npy_convert(const wi_npy *npy, weft_dtype dtype, void *target);
/* WEFT_ERROR_FORMAT: the array has a whole number that f32 would round. column: of the dataset, for the error. */
weft_status wi_npy_check_exact(const wi_npy *npy, const char *column);

#endif
