/* The data that the HTML page of a run shows, in bounded memory: curves, pictures and texts over time, and the latest event of every other
 * kind.
 *
 * Only the thread that writes the page uses a history. All texts are valid UTF-8. */
#ifndef WI_PAGE_HISTORY_H
#define WI_PAGE_HISTORY_H

#include "train/page/page_curve.h"

enum {
    WI_PAGE_CURVES = 256,          /* the largest number of curves */
    WI_PAGE_POINTS = 16384,        /* of all curves, about */
    WI_PAGE_TAGS = 12,             /* the largest number of tags of pictures */
    WI_PAGE_SHOTS = 12,            /* pictures of a tag */
    WI_PAGE_TEXTS = 40,            /* the latest texts that are kept */
    WI_PAGE_TEXT_BYTES = 4096,     /* bytes of a text; a longer one is truncated */
    WI_PAGE_PICTURE_BYTES = 600000 /* of all pictures over time, as they stand in the page */
};

/* A picture of a tag at one step. */
typedef struct wi_page_shot {
    size_t step;
    char *png; /* PNG as base64 */
    size_t bytes;
} wi_page_shot;

/* The pictures of a tag: the first, the latest, and some between, about evenly over the steps. */
typedef struct wi_page_album {
    char *tag;
    wi_page_shot shots[WI_PAGE_SHOTS + 1]; /* the last is only used while a picture is added */
    size_t count;
} wi_page_album;

typedef struct wi_page_text {
    char *tag, *text;
    size_t step;
} wi_page_text;

typedef struct wi_page_history {
    const weft_allocator *allocator;
    double began, updated; /* seconds since 1970 */
    bool has_ended;
    wi_page_curve *curves;
    size_t curve_count, curve_capacity, curves_left_out;
    wi_page_album albums[WI_PAGE_TAGS];
    size_t album_count;
    wi_page_text texts[WI_PAGE_TEXTS]; /* from the oldest to the newest */
    size_t text_count;
    /* Members of the page's JSON that only the latest event decides, such as the network: "" or `,"name":value`. */
    wi_text facts, settings, network, mistakes, profile;
} wi_page_history;

void wi_page_history_init(wi_page_history *history, const weft_allocator *allocator);
void wi_page_history_clear(wi_page_history *history);

/* Adds a point to a curve. If there are already WI_PAGE_CURVES other curves, the curve is only counted. WEFT_ERROR_MEMORY. */
weft_status wi_page_add_point(wi_page_history *history, const char *tag, const wi_page_point *point);
/* The curve of a tag, which is added if it is missing; NULL: there is no room or no memory. */
wi_page_curve *wi_page_find_curve(wi_page_history *history, const char *tag);
/* Adds a picture to a tag. The history owns png, also after an error. If there are already WI_PAGE_TAGS other tags, the picture is not
 * added. */
weft_status wi_page_add_shot(wi_page_history *history, const char *tag, size_t step, char *png);
weft_status wi_page_add_text(wi_page_history *history, const char *tag, size_t step, const char *text);

/* Adds the curves, pictures and texts from the page `html` of an earlier run, as far as their steps are before `first`. Changes the
 * text `html`. If it is not a page of Weft, adds nothing. WEFT_ERROR_MEMORY. */
weft_status wi_page_restore(wi_page_history *history, char *html, size_t first);

#endif
