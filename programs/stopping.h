/* Checkpoints in a program that trains: its options, and SIGINT and SIGTERM.
 *
 * The first signal asks the trainer to save a checkpoint and to end its run; a second one ends the program at once. */
#ifndef STOPPING_H
#define STOPPING_H

#include "command_line.h"
#include <weft/weft.h>

/* The three options, for a program's table. */
#define STOPPING_CHECKPOINT                                                                                  \
    { "--checkpoint", OPTION_TEXT, "DIR", "the folder for checkpoints; without it none are saved", NULL }
#define STOPPING_EVERY                                                                                       \
    {                                                                                                        \
        "--checkpoint-every", OPTION_INTERVAL, "N", "steps between checkpoints; 2e: epochs, 60s: seconds",   \
            "1e"                                                                                             \
    }
#define STOPPING_RESUME                                                                                      \
    { "--resume", OPTION_FLAG, NULL, "go on from the newest checkpoint, if there is one", NULL }

/* Of an option of kind interval. */
weft_checkpoint_every stopping_interval(const option *every);
/* With --resume: restores the newest checkpoint and says so. From here on signals stop the trainer, which must live until
 * stopping_end. No checkpoints: does nothing. */
weft_status stopping_begin(weft_trainer *trainer, const option *checkpoint, const option *resume);
/* Signals end the program again as usual. Returns the exit status that the signal asks for, with a line about it; 0: there
 * was none. */
int stopping_end(const weft_trainer *trainer, const char *program);

#endif
