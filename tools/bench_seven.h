/* `weft bench seven`: training steps and predictions of whole networks beside the device's measured peak and
 * bandwidth, and beside another program. */
#ifndef BENCH_SEVEN_H
#define BENCH_SEVEN_H

/* argv: options after "seven"; `weft bench seven --help` tells them. Prints a table, or with --json one
 * object a line: net, batch, mode ("training", "inference"), median_ms and min_ms of a step, first_step_ms
 * (the first run, with compiling), plan_ms (planning without compiling), gflops (done a second), gbytes_s,
 * peak_gflops and copy_gbytes_s (measured between the steps), share (of peak_gflops), roofline (the least
 * time at that peak and bandwidth, over median_ms), peak_bytes (device memory: intermediates, inputs,
 * parameters and states), arena_bytes, arena_lower_bound, launches, compute_units and device; with --compare peer_ms and
 * ours_ms (a number a pair), ratio (the median of ours over theirs); with --profile that of
 * weft_profile_describe. Returns the exit status. */
int weft_bench_seven(int argc, char **argv);

#endif
