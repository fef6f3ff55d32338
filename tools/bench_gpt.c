/* See bench_gpt.h. Beside each token the device reads as many bytes as the network has weights, which no decoding at batch 1
 * can be faster than. */
#include "bench_gpt.h"
#include "../samples/gpt_model.h"
#include "base/integers.h"
#include "base/median.h"
#include "base/platform.h"
#include "bench_copy.h"
#include "bench_measure.h"
#include "bench_peak.h"
#include "cl/context.h"
#include "cl/program.h"
#include "show_warning.h"
#include <stdlib.h>

enum { MOST_ROUNDS = 1000, READ_BYTES = 1 << 28 };

typedef struct bench_options {
    bool json, profile;
    const char *what, *device;
    int64_t layers, width, vocabulary, context, batch, length, steps;
} bench_options;

typedef struct bench_state {
    bench_options options;
    weft_context *context;
    gpt g;
} bench_state;

/* ---- what is measured ---- */

static weft_status print_profile(weft_plan *plan) {
    weft_profile *profile = NULL;
    size_t length = 0;
    char *text = NULL;
    weft_status status = weft_profile_run(&profile, plan);
    if (!status) status = weft_profile_describe(profile, WEFT_FORMAT_TEXT, NULL, NULL, 0, &length);
    if (!status && !(text = malloc(length + 1))) status = WEFT_ERROR_MEMORY;
    if (!status) status = weft_profile_describe(profile, WEFT_FORMAT_TEXT, NULL, text, length + 1, NULL);
    if (!status) fputs(text, stdout);
    free(text);
    weft_profile_release(profile);
    return status;
}

/* Bytes that a token needs: all parameters but the rows of the two tables that it does not pick. */
static double weight_bytes(const gpt *g) {
    double count = -(double)(g->vocabulary + g->context - 2) * (double)g->width;
    for (size_t i = 0; i < weft_graph_parameter_count(g->graph); i++) {
        const weft_tensor *const parameter = weft_graph_parameter(g->graph, i);
        double product = 1;
        for (int axis = 0; axis < weft_tensor_rank(parameter); axis++)
            product *= (double)weft_tensor_dimension(parameter, axis);
        count += product;
    }
    return 4.0 * count;
}

/* A token: the step of the sample, with the likeliest token as the next one; the host reads each. */
static weft_status time_token(double *seconds, weft_plan *plan, weft_tensor *input, weft_tensor *drawn) {
    int32_t token = 0;
    const double begin = wi_clock_seconds();
    weft_status status = weft_plan_feed(plan, input, plan, drawn);
    if (!status) status = weft_plan_run(plan);
    if (!status) status = weft_plan_read(plan, drawn, &token, sizeof token);
    *seconds = wi_clock_seconds() - begin;
    return status;
}

static void print_decode(const bench_options *options, const weft_plan_info *info, double bytes, double token,
    double least, double read) {
    if (options->json)
        printf("{\"gpt\": \"decode\", \"layers\": %lld, \"width\": %lld, \"weight_bytes\": %.0f, "
               "\"milliseconds\": %.3f, "
               "\"least_ms\": %.3f, \"gbytes_s\": %.2f, \"read_gbytes_s\": %.2f, \"share\": %.4f, "
               "\"launches\": %zu}\n",
            (long long)options->layers, (long long)options->width, bytes, 1e3 * token, 1e3 * least,
            1e-9 * bytes / token, 1e-9 * read, bytes / token / read, info->launches);
    else
        printf("one token: median %.2f ms, minimum %.2f ms; %.0f MB of weights at %.1f GB/s; a kernel that "
               "only reads: %.1f GB/s; ratio %.0f%%; %zu launches\n",
            1e3 * token, 1e3 * least, 1e-6 * bytes, 1e-9 * bytes / token, 1e-9 * read,
            100 * bytes / token / read, info->launches);
}

static weft_status time_tokens(
    const bench_state *bench, weft_plan *plan, weft_tensor *input, weft_tensor *drawn) {
    const size_t steps = (size_t)bench->options.steps;
    double tokens[MOST_ROUNDS], reads[MOST_ROUNDS], bytes = 0;
    const int32_t first = 1;
    weft_plan_info info;
    bench_copy read = {0};
    weft_status status = bench_read_create(&read, bench->context, READ_BYTES);
    if (!status) status = bench_copy_size(&read, bench->context, 2.0 * READ_BYTES, &bytes);
    if (!status) status = bench_copy_time(&reads[0], &read, bench->context);
    if (!status) status = weft_plan_write(plan, input, &first, sizeof first);
    if (!status) status = weft_plan_run(plan);
    if (!status) status = time_token(&tokens[0], plan, input, drawn);
    for (size_t i = 0; i < steps && !status; i++) {
        double unused;
        if (!status) status = time_token(&unused, plan, input, drawn);
        if (!status) status = time_token(&tokens[i], plan, input, drawn);
        if (!status) status = bench_copy_time(&reads[i], &read, bench->context);
    }
    if (!status) status = weft_plan_get_info(plan, &info);
    if (!status) {
        const double token = wi_median(tokens, steps), speed = bytes / wi_median(reads, steps);
        print_decode(&bench->options, &info, weight_bytes(&bench->g), token, tokens[0], speed);
    }
    bench_copy_clear(&read, bench->context);
    return status;
}

