/* The accuracy that every trainer has, as nodes of the graph. */
#ifndef WI_CORRECT_COUNT_H
#define WI_CORRECT_COUNT_H

#include "base/memory.h"
#include <weft/train.h>

/* *correct: how many rows of logits (batch, classes) have their maximum at the label; i32, rank 0. The labels
 * are the input of that name that loss depends on. */
weft_status wi_correct_count(weft_tensor **correct, const weft_allocator *allocator, weft_tensor *loss,
    weft_tensor *logits, const char *labels);

#endif
