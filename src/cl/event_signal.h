/* A signal that the driver gives when an event has ended, by which a thread waits for that, but not for ever.
 *
 * Drivers call from threads of their own, when they like: whoever waits asks the event as well. A driver may call after the signal
 * was released, or never; the memory goes with the last call. */
#ifndef WI_EVENT_SIGNAL_H
#define WI_EVENT_SIGNAL_H

#include <CL/cl.h>
#include <stdbool.h>

typedef struct wi_event_signal wi_event_signal;

wi_event_signal *wi_event_signal_make(void); /* NULL: there is no memory */
void wi_event_signal_release(wi_event_signal *signal);
/* The event's end gives the signal. false: the driver does not do that. */
bool wi_event_signal_expect(wi_event_signal *signal, cl_event event);
/* Until it is given, or was since the last call, for so many seconds at most. */
void wi_event_signal_wait(wi_event_signal *signal, double seconds);

#endif
