/* The functions by which builders read the inputs and attributes of a node and set its outputs. After an error they return NULL or 0, and
 * network->status has the error. */
#ifndef WI_ONNX_NODE_H
#define WI_ONNX_NODE_H

#include "onnx/onnx_import.h"
#include "onnx/onnx_sizes.h"
#include <weft/convolution.h>
#include <weft/images.h>
#include <weft/losses.h>
#include <weft/nn.h>
#include <weft/normalization.h>
#include <weft/ops.h>
#include <weft/recurrent.h>

typedef const WiOnnx__NodeProto wi_onnx_node;
/* Creates the nodes of an operator, and returns its first output. Sets further outputs by wi_onnx_set. */
typedef weft_tensor *(*wi_onnx_builder)(wi_onnx_import *network, wi_onnx_node *node);

/* How an operator becomes nodes of Weft: by a builder, or as one op of Weft's. */
typedef struct wi_onnx_op {
    const char *name;
    wi_onnx_builder build;
    weft_tensor *(*one)(weft_tensor *x);
    weft_tensor *(*two)(
        weft_tensor *a, weft_tensor *b); /* of two inputs; more inputs are combined one after the other */
    weft_tensor *(*reduce)(weft_tensor *x, const int64_t *axes, bool keep);
    /* Bits of inputs: bit 1 is the second input. host: inputs whose values must be known when the network is loaded, because they
     * decide a shape, a count or a condition. weights: inputs that are weights of a layer, and train. */
    uint32_t host, weights;
    bool wraps; /* results of narrow whole numbers wrap around */
} wi_onnx_op;

/* Each file of ops has a list, which ends with {0}. wi_onnx_microsoft_ops has the ops of the domain com.microsoft, wi_onnx_training_ops
 * those of ai.onnx.preview.training. */
extern const wi_onnx_op wi_onnx_elementwise_ops[], wi_onnx_activation_ops[], wi_onnx_integer_ops[],
    wi_onnx_reduce_ops[], wi_onnx_index_ops[], wi_onnx_block_ops[], wi_onnx_quantised_ops[],
    wi_onnx_loss_ops[], wi_onnx_signal_ops[], wi_onnx_training_ops[], wi_onnx_layer_ops[],
    wi_onnx_movement_ops[], wi_onnx_recurrent_ops[], wi_onnx_microsoft_ops[];
extern const wi_onnx_op wi_onnx_conv_ops[], wi_onnx_pool_ops[], wi_onnx_resize_ops[], wi_onnx_sample_ops[],
    wi_onnx_norm_ops[], wi_onnx_attention_ops[], wi_onnx_einsum_ops[], wi_onnx_microsoft_quantised_ops[],
    wi_onnx_host_ops[], wi_onnx_control_ops[], wi_onnx_sequence_ops[], wi_onnx_random_ops[];
/* The op of a node; NULL: its operator is not supported. */
const wi_onnx_op *wi_onnx_op_of(wi_onnx_node *node);

/* Build the node of an op that has `one` or `two`, and of an op that has `reduce`. */
weft_tensor *wi_onnx_build_elementwise(wi_onnx_import *network, wi_onnx_node *node, const wi_onnx_op *op);
weft_tensor *wi_onnx_build_reduction(wi_onnx_import *network, wi_onnx_node *node, const wi_onnx_op *op);

/* A convolution with the attributes of the node. exact: integers in floats are multiplied exactly, if no sum is above 2^24. */
weft_tensor *wi_onnx_conv(wi_onnx_import *network, wi_onnx_node *node, weft_tensor *x, weft_tensor *weight,
    weft_tensor *bias, bool exact);

/* An i32 tensor with `rank` axes that counts 0, 1, ... along `axis`, which has the size of this axis of `like`; the other axes have size 1. */
weft_tensor *wi_onnx_iota(wi_onnx_import *network, const weft_tensor *like, int axis, int rank);

/* A list of whole numbers. */
typedef struct wi_onnx_list {
    int count;
    int64_t of[4 * WEFT_MAX_RANK];
} wi_onnx_list;

