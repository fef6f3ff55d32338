/* See advise.h: what is asked for, the measurements one after the other, the table and the advice. */
#include "advise.h"
#include "advise_match.h"
#include "advise_measure.h"
#include "advise_predict.h"
#include "advise_table.h"
#include "base/memory.h"
#include "base/platform.h"
#include "cl/known_devices.h"
#include "file_network.h"
#include "in_child.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NETWORKS = 32, MOST_PRICES = 32, MOST_THREADS = 16, MOST_ROWS = 256, LEAST_WIDTH = 22 };
enum { SHORT_SECONDS = 40 }; /* after which no further network is begun, where none is named */

typedef struct price {
    char device[ADVISE_TEXT]; /* a selector, or a part of a data sheet's name */
    double hourly;
} price;

typedef struct advise {
    bench_network asked[MOST_NETWORKS];
    size_t asked_count;
    bool is_short; /* nothing is named: a minute's work */
    price prices[MOST_PRICES];
    size_t price_count;
    int64_t threads[MOST_THREADS];
    size_t thread_count; /* 0: 1, 2, 4, ... and all */
    int64_t examples, steps, batch;
    const char *device; /* NULL: every one */
    advise_row rows[MOST_ROWS];
    size_t count;
    double least_ratio, most_ratio; /* of estimates to measurements; 0: none */
    advise_table table;             /* of all networks */
} advise;

/* ---- devices and prices ---- */

static double price_of(const advise *a, const char *name, const char *selector) {
    for (size_t i = a->price_count; i > 0; i--)
        if (advise_is_of(a->prices[i - 1].device, name, selector)) return a->prices[i - 1].hourly;
    return (double)NAN;
}

static advise_row *add_row(advise *a, const char *name, const char *selector) {
    if (a->count == MOST_ROWS) return NULL;
    advise_row *const row = &a->rows[a->count++];
    *row = (advise_row){.hourly = price_of(a, name, selector)};
    snprintf(row->name, sizeof row->name, "%.*s", ADVISE_TEXT - 1, name);
    snprintf(row->selector, sizeof row->selector, "%s", selector);
    return row;
}

/* ---- measuring and estimating ---- */

static weft_status measure(
    advise *a, const weft_device_info *device, const bench_network *network, int64_t threads) {
    const advise_measurement wanted = {network, a->batch, a->steps};
    advise_row *const row = add_row(a, device->name, device->selector);
    if (!row) WI_FAIL(WEFT_ERROR_ARGUMENT, "more than %d lines", MOST_ROWS);
    WI_TRY(advise_measure(row, &wanted, threads));
    /* A driver that goes its own way has been measured already. */
    if (threads > 0 && row->failure[0] == '\0' && row->threads != threads) a->count--;
    return WEFT_OK;
}

/* The same estimate as for devices that are not here, with the figures that were measured beside the step. */
static weft_status compare_estimate(
    advise *a, const weft_device_info *device, const bench_network *network, const advise_row *row) {
    const advise_figures figures = {
        .selector = device->selector, .units = row->threads, .flops = row->peak, .bandwidth = row->bandwidth};
    double seconds, bytes;
    if (row->failure[0] || row->threads < 1 || !(row->peak > 0) || !(row->bandwidth > 0)) return WEFT_OK;
    WI_TRY(advise_predict(&seconds, &bytes, &figures, network, a->batch));
    const double ratio = seconds / row->step;
    if (a->least_ratio == 0 || ratio < a->least_ratio) a->least_ratio = ratio;
    if (ratio > a->most_ratio) a->most_ratio = ratio;
    return WEFT_OK;
}

static weft_status measure_device(advise *a, const weft_device_info *device, const bench_network *network) {
    const size_t before = a->count;
    if (!advise_takes_threads(device)) {
        WI_TRY(measure(a, device, network, 0));
    } else if (a->thread_count > 0) {
        for (size_t i = 0; i < a->thread_count; i++) WI_TRY(measure(a, device, network, a->threads[i]));
    } else {
        for (int64_t n = 1; n < device->compute_units; n *= 2) WI_TRY(measure(a, device, network, n));
        WI_TRY(measure(a, device, network, device->compute_units));
    }
    return a->count > before ? compare_estimate(a, device, network, &a->rows[a->count - 1]) : WEFT_OK;
}

static bool is_wanted(const advise *a, const weft_device_info *device) {
    return !a->device || advise_selects(a->device, device->selector);
}

static weft_status measure_here(advise *a, const bench_network *network, char *first) {
    size_t count = 0;
    WI_TRY(weft_device_count(&count));
    for (size_t i = 0; i < count; i++) {
        weft_device_info device;
        if (weft_device_get(i, &device) != WEFT_OK || !is_wanted(a, &device)) continue;
        if (!*first) memcpy(first, device.selector, sizeof device.selector);
        WI_TRY(measure_device(a, &device, network));
    }
    if (*first) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_NO_DEVICE,
        a->device ? "no device matches '%s'; 'weft devices' lists the devices"
                  : "there is no OpenCL device on this machine%s",
        a->device ? a->device : "");
}

