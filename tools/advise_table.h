/* Networks × devices × threads: the milliseconds of all steps that were measured or are expected. */
#ifndef ADVISE_TABLE_H
#define ADVISE_TABLE_H

#include "advise.h"

enum { TABLE_ROWS = 256, TABLE_NETWORKS = 32 };

typedef struct advise_table {
    const char *networks[TABLE_NETWORKS];
    advise_row rows[TABLE_ROWS];
    double steps[TABLE_ROWS][TABLE_NETWORKS]; /* seconds; 0: none */
    size_t row_count, network_count;
} advise_table;

/* "0:1 NAME" of a device of this machine, a data sheet's name else. */
void advise_row_title(char title[2 * ADVISE_TEXT], const advise_row *row);
/* Of a column for all titles, but at least so much; names that are longer than a line are cut. */
int advise_title_width(const advise_row *rows, size_t count, int least);

/* The next network's; what the table has no room for is left out. */
void advise_table_add(advise_table *table, const char *network, const advise_row *rows, size_t count);
void advise_table_print(const advise_table *table);

#endif
