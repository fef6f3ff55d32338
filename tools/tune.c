/* See tune.h.
 *
 * A child process does all that runs kernels (tune_measure.h). It says which kernel it tries next through a pipe; when it then
 * says nothing for too long, or ends, this process writes the kernel down as bad and starts another child for the rest of the
 * time. */
#include "tune.h"
#include "base/platform.h"
#include "base/trusted_file.h"
#include "bench_measure.h"
#include "in_child.h"
#include "tune_measure.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CHILDREN = 16, QUIET_SECONDS = 600 };

static const char help[] =
    "usage: weft tune [OPTION]... [NETWORK|SIZES]...\n"
    "Measures which kernels are the fastest on a device and saves the choices for later programs.\n"
    "  NETWORK           tunes the training step of a network of 'weft bench seven'\n"
    "  SIZES             tunes a matrix product, MxNxK[:NN|:NT|:TN|:TT], or a convolution and its\n"
    "                    gradients, BATCHxSIZExCHANNELSxFILTERSxWINDOW[xSTRIDE[xGROUPS]];\n"
    "                    default: the seven networks of the table\n"
    "  --budget SECONDS  time for all measurements; default 60\n"
    "  --batch N         batch size; default that of each network\n"
    "  --precision NAME  f32, or mixed precision: bf16 or f16; default f32\n"
    "  --limit SECONDS   time after which a kernel counts as hanging; default 30\n"
    "  --file FILE       also writes the choices to this file, which can be merged and shipped\n"
    "  --device SEL      device; see weft --help\n";

/* What the child said: the file, the head of the section, and the kernel that it tries. */
typedef struct watch {
    char text[3][TUNE_LINE];
    int lines, length;
    double limit; /* seconds for one kernel */
    bool hangs;
} watch;

/* A kernel is being tried: it is to blame. */
static bool blames(const watch *w) {
    return w->lines > 2 && *w->text[2];
}

static void take_byte(void *watched, char byte) {
    watch *const w = watched;
    char *const line = w->text[w->lines < 2 ? w->lines : 2];
    if (byte != '\n') {
        if (w->length < TUNE_LINE - 1) line[w->length++] = byte;
        return;
    }
    line[w->length] = '\0';
    w->length = 0;
    w->lines++;
}

static double patience(const void *watched) {
    const watch *const w = watched;
    return blames(w) ? w->limit : QUIET_SECONDS;
}

/* The kernel is bad: one more section at the end of the file. */
static bool write_down(const watch *w) {
    if (!blames(w) || !*w->text[0]) return false;
    char *old = NULL;
    size_t bytes = 0;
    bool distrusted = false;
    wi_text text;
    const weft_status status = wi_kept_file_read(NULL, w->text[0], &old, &bytes, &distrusted);
    if (status != WEFT_OK && !distrusted) return false;
    wi_text_init(&text, NULL);
    wi_text_append(&text, "%sweft tuning 1\n%s\n%s\t%s\n", old ? old : "", w->text[1], w->text[2],
        w->hangs ? "it did not finish in time" : "it ended the process");
    const bool written =
        !text.failed && wi_file_write_private(NULL, w->text[0], text.data, text.length) == WEFT_OK;
    wi_text_clear(&text);
    wi_release(NULL, old);
    return written;
}

static void tell(const watch *w, int signal) {
    const char *const site = w->text[2] + strlen("bad\t"), *const kernel = strrchr(w->text[2], '\t');
    if (!blames(w) && w->hangs)
        fprintf(stderr, "weft: the driver did not respond for %d seconds while no kernel was tested\n",
            QUIET_SECONDS);
    else if (!blames(w))
        fprintf(stderr,
            "weft: the driver ended the process with signal %d while no kernel was tested; run 'weft check' "
            "to test the driver\n",
            signal);
    else
        fprintf(stderr, "weft: %.*s by %s: %s\n", (int)(kernel - site), site, kernel + 1,
            w->hangs ? "it did not finish in time" : "it ended the process");
}

