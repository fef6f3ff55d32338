/* See command_line.h. */
#include "command_line.h"
#include "console.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEANING_COLUMN = 26, LINE_WIDTH = 100, LONGEST_PATH = 4096 };

/* The options of every program that trains. */
enum {
    PRECISION,
    CHECKPOINT,
    EVERY,
    RESUME,
    LOG,
    EVENTS,
    PAGE,
    COMMON_OPTIONS,
    SHARDS = COMMON_OPTIONS,
    DISTRIBUTED,
    TRAINER_OPTIONS,
    TRACE = COMMON_OPTIONS,
    PICTURES,
    LOOP_OPTIONS
};
#define PRECISION_OPTION                                                                                     \
    {                                                                                                        \
        "--precision", OPTION_CHOICE, "f32|bf16|f16",                                                        \
            "number format in which the network stores activations", "f32"                                   \
    }
#define EVENTS_OPTION                                                                                        \
    { "--events", OPTION_TEXT, "DIR", "folder for event files, which TensorBoard shows", NULL }
#define PAGE_OPTION                                                                                          \
    { "--html", OPTION_OUTPUT, "FILE", "HTML page that shows the training, also while it goes on", NULL }
static option by_trainer[TRAINER_OPTIONS] = {
    [PRECISION] = PRECISION_OPTION,
    [CHECKPOINT] = {"--checkpoint", OPTION_TEXT, "DIR", "folder in which the training saves checkpoints",
        NULL},
    [EVERY] = {"--checkpoint-every", OPTION_INTERVAL, "N",
        "steps between two checkpoints; 2e: epochs, 60s: seconds", "1e"},
    [RESUME] = {"--resume", OPTION_FLAG, NULL, "continues from the newest checkpoint if there is one", NULL},
    [LOG] = {"--csv-log", OPTION_OUTPUT, "FILE", "CSV file for the loss and accuracy of each epoch", NULL},
    [EVENTS] = EVENTS_OPTION,
    [PAGE] = PAGE_OPTION,
    [SHARDS] = {"--gradient-shards", OPTION_COUNT, "N", "parts of a batch whose gradients are added up",
        NULL},
    [DISTRIBUTED] = {"--distributed", OPTION_FLAG, NULL,
        "trains with all processes of mpirun or srun; default under mpirun", NULL},
};
static option by_loop[LOOP_OPTIONS] = {
    [PRECISION] = PRECISION_OPTION,
    [CHECKPOINT] = {"--checkpoint", OPTION_OUTPUT, "FILE", "file in which the training saves checkpoints",
        NULL},
    [EVERY] = {"--checkpoint-every", OPTION_COUNT, "N", "steps between two checkpoints", "100"},
    [RESUME] = {"--resume", OPTION_FLAG, NULL, "continues from the checkpoint if there is one", NULL},
    [LOG] = {"--csv-log", OPTION_OUTPUT, "FILE", "CSV file for the losses of each step", NULL},
    [EVENTS] = EVENTS_OPTION,
    [PAGE] = PAGE_OPTION,
    [TRACE] = {"--record", OPTION_TEXT, "DIR", "folder for the initial weights, 20 batches and their losses",
        NULL},
    [PICTURES] = {"--pictures", OPTION_FOLDER, "DIR", "folder for PNG files of what the network makes", NULL},
};

/* NULL: the program does not train. */
static option *training_of(const command_line *line) {
    return line->trains ? by_trainer : line->loops ? by_loop : NULL;
}

static size_t training_count(const command_line *line) {
    if (!training_of(line)) return 0;
    if (line->trains) return TRAINER_OPTIONS;
    return line->draws ? LOOP_OPTIONS : line->traces ? PICTURES : COMMON_OPTIONS;
}

/* ---- help ---- */

static void show_options(const option *options, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const option *const o = &options[i];
        const char *const sign = o->sign ? o->sign : "";
        const int room = MEANING_COLUMN - (int)strlen(o->name) - 1;
        /* Beside a long sign, if there is room, or else in the next line. */
        const int used =
            (int)(strlen(o->name) + strlen(sign) + strlen(o->meaning) + (o->text ? strlen(o->text) : 0));
        const bool is_long = (int)strlen(sign) >= room, is_below = is_long && used + 16 > LINE_WIDTH;
        printf("  %s %-*s%s%*s%s", o->name, room, sign,
            is_below  ? "\n"
            : is_long ? "  "
                      : "",
            is_below ? MEANING_COLUMN + 2 : 0, "", o->meaning);
        if (o->kind != OPTION_FLAG && o->text) printf("; default %s", o->text);
        printf("\n");
    }
}

