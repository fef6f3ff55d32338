/* The network of the sample gpt (A. Radford et al. 2019): blocks of attention and a wider layer, each behind a layer norm.
 * One function builds it for training, where a text is read at once, and for sampling, where each token reads what the
 * ones before left in the caches. */
#ifndef GPT_MODEL_H
#define GPT_MODEL_H

#include "trace.h"
#include "training_loop.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/short_names.h>

typedef struct gpt {
    weft_graph *graph;
    int64_t batch, length, vocabulary, width, heads, layers, context;
    tensor *position; /* i32 of rank 0: that of the first token; NULL: 0, and no caches */
    tensor **updates; /* with a position: what keeps the caches, one a layer */
} gpt;

static inline tensor *gpt_attend(gpt *m, tensor *x, int64_t layer) {
    const int64_t d = m->width / m->heads;
    tensor *all = reshape(linear(x, 3 * m->width), m->batch, m->length, 3, m->heads, d), *part[3], *y;
    for (int i = 0; i < 3; i++) /* (batch, heads, length, d) */
        part[i] = permute(squeeze(slice(all, 2, i, i + 1), 2), 0, 2, 1, 3);
    if (m->position) {
        tensor *cache[2];
        for (int i = 0; i < 2; i++)
            cache[i] = state_shape(
                m->graph, i ? "values" : "keys", F32, zeros(), SHAPE(m->batch, m->heads, m->context, d));
        y = attention_cached(part[0], part[1], part[2], cache[0], cache[1], m->position, &m->updates[layer]);
    } else {
        y = attention(part[0], part[1], part[2], WITH(attention, .causal = true));
    }
    return linear(reshape(permute(y, 0, 2, 1, 3), m->batch, m->length, m->width), m->width);
}

/* tokens i32 (batch, length) → logits (batch, length, vocabulary). */
static inline tensor *gpt_logits(gpt *m, tensor *tokens) {
    const initialiser small = init_normal(0, 0.02f);
    const embedding_options *rows = WITH(embedding, .initialiser = &small);
    tensor *places = arange(m->graph, I32, 0, (double)m->length, 1);
    if (m->position) places = add(places, m->position);
    scope_begin(m->graph, "gpt", true);
    tensor *x = embedding_layer(tokens, m->vocabulary, m->width, rows);
    x = add(x, embedding_layer(places, m->context, m->width, rows));
    for (int64_t layer = 0; layer < m->layers; layer++) {
        char name[32];
        (void)snprintf(name, sizeof name, "block%d", (int)layer);
        scope_begin(m->graph, name, true);
        x = add(x, gpt_attend(m, layer_norm(x), layer));
        x = add(x, linear(gelu(linear(layer_norm(x), 4 * m->width)), m->width));
        scope_end(m->graph);
    }
    tensor *logits = linear(layer_norm(x), m->vocabulary);
    scope_end(m->graph);
    return logits;
}

typedef struct gpt_sampling {
    const char *prompt;
    double temperature, top_p;
    int64_t top_k;
} gpt_sampling;

/* The outputs of a plan that draws the token after `input`. */
static inline tensor *gpt_draw(gpt *m, tensor *input, const gpt_sampling *how, tensor **outputs) {
    m->updates = outputs + 2;
    m->position = state_shape(m->graph, "position", I32, zeros(), 0, NULL);
    outputs[0] = categorical(gpt_logits(m, input), how->temperature, how->top_k, how->top_p);
    outputs[1] = assign(m->position, add_number(m->position, 1));
    return outputs[0];
}

/* Runs the prompt's tokens one by one, then those that are drawn, and prints them, until the context is full. */
static inline status gpt_write_on(const gpt *trained, const vocabulary *characters, const gpt_sampling *how) {
    gpt m = *trained;
    m.batch = m.length = 1;
    const size_t places = (size_t)m.context, outputs_count = 2 + (size_t)m.layers;
    tensor **outputs = calloc(outputs_count, sizeof *outputs), *drawn = NULL;
    tensor *last = input_shape(m.graph, "token", I32, SHAPE(1, 1));
    int32_t token = 0, *prompt = calloc(places, sizeof *prompt);
    plan *write = NULL;
    size_t count = 0;
    status error = outputs && prompt ? OK : ERROR_MEMORY;
    if (!error) drawn = gpt_draw(&m, last, how, outputs);
    if (!error) error = plan_create(&write, outputs, outputs_count, WITH(plan, .inference = true));
    if (!error)
        error = vocabulary_encode(characters, how->prompt, strlen(how->prompt), prompt, places, &count);
    if (!error) printf("%s", how->prompt);
    for (size_t i = 0; i < places && !error; i++) {
        error = i < count ? plan_write(write, last, &prompt[i], sizeof *prompt)
                          : plan_feed(write, last, write, drawn);
        if (!error) error = plan_step(write, VALUES(VALUE(drawn, token)));
        if (!error && i + 1 >= count) printf("%s", vocabulary_token(characters, token, NULL));
    }
    if (!error) printf("\n");
    plan_release(write);
    free(outputs), free(prompt);
    return error;
}

#endif