static weft_status decode(bench_state *bench) {
    gpt *const g = &bench->g;
    const gpt_sampling likeliest = {"", 0, 1, 0};
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .inference = true};
    const size_t count = 2 + (size_t)g->layers;
    weft_tensor **outputs = calloc(count, sizeof *outputs), *drawn = NULL;
    weft_tensor *input = weft_input_shape(g->graph, "token", WEFT_I32, 2, (const int64_t[]){1, 1});
    weft_plan *plan = NULL;
    g->batch = g->length = 1;
    if (!outputs) return WEFT_ERROR_MEMORY;
    drawn = gpt_draw(g, input, &likeliest, outputs);
    weft_status status = weft_graph_status(g->graph);
    if (!status) status = weft_plan_create(&plan, outputs, count, &options);
    if (!status) status = time_tokens(bench, plan, input, drawn);
    if (!status && bench->options.profile) status = print_profile(plan);
    weft_plan_release(plan);
    free(outputs);
    return status;
}

/* ---- training ---- */

typedef struct bench_step {
    weft_tensor *tokens, *next, *outputs[2];
    weft_plan *plan;
    double seconds; /* of planning */
} bench_step;

static weft_status build_step(bench_step *step, bench_state *bench) {
    const weft_optimizer rule = weft_adamw(3e-4f, 0.01f);
    gpt *const g = &bench->g;
    g->length = WEFT_LENGTH;
    g->batch = WEFT_BATCH;
    step->tokens = weft_input(g->graph, "tokens", WEFT_I32, WEFT_LENGTH);
    step->next = weft_input(g->graph, "next", WEFT_I32, WEFT_LENGTH);
    step->outputs[0] = weft_sequence_cross_entropy(gpt_logits(g, step->tokens), step->next, NULL);
    step->outputs[1] =
        weft_optimizer_minimize(weft_optimizer_create(g->graph, &rule), step->outputs[0], NULL);
    return weft_graph_status(g->graph);
}

static weft_status plan_step(bench_step *step, const bench_state *bench, int64_t length) {
    const weft_plan_options options = {
        WEFT_PLAN_OPTIONS_INIT, .batch = bench->options.batch, .length = length};
    const double begin = wi_clock_seconds();
    const weft_status status = weft_plan_create(&step->plan, step->outputs, 2, &options);
    step->seconds = wi_clock_seconds() - begin;
    return status;
}

static weft_status write_tokens(const bench_step *step, int64_t count, int64_t vocabulary) {
    int32_t *const tokens = malloc((size_t)count * sizeof *tokens);
    if (!tokens) return WEFT_ERROR_MEMORY;
    for (int64_t i = 0; i < count; i++) tokens[i] = (int32_t)((i * 7919 + 13) % vocabulary);
    weft_status status = weft_plan_write(step->plan, step->tokens, tokens, (size_t)count * sizeof *tokens);
    if (!status) status = weft_plan_write(step->plan, step->next, tokens, (size_t)count * sizeof *tokens);
    free(tokens);
    return status;
}

static weft_status train(bench_state *bench) {
    const bench_options *const options = &bench->options;
    double seconds[MOST_ROUNDS];
    bench_step step = {0};
    bench_peak peak = {0};
    weft_plan_info info;
    weft_status status = build_step(&step, bench);
    if (!status) status = plan_step(&step, bench, options->length);
    if (!status) status = write_tokens(&step, options->batch * options->length, options->vocabulary);
    for (int i = 0; i < 2 && !status; i++) status = bench_time_plan(seconds, step.plan, 1);
    for (int64_t i = 0; i < options->steps && !status; i++)
        status = bench_time_plan(&seconds[i], step.plan, 1);
    if (!status) status = weft_plan_get_info(step.plan, &info);
    if (!status && bench->options.profile) status = print_profile(step.plan);
    if (!status) {
        const double median = wi_median(seconds, (size_t)options->steps);
        printf(options->json
                   ? "{\"gpt\": \"train\", \"median_ms\": %.2f, \"least_ms\": %.2f, \"gflops\": %.1f, "
                     "\"launches\": %zu}\n"
                   : "one training step: median %.1f ms, minimum %.1f ms; %.1f GFLOP/s, %zu launches\n",
            1e3 * median, 1e3 * seconds[0], 1e-9 * info.flops / median, info.launches);
    }
    weft_plan_release(step.plan);
    bench_peak_clear(&peak, bench->context);
    return status;
}

/* ---- lengths ---- */

