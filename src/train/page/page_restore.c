/* Reads the history of an earlier run from its page (contract in page_history.h). Members that have another form than
 * page_json.c writes are skipped. */
#include "base/json.h"
#include "base/platform.h"
#include "train/page/page_history.h"
#include <stdlib.h>
#include <string.h>

static const char data_begin[] = "id=\"data\">", data_end[] = "</script>";

/* The data's text in a page; NULL: there is none. Texts in the page are escaped, so that no other mark comes first. */
static char *find_data(char *html, size_t *bytes) {
    char *const begin = strstr(html, data_begin);
    char *const text = begin ? begin + sizeof data_begin - 1 : NULL;
    const char *const end = text ? strstr(text, data_end) : NULL;
    size_t at;
    if (!end) return NULL;
    *bytes = (size_t)(end - text);
    return wi_json_check(text, *bytes, &at) ? text : NULL;
}

/* Reads a number, or returns 0 and skips another value. */
static double take_number(wi_json *json) {
    const char first = wi_json_peek(json);
    const bool is_number = first == '-' || (first >= '0' && first <= '9');
    const double number = is_number ? strtod(json->at, NULL) : 0.0; /* the page goes on after the data */
    wi_json_skip(json);
    return number;
}

static size_t size_of(double number) {
    return number >= 1.0 && number < 1e15 ? (size_t)number : 0;
}

/* Reads an array of numbers into one field of the points. */
typedef enum field { STEPS, TIMES, VALUES } field;
static void take_numbers(wi_json *json, wi_page_point *points, size_t count, field which) {
    size_t i = 0;
    for (bool more = wi_json_enter(json, '['); more; more = wi_json_more(json), i++) {
        const double number = take_number(json);
        if (i >= count) continue;
        if (which == STEPS) points[i].step = size_of(number);
        if (which == TIMES) points[i].time = number;
        if (which == VALUES) points[i].value = number;
    }
}

/* The points of one curve. `points` is created by the first array of numbers. */
typedef struct old_curve {
    const char *tag;
    wi_page_point *points;
    size_t count, every;
} old_curve;

static weft_status take_array(wi_json *json, const weft_allocator *allocator, old_curve *old, field which) {
    if (!old->points) {
        old->count = wi_json_count(json);
        old->points = wi_allocate_array(allocator, old->count + 1, sizeof *old->points);
    }
    if (!old->points) return WEFT_ERROR_MEMORY;
    take_numbers(json, old->points, old->count, which);
    return WEFT_OK;
}

static weft_status take_curve(wi_json *json, const weft_allocator *allocator, old_curve *old) {
    for (bool more = wi_json_enter(json, '{'); more; more = wi_json_more(json)) {
        size_t bytes;
        const char *const name = wi_json_name(json, &bytes);
        if (strcmp(name, "tag") == 0)
            old->tag = wi_json_string(json, &bytes);
        else if (strcmp(name, "every") == 0)
            old->every = size_of(take_number(json));
        else if (strcmp(name, "steps") == 0)
            WI_TRY(take_array(json, allocator, old, STEPS));
        else if (strcmp(name, "times") == 0)
            WI_TRY(take_array(json, allocator, old, TIMES));
        else if (strcmp(name, "values") == 0)
            WI_TRY(take_array(json, allocator, old, VALUES));
        else
            wi_json_skip(json);
    }
    return WEFT_OK;
}

/* The points become those of a curve that goes on with groups of as many points as before. */
static weft_status add_curve(wi_page_history *history, const old_curve *old, size_t first) {
    wi_page_curve *const curve = old->tag ? wi_page_find_curve(history, old->tag) : NULL;
    if (!curve) return old->tag && history->curve_count < WI_PAGE_CURVES ? WEFT_ERROR_MEMORY : WEFT_OK;
    for (size_t i = 0; i < old->count; i++)
        if (old->points[i].step < first) WI_TRY(wi_page_add_point(history, old->tag, &old->points[i]));
    if (curve->pending == 0 && old->every > curve->every) curve->every = old->every;
    return WEFT_OK;
}

