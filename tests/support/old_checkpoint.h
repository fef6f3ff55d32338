/* Writes checkpoints of an earlier format. */
#ifndef OLD_CHECKPOINT_H
#define OLD_CHECKPOINT_H

#include <stdbool.h>

/* Converts a checkpoint from format 2 to format 1, which has the same tensors under names without "weft.". Returns whether its header
 * then contains the text `kept`. */
bool old_checkpoint_rewrite(const char *path, const char *kept);

#endif
