/* A run of a plan, launch by launch: what the step loop notes, and what is made of it. */
#ifndef WI_PROFILER_H
#define WI_PROFILER_H

#include "plan/compiled_plan.h"
#include <weft/profile.h>

/* A launch of the run. Host times are those of wi_clock_seconds. */
typedef struct wi_profiled {
    const wi_plan_launch *launch; /* while the run lasts */
    cl_event event;               /* the same */
    const char *name;             /* of the kernel; of the library */
    size_t row;
    double begin, end;  /* the enqueueing call, host */
    double start, stop; /* on the device, in the host's time */
} wi_profiled;

/* Where the step loop writes while a plan is profiled; there is room for all launches of a run. */
typedef struct wi_profiler {
    wi_profiled *launches;
    size_t count, capacity;
} wi_profiler;

/* The next launch of the run, with its beginning; NULL when there are more than there is room for. */
wi_profiled *wi_profiler_next(wi_profiler *profiler, const wi_plan_launch *launch);

struct weft_profile {
    weft_context *context; /* retained */
    atomic_int references;
    wi_arena arena;
    weft_profile_info info;
    weft_profile_row *rows;
    wi_profiled *launches;
    int64_t batch;
    double began; /* host */
};

#endif
