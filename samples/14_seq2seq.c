/* Sequence to sequence with attention (D. Bahdanau et al. 2015, M. Luong et al. 2015): a GRU reads the letters of a word,
 * and another one, which looks back at all of them, writes the word backwards. */
#include "words.h"

#ifndef WEFT_SOURCE_DATA_DIR
#define WEFT_SOURCE_DATA_DIR "data"
#endif
enum { DATA, STEPS, TRACE, OPTIONS };
static option options[OPTIONS] = {
    [DATA] = {"--data", OPTION_TEXT, "FILE", "a text, for its words", WEFT_SOURCE_DATA_DIR "/text/alice.txt"},
    [STEPS] = {"--steps", OPTION_COUNT, "N", "updates", "600"},
    [TRACE] = TRACE_OPTION,
};

/* word i32 (batch, LONGEST), given i32 (batch, STEPS_OUT) → logits (batch, STEPS_OUT, TOKENS). */
static weft_tensor *network(weft_tensor *word, weft_tensor *given) {
    weft_tensor *letters = weft_not_equal(word, weft_number(word, 0));
    const weft_recurrent_options reader = {
        WEFT_RECURRENT_OPTIONS_INIT, .name = "reader", .lengths = weft_sum(weft_cast(letters, WEFT_I32), 1)};
    const weft_recurrent read = weft_gru(weft_embedding(word, TOKENS, HIDDEN), HIDDEN, &reader);
    const weft_recurrent_options writer = {WEFT_RECURRENT_OPTIONS_INIT, .name = "writer", .h0 = read.h};
    weft_tensor *h = weft_gru(weft_embedding(given, TOKENS, HIDDEN), HIDDEN, &writer).y;
    const weft_attention_options seen = {
        WEFT_ATTENTION_OPTIONS_INIT, .mask = weft_unsqueeze(letters, 1)}; /* (batch, 1, LONGEST) */
    weft_tensor *both[] = {h, weft_attention(h, read.y, read.y, &seen)};
    return weft_linear(weft_tanh(weft_linear(weft_concat(both, 2, 2), HIDDEN)), TOKENS);
}

/* Letter by letter, each given what was written so far; prints how many words are right. */
static weft_status write_words(weft_plan *plan, weft_tensor *const in[2], weft_tensor *likeliest, batch *b) {
    int32_t written[BATCH][STEPS_OUT];
    size_t right = 0;
    const weft_value values[] = {{in[0], b->word, sizeof b->word}, {in[1], b->given, sizeof b->given},
        {likeliest, written, sizeof written}};
    weft_status status = WEFT_OK;
    for (int t = 0; t < STEPS_OUT && !status; t++) {
        status = weft_plan_step(plan, values, 3);
        for (int i = 0; i < BATCH && t + 1 < STEPS_OUT; i++) b->given[i][t + 1] = written[i][t];
    }
    for (int i = 0; i < BATCH; i++) {
        bool same = true;
        for (int t = 0; t < STEPS_OUT && b->wanted[i][t] >= 0; t++)
            same = same && written[i][t] == b->wanted[i][t];
        right += same;
    }
    if (!status) printf("%zu of %d words are written backwards\n", right, BATCH);
    return status;
}

int main(int argc, char **argv) {
    command_line line = {"seq2seq", "Learns to write words backwards.", options, OPTIONS, .loops = true};
    static int32_t words[MOST][LONGEST];
    static batch b;
    weft_context *context = NULL;
    weft_plan *learn = NULL, *write = NULL;
    float loss = 0;
    int end = 0;
    if (!command_line_read(&line, argc, argv, &end)) return end;
    const size_t count = read_words(options[DATA].text, words);
    if (!count) return fprintf(stderr, "seq2seq: %s has no words\n", options[DATA].text), 1;
    weft_status status = loop_context(&context, &line);
    if (status) goto done;
    weft_graph *graph = weft_context_graph(context);
    training_loop loop = {.line = &line, .graph = graph, .last = option_count_of(&options[STEPS])};
    weft_tensor *in[] = {
        weft_input(graph, "word", WEFT_I32, LONGEST), weft_input(graph, "given", WEFT_I32, STEPS_OUT)};
    weft_tensor *wanted = weft_input(graph, "wanted", WEFT_I32, STEPS_OUT), *logits = network(in[0], in[1]);
    weft_tensor *likeliest = weft_argmax(logits, 2), *outputs[2];
    weft_optimizer rule = weft_adam(3e-3f);
    rule.clip_norm = 1;
    outputs[0] = weft_sequence_cross_entropy(logits, wanted, NULL);
    outputs[1] = weft_optimizer_minimize(weft_optimizer_create(graph, &rule), outputs[0], NULL);
    const weft_plan_options size = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH};
    if (!(status = weft_graph_status(graph))) status = weft_plan_create(&learn, outputs, 2, &size);
    if (!status) status = weft_plan_create(&write, &likeliest, 1, &size);
    if (!status) status = trace_begin(options[TRACE].text, graph);
    if (!status) status = loop_begin(&loop);
    const weft_value values[] = {{in[0], b.word, sizeof b.word}, {in[1], b.given, sizeof b.given},
        {wanted, b.wanted, sizeof b.wanted}, {outputs[0], &loss, sizeof loss}};
    while (loop_next(&loop, &status)) {
        draw_batch(&b, words, count);
        status = weft_plan_step(learn, values, 4);
        trace_step(&loss, 1, 1, &b, sizeof b);
        if (loop_every(&loop, 100)) printf("step %4zu: loss %.3f\n", loop.step, (double)loss);
    }
    if (status || (end = loop.stopped)) goto done;
    draw_batch(&b, words, count);
    status = write_words(write, in, likeliest, &b);
done:
    if (status) fprintf(stderr, "seq2seq: %s\n", weft_last_error());
    weft_plan_release(learn), weft_plan_release(write), weft_context_release(context);
    return status ? 1 : end;
}
