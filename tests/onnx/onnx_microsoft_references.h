/* Operators of the domain com.microsoft by the formulas of their documentation
 * (https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md), in float64. */
#ifndef ONNX_MICROSOFT_REFERENCES_H
#define ONNX_MICROSOFT_REFERENCES_H

#include <stdbool.h>
#include <stddef.h>

enum { MICROSOFT_INPUTS = 14, MICROSOFT_OUTPUTS = 3, MICROSOFT_MOST = 512 };
/* Numbers of element types in files. */
enum { ONNX_FLOAT = 1, ONNX_UINT8, ONNX_INT8, ONNX_INT32 = 6, ONNX_INT64 };

typedef struct microsoft_input {
    int type;
    bool is_open;                /* an input of the network; otherwise a constant */
    size_t rank, dims[4], count; /* count 0: it is absent */
    double data[MICROSOFT_MOST];
} microsoft_input;

typedef struct microsoft_output {
    bool is_whole; /* it is of 8 bits; the numbers are those before rounding */
    size_t count;
    double data[MICROSOFT_MOST];
} microsoft_output;

typedef struct microsoft_node {
    const char *op, *attributes; /* "alpha=1.5 transA=1 pads=0,1 activation=Relu" */
    microsoft_input in[MICROSOFT_INPUTS];
    microsoft_output out[MICROSOFT_OUTPUTS]; /* without those that the node leaves out */
} microsoft_node;

/* Computes the outputs; changes the inputs. */
void microsoft_compute(microsoft_node *node);

#endif
