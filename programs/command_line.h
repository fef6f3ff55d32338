/* The command line of a program: a table of options, read into itself, and the help that it makes.
 *
 * What is wrong goes to stderr as one line that names the word and what it should be. */
#ifndef COMMAND_LINE_H
#define COMMAND_LINE_H

#include <stdbool.h>
#include <stddef.h>

typedef enum option_kind {
    OPTION_TEXT,
    OPTION_COUNT,    /* a whole number from 1 to 999,999,999 */
    OPTION_SEED,     /* from 0 */
    OPTION_RATE,     /* a number above 0 */
    OPTION_INTERVAL, /* a count, alone or with the unit e or s */
    OPTION_FLAG      /* takes no value */
} option_kind;

typedef struct option {
    const char *name; /* "--epochs" */
    option_kind kind;
    const char *sign;    /* of its value in the help: "N" */
    const char *meaning; /* one line of the help */
    const char *text;    /* its value: the default (NULL: none), then what was given; a flag: its name */
} option;

typedef struct command_line {
    const char *program;
    const char *usage;   /* behind "usage: " */
    const char *purpose; /* one line */
    option *options;
    size_t option_count;
    const char *operand_sign; /* the one word that is no option, in words: "IMAGE"; NULL: takes none */
    const char *operand;      /* that word */
} command_line;

/* True: go on. False: end the program with *status, since --help was shown or something was wrong. */
bool command_line_read(command_line *line, int argc, char **argv, int *status);
/* The value of an option of kind count, seed or interval; 0 when it was not given and has no default. */
size_t option_count_of(const option *o);

#endif
