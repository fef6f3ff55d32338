/* Functions that the attention operators of ONNX and of com.microsoft share. */
#ifndef WI_ONNX_ATTENTION_H
#define WI_ONNX_ATTENTION_H

#include "onnx/onnx_build.h"

/* q (N, heads, Lq, d), k (N, heads / repeats, Lk, d), v (N, heads / repeats, Lk, dv). mask: bool, true where a query attends to a key, or floats
 * that are added to the scores; NULL: none. */
typedef struct wi_onnx_attention {
    weft_tensor *q, *k, *v, *mask;
    int64_t repeats;       /* how many heads of q share a head of k and v */
    bool causal;           /* query i attends to keys j <= i */
    bool scaled;           /* scale is set; otherwise it is 1 / sqrt(d) */
    double scale, softcap; /* softcap 0: none */
} wi_onnx_attention;

/* → (N, heads, Lq, dv). *scores, if not NULL: q·kᵀ·scale; *weights, if not NULL: the softmax. */
weft_tensor *wi_onnx_attend(const wi_onnx_attention *attention, weft_tensor **scores, weft_tensor **weights);
/* (N, L, heads · d) → (N, heads, L, d), and back. NULL: the width is not a multiple of the heads. */
weft_tensor *wi_onnx_split_heads(weft_tensor *x, int64_t heads);
weft_tensor *wi_onnx_join_heads(weft_tensor *x);
/* Rotary embedding of the node's first input. positions: rows of the caches; NULL: the caches have a row for each position. */
weft_tensor *wi_onnx_rotary(wi_onnx_import *network, wi_onnx_node *node, weft_tensor *cosine,
    weft_tensor *sine, weft_tensor *positions);

#endif
