/* A safetensors file in memory, checked completely: 8 bytes of little-endian header length, a JSON object
 * {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...},
 * then the data without holes or overlaps. Source: the description of the format at github.com/huggingface/safetensors.
 *
 * For any bytes, wi_safetensors_parse returns a valid table, or an error that names the file. */
#ifndef WI_SAFETENSORS_H
#define WI_SAFETENSORS_H

#include "base/memory.h"
#include <weft/graph.h>

typedef struct wi_saved_dtype {
    const char *name; /* such as "F32" */
    size_t size;      /* bytes per element; 0: the dtype is not known */
    int dtype;        /* the weft_dtype of the same representation; -1: none */
} wi_saved_dtype;

typedef struct wi_saved_tensor {
    const char *name; /* points into the bytes of the file */
    const wi_saved_dtype *dtype;
    int rank;
    int64_t dims[WEFT_MAX_RANK];
    size_t elements;
    size_t begin, end; /* bytes in the data */
    bool taken;        /* matched with a tensor of a graph, while a file is loaded */
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

/* bytes and path must outlive the table: names are decoded in place, which changes the bytes. path: for errors. The
 * table takes at most 5 bytes of memory for each byte of the header. WEFT_ERROR_FORMAT: not a valid file. After an error
 * the table is clear. */
weft_status wi_safetensors_parse(
    wi_safetensors *file, const weft_allocator *allocator, const char *path, char *bytes, size_t size);
void wi_safetensors_clear(wi_safetensors *file);
/* The tensor of this name; NULL: there is none. */
wi_saved_tensor *wi_safetensors_find(const wi_safetensors *file, const char *name);
/* The metadata's string for the key; NULL: there is none. */
const char *wi_safetensors_metadata(const wi_safetensors *file, const char *key);

/* Is the dtype F32, F16, BF16 or F64, so that wi_saved_to_f32 can convert the tensor? */
bool wi_saved_is_number(const wi_saved_tensor *saved);
/* WEFT_ERROR_NOT_FINITE: a finite number of the tensor would be infinite as f32. data: of the tensor. */
weft_status wi_saved_check_f32(const wi_saved_tensor *saved, const unsigned char *data, const char *path);
void wi_saved_to_f32(float *values, const wi_saved_tensor *saved, const unsigned char *data);

/* The name of a dtype in files, such as "F32"; every weft_dtype has one. */
const char *wi_saved_dtype_name(weft_dtype dtype);
/* buffer: a shape as text, such as "(2, 3)"; 200 bytes are enough for any shape. */
void wi_shape_text(char *buffer, size_t capacity, int rank, const int64_t *dims);

#endif
