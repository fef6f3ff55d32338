/* weft/io.h: weights and arrays in files. */
#ifndef WEFT_IO_H
#define WEFT_IO_H

#include <weft/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Saves all parameters and named states of a graph, by name, as a safetensors file (8 bytes of little-endian
 * header length, a JSON header, the data). The file is written completely or not at all. */
WEFT_API weft_status weft_weights_save(weft_graph *graph, const char *path);

typedef struct weft_weights_options {
    size_t struct_size;
    bool allow_missing; /* default false: every parameter and named state of the graph must be in the file */
    bool allow_extra;   /* default false: every tensor of the file must match one of the graph */
} weft_weights_options;
#define WEFT_WEIGHTS_OPTIONS_INIT .struct_size = sizeof(weft_weights_options)
/* Loads parameters and states by name. f16, bf16 and f64 are converted to f32, i64 to i32 if every number
 * fits. The graph is unchanged unless the whole file is valid. Errors name the file, the tensor, and both
 * shapes or dtypes. */
WEFT_API weft_status weft_weights_load(
    weft_graph *graph, const char *path, const weft_weights_options *options);

/* ---- NumPy's .npy arrays: format versions 1.0 to 3.0, either byte order, C and Fortran order ---- */
typedef struct weft_npy_array {
    weft_dtype dtype;
    int rank; /* 0: a single number */
    int64_t dims[WEFT_MAX_RANK];
    size_t bytes;
    void *data;            /* row-major */
    weft_context *context; /* its allocator allocated the data; NULL: malloc */
} weft_npy_array;

/* Reads and converts. dtype: WEFT_F32 and WEFT_F64 from f2 f4 f8 i1..i8 u1..u8 b1; WEFT_I32, WEFT_I64,
 * WEFT_U8 from integers and b1 if every number fits; WEFT_F16 from f2; WEFT_BOOL from b1. context may be NULL. Errors:
 * WEFT_ERROR_FILE; WEFT_ERROR_FORMAT (a damaged file, or a number that does not fit); WEFT_ERROR_DTYPE;
 * WEFT_ERROR_UNSUPPORTED (strings, records, complex numbers, more than WEFT_MAX_RANK dimensions). */
WEFT_API weft_status weft_load_npy(
    weft_npy_array *array, weft_context *context, const char *path, weft_dtype dtype);
WEFT_API void weft_npy_array_release(weft_npy_array *array); /* NULL and a zeroed array are allowed */
/* Writes version 1.0 in C order, completely or not at all; the bytes are those that NumPy writes for the same
 * array. Any dtype except WEFT_BF16, which NumPy lacks (WEFT_ERROR_DTYPE). */
WEFT_API weft_status weft_save_npy(
    const char *path, weft_dtype dtype, const void *data, int rank, const int64_t *dims);
/* An initialiser that reads one tensor of a safetensors file when the parameter is created: weft_parameter(g,
 * "w", weft_init_from_file("base.safetensors", "encoder.w"), 10, 64). entry NULL: the name of the parameter.
 * f16, bf16 and f64 are converted. If the file or the tensor is missing, or the shape differs, creating the
 * parameter fails with an error that names the file, the tensor and both shapes. */
WEFT_API weft_initialiser weft_init_from_file(const char *path, const char *entry);

#ifdef __cplusplus
}
#endif
#endif
