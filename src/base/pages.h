/* Memory in large pages of the system.
 *
 * Kernels walk through matrices along both axes. With pages of 4 kB each row of a large one lies in pages of its own, and
 * the processor's table of addresses holds too few of them; with pages of 2 MB it holds hundreds of megabytes. */
#ifndef WI_PAGES_H
#define WI_PAGES_H

#include <stddef.h>

/* Zeros, aligned to a large page; NULL where the system has no large pages, or no memory. The system decides which parts
 * lie in large pages in fact. */
void *wi_pages_map(size_t bytes);
void wi_pages_unmap(void *pages, size_t bytes); /* as they were mapped; NULL is fine */

#endif