static weft_status expect(
    advise *a, const bench_network *network, const char *planner, const wi_known_device *known) {
    const advise_figures figures = {.selector = planner, .known = known};
    advise_row *const row = add_row(a, known->title, "");
    if (!row) WI_FAIL(WEFT_ERROR_ARGUMENT, "more than %d lines", MOST_ROWS);
    row->expected = true;
    row->first = (double)NAN;
    WI_TRY(advise_predict(&row->step, &row->bytes, &figures, network, a->batch));
    if (row->bytes > known->facts.gibibytes * 0x1p30)
        snprintf(row->failure, sizeof row->failure, "does not fit into its %.0f GiB", known->facts.gibibytes);
    return WEFT_OK;
}

static weft_status expect_others(advise *a, const bench_network *network, const char *planner) {
    const wi_known_device *known;
    for (int i = 0; (known = wi_known_device_row(i)) != NULL; i++)
        if (known->title) WI_TRY(expect(a, network, planner, known));
    return WEFT_OK;
}

/* ---- the table ---- */

static double steps_of(const advise *a, const bench_network *network) {
    return ceil((double)a->examples / (double)(a->batch ? a->batch : network->batch));
}

static double cost_of(const advise *a, const bench_network *network, const advise_row *row) {
    return row->hourly * row->step * steps_of(a, network) / 3600;
}

static void print_figure(const char *form, double number) {
    if (isnan(number))
        printf("%12s", "-");
    else
        printf(form, number);
}

static void print_row(const advise *a, const bench_network *network, const advise_row *row, int width) {
    char name[2 * ADVISE_TEXT], threads[24] = "-";
    advise_row_title(name, row);
    if (row->threads > 0) snprintf(threads, sizeof threads, "%lld", (long long)row->threads);
    printf("%-*.*s%8s", width, width - 1, name, threads);
    if (row->failure[0]) {
        printf("  %s\n", row->failure);
        return;
    }
    print_figure("%12.2f", 1e3 * row->step);
    print_figure("%12.2f", row->first);
    print_figure("%12.1f", row->bytes / 0x1p20);
    print_figure("%12.1f", row->step * steps_of(a, network));
    print_figure("%12.4g", cost_of(a, network, row));
    printf("%s\n", row->expected ? "  expected" : "");
}

static void print_table(const advise *a, const bench_network *network) {
    const int width = advise_title_width(a->rows, a->count, LEAST_WIDTH);
    printf("%s: training steps of %lld examples, epochs of %lld examples\n", network->name,
        (long long)(a->batch ? a->batch : network->batch), (long long)a->examples);
    printf("%-*s%8s%12s%12s%12s%12s%12s\n", width, "device", "units", "step ms", "first s", "MiB", "epoch s",
        "epoch cost");
    for (size_t i = 0; i < a->count; i++) print_row(a, network, &a->rows[i], width);
}

/* ---- the advice ---- */

static bool is_usable(const advise_row *row) {
    return row->failure[0] == '\0' && row->step > 0;
}

/* The one with the least time, or with a price the least cost, among those that are measured, or that are expected. */
static const advise_row *best_of(const advise *a, bool expected, bool by_cost) {
    const advise_row *best = NULL;
    for (size_t i = 0; i < a->count; i++) {
        const advise_row *const row = &a->rows[i];
        if (row->expected != expected || !is_usable(row) || (by_cost && isnan(row->hourly))) continue;
        const double own = by_cost ? row->hourly * row->step : row->step;
        if (!best || own < (by_cost ? best->hourly * best->step : best->step)) best = row;
    }
    return best;
}

static void print_name(const advise_row *row) {
    printf("%s", row->name);
    if (row->threads > 0) printf(" with %lld unit%s", (long long)row->threads, row->threads == 1 ? "" : "s");
}

static void advise_by_time(const advise *a, const bench_network *network) {
    const advise_row *const here = best_of(a, false, false), *const other = best_of(a, true, false);
    if (!here) {
        printf("No device of this machine could be measured.\n");
        return;
    }
    const double steps = steps_of(a, network), epoch = here->step * steps;
    printf("Fastest device of this machine: ");
    print_name(here);
    printf(", %.*f s per epoch.", epoch < 100 ? 2 : 0, epoch);
    if (other && other->step * 2 > here->step)
        printf(" No other device is expected to be twice as fast.\n");
    else if (other)
        printf(" Fastest of the other devices: %s, expected %.2g s per epoch.\n", other->name,
            other->step * steps);
    else
        printf("\n");
}

