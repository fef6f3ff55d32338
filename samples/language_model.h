/* The text that train_text reads, and the network that it trains and generate writes with: an embedding, two recurrent layers whose state
 * goes on from sequence to sequence, and a linear layer. */
#ifndef LANGUAGE_MODEL_H
#define LANGUAGE_MODEL_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/weft.h>

#ifndef WEFT_SOURCE_DATA_DIR
#define WEFT_SOURCE_DATA_DIR "data"
#endif

enum { EMBEDDING = 64, HIDDEN = 128, LAYERS = 2 };

/* The last tenth of the text is kept for validation. A text that is short for *streams of these steps gets fewer. */
static inline weft_status read_text(weft_dataset **training, weft_dataset **validation, size_t *streams,
    size_t steps, const char *path, const weft_vocabulary *vocabulary, weft_context *context) {
    weft_dataset *all = NULL; /* one stream of one step: the tokens one after another */
    weft_text_options shape = {WEFT_TEXT_OPTIONS_INIT, .streams = 1, .steps = 1};
    weft_status status = weft_dataset_open_text(&all, context, path, vocabulary, &shape);
    if (status) return status;
    const int32_t *tokens = weft_dataset_column(all, 0)->data;
    const size_t count = weft_dataset_size(all), held = count / 10;
    shape.steps = steps;
    while (*streams > 1 && held <= *streams * steps) *streams /= 2;
    shape.streams = *streams;
    status = weft_dataset_from_tokens(training, context, tokens, count - held, &shape);
    if (!status) status = weft_dataset_from_tokens(validation, context, tokens + count - held, held, &shape);
    weft_dataset_release(all);
    return status;
}

/* ---- the network ---- */
typedef struct language_model {
    weft_tensor *tokens, *carry, *logits, *keeps[2]; /* keeps: what carries h, and c of an LSTM */
    size_t keep_count;
} language_model;

/* steps: a number, or WEFT_LENGTH where plans say how many. */
static inline language_model build_language_model(
    weft_graph *graph, const char *cell, const weft_vocabulary *vocabulary, size_t streams, int64_t steps) {
    const bool lstm = strcmp(cell, "lstm") == 0, gru = strcmp(cell, "gru") == 0;
    const int64_t state[] = {LAYERS, (int64_t)streams, HIDDEN}, sequence[] = {(int64_t)streams, steps};
    const int64_t width = (int64_t)weft_vocabulary_size(vocabulary);
    language_model m = {.keep_count = lstm ? 2 : 1};
    m.tokens = weft_input_shape(graph, "tokens", WEFT_I32, 2, sequence);
    m.carry = weft_input_shape(graph, "carry", WEFT_F32, 1, sequence);
    weft_tensor *h = weft_carried_state(graph, 3, state),
                *c = lstm ? weft_carried_state(graph, 3, state) : NULL;
    const weft_recurrent_options options = {WEFT_RECURRENT_OPTIONS_INIT, .layers = LAYERS, .name = cell,
        .h0 = weft_carry_start(h, m.carry, 1), .c0 = lstm ? weft_carry_start(c, m.carry, 1) : NULL};
    weft_tensor *x = weft_embedding(m.tokens, width, EMBEDDING);
    const weft_recurrent r = lstm  ? weft_lstm(x, HIDDEN, &options)
                             : gru ? weft_gru(x, HIDDEN, &options)
                                   : weft_rnn(x, HIDDEN, &options);
    m.logits = weft_linear(weft_reshape(r.y, sequence[0] * sequence[1], HIDDEN), width);
    m.keeps[0] = weft_assign(h, r.h);
    if (lstm) m.keeps[1] = weft_assign(c, r.c);
    return m;
}

/* A model is two files: FILE, and the vocabulary in FILE.vocabulary.json. */
enum { LONGEST_PATH = 4096 };
static inline const char *vocabulary_path(char path[LONGEST_PATH], const char *model_file) {
    snprintf(path, LONGEST_PATH, "%s.vocabulary.json", model_file);
    return path;
}

static inline weft_status save_language_model(
    weft_graph *graph, const weft_vocabulary *vocabulary, const char *model_file) {
    char path[LONGEST_PATH];
    const weft_status status = weft_weights_save(graph, model_file);
    return status ? status : weft_vocabulary_save(vocabulary, vocabulary_path(path, model_file));
}

