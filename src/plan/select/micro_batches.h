/* The number of micro-batches of a plan: so many that each tensor and each scratch memory fits in the largest buffer of the device. */
#ifndef WI_MICRO_BATCHES_H
#define WI_MICRO_BATCHES_H

#include "plan/select/schedule.h"

/* The settings with which the passes run next. The caller initialises `count` to 1 and the other fields to 0. */
typedef struct wi_micro_batches {
    int64_t count;       /* number of micro-batches; 1: the batch is not divided */
    size_t most_scratch; /* limit of a kernel's scratch memory in bytes; 0: no limit */
    size_t bytes;        /* bytes of the tensor that was too large with the previous count; 0: none was */
    bool enough;         /* all memory of this schedule fits */
} wi_micro_batches;

/* Checks the memory of a schedule. If it does not fit, sets the fields with which the caller creates the next schedule: first a limit of
 * scratch memory, then more micro-batches. Returns an error that names the tensor that is too large (WEFT_ERROR_DEVICE_MEMORY) if more
 * micro-batches would not help. */
weft_status wi_count_micro_batches(const wi_schedule *schedule, wi_micro_batches *m);

#endif
