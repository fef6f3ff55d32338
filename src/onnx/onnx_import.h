/* Networks of ONNX files as expressions of a graph.
 *
 * wi_onnx_import_build registers all names of the file, sorts the nodes, decides which constants are weights
 * (onnx_weights.c), creates the inputs, and builds the nodes one after the other. Numbers from which shapes are computed
 * are calculated on the host (onnx_fold.c). An *open* size is known only to plans; onnx_sizes.h says how it is encoded. */
#ifndef WI_ONNX_IMPORT_H
#define WI_ONNX_IMPORT_H

#include "onnx/onnx_file.h"
#include "onnx/onnx_hash.h"

/* A value of the file, by its name: a tensor, numbers that the host knows, or both. */
typedef struct wi_onnx_value {
    const char *name;
    weft_tensor *tensor; /* NULL until it is first needed */
    const WiOnnx__TensorProto
        *stored; /* the data of an initialiser or of a Constant node; NULL: it is neither */
    const wi_onnx_numbers *numbers;     /* NULL: the host does not know them */
    const WiOnnx__NodeProto *maker;     /* the node that computes it; NULL: none */
    size_t place;                       /* of the maker among the nodes of the file */
    const WiOnnx__ValueInfoProto *info; /* of an input of the network */
    int64_t bound;                      /* integers of this input are below it; 0: not known */
    int type;                           /* ONNX's number of the type of its elements; 0: not known */
    unsigned state_count;               /* states that were created from it */
    unsigned seen;                      /* marks of the search in onnx_weights.c */
    int hidden;                         /* inner graphs around a node that have a value of this name */
    bool is_active;                     /* depends on the values of the network's inputs */
    bool is_learned;                    /* is active, and computed with weights */
    bool is_used;                       /* a node, or an output of the network, reads it */
    bool is_weight;                     /* a constant that an operator reads as a weight */
    bool is_trained;                    /* a constant that becomes a parameter */
    bool is_absent;                     /* an optional value that is empty */
    const struct wi_onnx_sequence
        *sequence; /* NULL: not a sequence; a sequence has neither tensor nor numbers */
    UT_hash_handle hh;
} wi_onnx_value;

typedef struct wi_onnx_import {
    weft_graph *graph;
    const WiOnnx__ModelProto
        *model; /* the file's model, in which calls of functions are replaced by their nodes */
    const weft_onnx_options *options; /* only during wi_onnx_import_build */
    int version;                      /* of the standard operator set */
    wi_arena arena;
    wi_onnx_value *values;
    const WiOnnx__NodeProto **nodes; /* in an order in which each can be built */
    size_t node_count;
    wi_onnx_value **inputs, **outputs;
    size_t input_count, output_count;
    size_t
        copied; /* nodes of subgraphs and functions of which copies were made, with their inputs and outputs */
    size_t folded; /* numbers that nodes have read on the host */
    size_t names;  /* number of names that were created for copies */
    /* Functions that call the builders of operators. Builders call them through these pointers, so that the files do not need each other. */
    weft_status (*build_node)(struct wi_onnx_import *network, const WiOnnx__NodeProto *node);
    const struct wi_onnx_op *(*op_of)(const WiOnnx__NodeProto *node);
    weft_status status; /* of the first node with an error, which is the thread's last one */
} wi_onnx_import;

/* Builds the network. The file must stay open until wi_onnx_import_clear. *network is {0} before the call, and must be
 * cleared also after an error. Errors: those of weft_onnx_load. */
weft_status wi_onnx_import_build(
    wi_onnx_import *network, weft_graph *graph, const wi_onnx_file *file, const weft_onnx_options *options);
/* The part of wi_onnx_import_build that needs no graph: registers all names, sorts the nodes, and marks the constants that
 * are weights. Also accepts files with operators that are not supported. */
weft_status wi_onnx_import_begin(
    wi_onnx_import *network, const wi_onnx_file *file, const weft_onnx_options *options);
void wi_onnx_import_clear(wi_onnx_import *network);

/* The steps of wi_onnx_import_build, in onnx_order.c, onnx_inputs.c and onnx_weights.c. */
weft_status wi_onnx_register(wi_onnx_import *network); /* all names, and the order of the nodes */
weft_status wi_onnx_check_operators(const wi_onnx_import *network);
weft_status wi_onnx_add_inputs(wi_onnx_import *network);
/* Marks the constants that operators read as weights, and those that become parameters. */
weft_status wi_onnx_mark_weights(wi_onnx_import *network);
/* Like wi_onnx_mark_weights, for a constant of a subgraph that a node of the subgraph reads as its input k. */
void wi_onnx_mark_inner_weight(
    wi_onnx_import *network, const WiOnnx__NodeProto *node, size_t k, wi_onnx_value *value);

/* The value of this name; NULL: there is none. */
wi_onnx_value *wi_onnx_find(const wi_onnx_import *network, const char *name);
/* The value of this name, which is added if there is none. NULL: memory ran out. */
wi_onnx_value *wi_onnx_add(wi_onnx_import *network, const char *name);
/* Computes a node on the host if its inputs are known there, otherwise calls its builder. */
weft_status wi_onnx_build_node(wi_onnx_import *network, const WiOnnx__NodeProto *node);
/* The value as a tensor. NULL: the value has no tensor, as a sequence, or an error that is not yet recorded in network->status. */
weft_tensor *wi_onnx_tensor_of(wi_onnx_import *network, wi_onnx_value *value);
/* Creates a state that begins with the numbers of a constant. If a node computed the value, returns its tensor instead. */
weft_tensor *wi_onnx_state_of(wi_onnx_import *network, wi_onnx_value *value);
/* The value's numbers; NULL: the host does not know them. */
const wi_onnx_numbers *wi_onnx_known_of(wi_onnx_import *network, wi_onnx_value *value);
/* Writes the name, changed if necessary so that a parameter can have it and a terminal can print it. */
void wi_onnx_usual_name(char *buffer, size_t capacity, const char *name);

/* The network of a model of weft_onnx_load, for the tools. */
const wi_onnx_import *wi_onnx_import_of(const weft_onnx_model *model);

#endif
