/* The data of a page as JSON (RFC 8259), without a character that could end the element that holds it. */
#ifndef WI_PAGE_JSON_H
#define WI_PAGE_JSON_H

#include "train/event_sink.h"
#include "train/page/page_history.h"

void wi_page_write_string(wi_text *text, const char *string); /* with its quotation marks */
void wi_page_write_number(wi_text *text, double number);      /* null if it is not finite */

void wi_page_write_base64(wi_text *text, const unsigned char *data, size_t bytes); /* RFC 4648 */

/* Write members `,"name":value` of the data, which replace the text. */
void wi_page_write_settings(
    wi_text *text, const char *name, const weft_hyperparameter *settings, size_t count);
void wi_page_write_network(wi_text *text, const wi_event_graph *graph);
weft_status wi_page_write_mistakes(wi_text *text, const wi_event_mistakes *mistakes, size_t step);
void wi_page_write_profile(wi_text *text, const wi_event_profile *profile, size_t step);

/* Appends all data. text->failed: there was not enough memory. */
void wi_page_write_data(wi_text *text, const wi_page_history *history);

#endif
