/* Words and the same words backwards, for the sample seq2seq. */
#ifndef WORDS_H
#define WORDS_H

#include "console.h"
#include "trace.h"
#include "training_loop.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Tokens: 0 behind a word, 1 .. 26 letters, 27 the beginning and the end of what is written. */
enum {
    LONGEST = 10,
    STEPS_OUT = LONGEST + 1,
    EDGE = 27,
    TOKENS = 28,
    HIDDEN = 64,
    BATCH_SIZE = 64,
    MOST = 20000
};
typedef struct batch {
    int32_t word[BATCH_SIZE][LONGEST], given[BATCH_SIZE][STEPS_OUT], wanted[BATCH_SIZE][STEPS_OUT];
} batch;

/* Words of 3 to 10 letters of the file. */
static inline size_t read_words(const char *path, int32_t (*words)[LONGEST]) {
    FILE *file = console_open(path, "rb");
    size_t count = 0, length = 0;
    for (int c = 0; file && c != EOF && count < MOST;) {
        if (isalpha(c = fgetc(file))) {
            if (length < LONGEST) words[count][length] = tolower(c) - 'a' + 1;
            length++;
            continue;
        }
        if (length > 2 && length <= LONGEST) count++;
        if (count < MOST) memset(words[count], 0, sizeof *words);
        length = 0;
    }
    if (file) fclose(file);
    return count;
}

static inline void draw_batch(batch *b, int32_t (*words)[LONGEST], size_t count) {
    memset(b, 0, sizeof *b);
    for (int i = 0; i < BATCH_SIZE; i++) {
        const int32_t *const word = memcpy(b->word[i], words[draw_below(count)], sizeof *words);
        int length = 0;
        while (length < LONGEST && word[length]) length++;
        for (int t = 0; t < STEPS_OUT; t++)
            b->wanted[i][t] = t < length ? word[length - 1 - t] : t == length ? EDGE : -100; /* no label */
        b->given[i][0] = EDGE;
        for (int t = 1; t <= length; t++) b->given[i][t] = b->wanted[i][t - 1];
    }
}

#endif
