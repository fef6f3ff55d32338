/* The command line of a program: a table of options, read into itself, and the help that it makes.
 *
 * What is wrong goes to stderr as one line that names the word and what it should be. */
#ifndef COMMAND_LINE_H
#define COMMAND_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <weft/weft.h>

typedef enum option_kind {
    OPTION_TEXT,
    OPTION_CHOICE,   /* one of the words in its sign: "cnn|mlp" */
    OPTION_COUNT,    /* a whole number from 1 to 999,999,999 */
    OPTION_SEED,     /* from 0 */
    OPTION_RATE,     /* a number above 0 */
    OPTION_AMOUNT,   /* a number from 0 to 1,000,000 */
    OPTION_INTERVAL, /* a count, alone or with the unit e or s */
    OPTION_FOLDER,   /* where files are written, which is made unless it is there */
    OPTION_OUTPUT,   /* a file that is written at the end, which is tried at once (weft_output_check) */
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
    const char *purpose; /* one line of the help, or more */
    option *options;
    size_t option_count;
    const char
        *operand_sign;   /* of the one word that is not an option: "IMAGE"; NULL: the program takes none */
    const char *operand; /* that word: the default (NULL: it must be given), then what was given */
    /* A program that trains takes --precision, --checkpoint, --checkpoint-every, --resume, --csv-log, --events and --html as well: by
     * a trainer, or by a loop of its own, which takes --record, too, where loop_main runs it, and
     * --pictures where it draws. */
    bool trains, loops, traces, draws;
    weft_precision precision;
    const char *checkpoint; /* the folder, of a loop the file; NULL: not given */
    weft_checkpoint_every checkpoint_every;
    bool resume;
    const char *csv_log;       /* the file; NULL: not given */
    const char *events, *html; /* folder and file of weft_events; NULL: not given */
    char command[512];         /* all words of the command line, as far as there is room */
    size_t gradient_shards;    /* 0: not given */
    const char *trace;         /* the folder; NULL: not given */
    const char *pictures;      /* the folder; NULL: not given */
} command_line;

/* True: go on; *status is 0. False: end the program with *status, since --help was shown or something was wrong. */
bool command_line_read(command_line *line, int argc, char **argv, int *status);
/* What the line says of a training: options of a trainer. */
void command_line_apply(const command_line *line, weft_trainer_options *options);
/* Whether a file can be written there, for one that no option names; else says why not. */
bool command_line_try(const command_line *line, const char *path);
/* The value of an option of kind count or seed; 0 when it was not given and has no default. */
size_t option_count_of(const option *o);

#endif
