/* See command_line.h. */
#include "command_line.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEANING_COLUMN = 22 };

static void show_help(const command_line *line) {
    printf("usage: %s %s\n%s\n\n", line->program, line->usage, line->purpose);
    for (size_t i = 0; i < line->option_count; i++) {
        const option *const o = &line->options[i];
        const int width = (int)strlen(o->name) + 1;
        printf("  %s %-*s%s", o->name, MEANING_COLUMN - width, o->sign ? o->sign : "", o->meaning);
        if (o->kind != OPTION_FLAG && o->text) printf("; default %s", o->text);
        printf("\n");
    }
}

static bool is_whole(const char *text, int least) {
    const size_t length = strlen(text);
    return length > 0 && length <= 9 && strspn(text, "0123456789") == length && atoi(text) >= least;
}

static bool is_interval(const char *text) {
    char digits[16];
    const size_t length = strlen(text);
    if (length == 0 || length > 10) return false;
    memcpy(digits, text, length + 1);
    if (digits[length - 1] == 'e' || digits[length - 1] == 's') digits[length - 1] = '\0';
    return is_whole(digits, 1);
}

static bool is_rate(const char *text) {
    char *end = NULL;
    const double value = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(value) && value > 0;
}

/* NULL: the text is a value of that kind; else what it should be. */
static const char *wanted(option_kind kind, const char *text) {
    if (kind == OPTION_COUNT && !is_whole(text, 1)) return "a whole number from 1 to 999999999";
    if (kind == OPTION_SEED && !is_whole(text, 0)) return "a whole number from 0 to 999999999";
    if (kind == OPTION_RATE && !is_rate(text)) return "a number above 0";
    if (kind == OPTION_INTERVAL && !is_interval(text))
        return "a whole number of steps, or of epochs or seconds as in 2e and 60s";
    if (kind == OPTION_TEXT && *text == '\0') return "not empty";
    return NULL;
}

static bool refuse(const command_line *line, const char *word, const char *complaint) {
    fprintf(stderr, "%s: %s %s; see %s --help\n", line->program, word, complaint, line->program);
    return false;
}

static option *find_option(const command_line *line, const char *name) {
    for (size_t i = 0; i < line->option_count; i++)
        if (strcmp(line->options[i].name, name) == 0) return &line->options[i];
    return NULL;
}

static bool take_operand(command_line *line, const char *word) {
    if (word[0] == '-' && word[1] != '\0') return refuse(line, word, "is no option");
    if (!line->operand_sign) return refuse(line, word, "is not expected");
    if (line->operand) return refuse(line, word, "is one too many");
    line->operand = word;
    return true;
}

/* value: the next word, or NULL. */
static bool take_option(const command_line *line, option *o, const char *value) {
    if (o->kind == OPTION_FLAG) return o->text = o->name, true;
    if (!value) return refuse(line, o->name, "lacks its value");
    const char *const right = wanted(o->kind, value);
    if (right) {
        fprintf(stderr, "%s: %s is '%s', but must be %s\n", line->program, o->name, value, right);
        return false;
    }
    o->text = value;
    return true;
}

static bool take_all(command_line *line, int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        option *const o = find_option(line, argv[i]);
        if (o && !take_option(line, o, i + 1 < argc ? argv[i + 1] : NULL)) return false;
        if (!o && !take_operand(line, argv[i])) return false;
        if (o && o->kind != OPTION_FLAG) i++;
    }
    return !line->operand_sign || line->operand || refuse(line, line->operand_sign, "is missing");
}

bool command_line_read(command_line *line, int argc, char **argv, int *status) {
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") != 0) continue;
        show_help(line);
        *status = 0;
        return false;
    }
    *status = 2;
    return take_all(line, argc, argv);
}

size_t option_count_of(const option *o) {
    return o->text ? (size_t)atoi(o->text) : 0;
}
