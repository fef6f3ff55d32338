/* The generator of the samples dcgan and wgan_gp. */
#ifndef DIGIT_GENERATOR_H
#define DIGIT_GENERATOR_H

#include "digits.h"

enum { NOISE = 16, WIDTH = 32 };

/* noise (batch, NOISE) → images (batch, 1, 8, 8); in a scope that shares, all calls are one network. */
static inline weft_tensor *digit_generator(weft_graph *graph, weft_tensor *noise) {
    weft_scope_begin(graph, "generator", true);
    weft_tensor *x = weft_reshape(weft_linear(noise, 8 * WIDTH), WEFT_BATCH, 2 * WIDTH, 2, 2);
    x = weft_conv_transpose2d(weft_silu(weft_batch_norm(x)), WIDTH, 4, 2, 1);
    x = weft_sigmoid(weft_conv_transpose2d(weft_silu(weft_batch_norm(x)), 1, 4, 2, 1));
    weft_scope_end(graph);
    return x;
}

#endif
