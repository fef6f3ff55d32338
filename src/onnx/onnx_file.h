/* Opening ONNX files, and reading the tensors that they store. */
#ifndef WI_ONNX_FILE_H
#define WI_ONNX_FILE_H

#include "base/file_map.h"
#include "base/memory.h"
#include "onnx_model.pb-c.h"
#include <weft/onnx.h>

/* An opened file: its messages, unpacked. The data of tensors is not copied, but read from the mapped file. */
typedef struct wi_onnx_file {
    WiOnnx__ModelProto *model; /* has a graph */
    char name[256];            /* for errors */
    wi_arena arena;
    wi_file_map map;               /* empty: the bytes are the caller's */
    struct wi_onnx_beside *beside; /* other files that have data of tensors */
} wi_onnx_file;

/* In which folder a file may have data outside of it. */
typedef struct wi_onnx_place {
    const weft_allocator *allocator;
    const char *folder; /* NULL: the folder of the path; if there is no path, none */
    bool any_folder;    /* data may lie outside the folder, too */
} wi_onnx_place;

/* Errors: WEFT_ERROR_FILE (a file cannot be read), WEFT_ERROR_FORMAT (it is not an ONNX file, or has no graph; data of a
 * tensor is beyond its file). After an error the file is closed. */
weft_status wi_onnx_file_open(wi_onnx_file *file, const char *path, const wi_onnx_place *place);
/* Opens a file that is in memory. The caller must not free or change the bytes until the file is closed. */
weft_status wi_onnx_file_open_memory(
    wi_onnx_file *file, const void *data, size_t bytes, const wi_onnx_place *place);
void wi_onnx_file_close(wi_onnx_file *file); /* does nothing if *file is {0} */
/* Maps the other files that have data of tensors, and records where the data of each tensor is. The functions above call
 * this. */
weft_status wi_onnx_file_find_data(wi_onnx_file *file, const wi_onnx_place *place);
void wi_onnx_file_close_beside(wi_onnx_file *file);

/* ---- tensors ---- */

/* An array of numbers that the host knows, as doubles: integers of any width are exact up to 2^53. */
typedef struct wi_onnx_numbers {
    weft_dtype dtype; /* WEFT_F32, WEFT_I32 or WEFT_BOOL: the dtype of a tensor that is made of them */
    /* The number of the type in the ONNX specification, which says when whole numbers wrap; 0: it is not known. */
    int type;
    bool open; /* some of the numbers depend on open sizes, as onnx_sizes.h encodes these */
    int rank;
    int64_t dims[WEFT_MAX_RANK];
    size_t count;
    double *data; /* in an arena */
} wi_onnx_numbers;

/* The dtype in which Weft computes with a type of ONNX, given by its number: f32 for floats, i32 for integers of any width.
 * WEFT_ERROR_UNSUPPORTED: strings, complex numbers. `what` is for the error. */
weft_status wi_onnx_dtype(weft_dtype *dtype, int number, const char *what);
/* Shape and dtype of a stored tensor, whose data has the size that the shape needs. WEFT_ERROR_SHAPE: more than
 * WEFT_MAX_RANK dimensions, or a negative one; WEFT_ERROR_FORMAT: less or more data. */
weft_status wi_onnx_tensor_describe(wi_onnx_numbers *numbers, const WiOnnx__TensorProto *tensor);
/* Like wi_onnx_tensor_describe, and reads the data. WEFT_ERROR_FORMAT: there is less or more data than the shape needs. */
weft_status wi_onnx_tensor_read(wi_onnx_numbers *numbers, wi_arena *arena, const WiOnnx__TensorProto *tensor);
/* Writes the elements of a stored tensor in the tensor's dtype. WEFT_ERROR_NOT_FINITE, WEFT_ERROR_UNSUPPORTED: a number
 * does not fit into f32 or i32. */
weft_status wi_onnx_tensor_write(void *elements, const WiOnnx__TensorProto *tensor);

#endif
