/* What plans gave a device and it has not ended, in the order of its queue: a wait sees by it whether the device goes on, and which
 * launch does not end.
 *
 * Only a device whose context has a longest_wait notes anything. An in-order queue computes the oldest alone, so time counts against that
 * one, from the end of the one before it; against the oldest run where a driver does not say how far it is (WI_QUIRK_HELD_EVENTS). A
 * plan's first run, and what is not noted (copies, probes, self-tests), has the limit longest_first_wait, as drivers compile then.
 *
 * Queues of several devices wait for each other: time counts while none of the context's devices ends anything, and the launch that was
 * given first of all that have not ended is the one that hangs, since what it waits for was given before it. */
#ifndef WI_PENDING_H
#define WI_PENDING_H

#include "cl/opened_device.h"

/* Launches of a run, in order, of which one does not end; or one that has failed. */
typedef struct wi_suspects {
    const void *launches[256]; /* of more, the first */
    size_t count;
    double seconds; /* that have passed */
    cl_int error;   /* with which the one has ended; 0: it does not end */
} wi_suspects;

/* Whoever gives launches, and outlives them. */
typedef struct wi_pending_owner {
    /* Fails with a line that names them. */
    weft_status (*fail)(void *user, const wi_suspects *suspects);
    void *user;
} wi_pending_owner;

/* Nothing is noted where the options have no longest_wait. */
weft_status wi_pending_open(wi_device *device, const weft_context_options *options);
void wi_pending_close(wi_device *device);

/* The event, which is taken, is that of a launch on the device's queue, in the owner's run of this number, from 1. Waits where there is
 * no room: so many launches are ahead of the device at most. */
weft_status wi_pending_add(
    wi_device *device, cl_event event, const wi_pending_owner *owner, const void *launch, size_t run);
/* The run has no more launches. */
weft_status wi_pending_end_run(wi_device *device);
/* Forgets what has ended, on all devices of the context. true: something has. */
bool wi_pending_advance(wi_device *device);
/* Fails by the owner of a launch that has ended with an error, once. */
weft_status wi_pending_check(wi_device *device);
/* Forgets everything: all has ended, or nothing is waited for any more. */
void wi_pending_clear(wi_device *device);
/* Is there something that may not have ended? */
bool wi_pending_any(const wi_device *device);
/* Given when the event ends; NULL: ask it. */
struct wi_event_signal *wi_pending_signal(wi_device *device, cl_event event);
/* Seconds that the oldest may take, or what is not noted, counted while something waits; 0: any time. */
double wi_pending_limit(const wi_device *device);
/* longest_first_wait; 0: any time. */
double wi_pending_first_limit(const wi_device *device);
/* Fails by the owner of the oldest of all devices; what was waited for names the line where there is none. */
weft_status wi_pending_fail(wi_device *device, const char *what);

#endif
