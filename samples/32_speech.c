/* Connectionist temporal classification (A. Graves et al. 2006): a recurrent network learns which sounds a recording has,
 * without being told when. */
#include "trace.h"
#include "training_loop.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <weft/short_names.h>

/* LONGEST: sounds of a word; FRAMES: of the longest one. */
enum { BATCH_SIZE = 32, BANDS = 16, SOUNDS = 8, HIDDEN = 48, LONGEST = 6, FRAMES = 48 };
static option steps = {"--steps", OPTION_COUNT, "N", "number of updates", "300"};

typedef struct recordings {
    float spectra[BATCH_SIZE][FRAMES][BANDS];
    int32_t lengths[BATCH_SIZE], words[BATCH_SIZE][LONGEST], sounds[BATCH_SIZE]; /* sounds: their number */
} recordings;

static void draw_word(recordings *r, int i) {
    int t = 0;
    for (int k = 0; k < FRAMES; k++)
        for (int band = 0; band < BANDS; band++) r->spectra[i][k][band] = (float)(0.2 * draw_normal());
    r->sounds[i] = (int32_t)(3 + draw_below(LONGEST - 2));
    for (int n = 0; n < r->sounds[i]; n++) {
        const int sound = r->words[i][n] = (int32_t)(1 + draw_below(SOUNDS));
        for (int end = t + 3 + (int)draw_below(4); t < end; t++)
            for (int band = 0; band < BANDS; band++)
                r->spectra[i][t][band] +=
                    (float)(exp(-pow(band - sound, 2) / 2) + exp(-pow(band - 6 - sound * 3 % 10, 2) / 2));
        t += 1 + (int)draw_below(2);
    }
    r->lengths[i] = t;
    memset(r->spectra[i][t], 0, (size_t)(FRAMES - t) * sizeof r->spectra[i][t]);
}

static void draw_recordings(recordings *r) {
    memset(r->words, 0, sizeof r->words);
    for (int i = 0; i < BATCH_SIZE; i++) draw_word(r, i);
}

/* The most probable classes without repetitions, then without blanks, are the word. */
static bool is_right(const recordings *r, int i, const int32_t *best) {
    int n = 0;
    for (int t = 0; t < r->lengths[i]; t++) {
        if (best[t] == 0 || (t > 0 && best[t] == best[t - 1])) continue;
        if (n == r->sounds[i] || best[t] != r->words[i][n++]) return false;
    }
    return n == r->sounds[i];
}

static status train(training_loop *loop) {
    static recordings r;
    static int32_t found[BATCH_SIZE][FRAMES];
    int right = 0;
    float now = 0;
    plan *learn = NULL, *listen = NULL;
    graph *g = loop->graph;

    tensor *spectra = input(g, "spectra", F32, FRAMES, BANDS), *lengths = input(g, "lengths", I32);
    tensor *words = input(g, "words", I32, LONGEST), *sounds = input(g, "sounds", I32);
    tensor *h = gru(spectra, HIDDEN, WITH(recurrent, .bidirectional = true, .lengths = lengths)).y;
    tensor *log_probs = log_softmax(linear(h, 1 + SOUNDS), 2), *best = argmax(log_probs, 2);
    tensor *loss = ctc(permute(log_probs, 1, 0, 2), words, lengths, sounds);
    optimizer rule = adam(5e-3f);
    rule.clip_norm = 5;
    status error =
        plan_create(&learn, TENSORS(loss, train_step(loss, rule, NULL)), WITH(plan, .batch = BATCH_SIZE));
    if (!error)
        error = plan_create(&listen, TENSORS(best), WITH(plan, .batch = BATCH_SIZE)) ||
                loop_begin(loop, option_count_of(&steps));
    const value values[] = {VALUE(spectra, r.spectra), VALUE(lengths, r.lengths), VALUE(words, r.words),
        VALUE(sounds, r.sounds), VALUE(loss, now)};
    while (loop_next(loop, &error)) {
        draw_recordings(&r);
        error = plan_step(learn, values, 5);
        trace_values(values, 5);
        if (loop_every(loop, 100)) printf("step %4zu: loss %.4f\n", loop->step, (double)now);
    }
    draw_recordings(&r);
    if (!error && !loop->stopped) {
        error = plan_step(
            listen, VALUES(VALUE(spectra, r.spectra), VALUE(lengths, r.lengths), VALUE(best, found)));
        for (int i = 0; i < BATCH_SIZE; i++) right += is_right(&r, i, found[i]);
        if (!error) printf("%d of %d test words are right\n", right, BATCH_SIZE);
    }
    plan_release(learn), plan_release(listen);
    return error;
}

int main(int argc, char **argv) {
    command_line line = {"speech", "Learns to recognise the sounds of spoken words, with the CTC loss.",
        &steps, 1, .loops = true};
    return loop_main(&line, argc, argv, train);
}
