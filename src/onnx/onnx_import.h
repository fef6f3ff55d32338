/* Networks of ONNX files as expressions of a graph.
 *
 * wi_onnx_import_build registers all names of the file, sorts the nodes, decides which constants are weights
 * (onnx_weights.h), creates the inputs, and builds the nodes one after the other. Numbers that only say shapes are
 * computed on the host (onnx_fold.c); onnx_sizes.h explains how open sizes are numbers there. */
#ifndef WI_ONNX_IMPORT_H
#define WI_ONNX_IMPORT_H

#include "onnx/onnx_file.h"
#include "onnx/onnx_hash.h"

/* A value of the file, by its name: a tensor, numbers that the host knows, or both. */
typedef struct wi_onnx_value {
    const char *name;
    weft_tensor *tensor;                /* NULL until it is asked for */
    const WiOnnx__TensorProto *stored;  /* of a constant of the file: an initialiser, or of a node Constant */
    const wi_onnx_numbers *numbers;     /* NULL: the host does not know them */
    const WiOnnx__NodeProto *maker;     /* the node that computes it; NULL: none */
    size_t place;                       /* of the maker among the nodes of the file */
    const WiOnnx__ValueInfoProto *info; /* of an input of the network */
    int64_t bound;                      /* whole numbers of the input are below it; 0: not known */
    int type;                           /* ONNX's number of the type of its elements; 0: not known */
    unsigned state_count;               /* states that were created of it */
    unsigned seen;                      /* by the walk of onnx_weights.c */
    int hidden;                         /* inner graphs around a node that have a value of this name */
    bool is_active;                     /* depends on the values of the network's inputs */
    bool is_used;                       /* a node, or an output of the network, reads it */
    bool is_weight;                     /* a constant that stands in the place of a weight */
    bool is_trained;                    /* a constant that becomes a parameter */
    bool is_absent;                     /* an optional value that is not there */
    const struct wi_onnx_sequence *sequence; /* of a sequence, which has neither tensor nor numbers */
    UT_hash_handle hh;
} wi_onnx_value;

typedef struct wi_onnx_import {
    weft_graph *graph;
    const WiOnnx__ModelProto *model;  /* of a file, with its functions inlined */
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
    size_t folded; /* numbers that the host computed with */
    size_t names;  /* that were made for copies */
    /* The functions of files that the builders of operators must not call directly, as these call the builders. */
    weft_status (*build_node)(struct wi_onnx_import *network, const WiOnnx__NodeProto *node);
    const struct wi_onnx_op *(*op_of)(const WiOnnx__NodeProto *node);
    weft_status status; /* of the first node with an error, which is the thread's last one */
} wi_onnx_import;

/* The file is used until wi_onnx_import_clear. Errors: those of weft_onnx_load. *network is {0} before, and must be
 * cleared also after an error. */
weft_status wi_onnx_import_build(
    wi_onnx_import *network, weft_graph *graph, const wi_onnx_file *file, const weft_onnx_options *options);
/* The part of wi_onnx_import_build that needs no graph: all names, an order of the nodes, and which constants are
 * weights; also of files with operators that are not supported. */
weft_status wi_onnx_import_begin(
    wi_onnx_import *network, const wi_onnx_file *file, const weft_onnx_options *options);
void wi_onnx_import_clear(wi_onnx_import *network);

/* What wi_onnx_import_build consists of; onnx_order.c, onnx_inputs.c and onnx_weights.c. */
weft_status wi_onnx_register(wi_onnx_import *network); /* all names, and the order of the nodes */
weft_status wi_onnx_check_operators(const wi_onnx_import *network);
weft_status wi_onnx_add_inputs(wi_onnx_import *network);
/* Marks the constants that stand in the places of weights, and those that become parameters. */
weft_status wi_onnx_mark_weights(wi_onnx_import *network);
/* The same for a constant of a subgraph, which a node of the subgraph reads as its input k. */
void wi_onnx_mark_inner_weight(
    const wi_onnx_import *network, const WiOnnx__NodeProto *node, size_t k, wi_onnx_value *value);

/* The value of this name; NULL: there is none. */
wi_onnx_value *wi_onnx_find(const wi_onnx_import *network, const char *name);
/* The value of this name, which is new if there was none. NULL: no memory. */
wi_onnx_value *wi_onnx_add(wi_onnx_import *network, const char *name);
/* Builds a node, or computes it on the host. */
weft_status wi_onnx_build_node(wi_onnx_import *network, const WiOnnx__NodeProto *node);
/* The value as a tensor; NULL: an error, of which `network` does not know yet, or it is none, as a sequence. */
weft_tensor *wi_onnx_tensor_of(wi_onnx_import *network, wi_onnx_value *value);
/* A constant as a new state. A tensor that a node computed is returned as it is. */
weft_tensor *wi_onnx_state_of(wi_onnx_import *network, wi_onnx_value *value);
/* The value as numbers of the host; NULL: it does not know them. */
const wi_onnx_numbers *wi_onnx_known_of(wi_onnx_import *network, wi_onnx_value *value);
/* A name of a file as one that Weft gives to parameters and terminals print: the same one if it is usual. */
void wi_onnx_usual_name(char *buffer, size_t capacity, const char *name);

/* The model's internals, for the tools: of a model of weft_onnx_load. */
const wi_onnx_import *wi_onnx_import_of(const weft_onnx_model *model);

#endif
