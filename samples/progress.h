/* What programs show of their progress on stderr: while kernels are compiled, which takes seconds to minutes the first time, and
 * while a network is trained.
 *
 * On a terminal it is one line that is written again and again, and is gone at the end; elsewhere a line every five seconds. */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <weft/train.h>

/* For weft_context_options.progress. */
void show_compiling(void *user, size_t done, size_t total, const char *what);
/* The context options of programs: they show the progress, and other processes compile kernels, too. */
#define PROGRAM_CONTEXT_OPTIONS_INIT                                                                         \
    WEFT_CONTEXT_OPTIONS_INIT, .progress = show_compiling, .compile_processes = 8

/* For weft_trainer_options: on_step shows a bar, on_epoch prints a line of the epoch's losses and accuracies on stdout. */
bool show_step(void *user, const weft_epoch *e);
bool show_epoch(void *user, const weft_epoch *e);
/* First in an on_epoch of the program's own, before it prints: erases the bar, and notes the loss and the best value. */
void note_epoch(const weft_epoch *e);
/* After a step of a loop without a trainer. what: "loss", or what else `loss` is; it stays to the end. loss NaN: there is none. */
void show_loop(size_t step, size_t last, const char *what, double loss);
/* Erases the bar, which comes back with the next step: before something is printed. */
void hide_progress(void);
/* After the last step: erases the bar, on a terminal shows the curve of the loss, and forgets the training. */
void end_progress(void);

/* ", 0.052 ms a step", or for an object of JSON ", \"step_ms\": 0.0520"; "" where no step was made, as in a training that goes on after
 * its end. It stays until the next call. */
const char *step_time(const weft_training_info *info, bool json);

#endif
