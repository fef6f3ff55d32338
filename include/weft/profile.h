/* weft/profile.h: where a plan's time goes.
 *
 * A profile is a run of a plan, launch by launch: an ordinary run in its results and effects (a training step
 * trains), on a queue of its own that tells the device's times. The context's queue, an embedder's too, is
 * empty before it begins and used again after it. */
#ifndef WEFT_PROFILE_H
#define WEFT_PROFILE_H

#include <weft/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_profile weft_profile;

/* Runs the plan once and waits. Run it twice before: a driver may compile at a plan's first run. Fails as
 * weft_plan_run does; WEFT_ERROR_OPENCL where the device has no queue that tells times. An index out of range
 * is told by the next weft_plan_read or weft_plan_wait. */
WEFT_API weft_status weft_profile_run(weft_profile **profile, weft_plan *plan);
WEFT_API weft_profile *weft_profile_retain(weft_profile *profile);
WEFT_API void weft_profile_release(weft_profile *profile); /* NULL is fine; the plan may go before it */

typedef struct weft_profile_info {
    size_t rows;            /* one a step of the plan */
    size_t launches;        /* kernels and library calls */
    double wall_seconds;    /* from the first enqueueing to the end of the last launch */
    double device_seconds;  /* the sum of the rows */
    double enqueue_seconds; /* the host's, in the calls that enqueue */
    double flops, bytes;    /* as of weft_plan_info */
} weft_profile_info;
/* Errors: WEFT_ERROR_ARGUMENT for NULL. */
WEFT_API weft_status weft_profile_get_info(const weft_profile *profile, weft_profile_info *info);

/* A step of the plan; the strings are those of weft_plan_describe and live as long as the profile. */
typedef struct weft_profile_row {
    const char *kind, *implementation, *shape, *ops;
    size_t launches;     /* repetitions counted */
    double seconds;      /* on the device: of each launch from its start to its end, added up. A library's
                            call counts as a whole, from its predecessor's end on */
    double share;        /* of device_seconds */
    double flops, bytes; /* operations; read + written, caches not counted */
} weft_profile_row;
/* index: of the step, below info.rows; else WEFT_ERROR_ARGUMENT. */
WEFT_API weft_status weft_profile_get_row(const weft_profile *profile, size_t index, weft_profile_row *row);

/* What the device can do at most, as measured (`weft bench`) or told by its vendor. */
typedef struct weft_roofline {
    double flops_per_second, bytes_per_second;
} weft_roofline;
/* A table, or JSON with the same numbers: a row a step, then the sum beside the wall time. With a roofline
 * each row tells its share of that: the least time for its operations and bytes over its own (above 1 where
 * caches serve the bytes). NULL: no such column. Buffer, capacity and length as of weft_plan_describe. */
WEFT_API weft_status weft_profile_describe(const weft_profile *profile, weft_format format,
    const weft_roofline *roofline, char *buffer, size_t capacity, size_t *length);

/* Writes the run as a trace for Perfetto (ui.perfetto.dev) and chrome://tracing: a track of the host's
 * enqueueing calls, one of the device's launches, and arrows between them. The file is whole or not there. */
WEFT_API weft_status weft_profile_trace(const weft_profile *profile, const char *path);

#ifdef __cplusplus
}
#endif
#endif
