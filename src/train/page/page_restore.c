/* Reads the history of an earlier run from its page (contract in page_history.h). Values that have another form than
 * page_json.c writes are skipped. */
#include "base/json.h"
#include "base/platform.h"
#include "train/page/page_history.h"
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    wi_page_history *history;
    wi_json json;
    size_t first; /* items of this step and of later ones are skipped */
} reader;

/* The data's text in a page; NULL: there is none. Texts in the page are escaped, so that no other mark comes first. */
static char *find_data(char *html, size_t *bytes) {
    static const char mark[] = "id=\"data\">";
    char *const begin = strstr(html, mark), *const text = begin ? begin + sizeof mark - 1 : NULL;
    const char *const end = text ? strstr(text, "</script>") : NULL;
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

/* A point of a curve: [step,time,value]. */
static weft_status restore_point(reader *r, const char *tag) {
    double numbers[3] = {0.0};
    size_t i = 0;
    for (bool more = wi_json_enter(&r->json, '['); more; more = wi_json_more(&r->json)) {
        const double number = take_number(&r->json);
        if (i < 3) numbers[i++] = number;
    }
    const wi_page_point point = {size_of(numbers[0]), numbers[1], numbers[2]};
    return tag && point.step < r->first ? wi_page_add_point(r->history, tag, &point) : WEFT_OK;
}

/* The members of a curve, a tag's pictures, one picture, or a text. */
typedef struct old_item {
    const char *tag, *png, *text;
    size_t step, every;
} old_item;

/* Does the text consist of base64 characters? The picture is copied to the new page without a further check, so it must contain nothing
 * else. */
static bool is_base64(const char *text) {
    return text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=")] == '\0';
}

static weft_status restore_picture(reader *r, const old_item *item) {
    char *const png = wi_copy_string(r->history->allocator, item->png);
    return png ? wi_page_add_shot(r->history, item->tag, item->step, png) : WEFT_ERROR_MEMORY;
}

static weft_status add_item(reader *r, const old_item *item) {
    if (!item->tag) return WEFT_OK;
    wi_page_curve *const curve = item->every ? wi_page_find_curve(r->history, item->tag) : NULL;
    if (curve && curve->pending == 0 && item->every > curve->every) curve->every = item->every;
    if (item->step >= r->first) return WEFT_OK;
    if (item->png && is_base64(item->png)) WI_TRY(restore_picture(r, item));
    return item->text ? wi_page_add_text(r->history, item->tag, item->step, item->text) : WEFT_OK;
}

static weft_status restore_list(reader *r, const char *tag);

/* An object with these members; tag: that of the object around it. */
static weft_status restore_item(reader *r, const char *tag) {
    old_item item = {.tag = tag};
    for (bool more = wi_json_enter(&r->json, '{'); more; more = wi_json_more(&r->json)) {
        size_t bytes;
        const char *const name = wi_json_name(&r->json, &bytes);
        const char **const text = strcmp(name, "tag") == 0    ? &item.tag
                                  : strcmp(name, "png") == 0  ? &item.png
                                  : strcmp(name, "text") == 0 ? &item.text
                                                              : NULL;
        if (text && wi_json_peek(&r->json) == '"')
            *text = wi_json_string(&r->json, &bytes);
        else if (strcmp(name, "step") == 0)
            item.step = size_of(take_number(&r->json));
        else if (strcmp(name, "every") == 0)
            item.every = size_of(take_number(&r->json));
        else if (strcmp(name, "points") == 0 || strcmp(name, "shots") == 0)
            WI_TRY(restore_list(r, item.tag));
        else
            wi_json_skip(&r->json);
    }
    return add_item(r, &item);
}

static weft_status restore_list(reader *r, const char *tag) {
    if (wi_json_peek(&r->json) != '[') return wi_json_skip(&r->json), WEFT_OK;
    for (bool more = wi_json_enter(&r->json, '['); more; more = wi_json_more(&r->json)) {
        const char first = wi_json_peek(&r->json);
        if (first == '[')
            WI_TRY(restore_point(r, tag));
        else if (first == '{')
            WI_TRY(restore_item(r, tag));
        else
            wi_json_skip(&r->json);
    }
    return WEFT_OK;
}

static weft_status restore(reader *r) {
    static const char *const lists[] = {"curves", "pictures", "texts"};
    for (bool more = wi_json_enter(&r->json, '{'); more; more = wi_json_more(&r->json)) {
        size_t bytes, i = 0;
        const char *const name = wi_json_name(&r->json, &bytes);
        while (i < 3 && strcmp(name, lists[i]) != 0) i++;
        if (strcmp(name, "began") == 0)
            r->history->began = take_number(&r->json);
        else if (i < 3)
            WI_TRY(restore_list(r, NULL));
        else
            wi_json_skip(&r->json);
    }
    return WEFT_OK;
}

weft_status wi_page_restore(wi_page_history *history, char *html, size_t first) {
    wi_locale locale;
    size_t bytes = 0;
    char *const text = find_data(html, &bytes);
    if (!text) return WEFT_OK;
    reader r = {history, {text, text + bytes}, first};
    wi_locale_enter(&locale);
    const weft_status status = restore(&r);
    wi_locale_leave(&locale);
    return status;
}
