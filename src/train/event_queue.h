/* The queue between the threads that report events and the thread that writes them to the sinks.
 *
 * wi_event_queue_put never waits for a file. The thread looks at the queue a few times in a second, so that a training
 * step does not wake it. The queue is bounded by the bytes of its events; an event that comes while the queue is full is
 * dropped. In a child process of fork() a queue cannot be used: calls fail, and its memory is not freed, because the thread,
 * which the child does not have, may have been changing it. */
#ifndef WI_EVENT_QUEUE_H
#define WI_EVENT_QUEUE_H

#include "train/event_sink.h"

typedef struct wi_event_queue wi_event_queue;

/* Starts the thread. The queue owns the sinks, also after an error. Entries of the list may be NULL. */
enum { WI_EVENT_SINKS = 2 };
weft_status wi_event_queue_create(wi_event_queue **queue, const weft_allocator *allocator, const wi_log *log,
    wi_event_sink *const sinks[WI_EVENT_SINKS]);
/* Writes all queued events, ends the thread, and closes the sinks. NULL is allowed. */
void wi_event_queue_close(wi_event_queue *queue);
/* Appends the event, which the queue then owns, also after an error. */
weft_status wi_event_queue_put(wi_event_queue *queue, wi_event *event);
/* Waits until the events so far are in the files. Error: the first error of a sink so far. */
weft_status wi_event_queue_flush(wi_event_queue *queue);

/* A new event with a block for `room` bytes of content; NULL: no memory. */
wi_event *wi_event_create(
    const weft_allocator *allocator, wi_event_kind kind, const char *tag, size_t step, size_t room);
void wi_event_free(const weft_allocator *allocator, wi_event *event); /* NULL is allowed */
/* Allocates memory that is freed with the event, aligned for any type. It is part of the event's block as long as there is room. NULL:
 * memory ran out. */
void *wi_event_take(wi_event *event, size_t bytes);
/* A copy of a text in memory of the event; bytes that are not UTF-8 are replaced by U+FFFD. */
const char *wi_event_string(wi_event *event, const char *text);

#endif
