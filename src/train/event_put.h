/* Events that only the library reports. */
#ifndef WI_EVENT_PUT_H
#define WI_EVENT_PUT_H

#include "train/event_queue.h"

/* wi_event_create with the allocator of the events. */
wi_event *wi_events_new(
    const weft_events *events, wi_event_kind kind, const char *tag, size_t step, size_t room);
/* Puts an event into the queue, or frees it if filling it has failed, and returns that error. */
weft_status wi_events_put(weft_events *events, wi_event *event, weft_status filled);

#endif
