/* Refuses plans whose meaning would depend on the order of their outputs. */
#ifndef WI_CONFLICTS_H
#define WI_CONFLICTS_H

#include "plan/group/partition.h"

/* No two assignments write the same memory. */
weft_status wi_check_writers(const wi_partition *p);
/* Is part of the value, a variable or a view of one, written by the assignment? */
bool wi_assigns_part(const wi_partition *p, const wi_assignment *assignment, int value);

#endif
