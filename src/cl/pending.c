/* What a device has not ended (contract in pending.h): a ring of events. */
#include "cl/pending.h"
#include "cl/driver.h"
#include "cl/event_signal.h"
#include "cl/quirks.h"
#include "cl/waiting.h"
#include <math.h>

enum { ROOM = 4096 };

/* Where the program gives no longest_first_wait: so many times longest_wait, and so many seconds at least. */
static const double first_factor = 10.0, first_least = 300.0;

/* A launch, or a mark behind a run (no launch). */
typedef struct noted {
    cl_event event;
    const wi_pending_owner *owner;
    const void *launch;
    size_t run;
    double since; /* when it was given */
    bool tells;   /* its event says whether it has ended, and all before it */
} noted;

typedef struct wi_pending {
    double longest_wait, longest_first_wait; /* the latter 0: any time */
    wi_event_signal *signal;                 /* NULL: there was no memory */
    noted failed;                            /* the first that nobody has heard of; no owner: none has */
    cl_int error;                            /* its */
    size_t begin, count;
    noted ring[ROOM];
} wi_pending;

static noted *at(wi_pending *pending, size_t index) {
    return &pending->ring[(pending->begin + index) % ROOM];
}

static const noted *oldest(const wi_device *device) {
    return wi_pending_any(device) ? at(device->pending, 0) : NULL;
}

static double first_wait(const weft_context_options *options) {
    if (options->longest_first_wait != 0.0) return fmax(options->longest_first_wait, 0.0);
    return fmax(options->longest_wait * first_factor, first_least);
}

weft_status wi_pending_open(wi_device *device, const weft_context_options *options) {
    if (options->longest_wait <= 0.0) return WEFT_OK;
    device->pending = wi_allocate(device->host.allocator, sizeof *device->pending);
    if (!device->pending) return WEFT_ERROR_MEMORY;
    device->pending->longest_wait = options->longest_wait;
    device->pending->longest_first_wait = first_wait(options);
    device->pending->signal = wi_event_signal_make();
    return WEFT_OK;
}

void wi_pending_close(wi_device *device) {
    if (!device->pending) return;
    wi_pending_clear(device);
    wi_event_signal_release(device->pending->signal);
    wi_release(device->host.allocator, device->pending);
    device->pending = NULL;
}

/* It has ended. */
static void note_error(wi_pending *pending, const noted *one) {
    const cl_int state = wi_event_state(one->event);
    if (state >= CL_COMPLETE || !one->owner || pending->failed.owner) return;
    pending->failed = *one;
    pending->error = state;
}

static void drop_oldest(wi_pending *pending) {
    clReleaseEvent(at(pending, 0)->event);
    pending->begin = (pending->begin + 1) % ROOM;
    pending->count--;
}

/* The first whose event tells; the count where none does. */
static size_t oldest_that_tells(wi_pending *pending) {
    size_t i = 0;
    while (i < pending->count && !at(pending, i)->tells) i++;
    return i;
}

/* The event stays ours while it is waited for, which forgets what has ended. */
static weft_status wait_for(wi_device *device, size_t index) {
    cl_event const event = at(device->pending, index)->event;
    WI_CL(clFlush(device->queue), "submitting work to the device");
    WI_CL(clRetainEvent(event), "retaining an event");
    const weft_status status =
        wi_wait_for_event(device, event, "waiting until earlier launches have finished");
    clReleaseEvent(event);
    return status;
}

/* One place is left for a mark. Another device may have gone on, and not this one. */
static weft_status make_room(wi_device *device) {
    wi_pending *const pending = device->pending;
    if (pending->count >= ROOM - 1) (void)wi_pending_advance(device);
    if (pending->count < ROOM - 1) return WEFT_OK;
    if (oldest_that_tells(pending) == pending->count) WI_TRY(wi_pending_end_run(device));
    WI_TRY(wait_for(device, oldest_that_tells(pending)));
    (void)wi_pending_advance(device);
    return WEFT_OK;
}

static void add(wi_device *device, const noted *one) {
    *at(device->pending, device->pending->count++) = *one;
}

weft_status wi_pending_add(
    wi_device *device, cl_event event, const wi_pending_owner *owner, const void *launch, size_t run) {
    const bool tells = !(device->caps.quirks & WI_QUIRK_HELD_EVENTS);
    const weft_status status = make_room(device);
    if (status == WEFT_OK)
        add(device, &(noted){.event = event,
                        .owner = owner,
                        .launch = launch,
                        .run = run,
                        .since = wi_clock_seconds(),
                        .tells = tells});
    else
        clReleaseEvent(event);
    return status;
}

