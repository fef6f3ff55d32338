/* Programs with a loop of steps that can be stopped and continued: --precision, --checkpoint, --checkpoint-every, --resume
 * --csv-log, --events, --html, --record and --pictures of the command line, SIGINT and SIGTERM.
 *
 *     static weft_status train(training_loop *loop) {
 *         ...                                                               the network in loop->graph, and its plan
 *         if (!status) status = loop_begin(loop, 100);
 *         while (loop_next(loop, &status)) status = weft_plan_step(plan, values, count);
 *         ...
 *     }
 *     int main(int argc, char **argv) {
 *         return loop_main(&(command_line){"name", "Learns this.", options, OPTIONS, .loops = true}, argc, argv, train);
 *     }
 *
 * A checkpoint has what the graph has, the number of the step, the state of draw(), and what loop_keep adds. */
#ifndef TRAINING_LOOP_H
#define TRAINING_LOOP_H

#include "command_line.h"
#include <weft/weft.h>

enum { LOOP_KEPT = 2 };

typedef struct training_loop {
    const command_line *line;
    weft_context *context;
    weft_events *events; /* of --events and --html; NULL before loop_begin, and without them */
    weft_graph *graph;   /* the default one, of the precision of the command line */
    size_t last;         /* step; may grow between two loops */
    size_t step;         /* in progress, from 1; before the first: the one that was continued from, or 0 */
    weft_checkpoint_extra kept[LOOP_KEPT];
    size_t kept_count;
    int stopped; /* the exit status that a signal asks for, or a program that said itself what is wrong; 0: none */
    bool ran;     /* a step, since it began */
    bool listens; /* to signals */
} training_loop;

/* All of a program: reads the command line, opens a context, and lets `train` do its work. Prints an error, which is what it
 * returns or that of the graph. Returns the exit status. */
int loop_main(command_line *line, int argc, char **argv, weft_status (*train)(training_loop *loop));
/* Before loop_begin: what the program remembers from step to step beside the graph. */
void loop_keep(training_loop *loop, const char *name, void *data, size_t bytes);
/* After the plans were made. With --resume it continues from the checkpoint, if there is one. */
weft_status loop_begin(training_loop *loop, size_t last);
/* True: make a step. False: the last one was made, *status is an error, or a signal came (loop->stopped). Saves checkpoints
 * between steps, and at the end. */
bool loop_next(training_loop *loop, weft_status *status);
/* In a step: true in one of so many, and in the last one, and then a line can be printed: the bar of the progress is gone. */
bool loop_every(const training_loop *loop, size_t steps);

#endif