static void advise_by_cost(const advise *a, const bench_network *network) {
    const advise_row *const here = best_of(a, false, true), *const other = best_of(a, true, true);
    const advise_row *const best =
        !here || (other && other->hourly * other->step < here->hourly * here->step) ? other : here;
    if (!best) return;
    printf("Cheapest of the devices with a price: ");
    print_name(best);
    printf(", %s%.3g per epoch.\n", best->expected ? "expected " : "", cost_of(a, network, best));
}

/* How far expected times may be off, as far as that is known. */
static void print_error(const advise *a) {
    puts("Expected times are estimates from data sheets for kernels as fast as the vendor's own: for "
         "ResNet-50 in f32");
    puts("on a V100 they agree with the times that NVIDIA publishes. Weft's kernels have not run on a GPU "
         "and may be slower.");
    if (a->least_ratio == 0) return;
    printf("On the devices of this machine, estimates from measured peak and bandwidth are %.2f",
        a->least_ratio);
    if (a->most_ratio > a->least_ratio) printf(" to %.2f", a->most_ratio);
    printf(" times the measured times.\n");
}

static void print_advice(const advise *a, const bench_network *network) {
    advise_by_time(a, network);
    advise_by_cost(a, network);
    print_error(a);
    printf("\n");
}

static weft_status run_network(advise *a, const bench_network *network) {
    char planner[16] = "", doing[128];
    a->count = 0;
    snprintf(doing, sizeof doing, "planning %s to estimate its times", network->name);
    in_child_say(doing);
    a->least_ratio = a->most_ratio = 0;
    WI_TRY(measure_here(a, network, planner));
    WI_TRY(expect_others(a, network, planner));
    print_table(a, network);
    print_advice(a, network);
    advise_table_add(&a->table, network->name, a->rows, a->count);
    return WEFT_OK;
}

/* ---- options ---- */

static const char help[] =
    "usage: weft advise [OPTION]... [NETWORK|seven|FILE.onnx]...\n"
    "Measures a training step on every device of this machine, each in a process of its own, and\n"
    "estimates the time on other devices from their data sheets.\n"
    "  NETWORK           a network of 'weft bench seven' (ResNet-50, LSTM, digits-CNN, ...), or seven:\n"
    "                    all networks of its table, which takes minutes; default: three small ones\n"
    "  FILE.onnx         a network of your own, with the batch size of the file, else 16; the loss is\n"
    "                    the mean of the squares of its outputs\n"
    "  --hourly DEVICE=PRICE\n"
    "                    price of an hour on a device: gpu, cpu, part of a name, or a position such\n"
    "                    as 0:1; can be repeated, and the last that matches a device counts\n"
    "  --examples N      examples per epoch; default 100000\n"
    "  --threads N,N,... thread counts to measure, of processors with PoCL; default 1, 2, 4, ... all\n"
    "  --batch N         batch size; default that of each network\n"
    "  --steps N         measured steps; default 3\n"
    "  --device SEL      measures only these devices: gpu, cpu, part of a name, or a position\n";

static bool read_whole(int64_t *number, const char *text, char end, const char **rest) {
    char *stop;
    *number = strtoll(text, &stop, 10);
    if (rest) *rest = stop;
    return isdigit((unsigned char)*text) && (*stop == '\0' || *stop == end) && *number >= 1 &&
           *number <= 1 << 30;
}

static bool read_threads(advise *a, const char *text) {
    a->thread_count = 0;
    for (;; text++) {
        if (a->thread_count == MOST_THREADS || !read_whole(&a->threads[a->thread_count++], text, ',', &text))
            return false;
        if (*text == '\0') return true;
    }
}

static bool read_price(advise *a, const char *text) {
    const char *const equals = strrchr(text, '=');
    char *end;
    if (!equals || equals == text || a->price_count == MOST_PRICES) return false;
    price *const p = &a->prices[a->price_count++];
    *p = (price){.hourly = strtod(equals + 1, &end)};
    if (equals - text >= ADVISE_TEXT) return false;
    memcpy(p->device, text, (size_t)(equals - text));
    return end != equals + 1 && *end == '\0' && isfinite(p->hourly) && p->hourly >= 0;
}

/* Once, however often it is named. */
static bool add_network(advise *a, const bench_network *network) {
    for (size_t i = 0; i < a->asked_count; i++)
        if (strcmp(a->asked[i].name, network->name) == 0 && !network->file) return true;
    if (a->asked_count == MOST_NETWORKS) return false;
    a->asked[a->asked_count++] = *network;
    return true;
}

static bool ask_for_set(advise *a, bench_set set) {
    bool good = true;
    for (size_t i = 0; i < bench_network_count; i++)
        if (bench_networks[i].sets & set) good = good && add_network(a, &bench_networks[i]);
    return good;
}

