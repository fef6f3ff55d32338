/* What the ops of ONNX are built with: inputs, outputs and attributes of a node. After an error all of them give NULL or 0, and the
 * network's status says what it was. */
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
/* Makes the first output; the others of a node with several, too, by wi_onnx_set. */
typedef weft_tensor *(*wi_onnx_builder)(wi_onnx_import *network, wi_onnx_node *node);

/* How an operator becomes nodes of Weft: by a builder, or as one op of Weft's. */
typedef struct wi_onnx_op {
    const char *name;
    wi_onnx_builder build;
    weft_tensor *(*one)(weft_tensor *x);
    weft_tensor *(*two)(weft_tensor *a, weft_tensor *b); /* of two inputs, or one by one of any number */
    weft_tensor *(*reduce)(weft_tensor *x, const int64_t *axes, bool keep);
    /* Bits of inputs: bit 1 is the second input. host: inputs whose values must be known when the network is loaded, because they
     * decide a shape, a count or a condition. weights: inputs that are weights of a layer, and train. */
    uint32_t host, weights;
    bool wraps; /* results of narrow whole numbers wrap around */
} wi_onnx_op;

/* Each file of ops has a list, which ends with {0}. wi_onnx_microsoft_ops are those of the domain com.microsoft, wi_onnx_training_ops of ai.onnx.preview.training. */
extern const wi_onnx_op wi_onnx_elementwise_ops[], wi_onnx_activation_ops[], wi_onnx_integer_ops[],
    wi_onnx_reduce_ops[], wi_onnx_index_ops[], wi_onnx_block_ops[], wi_onnx_quantised_ops[],
    wi_onnx_loss_ops[], wi_onnx_signal_ops[], wi_onnx_training_ops[], wi_onnx_layer_ops[],
    wi_onnx_movement_ops[], wi_onnx_recurrent_ops[], wi_onnx_microsoft_ops[];
extern const wi_onnx_op wi_onnx_conv_ops[], wi_onnx_pool_ops[], wi_onnx_resize_ops[], wi_onnx_sample_ops[],
    wi_onnx_norm_ops[], wi_onnx_attention_ops[], wi_onnx_einsum_ops[], wi_onnx_microsoft_quantised_ops[],
    wi_onnx_host_ops[], wi_onnx_control_ops[], wi_onnx_sequence_ops[];
/* The op of a node; NULL: its operator is not supported. */
const wi_onnx_op *wi_onnx_op_of(wi_onnx_node *node);

/* Of an op with `one` or `two`, and of one with `reduce`. */
weft_tensor *wi_onnx_build_elementwise(wi_onnx_import *network, wi_onnx_node *node, const wi_onnx_op *op);
weft_tensor *wi_onnx_build_reduction(wi_onnx_import *network, wi_onnx_node *node, const wi_onnx_op *op);

/* A convolution with the attributes of the node. exact: whole numbers give whole numbers, if no sum is above 2^24. */
weft_tensor *wi_onnx_conv(wi_onnx_import *network, wi_onnx_node *node, weft_tensor *x, weft_tensor *weight,
    weft_tensor *bias, bool exact);

/* 0, 1, ... in i32 along `axis`, as long as that of `like`, in a shape of `rank` whose other dimensions are 1. */
weft_tensor *wi_onnx_iota(wi_onnx_import *network, const weft_tensor *like, int axis, int rank);

/* A list of whole numbers. */
typedef struct wi_onnx_list {
    int count;
    int64_t of[4 * WEFT_MAX_RANK];
} wi_onnx_list;

bool wi_onnx_has(wi_onnx_node *node, size_t index); /* an input */
weft_tensor *wi_onnx_get(wi_onnx_import *network, wi_onnx_node *node, size_t index);
/* A constant of the file as a state of its own, which the node moves in training: a running statistic. */
weft_tensor *wi_onnx_get_state(wi_onnx_import *network, wi_onnx_node *node, size_t index);
/* NULL: the host does not know it (or it is a weight, or large), or there is none; no error. Numbers may be open
 * (onnx_sizes.h). */
