/* What the benchmarks of plans share: random inputs, the time of runs, the options that all take. */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <weft/weft.h>

/* Uniform in [-1, 1), the same every time; count elements, f32. */
weft_status bench_fill(weft_plan *plan, weft_tensor *input, size_t count);
/* Seconds a run, of `repeats` runs in a row until the device is done. */
weft_status bench_time_plan(double *seconds, weft_plan *plan, int repeats);
/* "f32", "bf16" or "f16": of a graph. false: it is none of these. */
bool bench_read_precision(weft_precision *precision, const char *text);
/* Takes --json and --device SELECTOR at argv[*i], moving *i over a value; false: it is neither. */
bool bench_take_option(int argc, char **argv, int *i, bool *json, weft_context_options *options);
/* Has a launcher of MPI or Slurm started this process? */
bool bench_has_launcher(void);

#endif
