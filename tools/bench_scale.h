/* `weft bench scale`: training steps on several processes, how much of them is the exchange of gradients, and what is expected of clusters. */
#ifndef BENCH_SCALE_H
#define BENCH_SCALE_H

/* argv: options after "scale"; `weft bench scale --help` tells them. Without a launcher it starts itself by mpirun with 1, 2, 4, ... processes.
 * Prints a table for each network, or with --json one object a line. Of a measured number of ranks: net, ranks, shards and batch (of a rank),
 * bytes (of the gradients), step_ms, exchange_ms (alone), exposed_ms (the part of a step in which a rank only exchanges), hidden_ms,
 * processor_ms (of all threads of rank 0 in a step); of two ranks or more also latency_us, bandwidth_gbytes_s and adding_gbytes_s, which the
 * cost model (scale_model.h) begins with. Of an expected number of ranks: net, ranks, expected (true), step_ms, exchange_ms, hidden_ms,
 * exposed_ms, and if it was measured step_error and exchange_error (expected over measured, less 1). Returns the exit status. */
int weft_bench_scale(int argc, char **argv);

#endif
