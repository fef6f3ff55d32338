/* The network of the sample llama. One function builds it for training, where a text is read at once, and for writing,
 * where each token reads the keys and values that the ones before left in caches. */
#ifndef LLAMA_MODEL_H
#define LLAMA_MODEL_H

#include <stdio.h>
#include <string.h>
#include <weft/short_names.h>
#include <weft/weft.h>

enum {
    CONTEXT = 64,
    LAYERS = 2,
    WIDTH = 64,
    HEADS = 4,
    GROUPS = 2,
    HIDDEN = 192,
    HEAD_WIDTH = WIDTH / HEADS
};

typedef struct llama {
    graph *graph;
    int64_t batch, length, vocabulary;
    bool caches;
    tensor *position, *angles;       /* of the first token; (length, HEAD_WIDTH / 2) */
    tensor *updates[LAYERS], *moved; /* with caches: outputs of the plan, which keep them and the position */
} llama;

static inline tensor *no_bias(tensor *x, int64_t units) {
    return linear(x, units, .no_bias = true);
}

/* Turns each pair of numbers by an angle that grows with the position. */
static inline tensor *rotate(const llama *m, tensor *x) {
    tensor *c = weft_cos(m->angles), *s = weft_sin(m->angles), *part[2];
    split(x, -1, 2, part);
    tensor *a = sub(mul(part[0], c), mul(part[1], s)), *b = add(mul(part[0], s), mul(part[1], c));
    return concat(TENSORS(a, b), -1);
}

/* (batch, length, WIDTH) → (batch, GROUPS, heads / GROUPS, length, HEAD_WIDTH): a key serves all queries of its group. */
static inline tensor *heads(const llama *m, tensor *x, int64_t count) {
    x = reshape(no_bias(x, count * HEAD_WIDTH), m->batch, m->length, GROUPS, count / GROUPS, HEAD_WIDTH);
    return permute(x, 0, 2, 3, 1, 4);
}

static inline tensor *attend(llama *m, tensor *x, int layer) {
    tensor *q = rotate(m, heads(m, x, HEADS)), *k = rotate(m, heads(m, x, GROUPS)), *v = heads(m, x, GROUPS),
           *y;
    if (m->caches) {
        tensor *keys = state_shape(m->graph, "", F32, zeros(), SHAPE(1, GROUPS, 1, CONTEXT, HEAD_WIDTH));
        tensor *old = state_shape(m->graph, "", F32, zeros(), SHAPE(1, GROUPS, 1, CONTEXT, HEAD_WIDTH));
        y = attention_cached(q, k, v, keys, old, m->position, &m->updates[layer]);
    } else {
        y = attention(q, k, v, WITH(attention, .causal = true));
    }
    return no_bias(reshape(permute(y, 0, 3, 1, 2, 4), m->batch, m->length, WIDTH), WIDTH);
}

static inline tensor *gated(tensor *x) {
    tensor *gate = silu(no_bias(x, HIDDEN));
    return no_bias(mul(gate, no_bias(x, HIDDEN)), WIDTH);
}

/* tokens i32 (batch, length) → logits (batch, length, vocabulary). */
static inline tensor *llama_logits(llama *m, tensor *tokens) {
    graph *g = m->graph;
    tensor *places = arange(g, I32, 0, (double)m->length, 1);
    tensor *rates = number_pow(10000, mul_number(arange(g, F32, 0, HEAD_WIDTH, 2), -1.0 / HEAD_WIDTH));
    if (m->caches) {
        m->position = state_shape(g, "position", I32, zeros(), 0, NULL);
        m->moved = assign(m->position, add_number(m->position, 1));
        places = add(places, m->position);
    }
    m->angles = outer(cast(places, F32), rates);
    scope_begin(g, "llama", true);
    tensor *x = embedding(tokens, m->vocabulary, WIDTH);
    for (int layer = 0; layer < LAYERS; layer++) {
        x = add(x, attend(m, rms_norm(x), layer));
        x = add(x, gated(rms_norm(x)));
    }
    tensor *logits = no_bias(rms_norm(x), m->vocabulary);
    scope_end(g);
    return logits;
}

#endif
