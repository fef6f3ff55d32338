/* `weft bench curve`: the losses of a network that is trained on batches from a file, so that curves of several precisions,
 * and of another framework, can be compared: bench/loss_curves.py. */
#ifndef BENCH_CURVE_H
#define BENCH_CURVE_H

/* argv: options after "curve"; `weft bench curve --help` tells them. Prints a loss a line, in digits that give the same
 * float. Returns the exit status. */
int weft_bench_curve(int argc, char **argv);

#endif
