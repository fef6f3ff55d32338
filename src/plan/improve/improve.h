/* Optional passes over the steps of a partition, which make a plan faster or smaller. A plain plan (wi_request) is created without them,
 * and tests compare its results with those of the usual plan.
 *
 *   segment_sources.c  the step of a sum by segments computes the rows that it adds up
 *   picked_rows.c      loops gather rows of a table themselves, instead of reading stored rows */
#ifndef WI_IMPROVE_H
#define WI_IMPROVE_H

#include "plan/group/partition.h"

/* A plan calls them in this order. */
weft_status wi_compute_segment_sources(wi_partition *p);
weft_status wi_pick_rows(wi_partition *p);

#endif
