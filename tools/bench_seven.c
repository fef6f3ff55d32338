/* See bench_seven.h. Two steps warm up: the first compiles, the second fetches binaries for the cache. Then
 * each round times the peak, a copy and the step, so that a change of the processor's clock meets all three.
 */
#include "bench_seven.h"
#include "base/median.h"
#include "base/memory.h"
#include "bench_copy.h"
#include "bench_measure.h"
#include "bench_networks.h"
#include "bench_peak.h"
#include "bench_peer.h"
#include "file_network.h"
#include "show_warning.h"
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/weft.h>

enum {
    MAX_ROUNDS = 10000,
    MAX_PAIRS = 100,
    FEWEST_PAIRS = 5,
    MAX_NETWORKS = 32,
    PROFILES = 3,
    COPY_BYTES = 1 << 26
};

typedef struct bench_options {
    bench_network asked[MAX_NETWORKS];
    size_t asked_count;
    bool all, inference, json, profile;
    int64_t batch, steps, pairs;
    int64_t memory; /* a limit: bytes, or percent */
    bool is_percent;
    weft_precision precision;
    const char *compare, *trace;
    const char *device;
} bench_options;

typedef struct bench_state {
    bench_options options;
    weft_context *context;
    bench_peak peak;
    bench_copy copy;
    double copied; /* bytes that the copy moves */
} bench_state;

typedef struct bench_figure {
    double first, median, least;               /* seconds */
    double peak, bandwidth;                    /* operations and bytes a second, beside the steps */
    double ours[MAX_PAIRS], theirs[MAX_PAIRS]; /* milliseconds */
    size_t pairs;
    weft_plan_info info;
    weft_profile *profile; /* NULL: not asked for */
} bench_figure;

/* ---- measuring ---- */

/* What is measured of one network: medians come from all of its rounds. */
typedef struct bench_times {
    double *steps, *peaks, *copies; /* seconds; room for all rounds */
    size_t count;
} bench_times;

static weft_status time_round(bench_times *times, const bench_state *bench, weft_plan *plan) {
    const size_t i = times->count++;
    WI_TRY(bench_peak_time(&times->peaks[i], &bench->peak, bench->context));
    WI_TRY(bench_copy_time(&times->copies[i], &bench->copy, bench->context));
    /* A prediction is timed as peers time it, right after another: the copy has emptied the caches. */
    if (bench->options.inference) WI_TRY(bench_time_plan(&times->steps[i], plan, 1));
    return bench_time_plan(&times->steps[i], plan, 1);
}

/* Our steps and the peer's command in turn; a step warms the caches that the peer has used. */
static weft_status time_pairs(
    bench_figure *figure, bench_times *times, const bench_state *bench, const bench_model *model) {
    const bench_options *const options = &bench->options;
    for (size_t pair = 0; pair < (size_t)options->pairs; pair++) {
        const size_t first = times->count;
        double unused, sorted[MAX_ROUNDS];
        WI_TRY(bench_time_plan(&unused, model->plan, 1));
        for (int64_t i = 0; i < options->steps; i++) WI_TRY(time_round(times, bench, model->plan));
        memcpy(sorted, times->steps + first, (size_t)options->steps * sizeof *sorted);
        figure->ours[pair] = 1e3 * wi_median(sorted, (size_t)options->steps);
        WI_TRY(bench_peer_run(&figure->theirs[pair], options->compare, model->network->name, model->batch));
        figure->pairs = pair + 1;
        if (!options->json)
            printf("  pair %zu: %.3f ms, peer %.3f ms, ratio %.3f\n", pair + 1, figure->ours[pair],
                figure->theirs[pair], figure->ours[pair] / figure->theirs[pair]);
    }
    return WEFT_OK;
}

