/* See bench_rows.h. Tables take turns, so that all meet the same minutes. Tokens are uniform over the table: the worst
 * case for caches. */
#include "bench_rows.h"
#include "base/median.h"
#include "base/platform.h"
#include "bench_measure.h"
#include "bench_peak.h"
#include "show_warning.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/weft.h>

enum { PICKED = 6, MOST_TABLES = 4, BATCHES = 16, MOST_ROUNDS = 10000, PROFILES = 64, MOST_STEPS = 64 };

typedef struct bench_options {
    bool json, profile;
    int64_t rows[MOST_TABLES], width, batch, steps;
    size_t tables;
    weft_optimizer rule;
    const char *rule_name;
    weft_context_options context;
} bench_options;

typedef struct bench_table {
    int64_t rows;
    weft_graph *graph;
    weft_plan *plan;
    weft_tensor *word, *other;
    double *seconds;
} bench_table;

/* The sample skip_gram's network. */
static weft_status create(bench_table *table, weft_context *context, const bench_options *options) {
    const weft_embedding_options by_rows = {WEFT_EMBEDDING_OPTIONS_INIT, .sparse = true};
    const float signs[PICKED] = {-1, 1, 1, 1, 1, 1};
    weft_status status = weft_graph_create(&table->graph, context);
    if (status) return status;
    weft_graph *const graph = table->graph;
    table->word = weft_input(graph, "word", WEFT_I32);
    table->other = weft_input(graph, "other", WEFT_I32, PICKED);
    weft_tensor *const inner = weft_embedding_layer(table->word, table->rows, options->width, &by_rows);
    weft_tensor *const outer = weft_embedding_layer(table->other, table->rows, options->width, &by_rows);
    weft_tensor *const logits = weft_sum(weft_mul(weft_unsqueeze(inner, 1), outer), 2);
    weft_tensor *const sign = weft_array(graph, WEFT_F32, signs, 1, (const int64_t[]){PICKED});
    weft_tensor *outputs[2] = {weft_mean(weft_sum(weft_softplus(weft_mul(logits, sign)), 1))};
    outputs[1] = weft_optimizer_minimize(weft_optimizer_create(graph, &options->rule), outputs[0], NULL);
    if ((status = weft_graph_status(graph))) return status;
    return weft_plan_create(
        &table->plan, outputs, 2, &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .batch = options->batch});
}

/* Tokens that no step has had. */
static void draw_tokens(const bench_table *table, int64_t batch, int32_t *tokens) {
    static uint64_t bits = 12345;
    const int64_t count = batch * (1 + PICKED);
    for (int64_t i = 0; i < count; i++) {
        bits = bits * 6364136223846793005u + 1442695040888963407u;
        tokens[i] = (int32_t)((bits >> 33) % (uint64_t)table->rows);
    }
}

static weft_status write_tokens(const bench_table *table, int64_t batch, const int32_t *tokens) {
    const weft_status status =
        weft_plan_write_async(table->plan, table->word, tokens, (size_t)batch * sizeof *tokens);
    return status ? status
                  : weft_plan_write(
                        table->plan, table->other, tokens + batch, (size_t)(batch * PICKED) * sizeof *tokens);
}

static weft_status run(const bench_table *table, int64_t batch, int32_t *tokens, double *seconds) {
    draw_tokens(table, batch, tokens);
    const double begin = wi_clock_seconds();
    weft_status status = write_tokens(table, batch, tokens);
    if (!status) status = bench_time_plan(seconds, table->plan, 1);
    *seconds = wi_clock_seconds() - begin;
    return status;
}

/* Adds up a step with tokens of its own, as rows of tokens that were there before are in the caches. */
static weft_status add_profile(
    const bench_table *table, int64_t batch, int32_t *tokens, double *seconds, weft_profile **profile) {
    weft_profile_info info;
    weft_profile_row row;
    draw_tokens(table, batch, tokens);
    weft_status status = write_tokens(table, batch, tokens);
    weft_profile_release(*profile);
    *profile = NULL;
    if (!status) status = weft_profile_run(profile, table->plan);
    if (!status) status = weft_profile_get_info(*profile, &info);
    for (size_t i = 0; !status && i < info.rows && i < MOST_STEPS; i++) {
        status = weft_profile_get_row(*profile, i, &row);
        seconds[i] += row.seconds / PROFILES;
    }
    return status;
}

/* Means, since the times of single launches vary. */
static weft_status print_profile(const bench_table *table, int64_t batch, int32_t *tokens) {
    double seconds[MOST_STEPS] = {0};
    weft_profile *profile = NULL;
    weft_profile_info info;
    weft_profile_row row;
    weft_status status = WEFT_OK;
    for (int i = 0; i < PROFILES && !status; i++)
        status = add_profile(table, batch, tokens, seconds, &profile);
    if (!status) status = weft_profile_get_info(profile, &info);
    for (size_t i = 0; !status && i < info.rows && i < MOST_STEPS; i++) {
        if ((status = weft_profile_get_row(profile, i, &row))) break;
        printf("step %zu  %-7s  %-20s  %8.4f ms  %s %.60s\n", i, row.kind, row.implementation,
            1e3 * seconds[i], row.shape, row.ops);
    }
    weft_profile_release(profile);
    return status;
}

