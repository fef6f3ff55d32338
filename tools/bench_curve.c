/* See bench_curve.h. */
#include "bench_curve.h"
#include "base/memory.h"
#include "base/status.h"
#include "bench_measure.h"
#include "bench_networks.h"
#include "console.h"
#include "curve_trainer.h"
#include "show_warning.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct curve_options {
    const bench_network *network;
    const char *batches, *weights, *device, *csv_log;
    bench_setting setting;
    int64_t steps, shards; /* shards 0: without a trainer */
} curve_options;

static const char help[] =
    "usage: weft bench curve NETWORK --batches FILE [OPTION]...\n"
    "Trains a network of 'weft bench seven' by SGD on given batches and prints the loss of each step.\n"
    "  --batches FILE    raw arrays, for each step: the examples (f32, channels last; tokens i32),\n"
    "                    then the labels (i32)\n"
    "  --weights FILE    writes the initial weights to this safetensors file\n"
    "  --steps N         number of steps; default 300\n"
    "  --batch N         batch size; default that of the network\n"
    "  --rate R          learning rate; default that of 'weft bench seven'\n"
    "  --precision NAME  f32, or mixed precision: bf16 or f16; default f32\n"
    "  --shards N        trains by a trainer with N gradient shards for each process, among the\n"
    "                    processes of a launcher; --batch is that of all processes\n"
    "  --csv-log FILE    with --shards: the file for the losses, which are not printed\n"
    "  --device SEL      device; see weft --help\n";

/* ---- training ---- */

static weft_status read_source(const bench_model *model, int source, FILE *file, const char *path) {
    const size_t count = (size_t)model->sources[source].count;
    uint32_t *const values = wi_allocate_array(NULL, count, sizeof *values);
    if (!values) return WEFT_ERROR_MEMORY;
    const bool whole = fread(values, sizeof *values, count, file) == count;
    const weft_status status =
        whole ? weft_plan_write(model->plan, model->sources[source].tensor, values, count * sizeof *values)
              : WEFT_ERROR_FILE;
    wi_release(NULL, values);
    if (!whole)
        WI_FAIL(WEFT_ERROR_FILE, "'%s' has fewer batches than steps; see weft bench curve --help", path);
    return status;
}

static weft_status train_step(const bench_model *model, FILE *file, const char *path) {
    float loss;
    for (int i = 0; i < 2; i++) WI_TRY(read_source(model, i, file, path));
    WI_TRY(weft_plan_run(model->plan));
    WI_TRY(weft_plan_read(model->plan, model->loss, &loss, sizeof loss));
    printf("%.9g\n", (double)loss);
    return WEFT_OK;
}

static weft_status train(weft_context *context, const curve_options *options) {
    bench_model model;
    FILE *const file = console_open(options->batches, "rb");
    if (!file) WI_FAIL(WEFT_ERROR_FILE, "cannot read '%s': %s", options->batches, strerror(errno));
    weft_status status = bench_model_create(&model, context, options->network, &options->setting);
    if (status == WEFT_OK && options->weights) status = weft_weights_save(model.graph, options->weights);
    for (int64_t i = 0; i < options->steps && status == WEFT_OK; i++)
        status = train_step(&model, file, options->batches);
    bench_model_clear(&model);
    fclose(file);
    return status;
}

static weft_status train_together(weft_context *context, const curve_options *options) {
    const bench_setting *const setting = &options->setting;
    const curve_training training = {.network = options->network,
        .batches = options->batches,
        .weights = options->weights,
        .csv_log = options->csv_log,
        .steps = (size_t)options->steps,
        .batch = (size_t)(setting->batch ? setting->batch : options->network->batch),
        .shards = (size_t)options->shards,
        .rate = setting->rate,
        .precision = setting->precision};
    weft_distributed *job = NULL;
    weft_status status = bench_has_launcher() ? weft_distributed_open(&job, context, NULL) : WEFT_OK;
    if (status == WEFT_OK) status = curve_train(context, job, &training);
    weft_distributed_release(job);
    return status;
}

/* ---- what is asked for ---- */

static bool read_number(double *number, const char *text, double least) {
    char *end;
    *number = strtod(text, &end);
    return end != text && !*end && *number >= least && *number <= 1e6;
}

static bool take_value(curve_options *options, const char *name, const char *value) {
    double number = 1;
    const bool whole =
        strcmp(name, "--steps") == 0 || strcmp(name, "--batch") == 0 || strcmp(name, "--shards") == 0;
    if (whole && (!read_number(&number, value, 1) || number != floor(number))) return false;
    if (strcmp(name, "--steps") == 0) options->steps = (int64_t)number;
    if (strcmp(name, "--batch") == 0) options->setting.batch = (int64_t)number;
    if (strcmp(name, "--shards") == 0) options->shards = (int64_t)number;
    if (strcmp(name, "--csv-log") == 0) options->csv_log = value;
    if (strcmp(name, "--batches") == 0) options->batches = value;
    if (strcmp(name, "--weights") == 0) options->weights = value;
    if (strcmp(name, "--device") == 0) options->device = value;
    if (strcmp(name, "--precision") == 0) return bench_read_precision(&options->setting.precision, value);
    if (strcmp(name, "--rate") != 0) return true;
    options->setting.rate = read_number(&number, value, 1e-9) ? (float)number : 0;
    return options->setting.rate > 0;
}

static bool takes_value(const char *name) {
    static const char *const names[] = {"--batches", "--weights", "--steps", "--batch", "--rate",
        "--precision", "--shards", "--csv-log", "--device"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

static bool refuse(const char *format, const char *first, const char *second) {
    fprintf(stderr, format, first, second);
    return false;
}

static bool parse(curve_options *options, int argc, char **argv) {
    for (int i = 0; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) != 0) {
            options->network = bench_network_find(argv[i]);
            if (!options->network)
                return refuse("weft: %s is not a network%s; see weft bench curve --help\n", argv[i], "");
        } else if (!takes_value(argv[i])) {
            return refuse("weft: %s is not an option%s; see weft bench curve --help\n", argv[i], "");
        } else if (i + 1 == argc) {
            return refuse("weft: %s needs a value%s; see weft bench curve --help\n", argv[i], "");
        } else if (!take_value(options, argv[i], argv[i + 1])) {
            return refuse("weft: %s cannot be '%s'; see weft bench curve --help\n", argv[i], argv[i + 1]);
        } else {
            i++;
        }
    }
    if (!options->shards != !options->csv_log)
        return refuse(
            "weft: --shards and --csv-log need each other%s%s; see weft bench curve --help\n", "", "");
    if (options->network && options->batches) return true;
    return refuse("weft: a network and --batches are required%s%s; see weft bench curve --help\n", "", "");
}

int weft_bench_curve(int argc, char **argv) {
    curve_options asked = {.steps = 300};
    if (argc == 1 && strcmp(argv[0], "--help") == 0) return fputs(help, stdout) < 0;
    if (!parse(&asked, argc, argv)) return 2;
    weft_context *context = NULL;
    const weft_context_options options = {TOOL_CONTEXT_OPTIONS_INIT, .device = asked.device};
    weft_status status = weft_context_create(&context, &options);
    if (status == WEFT_OK) status = asked.shards ? train_together(context, &asked) : train(context, &asked);
    if (status != WEFT_OK) fprintf(stderr, "weft: %s\n", weft_last_error());
    weft_context_release(context);
    return status != WEFT_OK;
}
