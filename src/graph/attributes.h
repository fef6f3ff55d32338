/* Attributes: what a node knows besides its inputs. Each op, or a few ops of one meaning, has a struct, and a
 * node holds the union of them all. An op names its struct by wi_op.attribute_bytes, and nothing reads the
 * struct of another op.
 *
 * Equal nodes are made once, and attributes are compared and hashed byte by byte. The structs therefore have
 * no padding, whose content C leaves open; the compiler checks that here. A struct whose last word would be
 * filled up has a member `unused`, which every initialiser sets to zero. */
#ifndef WI_ATTRIBUTES_H
#define WI_ATTRIBUTES_H

#include "graph/shape.h"
#include <stdint.h>

#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wpadded"
#endif

typedef uint32_t wi_bool32; /* true or false, as wide as an int, so that it causes no padding */

/* ---- shared by families ---- */

/* Ops along one axis: coordinate, softmax, log_softmax, concat. */
typedef struct wi_along_attributes {
    int32_t axis;
} wi_along_attributes;

/* Ops over several axes: reductions (every op of kind WI_REDUCE), logsumexp, flip. */
typedef struct wi_over_attributes {
    uint32_t axes; /* a bit an axis */
} wi_over_attributes;

/* ---- sources, generators, and what plans add ---- */

/* input, parameter, state: no two of them are equal. */
typedef struct wi_source_attributes {
    uint32_t number; /* how many nodes the graph had before */
    uint32_t part;   /* of an input that is cut: the micro-batch and 1; 0: it is whole */
} wi_source_attributes;

/* value × batch^batch_power */
typedef struct wi_constant_attributes {
    double value;
    int32_t batch_power;
    uint32_t unused;
} wi_constant_attributes;

/* count × batch^batch_power, or 1 over that, where the count has the length */
typedef struct wi_count_attributes {
    int64_t count;
    int32_t batch_power;
    wi_bool32 inverse;
} wi_count_attributes;

typedef struct wi_scalar_attributes {
    uint32_t index; /* among the scalars of the graph */
} wi_scalar_attributes;

/* Parameters of one block as one tensor. */
typedef struct wi_flat_attributes {
    uint32_t block;
} wi_flat_attributes;

/* Input i of flat_gradients is stored where parameter first + i would be. */
typedef struct wi_flat_gradients_attributes {
    int64_t first;
} wi_flat_gradients_attributes;

typedef struct wi_transfer_attributes {
    int32_t device; /* to which the value goes: its index in the plan's list */
} wi_transfer_attributes;

/* ---- elementwise ---- */

/* uniform, normal: offset + scale × a draw from [0, 1), or from the standard normal distribution. */
typedef struct wi_random_attributes {
    float offset, scale;
    uint32_t stream; /* of random numbers: one a node */
} wi_random_attributes;

typedef struct wi_dropout_attributes {
    float probability;
    uint32_t stream;
    uint32_t axes;       /* along which one number is drawn for all; a bit an axis */
    wi_bool32 in_memory; /* it draws in the order of memory */
} wi_dropout_attributes;

/* ---- movement ---- */

typedef struct wi_permute_attributes {
    int8_t axes[WEFT_MAX_RANK]; /* of the input, one an axis of the result */
    uint32_t direction;         /* 0, WI_FROM_MEMORY_ORDER or WI_TO_MEMORY_ORDER */
} wi_permute_attributes;

typedef struct wi_slice_attributes {
    int64_t start; /* as dimensions are written (negative: multiples of the batch) */
    int64_t step;
    int32_t axis;
    uint32_t unused;
} wi_slice_attributes;

typedef struct wi_diagonal_attributes {
    int64_t offset;
    int32_t rows, columns; /* axes */
} wi_diagonal_attributes;

/* Which element of the input stands at index c of an axis of the result; n is the input's size there. Outside
 * the input the element is `outside`. */
typedef enum wi_padding_mode {
    WI_PADDING_NONE,     /* c */
    WI_PADDING_CONSTANT, /* c - before, where that is in 0 .. n - 1 */
    WI_PADDING_INTERIOR, /* (c - before) / step, where that is whole and in 0 .. n - 1 */
    WI_PADDING_EDGE,     /* c - before, the nearest in 0 .. n - 1 */
    WI_PADDING_REFLECT,  /* c - before, mirrored at 0 and n - 1 */
    WI_PADDING_WRAP      /* c - before modulo n */
} wi_padding_mode;

/* pad, roll, tile, dilate: all ops that set wi_op.reads_padded */
typedef struct wi_padding_attributes {
    double outside;
    int64_t step; /* of dilate */
    /* As dimensions are written (negative: multiples of the batch); WRAP: any number. */
    int64_t before[WEFT_MAX_RANK];
    int8_t mode[WEFT_MAX_RANK]; /* the wi_padding_mode of each axis */
} wi_padding_attributes;

/* ---- reductions ---- */

/* var, std */
typedef struct wi_variance_attributes {
    uint32_t axes;      /* a bit an axis */
    int32_t correction; /* what the divisor is less than the number of elements */
} wi_variance_attributes;