static weft_status print(const bench_options *options, const bench_table *tables, int32_t *tokens) {
    const size_t steps = (size_t)options->steps;
    double first = 0;
    weft_plan_info info;
    for (size_t i = 0; i < options->tables; i++) {
        const double median = wi_median(tables[i].seconds, steps);
        if (i == 0) first = median;
        weft_status status = weft_plan_get_info(tables[i].plan, &info);
        if (!status && options->profile) status = print_profile(&tables[i], options->batch, tokens);
        if (status) return status;
        printf(options->json ? "{\"rule\": \"%s\", \"rows\": %lld, \"median_ms\": %.3f, \"least_ms\": %.3f, "
                               "\"launches\": %zu, \"of_first\": %.3f}\n"
                             : "%s, %lld rows: median %.3f ms, minimum %.3f ms, %zu launches, %.2f times the "
                               "first table's time\n",
            options->rule_name, (long long)tables[i].rows, 1e3 * median, 1e3 * tables[i].seconds[0],
            info.launches, median / first);
    }
    return WEFT_OK;
}

static weft_status measure(const bench_options *options, weft_context *context, bench_table *tables) {
    int32_t *const tokens = malloc((size_t)(options->batch * (1 + PICKED)) * sizeof *tokens);
    weft_status status = tokens ? WEFT_OK : WEFT_ERROR_MEMORY;
    double unused;
    for (size_t i = 0; i < options->tables && !status; i++) {
        tables[i].rows = options->rows[i];
        tables[i].seconds = malloc((size_t)options->steps * sizeof *tables[i].seconds);
        status = tables[i].seconds ? create(&tables[i], context, options) : WEFT_ERROR_MEMORY;
        for (int warm = 0; warm < 3 && !status; warm++)
            status = run(&tables[i], options->batch, tokens, &unused);
    }
    for (int64_t step = 0; step < options->steps; step += BATCHES)
        for (size_t i = 0; i < options->tables; i++)
            for (int64_t k = step - 2; k < step + BATCHES && k < options->steps && !status; k++)
                status = run(&tables[i], options->batch, tokens, k < step ? &unused : &tables[i].seconds[k]);
    if (!status) status = print(options, tables, tokens);
    free(tokens);
    return status;
}

static const char help[] = "usage: weft bench rows [OPTION]...\n"
                           "Measures training steps that update only the used rows of an embedding table.\n"
                           "  --rule NAME     optimizer: adam, adagrad or sgd; default adam\n"
                           "  --rows N        rows of the table; can be repeated; default 20000 and 200000\n"
                           "  --width N       width of the table; default 128\n"
                           "  --batch N       tokens per step; default 1024\n"
                           "  --steps N       measured steps; default 200\n"
                           "  --profile       prints the mean time of each step of the plan over 64 runs\n"
                           "  --device SEL    device; see weft --help\n"
                           "  --json          prints one JSON object per line\n";

static bool take_rule(bench_options *options, const char *name) {
    options->rule_name = name;
    if (strcmp(name, "adam") == 0) return options->rule = weft_adam(1e-3f), true;
    if (strcmp(name, "adagrad") == 0) return options->rule = weft_adagrad(0.1f), true;
    return options->rule = weft_sgd(0.1f), strcmp(name, "sgd") == 0;
}

static bool take_value(bench_options *options, const char *name, const char *text) {
    char *end;
    const int64_t number = strtoll(text, &end, 10);
    const bool whole = *text && !*end && number >= 1 && number <= MOST_ROUNDS * 1000;
    if (strcmp(name, "--rule") == 0) return take_rule(options, text);
    if (strcmp(name, "--width") == 0) return options->width = number, whole;
    if (strcmp(name, "--batch") == 0) return options->batch = number, whole;
    if (strcmp(name, "--steps") == 0) return options->steps = number, whole && number <= MOST_ROUNDS;
    if (strcmp(name, "--rows") != 0 || options->tables == MOST_TABLES) return false;
    return options->rows[options->tables++] = number, whole;
}

int weft_bench_rows(int argc, char **argv) {
    bench_options options = {.rule = weft_adam(1e-3f),
        .rule_name = "adam",
        .width = 128,
        .batch = 1024,
        .steps = 200,
        .context = {TOOL_CONTEXT_OPTIONS_INIT}};
    bench_table tables[MOST_TABLES] = {{0}};
    weft_context *context = NULL;
    if (argc == 1 && strcmp(argv[0], "--help") == 0) return fputs(help, stdout) < 0;
    for (int i = 0; i < argc; i++) {
        if (bench_take_option(argc, argv, &i, &options.json, &options.context)) continue;
        if (strcmp(argv[i], "--profile") == 0)
            options.profile = true;
        else if (i + 1 < argc && take_value(&options, argv[i], argv[i + 1]))
            i++;
        else
            return fprintf(stderr,
                       "weft: '%s' is not an option, or its value is not valid; see weft bench rows --help\n",
                       argv[i]),
                   2;
    }
    if (options.tables == 0) options.rows[0] = 20000, options.rows[1] = 200000, options.tables = 2;
    weft_status status = weft_context_create(&context, &options.context);
    if (!status) status = measure(&options, context, tables);
    if (status) fprintf(stderr, "weft: %s\n", weft_last_error());
    for (size_t i = 0; i < options.tables; i++) {
        weft_plan_release(tables[i].plan);
        weft_graph_release(tables[i].graph);
        free(tables[i].seconds);
    }
    weft_context_release(context);
    return status != WEFT_OK;
}
