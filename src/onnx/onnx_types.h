/* The element types of ONNX. Weft computes all floats in f32 and all integers in i32. The functions here add nodes that round, saturate or
 * wrap results around as a narrower type does. Integers of 32 and 64 bits must fit into i32. */
#ifndef WI_ONNX_TYPES_H
#define WI_ONNX_TYPES_H

#include "onnx/onnx_node.h"

/* The numbers of the types in the specification. */
enum {
    WI_ONNX_FLOAT = 1,
    WI_ONNX_UINT8,
    WI_ONNX_INT8,
    WI_ONNX_UINT16,
    WI_ONNX_INT16,
    WI_ONNX_INT32,
    WI_ONNX_INT64,
    WI_ONNX_BOOL = 9,
    WI_ONNX_FLOAT16,
    WI_ONNX_DOUBLE,
    WI_ONNX_UINT32,
    WI_ONNX_UINT64,
    WI_ONNX_BFLOAT16 = 16,
    WI_ONNX_FLOAT8E4M3FN,
    WI_ONNX_FLOAT8E4M3FNUZ,
    WI_ONNX_FLOAT8E5M2,
    WI_ONNX_FLOAT8E5M2FNUZ,
    WI_ONNX_UINT4,
    WI_ONNX_INT4,
    WI_ONNX_FLOAT4E2M1,
    WI_ONNX_FLOAT8E8M0,
    WI_ONNX_UINT2,
    WI_ONNX_INT2
};

/* Which bit patterns of a narrow float are infinity or NaN. */
typedef enum wi_onnx_special {
    WI_ONNX_NO_SPECIAL,
    WI_ONNX_IEEE,     /* an exponent of ones: infinity, or NaN */
    WI_ONNX_ALL_ONES, /* an exponent and a mantissa of ones: NaN */
    WI_ONNX_MINUS_0   /* the pattern of -0: NaN */
} wi_onnx_special;

typedef struct wi_onnx_type {
    int number;         /* in files */
    int bits;           /* of an element; those of less than 8 share bytes, beginning with the lowest bits */
    weft_dtype dtype;   /* WEFT_F32, WEFT_I32 or WEFT_BOOL */
    bool negative;      /* whole numbers may be negative */
    int mantissa, bias; /* of floats of 8 bits or less */
    wi_onnx_special special;
    double largest;
} wi_onnx_type;

/* The type with this number; NULL for strings, complex numbers, and numbers that are not types. */
const wi_onnx_type *wi_onnx_type_of(int number);
/* Element i of packed little-endian data. */
double wi_onnx_type_get(const wi_onnx_type *type, const void *data, size_t i);
/* The smallest and the largest number of an integer type of at most 16 bits. */
double wi_onnx_type_low(const wi_onnx_type *type);
double wi_onnx_type_high(const wi_onnx_type *type);
/* Wraps x, in i32, around to the range of a narrower integer type; returns x for any other type. NULL if x is NULL. */
weft_tensor *wi_onnx_wrap(weft_tensor *x, int type);
/* Casts x to the type. saturate: numbers beyond the range of a narrow float become its largest number. */
weft_tensor *wi_onnx_cast(
    wi_onnx_import *network, wi_onnx_node *node, weft_tensor *x, int type, bool saturate);

#endif
