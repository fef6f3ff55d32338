/* The queue of events: callers do not wait for a sink that hangs, a full queue drops events and says so once, order, errors
 * and ends. */
#include "base/platform.h"
#include "support/checks.h"
#include "support/fixture.h"
#include "support/scratch.h"
#include "train/event_queue.h"
#include <stdatomic.h>

/* A sink that can be stopped, and fails where it is told to. */
typedef struct test_sink {
    wi_event_sink base;
    atomic_bool hangs, closed;
    atomic_size_t written, flushed, last, out_of_order;
    atomic_bool fails;
} test_sink;

static test_sink *test_sink_of(wi_event_sink *sink) {
    return (test_sink *)(void *)sink;
}

static weft_status write_event(wi_event_sink *sink, const wi_event *event) {
    test_sink *const it = test_sink_of(sink);
    while (atomic_load(&it->hangs)) wi_clock_sleep(0.001);
    if (atomic_exchange(&it->last, event->step) >= event->step) atomic_fetch_add(&it->out_of_order, 1);
    atomic_fetch_add(&it->written, 1);
    if (atomic_load(&it->fails)) WI_FAIL(WEFT_ERROR_FILE, "the sink fails at step %zu", event->step);
    return WEFT_OK;
}

static weft_status flush_sink(wi_event_sink *sink) {
    atomic_fetch_add(&test_sink_of(sink)->flushed, 1);
    return WEFT_OK;
}

static void close_sink(wi_event_sink *sink) {
    atomic_store(&test_sink_of(sink)->closed, true);
}

typedef struct world {
    test_sink sink;
    scratch_log lines;
    wi_log log;
    wi_event_queue *queue;
} world;

static void begin(world *w, bool hangs) {
    wi_event_sink *const sinks[WI_EVENT_SINKS] = {NULL, &w->sink.base};
    *w = (world){.sink.base = {write_event, flush_sink, close_sink}};
    w->log = (wi_log){scratch_log_line, &w->lines};
    atomic_store(&w->sink.hangs, hangs);
    assert_ok(wi_event_queue_create(&w->queue, NULL, &w->log, sinks));
}

static void put(world *w, wi_event_kind kind, size_t step, size_t room) {
    wi_event *const event = wi_event_create(NULL, kind, "tag", step, room);
    assert_non_null(event);
    assert_ok(wi_event_queue_put(w->queue, event));
}

static void everything_is_written_in_order_before_the_end(void **state) {
    world w;
    (void)state;
    begin(&w, false);
    for (size_t step = 1; step <= 1000; step++) put(&w, WI_EVENT_SCALARS, step, 16);
    wi_event_queue_close(w.queue);
    assert_int_equal(w.sink.written, 1000);
    assert_int_equal(w.sink.out_of_order, 0);
    assert_true(w.sink.flushed >= 1 && w.sink.closed);
    assert_int_equal(w.lines.warnings, 0);
}

/* 1 MB each: images are dropped from 8 MiB on, scalars from 16 MiB on. */
static void a_sink_that_hangs_lets_callers_go_on(void **state) {
    world w;
    enum { LARGE = 1 << 20 };
    (void)state;
    begin(&w, true);
    put(&w, WI_EVENT_SCALARS, 1, 16);
    wi_clock_sleep(0.5); /* until the thread has this event and hangs */
    const double began = wi_clock_seconds();
    for (size_t step = 2; step <= 101; step++) put(&w, WI_EVENT_IMAGE, step, LARGE);
    for (size_t step = 102; step <= 201; step++) put(&w, WI_EVENT_SCALARS, step, LARGE);
    assert_true(wi_clock_seconds() - began < 5);
    assert_int_equal(w.sink.written, 0);
    assert_int_equal(w.lines.warnings, 1);
    assert_non_null(strstr(w.lines.text, "events are dropped"));
    atomic_store(&w.sink.hangs, false);
    assert_ok(wi_event_queue_flush(w.queue));
    const size_t written = w.sink.written;
    assert_true(written >= 15 && written <= 20);
    assert_true(w.sink.last > 101);      /* scalars were taken when images were not */
    put(&w, WI_EVENT_IMAGE, 300, LARGE); /* there is room again */
    wi_event_queue_close(w.queue);
    assert_int_equal(w.sink.written, written + 1);
    assert_int_equal(w.lines.warnings, 1);
}

static void the_first_error_is_kept_and_logged_once(void **state) {
    world w;
    (void)state;
    begin(&w, false);
    atomic_store(&w.sink.fails, true);
    for (size_t step = 1; step <= 3; step++) put(&w, WI_EVENT_SCALARS, step, 16);
    assert_fails(wi_event_queue_flush(w.queue), WEFT_ERROR_FILE, "at step 1");
    put(&w, WI_EVENT_SCALARS, 4, 16);
    assert_fails(wi_event_queue_flush(w.queue), WEFT_ERROR_FILE, "at step 1");
    wi_event_queue_close(w.queue);
    assert_int_equal(w.sink.written, 4);
    assert_int_equal(w.lines.warnings, 1);
}

/* Files are brought up to date at most once in two seconds, and without being asked. */
static void flushes_are_rare_and_come_by_themselves(void **state) {
    world w;
    (void)state;
    begin(&w, false);
    for (size_t step = 1; step <= 10; step++) {
        put(&w, WI_EVENT_SCALARS, step, 16);
        wi_clock_sleep(0.05);
    }
    assert_true(w.sink.flushed <= 1);
    for (int i = 0; i < 200 && w.sink.flushed == 0; i++) wi_clock_sleep(0.05);
    assert_true(w.sink.flushed == 1);
    wi_event_queue_close(w.queue);
}

static void texts_are_repaired_and_need_no_room(void **state) {
    (void)state;
    wi_event *const event = wi_event_create(NULL, WI_EVENT_TEXT, "a\xffz", 1, 0);
    assert_non_null(event);
    assert_string_equal(event->tag, "a\xef\xbf\xbdz");
    assert_string_equal(
        wi_event_string(event, "\xe2\x82\xac \xe2\x82"), "\xe2\x82\xac \xef\xbf\xbd\xef\xbf\xbd");
    memset(wi_event_take(event, 100000), 1, 100000);
    wi_event_free(NULL, event);
    wi_event_free(NULL, NULL);
    wi_event_queue_close(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_written_in_order_before_the_end),
        cmocka_unit_test(a_sink_that_hangs_lets_callers_go_on),
        cmocka_unit_test(the_first_error_is_kept_and_logged_once),
        cmocka_unit_test(flushes_are_rare_and_come_by_themselves),
        cmocka_unit_test(texts_are_repaired_and_need_no_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
