/* The network of the sample gpt (A. Radford et al. 2019): blocks of attention and a wider layer, each behind a layer norm.
 * One function builds it for training, where a text is read at once, and for sampling, where each token reads what the
 * ones before left in the caches. */
#ifndef GPT_MODEL_H
#define GPT_MODEL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/weft.h>

typedef struct gpt {
    weft_graph *graph;
    int64_t batch, length, vocabulary, width, heads, layers, context;
    weft_tensor *position; /* i32 of rank 0: that of the first token; NULL: 0, and no caches */
    weft_tensor **updates; /* with a position: what keeps the caches, one a layer */
} gpt;

static inline weft_tensor *gpt_attend(gpt *g, weft_tensor *x, int64_t layer) {
    const int64_t d = g->width / g->heads, cache[] = {g->batch, g->heads, g->context, d};
    weft_tensor *all = weft_reshape(weft_linear(x, 3 * g->width), g->batch, g->length, 3, g->heads, d),
                *part[3], *y;
    for (int i = 0; i < 3; i++) /* (batch, heads, length, d) */
        part[i] = weft_permute(weft_squeeze(weft_slice(all, 2, i, i + 1), 2), 0, 2, 1, 3);
    if (g->position) {
        weft_tensor *keys = weft_transient_state(g->graph, "keys", WEFT_F32, weft_zeros(), 4, cache),
                    *values = weft_transient_state(g->graph, "values", WEFT_F32, weft_zeros(), 4, cache);
        y = weft_attention_cached(part[0], part[1], part[2], keys, values, g->position, &g->updates[layer]);
    } else {
        y = weft_attention(part[0], part[1], part[2],
            &(weft_attention_options){WEFT_ATTENTION_OPTIONS_INIT, .causal = true});
    }
    return weft_linear(weft_reshape(weft_permute(y, 0, 2, 1, 3), g->batch, g->length, g->width), g->width);
}

/* tokens i32 (batch, length) → logits (batch, length, vocabulary). */
static inline weft_tensor *gpt_logits(gpt *g, weft_tensor *tokens) {
    const weft_initialiser small = weft_init_normal(0, 0.02f);
    const weft_embedding_options rows = {WEFT_EMBEDDING_OPTIONS_INIT, .initialiser = &small};
    weft_tensor *places = weft_arange(g->graph, WEFT_I32, 0, (double)g->length, 1);
    if (g->position) places = weft_add(places, g->position);
    weft_scope_begin(g->graph, "gpt", true);
    weft_tensor *x = weft_embedding_layer(tokens, g->vocabulary, g->width, &rows);
    x = weft_add(x, weft_embedding_layer(places, g->context, g->width, &rows));
    for (int64_t layer = 0; layer < g->layers; layer++) {
        char name[32];
        (void)snprintf(name, sizeof name, "block%d", (int)layer);
        weft_scope_begin(g->graph, name, true);
        x = weft_add(x, gpt_attend(g, weft_layer_norm(x), layer));
        x = weft_add(x, weft_linear(weft_gelu(weft_linear(weft_layer_norm(x), 4 * g->width)), g->width));
        weft_scope_end(g->graph);
    }
    weft_tensor *logits = weft_linear(weft_layer_norm(x), g->vocabulary);
    weft_scope_end(g->graph);
    return logits;
}

typedef struct gpt_sampling {
    const char *prompt;
    double temperature, top_p;
    int64_t top_k;
} gpt_sampling;

/* The outputs of a plan that draws the token after `input`. */
static inline weft_tensor *gpt_draw(
    gpt *g, weft_tensor *input, const gpt_sampling *how, weft_tensor **outputs) {
    g->updates = outputs + 2;
    g->position = weft_transient_state(g->graph, "position", WEFT_I32, weft_zeros(), 0, NULL);
    outputs[0] = weft_categorical(gpt_logits(g, input), how->temperature, how->top_k, how->top_p);
    outputs[1] = weft_assign(g->position, weft_add_number(g->position, 1));
    return outputs[0];
}

/* Runs the prompt's tokens one by one, then those that are drawn, and prints them, until the context is full. */
static inline weft_status gpt_write_on(
    const gpt *trained, const weft_vocabulary *vocabulary, const gpt_sampling *how) {
    gpt g = *trained;
    g.batch = g.length = 1;
    const size_t context = (size_t)g.context, outputs_count = 2 + (size_t)g.layers;
    const weft_plan_options sampling = {WEFT_PLAN_OPTIONS_INIT, .inference = true};
    weft_tensor **outputs = calloc(outputs_count, sizeof *outputs), *drawn = NULL;
    weft_tensor *input = weft_input_shape(g.graph, "token", WEFT_I32, 2, (const int64_t[]){1, 1});
    int32_t token = 0, *prompt = calloc(context, sizeof *prompt);
    weft_plan *plan = NULL;
    size_t count = 0;
    weft_status status = outputs && prompt ? WEFT_OK : WEFT_ERROR_MEMORY;
    if (!status) drawn = gpt_draw(&g, input, how, outputs);
    if (!status) status = weft_plan_create(&plan, outputs, outputs_count, &sampling);
    if (!status)
        status =
            weft_vocabulary_encode(vocabulary, how->prompt, strlen(how->prompt), prompt, context, &count);
    if (!status) printf("%s", how->prompt);
    for (size_t i = 0; i < context && !status; i++) {
        status = i < count ? weft_plan_write(plan, input, &prompt[i], sizeof *prompt)
                           : weft_plan_feed(plan, input, plan, drawn);
        if (!status) status = weft_plan_run(plan);
        if (!status) status = weft_plan_read(plan, drawn, &token, sizeof token);
        if (!status && i + 1 >= count) printf("%s", weft_vocabulary_token(vocabulary, token, NULL));
    }
    if (!status) printf("\n");
    weft_plan_release(plan);
    free(outputs), free(prompt);
    return status;
}

#endif
