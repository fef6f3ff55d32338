/* `weft bench attention`: attention and its gradients beside the device's measured peak. */
#ifndef BENCH_ATTENTION_H
#define BENCH_ATTENTION_H

/* argv: options after "attention": --json, --device SELECTOR, --causal, and sizes BATCHxHEADSxLENGTHxWIDTH in
 * place of the usual ones. Prints a table, or with --json one object a line: batch, heads, length, width,
 * causal, pass
 * ("forward" or "training"), milliseconds, gflops, peak_gflops, share, arena_bytes. Returns the exit status.
 */
int weft_bench_attention(int argc, char **argv);

#endif