static weft_status time_all(
    bench_figure *figure, bench_times *times, const bench_state *bench, const bench_model *model) {
    double unused;
    WI_TRY(bench_peak_time(&unused, &bench->peak, bench->context)); /* both compile at their first run */
    WI_TRY(bench_copy_time(&unused, &bench->copy, bench->context));
    WI_TRY(bench_time_plan(&figure->first, model->plan, 1));
    WI_TRY(bench_time_plan(&unused, model->plan, 1));
    if (bench->options.compare)
        WI_TRY(time_pairs(figure, times, bench, model));
    else
        for (int64_t i = 0; i < bench->options.steps; i++) WI_TRY(time_round(times, bench, model->plan));
    figure->median = wi_median(times->steps, times->count); /* sorts */
    figure->least = times->steps[0];
    figure->peak = bench->peak.flops / wi_median(times->peaks, times->count);
    figure->bandwidth = bench->copied / wi_median(times->copies, times->count);
    return WEFT_OK;
}

/* The quickest of a few runs: the one that the machine disturbed least. */
static weft_status profile_best(weft_profile **best, weft_plan *plan) {
    double least = HUGE_VAL;
    for (int i = 0; i < PROFILES; i++) {
        weft_profile *profile;
        weft_profile_info info = {.wall_seconds = HUGE_VAL};
        WI_TRY(weft_profile_run(&profile, plan));
        (void)weft_profile_get_info(profile, &info);
        const bool better = info.wall_seconds < least;
        weft_profile_release(better ? *best : profile);
        if (!better) continue;
        *best = profile;
        least = info.wall_seconds;
    }
    return WEFT_OK;
}

static weft_status measure(bench_figure *figure, const bench_state *bench, const bench_model *model) {
    const size_t rounds =
        (size_t)bench->options.steps * (bench->options.compare ? (size_t)bench->options.pairs : 1);
    double *const values = wi_allocate_array(NULL, 3 * rounds, sizeof *values);
    if (!values) return WEFT_ERROR_MEMORY;
    bench_times times = {.steps = values, .peaks = values + rounds, .copies = values + 2 * rounds};
    weft_status status = weft_plan_get_info(model->plan, &figure->info);
    if (status == WEFT_OK) status = time_all(figure, &times, bench, model);
    if (status == WEFT_OK && (bench->options.profile || bench->options.trace))
        status = profile_best(&figure->profile, model->plan);
    if (status == WEFT_OK && bench->options.trace)
        status = weft_profile_trace(figure->profile, bench->options.trace);
    wi_release(NULL, values);
    return status;
}

/* ---- printing ---- */

static double median_ratio(const bench_figure *figure) {
    double ratios[MAX_PAIRS];
    for (size_t i = 0; i < figure->pairs; i++) ratios[i] = figure->ours[i] / figure->theirs[i];
    return wi_median(ratios, figure->pairs);
}

/* The least time for the step's operations and bytes, over its time. */
static double roofline(const bench_figure *figure) {
    const double compute = figure->info.flops / figure->peak;
    const double memory = figure->info.bytes_moved / figure->bandwidth;
    return (compute > memory ? compute : memory) / figure->median;
}

static double peak_bytes(const weft_plan_info *info) {
    return (double)info->total_bytes + (double)info->variable_bytes;
}

static const char *mode_of(const bench_model *model) {
    return model->inference ? "inference" : "training";
}

/* The caller releases it. */
static weft_status profile_text(char **text, const bench_figure *f, weft_format format) {
    const weft_roofline roofline = {f->peak, f->bandwidth};
    size_t length;
    WI_TRY(weft_profile_describe(f->profile, format, &roofline, NULL, 0, &length));
    *text = wi_allocate(NULL, length + 1);
    if (!*text) return WEFT_ERROR_MEMORY;
    return weft_profile_describe(f->profile, format, &roofline, *text, length + 1, NULL);
}

static void print_heading(const bench_state *bench) {
    printf("%s\n%-13s%-10s%6s%11s%11s%11s%9s%9s%7s%7s%8s%10s%10s\n",
        weft_context_device(bench->context)->name, "network", "mode", "batch", "median ms", "min ms",
        "first ms", "plan ms", "GFLOP/s", "share", "GB/s", "roofln", "MiB", "launches");
}

