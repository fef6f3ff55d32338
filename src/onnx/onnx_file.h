/* Files of ONNX: what they hold, and numbers of their tensors. */
#ifndef WI_ONNX_FILE_H
#define WI_ONNX_FILE_H

#include "base/memory.h"
#include "onnx_model.pb-c.h"
#include <weft/weft.h>

/* Numbers that the host knows. Whole ones of any width are exact up to 2^53. */
typedef struct wi_onnx_numbers {
    weft_dtype dtype; /* WEFT_F32, WEFT_I32 or WEFT_BOOL: the dtype of a tensor that is made of them */
    /* The number of the type in the ONNX specification, which says when whole numbers wrap; 0: it is not known. */
    int type;
    bool open; /* some of the numbers depend on open sizes, as onnx_sizes.h encodes these */
    int rank;
    int64_t dims[WEFT_MAX_RANK];
    size_t count;
    double *data; /* of an arena */
} wi_onnx_numbers;

/* Errors: WEFT_ERROR_FILE (it cannot be read), WEFT_ERROR_FORMAT (it is no ONNX file, or has no graph). wi_onnx_file_release frees it. */
weft_status wi_onnx_file_read(WiOnnx__ModelProto **model, const char *path);
void wi_onnx_file_release(WiOnnx__ModelProto *model);

/* The dtype that stands for one of ONNX, by its number there; floats of any width are f32. WEFT_ERROR_UNSUPPORTED: strings,
 * complex numbers. `what` is for the error. */
weft_status wi_onnx_dtype(weft_dtype *dtype, int number, const char *what);
/* Shape and dtype of a stored tensor: all but its data. WEFT_ERROR_SHAPE: more than WEFT_MAX_RANK dimensions, or a negative one. */
weft_status wi_onnx_tensor_describe(wi_onnx_numbers *numbers, const WiOnnx__TensorProto *tensor);
/* The same with its data. WEFT_ERROR_FORMAT: less or more data than the shape says. WEFT_ERROR_UNSUPPORTED: the data is in another file. */
weft_status wi_onnx_tensor_read(wi_onnx_numbers *numbers, wi_arena *arena, const WiOnnx__TensorProto *tensor);

#endif
