/* See onnx_options.h: a table of the options, and the commands that take them. */
#include "onnx_options.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ANY = ONNX_INFO | ONNX_RUN | ONNX_CHECK | ONNX_TRAIN };

typedef enum option_form { FLAG, TEXT, WHOLE, REAL, PAIR } option_form;

static const struct option_rule {
    const char *name;
    unsigned commands;
    option_form form;
    size_t offset;
    const char *choices; /* the values that a text may have; NULL: any */
} rules[] = {
    {"--input", ANY, PAIR, offsetof(onnx_options, inputs), NULL},
    {"--value", ANY, PAIR, offsetof(onnx_options, values), NULL},
    {"--size", ANY, PAIR, offsetof(onnx_options, sizes), NULL},
    {"--device", ANY, TEXT, offsetof(onnx_options, device), NULL},
    {"--random", ONNX_RUN, FLAG, offsetof(onnx_options, random), NULL},
    {"--open", ONNX_RUN, FLAG, offsetof(onnx_options, open), NULL},
    {"--output", ONNX_RUN, TEXT, offsetof(onnx_options, output), NULL},
    {"--repeat", ONNX_RUN, WHOLE, offsetof(onnx_options, repeat), NULL},
    {"--target", ONNX_TRAIN, PAIR, offsetof(onnx_options, targets), NULL},
    {"--loss", ONNX_TRAIN, TEXT, offsetof(onnx_options, loss), "cross_entropy|mse"},
    {"--optimizer", ONNX_TRAIN, TEXT, offsetof(onnx_options, optimizer), "adam|adamw|sgd"},
    {"--rate", ONNX_TRAIN, REAL, offsetof(onnx_options, rate), NULL},
    {"--epochs", ONNX_TRAIN, WHOLE, offsetof(onnx_options, epochs), NULL},
    {"--batch", ONNX_TRAIN, WHOLE, offsetof(onnx_options, batch), NULL},
    {"--freeze", ONNX_TRAIN, TEXT, offsetof(onnx_options, freeze), NULL},
    {"--output", ONNX_TRAIN, TEXT, offsetof(onnx_options, onnx), NULL},
    {"--weights", ONNX_TRAIN, TEXT, offsetof(onnx_options, weights), NULL},
    {"--events", ONNX_TRAIN, TEXT, offsetof(onnx_options, events), NULL},
    {"--html", ONNX_TRAIN, TEXT, offsetof(onnx_options, html), NULL},
};
typedef struct option_rule option_rule;

static const char *name_of(unsigned command) {
    return command == ONNX_INFO    ? "info"
           : command == ONNX_RUN   ? "run"
           : command == ONNX_CHECK ? "check"
                                   : "train";
}

static const option_rule *find_rule(unsigned command, const char *name) {
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if ((rules[i].commands & command) && strcmp(rules[i].name, name) == 0) return &rules[i];
    return NULL;
}

static bool is_choice(const char *choices, const char *text) {
    const size_t length = strlen(text);
    for (const char *at = choices; at; at = strchr(at, '|'), at += at != NULL)
        if (length && strcspn(at, "|") == length && strncmp(at, text, length) == 0) return true;
    return false;
}

static bool read_number(double *number, const char *text, bool whole) {
    char *end;
    *number = strtod(text, &end);
    if (end == text || *end || !isfinite(*number)) return false;
    return whole ? *number >= 1 && *number <= 1e9 && *number == floor(*number) : *number > 0;
}

/* The word is split in place: "x=a.npy" becomes "x" and "a.npy". */
static bool add_pair(onnx_pairs *pairs, char *word) {
    char *const sign = strchr(word, '=');
    if (!sign || sign == word || !sign[1]) return false;
    onnx_pair *const more = realloc(pairs->of, (pairs->count + 1) * sizeof *more);
    if (!more) return false;
    *sign = '\0';
    pairs->of = more;
    pairs->of[pairs->count++] = (onnx_pair){word, sign + 1};
    return true;
}

/* What the value should be; NULL: it is right. */
static const char *take(onnx_options *options, const option_rule *rule, char *value) {
    void *const field = (char *)options + rule->offset;
    double number;
    switch (rule->form) {
    case PAIR: return add_pair(field, value) ? NULL : "NAME=VALUE";
    case WHOLE:
        if (!read_number(&number, value, true)) return "a whole number from 1 to 1000000000";
        *(int64_t *)field = (int64_t)number;
        return NULL;
    case REAL:
        if (!read_number(&number, value, false)) return "a number above 0";
        *(double *)field = number;
        return NULL;
    default:
        if (rule->choices && !is_choice(rule->choices, value)) return rule->choices;
        *(const char **)field = value;
        return NULL;
    }
}

static bool refuse(unsigned command, const char *word, const char *what) {
    fprintf(stderr, "weft: %s %s; see weft onnx %s --help\n", word, what, name_of(command));
    return false;
}

static bool take_word(onnx_options *options, unsigned command, char **argv, int *i, int argc) {
    const char *const word = argv[*i];
    const option_rule *const rule = find_rule(command, word);
    if (!rule && word[0] == '-') return refuse(command, word, "is not an option");
    if (!rule && options->path) return refuse(command, word, "is a second file, but only one is expected");
    if (!rule) return options->path = word, true;
    if (rule->form == FLAG) return *(bool *)((char *)options + rule->offset) = true;
    if (++*i == argc) return refuse(command, word, "needs a value");
    const char *const wanted = take(options, rule, argv[*i]);
    if (!wanted) return true;
    fprintf(stderr, "weft: %s is '%s', but must be %s; see weft onnx %s --help\n", word, argv[*i], wanted,
        name_of(command));
    return false;
}

bool onnx_options_read(onnx_options *options, unsigned command, int argc, char **argv) {
    *options = (onnx_options){.loss = "cross_entropy", .optimizer = "adam", .rate = 1e-3, .epochs = 1};
    for (int i = 0; i < argc; i++)
        if (!take_word(options, command, argv, &i, argc)) return false;
    return options->path || refuse(command, "FILE", "is missing");
}

void onnx_options_clear(onnx_options *options) {
    free(options->inputs.of);
    free(options->values.of);
    free(options->sizes.of);
    free(options->targets.of);
}

const onnx_pair *onnx_pair_find(const onnx_pairs *pairs, const char *name) {
    for (size_t i = 0; i < pairs->count; i++)
        if (strcmp(pairs->of[i].name, name) == 0) return &pairs->of[i];
    return NULL;
}
