/* Measures a checkpoint of a network with momentum (FCN-S unless another is asked for): the copy in the step loop beside a step, and the file beside the disk. */
#ifndef BENCH_CHECKPOINT_H
#define BENCH_CHECKPOINT_H

int weft_bench_checkpoint(int argc, char **argv);

#endif