static void show_help(const command_line *line) {
    const option *const training = training_of(line);
    const bool any = line->option_count > 0 || training;
    printf("usage: %s%s", line->program, any ? " [OPTION]..." : "");
    if (line->operand_sign) printf(line->operand ? " [%s]" : " %s", line->operand_sign);
    printf("\n%s\n%s", line->purpose, any ? "\n" : "");
    show_options(line->options, line->option_count);
    if (training) show_options(training, training_count(line));
}

/* ---- values ---- */

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

static bool is_number(const char *text, double *value) {
    char *end = NULL;
    *value = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*value);
}

static bool is_choice(const char *text, const char *words) {
    const size_t length = strlen(text);
    for (; words; words = strchr(words, '|'), words += words != NULL)
        if (length && strcspn(words, "|") == length && strncmp(words, text, length) == 0) return true;
    return false;
}

/* NULL: the text is a value of the option; else what it should be. */
static const char *wanted(const option *o, const char *text) {
    double value = 0;
    switch (o->kind) {
    case OPTION_CHOICE: return is_choice(text, o->sign) ? NULL : o->sign;
    case OPTION_COUNT: return is_whole(text, 1) ? NULL : "a whole number from 1 to 999999999";
    case OPTION_SEED: return is_whole(text, 0) ? NULL : "a whole number from 0 to 999999999";
    case OPTION_RATE: return is_number(text, &value) && value > 0 ? NULL : "a number above 0";
    case OPTION_AMOUNT:
        return is_number(text, &value) && value >= 0 && value <= 1e6 ? NULL : "a number from 0 to 1000000";
    case OPTION_INTERVAL:
        return is_interval(text) ? NULL : "a whole number of steps, or of epochs or seconds as in 2e and 60s";
    default: return *text ? NULL : "not empty";
    }
}

size_t option_count_of(const option *o) {
    return o->text ? (size_t)atoi(o->text) : 0;
}

static weft_precision precision_of(const option *o) {
    if (strcmp(o->text, "bf16") == 0) return WEFT_PRECISION_BF16;
    return strcmp(o->text, "f16") == 0 ? WEFT_PRECISION_F16 : WEFT_PRECISION_F32;
}

static weft_checkpoint_every interval_of(const option *o) {
    const size_t count = option_count_of(o);
    const char unit = o->text[strlen(o->text) - 1];
    if (unit == 'e') return (weft_checkpoint_every){.epochs = count};
    if (unit == 's') return (weft_checkpoint_every){.seconds = (double)count};
    return (weft_checkpoint_every){.steps = count};
}

/* ---- words ---- */

static bool refuse(const command_line *line, const char *word, const char *complaint) {
    fprintf(stderr, "%s: %s %s; see %s --help\n", line->program, word, complaint, line->program);
    return false;
}

static size_t count_options(const command_line *line) {
    return line->option_count + training_count(line);
}

/* Those of the program come first. */
static option *option_at(const command_line *line, size_t i) {
    return i < line->option_count ? &line->options[i] : &training_of(line)[i - line->option_count];
}

static option *find_option(const command_line *line, const char *name) {
    for (size_t i = 0; i < count_options(line); i++)
        if (strcmp(option_at(line, i)->name, name) == 0) return option_at(line, i);
    return NULL;
}

static bool take_operand(command_line *line, const char *word, bool *given) {
    if (word[0] == '-' && word[1] != '\0') return refuse(line, word, "is not an option");
    if (!line->operand_sign) return refuse(line, word, "is not expected");
    if (*given) return refuse(line, word, "is a second argument, but only one is expected");
    line->operand = word;
    return *given = true;
}

/* value: the next word, or NULL. */
static bool take_option(const command_line *line, option *o, const char *value) {
    if (o->kind == OPTION_FLAG) return o->text = o->name, true;
    if (!value) return refuse(line, o->name, "needs a value");
    const char *const right = wanted(o, value);
    if (right) {
        fprintf(stderr, "%s: %s is '%s', but must be %s%s\n", line->program, o->name, value,
            o->kind == OPTION_CHOICE ? "one of " : "", right);
        return false;
    }
    o->text = value;
    return true;
}

static bool take_words(command_line *line, int argc, char **argv) {
    bool given = false;
    for (int i = 1; i < argc; i++) {
        option *const o = find_option(line, argv[i]);
        if (o && !take_option(line, o, i + 1 < argc ? argv[i + 1] : NULL)) return false;
        if (!o && !take_operand(line, argv[i], &given)) return false;
        if (o && o->kind != OPTION_FLAG) i++;
    }
    return !line->operand_sign || line->operand || refuse(line, line->operand_sign, "is missing");
}

/* Trainers join the job of MPI's launcher if the line says so, or if the launcher has started several processes. All processes but the first
 * are silent. */
