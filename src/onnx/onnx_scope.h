/* Subgraphs and functions: their nodes are copied with new names, and the copies are built like nodes of the main graph. The
 * body of a loop is copied for each iteration. */
#ifndef WI_ONNX_SCOPE_H
#define WI_ONNX_SCOPE_H

#include "onnx/onnx_node.h"

/* WI_ONNX_MOST_ITERATIONS: the most iterations of a loop. WI_ONNX_MOST_COPIED: the most nodes of all copies of a file, each counted with
 * its inputs, outputs and attributes. WI_ONNX_MOST_CALLS: the largest depth of functions that call each other. */
enum { WI_ONNX_MOST_ITERATIONS = 4096, WI_ONNX_MOST_COPIED = 1 << 20, WI_ONNX_MOST_CALLS = 64 };

/* ---- the table of values ---- */

/* The value of an output of the node, which is added to the table if necessary. NULL: the node has no such output, or an error. */
wi_onnx_value *wi_onnx_output_value(wi_onnx_import *network, wi_onnx_node *node, size_t index);
/* A new name, similar to `like`, that no value has; NULL: memory ran out. */
const char *wi_onnx_new_name(wi_onnx_import *network, const char *like);

/* ---- nodes that are not in the file ---- */

/* A node that is built as a part of the node `of`, without being in the file. axis: its attribute "axis"; WEFT_END: it has none. */
typedef struct wi_onnx_part {
    const char *op;
    const char *const *inputs;
    size_t input_count;
    const char *const *outputs;
    size_t output_count;
    int64_t axis;
} wi_onnx_part;
void wi_onnx_build_part(wi_onnx_import *network, wi_onnx_node *of, const wi_onnx_part *part);
/* Adds a value that is a list of integers, or a single integer, and returns its name; NULL after an error. */
const char *wi_onnx_add_wholes(wi_onnx_import *network, wi_onnx_node *of, int rank, const int64_t *numbers,
    size_t count, weft_dtype dtype);
/* Makes output `index` of the node equal to the value with this name, which may be a tensor, numbers or a sequence. */
void wi_onnx_alias(wi_onnx_import *network, wi_onnx_node *node, size_t index, const char *name);
/* Sets output `index` of the node to values joined along a new axis (`stacks`) or along an existing axis. */
void wi_onnx_join(wi_onnx_import *network, wi_onnx_node *node, size_t index, const char *const *names,
    size_t count, int64_t axis, bool stacks);

/* ---- copies ---- */

/* The name in a copy that replaces a name of the original. */
typedef struct wi_onnx_name {
    const char *from;
    const char *to; /* NULL: it gets a new name when it is used */
    bool is_fixed;  /* the name of an initializer or constant, which all copies of a body share */
    UT_hash_handle hh;
} wi_onnx_name;

typedef struct wi_onnx_copier {
    wi_onnx_import *n;
    wi_onnx_name *
        names; /* names that are not in this table are of values outside of the subgraph, and do not change */
    wi_onnx_node *
        call; /* of a function: its attributes stand for references to attributes, and all names are new ones */
    const WiOnnx__FunctionProto *function;
    bool failed; /* no memory, or too many copies */
} wi_onnx_copier;

/* The entry of a name, which is added if there is none; NULL: memory ran out. */
wi_onnx_name *wi_onnx_declare(wi_onnx_copier *copier, const char *from);
char *wi_onnx_renamed(wi_onnx_copier *copier, const char *from);
/* NULL: the copier has failed. */
WiOnnx__NodeProto *wi_onnx_copy_node(wi_onnx_copier *copier, const WiOnnx__NodeProto *node);
WiOnnx__TensorProto *wi_onnx_copy_tensor(wi_onnx_copier *copier, const WiOnnx__TensorProto *tensor);

/* ---- functions ---- */

typedef struct wi_onnx_nodes {
    WiOnnx__NodeProto **of; /* of the arena */
    size_t count, room;
} wi_onnx_nodes;

/* Replaces calls of functions in the main graph by the functions' nodes. network->model becomes a copy. */
weft_status wi_onnx_inline_model(wi_onnx_import *network);
/* Appends the nodes to the list, and replaces calls of the model's functions by the functions' nodes. WEFT_ERROR_UNSUPPORTED: a
 * function calls itself, or there would be too many nodes. */
weft_status wi_onnx_inline(
    wi_onnx_import *network, WiOnnx__NodeProto *const *nodes, size_t count, wi_onnx_nodes *list);

/* ---- subgraphs ---- */

typedef struct wi_onnx_body wi_onnx_body;

/* Opens the subgraph in an attribute. Its initializers and constants are created once for all copies. NULL after an error. */
wi_onnx_body *wi_onnx_body_open(wi_onnx_import *network, wi_onnx_node *node, const char *attribute);
const WiOnnx__GraphProto *wi_onnx_body_graph(const wi_onnx_body *body);
/* Builds another copy of the body's nodes for the inputs with these names, and writes the names of the copy's outputs. */
bool wi_onnx_body_run(
    wi_onnx_import *network, wi_onnx_body *body, const char *const *inputs, const char **outputs);

/* ---- sequences ---- */

/* A sequence: the names of the values that are its elements. */
typedef struct wi_onnx_sequence {
    size_t count;
    const char **names;
} wi_onnx_sequence;

/* If the node is an Identity of a sequence or of an absent value, sets its output; otherwise returns false. */
bool wi_onnx_pass_sequence(wi_onnx_import *network, wi_onnx_node *node);

#endif
