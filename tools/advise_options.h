/* What `weft advise` is asked for. */
#ifndef ADVISE_OPTIONS_H
#define ADVISE_OPTIONS_H

#include "advise.h"
#include "advise_scale.h"

enum { MOST_NETWORKS = 32, MOST_PRICES = 32, MOST_THREADS = 16 };

typedef struct advise_price {
    char device[ADVISE_TEXT]; /* a selector, or a part of a data sheet's name */
    double hourly;
} advise_price;

typedef struct advise_options {
    bench_network asked[MOST_NETWORKS];
    size_t asked_count;
    bool is_short; /* nothing is named: a minute's work */
    advise_price prices[MOST_PRICES];
    size_t price_count;
    int64_t threads[MOST_THREADS];
    size_t thread_count; /* 0: 1, 2, 4, ... and all */
    int64_t examples, steps, batch;
    const char *device; /* NULL: every one */
    advise_scale scale;
} advise_options;

extern const char advise_help[];
/* The caller has set the defaults. False: an option is wrong, which stderr says. */
bool advise_options_read(advise_options *options, int argc, char **argv);

#endif
