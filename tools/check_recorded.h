/* The part of `weft check` that compares every op and its gradients with what PyTorch computed. */
#ifndef CHECK_RECORDED_H
#define CHECK_RECORDED_H

#include <stdbool.h>
#include <stddef.h>
#include <weft/weft.h>

/* Prints a row an op; all: every recorded case, else the first of each op. Adds to *passed and *count. */
weft_status weft_check_recorded(weft_context *context, bool all, size_t *passed, size_t *count);

#endif
