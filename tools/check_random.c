/* weft check --random: see check_random.h. */
#include "check_random.h"
#include "console.h"
#include "op_name.h"
#include "progress.h"
#include "random/random_program.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REDUCING_TRIES = 400, MOST_SHOWN = 20, MOST_ENGINES = 6 };

typedef struct random_options {
    const char *device, *only, *precision; /* NULL: the best; any; f32 */
    const char
        *engine;    /* as WEFT_MATRIX_ENGINES takes it; "all": each model in turn; NULL: the device's own */
    double seconds; /* how long new programs are begun */
    uint64_t seed, first, count; /* count 0: any number of programs */
    bool show;                   /* print each program as C */
    bool stop;                   /* at the first that fails, which is printed as it is */
    bool progress;               /* say which program begins: the last one may have ended the process */
} random_options;

/* The contexts that programs run in, by turns. */
typedef struct engine_contexts {
    weft_context *all[MOST_ENGINES];
    size_t count;
} engine_contexts;

typedef struct check_totals {
    uint64_t programs, verdicts[PROGRAM_VERDICTS];
    program_tally tally;
    program_pairs *pairs; /* NULL: there is no memory for them */
} check_totals;

static void add_result(check_totals *totals, const program_result *result) {
    totals->programs++;
    totals->verdicts[result->verdict]++;
    totals->tally.judged += result->tally.judged;
    totals->tally.unjudged += result->tally.unjudged;
    totals->tally.slopes += result->tally.slopes;
    totals->tally.unjudged_slopes += result->tally.unjudged_slopes;
    totals->tally.plans += result->tally.plans;
}

static void show_program(const program *p, const oracle_sizes *sizes) {
    char *const text = program_text(p, sizes);
    printf("%s\n", text ? text : "out of memory");
    free(text);
}

static void show_failure(weft_context *context, program *p, program_result *result, int tries) {
    printf("program %" PRIu64 " of seed %" PRIu64 ": %s\n", p->number, p->seed, result->line);
    fflush(stdout);
    if (tries > 0) {
        program_reduce(p, context, result, tries);
        printf("a smaller program that fails: %s\n", result->line);
    }
    show_program(p, &result->sizes);
    fflush(stdout);
}

static void run_programs(const engine_contexts *contexts, const random_options *asked,
    const program_options *options, check_totals *totals) {
    const double end = console_seconds() + asked->seconds;
    uint64_t shown = 0;
    for (uint64_t i = 0; (asked->count == 0 || i < asked->count) && console_seconds() < end; i++) {
        static program p;
        program_result result;
        weft_context *const context = contexts->all[(asked->first + i) % contexts->count];
        const f64_mark mark = f64_pool_mark();
        if (asked->progress) fprintf(stderr, "program %" PRIu64 "\n", asked->first + i);
        if (!program_draw(&p, context, options, asked->first + i)) break;
        f64_pool_release(mark);
        const oracle_sizes sizes = program_sizes(&p, context);
        if (asked->show) show_program(&p, &sizes);
        program_run(&p, context, &result);
        add_result(totals, &result);
        if (totals->pairs) program_cover(totals->pairs, &p);
        const bool failed = result.verdict == PROGRAM_WRONG || result.verdict == PROGRAM_INTERNAL;
        if (result.verdict == PROGRAM_REFUSED)
            printf("program %" PRIu64 " of seed %" PRIu64 " is not supported: %s\n", p.number, p.seed,
                result.line);
        if (failed && shown++ < MOST_SHOWN)
            show_failure(context, &p, &result, asked->stop ? 0 : REDUCING_TRIES);
        if (failed && asked->stop) break;
        f64_pool_release(mark);
    }
}

static void print_totals(const check_totals *t, const random_options *asked) {
    const double judged = (double)(t->tally.judged + t->tally.unjudged), slopes = (double)t->tally.slopes;
    const double unjudged = (double)(t->tally.unjudged + t->tally.unjudged_slopes);
    printf("%" PRIu64 " random programs from %" PRIu64 " of seed %" PRIu64 ": %" PRIu64 " right, %" PRIu64
           " refused, %" PRIu64 " wrong, %" PRIu64 " internal errors; %" PRIu64
           " plans; %.0f elements (%.2f %% not judged), %.0f slopes (%.2f %% not judged), %.2f %% of both\n",
        t->programs, asked->first, asked->seed, t->verdicts[PROGRAM_RIGHT], t->verdicts[PROGRAM_REFUSED],
        t->verdicts[PROGRAM_WRONG], t->verdicts[PROGRAM_INTERNAL], t->tally.plans, judged,
        judged > 0 ? 100 * (double)t->tally.unjudged / judged : 0, slopes,
        slopes > 0 ? 100 * (double)t->tally.unjudged_slopes / slopes : 0,
        judged > 0 ? 100 * unjudged / (judged + slopes) : 0);
    if (t->pairs)
        printf("pairs of attribute and size covered: %zu of %zu\n", program_pairs_covered(t->pairs),
            program_pairs_known(t->pairs));
}

