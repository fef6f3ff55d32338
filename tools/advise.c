/* See advise.h: what is asked for, the measurements one after the other, the table and the advice. */
#include "advise.h"
#include "advise_match.h"
#include "advise_measure.h"
#include "advise_options.h"
#include "advise_predict.h"
#include "advise_table.h"
#include "base/memory.h"
#include "base/platform.h"
#include "cl/known_devices.h"
#include "in_child.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 256, LEAST_WIDTH = 22 };
enum { SHORT_SECONDS = 40 }; /* after which no further network is begun, where none is named */

typedef struct advise {
    advise_options options;
    advise_row rows[MOST_ROWS];
    size_t count;
    double gradient_bytes;          /* of the network */
    double least_ratio, most_ratio; /* of estimates to measurements; 0: none */
    advise_table table;             /* of all networks */
} advise;

/* ---- devices and prices ---- */

static double price_of(const advise *a, const char *name, const char *selector) {
    for (size_t i = a->options.price_count; i > 0; i--)
        if (advise_is_of(a->options.prices[i - 1].device, name, selector))
            return a->options.prices[i - 1].hourly;
    return (double)NAN;
}

static advise_row *add_row(advise *a, const char *name, const char *selector) {
    if (a->count == MOST_ROWS) return NULL;
    advise_row *const row = &a->rows[a->count++];
    *row = (advise_row){.copies = 1, .hourly = price_of(a, name, selector)};
    snprintf(row->name, sizeof row->name, "%.*s", ADVISE_TEXT - 1, name);
    snprintf(row->selector, sizeof row->selector, "%s", selector);
    return row;
}

/* ---- measuring and estimating ---- */

static weft_status measure(
    advise *a, const weft_device_info *device, const bench_network *network, int64_t threads) {
    const advise_measurement wanted = {network, a->options.batch, a->options.steps};
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
    advise_prediction expected;
    if (row->failure[0] || row->threads < 1 || !(row->peak > 0) || !(row->bandwidth > 0)) return WEFT_OK;
    WI_TRY(advise_predict(&expected, &figures, network, a->options.batch));
    const double ratio = expected.seconds / row->step;
    if (a->least_ratio == 0 || ratio < a->least_ratio) a->least_ratio = ratio;
    if (ratio > a->most_ratio) a->most_ratio = ratio;
    return WEFT_OK;
}

static weft_status measure_device(advise *a, const weft_device_info *device, const bench_network *network) {
    const size_t before = a->count;
    if (!advise_takes_threads(device)) {
        WI_TRY(measure(a, device, network, 0));
    } else if (a->options.thread_count > 0) {
        for (size_t i = 0; i < a->options.thread_count; i++)
            WI_TRY(measure(a, device, network, a->options.threads[i]));
    } else {
        for (int64_t n = 1; n < device->compute_units; n *= 2) WI_TRY(measure(a, device, network, n));
        WI_TRY(measure(a, device, network, device->compute_units));
    }
    return a->count > before ? compare_estimate(a, device, network, &a->rows[a->count - 1]) : WEFT_OK;
}

static bool is_wanted(const advise *a, const weft_device_info *device) {
    return !a->options.device || advise_selects(a->options.device, device->selector);
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
        a->options.device ? "no device matches '%s'; 'weft devices' lists the devices"
                          : "there is no OpenCL device on this machine%s",
        a->options.device ? a->options.device : "");
}