bool wi_onnx_has(wi_onnx_node *node, size_t index); /* an input */
weft_tensor *wi_onnx_get(wi_onnx_import *network, wi_onnx_node *node, size_t index);
/* An input that is a constant of the file, as a new state that training updates: a running statistic. */
weft_tensor *wi_onnx_get_state(wi_onnx_import *network, wi_onnx_node *node, size_t index);
/* The numbers of an input; some may be open (onnx_sizes.h). NULL, which is not an error: the node does not have the input, or the host does
 * not know the numbers, or they are a weight or too many. */
const wi_onnx_numbers *wi_onnx_known(wi_onnx_import *network, wi_onnx_node *node, size_t index);
/* The numbers of an input as a list. Records an error, in which `what` names them, if the host does not know them or if one
 * of them is an open size. */
wi_onnx_list wi_onnx_get_list(wi_onnx_import *network, wi_onnx_node *node, size_t index, const char *what);
/* Like wi_onnx_get_list, but allows open sizes, as symbols (onnx_sizes.h). wi_onnx_dimension converts a symbol to a dimension. */
wi_onnx_list wi_onnx_get_sizes(wi_onnx_import *network, wi_onnx_node *node, size_t index, const char *what);
double wi_onnx_get_number(wi_onnx_import *network, wi_onnx_node *node, size_t index, double otherwise);
void wi_onnx_set(wi_onnx_import *network, wi_onnx_node *node, size_t index, weft_tensor *tensor);
void wi_onnx_set_numbers(
    wi_onnx_import *network, wi_onnx_node *node, size_t index, const wi_onnx_numbers *numbers);
/* The number of the ONNX type of an input; 0: there is no such input. A result has the type of the first input that has the result's dtype,
 * unless the builder sets another type. */
int wi_onnx_get_type(const wi_onnx_import *network, wi_onnx_node *node, size_t index);
void wi_onnx_set_type(wi_onnx_import *network, wi_onnx_node *node, size_t index, int type);
/* Sets the types of results for which the builder has set none. */
void wi_onnx_infer_types(wi_onnx_import *network, wi_onnx_node *node);
/* A tensor of numbers that the host knows. */
weft_tensor *wi_onnx_array(wi_onnx_import *network, const wi_onnx_numbers *numbers);
/* Records that the integers of this input are indices below `bound`. */
void wi_onnx_bound(wi_onnx_import *network, wi_onnx_node *node, size_t index, int64_t bound);

/* Attributes. An attribute that has another type than the function reads is an error of the node, and is treated as absent. */
const WiOnnx__AttributeProto *wi_onnx_attribute(
    wi_onnx_node *node, const char *name); /* of any type; NULL: there is none */
int64_t wi_onnx_whole(wi_onnx_node *node, const char *name, int64_t otherwise);
double wi_onnx_real(wi_onnx_node *node, const char *name, double otherwise);
wi_onnx_list wi_onnx_wholes(wi_onnx_node *node, const char *name);
/* Is the attribute's value this text? */
bool wi_onnx_says(wi_onnx_node *node, const char *name, const char *text);
/* The name of an attribute that was asked for as another type; NULL: there is none. */
const char *wi_onnx_wrong_attribute(wi_onnx_node *node);

/* Records an error of the node; returns NULL. Names from the file are shortened, and unprintable characters are replaced. */
weft_tensor *wi_onnx_fail(
    wi_onnx_import *network, wi_onnx_node *node, weft_status status, const char *format, ...) WI_PRINTF(4, 5);
/* Records the message with "ONNX: " before it. Names from the file are shortened, and unprintable characters are replaced. */
weft_status wi_onnx_error(weft_status status, const char *format, ...) WI_PRINTF(2, 3);
/* The axis as an index from 0 on; a negative one counts from the end of the rank. */
int wi_onnx_axis(int64_t axis, int rank);
void wi_onnx_dims(const weft_tensor *tensor, int64_t *dims);
/* Writes the shape, dtype and type of an input whose numbers need not be known. False: the input is missing, and an error is recorded. */
bool wi_onnx_describe(
    wi_onnx_import *network, wi_onnx_node *node, size_t index, wi_onnx_numbers *description);
/* The builder of ops that only the host can compute: records an error. */
weft_tensor *wi_onnx_unfolded(wi_onnx_import *network, wi_onnx_node *node);
/* Computes the node on the host. False: the host does not know all inputs, or does not compute this operator. */
bool wi_onnx_fold(wi_onnx_import *network, wi_onnx_node *node);

#endif
