/* What a device has not ended (contract in pending.h): a ring of events. */
#include "cl/pending.h"
#include "cl/event_signal.h"
#include "cl/quirks.h"
#include "cl/waiting.h"

enum { ROOM = 4096 };

/* A launch, or a mark behind a run (no launch). */
typedef struct noted {
    cl_event event;
    const wi_pending_owner *owner;
    const void *launch;
    size_t run;
    bool tells; /* its event says whether it has ended, and all before it */
} noted;

typedef struct wi_pending {
    double longest_wait;
    wi_event_signal *signal; /* NULL: there was no memory */
    size_t begin, count;
    noted ring[ROOM];
} wi_pending;

static noted *at(wi_pending *pending, size_t index) {
    return &pending->ring[(pending->begin + index) % ROOM];
}

weft_status wi_pending_open(wi_device *device, double longest_wait) {
    if (longest_wait <= 0.0) return WEFT_OK;
    device->pending = wi_allocate(device->host.allocator, sizeof *device->pending);
    if (!device->pending) return WEFT_ERROR_MEMORY;
    device->pending->longest_wait = longest_wait;
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
    WI_CL(clFlush(device->queue), "handing work to the device");
    WI_CL(clRetainEvent(event), "keeping an event");
    const weft_status status = wi_wait_for_event(device, event);
    clReleaseEvent(event);
    return status;
}

/* One place is left for a mark. */
static weft_status make_room(wi_device *device) {
    wi_pending *const pending = device->pending;
    if (pending->count < ROOM - 1 || wi_pending_advance(device)) return WEFT_OK;
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
        add(device, &(noted){.event = event, .owner = owner, .launch = launch, .run = run, .tells = tells});
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

bool wi_pending_advance(wi_device *device) {
    wi_pending *const pending = device->pending;
    bool advanced = false;
    while (wi_pending_any(device)) {
        const size_t end = oldest_that_tells(pending);
        if (end == pending->count || wi_is_under_way(at(pending, end)->event)) break;
        for (size_t i = 0; i <= end; i++) drop_oldest(pending);
        advanced = true;
    }
    return advanced;
}

void wi_pending_clear(wi_device *device) {
    while (wi_pending_any(device)) drop_oldest(device->pending);
}

weft_status wi_pending_wait(wi_device *device) {
    if (!wi_pending_any(device)) return WEFT_OK;
    WI_TRY(wi_pending_end_run(device)); /* one that failed on its way has none */
    WI_TRY(wait_for(device, device->pending->count - 1));
    wi_pending_clear(device);
    return WEFT_OK;
}

bool wi_pending_any(const wi_device *device) {
    return device->pending && device->pending->count > 0;
}

wi_event_signal *wi_pending_signal(wi_device *device, cl_event event) {
    if (!wi_pending_any(device) || !device->pending->signal) return NULL;
    return wi_event_signal_expect(device->pending->signal, event) ? device->pending->signal : NULL;
}

double wi_pending_limit(const wi_device *device) {
    wi_pending *const pending = device->pending;
    return wi_pending_any(device) && at(pending, 0)->run > 1 ? pending->longest_wait : 0.0;
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

weft_status wi_pending_fail(wi_device *device) {
    wi_pending *const pending = device->pending;
    wi_suspects suspects = {.seconds = pending->longest_wait};
    const wi_pending_owner *const owner = at(pending, 0)->owner;
    find_suspects(pending, !(device->caps.quirks & WI_QUIRK_HELD_EVENTS), &suspects);
    return owner->fail(owner->user, &suspects);
}