static weft_status expect(
    advise *a, const bench_network *network, const char *planner, const wi_known_device *known) {
    const advise_figures figures = {.selector = planner, .known = known};
    advise_row *const row = add_row(a, known->title, "");
    if (!row) WI_FAIL(WEFT_ERROR_ARGUMENT, "more than %d lines", MOST_ROWS);
    advise_prediction expected;
    row->expected = true;
    row->first = (double)NAN;
    WI_TRY(advise_predict(&expected, &figures, network, a->options.batch));
    row->step = expected.seconds;
    row->bytes = expected.bytes;
    a->gradient_bytes = expected.gradient_bytes;
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

static bool is_usable(const advise_row *row) {
    return row->failure[0] == '\0' && row->step > 0;
}

/* Of a device of this machine that was measured with several numbers of cores, only the last line becomes one of several devices. */
static bool is_last(const advise *a, size_t row) {
    return a->rows[row].expected || row + 1 == a->count ||
           strcmp(a->rows[row].selector, a->rows[row + 1].selector) != 0;
}

/* A line for several devices of each kind. */
static void expect_several(advise *a) {
    const advise_scale *const scale = &a->options.scale;
    const int64_t copies = advise_scale_count(scale);
    const size_t count = copies > 1 ? a->count : 0;
    for (size_t i = 0; i < count && a->count < MOST_ROWS; i++) {
        if (!is_usable(&a->rows[i]) || !is_last(a, i)) continue;
        const advise_row of = a->rows[i];
        advise_row *const row = &a->rows[a->count++];
        *row = of;
        snprintf(row->name, sizeof row->name, "%lld x %.*s", (long long)copies, ADVISE_TEXT - 24, of.name);
        row->selector[0] = '\0';
        row->expected = true;
        row->copies = copies;
        row->hourly *= (double)copies;
        row->step = advise_scale_step(scale, row->step, a->gradient_bytes);
        row->bytes = advise_scale_device_bytes(row->bytes, a->gradient_bytes);
        row->first = (double)NAN;
    }
}

/* ---- the table ---- */

static double steps_of(const advise *a, const bench_network *network, const advise_row *row) {
    const int64_t batch = a->options.batch ? a->options.batch : network->batch;
    return ceil((double)a->options.examples / (double)(batch * row->copies));
}

static double cost_of(const advise *a, const bench_network *network, const advise_row *row) {
    return row->hourly * row->step * steps_of(a, network, row) / 3600;
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
    print_figure("%12.1f", row->step * steps_of(a, network, row));
    print_figure("%12.4g", cost_of(a, network, row));
    printf("%s\n", row->expected ? "  expected" : "");
}

static void print_table(const advise *a, const bench_network *network) {
    const int width = advise_title_width(a->rows, a->count, LEAST_WIDTH);
    printf("%s: training steps of %lld examples, epochs of %lld examples\n", network->name,
        (long long)(a->options.batch ? a->options.batch : network->batch), (long long)a->options.examples);
    printf("%-*s%8s%12s%12s%12s%12s%12s\n", width, "device", "units", "step ms", "first s", "MiB", "epoch s",
        "epoch cost");
    for (size_t i = 0; i < a->count; i++) print_row(a, network, &a->rows[i], width);
}

/* ---- the advice ---- */

/* Seconds for as many examples as one device has in a step. */
static double example_seconds(const advise_row *row) {
    return row->step / (double)row->copies;
}

/* The one with the least time, or with a price the least cost, among those that are measured, or that are expected. */
static const advise_row *best_of(const advise *a, bool expected, bool by_cost) {
    const advise_row *best = NULL;
    for (size_t i = 0; i < a->count; i++) {
        const advise_row *const row = &a->rows[i];
        if (row->expected != expected || !is_usable(row) || (by_cost && isnan(row->hourly))) continue;
        if (!best || example_seconds(row) * (by_cost ? row->hourly : 1) <
                         example_seconds(best) * (by_cost ? best->hourly : 1))
            best = row;
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
    const double epoch = here->step * steps_of(a, network, here);
    printf("Fastest device of this machine: ");
    print_name(here);
    printf(", %.*f s per epoch.", epoch < 100 ? 2 : 0, epoch);
    if (other && example_seconds(other) * 2 > example_seconds(here))
        printf(" No other device is expected to be twice as fast.\n");
    else if (other)
        printf(" Fastest of the other devices: %s, expected %.2g s per epoch.\n", other->name,
            other->step * steps_of(a, network, other));
    else
        printf("\n");
}

static void advise_by_cost(const advise *a, const bench_network *network) {
    const advise_row *const here = best_of(a, false, true), *const other = best_of(a, true, true);
    const advise_row *const best =
        !here || (other && other->hourly * example_seconds(other) < here->hourly * example_seconds(here))
            ? other
            : here;
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
    advise_scale_print(&a->options.scale, a->gradient_bytes);
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
    expect_several(a);
    print_table(a, network);
    print_advice(a, network);
    advise_table_add(&a->table, network->name, a->rows, a->count);
    return WEFT_OK;
}

/* ---- the command ---- */

typedef struct arguments {
    int count;
    char **texts;
} arguments;

static int run(const void *data) {
    static advise a = {.options = {.examples = 100000, .steps = 3}};
    const arguments *const given = data;
    weft_status status = WEFT_OK;
    in_child_say("listing the devices");
    if (!advise_options_read(&a.options, given->count, given->texts)) return 2;
    const double begin = wi_clock_seconds();
    for (size_t i = 0; i < a.options.asked_count && status == WEFT_OK; i++) {
        if (i == 0 || !a.options.is_short || wi_clock_seconds() - begin < SHORT_SECONDS)
            status = run_network(&a, &a.options.asked[i]);
        else
            printf("%s is left out to keep the time below a minute; name it to measure it.\n",
                a.options.asked[i].name);
    }
    if (a.options.is_short)
        puts("To measure other networks, name them; 'weft advise seven' measures the larger ones, too, in "
             "some minutes.");
    if (a.table.network_count > 1) advise_table_print(&a.table);
    if (status != WEFT_OK) fprintf(stderr, "weft: %s\n", weft_last_error());
    return status != WEFT_OK;
}

int weft_advise(int argc, char **argv) {
    const arguments given = {argc, argv};
    in_child_end end;
    if (argc == 1 && strcmp(argv[0], "--help") == 0) return fputs(advise_help, stdout) < 0;
    in_child(&end, run, &given);
    if (end.signal == 0) return end.status;
    fprintf(stderr, "weft: the driver ended the process with signal %d while %s\n", end.signal, end.said);
    return 1;
}