static weft_status print_figure(const bench_state *bench, const bench_model *model, const bench_figure *f) {
    printf("%-12s %-10s%6lld%11.2f%11.2f%11.0f%9.0f%9.1f%6.0f%%%7.1f%7.0f%%%10.1f%10zu\n",
        model->network->name, mode_of(model), (long long)model->batch, 1e3 * f->median, 1e3 * f->least,
        1e3 * f->first, 1e3 * model->plan_seconds, f->info.flops / f->median * 1e-9,
        100 * f->info.flops / f->median / f->peak, f->info.bytes_moved / f->median * 1e-9, 100 * roofline(f),
        peak_bytes(&f->info) / (1 << 20), f->info.launches);
    printf("  measured in the same rounds: peak %.1f GFLOP/s, copy %.1f GB/s\n", f->peak * 1e-9,
        f->bandwidth * 1e-9);
    if (f->pairs > 0) printf("  median ratio of %zu pairs: %.3f\n", f->pairs, median_ratio(f));
    if (!bench->options.profile) return WEFT_OK;
    char *text = NULL;
    const weft_status status = profile_text(&text, f, WEFT_FORMAT_TEXT);
    if (status == WEFT_OK) fputs(text, stdout);
    wi_release(NULL, text);
    return status;
}

static bool add_numbers(cJSON *object, const bench_model *model, const bench_figure *f, uint32_t units) {
    const struct {
        const char *name;
        double number;
    } rows[] = {{"batch", (double)model->batch}, {"median_ms", 1e3 * f->median}, {"min_ms", 1e3 * f->least},
        {"first_step_ms", 1e3 * f->first}, {"plan_ms", 1e3 * model->plan_seconds},
        {"gflops", f->info.flops / f->median * 1e-9}, {"gbytes_s", f->info.bytes_moved / f->median * 1e-9},
        {"peak_gflops", f->peak * 1e-9}, {"copy_gbytes_s", f->bandwidth * 1e-9},
        {"share", f->info.flops / f->median / f->peak}, {"roofline", roofline(f)},
        {"peak_bytes", peak_bytes(&f->info)}, {"arena_bytes", (double)f->info.arena_bytes},
        {"arena_lower_bound", (double)f->info.arena_lower_bound}, {"launches", (double)f->info.launches},
        {"compute_units", (double)units}};
    bool added = true;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        added = added && cJSON_AddNumberToObject(object, rows[i].name, rows[i].number);
    if (f->pairs == 0) return added;
    return added &&
           cJSON_AddItemToObject(object, "ours_ms", cJSON_CreateDoubleArray(f->ours, (int)f->pairs)) &&
           cJSON_AddItemToObject(object, "peer_ms", cJSON_CreateDoubleArray(f->theirs, (int)f->pairs)) &&
           cJSON_AddNumberToObject(object, "ratio", median_ratio(f));
}

static weft_status add_profile(cJSON *object, const bench_figure *f) {
    char *text = NULL;
    const weft_status status = profile_text(&text, f, WEFT_FORMAT_JSON);
    cJSON *const profile = status == WEFT_OK ? cJSON_Parse(text) : NULL;
    wi_release(NULL, text);
    if (status != WEFT_OK) return status;
    if (profile && cJSON_AddItemToObject(object, "profile", profile)) return WEFT_OK;
    cJSON_Delete(profile);
    WI_FAIL(WEFT_ERROR_MEMORY, "out of memory while printing a profile");
}

static weft_status print_json(const bench_state *bench, const bench_model *model, const bench_figure *f) {
    const weft_device_info *const device = weft_context_device(bench->context);
    cJSON *const object = cJSON_CreateObject();
    const bool filled = object && cJSON_AddStringToObject(object, "net", model->network->name) &&
                        cJSON_AddStringToObject(object, "mode", mode_of(model)) &&
                        add_numbers(object, model, f, device->compute_units) &&
                        cJSON_AddStringToObject(object, "device", device->name);
    weft_status status = filled ? WEFT_OK : WEFT_ERROR_MEMORY;
    if (filled && bench->options.profile) status = add_profile(object, f);
    char *const text = status == WEFT_OK ? cJSON_PrintUnformatted(object) : NULL;
    if (text) printf("%s\n", text);
    cJSON_free(text);
    cJSON_Delete(object);
    if (status == WEFT_OK && !text) WI_FAIL(WEFT_ERROR_MEMORY, "out of memory while printing a result");
    return status;
}

