/* What tests read from an HTML page of a training. */
#ifndef PAGE_STEPS_H
#define PAGE_STEPS_H

/* The steps of a curve in the order of its points, as "1,2,3"; valid until the next call. Fails the test if the page has
 * no such curve. */
const char *page_steps(const char *html, const char *tag);

#endif
