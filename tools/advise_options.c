/* See advise_options.h. */
#include "advise_options.h"
#include "advise_match.h"
#include "file_network.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char advise_help[] =
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
    "  --device SEL      measures only these devices: gpu, cpu, part of a name, or a position\n"
    "  --devices N       adds lines for N devices of a kind in one machine\n"
    "  --ranks N         adds lines for a cluster of N processes with a device each\n"
    "  --latency US, --bandwidth GB/S\n"
    "                    of its network, as 'weft bench scale' measures them; default 30 and 1.25\n";

static bool read_whole(int64_t *number, const char *text, char end, const char **rest) {
    char *stop;
    *number = strtoll(text, &stop, 10);
    if (rest) *rest = stop;
    return isdigit((unsigned char)*text) && (*stop == '\0' || *stop == end) && *number >= 1 &&
           *number <= 1 << 30;
}

static bool read_threads(advise_options *a, const char *text) {
    a->thread_count = 0;
    for (;; text++) {
        if (a->thread_count == MOST_THREADS || !read_whole(&a->threads[a->thread_count++], text, ',', &text))
            return false;
        if (*text == '\0') return true;
    }
}

static bool read_price(advise_options *a, const char *text) {
    const char *const equals = strrchr(text, '=');
    char *end;
    if (!equals || equals == text || a->price_count == MOST_PRICES) return false;
    advise_price *const p = &a->prices[a->price_count++];
    *p = (advise_price){.hourly = strtod(equals + 1, &end)};
    if (equals - text >= ADVISE_TEXT) return false;
    memcpy(p->device, text, (size_t)(equals - text));
    return end != equals + 1 && *end == '\0' && isfinite(p->hourly) && p->hourly >= 0;
}

static bool read_positive(double *number, const char *text, double unit) {
    char *end;
    *number = strtod(text, &end) * unit;
    return end != text && *end == '\0' && isfinite(*number) && *number > 0;
}

/* Once, however often it is named. */
static bool add_network(advise_options *a, const bench_network *network) {
    for (size_t i = 0; i < a->asked_count; i++)
        if (strcmp(a->asked[i].name, network->name) == 0 && !network->file) return true;
    if (a->asked_count == MOST_NETWORKS) return false;
    a->asked[a->asked_count++] = *network;
    return true;
}

static bool ask_for_set(advise_options *a, bench_set set) {
    bool good = true;
    for (size_t i = 0; i < bench_network_count; i++)
        if (bench_networks[i].sets & set) good = good && add_network(a, &bench_networks[i]);
    return good;
}

static bool ask_for(advise_options *a, const char *name) {
    const bench_network *const network = bench_network_find(name);
    bench_network own;
    if (network) return add_network(a, network);
    if (file_network_is_path(name)) return file_network_open(&own, name) == WEFT_OK && add_network(a, &own);
    return strcmp(name, "seven") == 0 && ask_for_set(a, BENCH_SEVEN);
}

/* 1: taken; 0: no such option; -1: a bad value. */
static int take_value(advise_options *a, const char *name, const char *value) {
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
    else if (strcmp(name, "--devices") == 0)
        good = read_whole(&a->scale.devices, value, '\0', NULL) && a->scale.devices <= 1024;
    else if (strcmp(name, "--ranks") == 0)
        good = read_whole(&a->scale.ranks, value, '\0', NULL) && a->scale.ranks <= 1 << 20;
    else if (strcmp(name, "--latency") == 0)
        good = read_positive(&a->scale.latency, value, 1e-6);
    else if (strcmp(name, "--bandwidth") == 0)
        good = read_positive(&a->scale.bandwidth, value, 1e9);
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
    if (strcmp(name, "--latency") == 0 || strcmp(name, "--bandwidth") == 0)
        return refuse("%s '%s' is not a number above 0", name, value);
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

bool advise_options_read(advise_options *a, int argc, char **argv) {
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
    if (a->scale.devices && a->scale.ranks)
        return refuse("%s and %s are not supported together", "--devices", "--ranks");
    a->is_short = a->asked_count == 0;
    return !a->is_short || ask_for_set(a, BENCH_SHORT);
}
