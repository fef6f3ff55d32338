/* The file of a page: the template of the build, filled with the data of a history. */
#ifndef WI_PAGE_FILE_H
#define WI_PAGE_FILE_H

#include "base/packed_text.h"
#include "train/page/page_history.h"

/* Generated at build time from page.html. */
extern const wi_packed_text wi_page_template;

/* Appends the whole page. page: the unpacked template. title: what the page is called. WEFT_ERROR_MEMORY. */
weft_status wi_page_write(wi_text *html, const char *page, const char *title, const wi_page_history *history);

#endif
