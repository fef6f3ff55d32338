/* `weft bench gemm`: the speed of matrix products beside the device's measured peak. */
#ifndef BENCH_GEMM_H
#define BENCH_GEMM_H

/* argv: options after "gemm": --json, --device SELECTOR, and sizes MxNxK in place of the usual ones.
 * Prints a table, or with --json one object a line: m, n, k, microseconds, gflops, peak_gflops, share,
 * implementation. Returns the exit status. */
int weft_bench_gemm(int argc, char **argv);

#endif
