/* `weft bench lstm`: an LSTM layer and its gradients beside the device's measured peak. */
#ifndef BENCH_LSTM_H
#define BENCH_LSTM_H

/* argv: options after "lstm": --json, --device SELECTOR, and sizes HIDDENxBATCHxSTEPS in place of the usual
 * ones. The width of the input is the hidden one. Prints a table, or with --json one object a line: hidden,
 * batch, steps, pass ("scan": the recurrence alone, without the product of the inputs; "forward"; "training":
 * with all gradients), milliseconds, gflops, peak_gflops, share, launches, arena_bytes. Returns the exit
 * status. */
int weft_bench_lstm(int argc, char **argv);

#endif
