/* Attributes: what a node has besides its inputs. Each op, or a few similar ops, has a struct, which is a member of the union
 * wi_attributes. Nodes of the op have only this struct, whose size is wi_op.attribute_bytes.
 *
 * Attributes are compared and hashed byte by byte, because equal nodes are created once. The structs therefore have no
 * padding, whose content is undefined in C; the compiler checks this here. A struct that would end with padding has a last
 * member `unused`, which every initialiser sets to zero. */
#ifndef WI_ATTRIBUTES_H
#define WI_ATTRIBUTES_H

#include "graph/shape.h"
#include <stdint.h>

#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wpadded"
#endif

typedef uint32_t wi_bool32; /* a bool as wide as an int, so that it causes no padding */

/* ---- shared by families ---- */

/* Ops along one axis: coordinate, softmax, log_softmax, concat. */
typedef struct wi_along_attributes {
    int32_t axis;
} wi_along_attributes;

/* Ops over several axes: reductions (every op of kind WI_REDUCE), logsumexp, flip. */
typedef struct wi_over_attributes {
    uint32_t axes; /* a bit for each axis */
} wi_over_attributes;

/* ---- sources, generators, transfers ---- */

/* input, parameter, state. No two nodes of these ops are equal. */
typedef struct wi_source_attributes {
    uint32_t number; /* the number of nodes that the graph had before this one */
    uint32_t part;   /* 1 + the index of the micro-batch whose part this node is; 0: the whole input */
} wi_source_attributes;

/* value × batch^batch_power */
typedef struct wi_constant_attributes {
    double value;
    int32_t batch_power;
    uint32_t unused;
} wi_constant_attributes;

/* count × batch^batch_power, or with `inverse` 1 / this number. The count has the length. */
typedef struct wi_count_attributes {
    int64_t count;
    int32_t batch_power;
    wi_bool32 inverse;
} wi_count_attributes;

typedef struct wi_scalar_attributes {
    uint32_t index; /* in weft_graph.scalars */
} wi_scalar_attributes;

/* The parameters of a block as one tensor. */
typedef struct wi_flat_attributes {
    uint32_t block;
} wi_flat_attributes;

/* Input i of flat_gradients is the gradient of parameter first + i. It is stored at the place that this parameter has
 * in its block. */
typedef struct wi_flat_gradients_attributes {
    int64_t first;
} wi_flat_gradients_attributes;

typedef struct wi_transfer_attributes {
    int32_t device; /* the index of the receiving device in the plan's list */
} wi_transfer_attributes;

/* ---- elementwise ---- */

/* uniform, normal: offset + scale × a draw from [0, 1), or from the standard normal distribution. */
typedef struct wi_random_attributes {
    float offset, scale;
    uint32_t stream; /* of random numbers; each node has its own */
} wi_random_attributes;

typedef struct wi_dropout_attributes {
    float probability;
    uint32_t stream;
    uint32_t axes;       /* a bit for each axis whose elements share a random number */
    wi_bool32 in_memory; /* the node has been created in memory order */
} wi_dropout_attributes;

/* ---- movement ---- */

typedef struct wi_permute_attributes {
    int8_t axes[WEFT_MAX_RANK]; /* axis i of the result is axis axes[i] of the input */
    uint32_t direction;         /* 0, WI_FROM_MEMORY_ORDER or WI_TO_MEMORY_ORDER */
} wi_permute_attributes;

typedef struct wi_slice_attributes {
    int64_t start; /* a dimension: negative numbers are multiples of the batch */
    int64_t step;
    int32_t axis;
    uint32_t unused;
} wi_slice_attributes;

typedef struct wi_diagonal_attributes {
    int64_t offset;
    int32_t rows, columns; /* axes */
} wi_diagonal_attributes;

/* For each mode, the input index that index c of the result reads along an axis with n input elements. If there is no
 * such input index, the result is `outside`. */