/* ---- what is asked for ---- */

static weft_status run_model(const bench_state *bench, const bench_network *network, int64_t batch) {
    bench_model model;
    bench_figure figure = {0};
    const bench_options *const options = &bench->options;
    const bench_setting setting = {.batch = batch,
        .inference = options->inference,
        .precision = options->precision,
        .memory_limit = options->is_percent ? 0 : (size_t)options->memory,
        .memory_percent = options->is_percent ? (int)options->memory : 0};
    weft_status status = bench_model_create(&model, bench->context, network, &setting);
    if (status == WEFT_OK) status = measure(&figure, bench, &model);
    if (status == WEFT_OK && bench->options.json)
        status = print_json(bench, &model, &figure);
    else if (status == WEFT_OK)
        status = print_figure(bench, &model, &figure);
    weft_profile_release(figure.profile);
    bench_model_clear(&model);
    return status;
}

static bool is_usual(const bench_options *options, const bench_network *network) {
    const bench_set usual = options->inference ? BENCH_INFERENCE : BENCH_SEVEN;
    return options->all || network->sets & usual;
}

static weft_status run_network(const bench_state *bench, const bench_network *network) {
    const bench_options *const options = &bench->options;
    const bool both = options->inference && options->batch == 0;
    WI_TRY(run_model(bench, network, both ? 1 : options->batch));
    return both ? run_model(bench, network, 32) : WEFT_OK;
}

static weft_status run(bench_state *bench) {
    const bench_options *const options = &bench->options;
    WI_TRY(bench_peak_create(&bench->peak, bench->context, false));
    WI_TRY(bench_copy_create(&bench->copy, bench->context, COPY_BYTES));
    WI_TRY(bench_copy_size(&bench->copy, bench->context, 2.0 * COPY_BYTES, &bench->copied));
    if (!options->json) print_heading(bench);
    for (size_t i = 0; i < options->asked_count; i++) WI_TRY(run_network(bench, &options->asked[i]));
    for (size_t i = 0; options->asked_count == 0 && i < bench_network_count; i++)
        if (is_usual(options, &bench_networks[i])) WI_TRY(run_network(bench, &bench_networks[i]));
    return WEFT_OK;
}

/* ---- options ---- */

static const char help[] =
    "usage: weft bench seven [OPTION]...\n"
    "Measures training steps of whole networks.\n"
    "  --only NAME       measures this network, or an ONNX file whose name ends in .onnx; can be\n"
    "                    repeated; default the seven networks of the table: FCN-S AlexNet-S\n"
    "                    ResNet-50 FCN-R AlexNet-R ResNet-56 LSTM\n"
    "  --all             adds VGG-16, GoogLeNet, MobileNet-v2, digits-MLP and digits-CNN\n"
    "  --inference       measures predictions instead of training steps, at batch sizes 1 and 32,\n"
    "                    by default of AlexNet-S, ResNet-50 and LSTM\n"
    "  --batch N         batch size; default that of each network\n"
    "  --steps N         measured steps of each network, or of each pair; default 5\n"
    "  --compare COMMAND runs a command alternately with our steps and prints the ratios of our\n"
    "                    time to its time; {net} in the command is replaced by the network's name\n"
    "  --pairs N         pairs of measurements for --compare, 5 or more; default 5\n"
    "  --memory-limit N  memory limit of the plan in bytes, or N% of the memory without a limit\n"
    "  --device SEL      device; see weft --help\n"
    "  --profile         prints the time of each step of the plan, of the fastest of three runs\n"
    "  --precision NAME  f32, or mixed precision: bf16 or f16; default f32\n"
    "  --trace FILE      writes the profiled run of one network for ui.perfetto.dev or\n"
    "                    chrome://tracing\n"
    "  --json            prints one JSON object per line\n";

static bool read_whole(int64_t *number, const char *text, int64_t least, int64_t most) {
    char *end;
    *number = strtoll(text, &end, 10);
    return *text && !*end && *number >= least && *number <= most;
}

