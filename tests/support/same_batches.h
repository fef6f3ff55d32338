/* Whether two datasets give the same batches. */
#ifndef SAME_BATCHES_H
#define SAME_BATCHES_H

#include <weft/weft.h>

/* Fails unless the columns and all batches of three shuffled epochs are equal, bit for bit. */
void same_batches(weft_dataset *memory, weft_dataset *file);

#endif
