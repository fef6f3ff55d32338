/* A .npy file, in memory or on disk, checked from end to end: the magic "\x93NUMPY", two bytes of version, the header's
 * length (2 bytes little-endian in version 1, 4 in 2 and 3), a Python dictionary {'descr': '<f4',
 * 'fortran_order': False, 'shape': (3, 4), } padded with spaces, and the numbers. Source: numpy.lib.format.
 *
 * For any bytes, wi_npy_parse returns an array that lies within them, or an error that names the file. */
#ifndef WI_NPY_H
#define WI_NPY_H

#include "base/data_file.h"
#include <weft/io.h>

typedef struct wi_npy {
    const char *path;
    char kind;   /* 'f' float, 'i' signed, 'u' unsigned, 'b' bool */
    size_t size; /* bytes of a number: 1, 2, 4, 8 */
    bool big_endian, fortran;
    int rank;
    int64_t dims[WEFT_MAX_RANK];
    size_t elements;
    size_t first;              /* of a part of an array: the number of its first element, for errors */
    const unsigned char *data; /* NULL: the numbers are in a file */
    uint64_t offset;           /* of the numbers in the file */
} wi_npy;

/* path and bytes must outlive the array. Errors: WEFT_ERROR_FORMAT, WEFT_ERROR_UNSUPPORTED. */
weft_status wi_npy_parse(wi_npy *npy, const char *path, const char *bytes, size_t size);
/* Reads the header of a file, which must outlive the array. Errors: those of wi_npy_parse and wi_data_file_read. */
weft_status wi_npy_open(wi_npy *npy, const wi_data_file *file);
/* Are the elements in the file in row-major order? */
bool wi_npy_is_in_order(const wi_npy *npy);
/* The numbers of an opened array as dtype in row-major order; target NULL: only checks that they fit. The numbers are read
 * in parts, or whole if the array is not in order. column: not NULL: errors of wi_npy_check_exact, too. */
weft_status wi_npy_load(
    const wi_npy *npy, const wi_data_file *file, weft_dtype dtype, const char *column, void *target);
/* The elements first .. first + count - 1 of an opened array that is in order, as dtype. block: memory for them as they
 * are in the file. */
weft_status wi_npy_load_part(const wi_npy *npy, const wi_data_file *file, weft_dtype dtype, size_t first,
    size_t count, unsigned char *block, void *target);
/* Does every number that the array can have fit into dtype, exactly or as a rounded float? */
bool wi_npy_always_fits(const wi_npy *npy, weft_dtype dtype);
/* target: the numbers as dtype in row-major order, with room for all elements. Errors: those of weft_load_npy. */
weft_status wi_npy_convert(const wi_npy *npy, weft_dtype dtype, void *target);
/* WEFT_ERROR_FORMAT: the array has a whole number that f32 would round. column: of the dataset, for the error. */
weft_status wi_npy_check_exact(const wi_npy *npy, const char *column);

#endif
