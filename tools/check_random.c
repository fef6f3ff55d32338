/* weft check --random: see check_random.h. */
#include "check_random.h"
#include "random/random_program.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REDUCING_TRIES = 400, MOST_SHOWN = 20 };

typedef struct random_options {
    const char *device, *only, *format; /* NULL: the best; any; f32 */
    double seconds;                     /* how long new programs are begun */
    uint64_t seed, first, count;        /* count 0: any number of programs */
    bool show;                          /* print each program as C */
    bool stop;                          /* at the first that fails, which is printed as it is */
    bool progress; /* say which program begins: the last one may have ended the process */
} random_options;

static double now(void) {
    struct timespec time;
    (void)timespec_get(&time, TIME_UTC);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static bool read_format(const char *text, weft_dtype *format) {
    static const weft_dtype formats[] = {WEFT_F32, WEFT_BF16, WEFT_F16};
    for (size_t i = 0; i < 3; i++) {
        if (text && strcmp(text, weft_dtype_name(formats[i])) != 0) continue;
        *format = formats[i];
        return true;
    }
    return false;
}

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

static void show_program(const program *p) {
    char *const text = program_text(p);
    printf("%s\n", text ? text : "out of memory");
    free(text);
}

static void show_failure(weft_context *context, program *p, program_result *result, int tries) {
    printf("program %" PRIu64 " of seed %" PRIu64 ": %s\n", p->number, p->seed, result->line);
    fflush(stdout);
    if (tries > 0) {
        program_reduce(p, context, result, tries);
        printf("made smaller: %s\n", result->line);
    }
    show_program(p);
    fflush(stdout);
}

static void run_programs(
    weft_context *context, const random_options *asked, weft_dtype format, check_totals *totals) {
    const program_options options = {
        .seed = asked->seed, .format = format, .only = asked->only, .pairs = totals->pairs};
    const double end = now() + asked->seconds;
    uint64_t shown = 0;
    for (uint64_t i = 0; (asked->count == 0 || i < asked->count) && now() < end; i++) {
        static program p;
        program_result result;
        const f64_mark mark = f64_pool_mark();
        if (asked->progress) fprintf(stderr, "program %" PRIu64 "\n", asked->first + i);
        if (!program_draw(&p, context, &options, asked->first + i)) break;
        f64_pool_release(mark);
        if (asked->show) show_program(&p);
        program_run(&p, context, &result);
        add_result(totals, &result);
        if (totals->pairs) program_cover(totals->pairs, &p);
        const bool failed = result.verdict == PROGRAM_WRONG || result.verdict == PROGRAM_INTERNAL;
        if (result.verdict == PROGRAM_REFUSED)
            printf("program %" PRIu64 " of seed %" PRIu64 " is refused: %s\n", p.number, p.seed, result.line);
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
        printf("pairs of attribute and size covered: %zu of %zu that were drawn\n",
            program_pairs_covered(t->pairs), program_pairs_known(t->pairs));
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
    if (strcmp(name, "--precision") == 0) return asked->format = value, true;
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

static int run_asked(const random_options *asked) {
    weft_context *context = NULL;
    weft_dtype format;
    check_totals totals = {0};
    if (!read_format(asked->format, &format)) {
        fprintf(stderr, "weft: --precision of check --random is f32, bf16 or f16\n");
        return 2;
    }
    if (asked->only && !oracle_find(asked->only)) {
        fprintf(stderr, "weft: there is no op \"%s\"\n", asked->only);
        return 2;
    }
    const weft_context_options options = {
        WEFT_CONTEXT_OPTIONS_INIT, .device = asked->device, .seed = asked->seed};
    if (weft_context_create(&context, &options) != WEFT_OK) {
        fprintf(stderr, "weft: %s\n", weft_last_error());
        return 1;
    }
    totals.pairs = program_pairs_create();
    run_programs(context, asked, format, &totals);
    print_totals(&totals, asked);
    program_pairs_release(totals.pairs);
    weft_context_release(context);
    return totals.verdicts[PROGRAM_WRONG] + totals.verdicts[PROGRAM_INTERNAL] > 0;
}

int weft_check_random(int argc, char **argv) {
    random_options asked = {.seed = (uint64_t)time(NULL) / 86400};
    for (int i = 0; i < argc; i++) {
        const char *const name = argv[i];
        if (read_argument(&asked, &i, argc, argv)) continue;
        fprintf(stderr, "weft: check --random does not take '%s' so; see weft check --help\n", name);
        return 2;
    }
    return run_asked(&asked);
}