const wi_onnx_numbers *wi_onnx_known(wi_onnx_import *network, wi_onnx_node *node, size_t index);
/* The numbers of an input as a list; `what` names them in the error where the host does not know them, or where one of
 * them is an open size. */
wi_onnx_list wi_onnx_get_list(wi_onnx_import *network, wi_onnx_node *node, size_t index, const char *what);
/* wi_onnx_get_list with open sizes, as symbols: see onnx_sizes.h. wi_onnx_dimension makes dimensions of them. */
wi_onnx_list wi_onnx_get_sizes(wi_onnx_import *network, wi_onnx_node *node, size_t index, const char *what);
double wi_onnx_get_number(wi_onnx_import *network, wi_onnx_node *node, size_t index, double otherwise);
void wi_onnx_set(wi_onnx_import *network, wi_onnx_node *node, size_t index, weft_tensor *tensor);
void wi_onnx_set_numbers(
    wi_onnx_import *network, wi_onnx_node *node, size_t index, const wi_onnx_numbers *numbers);
/* ONNX's type of an input, by its number; 0: there is no such input. Results get the type of the first input of their dtype, unless the
 * builder sets another one. */
int wi_onnx_get_type(const wi_onnx_import *network, wi_onnx_node *node, size_t index);
void wi_onnx_set_type(wi_onnx_import *network, wi_onnx_node *node, size_t index, int type);
/* Gives results without a type that of the first input of their dtype. */
void wi_onnx_infer_types(wi_onnx_import *network, wi_onnx_node *node);
/* A tensor of numbers that the host knows. */
weft_tensor *wi_onnx_array(wi_onnx_import *network, const wi_onnx_numbers *numbers);
/* Whole-number indices of this input are below `bound`. */
void wi_onnx_bound(wi_onnx_import *network, wi_onnx_node *node, size_t index, int64_t bound);

/* Attributes. One that has another type than is asked for is an error of the node, and counts as not there. */
const WiOnnx__AttributeProto *wi_onnx_attribute(
    wi_onnx_node *node, const char *name); /* of any type; NULL: there is none */
int64_t wi_onnx_whole(wi_onnx_node *node, const char *name, int64_t otherwise);
double wi_onnx_real(wi_onnx_node *node, const char *name, double otherwise);
wi_onnx_list wi_onnx_wholes(wi_onnx_node *node, const char *name);
/* Is the attribute this text? */
bool wi_onnx_says(wi_onnx_node *node, const char *name, const char *text);
/* The name of an attribute that was asked for as another type; NULL: there is none. */
const char *wi_onnx_wrong_attribute(wi_onnx_node *node);

/* Records an error of the node; returns NULL. The names of files in it are shortened and made printable. */
weft_tensor *wi_onnx_fail(
    wi_onnx_import *network, wi_onnx_node *node, weft_status status, const char *format, ...) WI_PRINTF(4, 5);
/* wi_fail with "ONNX: " and a line that is printable and short, whatever names of a file it has. */
weft_status wi_onnx_error(weft_status status, const char *format, ...) WI_PRINTF(2, 3);
/* An axis from 0 on, of a rank; negative ones count from the end. */
int wi_onnx_axis(int64_t axis, int rank);
void wi_onnx_dims(const weft_tensor *tensor, int64_t *dims);
/* Shape, dtype and type of an input whose numbers need not be known. False: it is missing, after an error. */
bool wi_onnx_describe(
    wi_onnx_import *network, wi_onnx_node *node, size_t index, wi_onnx_numbers *description);
/* Of ops that are computed on the host or not at all: an error. */
weft_tensor *wi_onnx_unfolded(wi_onnx_import *network, wi_onnx_node *node);
/* Computes a node whose inputs the host knows; false: it is not such, or no op that is computed so. */
bool wi_onnx_fold(wi_onnx_import *network, wi_onnx_node *node);

#endif