/* The norm of vectors: op norm of the reductions, and that of the triplet loss. */
typedef struct wi_vector_norm_attributes {
    uint32_t axes; /* a bit an axis */
    float order;   /* 1, 2 or infinity */
} wi_vector_norm_attributes;

/* ---- convolution and pooling ---- */

/* Windows over the spatial axes of an image, as depth, height and width: a rank that has fewer lacks the
 * first ones, whose entries are as of an axis of 1. */
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
    wi_window window;          /* a stride of 0 means adaptive windows */
    int32_t divisor;           /* of means; 0: the number of elements */
    wi_bool32 exclude_padding; /* from that number */
} wi_pool_attributes;

/* resample and its gradient */
typedef struct wi_resample_attributes {
    float scale[3]; /* input elements an element of the result; as windows have their axes */
    uint32_t mode;  /* WI_RESAMPLE_NEAREST, ... */
} wi_resample_attributes;

/* ---- normalization ---- */

/* batch_norm, instance_norm, group_norm and their gradient; layer_norm, rms_norm. What an op lacks is 0. */
typedef struct wi_norm_attributes {
    float epsilon, momentum;
    uint32_t inputs; /* WI_NORM_WEIGHT, ...: which there are beside x */
    int32_t groups;  /* of channels; 0: each channel is one */
    int32_t last_axes;
    wi_bool32 per_example; /* statistics are of each example, not of the batch */
    wi_bool32 fixed;       /* running statistics are used and kept in training, too */
    int32_t gradient;      /* which one a gradient node is */
} wi_norm_attributes;

/* (k + alpha / channels · sum of squares)^beta */
typedef struct wi_response_attributes {
    double alpha, beta, k;
    int64_t channels; /* of a window, half of them below */
} wi_response_attributes;

/* ---- attention and recurrent scans ---- */

/* attention, and its kernels' ops */
typedef struct wi_attention_attributes {
    double scale;
    int64_t first_head; /* in a micro-batch: how many heads are before its own, for dropout */
    float dropout;
    uint32_t stream; /* of dropout's random numbers */
    wi_bool32 causal;
    wi_bool32 heads_inside; /* packed results are (n0, length, n1, width), not (n0, n1, length, width) */
} wi_attention_attributes;

/* lstm, gru, rnn, and their kernels' ops */
typedef struct wi_recurrent_attributes {
    int64_t units, steps;
    uint32_t cell;       /* a wi_cell */
    uint32_t inputs;     /* a bit for each wi_scan_input that there is */
    wi_bool32 reverse;   /* in time */
    wi_bool32 pads_left; /* rows that are shorter than others end with the last step */
    wi_bool32 forgets;   /* forward: nothing is kept for the gradient */
    wi_bool32 reads_dy;  /* gradient: there is one of all states; else input WI_BACK_DY is not read */
    wi_bool32 gives_dh0; /* gradient: that of the first state is wanted */
    uint32_t unused;
} wi_recurrent_attributes;

/* ---- losses ---- */

/* cross_entropy, nll, multi_margin */
typedef struct wi_class_loss_attributes {
    int64_t ignored;  /* a label; INT64_MIN: none */
    double smoothing; /* cross_entropy: of labels */
    double margin;
    int32_t exponent; /* of the margin's excess: 1 or 2 */
    uint32_t unused;
} wi_class_loss_attributes;

/* label: which numbers it lets pass */
typedef struct wi_label_attributes {
    int64_t count;   /* 0 .. count - 1 */
    int64_t ignored; /* one more; INT64_MIN: none */
    uint32_t kind;   /* a wi_label_kind: what the numbers are */
    uint32_t unused;
} wi_label_attributes;

/* huber, smooth_l1 */
typedef struct wi_huber_attributes {
    double delta; /* differences below it are on the curve */
    double slope; /* of the straight parts */
} wi_huber_attributes;

typedef struct wi_cosine_attributes {
    double epsilon; /* the least norm */
    double added;   /* to the squares of norms */
    int32_t axis;
    uint32_t unused;
} wi_cosine_attributes;

/* ctc, and its kernels' ops */
typedef struct wi_ctc_attributes {
    int32_t blank;
    wi_bool32 zero_infinity;
} wi_ctc_attributes;

/* ---- index, scan, sort ---- */

/* gather, index_select, scatter_sum, index_sum, embedding (axis 0), segments and what is made of them */
typedef struct wi_index_attributes {
    int64_t skipped; /* with skips: an index that gradients and sums leave out */
    int64_t size;    /* segments: of the table */
    int32_t axis;
    wi_bool32 skips;
    wi_bool32 by_frequency; /* embedding: the gradient of a row is divided by how often it is picked */
    uint32_t unused;
} wi_index_attributes;

/* cumsum, cumprod, linear_scan */
typedef struct wi_scan_attributes {
    int32_t axis;
    uint32_t form; /* WI_SCAN_AFTER, ... */
    wi_bool32 backwards;
} wi_scan_attributes;

/* argsort, topk_indices; sort, topk and put have the axis alone */
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

_Static_assert(sizeof(wi_attributes) <= 96, "copies of it are made on the way");

#endif
