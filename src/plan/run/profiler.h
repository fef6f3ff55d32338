/* The profile of a run: a record of each launch, and the sums by step. */
#ifndef WI_PROFILER_H
#define WI_PROFILER_H

#include "plan/compiled_plan.h"
#include <stdatomic.h>
#include <weft/profile.h>

/* A launch of the run. Host times are those of wi_clock_seconds. */
typedef struct wi_profiled {
    const wi_plan_launch *launch; /* NULL after the run */
    cl_event event;               /* released after the run */
    const char *name;             /* name of the kernel or of the library */
    size_t row;
    double begin, end;  /* host times before and after the enqueueing call */
    double start, stop; /* times on the device, converted to the host's clock */
} wi_profiled;

/* Records of a run that is being profiled; `capacity` suffices for all launches. */
typedef struct wi_profiler {
    wi_profiled *launches;
    size_t count, capacity;
} wi_profiler;

/* Begins the record of the next launch; NULL if there is no room. */
wi_profiled *wi_profiler_next(wi_profiler *profiler, const wi_plan_launch *launch);

/* weft_profile_run; *has_run: the plan has run, whatever the status says about its times. */
weft_status wi_profile_run(weft_profile **profile, weft_plan *plan, bool *has_run);

struct weft_profile {
    weft_context *context; /* holds a reference */
    atomic_int references;
    wi_arena arena;
    weft_profile_info info;
    weft_profile_row *rows;
    wi_profiled *launches;
    int64_t batch;
    double began; /* host time at which the run began */
};

#endif
