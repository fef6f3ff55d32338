/* Sequence to sequence with attention (D. Bahdanau et al. 2015, M. Luong et al. 2015): a GRU reads the letters of a word,
 * and another one, which looks back at all of them, writes the word backwards. */
#include "words.h"
#include <weft/short_names.h>

#ifndef WEFT_SOURCE_DATA_DIR
#define WEFT_SOURCE_DATA_DIR "data"
#endif
enum { DATA, STEPS, OPTIONS };
static option options[OPTIONS] = {
    [DATA] = {"--data", OPTION_TEXT, "FILE", "text file, whose words are learned",
        WEFT_SOURCE_DATA_DIR "/text/alice.txt"},
    [STEPS] = {"--steps", OPTION_COUNT, "N", "number of updates", "600"},
};

/* word i32 (batch, LONGEST), given i32 (batch, STEPS_OUT) → logits (batch, STEPS_OUT, TOKENS). */
static tensor *network(tensor *word, tensor *given) {
    tensor *letters = not_equal_number(word, 0), *lengths = sum(cast(letters, I32), 1);
    const recurrent read =
        gru(embedding(word, TOKENS, HIDDEN), HIDDEN, WITH(recurrent, .name = "reader", .lengths = lengths));
    tensor *h =
        gru(embedding(given, TOKENS, HIDDEN), HIDDEN, WITH(recurrent, .name = "writer", .h0 = read.h)).y;
    tensor *seen = attention(h, read.y, read.y, WITH(attention, .mask = unsqueeze(letters, 1)));
    return linear(weft_tanh(linear(concat(TENSORS(h, seen), 2), HIDDEN)), TOKENS);
}

/* Letter by letter, each given what was written so far; prints how many words are right. */
static status write_words(plan *write, tensor *word, tensor *given, tensor *likeliest, batch *b) {
    int32_t written[BATCH_SIZE][STEPS_OUT];
    int right = 0;
    status error = OK;
    for (int t = 0; t < STEPS_OUT && !error; t++) {
        error =
            plan_step(write, VALUES(VALUE(word, b->word), VALUE(given, b->given), VALUE(likeliest, written)));
        for (int i = 0; i < BATCH_SIZE && t + 1 < STEPS_OUT; i++) b->given[i][t + 1] = written[i][t];
    }
    for (int i = 0; i < BATCH_SIZE; i++) {
        int t = 0;
        while (t < STEPS_OUT && b->wanted[i][t] == written[i][t]) t++;
        right += t == STEPS_OUT || b->wanted[i][t] < 0;
    }
    if (!error) printf("%d of %d words are written backwards\n", right, BATCH_SIZE);
    return error;
}

static status train(training_loop *loop) {
    static int32_t words[MOST][LONGEST];
    static batch b;
    plan *learn = NULL, *write = NULL;
    graph *g = loop->graph;
    float now = 0;
    const size_t count = read_words(options[DATA].text, words);
    if (!count) {
        fprintf(stderr, "seq2seq: '%s' has no words\n", options[DATA].text);
        return loop->stopped = 1, OK;
    }

    tensor *word = input(g, "word", I32, LONGEST), *given = input(g, "given", I32, STEPS_OUT);
    tensor *wanted = input(g, "wanted", I32, STEPS_OUT), *logits = network(word, given);
    tensor *likeliest = argmax(logits, 2), *loss = sequence_cross_entropy(logits, wanted, NULL);
    optimizer rule = adam(3e-3f);
    rule.clip_norm = 1;
    status error =
        plan_create(&learn, TENSORS(loss, train_step(loss, rule, NULL)), WITH(plan, .batch = BATCH_SIZE));
    if (!error) error = plan_create(&write, TENSORS(likeliest), WITH(plan, .batch = BATCH_SIZE));
    if (!error) error = loop_begin(loop, option_count_of(&options[STEPS]));
    const value values[] = {
        VALUE(word, b.word), VALUE(given, b.given), VALUE(wanted, b.wanted), VALUE(loss, now)};
    while (loop_next(loop, &error)) {
        draw_batch(&b, words, count);
        error = plan_step(learn, values, 4);
        trace_values(values, 4);
        if (loop_every(loop, 100)) printf("step %4zu: loss %.3f\n", loop->step, (double)now);
    }
    draw_batch(&b, words, count);
    if (!error && !loop->stopped) error = write_words(write, word, given, likeliest, &b);
    plan_release(learn), plan_release(write);
    return error;
}

int main(int argc, char **argv) {
    command_line line = {"seq2seq", "Learns to write words backwards.", options, OPTIONS, .loops = true};
    return loop_main(&line, argc, argv, train);
}
