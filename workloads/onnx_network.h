/* Networks of ONNX files as expressions of a graph. Float initializers become parameters, which train; running statistics of batch
 * norms become states. Sizes are fixed when the graph is built: the first symbolic dimension of inputs is the batch. Whole numbers that only say shapes are computed on the host. */
#ifndef ONNX_NETWORK_H
#define ONNX_NETWORK_H

#include "onnx_file.h"
#include <uthash.h>

/* ONNX_USUAL_BATCH: where the file leaves it open. */
enum { ONNX_MOST_INPUTS = 16, ONNX_MOST_OUTPUTS = 64, ONNX_USUAL_BATCH = 16 };

/* A value of the file, by its name: a tensor, numbers that the host knows, or both. */
typedef struct onnx_value {
    const char *name;
    weft_tensor *tensor;             /* NULL until it is asked for */
    const Onnx__TensorProto *stored; /* of an initializer */
    const onnx_numbers *numbers;     /* NULL: the host does not know them */
    int input;                       /* its number among the inputs; -1: it is none */
    UT_hash_handle hh;
} onnx_value;

typedef struct onnx_input {
    weft_tensor *tensor;
    size_t count;  /* numbers */
    int64_t bound; /* of whole numbers, which are rows of a table; else 2 */
} onnx_input;

typedef struct onnx_network {
    weft_graph *graph;
    const Onnx__ModelProto *model;
    int64_t batch, batch_in_file; /* what the file has where it fixes one; 0: it does not */
    const char *batch_name;       /* of a symbolic dimension; NULL: there is none */
    int version;                  /* of the operator set */
    wi_arena arena;
    onnx_value *values;
    onnx_input inputs[ONNX_MOST_INPUTS];
    weft_tensor *outputs[ONNX_MOST_OUTPUTS];
    size_t input_count, output_count;
    weft_status status; /* of the first node with an error, which is the thread's last one */
} onnx_network;

/* `known`: inputs of these names are numbers of the host's (shapes that a file takes as inputs). batch 0: what the file says, or ONNX_USUAL_BATCH.
 * The network and the model are used until onnx_network_clear. Errors: WEFT_ERROR_UNSUPPORTED (an op or an option of one, which is
 * named), WEFT_ERROR_FORMAT (a value that no node makes), and those of the ops. */
weft_status onnx_network_build(onnx_network *network, weft_graph *graph, const Onnx__ModelProto *model,
    int64_t batch, const onnx_numbers *const *known);
/* The batch of a network that is built with none. */
weft_status onnx_network_batch(int64_t *batch, const Onnx__ModelProto *model);
void onnx_network_clear(onnx_network *network);

#endif
