/* Events, their queue and the writing thread (contract in event_queue.h). */
#include "train/event_queue.h"
#include "base/host.h"
#include "base/platform.h"
#include "base/process.h"
#include "base/utf8.h"
#include <errno.h>
#include <math.h>
#include <string.h>

/* Limits of the bytes of queued events. FULL_FOR_LARGE: above this, histograms and images are dropped. FULL: above this, all events
 * are dropped. URGENT: above this, the thread is woken before its next look at the queue. */
enum { FULL_FOR_LARGE = 8 << 20, FULL = 16 << 20, URGENT = 1 << 20 };
/* Seconds between two looks at the queue, and between two flushes. */
static const double look_seconds = 0.2, flush_seconds = 2.0;
/* The largest part of its time that the thread spends flushing, because on a CPU this time is taken from the training. */
static const double flush_share = 0.01;

typedef struct sink_slot {
    wi_event_sink *sink;
    bool has_failed; /* the log has its error */
} sink_slot;

struct wi_event_queue {
    const weft_allocator *allocator;
    const wi_log *log;
    wi_thread thread;
    wi_mutex mutex;
    wi_condition work, flushed; /* work: the thread is wanted before its next look */
    /* The mutex protects the fields from here on. */
    wi_event *first, **last;
    size_t bytes;
    bool closes, has_dropped;
    size_t flushes_wanted, flushes_done;
    weft_status status;       /* first error of a sink */
    char line[WI_ERROR_LINE]; /* its message */
    /* Only the thread uses these, and wi_event_queue_close after its end. */
    sink_slot slots[WI_EVENT_SINKS];
    size_t slot_count;
};

/* ---- events ---- */

static size_t aligned(size_t bytes) {
    return (bytes + 15) / 16 * 16;
}

wi_event *wi_event_create(
    const weft_allocator *allocator, wi_event_kind kind, const char *tag, size_t step, size_t room) {
    const size_t bytes = aligned(sizeof(wi_event)) + aligned(strlen(tag) + 1) + aligned(room);
    wi_event *const event = wi_allocate(allocator, bytes);
    if (!event) return NULL;
    event->kind = kind;
    event->step = step;
    event->time = wi_day_seconds();
    event->bytes = bytes;
    event->used = aligned(sizeof *event);
    wi_arena_init(&event->arena, allocator);
    event->tag = wi_event_string(event, tag);
    if (event->tag) return event;
    wi_event_free(allocator, event);
    return NULL;
}

void wi_event_free(const weft_allocator *allocator, wi_event *event) {
    if (!event) return;
    wi_arena_clear(&event->arena);
    wi_release(allocator, event);
}

void *wi_event_take(wi_event *event, size_t bytes) {
    if (bytes > event->bytes - event->used) return wi_arena_take(&event->arena, bytes);
    void *const memory = (char *)event + event->used;
    const size_t left = event->bytes - event->used;
    event->used += aligned(bytes) < left ? aligned(bytes) : left;
    return memory;
}

const char *wi_event_string(wi_event *event, const char *text) {
    char *const copy = wi_event_take(event, wi_utf8_repair(NULL, text) + 1);
    if (copy) wi_utf8_repair(copy, text);
    return copy;
}

/* ---- the writing thread ---- */

/* The log has the first error of each sink, and weft_events_flush returns the first error of all. */
static void note_failure(wi_event_queue *queue, sink_slot *slot, weft_status status) {
    if (status == WEFT_OK) return;
    if (!slot->has_failed)
        wi_log_line(
            queue->log, WEFT_LOG_WARNING, "events are missing, the training goes on: %s", weft_last_error());
    slot->has_failed = true;
    wi_mutex_lock(&queue->mutex);
    if (queue->status == WEFT_OK) {
        queue->status = status;
        wi_error_save(queue->line, sizeof queue->line);
    }
    wi_mutex_unlock(&queue->mutex);
}

static void write_events(wi_event_queue *queue, wi_event *event) {
    while (event) {
        wi_event *const next = event->next;
        for (size_t i = 0; i < queue->slot_count; i++) {
            sink_slot *const slot = &queue->slots[i];
            note_failure(queue, slot, slot->sink->write(slot->sink, event));
        }
        wi_event_free(queue->allocator, event);
        event = next;
    }
}

static void flush_sinks(wi_event_queue *queue) {
    for (size_t i = 0; i < queue->slot_count; i++) {
        sink_slot *const slot = &queue->slots[i];
        note_failure(queue, slot, slot->sink->flush(slot->sink));
    }
}

/* With the mutex locked: waits until a call needs the thread (to flush or close), but at most look_seconds, after which the thread looks for
 * events again. */
static void wait_for_work(wi_event_queue *queue) {
    if (queue->closes || queue->flushes_wanted != queue->flushes_done) return;
    wi_condition_wait_for(&queue->work, &queue->mutex, look_seconds);
}

