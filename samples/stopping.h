/* Training that can be stopped and continued: --checkpoint and --resume, SIGINT and SIGTERM.
 *
 * The first signal asks the training to end, and to save a checkpoint if there is a place for it; a second one ends the program at once. */
#ifndef STOPPING_H
#define STOPPING_H

#include "command_line.h"
#include <weft/weft.h>

/* weft_trainer_run. With --resume it continues from the newest checkpoint. A signal ends it after the step in progress: *stopped is then
 * the exit status of the program, about which a line was printed; else 0. */
weft_status stopping_run(
    weft_trainer *trainer, weft_dataset *dataset, const command_line *line, int *stopped);

/* The same for a loop without a trainer. From begin to end signals are only noted (with a trainer, also given to
 * weft_trainer_stop); stopping_wanted says whether one came. */
void stopping_begin(weft_trainer *trainer);
bool stopping_wanted(void);
/* The exit status that the signal asks for, with a line that names the last step; 0: none came. */
int stopping_end(const command_line *line, size_t step);

#endif
