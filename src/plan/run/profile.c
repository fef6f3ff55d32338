/* Profiles a run: replaces the queue of each device by one that records times, records an event for each launch, and adds up the times
 * by step. */
#include "base/platform.h"
#include "cl/context.h"
#include "cl/driver.h"
#include "plan/run/profiler.h"
#include <math.h>

/* ---- the run ---- */

static weft_status run_once(weft_profile *profile, weft_plan *plan) {
    WI_TRY(wi_plan_begin_run(plan));
    WI_TRY(wi_plan_finish_queues(plan)); /* so that the time of fetching binaries (run.c) is not measured */
    profile->began = wi_clock_seconds();
    const weft_status status = wi_plan_walk(plan);
    const weft_status finished = wi_plan_finish_queues(plan);
    profile->info.wall_seconds = wi_clock_seconds() - profile->began;
    return status == WEFT_OK ? finished : status;
}

/* The usual queues, by device index. */
typedef struct queues {
    cl_command_queue usual[WI_MAX_DEVICES];
    int count;
} queues;

static weft_status exchange_queue(wi_device *device, queues *kept) {
    cl_int error = CL_SUCCESS;
    cl_command_queue const queue =
        clCreateCommandQueue(device->cl, device->id, CL_QUEUE_PROFILING_ENABLE, &error);
    WI_CL(error, "creating a queue that records times");
    kept->usual[kept->count++] = device->queue;
    device->queue = queue;
    return WEFT_OK;
}

static weft_status run_on_own_queues(weft_profile *profile, weft_plan *plan, wi_profiler *profiler) {
    const wi_plan_devices *devices = &plan->request.devices;
    queues kept = {.count = 0};
    weft_status status = WEFT_OK;
    for (int d = 0; d < devices->count && status == WEFT_OK; d++)
        status = exchange_queue(devices->of[d], &kept);
    plan->profiler = profiler;
    if (status == WEFT_OK) status = run_once(profile, plan);
    plan->profiler = NULL;
    for (int d = 0; d < kept.count; d++) {
        clReleaseCommandQueue(devices->of[d]->queue);
        devices->of[d]->queue = kept.usual[d];
    }
    return status;
}

/* ---- times of launches ---- */

/* Reads a time of the device's clock, in seconds. */
static weft_status read_time(double *seconds, cl_event event, cl_profiling_info what) {
    cl_ulong time = 0;
    WI_CL(clGetEventProfilingInfo(event, what, sizeof time, &time, NULL), "reading the times of a launch");
    *seconds = (double)time * 1e-9;
    return WEFT_OK;
}

/* The host's clock minus the device's. A launch is queued at a time of the device's clock between the beginning and the end of the
 * host's call. All launches together give narrow bounds. */
static weft_status find_offset(double *offset, const wi_profiler *profiler, const wi_device *device) {
    double least = -HUGE_VAL, most = HUGE_VAL;
    for (size_t i = 0; i < profiler->count; i++) {
        const wi_profiled *const noted = &profiler->launches[i];
        double queued;
        if (noted->launch->device != device) continue;
        WI_TRY(read_time(&queued, noted->event, CL_PROFILING_COMMAND_QUEUED));
        least = fmax(least, noted->begin - queued);
        most = fmin(most, noted->end - queued);
    }
    *offset = isfinite(least) ? (least + most) / 2 : 0;
    return WEFT_OK;
}

/* A library's event has the times of its last kernel only. The product is assumed to begin when the previous launch ends, or when the
 * host calls the library if that is later. */
static weft_status read_times(const wi_profiler *profiler, const wi_device *device) {
    double offset;
    WI_TRY(find_offset(&offset, profiler, device));
    for (size_t i = 0; i < profiler->count; i++) {
        wi_profiled *const noted = &profiler->launches[i];
        if (noted->launch->device != device) continue;
        WI_TRY(read_time(&noted->start, noted->event, CL_PROFILING_COMMAND_START));
        WI_TRY(read_time(&noted->stop, noted->event, CL_PROFILING_COMMAND_END));
        noted->start += offset;
        noted->stop += offset;
        if (noted->launch->launch.kernel || wi_launch_copies(noted->launch)) continue;
        noted->start = fmax(noted->begin, i > 0 ? profiler->launches[i - 1].stop : noted->begin);
        noted->stop = fmax(noted->start, noted->stop);
    }
    return WEFT_OK;
}

/* ---- rows of the profile ---- */

static weft_status name_row(weft_profile *profile, const weft_plan *plan, size_t index) {
    const wi_step *const step = plan->runs.runs[index].step;
    weft_profile_row *const row = &profile->rows[index];
    char shape[WI_SHAPE_TEXT];
    wi_text ops;
    wi_text_init(&ops, plan->request.allocator);
    wi_step_append_ops(plan, step, &ops);
    row->kind = wi_step_kind_name(plan, step);
    row->implementation = wi_arena_string(&profile->arena, wi_step_implementation_name(plan, step));
    row->shape = wi_arena_string(&profile->arena, wi_shape_print(NULL, &step->shape, shape));
    row->ops = ops.failed ? NULL : wi_arena_string(&profile->arena, ops.data ? ops.data : "");
    row->flops = plan->schedule.of[step->index].flops;
    row->bytes = plan->schedule.of[step->index].bytes_moved;
    wi_text_clear(&ops);
    return row->implementation && row->shape && row->ops ? WEFT_OK : WEFT_ERROR_MEMORY;
}