/* Takes the queued events and writes them. Returns whether there were any. */
static bool write_queued(wi_event_queue *queue, size_t *flushes_wanted, bool *closes) {
    wi_mutex_lock(&queue->mutex);
    wait_for_work(queue);
    wi_event *const events = queue->first;
    const size_t bytes = queue->bytes;
    *flushes_wanted = queue->flushes_wanted;
    *closes = queue->closes;
    queue->first = NULL;
    queue->last = &queue->first;
    wi_mutex_unlock(&queue->mutex);
    write_events(queue, events);
    wi_mutex_lock(&queue->mutex);
    queue->bytes -= bytes; /* only now, so that the limit also counts the events that were being written */
    wi_mutex_unlock(&queue->mutex);
    return events != NULL;
}

static void *run_thread(void *argument) {
    wi_event_queue *const queue = argument;
    double due_at = wi_clock_seconds() + flush_seconds;
    size_t wanted = 0, done = 0;
    bool is_dirty = false, closes = false;
    while (!closes) {
        is_dirty = write_queued(queue, &wanted, &closes) || is_dirty;
        const bool is_due = is_dirty && wi_clock_seconds() >= due_at;
        if (!is_due && wanted == done && !closes) continue;
        const double began = wi_clock_seconds();
        flush_sinks(queue);
        due_at = fmax(began + flush_seconds, began + (wi_clock_seconds() - began) / flush_share);
        is_dirty = false;
        done = wanted;
        wi_mutex_lock(&queue->mutex);
        queue->flushes_done = done;
        wi_condition_wake_all(&queue->flushed);
        wi_mutex_unlock(&queue->mutex);
    }
    return NULL;
}

/* ---- the other threads ---- */

/* Closes the sinks and frees the queue; the thread does not run. */
static void free_queue(wi_event_queue *queue) {
    for (size_t i = 0; i < queue->slot_count; i++) queue->slots[i].sink->close(queue->slots[i].sink);
    wi_condition_destroy(&queue->work);
    wi_condition_destroy(&queue->flushed);
    wi_mutex_destroy(&queue->mutex);
    wi_release(queue->allocator, queue);
}

weft_status wi_event_queue_create(wi_event_queue **result, const weft_allocator *allocator, const wi_log *log,
    wi_event_sink *const sinks[WI_EVENT_SINKS]) {
    wi_event_queue *const queue = wi_allocate(allocator, sizeof *queue);
    *result = NULL;
    for (size_t i = 0; i < WI_EVENT_SINKS; i++) {
        if (sinks[i] && queue) queue->slots[queue->slot_count++].sink = sinks[i];
        if (sinks[i] && !queue) sinks[i]->close(sinks[i]);
    }
    if (!queue) return WEFT_ERROR_MEMORY;
    queue->allocator = allocator;
    queue->log = log;
    queue->last = &queue->first;
    wi_mutex_init(&queue->mutex);
    wi_condition_init(&queue->work);
    wi_condition_init(&queue->flushed);
    const weft_status status = wi_thread_start(&queue->thread, run_thread, queue);
    if (status == WEFT_OK)
        *result = queue;
    else
        free_queue(queue);
    return status;
}

void wi_event_queue_close(wi_event_queue *queue) {
    if (!queue || wi_process_lost_driver()) return;
    wi_mutex_lock(&queue->mutex);
    queue->closes = true;
    wi_condition_wake_one(&queue->work);
    wi_mutex_unlock(&queue->mutex);
    wi_thread_join(&queue->thread);
    free_queue(queue);
}

static bool is_large(wi_event_kind kind) {
    return kind == WI_EVENT_HISTOGRAM || kind == WI_EVENT_IMAGE;
}

/* With the mutex locked. False: the queue is full. */
static bool append(wi_event_queue *queue, wi_event *event) {
    if (queue->bytes > (is_large(event->kind) ? FULL_FOR_LARGE : FULL)) return false;
    *queue->last = event;
    queue->last = &event->next;
    queue->bytes += event->bytes + event->arena.bytes;
    if (queue->bytes > URGENT) wi_condition_wake_one(&queue->work);
    return true;
}

weft_status wi_event_queue_put(wi_event_queue *queue, wi_event *event) {
    const weft_status status = wi_process_check_driver();
    bool is_queued = false, is_first_drop = false;
    if (status == WEFT_OK) {
        wi_mutex_lock(&queue->mutex);
        is_queued = append(queue, event);
        is_first_drop = !is_queued && !queue->has_dropped;
        queue->has_dropped = queue->has_dropped || !is_queued;
        wi_mutex_unlock(&queue->mutex);
    }
    if (!is_queued) wi_event_free(queue->allocator, event);
    if (is_first_drop)
        wi_log_line(queue->log, WEFT_LOG_WARNING,
            "events are dropped, because they come faster than they can be written");
    return status;
}

weft_status wi_event_queue_flush(wi_event_queue *queue) {
    WI_TRY(wi_process_check_driver());
    wi_mutex_lock(&queue->mutex);
    const size_t wanted = ++queue->flushes_wanted;
    wi_condition_wake_one(&queue->work);
    while (queue->flushes_done < wanted) wi_condition_wait(&queue->flushed, &queue->mutex);
    const weft_status status = queue->status;
    if (status != WEFT_OK) wi_error_restore(queue->line);
    wi_mutex_unlock(&queue->mutex);
    return status;
}
