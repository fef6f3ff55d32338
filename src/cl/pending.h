/* What plans gave a device and it has not ended, in the order of its queue: a wait sees by it whether the device goes on, and which
 * launch does not end.
 *
 * Only a device whose context has a longest_wait notes anything. An in-order queue computes the oldest alone, so time counts against that
 * one, from the end of the one before it; against the oldest run where a driver does not say how far it is (WI_QUIRK_HELD_EVENTS). A
 * plan's first run has no limit, as drivers compile then; neither has what is not noted (copies, self-tests, plans of several
 * devices), and while the device is at that no time counts. */
#ifndef WI_PENDING_H
#define WI_PENDING_H

#include "cl/opened_device.h"

/* Launches of a run, in order, of which one does not end. */
typedef struct wi_suspects {
    const void *launches[256]; /* of more, the first */
    size_t count;
    double seconds; /* that have passed */
} wi_suspects;

/* Whoever gives launches, and outlives them. */
typedef struct wi_pending_owner {
    /* Fails with a line that names them. */
    weft_status (*fail)(void *user, const wi_suspects *suspects);
    void *user;
} wi_pending_owner;

weft_status wi_pending_open(wi_device *device, double longest_wait);
void wi_pending_close(wi_device *device);

/* The event, which is taken, is that of a launch on the device's queue, in the owner's run of this number, from 1. Waits where there is
 * no room: so many launches are ahead of the device at most. */
weft_status wi_pending_add(
    wi_device *device, cl_event event, const wi_pending_owner *owner, const void *launch, size_t run);
/* The run has no more launches. */
weft_status wi_pending_end_run(wi_device *device);
/* Forgets what has ended. true: something has. */
bool wi_pending_advance(wi_device *device);
/* Waits until all has ended, and forgets it. */
weft_status wi_pending_wait(wi_device *device);
/* Forgets everything: all has ended, or nothing is waited for any more. */
void wi_pending_clear(wi_device *device);
/* Is there something that may not have ended? */
bool wi_pending_any(const wi_device *device);
/* Given when the event ends; NULL: ask it. */
struct wi_event_signal *wi_pending_signal(wi_device *device, cl_event event);
/* Seconds that the oldest may take, counted while something waits; 0: any time. */
double wi_pending_limit(const wi_device *device);
/* Fails by the owner of the oldest. */
weft_status wi_pending_fail(wi_device *device);

#endif
