/* `weft bench map` and `weft bench reduce`: the speed of elementwise ops and reductions beside a copy's. */
#ifndef BENCH_MAP_H
#define BENCH_MAP_H

/* argv: options after "map" or "reduce": --json, --device SELECTOR, --elements N (default 16777216 and
 * 131072), and names of ops in place of all. Prints a table, or with --json one object a line: op, elements,
 * microseconds, bytes, gbytes_s, copy_gbytes_s (of the same bytes, measured in alternation), share. Returns
 * the exit status. */
int weft_bench_map(int argc, char **argv);
int weft_bench_reduce(int argc, char **argv);

#endif
