/* A network of an ONNX file, with the arrays that a command gives its inputs, for the commands of `weft onnx`. */
#ifndef ONNX_NETWORK_H
#define ONNX_NETWORK_H

#include "onnx/onnx_file.h"
#include "onnx_options.h"
#include <weft/io.h>
#include <weft/onnx.h>

/* An input that the file asks for. */
typedef struct onnx_input {
    const WiOnnx__ValueInfoProto *info;
    const char *name, *path; /* path: of the array, for errors; NULL: there is no array, or it is random */
    bool
        decides; /* its values decide a shape, a count or a condition, and are given when the network is loaded */
    weft_npy_array array; /* data NULL: not given */
    weft_tensor *tensor;  /* of the graph that was built last; NULL: nothing depends on the input's values */
} onnx_input;

typedef struct onnx_network {
    wi_arena arena;
    const onnx_options *options;
    wi_onnx_file file;
    onnx_input *inputs;
    size_t input_count;
    weft_onnx_size *sizes;
    weft_onnx_value *values;
    size_t size_count, value_count;
    weft_graph *graph;
    weft_onnx_model *model;
} onnx_network;

/* Which sizes that the file leaves open stay open, as plans choose them, and are not taken from the arrays. */
typedef enum onnx_open {
    ONNX_CLOSED,     /* none */
    ONNX_OPEN_BATCH, /* those of first axes */
    ONNX_OPEN        /* also one other size, if there is only one */
} onnx_open;

/* Reads the file and the arrays of --input and --value, and takes sizes from them. The options must outlive the network.
 * onnx_network_clear also after an error. */
weft_status onnx_network_open(onnx_network *network, const onnx_options *options, onnx_open open);
/* Gives every open dimension a size: 1 for a first axis. WEFT_ERROR_ARGUMENT: lists the dimensions that need a --size. */
weft_status onnx_network_close_sizes(onnx_network *network);
/* Builds the network in a new graph, in place of the graph that was built before. */
weft_status onnx_network_build(
    onnx_network *network, weft_context *context, const weft_onnx_options *options);
/* Releases graph and model, but not the arrays. */
void onnx_network_release(onnx_network *network);
void onnx_network_clear(onnx_network *network);

/* The shape of an input in the file; NULL: it has none. */
const WiOnnx__ShapeProto *onnx_shape_of(const WiOnnx__ValueInfoProto *info);
/* Is the size of this dimension open? */
bool onnx_is_open(const WiOnnx__DimensionProto *dim);
/* A name of a file as a terminal may show it: without control characters, and cut if it is long. Valid until the fourth next
 * call. NULL: "". */
const char *onnx_plain(const char *name);
/* "(2, 3)", in memory of the caller. */
enum { ONNX_SHAPE_TEXT = 256 };
const char *onnx_shape_text(char text[ONNX_SHAPE_TEXT], int rank, const int64_t *dims);

#endif
