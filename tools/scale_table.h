/* What `weft bench scale` prints of a network: measured steps, and those that the cost model expects. */
#ifndef SCALE_TABLE_H
#define SCALE_TABLE_H

#include "scale_model.h"
#include <stdbool.h>
#include <stdint.h>

enum { SCALE_NAME = 32, SCALE_RUNS = 12 };

typedef struct scale_run {
    scale_step step;
    double crowding; /* how many times longer a rank computes than with a processor of its own */
} scale_run;

/* The runs of one network, by increasing numbers of ranks. */
typedef struct scale_table {
    char network[SCALE_NAME];
    int64_t batch; /* examples of a rank */
    scale_run runs[SCALE_RUNS];
    size_t count;
} scale_table;

void scale_table_print(const scale_table *table);
void scale_table_print_json(const scale_table *table);
/* Adds what the line says, if it is an object of a measured run. The first run of a table sets its network and batch. */
bool scale_table_read(scale_table *table, const char *line);

#endif
