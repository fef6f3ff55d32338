/* The HTML page of a training (contract in event_sink.h): keeps a bounded history of the run, and replaces the file by a
 * page of this history. */
#include "base/host.h"
#include "base/platform.h"
#include "train/page/page_file.h"
#include "train/page/page_json.h"
#include <string.h>
#include <weft/io.h>

typedef struct page_sink {
    wi_event_sink sink; /* first */
    const weft_allocator *allocator;
    char *path, *template;
    wi_page_history history;
} page_sink;

static page_sink *sink_of(wi_event_sink *sink) {
    return (page_sink *)sink;
}

/* ---- events ---- */

static weft_status add_scalars(wi_page_history *history, const wi_event *event) {
    for (size_t i = 0; i < event->of.scalars.count; i++) {
        const weft_event_value *const value = &event->of.scalars.values[i];
        const wi_page_point point = {event->step, event->time - history->began, value->value};
        WI_TRY(wi_page_add_point(history, value->tag, &point));
    }
    return WEFT_OK;
}

/* A picture may have an equal share of the bytes for pictures. */
static weft_status add_picture(wi_page_history *history, const wi_event *event) {
    const wi_event_image *const image = &event->of.image;
    const size_t most = WI_PAGE_PICTURE_BYTES / (history->album_count ? history->album_count : 1) / 4 * 3;
    wi_text png;
    if (image->bytes > most)
        WI_FAIL(WEFT_ERROR_UNSUPPORTED,
            "the picture '%s' of step %zu has %zu bytes, and the page takes pictures of at most %zu bytes "
            "here",
            event->tag, event->step, image->bytes, most);
    wi_text_init(&png, history->allocator);
    wi_page_write_base64(&png, image->png, image->bytes);
    if (!png.failed) return wi_page_add_shot(history, event->tag, event->step, png.data);
    wi_text_clear(&png);
    return WEFT_ERROR_MEMORY;
}

static weft_status add_event(wi_page_history *history, const wi_event *event) {
    switch (event->kind) {
    case WI_EVENT_SCALARS: return add_scalars(history, event);
    case WI_EVENT_IMAGE: return add_picture(history, event);
    case WI_EVENT_TEXT: return wi_page_add_text(history, event->tag, event->step, event->of.text);
    case WI_EVENT_SETTINGS:
        wi_page_write_settings(
            &history->settings, "settings", event->of.settings.settings, event->of.settings.count);
        return WEFT_OK;
    case WI_EVENT_GRAPH: wi_page_write_network(&history->network, &event->of.graph); return WEFT_OK;
    case WI_EVENT_MISTAKES:
        return wi_page_write_mistakes(&history->mistakes, &event->of.mistakes, event->step);
    case WI_EVENT_PROFILE:
        wi_page_write_profile(&history->profile, &event->of.profile, event->step);
        return WEFT_OK;
    case WI_EVENT_HISTOGRAM:
    case WI_EVENT_PR_CURVE: return WEFT_OK; /* only event files have these */
    }
    return WEFT_OK;
}

static weft_status write_event(wi_event_sink *sink, const wi_event *event) {
    wi_page_history *const history = &sink_of(sink)->history;
    wi_locale locale;
    wi_locale_enter(&locale);
    const weft_status status = add_event(history, event);
    wi_locale_leave(&locale);
    return status;
}

/* ---- the file ---- */

static weft_status flush(wi_event_sink *sink) {
    page_sink *const page = sink_of(sink);
    char folder[1024];
    const char *title;
    wi_text html;
    wi_path_split(page->path, folder, sizeof folder, &title);
    page->history.updated = wi_day_seconds();
    wi_text_init(&html, page->allocator);
    weft_status status = wi_page_write(&html, page->template, title, &page->history);
    if (status == WEFT_OK) status = wi_file_write_atomic(page->path, html.data, html.length);
    wi_text_clear(&html);
    return status;
}

static void free_page(page_sink *page) {
    const weft_allocator *const allocator = page->allocator;
    wi_page_history_clear(&page->history);
    wi_release(allocator, page->path);
    wi_release(allocator, page->template);
    wi_release(allocator, page);
}

/* The last page says that the run has ended. */
static void close_page(wi_event_sink *sink) {
    char error[WI_ERROR_LINE];
    wi_error_save(error, sizeof error);
    sink_of(sink)->history.has_ended = true;
    (void)flush(sink);
    wi_error_restore(error);
    free_page(sink_of(sink));
}

static weft_status restore(page_sink *page, size_t first) {
    char *html = NULL;
    size_t bytes = 0;
    if (!first || !wi_file_exists(page->path)) return WEFT_OK;
    WI_TRY(wi_file_read(page->allocator, page->path, &html, &bytes));
    const weft_status status = wi_page_restore(&page->history, html, first);
    wi_release(page->allocator, html);
    return status;
}

static weft_status begin(page_sink *page, const wi_event_output *output) {
    WI_TRY(weft_output_check(output->path));
    page->path = wi_copy_string(output->allocator, output->path);
    if (!page->path) return WEFT_ERROR_MEMORY;
    WI_TRY(wi_packed_text_unpack(
        &page->template, &wi_page_template, output->allocator, "the template of the page"));
    page->history.began = wi_day_seconds();
    wi_page_write_settings(&page->history.facts, "facts", output->facts, output->fact_count);
    return restore(page, output->first_step);
}

weft_status wi_event_page_open(wi_event_sink **sink, const wi_event_output *output) {
    page_sink *const page = wi_allocate(output->allocator, sizeof *page);
    *sink = NULL;
    if (!page) return WEFT_ERROR_MEMORY;
    page->sink = (wi_event_sink){write_event, flush, close_page};
    page->allocator = output->allocator;
    wi_page_history_init(&page->history, output->allocator);
    const weft_status status = begin(page, output);
    if (status == WEFT_OK)
        *sink = &page->sink;
    else
        free_page(page);
    return status;
}
