/* Records the launches of a run that is profiled (contract in profiler.h). */
#include "plan/run/profiler.h"
#include "base/platform.h"

wi_profiled *wi_profiler_next(wi_profiler *profiler, const wi_plan_launch *launch) {
    if (profiler->count == profiler->capacity) return NULL;
    wi_profiled *const noted = &profiler->launches[profiler->count++];
    *noted = (wi_profiled){.launch = launch, .begin = wi_clock_seconds()};
    return noted;
}
