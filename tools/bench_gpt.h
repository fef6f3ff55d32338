/* `weft bench gpt`: a GPT of 12 layers by 768: a token with caches of keys and values, a training step, a new length. */
#ifndef BENCH_GPT_H
#define BENCH_GPT_H

/* argv: options after "gpt"; `weft bench gpt --help` tells them. Prints a line for each thing measured, or with --json an
 * object. Returns the exit status. */
int weft_bench_gpt(int argc, char **argv);

#endif
