/* Memory in large pages of the operating system.
 *
 * Kernels walk through matrices along both axes. With pages of 4 KiB, each row of a large matrix lies in other pages,
 * more than the processor's TLB has entries for; with pages of 2 MiB, the TLB reaches hundreds of megabytes. */
#ifndef WI_PAGES_H
#define WI_PAGES_H

#include <stddef.h>

/* Returns zeroed memory, aligned to a large page; NULL if the system has no large pages or no memory. The system
 * decides which parts of the memory really are in large pages. */
void *wi_pages_map(size_t bytes);
void wi_pages_unmap(void *pages, size_t bytes); /* bytes: as for wi_pages_map; pages may be NULL */

#endif