static weft_status fill_rows(weft_profile *profile, const weft_plan *plan, const wi_profiler *profiler) {
    weft_profile_info *const info = &profile->info;
    for (size_t i = 0; i < info->rows; i++) WI_TRY(name_row(profile, plan, i));
    for (size_t i = 0; i < profiler->count; i++) {
        wi_profiled *const noted = &profiler->launches[i];
        const size_t row = (size_t)noted->launch->run->index;
        noted->row = row;
        noted->name = noted->launch->launch.name
                          ? wi_arena_string(&profile->arena, noted->launch->launch.name)
                          : profile->rows[row].implementation;
        if (!noted->name) return WEFT_ERROR_MEMORY;
        profile->rows[row].launches++;
        profile->rows[row].seconds += noted->stop - noted->start;
        info->enqueue_seconds += noted->end - noted->begin;
        info->launches++;
    }
    for (size_t i = 0; i < info->rows; i++) {
        info->device_seconds += profile->rows[i].seconds;
        info->flops += profile->rows[i].flops;
        info->bytes += profile->rows[i].bytes;
    }
    for (size_t i = 0; i < info->rows && info->device_seconds > 0; i++)
        profile->rows[i].share = profile->rows[i].seconds / info->device_seconds;
    return WEFT_OK;
}

/* The number of portions of all launches, without the first portion of each. */
static size_t count_further_portions(const weft_plan *plan) {
    const wi_launches *const l = &plan->launches;
    size_t count = 0;
    for (size_t i = 0; i < l->count;) {
        const int64_t times = l->launches[i].iterations > 0 ? l->launches[i].iterations : 1;
        const size_t together =
            l->launches[i].iterations > 0 ? (size_t)l->launches[i].launches_per_iteration : 1;
        for (size_t k = i; k < i + together; k++)
            count += (size_t)times * (size_t)(wi_launch_portions(&l->launches[k].launch) - 1);
        i += together;
    }
    return count;
}

static weft_status measure(weft_profile *profile, weft_plan *plan, bool *has_run) {
    wi_profiler profiler = {0};
    profile->info.rows = plan->runs.run_count;
    profile->batch = plan->request.batch;
    WI_TRY(wi_plan_compile(plan));
    profiler.capacity =
        plan->info.launches + plan->fixed_launches + 2 * plan->runs.load_count + count_further_portions(plan);
    profiler.launches = wi_arena_take(&profile->arena, (profiler.capacity + 1) * sizeof *profiler.launches);
    profile->rows = wi_arena_take(&profile->arena, (plan->runs.run_count + 1) * sizeof *profile->rows);
    if (!profiler.launches || !profile->rows) return WEFT_ERROR_MEMORY;
    WI_TRY(wi_plan_finish_queues(plan));
    weft_status status = run_on_own_queues(profile, plan, &profiler);
    *has_run = status == WEFT_OK;
    for (int d = 0; d < plan->request.devices.count && status == WEFT_OK; d++)
        status = read_times(&profiler, plan->request.devices.of[d]);
    if (status == WEFT_OK) status = fill_rows(profile, plan, &profiler);
    for (size_t i = 0; i < profiler.count; i++) {
        if (profiler.launches[i].event) clReleaseEvent(profiler.launches[i].event);
        profiler.launches[i].event = NULL;
        profiler.launches[i].launch = NULL;
    }
    profile->launches = profiler.launches;
    return status;
}

/* ---- the public calls ---- */

weft_status wi_profile_run(weft_profile **result, weft_plan *plan, bool *has_run) {
    *result = NULL;
    *has_run = false;
    weft_profile *const profile = wi_allocate(plan->request.allocator, sizeof *profile);
    if (!profile) return WEFT_ERROR_MEMORY;
    profile->context = weft_context_retain(plan->request.context);
    atomic_init(&profile->references, 1);
    wi_arena_init(&profile->arena, plan->request.allocator);
    const weft_status status = measure(profile, plan, has_run);
    if (status != WEFT_OK)
        weft_profile_release(profile);
    else
        *result = profile;
    return status;
}

weft_status weft_profile_run(weft_profile **result, weft_plan *plan) {
    bool has_run;
    if (!result) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_profile_run: profile is NULL");
    *result = NULL;
    if (!plan) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_profile_run: plan is NULL");
    return wi_profile_run(result, plan, &has_run);
}

weft_profile *weft_profile_retain(weft_profile *profile) {
    if (profile) atomic_fetch_add(&profile->references, 1);
    return profile;
}

void weft_profile_release(weft_profile *profile) {
    if (!profile || atomic_fetch_sub(&profile->references, 1) != 1) return;
    weft_context *const context = profile->context;
    wi_arena_clear(&profile->arena);
    wi_release(context->allocator, profile);
    weft_context_release(context);
}

weft_status weft_profile_get_info(const weft_profile *profile, weft_profile_info *info) {
    if (!profile || !info) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_profile_get_info: profile or info is NULL");
    *info = profile->info;
    return WEFT_OK;
}

weft_status weft_profile_get_row(const weft_profile *profile, size_t index, weft_profile_row *row) {
    if (!profile || !row) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_profile_get_row: profile or row is NULL");
    if (index >= profile->info.rows)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_profile_get_row: index is %zu, expected below %zu, the number of rows", index,
            profile->info.rows);
    *row = profile->rows[index];
    return WEFT_OK;
}