static weft_status restore_curves(wi_page_history *history, wi_json *json, size_t first) {
    weft_status status = WEFT_OK;
    for (bool more = wi_json_enter(json, '['); more && status == WEFT_OK; more = wi_json_more(json)) {
        old_curve old = {0};
        if (wi_json_peek(json) != '{') {
            wi_json_skip(json);
            continue;
        }
        status = take_curve(json, history->allocator, &old);
        if (status == WEFT_OK) status = add_curve(history, &old, first);
        wi_release(history->allocator, old.points);
    }
    return status;
}

/* A picture or a text, {"step":1,"png":"..."} or {"step":1,"tag":"...","text":"..."}. */
typedef struct old_item {
    size_t step;
    const char *tag, *content;
} old_item;

static void take_item(wi_json *json, old_item *item) {
    size_t bytes;
    if (wi_json_peek(json) != '{') wi_json_skip(json);
    for (bool more = wi_json_enter(json, '{'); more; more = wi_json_more(json)) {
        const char *const name = wi_json_name(json, &bytes);
        const bool is_text = wi_json_peek(json) == '"';
        if (is_text && strcmp(name, "tag") == 0)
            item->tag = wi_json_string(json, &bytes);
        else if (is_text && (strcmp(name, "png") == 0 || strcmp(name, "text") == 0))
            item->content = wi_json_string(json, &bytes);
        else
            item->step = size_of(take_number(json));
    }
}

/* The text will be part of a page without a further check. */
static bool is_base64(const char *text) {
    return text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=")] == '\0';
}

static weft_status restore_shots(wi_page_history *history, wi_json *json, const char *tag, size_t first) {
    for (bool more = wi_json_enter(json, '['); more; more = wi_json_more(json)) {
        old_item item = {0};
        take_item(json, &item);
        if (!tag || !item.content || item.step >= first || !is_base64(item.content)) continue;
        char *const png = wi_copy_string(history->allocator, item.content);
        if (!png) return WEFT_ERROR_MEMORY;
        WI_TRY(wi_page_add_shot(history, tag, item.step, png));
    }
    return WEFT_OK;
}

static weft_status restore_albums(wi_page_history *history, wi_json *json, size_t first) {
    for (bool more = wi_json_enter(json, '['); more; more = wi_json_more(json)) {
        const char *tag = NULL;
        size_t bytes;
        if (wi_json_peek(json) != '{') wi_json_skip(json);
        for (bool inner = wi_json_enter(json, '{'); inner; inner = wi_json_more(json)) {
            const char *const name = wi_json_name(json, &bytes);
            if (strcmp(name, "tag") == 0 && wi_json_peek(json) == '"')
                tag = wi_json_string(json, &bytes);
            else if (strcmp(name, "shots") == 0 && wi_json_peek(json) == '[')
                WI_TRY(restore_shots(history, json, tag, first));
            else
                wi_json_skip(json);
        }
    }
    return WEFT_OK;
}

static weft_status restore_texts(wi_page_history *history, wi_json *json, size_t first) {
    for (bool more = wi_json_enter(json, '['); more; more = wi_json_more(json)) {
        old_item item = {0};
        take_item(json, &item);
        if (item.tag && item.content && item.step < first)
            WI_TRY(wi_page_add_text(history, item.tag, item.step, item.content));
    }
    return WEFT_OK;
}

static weft_status restore(wi_page_history *history, wi_json *json, size_t first) {
    for (bool more = wi_json_enter(json, '{'); more; more = wi_json_more(json)) {
        size_t bytes;
        const char *const name = wi_json_name(json, &bytes);
        const bool is_list = wi_json_peek(json) == '[';
        if (strcmp(name, "began") == 0)
            history->began = take_number(json);
        else if (is_list && strcmp(name, "curves") == 0)
            WI_TRY(restore_curves(history, json, first));
        else if (is_list && strcmp(name, "pictures") == 0)
            WI_TRY(restore_albums(history, json, first));
        else if (is_list && strcmp(name, "texts") == 0)
            WI_TRY(restore_texts(history, json, first));
        else
            wi_json_skip(json);
    }
    return WEFT_OK;
}

weft_status wi_page_restore(wi_page_history *history, char *html, size_t first) {
    wi_locale locale;
    size_t bytes = 0;
    char *const text = find_data(html, &bytes);
    if (!text) return WEFT_OK;
    wi_json json = {text, text + bytes};
    wi_locale_enter(&locale);
    const weft_status status = restore(history, &json, first);
    wi_locale_leave(&locale);
    return status;
}