static bool read_memory(bench_options *options, const char *text) {
    char *end;
    options->memory = strtoll(text, &end, 10);
    options->is_percent = strcmp(end, "%") == 0;
    if (options->is_percent) return options->memory >= 1 && options->memory <= 100;
    return end != text && !*end && options->memory >= 1;
}

static bool ask_for(bench_options *options, const char *name) {
    const bench_network *const network = bench_network_find(name);
    bench_network *const own = &options->asked[options->asked_count];
    if (options->asked_count == MAX_NETWORKS) return false;
    if (network)
        *own = *network;
    else if (!file_network_is_path(name) || file_network_open(own, name) != WEFT_OK)
        return false;
    options->asked_count++;
    return true;
}

static bool take_value(bench_options *options, const char *name, const char *value) {
    if (strcmp(name, "--only") == 0) return ask_for(options, value);
    if (strcmp(name, "--batch") == 0) return read_whole(&options->batch, value, 1, 1 << 20);
    if (strcmp(name, "--steps") == 0) return read_whole(&options->steps, value, 1, MAX_ROUNDS);
    if (strcmp(name, "--pairs") == 0) return read_whole(&options->pairs, value, FEWEST_PAIRS, MAX_PAIRS);
    if (strcmp(name, "--memory-limit") == 0) return read_memory(options, value);
    if (strcmp(name, "--precision") == 0) return bench_read_precision(&options->precision, value);
    if (strcmp(name, "--compare") == 0) return *(options->compare = value) != '\0';
    if (strcmp(name, "--trace") == 0) return *(options->trace = value) != '\0';
    options->device = value;
    return true;
}

static bool takes_value(const char *name) {
    static const char *const names[] = {"--only", "--batch", "--steps", "--pairs", "--memory-limit",
        "--precision", "--compare", "--trace", "--device"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

static bool take_flag(bench_options *options, const char *name) {
    bool *const flag = strcmp(name, "--all") == 0         ? &options->all
                       : strcmp(name, "--inference") == 0 ? &options->inference
                       : strcmp(name, "--json") == 0      ? &options->json
                       : strcmp(name, "--profile") == 0   ? &options->profile
                                                          : NULL;
    if (flag) *flag = true;
    return flag != NULL;
}

/* A trace is a file of its own: one network at one batch size. */
static bool can_trace(const bench_options *options) {
    return !options->trace || (options->asked_count == 1 && !(options->inference && options->batch == 0));
}

static bool parse(bench_options *options, int argc, char **argv) {
    for (int i = 0; i < argc; i++) {
        if (take_flag(options, argv[i])) continue;
        if (!takes_value(argv[i]))
            return fprintf(stderr, "weft: %s is not an option; see weft bench seven --help\n", argv[i]),
                   false;
        if (i + 1 == argc) return fprintf(stderr, "weft: %s needs a value\n", argv[i]), false;
        if (!take_value(options, argv[i], argv[i + 1]))
            return fprintf(stderr, "weft: %s cannot be '%s'\n", argv[i], argv[i + 1]), false;
        i++;
    }
    if (can_trace(options)) return true;
    fprintf(stderr, "weft: --trace needs exactly one network (--only), and with --inference one --batch\n");
    return false;
}

int weft_bench_seven(int argc, char **argv) {
    bench_state bench = {.options = {.steps = 5, .pairs = FEWEST_PAIRS}};
    if (argc == 1 && strcmp(argv[0], "--help") == 0) return fputs(help, stdout) < 0;
    if (!parse(&bench.options, argc, argv)) return 2;
    const weft_context_options options = {TOOL_CONTEXT_OPTIONS_INIT, .device = bench.options.device};
    weft_status status = bench.options.trace ? weft_output_check(bench.options.trace) : WEFT_OK;
    if (status == WEFT_OK) status = weft_context_create(&bench.context, &options);
    if (status == WEFT_OK) {
        status = run(&bench);
        bench_peak_clear(&bench.peak, bench.context);
        bench_copy_clear(&bench.copy, bench.context);
    }
    if (status != WEFT_OK) fprintf(stderr, "weft: %s\n", weft_last_error());
    weft_context_release(bench.context);
    return status != WEFT_OK;
}