typedef enum wi_padding_mode {
    WI_PADDING_NONE,     /* c */
    WI_PADDING_CONSTANT, /* c - before, if this is in 0 .. n - 1 */
    WI_PADDING_INTERIOR, /* (c - before) / step, if this is an integer in 0 .. n - 1 */
    WI_PADDING_EDGE,     /* the index in 0 .. n - 1 that is nearest to c - before */
    WI_PADDING_REFLECT,  /* c - before, mirrored at 0 and at n - 1 */
    WI_PADDING_WRAP      /* c - before modulo n */
} wi_padding_mode;

/* pad, roll, tile, dilate: the ops with wi_op.reads_padded */
typedef struct wi_padding_attributes {
    double outside;
    int64_t step; /* of dilate */
    int64_t
        before[WEFT_MAX_RANK]; /* dimensions: negative numbers are multiples of the batch; WRAP: any number */
    int8_t mode[WEFT_MAX_RANK]; /* the wi_padding_mode of each axis */
} wi_padding_attributes;

/* ---- reductions ---- */

/* var, std */
typedef struct wi_variance_attributes {
    uint32_t axes;      /* a bit for each axis */
    int32_t correction; /* the divisor is the number of elements minus this */
} wi_variance_attributes;

/* The two ops that are named norm: the reduction, and the norm of the triplet loss. */
typedef struct wi_vector_norm_attributes {
    uint32_t axes; /* a bit for each axis */
    float order;   /* 1, 2 or infinity */
} wi_vector_norm_attributes;

/* ---- convolution and pooling ---- */

/* Windows over the depth, height and width of an image. An image with fewer spatial axes lacks the first ones; their entries
 * are those of an axis of size 1. */
typedef struct wi_window {
    int32_t size[3], stride[3], padding[3], dilation[3];
} wi_window;

/* conv, conv_data, conv_weight */
typedef struct wi_conv_attributes {
    wi_window window;
    int32_t groups;
} wi_conv_attributes;

/* max_pool, avg_pool and their gradients */
typedef struct wi_pool_attributes {
    wi_window window;          /* a stride of 0: adaptive windows */
    int32_t divisor;           /* of averages; 0: the number of elements in a window */
    wi_bool32 exclude_padding; /* with divisor 0: padding does not count as elements */
} wi_pool_attributes;

/* resample and its gradient */
typedef struct wi_resample_attributes {
    float scale[3]; /* the size of the input divided by that of the result, for the axes of a wi_window */
    uint32_t mode;  /* WI_RESAMPLE_NEAREST, ... */
} wi_resample_attributes;

/* ---- normalization ---- */

/* batch_norm, instance_norm, group_norm and their gradient; layer_norm, rms_norm. Fields that an op does not use are 0. */
typedef struct wi_norm_attributes {
    float epsilon, momentum;
    uint32_t inputs; /* WI_NORM_WEIGHT, ...: the inputs besides x */
    int32_t groups;  /* of channels; 0: each channel is a group */
    int32_t last_axes;
    wi_bool32 per_example; /* each example has its own statistics */
    wi_bool32 fixed;       /* training, too, uses the running statistics and does not change them */
    int32_t gradient;      /* gradient node: the index of the input whose gradient it computes */
} wi_norm_attributes;

/* (k + alpha / channels · sum of squares)^beta */
typedef struct wi_response_attributes {
    double alpha, beta, k;
    int64_t channels; /* in a window; channels / 2 of them (rounded down) precede the channel of the result */
} wi_response_attributes;

/* ---- attention and recurrent scans ---- */

/* attention, and the ops of its kernels */
typedef struct wi_attention_attributes {
    double scale;
    int64_t first_head; /* the number of heads in the micro-batches before this one, for dropout */
    float dropout;
    uint32_t stream; /* of dropout's random numbers */
    wi_bool32 causal;
    wi_bool32
        heads_inside; /* packed results have the shape (n0, length, n1, width), not (n0, n1, length, width) */
    wi_bool32 nan_if_unseen; /* a query whose keys are all masked has the result NaN, as by parts, not 0 */
    uint32_t unused;
} wi_attention_attributes;

