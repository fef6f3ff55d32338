/* The number of micro-batches of a plan: so many that each tensor and each scratch memory fits in the largest buffer of the device. */
#ifndef WI_MICRO_BATCHES_H
#define WI_MICRO_BATCHES_H

#include "plan/select/schedule.h"

/* With what the passes run next. Begins with count 1 and zeros. */
typedef struct wi_micro_batches {
    int64_t count;       /* of micro-batches; 1: the batch is not divided */
    size_t most_scratch; /* limit of a kernel's scratch memory in bytes; 0: no limit */
    size_t bytes;        /* of the tensor that was too large for the last count; 0: none was */
    bool enough;         /* all memory of this schedule fits */
} wi_micro_batches;

/* Checks the memory of a schedule. If it does not fit, sets the fields with which the caller creates the next schedule: first a limit of
 * scratch memory, then more micro-batches. WEFT_ERROR_DEVICE_MEMORY, with the tensor that is too large: more micro-batches would not
 * help. */
weft_status wi_count_micro_batches(const wi_schedule *schedule, wi_micro_batches *m);

#endif