weft_status wi_pending_end_run(wi_device *device) {
    cl_event mark = NULL;
    if (!wi_pending_any(device) || at(device->pending, device->pending->count - 1)->tells) return WEFT_OK;
    WI_CL(clEnqueueMarkerWithWaitList(device->queue, 0, NULL, &mark), "marking the end of a run");
    add(device, &(noted){.event = mark, .tells = true});
    return WEFT_OK;
}

static bool advance(wi_device *device) {
    wi_pending *const pending = device->pending;
    bool advanced = false;
    while (wi_pending_any(device)) {
        const size_t end = oldest_that_tells(pending);
        if (end == pending->count || wi_is_under_way(at(pending, end)->event)) break;
        for (size_t i = 0; i <= end; i++) {
            note_error(pending, at(pending, 0));
            drop_oldest(pending);
        }
        advanced = true;
    }
    return advanced;
}

bool wi_pending_advance(wi_device *device) {
    const wi_device_host *const host = &device->host;
    bool advanced = advance(device);
    for (int i = 0; i < *host->all_count; i++) advanced |= advance(host->all[i]);
    return advanced;
}

weft_status wi_pending_check(wi_device *device) {
    wi_pending *const pending = device->pending;
    const wi_pending_owner *const owner = pending ? pending->failed.owner : NULL;
    if (!owner) return WEFT_OK;
    const wi_suspects failed = {.launches = {pending->failed.launch}, .count = 1, .error = pending->error};
    pending->failed = (noted){0};
    return owner->fail(owner->user, &failed);
}

void wi_pending_clear(wi_device *device) {
    while (wi_pending_any(device)) drop_oldest(device->pending);
    if (device->pending) device->pending->failed = (noted){0};
}

bool wi_pending_any(const wi_device *device) {
    return device->pending && device->pending->count > 0;
}

wi_event_signal *wi_pending_signal(wi_device *device, cl_event event) {
    if (!device->pending || !device->pending->signal) return NULL;
    return wi_event_signal_expect(device->pending->signal, event) ? device->pending->signal : NULL;
}

/* The one whose oldest was given first; NULL: there is none. */
static wi_device *find_oldest(const wi_device *device) {
    wi_device *found = NULL;
    for (int i = 0; i < *device->host.all_count; i++) {
        wi_device *const other = device->host.all[i];
        if (oldest(other) && (!found || oldest(other)->since < oldest(found)->since)) found = other;
    }
    return found;
}

/* A queue that has ended what is noted of it may wait for another device. */
double wi_pending_limit(const wi_device *device) {
    const wi_pending *const pending = device->pending;
    if (!pending) return 0.0;
    const wi_device *const first = oldest(device) ? device : find_oldest(device);
    return first && oldest(first)->run > 1 ? pending->longest_wait : pending->longest_first_wait;
}

double wi_pending_first_limit(const wi_device *device) {
    return device->pending ? device->pending->longest_first_wait : 0.0;
}

static bool is_running(cl_event event) {
    return wi_event_state(event) == CL_RUNNING;
}

/* The launch that runs, where the driver says so of one; else all of the oldest run that have not ended. */
static void find_suspects(wi_pending *pending, bool tells, wi_suspects *suspects) {
    const noted *const oldest = at(pending, 0);
    size_t begin = 0, end = 1;
    while (end < pending->count && at(pending, end)->owner == oldest->owner &&
           at(pending, end)->run == oldest->run)
        end++;
    while (tells && begin + 1 < end && !wi_is_under_way(at(pending, begin)->event)) begin++;
    if (tells && begin + 1 < end && is_running(at(pending, begin)->event) &&
        !is_running(at(pending, begin + 1)->event))
        end = begin + 1;
    const size_t most = sizeof suspects->launches / sizeof *suspects->launches;
    for (; begin < end && suspects->count < most; begin++)
        suspects->launches[suspects->count++] = at(pending, begin)->launch;
}

/* What waits for one another computes nothing any more. */
static void note_all(wi_device *device) {
    device->trial.hangs = true;
    for (int i = 0; i < *device->host.all_count; i++) device->host.all[i]->trial.hangs = true;
}

weft_status wi_pending_fail(wi_device *device, const char *what) {
    wi_suspects suspects = {.seconds = wi_pending_limit(device)};
    wi_device *const hung = find_oldest(device);
    note_all(device);
    wi_note_hung(device, "the work submitted before %s", what);
    if (!hung)
        WI_FAIL(WEFT_ERROR_OPENCL,
            "%s: the work submitted earlier to %s did not finish within %g seconds, and the device can no "
            "longer be used",
            what, device->info.name, suspects.seconds);
    find_suspects(hung->pending, !(hung->caps.quirks & WI_QUIRK_HELD_EVENTS), &suspects);
    const wi_pending_owner *const owner = oldest(hung)->owner;
    return owner->fail(owner->user, &suspects);
}
