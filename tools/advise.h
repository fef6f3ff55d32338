/* `weft advise`: which device to train a network on. The same step on every device of this machine, measured, beside what
 * data sheets let one expect of others. */
#ifndef ADVISE_H
#define ADVISE_H

#include "bench_networks.h"

enum { ADVISE_TEXT = 160 };

/* A line of the table: a device, with as many of its cores, or several such devices. Seconds of a step; NAN: not known. */
typedef struct advise_row {
    char name[ADVISE_TEXT], selector[16];
    int64_t threads; /* 0: all that there are */
    bool expected;   /* from a data sheet */
    int64_t copies;  /* devices that train together */
    double step, first, bytes;
    double peak, bandwidth;    /* operations and bytes a second, measured beside the step */
    double hourly;             /* NAN: no price is given */
    char failure[ADVISE_TEXT]; /* "": there is none */
} advise_row;

/* argv: what follows "advise"; `weft advise --help` tells it. Returns the exit status. */
int weft_advise(int argc, char **argv);

#endif
