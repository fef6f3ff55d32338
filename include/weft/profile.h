/* weft/profile.h: where the time of a plan goes.
 *
 * A profile is one run of a plan in which the time of each launch is recorded. The run has the results and effects of
 * an ordinary run: a training step trains. It uses a separate queue that records times. Before the run, Weft waits
 * until the queue of the context (also if the program created this queue) has finished; later runs use the queue of
 * the context again. */
#ifndef WEFT_PROFILE_H
#define WEFT_PROFILE_H

#include <weft/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_profile weft_profile;

/* Runs the plan once and waits for the end of the run. Run the plan twice before, because drivers may compile
 * kernels in its first run. Errors: those of weft_plan_run; WEFT_ERROR_OPENCL if the device has no queue that records
 * times. An index out of range is reported by the next weft_plan_read or weft_plan_wait. The plan may be released
 * before the profile. */
WEFT_API weft_status weft_profile_run(weft_profile **profile, weft_plan *plan);
WEFT_API weft_profile *weft_profile_retain(weft_profile *profile);
WEFT_API void weft_profile_release(weft_profile *profile); /* NULL is allowed */

typedef struct weft_profile_info {
    size_t rows;            /* one per step of the plan */
    size_t launches;        /* kernels and library calls */
    double wall_seconds;    /* from enqueueing the first launch to the end of the last one */
    double device_seconds;  /* the sum over the rows */
    double enqueue_seconds; /* time of the host in calls that enqueue */
    double flops, bytes;    /* as in weft_plan_info */
} weft_profile_info;
/* Fills *info. Errors: WEFT_ERROR_ARGUMENT (an argument is NULL). */
WEFT_API weft_status weft_profile_get_info(const weft_profile *profile, weft_profile_info *info);

/* A step of the plan. The strings are those of weft_plan_describe, and are borrowed from the profile. */
typedef struct weft_profile_row {
    const char *kind, *implementation, *shape, *ops;
    size_t launches; /* including repetitions */
    /* On the device: the sum over the launches, each from its start to its end. A library call is timed as a whole,
     * from the end of the launch before it. */
    double seconds;
    double share;        /* seconds / device_seconds of weft_profile_info */
    double flops, bytes; /* operations; bytes read and written, as if there were no caches */
} weft_profile_row;
/* Fills *row with the step of this index, which must be below weft_profile_info.rows (WEFT_ERROR_ARGUMENT). */
WEFT_API weft_status weft_profile_get_row(const weft_profile *profile, size_t index, weft_profile_row *row);

/* The peaks of the device, measured by `weft bench` or given by its vendor. */
typedef struct weft_roofline {
    double flops_per_second, bytes_per_second;
} weft_roofline;
/* A table, or JSON with the same numbers: one row per step, then the sum and the wall time. With a roofline, each row
 * has its fraction of the roofline: the least time for its operations and bytes at these peaks, divided by its time
 * (above 1 if caches serve the bytes). roofline NULL: without this column. buffer, capacity and length are as in
 * weft_plan_describe. */
WEFT_API weft_status weft_profile_describe(const weft_profile *profile, weft_format format,
    const weft_roofline *roofline, char *buffer, size_t capacity, size_t *length);

/* Writes the run as a trace for Perfetto (ui.perfetto.dev) and chrome://tracing: a track with the calls of the host
 * that enqueue, a track with the launches on the device, and arrows from the calls to the launches. The file is
 * written completely or not at all. */
WEFT_API weft_status weft_profile_trace(const weft_profile *profile, const char *path);

#ifdef __cplusplus
}
#endif
#endif