/* lstm, gru, rnn, and the ops of their kernels */
typedef struct wi_recurrent_attributes {
    int64_t units, steps;
    uint32_t cell;       /* a wi_cell */
    uint32_t inputs;     /* a bit for each wi_scan_input that the node has */
    wi_bool32 reverse;   /* the scan begins with the last step */
    wi_bool32 pads_left; /* the padding of short sequences comes first */
    wi_bool32 forgets;   /* forward op: it stores nothing for the gradient */
    wi_bool32 reads_dy;  /* gradient op: all states have a gradient; otherwise input WI_BACK_DY is not read */
    wi_bool32 gives_dh0; /* gradient op: it computes the gradient of the first state */
    uint32_t unused;
} wi_recurrent_attributes;

/* ---- losses ---- */

/* cross_entropy, nll, multi_margin */
typedef struct wi_class_loss_attributes {
    int64_t ignored;  /* a label without loss; INT64_MIN: none */
    double smoothing; /* cross_entropy: label smoothing */
    double margin;
    int32_t exponent; /* 1 or 2: the power of each amount by which the margin is exceeded */
    uint32_t unused;
} wi_class_loss_attributes;

/* label: which values are in range */
typedef struct wi_label_attributes {
    int64_t count;   /* 0 .. count - 1 are in range */
    int64_t ignored; /* this value is in range, too; INT64_MIN: none */
    uint32_t kind;   /* a wi_label_kind */
    uint32_t unused;
} wi_label_attributes;

/* huber, smooth_l1 */
typedef struct wi_huber_attributes {
    double delta; /* smaller differences are squared */
    double slope; /* of the loss of larger differences */
} wi_huber_attributes;

typedef struct wi_cosine_attributes {
    double epsilon; /* a smaller norm is replaced by this one */
    double added;   /* to the squares of the norms */
    int32_t axis;
    uint32_t unused;
} wi_cosine_attributes;

/* ctc, and the ops of its kernels */
typedef struct wi_ctc_attributes {
    int32_t blank;
    wi_bool32 zero_infinity;
} wi_ctc_attributes;

/* ---- index, scan, sort ---- */

/* The ops of src/ops/index, and embedding (axis 0) */
typedef struct wi_index_attributes {
    int64_t skipped; /* with `skips`: rows of this index have no gradient and are not added */
    int64_t size;    /* segments: the number of rows of the table */
    int32_t axis;
    wi_bool32 skips;
    wi_bool32 by_frequency; /* embedding: the gradient of a row is divided by the number of its reads */
    uint32_t unused;
} wi_index_attributes;

/* cumsum, cumprod, linear_scan */
typedef struct wi_scan_attributes {
    int32_t axis;
    uint32_t form; /* WI_SCAN_AFTER, ... */
    wi_bool32 backwards;
} wi_scan_attributes;

/* argsort, topk_indices; sort, topk and put use only the axis */
typedef struct wi_sort_attributes {
    int32_t axis;
    wi_bool32 descending;
} wi_sort_attributes;

#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif

typedef union wi_attributes {
    wi_along_attributes along;
    wi_over_attributes over;
    wi_source_attributes source;
    wi_constant_attributes constant;
    wi_count_attributes count;
    wi_scalar_attributes scalar;
    wi_flat_attributes flat;
    wi_flat_gradients_attributes flat_gradients;
    wi_transfer_attributes transfer;
    wi_random_attributes random;
    wi_dropout_attributes dropout;
    wi_permute_attributes permute;
    wi_slice_attributes slice;
    wi_diagonal_attributes diagonal;
    wi_padding_attributes padding;
    wi_variance_attributes variance;
    wi_vector_norm_attributes vector_norm;
    wi_conv_attributes conv;
    wi_pool_attributes pool;
    wi_resample_attributes resample;
    wi_norm_attributes norm;
    wi_response_attributes response;
    wi_attention_attributes attention;
    wi_recurrent_attributes recurrent;
    wi_class_loss_attributes class_loss;
    wi_label_attributes label;
    wi_huber_attributes huber;
    wi_cosine_attributes cosine;
    wi_ctc_attributes ctc;
    wi_index_attributes index;
    wi_scan_attributes scan;
    wi_sort_attributes sort;
} wi_attributes;

_Static_assert(sizeof(wi_attributes) <= 96, "functions pass it by value");

#endif
