/* What a program did in its first steps, so that another framework can be compared with it, and random numbers that are the
 * same on every machine.
 *
 * With --trace DIR the folder gets the first weights (weights.safetensors), and of the first 20 steps what the program gave
 * to the plan (batches.bin, one array after the other) and the losses (losses.txt, one a line). bench/samples_torch.py
 * trains the same network from these weights and batches in PyTorch. */
#ifndef TRACE_H
#define TRACE_H

#include "command_line.h"
#include <stdint.h>

enum { TRACED_STEPS = 20 };

#define TRACE_OPTION                                                                                         \
    { "--trace", OPTION_TEXT, "DIR", "writes the first weights, 20 batches and losses there", NULL }

/* After the first plan was made, before its first run. folder NULL: nothing is written, by trace_step neither. */
weft_status trace_begin(const char *folder, weft_graph *graph);
/* One step: its losses, and `count` arrays, each as a pointer and a size_t of bytes. */
void trace_step(const float *losses, size_t loss_count, size_t count, ...);

/* Uniform in 0 <= x < 1; and a whole number below `end`. */
double draw(void);
size_t draw_below(size_t end);
/* Normal, of mean 0 and deviation 1. */
double draw_normal(void);
/* All that the next draws depend on, for checkpoints. */
uint64_t *draw_state(void);

#endif