static bool ask_for(advise *a, const char *name) {
    const bench_network *const network = bench_network_find(name);
    bench_network own;
    if (network) return add_network(a, network);
    if (file_network_is_path(name)) return file_network_open(&own, name) == WEFT_OK && add_network(a, &own);
    return strcmp(name, "seven") == 0 && ask_for_set(a, BENCH_SEVEN);
}

/* 1: taken; 0: no such option; -1: a bad value. */
static int take_value(advise *a, const char *name, const char *value) {
    bool good = true;
    if (strcmp(name, "--hourly") == 0)
        good = read_price(a, value);
    else if (strcmp(name, "--threads") == 0)
        good = read_threads(a, value);
    else if (strcmp(name, "--examples") == 0)
        good = read_whole(&a->examples, value, '\0', NULL);
    else if (strcmp(name, "--batch") == 0)
        good = read_whole(&a->batch, value, '\0', NULL) && a->batch <= 1 << 20;
    else if (strcmp(name, "--steps") == 0)
        good = read_whole(&a->steps, value, '\0', NULL) && a->steps <= 10000;
    else if (strcmp(name, "--device") == 0)
        good = *(a->device = value) != '\0';
    else
        return 0;
    return good ? 1 : -1;
}

static bool refuse(const char *form, const char *name, const char *value) {
    fputs("weft: ", stderr);
    fprintf(stderr, form, name, value);
    fputs("; see weft advise --help\n", stderr);
    return false;
}

static bool refuse_value(const char *name, const char *value) {
    if (strcmp(name, "--hourly") == 0)
        return refuse("%s '%s' is not DEVICE=PRICE with a price of 0 or more", name, value);
    if (strcmp(name, "--threads") == 0)
        return refuse(
            "%s '%s' is not a list of whole numbers of 1 or more, separated by commas", name, value);
    if (strcmp(name, "--device") == 0) return refuse("%s '%s' is not a device", name, value);
    return refuse("%s '%s' is not a whole number of 1 or more, or is too large", name, value);
}

/* A file that cannot be read says why. */
static bool refuse_network(const char *name) {
    if (!file_network_is_path(name))
        return refuse(
            "'%s' is neither a network of weft bench seven nor a file whose name ends in .onnx%s", name, "");
    fprintf(stderr, "weft: %s\n", weft_last_error());
    return false;
}

static bool parse(advise *a, int argc, char **argv) {
    for (int i = 0; i < argc; i++) {
        const char *const name = argv[i], *const value = i + 1 < argc ? argv[i + 1] : NULL;
        if (name[0] != '-' && !ask_for(a, name)) return refuse_network(name);
        if (name[0] != '-') continue;
        const int taken = take_value(a, name, value ? value : "");
        if (taken == 0) return refuse("%s is not an option%s", name, "");
        if (!value) return refuse("%s needs a value%s", name, "");
        if (taken < 0) return refuse_value(name, value);
        i++;
    }
    for (size_t i = 0; i < a->price_count; i++) {
        if (!advise_is_anywhere(a->prices[i].device))
            return refuse("--hourly: neither a device of this machine nor one of the table matches '%s'%s",
                a->prices[i].device, "");
    }
    a->is_short = a->asked_count == 0;
    return !a->is_short || ask_for_set(a, BENCH_SHORT);
}

typedef struct arguments {
    int count;
    char **texts;
} arguments;

static int run(const void *data) {
    static advise a = {.examples = 100000, .steps = 3};
    const arguments *const given = data;
    weft_status status = WEFT_OK;
    in_child_say("listing the devices");
    if (!parse(&a, given->count, given->texts)) return 2;
    const double begin = wi_clock_seconds();
    for (size_t i = 0; i < a.asked_count && status == WEFT_OK; i++) {
        if (i == 0 || !a.is_short || wi_clock_seconds() - begin < SHORT_SECONDS)
            status = run_network(&a, &a.asked[i]);
        else
            printf(
                "%s is left out to keep the time below a minute; name it to measure it.\n", a.asked[i].name);
    }
    if (a.is_short)
        puts("To measure other networks, name them; 'weft advise seven' measures the larger ones, too, in "
             "some minutes.");
    if (a.table.network_count > 1) advise_table_print(&a.table);
    if (status != WEFT_OK) fprintf(stderr, "weft: %s\n", weft_last_error());
    return status != WEFT_OK;
}

int weft_advise(int argc, char **argv) {
    const arguments given = {argc, argv};
    in_child_end end;
    if (argc == 1 && strcmp(argv[0], "--help") == 0) return fputs(help, stdout) < 0;
    in_child(&end, run, &given);
    if (end.signal == 0) return end.status;
    fprintf(stderr, "weft: the driver ended the process with signal %d while %s\n", end.signal, end.said);
    return 1;
}
