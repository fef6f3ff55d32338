/* What the ops of ONNX are built with: inputs, outputs and attributes of a node. After an error all of them give NULL or 0, and the
 * network's status says what it was. */
#ifndef ONNX_NODE_H
#define ONNX_NODE_H

#include "onnx_network.h"

typedef const Onnx__NodeProto onnx_node;
/* Makes the first output; the others of a node with several, too, by onnx_set. */
typedef weft_tensor *(*onnx_builder)(onnx_network *network, onnx_node *node);

/* What makes an op of this name: a builder, or one op of Weft's. */
typedef struct onnx_op {
    const char *name;
    onnx_builder build;
    weft_tensor *(*one)(weft_tensor *x);
    weft_tensor *(*two)(weft_tensor *a, weft_tensor *b); /* of two inputs, or one by one of any number */
    weft_tensor *(*reduce)(weft_tensor *x, const int64_t *axes, bool keep);
} onnx_op;

/* Each file of ops has a list, which ends with {0}. */
extern const onnx_op onnx_elementwise_ops[], onnx_image_ops[], onnx_layer_ops[], onnx_movement_ops[],
    onnx_recurrent_ops[];

/* Of an op with `one` or `two`, and of one with `reduce`. */
weft_tensor *onnx_build_elementwise(onnx_network *network, onnx_node *node, const onnx_op *op);
weft_tensor *onnx_build_reduction(onnx_network *network, onnx_node *node, const onnx_op *op);

/* A list of whole numbers. */
typedef struct onnx_list {
    int count;
    int64_t of[4 * WEFT_MAX_RANK];
} onnx_list;

bool onnx_has(onnx_node *node, size_t index); /* an input */
weft_tensor *onnx_get(onnx_network *network, onnx_node *node, size_t index);
/* An initializer that is no parameter. */
weft_tensor *onnx_get_state(onnx_network *network, onnx_node *node, size_t index);
/* NULL: the host does not know it, or there is none; no error. */
const onnx_numbers *onnx_known(const onnx_network *network, onnx_node *node, size_t index);
/* The numbers of an input as a list; `what` names them in the error where the host does not know them. */
onnx_list onnx_get_list(onnx_network *network, onnx_node *node, size_t index, const char *what);
double onnx_get_number(onnx_network *network, onnx_node *node, size_t index, double otherwise);
void onnx_set(onnx_network *network, onnx_node *node, size_t index, weft_tensor *tensor);
void onnx_set_numbers(onnx_network *network, onnx_node *node, size_t index, const onnx_numbers *numbers);
/* A tensor of numbers that the host knows. */
weft_tensor *onnx_array(onnx_network *network, const onnx_numbers *numbers);
/* Whole-number indices of this input are below `bound`. */
void onnx_bound(onnx_network *network, onnx_node *node, size_t index, int64_t bound);

const Onnx__AttributeProto *onnx_attribute(onnx_node *node, const char *name); /* NULL: there is none */
int64_t onnx_whole(onnx_node *node, const char *name, int64_t otherwise);
double onnx_real(onnx_node *node, const char *name, double otherwise);
onnx_list onnx_wholes(onnx_node *node, const char *name);
/* Is the attribute this text? */
bool onnx_says(onnx_node *node, const char *name, const char *text);

/* Records an error of the node; returns NULL. */
weft_tensor *onnx_fail(onnx_network *network, onnx_node *node, weft_status status, const char *format, ...)
    WI_PRINTF(4, 5);
/* An axis from 0 on, of a rank; negative ones count from the end. */
int onnx_axis(int64_t axis, int rank);
void onnx_dims(const weft_tensor *tensor, int64_t *dims);
/* Of ops that are computed on the host or not at all: an error. */
weft_tensor *onnx_unfolded(onnx_network *network, onnx_node *node);
/* Computes a node whose inputs the host knows; false: it is not such, or no op that is computed so. */
bool onnx_fold(onnx_network *network, onnx_node *node);

#endif
