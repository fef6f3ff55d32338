/* What a program did in its first steps, so that another framework can be compared with it, and random numbers that are the
 * same on every machine.
 *
 * With --record DIR the folder gets the first weights (weights.safetensors), and of the first 20 steps that learn what the
 * program gave to its plans and drew in them (batches.bin, one array after the other), and the losses (losses.txt, those of a step
 * on one line). bench/compare_losses.py trains the same network from these weights and batches in PyTorch. */
#ifndef TRACE_H
#define TRACE_H

#include <stdint.h>
#include <weft/weft.h>

enum { TRACED_STEPS = 20 };

/* After the first plan was made, before its first run. folder NULL: nothing is written, by what follows neither. */
weft_status trace_begin(const char *folder, weft_graph *graph);
/* Before trace_log: a number alone that steps give, with its name in the table and its tag in event files, which must live as
 * long as the program; at most 4. Without a call, the first number is the only one, "loss". */
void trace_measure(const weft_tensor *tensor, const char *name, const char *tag);
/* For each step, a line of these numbers goes into this file, behind the lines of the steps up to `last`, with which the
 * training goes on; 0: it begins. A number that a step gives several times is its mean; one that a step does not give is
 * left empty. path NULL: no file. */
weft_status trace_log(const char *path, size_t last);
/* What goes into the lines goes to these events, too, with the network that computes it; NULL: to none. */
void trace_events(weft_events *events);
/* Of weft_plan_step: numbers alone are losses, all else are batches. */
void trace_values(const weft_value *values, size_t count);
/* Ends the step of that number; one without values does not count. Returns the first of its numbers that trace_measure named, and
 * its name; NaN: the step has none. */
double trace_end_step(size_t step, const char **name);

/* Uniform in 0 <= x < 1; and a whole number below `end`. */
double draw(void);
size_t draw_below(size_t end);
/* Normal, of mean 0 and deviation 1. */
double draw_normal(void);
/* All that the next draws depend on, for checkpoints. */
uint64_t *draw_state(void);
/* From now on numbers are drawn from this state; returns the one before, for the way back. */
uint64_t draw_from(uint64_t state);

#endif