static inline weft_status load_vocabulary(
    weft_vocabulary **vocabulary, weft_context *context, const char *model_file) {
    char path[LONGEST_PATH];
    return weft_vocabulary_load(vocabulary, context, vocabulary_path(path, model_file));
}

/* Both graphs make the same parameters in the same order. */
static inline weft_status copy_weights(weft_graph *to, const weft_graph *from) {
    float *numbers = NULL;
    weft_status status = weft_graph_status(to);
    for (size_t i = 0; i < weft_graph_parameter_count(from) && !status; i++) {
        weft_tensor *const p = weft_graph_parameter(from, i);
        size_t bytes = sizeof *numbers;
        for (int axis = 0; axis < weft_tensor_rank(p); axis++)
            bytes *= (size_t)weft_tensor_dimension(p, axis);
        free(numbers);
        if (!(numbers = malloc(bytes))) return WEFT_ERROR_MEMORY;
        if (!(status = weft_tensor_read(p, numbers, bytes)))
            status = weft_tensor_write(weft_graph_parameter(to, i), numbers, bytes);
    }
    free(numbers);
    return status;
}

/* Draws from softmax(logits / temperature), never the unknown token; at temperature 0 the likeliest. */
static inline int32_t draw_token(
    const float *logits, int32_t count, int32_t unknown, double temperature, uint64_t *random) {
    int32_t best = unknown == 0 && count > 1, token = best;
    double sum = 0;
    for (int32_t i = 0; i < count; i++)
        if (i != unknown && logits[i] > logits[best]) best = i;
    if (temperature <= 0) return best;
    *random = *random * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
    const double at = (double)(*random >> 11) * 0x1p-53;
    for (int pass = 0; pass < 2; pass++) { /* the sum, then the token at which it passes at · sum */
        const double end = pass ? at * sum : HUGE_VAL;
        double so_far = 0;
        for (int32_t i = 0; i < count && so_far <= end; i++)
            if (i != unknown) so_far += exp((double)(logits[i] - logits[best]) / temperature), token = i;
        sum = so_far;
    }
    return token;
}

static inline int32_t line_break(const weft_vocabulary *vocabulary) {
    const bool words = weft_vocabulary_level(vocabulary) == WEFT_TEXT_WORDS;
    const int32_t line = weft_vocabulary_find(vocabulary, words ? "<eos>" : "\n", words ? 5 : 1);
    return line < 0 ? 0 : line;
}

/* Prints `length` tokens that follow this one; the model has one stream. */
static inline weft_status print_text(const language_model *m, const weft_vocabulary *vocabulary,
    int32_t token, size_t length, double temperature, uint64_t seed) {
    const size_t size = weft_vocabulary_size(vocabulary);
    int32_t *tokens = calloc(length, sizeof *tokens);
    float *logits = calloc(size, sizeof *logits);
    weft_tensor *outputs[] = {m->logits, m->keeps[0], m->keeps[1]};
    const weft_plan_options inference = {WEFT_PLAN_OPTIONS_INIT, .inference = true, .length = 1};
    uint64_t random = (seed + 1) * 0x9e3779b97f4a7c15u;
    weft_plan *plan = NULL;
    char *text = NULL;
    size_t bytes = 0;
    weft_status status = tokens && logits ? WEFT_OK : WEFT_ERROR_MEMORY;
    if (!status) status = weft_plan_create(&plan, outputs, 1 + m->keep_count, &inference);
    if (!status) status = weft_plan_write(plan, m->carry, &(const float){1}, sizeof(float));
    for (size_t i = 0; i < length && !status; i++) {
        if ((status = weft_plan_write(plan, m->tokens, &token, sizeof token))) break;
        if ((status = weft_plan_run(plan))) break;
        if ((status = weft_plan_read(plan, m->logits, logits, size * sizeof *logits))) break;
        tokens[i] = token =
            draw_token(logits, (int32_t)size, weft_vocabulary_unknown(vocabulary), temperature, &random);
    }
    if (!status) status = weft_vocabulary_decode(vocabulary, tokens, length, NULL, 0, &bytes);
    if (!status && !(text = malloc(bytes + 1))) status = WEFT_ERROR_MEMORY;
    if (!status) status = weft_vocabulary_decode(vocabulary, tokens, length, text, bytes + 1, &bytes);
    if (!status) fwrite(text, 1, bytes, stdout), puts("");
    weft_plan_release(plan);
    free(text), free(logits), free(tokens);
    return status;
}

#endif
