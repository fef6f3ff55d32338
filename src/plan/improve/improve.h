/* Optional gains: passes over the steps of a partition that make a plan faster or smaller, and that may each be left out. A plain plan
 * (wi_request) has none of them, and tests compare the two.
 *
 *   segment_sources.c  what a sum by segments adds up is computed where it is added
 *   picked_rows.c      rows of a table are picked where they are read, and stored nowhere */
#ifndef WI_IMPROVE_H
#define WI_IMPROVE_H

#include "plan/group/partition.h"

/* In this order. */
weft_status wi_compute_segment_sources(wi_partition *p);
weft_status wi_pick_rows(wi_partition *p);

#endif
