/* Files of ONNX: what they hold, and numbers of their tensors. */
#ifndef ONNX_FILE_H
#define ONNX_FILE_H

#include "base/memory.h"
#include "onnx_model.pb-c.h"
#include <weft/weft.h>

/* Numbers that the host knows. Whole ones of any width are exact up to 2^53. */
typedef struct onnx_numbers {
    weft_dtype dtype; /* WEFT_F32, WEFT_I32 or WEFT_BOOL: the dtype of a tensor that is made of them */
    int rank;
    int64_t dims[WEFT_MAX_RANK];
    size_t count;
    double *data; /* of an arena */
} onnx_numbers;

/* Errors: WEFT_ERROR_FILE (it cannot be read), WEFT_ERROR_FORMAT (it is no ONNX file, or has no graph). onnx_file_release frees it. */
weft_status onnx_file_read(Onnx__ModelProto **model, const char *path);
void onnx_file_release(Onnx__ModelProto *model);

/* The dtype that stands for one of ONNX, by its number there; floats of any width are f32. WEFT_ERROR_UNSUPPORTED: strings,
 * complex numbers. `what` is for the error. */
weft_status onnx_dtype(weft_dtype *dtype, int number, const char *what);
/* Shape and dtype of a stored tensor: all but its data. WEFT_ERROR_SHAPE: more than WEFT_MAX_RANK dimensions, or a negative one. */
weft_status onnx_tensor_describe(onnx_numbers *numbers, const Onnx__TensorProto *tensor);
/* The same with its data. WEFT_ERROR_FORMAT: less or more data than the shape says. WEFT_ERROR_UNSUPPORTED: the data is in another file. */
weft_status onnx_tensor_read(onnx_numbers *numbers, wi_arena *arena, const Onnx__TensorProto *tensor);

#endif
