/* `weft bench rows`: training steps of a skip-gram, whose tables are updated by rows, with tables of several sizes. */
#ifndef BENCH_ROWS_H
#define BENCH_ROWS_H

/* argv: options after "rows"; `weft bench rows --help` tells them. Returns the exit status. */
int weft_bench_rows(int argc, char **argv);

#endif
