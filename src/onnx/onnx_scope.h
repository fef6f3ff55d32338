/* Subgraphs and functions: copies of their nodes with names of their own, which are built as the nodes of the main graph
 * are. A body can be copied many times, for each turn of a loop. */
#ifndef WI_ONNX_SCOPE_H
#define WI_ONNX_SCOPE_H

#include "onnx/onnx_node.h"

/* WI_ONNX_MOST_TURNS: of a loop. WI_ONNX_MOST_COPIED: nodes of all copies of a file, with their inputs, outputs and
 * attributes. WI_ONNX_MOST_CALLS: functions that call each other. */
enum { WI_ONNX_MOST_TURNS = 4096, WI_ONNX_MOST_COPIED = 1 << 20, WI_ONNX_MOST_CALLS = 64 };

/* ---- the table of values ---- */

/* The value that an output of a node becomes; NULL: the node has no such output, or an error. */
wi_onnx_value *wi_onnx_output_value(wi_onnx_import *network, wi_onnx_node *node, size_t index);
/* A name that no value has; NULL: no memory. */
const char *wi_onnx_new_name(wi_onnx_import *network, const char *like);

/* ---- nodes that are not in the file ---- */

/* Builds a node that stands for a part of `of`. axis: the attribute of this name, or WEFT_END for none. */
typedef struct wi_onnx_part {
    const char *op;
    const char *const *inputs;
    size_t input_count;
    const char *const *outputs;
    size_t output_count;
    int64_t axis;
} wi_onnx_part;
void wi_onnx_build_part(wi_onnx_import *network, wi_onnx_node *of, const wi_onnx_part *part);
/* A list of whole numbers, or one whole number, as a value; its name. NULL after an error. */
const char *wi_onnx_add_wholes(wi_onnx_import *network, wi_onnx_node *of, int rank, const int64_t *numbers,
    size_t count, weft_dtype dtype);
/* Output `index` of the node becomes the value of this name, whatever the value is. */
void wi_onnx_alias(wi_onnx_import *network, wi_onnx_node *node, size_t index, const char *name);
/* Joins values along a new axis (stacks) or along one that they have, as output `index` of the node. */
void wi_onnx_join(wi_onnx_import *network, wi_onnx_node *node, size_t index, const char *const *names,
    size_t count, int64_t axis, bool stacks);

/* ---- copies ---- */

/* What a name of the original is in a copy. */
typedef struct wi_onnx_name {
    const char *from;
    const char *to; /* NULL: it gets a new name when it is used */
    bool is_fixed;  /* of an initializer or a constant, in all copies of a body */
    UT_hash_handle hh;
} wi_onnx_name;

typedef struct wi_onnx_copier {
    wi_onnx_import *n;
    wi_onnx_name *names; /* names that are not here are those of values around a subgraph */
    wi_onnx_node *
        call; /* of a function: its attributes stand for references to attributes, and all names are new ones */
    const WiOnnx__FunctionProto *function;
    bool failed; /* no memory, or too many copies */
} wi_onnx_copier;

/* The entry of a name, a new one if there is none; NULL: no memory. */
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

/* Puts the nodes of functions in place of calls in the main graph; the network's model is a copy then. */
weft_status wi_onnx_inline_model(wi_onnx_import *network);
/* Appends the nodes to the list, with the nodes of functions of the model in place of calls. WEFT_ERROR_UNSUPPORTED: a
 * function calls itself, or the calls give too many nodes. */
weft_status wi_onnx_inline(
    wi_onnx_import *network, WiOnnx__NodeProto *const *nodes, size_t count, wi_onnx_nodes *list);

/* ---- subgraphs ---- */

typedef struct wi_onnx_body wi_onnx_body;

/* The subgraph of an attribute. Its initializers and constants are made once. NULL after an error. */
wi_onnx_body *wi_onnx_body_open(wi_onnx_import *network, wi_onnx_node *node, const char *attribute);
const WiOnnx__GraphProto *wi_onnx_body_graph(const wi_onnx_body *body);
/* Builds the body's nodes once more, for inputs of these names, and writes the names of its outputs. */
bool wi_onnx_body_run(
    wi_onnx_import *network, wi_onnx_body *body, const char *const *inputs, const char **outputs);

/* ---- sequences ---- */

/* Values by their names, which stay those of the values. */
typedef struct wi_onnx_sequence {
    size_t count;
    const char **names;
} wi_onnx_sequence;

/* Identity of a sequence or of an absent value; false: the node is no such. */
bool wi_onnx_pass_sequence(wi_onnx_import *network, wi_onnx_node *node);

#endif