/* One argument, and its value where it has one; false: it is none. */
static bool read_argument(random_options *asked, int *i, int argc, char **argv) {
    const char *const name = argv[*i];
    if (strcmp(name, "--show") == 0) return asked->show = true;
    if (strcmp(name, "--stop") == 0) return asked->stop = true;
    if (strcmp(name, "--progress") == 0) return asked->progress = true;
    if (*i + 1 >= argc) return false;
    const char *const value = argv[++*i];
    char *end = NULL;
    if (strcmp(name, "--device") == 0) return asked->device = value, true;
    if (strcmp(name, "--only") == 0) return asked->only = value, true;
    if (strcmp(name, "--precision") == 0) return asked->precision = value, true;
    if (strcmp(name, "--engine") == 0) return asked->engine = value, true;
    if (strcmp(name, "--random") == 0)
        return asked->seconds = strtod(value, &end), *end == '\0' && asked->seconds > 0;
    uint64_t *const number = strcmp(name, "--seed") == 0    ? &asked->seed
                             : strcmp(name, "--first") == 0 ? &asked->first
                             : strcmp(name, "--count") == 0 ? &asked->count
                                                            : NULL;
    if (!number) return false;
    *number = strtoull(value, &end, 10);
    return *end == '\0';
}

static bool open_context(engine_contexts *contexts, const random_options *asked, const char *engine) {
    const weft_context_options options = {
        PROGRAM_CONTEXT_OPTIONS_INIT, .device = asked->device, .seed = asked->seed};
    if (engine) console_set_variable("WEFT_MATRIX_ENGINES", engine);
    const weft_status status = weft_context_create(&contexts->all[contexts->count], &options);
    if (engine) console_set_variable("WEFT_MATRIX_ENGINES", NULL);
    if (status != WEFT_OK) fprintf(stderr, "weft: %s\n", weft_last_error());
    contexts->count += status == WEFT_OK;
    return status == WEFT_OK;
}

/* The models of class cpu are one. */
static bool open_contexts(engine_contexts *contexts, const random_options *asked) {
    static const char *const models[] = {
        "model-mma", "model-wmma", "model-wmma12", "model-mfma", "model-xmx8", "model-xmx16"};
    const bool all = asked->engine && strcmp(asked->engine, "all") == 0;
    if (!all) return open_context(contexts, asked, asked->engine);
    for (size_t i = 0; i < MOST_ENGINES; i++) {
        if (!open_context(contexts, asked, models[i])) return false;
        if (weft_context_device(contexts->all[0])->device_class == WEFT_CLASS_CPU) break;
    }
    return true;
}

/* The op of that name, else the first that the name is a form of; NULL: there is none. */
static const char *op_named(const char *name) {
    if (oracle_find(name)) return name;
    for (size_t i = 0; i < oracle_op_count(); i++)
        if (op_name_matches(name, oracle_op_at(i)->name)) return oracle_op_at(i)->name;
    return NULL;
}

static int run_asked(const random_options *asked) {
    engine_contexts contexts = {.count = 0};
    check_totals totals = {0};
    program_options options = {.seed = asked->seed, .format = WEFT_F32};
    if (asked->precision && !program_precision_of(asked->precision, &options)) {
        fprintf(stderr, "weft: --precision of check --random must be f32, bf16, f16, mixed or mixed_f16\n");
        return 2;
    }
    options.only = asked->only ? op_named(asked->only) : NULL;
    if (asked->only && !options.only) {
        fprintf(stderr, "weft: there is no op \"%s\"\n", asked->only);
        return 2;
    }
    const bool opened = open_contexts(&contexts, asked);
    options.pairs = totals.pairs = program_pairs_create();
    if (opened) run_programs(&contexts, asked, &options, &totals);
    if (opened) print_totals(&totals, asked);
    program_pairs_release(totals.pairs);
    for (size_t i = 0; i < contexts.count; i++) weft_context_release(contexts.all[i]);
    return !opened || totals.verdicts[PROGRAM_WRONG] + totals.verdicts[PROGRAM_INTERNAL] > 0;
}

int weft_check_random(int argc, char **argv) {
    random_options asked = {.seed = (uint64_t)time(NULL) / 86400};
    for (int i = 0; i < argc; i++) {
        const char *const name = argv[i];
        if (read_argument(&asked, &i, argc, argv)) continue;
        fprintf(stderr,
            "weft: '%s' is not an option of check --random, or its value is not valid; see weft check "
            "--help\n",
            name);
        return 2;
    }
    return run_asked(&asked);
}
