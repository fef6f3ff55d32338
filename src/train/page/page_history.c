/* The history of a run (contract in page_history.h). */
#include "train/page/page_history.h"
#include "base/utf8.h"
#include <string.h>

void wi_page_history_init(wi_page_history *history, const weft_allocator *allocator) {
    *history = (wi_page_history){.allocator = allocator};
    wi_text *const texts[] = {
        &history->facts, &history->settings, &history->network, &history->mistakes, &history->profile};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) wi_text_init(texts[i], allocator);
}

static void clear_album(wi_page_album *album, const weft_allocator *allocator) {
    for (size_t i = 0; i < album->count; i++) wi_release(allocator, album->shots[i].png);
    wi_release(allocator, album->tag);
}

static void clear_text(wi_page_text *text, const weft_allocator *allocator) {
    wi_release(allocator, text->tag);
    wi_release(allocator, text->text);
    *text = (wi_page_text){0};
}

void wi_page_history_clear(wi_page_history *history) {
    const weft_allocator *const allocator = history->allocator;
    for (size_t i = 0; i < history->curve_count; i++) {
        wi_release(allocator, history->curves[i].tag);
        wi_release(allocator, history->curves[i].points);
    }
    wi_release(allocator, history->curves);
    for (size_t i = 0; i < history->album_count; i++) clear_album(&history->albums[i], allocator);
    for (size_t i = 0; i < history->text_count; i++) clear_text(&history->texts[i], allocator);
    wi_text *const texts[] = {
        &history->facts, &history->settings, &history->network, &history->mistakes, &history->profile};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) wi_text_clear(texts[i]);
    *history = (wi_page_history){0};
}

/* ---- curves ---- */

wi_page_curve *wi_page_find_curve(wi_page_history *history, const char *tag) {
    for (size_t i = 0; i < history->curve_count; i++)
        if (strcmp(history->curves[i].tag, tag) == 0) return &history->curves[i];
    if (history->curve_count == WI_PAGE_CURVES) return NULL;
    if (wi_grow(history->allocator, (void **)&history->curves, &history->curve_capacity,
            history->curve_count + 1, sizeof *history->curves) != WEFT_OK)
        return NULL;
    wi_page_curve *const curve = &history->curves[history->curve_count];
    *curve = (wi_page_curve){.tag = wi_copy_string(history->allocator, tag), .every = 1};
    if (!curve->tag) return NULL;
    history->curve_count++;
    return curve;
}

/* The number of points of a curve: each has a part of WI_PAGE_POINTS. */
static size_t limit_of(const wi_page_history *history) {
    enum { MOST = 1024 };
    const size_t part = WI_PAGE_POINTS / (history->curve_count ? history->curve_count : 1) / 4 * 4;
    return part < MOST ? part : MOST;
}

weft_status wi_page_add_point(wi_page_history *history, const char *tag, const wi_page_point *point) {
    wi_page_curve *const curve = wi_page_find_curve(history, tag);
    if (curve) return wi_page_curve_add(curve, history->allocator, point, limit_of(history));
    if (history->curve_count < WI_PAGE_CURVES) return WEFT_ERROR_MEMORY;
    history->curves_left_out++;
    return WEFT_OK;
}

/* ---- pictures ---- */

static wi_page_album *find_album(wi_page_history *history, const char *tag) {
    for (size_t i = 0; i < history->album_count; i++)
        if (strcmp(history->albums[i].tag, tag) == 0) return &history->albums[i];
    if (history->album_count == WI_PAGE_TAGS) return NULL;
    wi_page_album *const album = &history->albums[history->album_count];
    *album = (wi_page_album){.tag = wi_copy_string(history->allocator, tag)};
    if (!album->tag) return NULL;
    history->album_count++;
    return album;
}

static size_t bytes_of(const wi_page_album *album) {
    size_t bytes = 0;
    for (size_t i = 0; i < album->count; i++) bytes += album->shots[i].bytes;
    return bytes;
}

/* Drops the picture whose neighbours are the closest in steps; of two or one, the first. */
static void thin_album(wi_page_album *album, const weft_allocator *allocator) {
    wi_page_shot *const shots = album->shots;
    size_t dropped = album->count > 2;
    for (size_t i = 2; i + 1 < album->count; i++)
        if (shots[i + 1].step - shots[i - 1].step < shots[dropped + 1].step - shots[dropped - 1].step)
            dropped = i;
    wi_release(allocator, shots[dropped].png);
    album->count--;
    memmove(shots + dropped, shots + dropped + 1, (album->count - dropped) * sizeof *shots);
}

/* Thins the largest album until all pictures together have no more bytes than they may; albums of one picture come
 * last. */
static void bound_albums(wi_page_history *history) {
    for (;;) {
        size_t all = 0;
        wi_page_album *largest = history->albums;
        for (size_t i = 0; i < history->album_count; i++) {
            wi_page_album *const album = &history->albums[i];
            const bool is_single = album->count < 2, was_single = largest->count < 2;
            all += bytes_of(album);
            if (is_single < was_single || (is_single == was_single && bytes_of(album) > bytes_of(largest)))
                largest = album;
        }
        if (all <= WI_PAGE_PICTURE_BYTES) return;
        thin_album(largest, history->allocator);
    }
}

weft_status wi_page_add_shot(wi_page_history *history, const char *tag, size_t step, char *png) {
    wi_page_album *const album = find_album(history, tag);
    if (!album) {
        wi_release(history->allocator, png);
        return history->album_count == WI_PAGE_TAGS ? WEFT_OK : WEFT_ERROR_MEMORY;
    }
    album->shots[album->count++] = (wi_page_shot){step, png, strlen(png)};
    if (album->count > WI_PAGE_SHOTS) thin_album(album, history->allocator);
    bound_albums(history);
    return WEFT_OK;
}

/* ---- texts ---- */

/* The bytes of a text up to `most`, without an incomplete character at the end. */
static size_t cut_length(const char *text, size_t most) {
    size_t length = 0;
    while (text[length] && length + wi_utf8_length(text + length, 4) <= most)
        length += wi_utf8_length(text + length, 4);
    return length;
}

weft_status wi_page_add_text(wi_page_history *history, const char *tag, size_t step, const char *text) {
    const size_t length = cut_length(text, WI_PAGE_TEXT_BYTES);
    wi_page_text made = {.tag = wi_copy_string(history->allocator, tag),
        .text = wi_allocate(history->allocator, length + 1),
        .step = step};
    if (!made.tag || !made.text) {
        clear_text(&made, history->allocator);
        return WEFT_ERROR_MEMORY;
    }
    memcpy(made.text, text, length);
    if (history->text_count == WI_PAGE_TEXTS) {
        clear_text(&history->texts[0], history->allocator);
        history->text_count--;
        memmove(history->texts, history->texts + 1, history->text_count * sizeof *history->texts);
    }
    history->texts[history->text_count++] = made;
    return WEFT_OK;
}