typedef struct task {
    const tune_options *options;
    double end; /* by wi_clock_seconds */
} task;

static int run(const void *data, int file) {
    const task *const t = data;
    return tune_measure(t->options, t->end, file);
}

/* -1: the child hung or crashed in a kernel that is written down; else its exit status. */
static int run_child(const tune_options *options, double end) {
    watch w = {.limit = options->limit};
    in_child_watch by = {.patience = patience, .take = take_byte, .watched = &w};
    in_child_end ended;
    in_child_watched(&ended, run, &(task){options, end}, &by);
    w.hangs = by.hangs;
    if (ended.signal == 0 && !w.hangs && !blames(&w)) return ended.status;
    tell(&w, ended.signal);
    return write_down(&w) ? -1 : 1;
}

/* ---- what is asked for ---- */

static int refuse(const char *what, const char *text, const char *allowed) {
    fprintf(stderr, "weft: %s '%s'%s; see weft tune --help\n", what, text, allowed);
    return 2;
}

static bool read_number(double *number, const char *text, double least) {
    char *end;
    *number = strtod(text, &end);
    return end != text && !*end && isfinite(*number) && *number >= least && *number <= 1e6;
}

static bool is_option(const char *name) {
    static const char *const names[] = {
        "--budget", "--limit", "--batch", "--precision", "--device", "--file"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

static int read_option(tune_options *options, const char *name, const char *value) {
    double batch;
    if (strcmp(name, "--budget") == 0)
        return read_number(&options->budget, value, 0.0)
                   ? 0
                   : refuse("--budget", value, " is not a number of seconds of 0 or more");
    if (strcmp(name, "--limit") == 0)
        return read_number(&options->limit, value, 1.0)
                   ? 0
                   : refuse("--limit", value, " is not a number of seconds of 1 or more");
    if (strcmp(name, "--batch") == 0) {
        if (!read_number(&batch, value, 1.0) || batch != floor(batch))
            return refuse("--batch", value, " is not a whole number of 1 or more");
        options->batch = (int64_t)batch;
    } else if (strcmp(name, "--precision") == 0) {
        if (!bench_read_precision(&options->precision, value))
            return refuse("--precision", value, " is not f32, bf16 or f16");
    } else if (strcmp(name, "--device") == 0) {
        options->device = value;
    } else {
        options->file = value;
    }
    return 0;
}

static void add_the_seven(tune_options *options) {
    for (size_t i = 0; i < bench_network_count; i++) {
        if (bench_networks[i].sets & BENCH_SEVEN)
            (void)tune_work_parse(&options->works[options->count++], bench_networks[i].name);
    }
}

static int read_arguments(tune_options *options, int argc, char **argv) {
    for (int i = 0; i < argc; i++) {
        if (argv[i][0] == '-') {
            if (!is_option(argv[i])) return refuse("there is no option", argv[i], "");
            if (i + 1 == argc) return refuse("there is no value after", argv[i], "");
            const int bad = read_option(options, argv[i], argv[i + 1]);
            if (bad) return bad;
            i++;
        } else if (options->count == TUNE_MOST_WORKS ||
                   !tune_work_parse(&options->works[options->count++], argv[i])) {
            return refuse("neither a network of weft bench seven nor a size:", argv[i], "");
        }
    }
    if (options->count == 0) add_the_seven(options);
    return 0;
}

int weft_tune(int argc, char **argv) {
    tune_options options = {.budget = 60.0, .limit = 30.0};
    if (argc > 0 && strcmp(argv[0], "--help") == 0) return fputs(help, stdout) < 0;
    const int bad = read_arguments(&options, argc, argv);
    if (bad) return bad;
    const double end = wi_clock_seconds() + options.budget;
    int result = -1;
    if (options.budget <= 0.0) puts("the budget is 0, so nothing is measured");
    for (int i = 0; i < MOST_CHILDREN && result < 0 && wi_clock_seconds() < end; i++)
        result = run_child(&options, end);
    return result < 0 ? 0 : result;
}
