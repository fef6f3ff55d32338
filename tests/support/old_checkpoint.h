/* Checkpoints of a former format. */
#ifndef OLD_CHECKPOINT_H
#define OLD_CHECKPOINT_H

#include <stdbool.h>

/* Makes a checkpoint of format 1 of one of format 2: the same tensors, under names without "weft.". Whether its header has
 * the text `kept` then. */
bool old_checkpoint_rewrite(const char *path, const char *kept);

#endif
