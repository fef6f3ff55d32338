/* The generator of the samples dcgan and wgan_gp. */
#ifndef DIGIT_GENERATOR_H
#define DIGIT_GENERATOR_H

#include "digits.h"
#include <weft/short_names.h>

enum { NOISE = 16, WIDTH = 32 };

/* noise (batch, NOISE) → images (batch, 1, 8, 8); in a scope that shares, all calls are one network. */
static inline tensor *digit_generator(graph *g, tensor *noise) {
    scope_begin(g, "generator", true);
    tensor *x = reshape(linear(noise, 8 * WIDTH), BATCH, 2 * WIDTH, 2, 2);
    x = conv_transpose2d(silu(batch_norm(x)), WIDTH, 4, 2, 1);
    x = sigmoid(conv_transpose2d(silu(batch_norm(x)), 1, 4, 2, 1));
    scope_end(g);
    return x;
}

#endif
