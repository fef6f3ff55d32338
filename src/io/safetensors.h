/* A safetensors file in memory, checked from end to end: 8 bytes of little-endian header length, a JSON
 * object
 * {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...},
 * then the data without holes or overlaps. Source: the format's description at
 * github.com/huggingface/safetensors.
 *
 * Whatever the bytes are, wi_safetensors_parse returns a valid table or an error that names the file. */
#ifndef WI_SAFETENSORS_H
#define WI_SAFETENSORS_H

#include "base/memory.h"
#include <weft/graph.h>

typedef struct wi_saved_dtype {
    const char *name; /* "F32" */
    size_t size;      /* bytes an element; 0: the dtype is not known */
    int dtype;        /* the weft_dtype of the same representation; -1: none */
} wi_saved_dtype;

typedef struct wi_saved_tensor {
    const char *name; /* in the file's bytes */
    const wi_saved_dtype *dtype;
    int rank;
    int64_t dims[WEFT_MAX_RANK];
    size_t elements;
    size_t begin, end; /* in data */
    bool taken;        /* for the loader of a graph */
} wi_saved_tensor;

/* One string of the section "__metadata__". */
typedef struct wi_saved_pair {
    const char *key, *value;
} wi_saved_pair;

typedef struct wi_safetensors {
    wi_arena arena;
    wi_saved_pair *metadata; /* sorted by key */
    size_t metadata_count;
    wi_saved_tensor *tensors; /* sorted by name */
    size_t count;
    const unsigned char *data;
    size_t data_bytes;
} wi_safetensors;

/* bytes and path must outlive the table; the names are decoded where they stand in the bytes, path is for the errors only.
 * Besides them it takes at most 5 bytes for each byte of the header. After an error the table is clear. */
weft_status wi_safetensors_parse(
    wi_safetensors *file, const weft_allocator *allocator, const char *path, char *bytes, size_t size);
void wi_safetensors_clear(wi_safetensors *file);
/* NULL when there is none. */
wi_saved_tensor *wi_safetensors_find(const wi_safetensors *file, const char *name);
/* The metadata's string; NULL when there is none. */
const char *wi_safetensors_metadata(const wi_safetensors *file, const char *key);

/* F32, F16, BF16 and F64: what an f32 tensor takes. data: of the tensor. */
bool wi_saved_is_number(const wi_saved_tensor *saved);
/* WEFT_ERROR_NOT_FINITE: a finite number of the tensor is infinite as f32. */
weft_status wi_saved_check_f32(const wi_saved_tensor *saved, const unsigned char *data, const char *path);
void wi_saved_to_f32(float *values, const wi_saved_tensor *saved, const unsigned char *data);

/* "F32"; every weft_dtype has one. */
const char *wi_saved_dtype_name(weft_dtype dtype);
/* "(2, 3)" in a buffer of at least 200 bytes. */
void wi_shape_text(char *buffer, size_t capacity, int rank, const int64_t *dims);

#endif
