/* weft/profile.h: where the time of a plan goes.
 *
 * A profile is one run of a plan with the times of each launch. It has the results and effects of an ordinary
 * run (a training step trains), but runs on a queue of its own that records times. The queue of the context,
 * also one of the embedding program, is finished before it and used again after it. */
#ifndef WEFT_PROFILE_H
#define WEFT_PROFILE_H

#include <weft/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_profile weft_profile;

/* Runs the plan once and waits. Run the plan twice before: a driver may compile in the first run of a plan.
 * Errors: those of weft_plan_run; WEFT_ERROR_OPENCL if the device has no queue that records times. The next
 * weft_plan_read or weft_plan_wait reports an index out of range. The profile does not need the plan any
 * more. */
WEFT_API weft_status weft_profile_run(weft_profile **profile, weft_plan *plan);
WEFT_API weft_profile *weft_profile_retain(weft_profile *profile);
WEFT_API void weft_profile_release(weft_profile *profile); /* NULL is allowed */

typedef struct weft_profile_info {
    size_t rows;            /* one per step of the plan */
    size_t launches;        /* kernels and library calls */
    double wall_seconds;    /* from enqueueing the first launch to the end of the last one */
    double device_seconds;  /* the sum of the rows */
    double enqueue_seconds; /* of the host, in the calls that enqueue */
    double flops, bytes;    /* as in weft_plan_info */
} weft_profile_info;
/* Errors: WEFT_ERROR_ARGUMENT for NULL. */
WEFT_API weft_status weft_profile_get_info(const weft_profile *profile, weft_profile_info *info);

/* A step of the plan. The strings are those of weft_plan_describe and are valid as long as the profile. */
typedef struct weft_profile_row {
    const char *kind, *implementation, *shape, *ops;
    size_t launches;     /* with repetitions */
    double seconds;      /* on the device: the sum over the launches, each from its start to its end. A
                            library call counts as a whole, from the end of its predecessor */
    double share;        /* of device_seconds */
    double flops, bytes; /* operations; bytes read and written, without caches */
} weft_profile_row;
/* index: the step, below info.rows; else WEFT_ERROR_ARGUMENT. */
WEFT_API weft_status weft_profile_get_row(const weft_profile *profile, size_t index, weft_profile_row *row);

/* The peaks of the device, as measured (`weft bench`) or given by its vendor. */
typedef struct weft_roofline {
    double flops_per_second, bytes_per_second;
} weft_roofline;
/* A table, or JSON with the same numbers: one row per step, then the sum and the wall time. With a roofline
 * each row has its fraction of the roofline: the least time for its operations and bytes, divided by its time
 * (above 1 if caches serve the bytes). roofline NULL: without that column. buffer, capacity and length are as
 * in weft_plan_describe. */
WEFT_API weft_status weft_profile_describe(const weft_profile *profile, weft_format format,
    const weft_roofline *roofline, char *buffer, size_t capacity, size_t *length);

/* Writes the run as a trace for Perfetto (ui.perfetto.dev) and chrome://tracing: a track for the enqueueing
 * calls of the host, one for the launches of the device, and arrows between them. The file is written
 * completely or not at all. */
WEFT_API weft_status weft_profile_trace(const weft_profile *profile, const char *path);

#ifdef __cplusplus
}
#endif
#endif
