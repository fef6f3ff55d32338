/* Fills the template of the page (contract in page_file.h): each mark @NAME@ is replaced. */
#include "train/page/page_file.h"
#include "base/platform.h"
#include "base/utf8.h"
#include "train/page/page_json.h"
#include <string.h>

static void write_escaped(wi_text *html, const char *text) {
    const char *const end = text + strlen(text);
    while (text < end) {
        const size_t length = wi_utf8_length(text, (size_t)(end - text));
        if (length == 0)
            wi_text_append(html, "\xef\xbf\xbd"); /* U+FFFD */
        else if (strchr("&<>\"'", *text))
            wi_text_append(html, "&#%d;", *text);
        else
            wi_text_append_bytes(html, text, length);
        text += length ? length : 1;
    }
}

static void write_row(wi_text *html, const wi_page_curve *curve, const wi_page_point *point) {
    wi_text_append(html, "<tr><th>");
    write_escaped(html, curve->tag);
    wi_text_append(html, "</th><td>%.7g</td><td>step %zu</td></tr>\n", point->value, point->step);
}

/* What a browser without scripts shows: the latest value of each curve. */
static void write_tables(wi_text *html, const wi_page_history *history) {
    wi_text_append(html, "<p>Scripts draw the curves of this page. Their latest values:</p>\n<table>");
    for (size_t i = 0; i < history->curve_count; i++) {
        const wi_page_curve *const curve = &history->curves[i];
        const wi_page_point *const last = curve->pending ? &curve->last
                                          : curve->count ? &curve->points[curve->count - 1]
                                                         : NULL;
        if (last) write_row(html, curve, last);
    }
    wi_text_append(html, "</table>");
}

static void write_mark(wi_text *html, const char *mark, const char *title, const wi_page_history *history) {
    if (strncmp(mark, "@TITLE@", 7) == 0) write_escaped(html, title);
    if (strncmp(mark, "@TABLES@", 8) == 0) write_tables(html, history);
    if (strncmp(mark, "@DATA@", 6) == 0) wi_page_write_data(html, history);
}

/* The next mark, a name in capital letters between two signs; NULL: there is none. */
static const char *find_mark(const char *page, size_t *bytes) {
    for (; (page = strchr(page, '@')) != NULL; page++) {
        const size_t letters = strspn(page + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
        *bytes = letters + 2;
        if (letters && page[letters + 1] == '@') return page;
    }
    return NULL;
}

weft_status wi_page_write(
    wi_text *html, const char *page, const char *title, const wi_page_history *history) {
    size_t bytes = 0;
    wi_locale locale;
    wi_locale_enter(&locale);
    for (const char *mark; (mark = find_mark(page, &bytes)) != NULL; page = mark + bytes) {
        wi_text_append_bytes(html, page, (size_t)(mark - page));
        write_mark(html, mark, title, history);
    }
    wi_text_append_bytes(html, page, strlen(page));
    wi_locale_leave(&locale);
    return html->failed ? WEFT_ERROR_MEMORY : WEFT_OK;
}
