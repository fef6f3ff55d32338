/* What another program says about a network's step: the other side of `weft bench seven --compare`. */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include "base/status.h"

/* Runs the shell command, in which every "{net}" is replaced by the name, and takes the median milliseconds
 * of that network from its output. A line is either
 *     NAME BATCH MEDIAN ms median ...          as bench/seven_torch.py prints it, or
 *     {"net": "NAME", "median_ms": MEDIAN}     JSON, where "batch" may stand too;
 * other lines are passed over. Errors: the command fails, no line names the network, the batch is another, or
 * the time is none. */
weft_status bench_peer_run(double *milliseconds, const char *command, const char *net, int64_t batch);

#endif