/* A plan at each of several lengths, of which the first are where most kernels are compiled. */
static weft_status lengths(bench_state *bench) {
    const bench_options *const options = &bench->options;
    double plans[MOST_ROUNDS];
    size_t count = 0;
    bench_step step = {0};
    weft_status status = build_step(&step, bench);
    for (int64_t i = 0; i < options->steps && !status; i++) {
        const int64_t length = wi_max64(1, options->length - i % (options->length / 2) * 3);
        const size_t before = wi_programs_stats(wi_context_device(bench->context))->pieces_added;
        status = plan_step(&step, bench, length);
        const size_t added = wi_programs_stats(wi_context_device(bench->context))->pieces_added - before;
        weft_plan_release(step.plan);
        if (status) break;
        if (!options->json)
            printf("length %lld: planning took %.2f ms, %zu kernels were compiled\n", (long long)length,
                1e3 * step.seconds, added);
        if (added == 0) plans[count++] = step.seconds;
    }
    if (!status && count > 0) {
        const double plan = wi_median(plans, count); /* sorts them */
        printf(options->json ? "{\"gpt\": \"lengths\", \"plan_ms\": %.3f, \"least_plan_ms\": %.3f}\n"
                             : "planning a new length: median %.2f ms, minimum %.2f ms\n",
            1e3 * plan, 1e3 * plans[0]);
    }
    return status;
}

/* ---- options ---- */

static const char help[] =
    "usage: weft bench gpt [decode|train|lengths] [OPTION]...\n"
    "Measures a GPT: by default decode.\n"
    "  decode          generates a token at batch size 1, with caches of keys and values\n"
    "  train           computes a training step with AdamW\n"
    "  lengths         plans a training step at new lengths, from --length downwards\n"
    "  --layers N      transformer blocks; default 12\n"
    "  --width N       width; default 768\n"
    "  --vocabulary N  size of the vocabulary; default 50257\n"
    "  --context N     capacity of the caches, in tokens; default 1024\n"
    "  --batch N       sequences of a training step; default 1\n"
    "  --length N      tokens of a training sequence; default 256\n"
    "  --steps N       measured rounds; default 20\n"
    "  --profile       prints the time of each step of the plan\n"
    "  --device SEL    device; see weft --help\n"
    "  --json          prints one JSON object per line\n";

static bool take_value(bench_options *options, const char *name, const char *text) {
    struct {
        const char *name;
        int64_t *value, most;
    } const rows[] = {{"--layers", &options->layers, 1000}, {"--width", &options->width, 1 << 16},
        {"--vocabulary", &options->vocabulary, 1 << 24}, {"--context", &options->context, 1 << 20},
        {"--batch", &options->batch, 1 << 16}, {"--length", &options->length, 1 << 20},
        {"--steps", &options->steps, MOST_ROUNDS}};
    if (strcmp(name, "--device") == 0) return options->device = text, true;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *end;
        if (strcmp(name, rows[i].name) != 0) continue;
        *rows[i].value = strtoll(text, &end, 10);
        return *text && !*end && *rows[i].value >= 1 && *rows[i].value <= rows[i].most;
    }
    return false;
}

static bool parse(bench_options *options, int argc, char **argv) {
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0)
            options->json = true;
        else if (strcmp(argv[i], "--profile") == 0)
            options->profile = true;
        else if (argv[i][0] != '-')
            options->what = argv[i];
        else if (i + 1 == argc || !take_value(options, argv[i], argv[i + 1]))
            return fprintf(stderr,
                       "weft: '%s' is not an option, or its value is not valid; see weft bench gpt --help\n",
                       argv[i]),
                   false;
        else
            i++;
    }
    return true;
}

int weft_bench_gpt(int argc, char **argv) {
    bench_state bench = {.options = {.what = "decode",
                             .layers = 12,
                             .width = 768,
                             .vocabulary = 50257,
                             .context = 1024,
                             .batch = 1,
                             .length = 256,
                             .steps = 20}};
    bench_options *const options = &bench.options;
    if (argc == 1 && strcmp(argv[0], "--help") == 0) return fputs(help, stdout) < 0;
    if (!parse(options, argc, argv)) return 2;
    weft_status (*const measure)(bench_state *) = strcmp(options->what, "decode") == 0    ? decode
                                                  : strcmp(options->what, "train") == 0   ? train
                                                  : strcmp(options->what, "lengths") == 0 ? lengths
                                                                                          : NULL;
    if (!measure) return fputs(help, stderr), 2;
    weft_status status = weft_context_create(
        &bench.context, &(weft_context_options){TOOL_CONTEXT_OPTIONS_INIT, .device = options->device});
    bench.g = (gpt){.vocabulary = options->vocabulary,
        .width = options->width,
        .heads = options->width / 64,
        .layers = options->layers,
        .context = options->context};
    if (!status) status = weft_graph_create(&bench.g.graph, bench.context);
    if (!status) status = measure(&bench);
    if (status) fprintf(stderr, "weft: %s\n", weft_last_error());
    weft_graph_release(bench.g.graph);
    weft_context_release(bench.context);
    return status != WEFT_OK;
}