static void join_job(bool asked) {
    static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
    static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"};
    for (size_t i = 0; i < 2; i++) {
        const char *const size = getenv(sizes[i]);
        asked = asked || (size && atoi(size) > 1);
    }
    if (!asked) return;
    console_set_variable("WEFT_DISTRIBUTED", "mpi");
    for (size_t i = 0; i < 3; i++) {
        const char *const rank = getenv(ranks[i]);
        if (rank && atoi(rank) > 0) console_be_silent();
    }
}

static bool take_training(command_line *line) {
    const option *const training = training_of(line);
    if (!training) return true;
    line->precision = precision_of(&training[PRECISION]);
    line->checkpoint = training[CHECKPOINT].text;
    line->checkpoint_every = interval_of(&training[EVERY]);
    line->resume = training[RESUME].text != NULL;
    line->csv_log = training[LOG].text;
    line->events = training[EVENTS].text;
    line->html = training[PAGE].text;
    if (line->trains) {
        line->gradient_shards = option_count_of(&training[SHARDS]);
        join_job(training[DISTRIBUTED].text != NULL);
    }
    if (line->traces) line->trace = training[TRACE].text;
    if (line->draws) line->pictures = training[PICTURES].text;
    return line->checkpoint || !line->resume ||
           refuse(line, "--resume", "needs --checkpoint, which says where to continue from");
}

/* The folder is made, and a file can be written in it. */
static bool try_folder(const command_line *line, const char *path) {
    char inside[LONGEST_PATH];
    const int length = snprintf(inside, sizeof inside, "%s/1.png", path);
    if (length < 0 || (size_t)length >= sizeof inside) return refuse(line, path, "is too long for a path");
    if (!console_make_folder(path) || !console_is_folder(path)) {
        fprintf(stderr, "%s: cannot create the folder '%s': %s\n", line->program, path, strerror(errno));
        return false;
    }
    return command_line_try(line, inside);
}

void command_line_apply(const command_line *line, weft_trainer_options *options) {
    options->precision = line->precision;
    options->csv_log = line->csv_log;
    options->events = line->events;
    options->html = line->html;
    options->command = line->command;
    options->checkpoint = line->checkpoint;
    options->checkpoint_every = line->checkpoint_every;
    options->gradient_shards = line->gradient_shards;
}

/* The file of one output would replace that of the other. */
static bool is_only_output(const command_line *line, size_t i) {
    const option *const o = option_at(line, i);
    for (size_t k = 0; k < i; k++) {
        const option *const other = option_at(line, k);
        if (!other->text || other->kind != OPTION_OUTPUT || strcmp(other->text, o->text) != 0) continue;
        fprintf(stderr, "%s: %s and %s are the same file '%s'; give each a file of its own\n", line->program,
            other->name, o->name, o->text);
        return false;
    }
    return true;
}

/* Hours of work are not lost for a folder that is not there. */
static bool try_outputs(const command_line *line) {
    for (size_t i = 0; i < count_options(line); i++) {
        const option *const o = option_at(line, i);
        if (o->text && o->kind == OPTION_OUTPUT && !is_only_output(line, i)) return false;
    }
    for (size_t i = 0; i < count_options(line); i++) {
        const option *const o = option_at(line, i);
        if (!o->text) continue;
        if (o->kind == OPTION_OUTPUT && !command_line_try(line, o->text)) return false;
        if (o->kind == OPTION_FOLDER && !try_folder(line, o->text)) return false;
    }
    return true;
}

bool command_line_try(const command_line *line, const char *path) {
    if (weft_output_check(path) == WEFT_OK) return true;
    fprintf(stderr, "%s: %s\n", line->program, weft_last_error());
    return false;
}

static void keep_command(command_line *line, int argc, char **argv) {
    size_t used = 0;
    for (int i = 0; i < argc && used < sizeof line->command; i++)
        used +=
            (size_t)snprintf(line->command + used, sizeof line->command - used, i ? " %s" : "%s", argv[i]);
}

static const char *program;

/* At the end of the program: results that could not be written are a failure. */
static void check_output(void) {
    fflush(NULL);
    if (!ferror(stdout)) return;
    fprintf(stderr, "%s: cannot write to the standard output\n", program);
    _Exit(1);
}

bool command_line_read(command_line *line, int argc, char **argv, int *status) {
    program = line->program;
    console_begin();
    atexit(check_output);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") != 0) continue;
        show_help(line);
        *status = 0;
        return false;
    }
    keep_command(line, argc, argv);
    const bool good = take_words(line, argc, argv) && take_training(line) && try_outputs(line);
    *status = good ? 0 : 2;
    return good;
}
