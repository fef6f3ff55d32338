/* Networks of ONNX files as expressions of a graph. Float initializers become parameters, which train; running statistics of batch
 * norms become states. Sizes are fixed when the graph is built: the first symbolic dimension of inputs is the batch. Whole numbers that only say shapes are computed on the host. */
#ifndef WI_ONNX_IMPORT_H
#define WI_ONNX_IMPORT_H

#include "onnx/onnx_file.h"
#include <uthash.h>

/* WI_ONNX_USUAL_BATCH: where the file leaves it open. */
enum { WI_ONNX_MOST_INPUTS = 16, WI_ONNX_MOST_OUTPUTS = 64, WI_ONNX_USUAL_BATCH = 16 };

/* A value of the file, by its name: a tensor, numbers that the host knows, or both. */
typedef struct wi_onnx_value {
    const char *name;
    weft_tensor *tensor;                     /* NULL until it is asked for */
    const WiOnnx__TensorProto *stored;       /* of an initializer */
    const wi_onnx_numbers *numbers;          /* NULL: the host does not know them */
    const struct wi_onnx_sequence *sequence; /* of a sequence, which has neither tensor nor numbers */
    bool is_absent;                          /* an optional value that is not there */
    int input;                               /* its number among the inputs; -1: it is none */
    UT_hash_handle hh;
} wi_onnx_value;

typedef struct wi_onnx_input {
    weft_tensor *tensor;
    size_t count;  /* numbers */
    int64_t bound; /* of whole numbers, which are rows of a table; else 2 */
} wi_onnx_input;

typedef struct wi_onnx_import {
    weft_graph *graph;
    const WiOnnx__ModelProto *model;
    int64_t batch, batch_in_file; /* what the file has where it fixes one; 0: it does not */
    const char *batch_name;       /* of a symbolic dimension; NULL: there is none */
    int version;                  /* of the operator set */
    wi_arena arena;
    wi_onnx_value *values;
    size_t copied,
        folded;   /* nodes of subgraphs and functions that were copied, numbers that the host computed with */
    size_t names; /* that were made */
    wi_onnx_input inputs[WI_ONNX_MOST_INPUTS];
    weft_tensor *outputs[WI_ONNX_MOST_OUTPUTS];
    size_t input_count, output_count;
    weft_status status; /* of the first node with an error, which is the thread's last one */
} wi_onnx_import;

/* `known`: inputs of these names are numbers of the host's (shapes that a file takes as inputs). batch 0: what the file says, or WI_ONNX_USUAL_BATCH.
 * The network and the model are used until wi_onnx_import_clear. Errors: WEFT_ERROR_UNSUPPORTED (an op or an option of one, which is
 * named), WEFT_ERROR_FORMAT (a value that no node makes), and those of the ops. */
weft_status wi_onnx_import_build(wi_onnx_import *network, weft_graph *graph, const WiOnnx__ModelProto *model,
    int64_t batch, const wi_onnx_numbers *const *known);
/* The batch of a network that is built with none. */
weft_status wi_onnx_import_batch(int64_t *batch, const WiOnnx__ModelProto *model);
void wi_onnx_import_clear(wi_onnx_import *network);

#endif
